"""`check` through the command line: certificates and solutions, good and changed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def files(optmap, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    made = {name: folder / f"{name}.json" for name in ("bound", "mopt", "full", "cores", "iooub", "gemmini")}
    layer = "resnet18/R9"
    optmap("bound", "yolo9000/Y4", "--memory", "65536w", "-o", made["bound"])
    optmap("solve", layer, "--machine", "i7-9700k", "-o", made["mopt"])
    optmap("solve", layer, "--machine", "i7-9700k", "--certificate", "full", "-o", made["full"])
    optmap("solve", layer, "--machine", "i7-9700k", "--cores", "4", "--capacity", "safe", "-o", made["cores"])
    optmap("solve", layer, "--memory", "8192w", "--method", "iooub", "-o", made["iooub"])
    optmap("solve", "resnet50/conv2", "--machine", "gemmini-buffers", "--method", "gemmini", "-o", made["gemmini"])
    return made


@pytest.mark.parametrize("name", ["bound", "mopt", "full", "cores", "iooub", "gemmini"])
def test_files_hold(optmap, files: dict[str, Path], name: str) -> None:
    run = optmap("check", files[name])
    assert run.out.endswith("what is listed as verified holds\n")
    document = optmap("check", files[name], "--json").document()
    assert document["refused"] is None
    assert document["verified"]
    assert document["not_verified"]
    alone = [sys.executable, "-I", "-S", str(ROOT / "optmap" / "checker"), str(files[name])]
    assert subprocess.run(alone, capture_output=True, text=True, check=True, timeout=60).stdout == run.out
    if name != "bound":
        assert optmap("evaluate", files[name]).out


def test_relaxation_integer_bound_and_gap_are_proved_where_that_was_asked_for(optmap, files: dict[str, Path]) -> None:
    said = {name: optmap("check", files[name], "--json").document() for name in ("mopt", "full")}
    for line in ("relaxation 442,25", "integer bound 443,313.2308 cycles"):
        assert any(text.startswith(line) for text in said["full"]["verified"])
        assert not any(text.startswith(line) for text in said["mopt"]["verified"])
    assert any("integer gap 0.24" in text for text in said["full"]["verified"])
    assert any("which no cost is below" in text for text in said["full"]["verified"])
    assert not any(text.startswith(("relaxation", "integer bound")) for text in said["full"]["not_verified"])


@pytest.mark.parametrize("name", ["bound", "mopt"])
def test_a_changed_digit_is_refused(optmap, files: dict[str, Path], tmp_path: Path, name: str) -> None:
    text = files[name].read_text(encoding="utf-8")
    key = {"bound": "loads_words", "mopt": "gap"}[name]
    found = list(re.finditer(rf'"{key}": [0-9.]*?([0-9])\b', text))[-1]
    digit = "8" if found[1] == "9" else "9"
    changed = tmp_path / "changed.json"
    changed.write_text(text[: found.start(1)] + digit + text[found.end(1) :], encoding="utf-8")
    run = optmap("check", changed, code=5)
    assert "refused: the digest" in run.err
    document = optmap("check", changed, "--json", code=5).document()
    assert "digest" in document["refused"]


def test_a_hand_made_solution_without_claims_is_refused_with_a_reason(
    optmap, files: dict[str, Path], tmp_path: Path
) -> None:
    made = json.loads(files["mopt"].read_text(encoding="utf-8"))
    small = tmp_path / "small.json"
    small.write_text(json.dumps({k: made[k] for k in ("schema", "workload", "machine", "mapping")}), encoding="utf-8")
    assert optmap("evaluate", small).out
    assert "refused" in optmap("check", small, code=5).err


def test_unreadable(optmap, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[1,", encoding="utf-8")
    assert "cannot be read" in optmap("check", bad, code=2).err
    assert "no such file" in optmap("check", tmp_path / "none.json", code=2).err
    bad.write_text("[" * 100_000, encoding="utf-8")
    assert "error" in optmap("check", bad, code=None).err
