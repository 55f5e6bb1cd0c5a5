"""Every script of this folder runs as it is called from the shell, on as little as it takes."""

from __future__ import annotations

import logging
import os
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from cases import some
from printed_rows import rows_made

from optmap.checker.bounds import crossings
from optmap.checker.core import shapes
from optmap.sweeps import store

HERE = Path(__file__).resolve().parent
SMALLEST = {
    "allocation_attack": ["--seeds", "2", "--first", "8", "--most", "500"],
    "answer_attack": ["--trials", "6"],
    "attention_points": ["--tokens", "512", "--heads", "64", "--memories", "32768,65536"],
    "batch_counting": ["--nests", "64", "--scalar", "8"],
    "bayesian_search": ["--layers", "R11", "--machines", "gemmini", "--seeds", "1", "--evaluations", "30"],
    "bounds_soundness": ["20", "1"],
    "chain_floor_attack": ["3", "20", "1"],
    "chain_orders_attack": ["50", "1"],
    "checker_mutants": ["20", "1"],
    "constraints_attack": ["--cases", "3", "--most", "2000"],
    "exact_attack": ["--all", "2", "--itself", "2"],
    "frontier_table": ["tccg/ab-ac-cb"],
    "full_certificates": ["resnet18/R11", "--machines", "i9-10980xe", "--most", "5"],
    "halo_attack": ["20000", "1"],
    "held_attack": ["20", "1"],
    "interrupt_attack": ["1"],
    "proof_rows": ["20", "1"],
    "quickflow_table": ["--layers", "XII", "--machines", "eyeriss", "--exact", "5"],
    "regimes_attack": ["--points", "2", "--nests", "1", "--schedules", "3", "--only", "matmul,strided 1d"],
    "quickflow_orders": ["--layers", "IV", "--machines", "gemmini", "--mappings", "5", "--most", "30"],
    "search_fuzz": ["--trials", "3"],
    "spatial_counting": ["--trials", "4", "--operations", "60"],
    "startup": ["1", "list"],
    "sunstone_table": ["--layers", "resnet18/R11", "--machine", "simba_like", "--exact", "5"],
    "sweep_cheap": ["4"],
    "sweep_crashes": ["3", "1"],
    "sweep_edits": ["12", "1", "6"],
    "sweep_kill": ["1", "1", "tccg/ab-ac-cb"],
    "sweep_refine": ["resnet18/R12", "--fine", "5", "--tolerances", "0.5"],
    "table1": ["--machines", "balanced", "--tiles", "any", "--layers", "tccg/ab-ac-cb"],
    "tap_classes_attack": ["2", "1"],
    "timed_attack": ["6", "1"],
    "time_limits": ["--limits", "1", "--only", "solve row memory 8192w method iooub"],
    "tree_mutants": ["20", "1"],
    "two_roads": ["--layers", "resnet18/R3", "--semantics", "assign", "--capacity", "tile"],
    "visits_attack": ["1", "1"],
    "width_attack": ["--cases", "5"],
    "wires_attack": ["--cases", "5"],
    "written_files": ["tccg/ab-ac-cb"],
}
LONG = {
    "checker_mutants", "frontier_table", "interrupt_attack", "startup", "sunstone_table", "sweep_cheap",
    "sweep_crashes", "sweep_edits", "sweep_kill", "sweep_refine", "table1", "time_limits", "timed_attack",
    "written_files",
}  # fmt: skip
"""Seconds each, whatever they are asked for."""


def test_every_script_is_tried() -> None:
    assert sorted(SMALLEST) == sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_"))


@pytest.mark.parametrize("name", some(sorted(set(SMALLEST) - LONG), SMALLEST))
def test_script_runs(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    script = HERE / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), *SMALLEST[name]])
    # As Python begins a script; what scripts change for themselves is as it was afterwards.
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    monkeypatch.setattr(shapes, "digest", shapes.digest)
    monkeypatch.setattr(crossings, "check_bound", crossings.check_bound)
    monkeypatch.setattr(store, "ROWS_HELD", store.ROWS_HELD)
    said_by = logging.getLogger("optmap")
    monkeypatch.setattr(said_by, "propagate", said_by.propagate)
    monkeypatch.setattr(said_by, "handlers", list(said_by.handlers))
    code: object = None
    try:
        with patch.dict(os.environ, PYTHONPATH=str(HERE.parents[1])):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        logging.disable(logging.NOTSET)
    assert not code
    said = capfd.readouterr().out
    assert any(digit in said for digit in "0123456789")


def test_an_interrupted_table_goes_on_after_its_whole_rows(tmp_path: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text("layer words\n\nA 1 good\nB 1 bad\n  ACCEPTED something\nA 2 good\nA 4 cut o", encoding="utf-8")
    assert rows_made(table) == {
        ("layer", "words"): "layer words\n",
        ("A", "1"): "A 1 good\n",
        ("A", "2"): "A 2 good\n",
    }
    assert rows_made(None) == {}
