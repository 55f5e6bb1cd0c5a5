"""optmap: optimization modelling of data movement in tensor computations.

The verbs of the command line are functions here, under the same names; they are loaded when first
used, so that importing the package costs nothing. Their answers print as tables, render in
notebooks, and have `to_dict`, `save` and, where there is something to draw, `plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optmap.api import bound as bound
    from optmap.api import check as check
    from optmap.api import solve as solve
    from optmap.catalogue import list_names as list  # noqa: F401
    from optmap.catalogue import load as load
    from optmap.catalogue import machine as machine
    from optmap.catalogue import show as show
    from optmap.catalogue import workload as workload
    from optmap.comparing import compare as compare
    from optmap.deriving import classes as classes
    from optmap.deriving import closed_form as closed_form
    from optmap.deriving import derive as derive
    from optmap.deriving import inferred_reuse as inferred_reuse
    from optmap.deriving import regimes as regimes
    from optmap.exchange import export_timeloop as export_timeloop
    from optmap.exchange import import_timeloop as import_timeloop
    from optmap.exchange import score as score
    from optmap.exploring import explore as explore
    from optmap.exploring import sensitivity as sensitivity
    from optmap.measuring import bench as bench
    from optmap.measuring import validate as validate
    from optmap.modelling import export as export
    from optmap.modelling import program as program
    from optmap.problem.objective import register_objective as register_objective
    from optmap.running import compile_result as compile  # noqa: F401
    from optmap.running import detect as detect
    from optmap.running import emit as emit
    from optmap.running import run as run
    from optmap.search.methods import register_method as register_method
    from optmap.sweeps.races import race as race
    from optmap.sweeps.reading import read_sweep as read_sweep
    from optmap.sweeps.reading import sweep_document as sweep_document
    from optmap.sweeps.run import sweep as sweep
    from optmap.verbs import algorithms as algorithms
    from optmap.verbs import conformance as conformance
    from optmap.verbs import doctor as doctor
    from optmap.verbs import import_onnx as import_onnx
    from optmap.verbs import network as network
    from optmap.verbs import plan as plan
    from optmap.verbs import plot as plot
    from optmap.verbs import randomized as randomized

__version__ = "0.1.0"

_VERBS = {
    **dict.fromkeys(("solve", "bound", "check"), "optmap.api"),
    "compare": "optmap.comparing",
    "race": "optmap.sweeps.races",
    "sweep": "optmap.sweeps.run",
    **dict.fromkeys(("read_sweep", "sweep_document"), "optmap.sweeps.reading"),
    **dict.fromkeys(("list", "load", "machine", "show", "workload"), "optmap.catalogue"),
    **dict.fromkeys(("classes", "closed_form", "derive", "inferred_reuse", "regimes"), "optmap.deriving"),
    **dict.fromkeys(("algorithms", "conformance", "doctor", "import_onnx"), "optmap.verbs"),
    **dict.fromkeys(("network", "plan", "plot", "randomized"), "optmap.verbs"),
    **dict.fromkeys(("export", "program"), "optmap.modelling"),
    **dict.fromkeys(("export_timeloop", "import_timeloop", "score"), "optmap.exchange"),
    **dict.fromkeys(("explore", "sensitivity"), "optmap.exploring"),
    **dict.fromkeys(("compile", "detect", "emit", "run"), "optmap.running"),
    **dict.fromkeys(("bench", "validate"), "optmap.measuring"),
    "register_method": "optmap.search.methods",
    "register_objective": "optmap.problem.objective",
    "evaluate": "optmap.evaluate",
}
"""Module that each verb lives in."""
_OTHERWISE_NAMED = {"list": "list_names", "compile": "compile_result"}
"""Verbs whose function has a name that hides nothing of Python's own."""


def __getattr__(name: str) -> object:
    """Load a verb of the Python interface when it is first used."""
    if name == "evaluate":  # a package that can be called: both keep their name
        return import_module("optmap.evaluate")
    if name in _VERBS:
        return getattr(import_module(_VERBS[name]), _OTHERWISE_NAMED.get(name, name))
    raise AttributeError(f"module 'optmap' has no attribute {name!r}")


def __dir__() -> Sequence[str]:
    """Public names, verbs included."""
    return sorted([*globals(), *_VERBS])
