"""The store: atomic, shared, content-addressed, and honest about damage."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

import optmap
from optmap.base.errors import CheckError, InputError
from optmap.files import library
from optmap.machines.machine import two_level
from optmap.sweeps import (
    COLUMNS,
    KEY,
    GridPoint,
    Options,
    PointAnswer,
    StoreError,
    StoreFullError,
    SweepStore,
    answer_point,
    blank_row,
    document_path,
    make_point,
    read_rows,
    store,
    write_atomic,
)
from optmap.sweeps.records import files
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul

SMALL = matmul(i=24, j=20, k=16, name="small")


def _points(count: int, method: str = "bound") -> list[GridPoint]:
    return [
        make_point(
            SMALL,
            two_level(Capacity(amount=20 + 3 * number, unit="words")),
            level="Fast",
            method=method,
            options=Options(),
            seed=0,
        )
        for number in range(count)
    ]


def _filled(folder: Path, count: int = 6) -> list[GridPoint]:
    points = _points(count)
    with SweepStore(folder) as made:
        for point in points:
            made.add(answer_point(point))
    return points


def _parts(folder: Path) -> list[Path]:
    return sorted((folder / "rows").glob("*.parquet"))


@pytest.fixture
def _one_row_per_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ROWS_HELD", 1)


def test_rows_solutions_and_certificates_are_kept(tmp_path: Path) -> None:
    points = _filled(tmp_path)
    assert len(_parts(tmp_path)) == 1
    frame = optmap.read_sweep(tmp_path)
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["capacity_words"]) == [point.capacity_words for point in points]
    for name, certificate in zip(frame["input_hash"], frame["certificate"], strict=True):
        solution = json.loads((tmp_path / "solutions" / name[:2] / f"{name}.json").read_text())
        assert solution["workload"]["name"] == "small"
        proof = json.loads((tmp_path / "certificates" / certificate[:2] / f"{certificate}.json").read_text())
        assert proof["kind"] == "bound"
    with SweepStore(tmp_path) as again:
        assert all(again.has(point) for point in points)
        assert not again.has(_points(7)[-1])


@pytest.mark.parametrize("version", ["optmap.rows/3", "optmap.rows/5"])
def test_rows_of_another_version_are_refused(tmp_path: Path, version: str) -> None:
    _filled(tmp_path)
    (part,) = _parts(tmp_path)
    pq.write_table(pq.read_table(part).replace_schema_metadata({"schema": version}), part)
    with pytest.raises(InputError, match=rf"rows are {version}.*run the sweep again"):
        optmap.read_sweep(tmp_path)
    with pytest.raises(InputError, match="into another directory"), SweepStore(tmp_path):
        pass
    assert len(_parts(tmp_path)) == 1
    assert not (tmp_path / "damaged").exists()


def test_a_row_leads_to_its_mapping(tmp_path: Path) -> None:
    with SweepStore(tmp_path) as made:
        for method in ("bound", "mopt", "iooub"):
            for point in _points(2, method):
                made.add(answer_point(point))
    frame = optmap.read_sweep(tmp_path, tiles=True)
    assert [name for name in frame.columns if "_tile_" in name] == ["Fast_tile_i", "Fast_tile_j", "Fast_tile_k"]
    for _, row in frame.iterrows():
        document: Any = optmap.sweep_document(tmp_path, row)
        assert optmap.check(document_path(tmp_path, row)).verified
        if row["method"] == "bound":
            assert row["mapping"] == ""
            assert document["schema"].startswith("optmap.sweep-bound/")
            continue
        (level,) = document["mapping"]["levels"]
        assert {dim: row[f"Fast_tile_{dim}"] for dim in "ijk"} == level["tile"]
        assert row["Fast_loops"].split(",") == level["permutation"]
        assert document["exact"]["value"] == row["exact"]
        assert optmap.sweep_document(tmp_path, row["input_hash"]) == document
    with pytest.raises(InputError, match="no document: short"):
        optmap.sweep_document(tmp_path, {"input_hash": "0" * 64, "error": "short by 4 words"})


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("total_words", 10**6, "total_words is not what"),
        ("memory_words", 10**6, "memory_words is not what"),
        ("loads_words", True, "a whole number"),
        ("certificate", None, "must be an object"),
    ],
)
def test_a_forged_bound_of_a_row_is_refused(tmp_path: Path, key: str, value: object, reason: str) -> None:
    machine = library.machine("balanced")
    point = make_point(SMALL, machine, level="L2", method="bound", options=Options(), seed=0)
    document: Any = answer_point(point).solution
    path = tmp_path / "row.json"
    path.write_text(json.dumps(document))
    assert len(optmap.check(path).verified) > len(machine.levels)
    document["bounds"][1][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(CheckError, match=reason):
        optmap.check(path)
    other = answer_point(
        make_point(SMALL.with_extents(i=25), machine, level="L2", method="bound", options=Options(), seed=0)
    )
    document["bounds"][1] = other.solution["bounds"][1]  # type: ignore[index]
    path.write_text(json.dumps(document))
    with pytest.raises(CheckError, match="another workload"):
        optmap.check(path)


def test_whole_numbers_beyond_floats_and_64_bits_are_kept(tmp_path: Path) -> None:
    answer = answer_point(_points(1, "mopt")[0])
    first = replace(answer.row, operations=2**53 + 1, traffic_words=2**63 - 1, compulsory_words=2**53 + 1)
    second = replace(first, workload="other", traffic_words=10**38 - 1, input_hash="1" * 64)
    with SweepStore(tmp_path) as made:
        made.add_row(first)
    frame = optmap.read_sweep(tmp_path)
    assert str(frame["traffic_words"].dtype) == "Int64"
    assert frame["traffic_words"][0] == 2**63 - 1
    with SweepStore(tmp_path) as made:
        made.add_row(second)
    frame = optmap.read_sweep(tmp_path)
    assert list(frame["traffic_words"]) == [10**38 - 1, 2**63 - 1]
    assert list(frame["operations"]) == list(frame["compulsory_words"]) == [2**53 + 1] * 2


def test_duckdb_reads_the_files_as_they_are(tmp_path: Path) -> None:
    _filled(tmp_path)
    query = f"SELECT count(*), min(bound_words) > 0 FROM '{tmp_path}/rows/*.parquet' WHERE method = 'bound'"
    assert duckdb.sql(query).fetchall() == [(6, True)]


def test_a_lost_solution_is_made_again(tmp_path: Path) -> None:
    points = _filled(tmp_path)
    name = points[2].input_hash
    (tmp_path / "solutions" / name[:2] / f"{name}.json").unlink()
    with SweepStore(tmp_path) as again:
        assert [again.has(point) for point in points] == [True, True, False, True, True, True]


@pytest.mark.usefixtures("_one_row_per_part")
@pytest.mark.parametrize("damage", ["half", "empty", "smear", "garbage"])
def test_a_damaged_part_costs_its_points_and_is_put_aside(tmp_path: Path, damage: str) -> None:
    points = _points(5)
    made = SweepStore(tmp_path)
    with made:
        for point in points:
            made.add(answer_point(point))
        parts = _parts(tmp_path)
        assert len(parts) == 5
        victim = parts[1]
        lost = pq.read_table(victim)["input_hash"].to_pylist()
        data = victim.read_bytes()
        middle = len(data) // 4
        smeared = data[:middle] + bytes(byte ^ 0x55 for byte in data[middle : middle + 200]) + data[middle + 200 :]
        contents = {"half": data[: len(data) // 2], "empty": b"", "smear": smeared, "garbage": b"PAR1" + bytes(50)}
        victim.write_bytes(contents[damage])
    with SweepStore(tmp_path) as again:
        assert [point.input_hash for point in points if not again.has(point)] == lost
        for point in points:
            if not again.has(point):
                again.add(answer_point(point))
    assert (tmp_path / "damaged" / victim.name).exists()
    assert len(read_rows(tmp_path)) == 5


@pytest.mark.usefixtures("_one_row_per_part")
def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = _points(6)
    with SweepStore(tmp_path) as made:
        for point in points[:4]:
            made.add(answer_point(point))
    before = read_rows(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(files, "_write", full)
        with pytest.raises(StoreFullError, match="No space left"):
            SweepStore(tmp_path)

    def fill_up() -> None:
        with SweepStore(tmp_path) as made:
            made.add(answer_point(points[4]))
            patched.setattr(files, "_write", full)
            made.add(answer_point(points[5]))

    with monkeypatch.context() as patched, pytest.raises(StoreFullError, match="run the same command again"):
        fill_up()
    with SweepStore(tmp_path) as again:
        assert [again.has(point) for point in points] == [True] * 5 + [False]
    assert read_rows(tmp_path).slice(0, 4).equals(before)
    assert not list(tmp_path.rglob(".tmp-*"))


def test_directories_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="choose another directory"):
        SweepStore(tmp_path / "file")
    with pytest.raises(StoreError, match="choose another directory"):
        SweepStore(tmp_path / "file" / "inside")
    with pytest.raises(InputError, match="no sweep here"):
        optmap.read_sweep(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "deep" / "x.json"
    write_atomic(target, b"old")

    def half(path: Path, data: bytes, durable: bool) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_write", half)
    with pytest.raises(StoreError, match="Input/output"):
        write_atomic(target, b"new content")
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_two_at_work_do_not_disturb_each_other(tmp_path: Path) -> None:
    points = _points(6)
    first, second = SweepStore(tmp_path), SweepStore(tmp_path)
    with second:
        with first:
            for point in points[:4]:
                first.add(answer_point(point))
        # The first one is done, but must not put files together while the second is at work.
        assert not any(part.name.startswith("part-all-") for part in _parts(tmp_path))
        for point in points[2:]:
            second.add(answer_point(point))
    assert len(_parts(tmp_path)) == 1
    table = read_rows(tmp_path)
    assert len(table) == 6
    keys = list(zip(*(table[name].to_pylist() for name in KEY), strict=True))
    assert keys == sorted(set(keys))


@pytest.mark.usefixtures("_one_row_per_part")
def test_many_parts_become_few_while_a_sweep_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PARTS_KEPT", 4)
    with SweepStore(tmp_path) as made:
        for number, point in enumerate(_points(15)):
            made.add(answer_point(point))
            assert len(_parts(tmp_path)) < 4
            assert len(read_rows(tmp_path)) == number + 1


def test_an_answer_replaces_a_failure_but_not_the_reverse(tmp_path: Path) -> None:
    (point,) = _points(1)
    failed = PointAnswer(row=blank_row(point, stop="crash", error="its process was ended by SIGSEGV"))
    with SweepStore(tmp_path) as made:
        made.add(failed)
    with SweepStore(tmp_path) as made:
        assert made.stored(point) == ("crash", None)
        assert made.stored(point, retry=True) is None
        assert not made.has_answer(point)
        made.add(answer_point(point))
    with SweepStore(tmp_path) as made:
        made.add(failed)
    assert read_rows(tmp_path)["stop"].to_pylist() == ["optimal"]


def test_the_same_inputs_under_another_name_are_found(tmp_path: Path) -> None:
    points = _filled(tmp_path)
    other = make_point(
        replace(SMALL, name="twin"), points[1].machine, level="Fast", method="bound", options=Options(), seed=0
    )
    with SweepStore(tmp_path) as again:
        assert not again.has(other)
        assert again.has_answer(other)
        rows = again.same_inputs([other])
        assert rows[other.input_hash].workload == "small"
        assert rows[other.input_hash].capacity_words == other.capacity_words


def test_leftovers_of_a_killed_write_are_removed(tmp_path: Path) -> None:
    _filled(tmp_path)
    leftover = tmp_path / "rows" / ".tmp-1-abc"
    leftover.write_bytes(b"half a file")
    _filled(tmp_path)
    assert not leftover.exists()
