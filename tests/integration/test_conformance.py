"""`optmap conformance`: Timeloop's and FactorFlow's records in all countings, changed records, files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import some

import optmap as package
from optmap.base.errors import InputError

RECORDS = Path(__file__).parents[1] / "data" / "timeloop_conformance.json"
FLOWS = RECORDS.with_name("factorflow_conformance.json")
WIRES = RECORDS.with_name("wires_conformance.json")
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
    assert found.quirks == (("105",) if counting == "exact" else ())


@pytest.mark.parametrize("counting", ["timeloop", "exact"])
def test_all_records_with_wires_agree(optmap, counting):
    """Energies of every network among them; exact counting leaves out those of which Timeloop has a way of its own."""
    found = package.conformance(WIRES, counting=counting)
    assert found.mismatches == ()
    assert found.records == 24
    assert found.compared == (2003 if counting == "timeloop" else 1927)
    assert len(found.quirks) == (0 if counting == "timeloop" else 16)
    assert found.left_out == ()
    assert ("passes a tensor by" in optmap("conformance", WIRES, "--counting", counting).out) == bool(found.quirks)


def test_a_changed_network_is_named(tmp_path):
    record = json.loads(WIRES.read_text(encoding="utf-8"))[0]
    record["result"]["networks"]["GlobalBuffer <==> RegisterFile"]["Inputs"]["energy_pJ"] *= 1 + 1e-8
    (found,) = package.conformance(written(tmp_path, [record])).mismatches
    assert (found.level, found.tensor, found.count) == ("GlobalBuffer", "Inputs", "wires_pj")
    del record["result"]["networks"]["GlobalBuffer <==> RegisterFile"]
    with pytest.raises(InputError, match="GlobalBuffer <==> RegisterFile is missing"):
        package.conformance(written(tmp_path, [record]))


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
        (_with([["M", 2, "X"], ["N", 2, "X"], ["M", 2, "X"]], "mapping", 0, "spatial"), "two loops over M along X"),
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


def test_all_records_of_factorflow_agree(optmap):
    """Counts to the word, energy and latency of every memory to 1e-9, and no mapping breaks a rule of its machine."""
    found = package.conformance(FLOWS, counting="factorflow")
    assert found.mismatches == ()
    assert (found.records, found.compared, found.foreign) == (86, 5316, False)
    assert optmap("conformance", FLOWS, code=0).out == (
        "86 records, counting factorflow: 5,316 numbers compared, all agree\n"
    )


@pytest.mark.parametrize(
    ("path", "counting"),
    some(2, [(FLOWS, "timeloop"), (RECORDS, "factorflow"), (FLOWS, "exact")]),
    ids=["hull", "flow", "exact"],
)
def test_records_of_another_model_differ_and_it_is_said(optmap, path, counting):
    told = optmap("conformance", path, "--counting", counting, code=5)
    assert "note: the records are another model's" in told.out
    found = package.conformance(path, counting=counting)
    assert found.foreign
    assert {m.count for m in found.mismatches} >= {"reads", "energy_pj"}
    assert optmap("conformance", path, "--counting", counting, "--json", code=5).document()["foreign"] is True


@pytest.fixture(scope="module")
def flows():
    return json.loads(FLOWS.read_text(encoding="utf-8"))


def flow(flows, number, change=lambda record, architecture: None):
    """A file of one record."""
    record = json.loads(json.dumps(flows["records"][number]))
    architecture = json.loads(json.dumps(flows["architectures"][record["arch"].partition(" (")[0]]))
    change(record, architecture)
    return {**flows, "architectures": {record["arch"]: architecture}, "records": [record]}


def test_every_changed_number_of_factorflow_is_named(optmap, flows, tmp_path):
    def change(record, _):
        dram, scratchpad = record["levels"][0], record["levels"][1]
        dram["in_reads"] += 1
        dram["out_fill_from_above(last_out_reads)"] += 3
        scratchpad["w_writes"] -= 1
        scratchpad["latency"] *= 1.001
        record["latency_cc"] += 1
        record["energy_total_pJ(incl leakage)"] *= 1.001

    path = written(tmp_path, flow(flows, 0, change))
    lines = optmap("conformance", path, code=5).out.splitlines()
    name = "record 000 gemmini BERT-KQV"
    assert lines[0] == f"{name}, Scratchpad, w: writes found 3,145,728, expected 3,145,727"
    assert lines[1].startswith(f"{name}, Scratchpad: cycles found 53477376.0, expected ")
    assert lines[2] == f"{name}, DRAM, out: fills found 0, expected 3"
    assert lines[3] == f"{name}, DRAM, in: reads found 16,777,216, expected 16,777,217"
    assert lines[4] == f"{name}: cycles found 102498304.0, expected 102498305.0"
    assert lines[5].startswith(f"{name}: energy_pj found ")
    assert lines[6].endswith("6 differ, in 1 record")


def test_a_mapping_of_factorflow_that_does_not_fit_is_a_mismatch(flows, tmp_path):
    def change(_, architecture):
        architecture["levels"][1]["size_values"] = 1000

    (found,) = package.conformance(written(tmp_path, flow(flows, 0, change))).mismatches
    assert found.count == "validity"
    assert "Scratchpad: the tiles need" in found.found


def _machine(value, *path):
    def change(_, architecture):
        _with(value, "levels", *path)(architecture)

    return change


def _record(value, *path):
    return lambda record, _: _with(value, *path)(record)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record, _: record.pop("settings"), "settings is missing"),
        (_record("dims: MK", "coupling"), "in_coupling"),
        (
            _record("dims: MKN, in_coupling: [K][2N], w_coupling: [M], out_coupling: [M][N]", "coupling"),
            "no sum of dims",
        ),
        (_record({"M": 4, "K": 2}, "dims"), "N is missing"),
        (_record([["X", 2]], "mapping", 0, "loops_outer_to_inner"), "is no [dim, trips]"),
        (_record([["M", 2], ["M", 2]], "mapping", 0, "loops_outer_to_inner"), "two loops over one dim"),
        (_record({"M": 1, "K": 1, "N": 1}, "mapping", 0, "tile_sizes_below"), "is not what the loops inside make"),
        (lambda record, _: record["mapping"].pop(), "the levels must be DRAM, Scratchpad"),
        (lambda record, _: record["levels"].pop(0), "nothing is said of DRAM"),
        (_record("SomeOther", "arch"), "SomeOther is missing"),
        (_machine(0.1, 1, "leak_pJ_per_cc"), "counting factorflow knows 0 only"),
        (_machine(True, 2, "pe_to_pe"), "counting factorflow knows False only"),
        (_machine(True, 2, "selective_multicast"), "knows False only"),
        (_machine(4, 6, "mesh"), "knows 1 only"),
        (_machine({"Z": 2}, 1, "factors_constraints"), "'Z' is no dim"),
        (_machine(["Z"], 2, "dims"), "'Z' is neither a dim"),
        (lambda _, architecture: architecture["levels"].pop(), "a memory first, and compute at the end"),
        (lambda _, architecture: architecture["levels"][0].pop("memory"), "neither memory nor fanout nor compute"),
    ],
)
def test_bad_records_of_factorflow_are_refused_with_the_place(flows, tmp_path, change, said):
    def named(record, architecture):
        change(record, architecture)

    document = flow(flows, 0, named)
    if said.startswith("SomeOther"):
        document["architectures"] = flows["architectures"]
    with pytest.raises(InputError) as error:
        package.conformance(written(tmp_path, document))
    assert said in str(error.value)
    assert "records.json" in str(error.value)
