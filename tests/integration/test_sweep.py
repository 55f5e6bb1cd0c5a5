"""Sweeps through the command line: resumed, interrupted, killed, crowded and out of room."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from cases import cases

import optmap as package

ROOT = Path(__file__).resolve().parents[2]
SPEC = """
workloads: ["C[i,j] += A[i,k]*B[k,j]", resnet18/R12]
extents: {i: 96, j: 64, k: 80}
capacities: {from: 256w, to: 16384w, points: 4, scale: log}
methods: [bound, mopt]
seed: 1
"""
POINTS = 16
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("spec") / "grid.yaml"
    file.write_text(SPEC, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def swept(optmap: Command, spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an undisturbed run leaves; tests that spoil it take a copy."""
    folder = tmp_path_factory.mktemp("undisturbed")
    optmap("sweep", spec, "-o", folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(swept: Path) -> pd.DataFrame:
    return _rows(swept)


def _rows(folder: Path) -> pd.DataFrame:
    return package.read_sweep(folder).drop(columns=["seconds"])


def _start(*args: str | Path, shell: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "optmap", "sweep", *map(str, args)]
    if shell:
        command = ["/bin/sh", "-c", f'{shell} && exec "$@"', "sh", *command]
    return subprocess.Popen(
        command,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for_solutions(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and len(list(folder.glob("solutions/*/*.json"))) < count:
        time.sleep(0.01)


def _children(process: subprocess.Popen[str]) -> list[int]:
    files = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(name) for file in files for name in file.read_text().split()]


def _wait_for_end(pids: list[int]) -> None:
    """Processes that are orphans end, or the test times out as a whole."""
    while any(_alive(pid) for pid in pids):
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_plan_run_and_run_again(optmap: Command, spec: Path, tmp_path: Path) -> None:
    plan = optmap("sweep", spec, "-o", tmp_path / "out", "--plan", "--json").document()
    assert plan["points"] == POINTS
    assert plan["stored"] == 0
    assert plan["estimated_seconds"] > 0
    assert not (tmp_path / "out").exists()
    first = optmap("sweep", spec, "-o", tmp_path / "out", "--json")
    assert first.err == ""
    assert first.document()["answered"] == POINTS
    again = optmap("sweep", spec, "-o", tmp_path / "out", "--resume", "--json").document()
    assert (again["answered"], again["reused"]) == (0, POINTS)
    assert again["worst_gap"] == first.document()["worst_gap"] > 0
    assert f"{POINTS} of them stored" in optmap("sweep", spec, "-o", tmp_path / "out", "--plan").out


def _everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Of a folder and all in it: number and time of change in the file system, and what files hold."""
    return {
        str(path): (stat.st_ino, stat.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *folder.rglob("*"))
        for stat in [path.stat()]
    }


def test_a_plan_changes_nothing_in_the_folder(
    optmap: Command, spec: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does it put damaged files aside, or remove what a sweep left that was killed."""
    optmap("sweep", spec, "-o", tmp_path / "out", "--engine", "inline")
    rows = tmp_path / "out" / "rows"
    (rows / ".tmp-left").write_bytes(b"half a file")
    (rows / "part-damaged.parquet").write_bytes(b"no rows")
    with (tmp_path / "out" / "manifest.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"cut')
    for hidden in (".lock", ".claims"):
        (tmp_path / "out" / hidden).unlink(missing_ok=True)
    before = _everything(tmp_path / "out")
    plan = optmap("sweep", spec, "-o", tmp_path / "out", "--plan", "--json")
    assert plan.document()["stored"] == POINTS
    assert "part-damaged.parquet is damaged" in caplog.text
    assert _everything(tmp_path / "out") == before


def test_in_this_process_and_what_the_files_are_good_for(
    optmap: Command, spec: Path, tmp_path: Path, undisturbed: pd.DataFrame
) -> None:
    optmap("sweep", spec, "-o", tmp_path, "--engine", "inline")
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)
    row = package.read_sweep(tmp_path).query("method == 'mopt'").iloc[3]
    solution = tmp_path / "solutions" / row.input_hash[:2] / f"{row.input_hash}.json"
    optmap("evaluate", solution)
    optmap("check", solution)
    optmap("check", tmp_path / "certificates" / row.certificate[:2] / f"{row.certificate}.json")


@pytest.mark.longer
def test_killed_at_random_moments_and_resumed(
    optmap: Command, spec: Path, tmp_path: Path, undisturbed: pd.DataFrame
) -> None:
    moments = random.Random(4)
    kills = 0
    rounds = cases(1, 3)
    for _ in range(rounds):
        process = _start(spec, "-o", tmp_path)
        known = len(list(tmp_path.glob("solutions/*/*.json")))
        _wait_for_solutions(tmp_path, known + moments.randint(1, 2), process)
        workers = _children(process)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        process.communicate()
        _wait_for_end(workers)
    assert kills == rounds
    optmap("sweep", spec, "-o", tmp_path, "--resume")
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)
    assert f"{POINTS} rows are what was recorded" in optmap("check", tmp_path).out


def test_an_interrupt_ends_cleanly(optmap: Command, spec: Path, tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    process = _start(spec, "-o", tmp_path, "--json")
    _wait_for_solutions(tmp_path, 3, process)
    workers = _children(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "run the same command to continue" in err
    assert "Traceback" not in err
    said = json.loads(out)
    assert said["interrupted"] is True
    assert len(_rows(tmp_path)) == said["answered"] + said["failures"].get("interrupted", 0) >= 3
    assert not any(_alive(pid) for pid in workers)
    rest = optmap("sweep", spec, "-o", tmp_path, "--json").document()
    assert rest["answered"] == POINTS - said["answered"]
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)


@pytest.mark.longer
def test_two_sweeps_at_once_in_one_directory(spec: Path, tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    both = [_start(spec, "-o", tmp_path, "--jobs", "1", "--json") for _ in range(2)]
    said = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(json.loads(out)["answered"] for out, _ in said) == POINTS  # none of them twice
    assert any("another sweep is at work here" in err for _, err in said)
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)
    assert len(list((tmp_path / "rows").iterdir())) == 1


@pytest.mark.longer
def test_no_room_left(optmap: Command, spec: Path, tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    # The largest file allowed is smaller than some solutions: the system refuses the write itself.
    process = _start(spec, "-o", tmp_path, shell="ulimit -f 10")
    _, err = process.communicate(timeout=100)
    assert process.returncode == 4
    assert "no room left" in err
    assert "Traceback" not in err
    assert not list(tmp_path.rglob(".tmp-*"))
    optmap("sweep", spec, "-o", tmp_path)
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)


def test_a_truncated_part_is_made_again(
    optmap: Command, spec: Path, tmp_path: Path, swept: Path, undisturbed: pd.DataFrame
) -> None:
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    (part,) = (tmp_path / "rows").iterdir()
    part.write_bytes(part.read_bytes()[:1000])
    run = optmap("sweep", spec, "-o", tmp_path, "--engine", "inline", "--json")
    assert run.document()["answered"] == POINTS
    assert (tmp_path / "damaged" / part.name).exists()
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)


def test_edited_numbers_are_not_printed_and_answered_again(
    optmap: Command, spec: Path, tmp_path: Path, swept: Path, undisturbed: pd.DataFrame
) -> None:
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    (part,) = (tmp_path / "rows").iterdir()
    table = pq.read_table(part)
    better = [1.0 if value is not None else None for value in table["exact"].to_pylist()]
    pq.write_table(table.set_column(table.schema.get_field_index("exact"), table.schema.field("exact"), [better]), part)
    run = optmap("check", tmp_path, code=5)
    assert "is not what was recorded" in run.err
    assert f"{POINTS // 2} things are" in optmap("check", tmp_path, "--json", code=5).document()["refused"]
    assert len(package.read_sweep(tmp_path)) == POINTS // 2
    again = optmap("sweep", spec, "-o", tmp_path, "--engine", "inline", "--resume", "--json").document()
    assert (again["answered"], again["reused"]) == (POINTS // 2, POINTS // 2)
    pd.testing.assert_frame_equal(_rows(tmp_path), undisturbed)
    optmap("check", tmp_path)


@pytest.mark.longer
def test_a_stuck_solve_is_ended_and_tried_again_on_demand(optmap: Command, tmp_path: Path) -> None:
    # A limit that no process can keep stands for a solve that never ends.
    file = tmp_path / "stuck.yaml"
    slow = SPEC.replace("points: 4", "points: 2").replace("seed: 1", "kill_after: 0.0005")
    file.write_text(slow, encoding="utf-8")
    run = optmap("sweep", file, "-o", tmp_path / "out", "--json", code=4)
    assert run.document()["failures"] == {"killed": 8}
    assert "points without a full answer" in run.err
    rows = package.read_sweep(tmp_path / "out")
    assert set(rows["stop"]) == {"killed"}
    assert all("its limit" in error for error in rows["error"])
    file.write_text(slow.replace("kill_after: 0.0005", "kill_after: 60"), encoding="utf-8")
    optmap("sweep", file, "-o", tmp_path / "out", code=4)
    again = optmap("sweep", file, "-o", tmp_path / "out", "--retry", "--json").document()
    assert again["answered"] == 8
    assert set(package.read_sweep(tmp_path / "out")["stop"]) == {"optimal"}


def test_equal_layers_are_solved_once(optmap: Command, tmp_path: Path) -> None:
    file = tmp_path / "twins.yaml"
    twin = "{name: NAME, expression: 'C[i,j] += A[i,k]*B[k,j]', extents: {i: 40, j: 30, k: 20}}"
    names = ", ".join(twin.replace("NAME", name) for name in ("one", "two", "three"))
    file.write_text(f"workloads: [{names}]\ncapacities: {{values: [200w, 400w]}}\n", encoding="utf-8")
    run = optmap("sweep", file, "-o", tmp_path / "out", "--engine", "inline", "--json").document()
    assert (run["points"], run["answered"], run["reused"]) == (12, 4, 8)
    rows = package.read_sweep(tmp_path / "out")
    assert len(rows) == 12
    assert rows.groupby("workload")["bound_words"].sum().nunique() == 1
    assert rows["input_hash"].nunique() == 4


@pytest.mark.longer
def test_refined_capacities(optmap: Command, tmp_path: Path) -> None:
    file = tmp_path / "refined.yaml"
    text = SPEC.replace(", resnet18/R12", "")
    file.write_text(text + "refine: {metric: gap, tolerance: 5%}\n", encoding="utf-8")
    run = optmap("sweep", file, "-o", tmp_path / "out", "--json").document()
    assert 8 < run["points"] < 100
    rows = package.read_sweep(tmp_path / "out")
    assert len(rows) == run["answered"] == run["points"]
    again = optmap("sweep", file, "-o", tmp_path / "out", "--json").document()
    assert (again["answered"], again["points"]) == (0, run["points"])


def test_infeasible_points_are_answers(optmap: Command, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SPEC.replace("from: 256w", "from: 2w").replace("points: 4", "points: 3"), encoding="utf-8")
    run = optmap("sweep", file, "-o", tmp_path / "out", "--engine", "inline")
    assert "infeasible" in run.out
    rows = package.read_sweep(tmp_path / "out")
    stopped = rows.query("stop == 'infeasible'")
    assert set(stopped["method"]) == {"mopt"}
    assert stopped["error"].str.contains("short by").all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPEC.replace("points: 4", "points: 1000000000"), "1,000,000,000"),
        (SPEC.replace("methods:", "method:"), "unknown key 'method'; did you mean methods?"),
        (SPEC.replace("256w", "256"), "has no unit"),
        ("[1, 2]", "a mapping"),
        ("workloads: [", "not valid YAML"),
    ],
)
def test_bad_specs(optmap: Command, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    run = optmap("sweep", file, "-o", tmp_path / "out", code=2)
    assert message in run.err
    assert not (tmp_path / "out").exists()


def test_bad_arguments(optmap: Command, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "choose another directory" in optmap("sweep", spec, "-o", tmp_path / "file", code=2).err
    assert "nothing to resume" in optmap("sweep", spec, "-o", tmp_path / "none", "--resume", code=2).err
    assert "belong together" in optmap("sweep", spec, "-o", tmp_path / "x", "--engine", "dask", code=2).err
    assert "yolo_caches" in optmap("sweep", "nosuch", code=2).err
    run = optmap("sweep", "--help")
    assert "  optmap sweep" in run.out
    assert "--json" in run.out
