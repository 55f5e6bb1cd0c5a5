"""Padding on the command line, and solutions of workloads with implicit padding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest


def test_the_command_line_knows_padding(optmap, tmp_path: Path):
    file = tmp_path / "m9.json"
    run = optmap("bound", "mobilenet/M9", "--memory", "1MiB", "--padding", "implicit", "-o", str(file))
    assert "159,744" in run.out
    assert "implicit: zero outside the ranges" in run.out
    assert "never stored or moved" in optmap("check", str(file)).out
    assert "stored: it counts as elements of In" in optmap("show", "mobilenet/M9").out
    assert optmap("show", "tccg/ab-ac-cb", "--padding", "implicit").code == 0
    unknown = ("bound", "O[x] += I[x+r]*K[r]", "--extents", "x=4,r=3", "--memory", "9w", "--padding", "implicit")
    assert "in 1..7" in optmap(*unknown, code=2).err


def test_a_solution_with_implicit_padding_is_checked(optmap, tmp_path: Path):
    file = tmp_path / "s.json"
    text = "O[k,x] += I[c,x+r in 1..8]*K[k,c,r]"
    run = optmap("solve", text, "--extents", "k=4,c=3,x=8,r=3", "--memory", "40w", "-o", str(file))
    assert run.code == 0
    assert "in 1..8" in optmap("check", str(file)).out
    assert optmap("evaluate", str(file)).code == 0
    document = json.loads(file.read_text(encoding="utf-8"))
    document["workload"]["padding"] = "stored"
    document["digest"] = digest({key: value for key, value in document.items() if key != "seconds"})
    with pytest.raises(RefusedError, match="padding and statement differ"):
        check_document(document)
