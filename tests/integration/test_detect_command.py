"""The machine at hand from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.longer  # as the examples of the README do it
def test_detect_writes_a_machine_that_other_commands_take(optmap, tmp_path: Path) -> None:
    run = optmap("detect", "--quick", "-o", "host.yaml", "--json", cwd=tmp_path)
    document = run.document()
    assert document["schema"] == "optmap.host/1"
    shown = optmap("show", "host.yaml", "--json", cwd=tmp_path).document()
    assert shown["levels"] == document["machine"]["levels"]
    assert shown["core"] == document["machine"]["core"]
    matmul = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=64,j=48,k=80")
    solved = optmap("solve", *matmul, "--machine", "host.yaml", "--json", cwd=tmp_path).document()
    assert solved["machine"] == document["machine"]


def test_without_a_compiler_detect_still_answers(optmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    run = optmap("detect", "-o", "host.yaml", cwd=tmp_path)
    assert (
        "missing: clock, core, bandwidths, microkernel: not measured: no C compiler: CC names no-such-compiler"
        in run.out
    )
    assert optmap("show", "host.yaml", cwd=tmp_path).out


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(optmap, tmp_path: Path) -> None:
    run = optmap("detect", "-o", str(tmp_path / "no" / "folder" / "host.yaml"), code=2)
    assert "host.yaml" in run.err
