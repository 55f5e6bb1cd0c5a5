"""`evaluate` counts every claim again, of whole documents and of what a hand wrote."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.cli.app import app

CONV = "O[k,x] += I[c,2*x+r]*F[k,c,r]"


@pytest.fixture(scope="module", params=["mopt", "iooub"])
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    extents = {"k": 6, "c": 5, "x": 20, "r": 5}
    made = json.loads(
        json.dumps(solution_document(api.solve(CONV, extents=extents, memory="40w", method=request.param)))
    )
    assert made["gap"] > 0
    assert made["bound"]["value"] > 0
    return dict(made)


def evaluated(document: dict[str, Any], folder: Path) -> tuple[int, str]:
    file = folder / "solution.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    result = CliRunner().invoke(app, ["evaluate", str(file)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stderr


FORGED = {
    "gap": lambda d: 0.0,
    "bound": lambda d: {**d["bound"], "value": 2 * d["exact"]["value"]},
    "integer_gap": lambda d: d["integer_gap"] + 0.125,
    "bottleneck": lambda d: "L7",
    "levels": lambda d: [{**d["levels"][0], "cycles": d["levels"][0]["cycles"] / 2}],
}
KINDS = {"gap": "x", "bound": [], "integer_gap": "0.1", "bottleneck": 3, "levels": [1], "certificates": 7}


@pytest.mark.parametrize("whole", [True, False])
def test_what_solve_wrote_holds(document: dict[str, Any], tmp_path: Path, whole: bool) -> None:
    made = copy.deepcopy(document)
    if not whole:
        del made["certificates"], made["digest"]
    assert evaluated(made, tmp_path) == (0, "")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("key", FORGED)
def test_a_forged_claim_ends_with_five(document: dict[str, Any], tmp_path: Path, key: str, whole: bool) -> None:
    made = copy.deepcopy(document)
    made[key] = FORGED[key](made)
    if not whole:
        del made["certificates"], made["digest"]
    code, message = evaluated(made, tmp_path)
    assert code == 5
    assert key in message or (key == "levels" and "Fast takes" in message)
    assert ("digest" in message) == whole


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("key", KINDS)
def test_a_claim_of_another_kind_is_refused(document: dict[str, Any], tmp_path: Path, key: str, whole: bool) -> None:
    made = copy.deepcopy(document)
    if not whole:
        del made["certificates"], made["digest"]
    made[key] = KINDS[key]
    code, message = evaluated(made, tmp_path)
    # Without the certificates nothing else is complete, so that a certificates field alone is not read.
    assert code in (2, 5) or (key == "certificates" and not whole)
    assert key in message or code == 0


def test_a_changed_note_is_a_changed_document(document: dict[str, Any], tmp_path: Path) -> None:
    made = {**document, "notes": ["nothing to see"]}
    code, message = evaluated(made, tmp_path)
    assert (code, "digest" in message) == (5, True)
