"""`optmap conformance`: Timeloop's records in both countings, changed records, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import optmap as package
from optmap.errors import InputError

RECORDS = Path(__file__).parents[1] / "data" / "timeloop_conformance.json"
MARKED = ("025", "041", "042", "056")


@pytest.fixture(scope="module")
def records():
    return json.loads(RECORDS.read_text(encoding="utf-8"))


def written(folder, records):
    path = folder / "records.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


@pytest.mark.parametrize("counting", ["timeloop", "exact"])
def test_all_records_of_timeloop_agree(counting):
    found = package.conformance(RECORDS, counting=counting)
    assert found.mismatches == ()
    assert found.records == 101
    assert found.compared > 6000
    assert found.marked == MARKED
    assert found.left_out == (MARKED if counting == "exact" else ())


def test_marked_numbers_differ_in_both_countings(records, tmp_path):
    """Without its mark a record disagrees with the walk, in just the counts that were marked and what follows."""
    kept = [{k: v for k, v in r.items() if k != "exact_differs"} for r in records if r["id"] in MARKED]
    found = package.conformance(written(tmp_path, kept), counting="exact")
    marks = {(r["id"], d["level"], d["tensor"], d["count"]) for r in records for d in r.get("exact_differs", ())}
    counts = {(m.record, m.level, m.tensor, m.count) for m in found.mismatches}
    assert {key for key in counts if key[3] in ("reads", "fills", "updates")} == marks
    assert {key[3] for key in counts} == {"reads", "fills", "energy_pj"}
    swapped = [dict(r) for r in records if r["id"] in MARKED]
    for record in swapped:
        record["exact_differs"] = [{**d, "exact": d["exact"] + 2} for d in record["exact_differs"]]
    assert len(package.conformance(written(tmp_path, swapped), counting="exact").mismatches) == len(marks)


def test_every_changed_number_is_named(optmap, records, tmp_path):
    record = json.loads(json.dumps(records[0]))
    result = record["result"]
    result["cycles"] += 2
    result["levels"]["Buffer"]["tensors"]["A"]["fills_per_instance"] += 2
    result["levels"]["DRAM"]["tensors"]["Z"]["reads_per_instance"] -= 1
    result["energy_pJ"] *= 1.001
    path = written(tmp_path, [record])
    lines = optmap("conformance", path, code=5).out.splitlines()
    assert lines[0] == "record 000, Buffer, A: fills found 512, expected 514"
    assert lines[1] == "record 000, DRAM, Z: reads found 1,152, expected 1,151"
    assert lines[2] == "record 000: cycles found 12,288, expected 12,290"
    assert lines[3].startswith("record 000: energy_pj found 692851.2, expected ")
    assert lines[4] == "1 record, counting timeloop: 41 numbers compared, 4 differ, in 1 record"
    document = optmap("conformance", path, "--json", code=5).document()
    assert document["agree"] is False
    assert [m["count"] for m in document["mismatches"]] == ["fills", "reads", "cycles", "energy_pj"]


def test_a_mapping_that_does_not_fit_is_a_mismatch(records, tmp_path):
    record = json.loads(json.dumps(records[0]))
    record["arch"]["levels"][0]["entries"] = 100
    (found,) = package.conformance(written(tmp_path, [record])).mismatches
    assert found.count == "validity"
    assert "Buffer: the tiles need 104" in found.found


def _without(*path):
    def change(record):
        for key in path[:-1]:
            record = record[key]
        del record[path[-1]]

    return change


def _with(value, *path):
    def change(record):
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("id"), "id is missing"),
        (_without("result", "cycles"), "result: cycles is missing"),
        (_without("result", "levels", "DRAM"), "DRAM is missing"),
        (_without("mapping", 1), "the levels must be Buffer, DRAM, innermost first"),
        (_with([["Q", 4]], "mapping", 0, "temporal"), "'Q' is no dim of the workload, which has M, N, K"),
        (_with([["M", 0]], "mapping", 0, "temporal"), "a whole number, 1 or more, is needed"),
        (_with([["M", 2], ["M", 2]], "mapping", 0, "temporal"), "two loops over M"),
        (_with([["M", 2]], "mapping", 0, "spatial"), '[dim, ways, "X" or "Y"] is needed'),
        (_with(7, "mapping", 0, "temporal"), "a list is needed"),
        (_with(["A", "D"], "mapping", 0, "keep"), "'D' is no tensor"),
        (_with(3, "arch", "levels", 0, "instances"), "do not spread evenly"),
        (_with(-1, "arch", "levels", 0, "energy_read"), "energy_read"),
        (_with(True, "workload", "tensors", 0, "read_write"), "2 have read_write: true"),
        (_with(0, "workload", "dims", "M"), "a whole number, 1 or more, is needed"),
        (_with([[["M"]]], "workload", "tensors", 0, "projection"), "is no [dim, number]"),
        (_with([{"level": "X", "tensor": "A", "count": "fills", "exact": 1}], "exact_differs"), "there is no A in X"),
        (_with([{"level": "DRAM", "tensor": "A", "count": "fill", "exact": 1}], "exact_differs"), "fills"),
    ],
)
def test_bad_records_are_refused_with_the_place(records, tmp_path, change, said):
    record = json.loads(json.dumps(records[0]))
    change(record)
    with pytest.raises(InputError) as error:
        package.conformance(written(tmp_path, [record]))
    assert said in str(error.value)
    assert "records.json" in str(error.value)


@pytest.mark.parametrize("text", ["[]", "{}", "[1]", "[", "[NaN]", '"x"', "null"])
def test_files_that_hold_no_records_are_refused(optmap, tmp_path, text):
    path = tmp_path / "records.json"
    path.write_text(text, encoding="utf-8")
    assert "records.json" in optmap("conformance", path, code=2).err


def test_a_record_twice_and_an_unknown_counting_are_refused(records, tmp_path):
    with pytest.raises(InputError, match="two records have id '000'"):
        package.conformance(written(tmp_path, [records[0], records[0]]))
    with pytest.raises(InputError, match="counting"):
        package.conformance(RECORDS, counting="fast")
