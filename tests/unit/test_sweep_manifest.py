"""What a sweep has written is what it was, or it is named and does not count."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import some

import optmap
from optmap.answers.proofs import beside
from optmap.base import clock
from optmap.base.errors import CheckError, InputError, LimitError
from optmap.sweeps import SweepStore, answers, as_dict, blank_row, first_grid, read_rows, row_of, spec_from
from optmap.sweeps.folder_check import check_folder
from optmap.sweeps.plan import points
from optmap.sweeps.records.manifest import Manifest, ManifestEntry, file_digest, row_digest
from optmap.sweeps.records.rows import FAILURES
from optmap.sweeps.run import make_engine, run_sweep

SPEC = {
    "workloads": ["C[i,j] += A[i,k]*B[k,j]"],
    "extents": {"i": 24, "j": 20, "k": 16},
    "capacities": {"values": ["2w", "40w", "90w"]},
    "methods": ["bound", "mopt"],
}
POINTS = 6


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "right"
    _run(folder)
    return folder


@pytest.fixture
def folder(right: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    copy = tmp_path / "copy"
    for path in right.rglob("*"):
        if path.is_file():
            place = copy / path.relative_to(right)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return copy


def _run(folder: Path) -> int:
    """Points that were answered."""
    return run_sweep(spec_from(SPEC), folder, engine=make_engine("inline")).answered


def _part(folder: Path) -> Path:
    (part,) = (folder / "rows").glob("*.parquet")
    return part


def _rewrite(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    table = pq.read_table(_part(folder))
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), _part(folder))


def _numbers(folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in read_rows(folder).to_pylist()]


def _document(folder: Path, name: str = "solutions") -> Path:
    return sorted((folder / name).rglob("*.json"))[0]


def _better(rows: list[dict[str, Any]]) -> None:
    rows[3]["bound"] = rows[3]["exact"] = 1.0


def _other_capacity(rows: list[dict[str, Any]]) -> None:
    rows[3]["capacity_words"] += 1


def _foreign(rows: list[dict[str, Any]]) -> None:
    rows.append({**rows[3], "workload": "other", "input_hash": "0" * 64})


def _edit_line(folder: Path, old: str, new: str) -> None:
    path = folder / "manifest.jsonl"
    first, rest = path.read_text().split("\n", 1)
    assert old in first
    path.write_text(first.replace(old, new) + "\n" + rest)


def _replaced(path: Path) -> Path:
    """The place of a file that was there."""
    path.unlink()
    return path


SPOILED: dict[str, tuple[Callable[[Path], Any], str, int]] = {
    "numbers of a row": (lambda f: _rewrite(f, _better), "is not what was recorded", 1),
    "capacity of a row": (lambda f: _rewrite(f, _other_capacity), "it was edited, or written elsewhere", 1),
    "a foreign row": (lambda f: _rewrite(f, _foreign), "other, two-level.*written elsewhere", 0),
    "a row less": (lambda f: _rewrite(f, lambda rows: rows.pop()), "the row of .* is lost", 1),
    "rows cut": (lambda f: _part(f).write_bytes(_part(f).read_bytes()[:900]), "rows/part.* is damaged", POINTS),
    "no rows": (lambda f: _part(f).unlink(), "is lost", POINTS),
    "a link in a circle": (
        lambda f: (f / "rows" / "part-circle.parquet").symlink_to("part-circle.parquet"),
        "rows/part-circle.parquet is damaged",
        0,
    ),
    "rows of something else": (
        lambda f: pq.write_table(pa.table({"a": [1]}), f / "rows" / "part-other.parquet"),
        "rows/part-other.parquet is damaged .a file of other rows",
        0,
    ),
    "a document cut": (lambda f: _document(f).write_bytes(_document(f).read_bytes()[:99]), "edited or cut", 1),
    "a document less": (lambda f: _document(f).unlink(), "solutions/.* is lost", 1),
    "a folder in place of a document": (lambda f: _replaced(_document(f)).mkdir(), "solutions/.* is not what was", 1),
    "a pipe in place of a document": (lambda f: os.mkfifo(_replaced(_document(f))), "solutions/.* is not what was", 1),
    "a number of a document": (
        lambda f: _document(f).write_text(_document(f).read_text().replace("20", "21")),
        "solutions/.* is not what was recorded",
        1,
    ),
    "a certificate": (lambda f: _document(f, "certificates").write_text("{}"), "certificates/.* is not", 1),
    "a line": (lambda f: _edit_line(f, '"bound"', '"mopt"'), "manifest.jsonl: line 1 is cut short or edited", 1),
    "the last line": (
        lambda f: (f / "manifest.jsonl").write_bytes((f / "manifest.jsonl").read_bytes()[:-30]),
        f"line {POINTS} is cut short",
        1,
    ),
    "the manifest": (lambda f: (f / "manifest.jsonl").unlink(), "there is no manifest.jsonl", POINTS),
}


@pytest.mark.parametrize("kind", some(10, SPOILED))
def test_what_was_spoiled_is_named_and_answered_again(
    folder: Path, right: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoil, name, again = SPOILED[kind]
    spoil(folder)
    with pytest.raises(CheckError, match=f"copy: refused: (?s:.*){name}"):
        check_folder(folder)
    with caplog.at_level(logging.WARNING, "optmap"):
        answered = _run(folder)
    assert answered >= again
    if kind != "a certificate":  # the rows of one capacity share it: the first that is answered mends it for all
        assert answered == again
    assert any(re.search(name, text) for text in caplog.messages)
    assert _numbers(folder) == _numbers(right)
    caplog.clear()
    assert _run(folder) == 0
    assert caplog.messages == []
    assert check_folder(folder).verified


@pytest.mark.parametrize("kind", [kind for kind in SPOILED if kind.startswith(("numbers", "capacity", "a foreign"))])
def test_numbers_that_were_not_recorded_are_not_read(
    folder: Path, right: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    SPOILED[kind][0](folder)
    frame = optmap.read_sweep(folder)
    assert len(frame) == POINTS - SPOILED[kind][2]
    assert all(row in read_rows(right).to_pylist() for row in read_rows(folder).to_pylist())
    assert "counts as not answered" in caplog.text


def test_rows_without_a_manifest_are_not_read(folder: Path) -> None:
    (folder / "manifest.jsonl").unlink()
    with pytest.raises(InputError, match=r"no manifest\.jsonl.*run the sweep again"):
        optmap.read_sweep(folder)


def test_a_document_that_was_not_recorded_is_not_handed_out(folder: Path) -> None:
    path = _document(folder)
    path.write_text(path.read_text().replace("20", "21"))
    with pytest.raises(CheckError, match="not what was recorded"):
        optmap.sweep_document(folder, path.stem)


def test_rows_that_were_edited_stay_where_they_can_be_looked_at(folder: Path) -> None:
    _rewrite(folder, _better)
    edited = _part(folder).read_bytes()
    _run(folder)
    (kept,) = (folder / "damaged").iterdir()
    assert kept.read_bytes() == edited


def _forged(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Every row changed, with a new line for each: digests that hold."""
    table = pq.read_table(_part(folder))
    manifest = Manifest(folder)
    manifest.refresh()
    entries = {key: entry.documents for key, entry in manifest.latest.items()}
    rows = table.to_pylist()
    for values in rows:
        change(values)
    made = pa.Table.from_pylist(rows, schema=table.schema)
    pq.write_table(made, _part(folder))
    (folder / "manifest.jsonl").unlink()
    Manifest(folder).append(
        ManifestEntry(key=row_of(values).key, row=row_digest(values), documents=entries[row_of(values).key])
        for values in made.to_pylist()
    )


CLAIMS = (
    *(
        "operations",
        "word_bits",
        "semantics",
        "compulsory_words",
        "traffic_words",
        "bound_words",
        "traffic_gap",
        "cost",
    ),
    *(
        "exact",
        "bound",
        "gap",
        "integer_gap",
        "stop",
        "tiles",
        "objective",
        "mapping",
        "capacity_bytes",
        "bound_method",
    ),
    *("proved", "within", "point", "capacity_rule", "cost_unit", "bound_unit", "seed", "version"),
)


@pytest.mark.parametrize("column", CLAIMS)
def test_a_row_that_says_something_else_than_its_documents_is_refused(folder: Path, column: str) -> None:
    def change(values: dict[str, Any]) -> None:
        old = values[column]
        if values["method"] == "mopt" and values["stop"] == "optimal":
            values[column] = not old if isinstance(old, bool) else f"{old}x" if isinstance(old, str) else old + 1

    _forged(folder, lambda _: None)
    assert check_folder(folder).verified
    _forged(folder, change)
    with pytest.raises(CheckError, match=f"{column} is .*, its document says"):
        check_folder(folder)


@pytest.mark.parametrize("column", ["exact", "integer_gap", "utilisation"])
def test_a_number_without_a_document_is_refused(folder: Path, column: str) -> None:
    def change(values: dict[str, Any]) -> None:
        if values["stop"] == "infeasible":
            values[column] = 5.0

    _forged(folder, change)
    with pytest.raises(CheckError, match=rf"{column} is 5\.0 without any document"):
        check_folder(folder)


@pytest.mark.parametrize(
    ("method", "column", "value"), [("mopt", "energy_pj", 5.0), ("mopt", "evaluations", 5), ("bound", "within", 0.0)]
)
def test_a_number_that_no_document_of_its_kind_has_is_refused(
    folder: Path, method: str, column: str, value: float
) -> None:
    def change(values: dict[str, Any]) -> None:
        if values["method"] == method and values["stop"] == "optimal":
            values[column] = value

    _forged(folder, change)
    with pytest.raises(CheckError, match=f"{column} is {value}, its document says None"):
        check_folder(folder)


def test_rows_of_memories_with_packed_entries_are_what_their_documents_say(tmp_path: Path) -> None:
    """A capacity in entries is one of their bytes, of which a row says how many words of the workload they are."""
    machine = tmp_path / "packer.yaml"
    machine.write_text(
        "{name: packer, arithmetic: {energy_pj: 1}, outermost: {energy_pj: 100}, "
        "levels: [{name: L1, capacity: 32w, word_bits: 64, pack: true, energy_pj: 1}]}"
    )
    small = {**SPEC, "extents": {"i": 4, "j": 4, "k": 4}, "capacities": {"values": ["16w"], "level": "L1"}}
    spec = spec_from({**small, "machines": [str(machine)], "methods": ["exact"]})
    run_sweep(spec, tmp_path / "out", engine=make_engine("inline"))
    assert [row["capacity_words"] for row in _numbers(tmp_path / "out")] == [32]
    check_folder(tmp_path / "out")


@pytest.mark.parametrize("method", ["mopt", "bound"])
def test_an_answer_with_bounds_that_an_interrupt_cut_short_is_given_again(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """It came between the search and its bounds: kept as it is, the row had compulsory traffic for ever."""
    spec = spec_from({**SPEC, "methods": [method]})
    *_, (_, _, point) = points(spec, first_grid(spec))
    assert answers.answer_point(point).row.stop == "optimal"
    sought = answers.level_bounds

    def interrupted(*args: Any, **options: Any) -> Any:
        clock.stop()
        return sought(*args, **options)

    monkeypatch.setattr(answers, "level_bounds", interrupted)
    with clock.stop_on_signals():
        answer = answers.answer_point(point)
    assert answer.row.stop == "interrupted"
    assert answer.solution is None or method == "bound"


@pytest.mark.parametrize("cores", [1, 2])
def test_a_row_whose_bound_was_not_known_in_time_has_a_document_that_says_so(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    machine = optmap.machine("i7-9700k")
    alone = {key: own for key, own in SPEC.items() if key != "capacities"}
    spec = spec_from({**alone, "machines": ["i7-9700k"], "options": {"cores": cores}})
    *_, (_, _, point) = points(spec, first_grid(spec))
    sought = beside.bound_in_time

    def late(workload: Any, memory: int, clock: Any, between: tuple[str, str], notes: list[str]) -> Any:
        monkeypatch.setattr(beside, "certified_bound", without_time)
        return sought(workload, memory, clock, between, notes)

    def without_time(*_: Any) -> None:
        raise LimitError("the time was over; raise the time limit")

    monkeypatch.setattr(answers, "bound_in_time", late)  # the solve has its bounds; those of the row come later
    answer = answers.answer_point(point)
    assert answer.solution is not None
    assert answer.row.bound_words == answer.row.compulsory_words
    said = [str(note) for note in answer.solution["notes"] if "compulsory traffic" in note]  # type: ignore[attr-defined]
    over = "compulsory traffic: the time was over; raise the time limit"
    assert said == [f"the bound at {' - '.join(between)} is {over}" for between in machine.boundaries]


@pytest.mark.parametrize("stop", [*FAILURES, "error", "check", "infeasible", "time_limit"])
def test_a_point_that_has_no_mapping_needs_no_document(tmp_path: Path, stop: str) -> None:
    spec = spec_from(SPEC)
    with SweepStore(tmp_path) as store:
        for _, _, point in points(spec, first_grid(spec)):
            store.add(answers.PointAnswer(row=blank_row(point, stop=stop, error="it was so")))
    assert f"6 rows without a number ({stop})" in check_folder(tmp_path).not_verified


def test_a_false_document_with_the_right_digests_is_refused(folder: Path) -> None:
    _forged(folder, lambda _: None)
    manifest = Manifest(folder)
    manifest.refresh()
    path = next(path for path in folder.glob("solutions/*/*.json") if '"optmap.solution/' in path.read_text())
    document = json.loads(path.read_text())
    document["mapping"]["levels"][0]["tile"]["i"] = 1
    path.write_text(json.dumps(document))
    name = path.relative_to(folder).as_posix()
    digest = file_digest(path)
    assert digest is not None
    (entry,) = (entry for entry in manifest.latest.values() if name in entry.documents)
    manifest.append([replace(entry, documents={**entry.documents, name: digest})])
    with pytest.raises(CheckError, match=f"{name}: refused"):
        check_folder(folder)


def test_one_name_for_files_and_folders(right: Path) -> None:
    report = optmap.check(right)
    assert report.verified[0].startswith(f"{POINTS} rows")
    assert any("infeasible" in line for line in report.not_verified)
    assert optmap.check(_document(right)).verified
    with pytest.raises(InputError, match="no sweep here"):
        optmap.check(right / "rows")


def test_bounds_that_were_cut_short_hold_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise LimitError("the time was over")

    monkeypatch.setattr("optmap.answers.proofs.beside.certified_bound", late)
    folder = tmp_path / "late"
    _run(folder)
    assert {row["stop"] for row in read_rows(folder).to_pylist() if row["method"] == "bound"} == {"time_limit"}
    assert check_folder(folder).verified

    def whole(values: dict[str, Any]) -> None:
        values["stop"] = "optimal" if values["method"] == "bound" else values["stop"]

    _forged(folder, whole)
    with pytest.raises(CheckError, match="stop is optimal, its document says time_limit"):
        check_folder(folder)


def test_a_memory_without_room_for_a_word_has_no_bound(tmp_path: Path) -> None:
    matmul = {"name": "half", "expression": "C[i,j] += A[i,k]*B[k,j]", "extents": {"i": 4, "j": 4, "k": 4}, "bits": 16}
    spec = {"workloads": [matmul], "capacities": {"values": ["1B", "100B"]}, "methods": ["bound", "mopt"]}
    run_sweep(spec_from(spec), tmp_path, engine=make_engine("inline"))
    stops = [(row["capacity_words"], row["stop"]) for row in read_rows(tmp_path).to_pylist()]
    assert stops == [(0, "infeasible"), (0, "infeasible"), (50, "optimal"), (50, "optimal")]
    assert check_folder(tmp_path).verified


def test_lines_are_added_after_one_that_was_cut_short(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    entries = [ManifestEntry(key=("w", "m", "L", 8, "mopt", f"{n}" * 64), row=f"{n}" * 64) for n in range(3)]
    manifest.append(entries[:2])
    whole = manifest.path.read_bytes()
    for cut in range(len(entries[0].text()) + 2, len(whole)):
        manifest.path.write_bytes(whole[:cut])
        Manifest(tmp_path).append(entries[2:])
        again = Manifest(tmp_path)
        again.refresh()
        complete = cut == len(whole) - 1
        assert again.broken == ([] if complete else [2])
        assert [entry.key for entry in again.latest.values()] == [
            entry.key for entry in (entries if complete else entries[::2])
        ]


def test_lines_of_another_folder_are_named_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    Manifest(folder).append([ManifestEntry(key=("other", "two-level", "Fast", 8, "mopt", "0" * 64), row="1" * 64)])
    with pytest.raises(CheckError, match=r"other, .* is lost"):
        check_folder(folder)
    assert _run(folder) == 0
    assert "other, two-level, Fast of 8 words" in caplog.text
    assert check_folder(folder).verified
    assert len((folder / "damaged" / "manifest.jsonl").read_text().splitlines()) == POINTS + 1


def test_what_another_sweep_adds_is_seen(tmp_path: Path) -> None:
    wanted = [point for _, _, point in points(spec_from(SPEC), first_grid(spec_from(SPEC)))][:2]
    with SweepStore(tmp_path) as first:
        assert first.claim(wanted[0])
        with SweepStore(tmp_path) as second:
            second.add(answers.answer_point(wanted[0]))
            second.add(answers.answer_point(wanted[1]))
            second.flush()
            assert not first.has(wanted[1])
            assert not first.claim(wanted[1])  # just answered: nothing to do
            assert first.stored(wanted[1], retry=True) is not None
            assert first.has(wanted[0])


def test_a_digest_is_that_of_what_is_read_back(right: Path) -> None:
    for values in read_rows(right).to_pylist():
        assert row_digest(as_dict(row_of(values))) == row_digest(values)
