"""optmap: optimization modelling of data movement in tensor computations.

The verbs of the command line are functions here, under the same names; they are loaded when first
used, so that importing the package costs nothing. Their answers print as tables, render in
notebooks, and have `to_dict`, `save` and, where there is something to draw, `plot`. The types of
answers and of errors are here, too, and `METHODS`, what `solve` can search with.
"""

from __future__ import annotations

import optmap.starting  # before anything else is imported, so that an interrupt is heard

# isort: split
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import optmap.wiring  # noqa: F401 - every process that has the package has its registries filled
from optmap.version import __version__ as __version__

if TYPE_CHECKING:
    from optmap.api import bound as bound
    from optmap.api import solve as solve
    from optmap.baselines.randomized import RandomizedComparison as RandomizedComparison
    from optmap.catalogue import list_names as list  # noqa: F401 - exported by __getattr__
    from optmap.catalogue import load as load
    from optmap.catalogue import machine as machine
    from optmap.catalogue import show as show
    from optmap.catalogue import workload as workload
    from optmap.checker import Report as Report
    from optmap.comparing import compare as compare
    from optmap.deriving import classes as classes
    from optmap.deriving import closed_form as closed_form
    from optmap.deriving import derive as derive
    from optmap.deriving import inferred_reuse as inferred_reuse
    from optmap.deriving import regimes as regimes
    from optmap.errors import CheckError as CheckError
    from optmap.errors import ContradictionError as ContradictionError
    from optmap.errors import InfeasibleError as InfeasibleError
    from optmap.errors import InputError as InputError
    from optmap.errors import LimitError as LimitError
    from optmap.errors import OneStatementError as OneStatementError
    from optmap.errors import OptmapError as OptmapError
    from optmap.errors import ParseError as ParseError
    from optmap.errors import SolverUnavailableError as SolverUnavailableError
    from optmap.errors import StatementError as StatementError
    from optmap.errors import StrategyError as StrategyError
    from optmap.errors import TreeError as TreeError
    from optmap.errors import UnknownNameError as UnknownNameError
    from optmap.errors import WrongKindError as WrongKindError
    from optmap.evaluate.policies import register_policy as register_policy
    from optmap.exchange import export_timeloop as export_timeloop
    from optmap.exchange import import_timeloop as import_timeloop
    from optmap.exchange import score as score
    from optmap.exploring import explore as explore
    from optmap.exploring import sensitivity as sensitivity
    from optmap.gap.boundaries import BoundReport as BoundReport
    from optmap.gap.closed_forms import ClosedFormAnswer as ClosedFormAnswer
    from optmap.gap.comparison import Comparison as Comparison
    from optmap.gap.conformance import Conformance as Conformance
    from optmap.gap.nest_comparison import NestComparison as NestComparison
    from optmap.gap.program import ProvedProgram as ProvedProgram
    from optmap.gap.race import Race as Race
    from optmap.gap.recount import Evaluation as Evaluation
    from optmap.gap.regimes import Regimes as Regimes
    from optmap.gap.saved_tree import SavedTree as SavedTree
    from optmap.gap.saved_tree import TreeEvaluation as TreeEvaluation
    from optmap.gap.scoring import Score as Score
    from optmap.gap.solution import SavedSolution as SavedSolution
    from optmap.interchange.timeloop import TimeloopModel as TimeloopModel
    from optmap.measuring import bench as bench
    from optmap.measuring import validate as validate
    from optmap.modelling import export as export
    from optmap.modelling import program as program
    from optmap.native.bench.results import Bench as Bench
    from optmap.native.code import Code as Code
    from optmap.native.host.detection import Host as Host
    from optmap.native.run.kernel import Kernel as Kernel
    from optmap.native.run.results import Runs as Runs
    from optmap.native.validate.validation import Validation as Validation
    from optmap.onnx_import.model import ImportedModel as ImportedModel
    from optmap.problem.machine import Machine as Machine
    from optmap.problem.network import Network as Network
    from optmap.problem.objective import register_objective as register_objective
    from optmap.problem.workload import Workload as Workload
    from optmap.report.algorithms import AlgorithmComparison as AlgorithmComparison
    from optmap.report.derivation import Classes as Classes
    from optmap.report.derivation import Derivation as Derivation
    from optmap.report.entries import Entry as Entry
    from optmap.report.entries import Listing as Listing
    from optmap.report.inferred_reuse import InferredReuse as InferredReuse
    from optmap.report.loading import Certificate as Certificate
    from optmap.report.solvers import Doctor as Doctor
    from optmap.running import compile_result as compile  # noqa: F401
    from optmap.running import detect as detect
    from optmap.running import emit as emit
    from optmap.running import run as run
    from optmap.search.bayes.sensitivity import Sensitivity as Sensitivity
    from optmap.search.explore.exploration import Exploration as Exploration
    from optmap.search.methods import METHODS as METHODS
    from optmap.search.methods import register_method as register_method
    from optmap.search.plugins import Plugin as Plugin
    from optmap.search.plugins import load_plugin as load_plugin
    from optmap.search.result import Answer as Answer
    from optmap.sweeps.engine import EngineError as EngineError
    from optmap.sweeps.files import StoreError as StoreError
    from optmap.sweeps.files import StoreFullError as StoreFullError
    from optmap.sweeps.nest_networks import NetworkNests as NetworkNests
    from optmap.sweeps.network_curves import NetworkCurve as NetworkCurve
    from optmap.sweeps.networks import NetworkSums as NetworkSums
    from optmap.sweeps.pictures import Pictures as Pictures
    from optmap.sweeps.plan import Plan as Plan
    from optmap.sweeps.races import race as race
    from optmap.sweeps.reading import read_sweep as read_sweep
    from optmap.sweeps.reading import sweep_document as sweep_document
    from optmap.sweeps.run import sweep as sweep
    from optmap.sweeps.tally import Tally as Tally
    from optmap.verbs import algorithms as algorithms
    from optmap.verbs import check as check
    from optmap.verbs import conformance as conformance
    from optmap.verbs import doctor as doctor
    from optmap.verbs import import_onnx as import_onnx
    from optmap.verbs import network as network
    from optmap.verbs import plan as plan
    from optmap.verbs import plot as plot
    from optmap.verbs import randomized as randomized

_HOMES = {
    "api": "bound solve",
    "baselines.randomized": "RandomizedComparison",
    "catalogue": "list load machine show workload",
    "checker": "Report",
    "comparing": "compare",
    "deriving": "classes closed_form derive inferred_reuse regimes",
    "errors": (
        "CheckError ContradictionError InfeasibleError InputError LimitError OneStatementError OptmapError "
        "ParseError SolverUnavailableError StatementError StrategyError TreeError UnknownNameError WrongKindError"
    ),
    "evaluate.policies": "register_policy",
    "exchange": "export_timeloop import_timeloop score",
    "exploring": "explore sensitivity",
    "gap.boundaries": "BoundReport",
    "gap.closed_forms": "ClosedFormAnswer",
    "gap.comparison": "Comparison",
    "gap.conformance": "Conformance",
    "gap.nest_comparison": "NestComparison",
    "gap.program": "ProvedProgram",
    "gap.race": "Race",
    "gap.recount": "Evaluation",
    "gap.regimes": "Regimes",
    "gap.saved_tree": "SavedTree TreeEvaluation",
    "gap.scoring": "Score",
    "gap.solution": "SavedSolution",
    "interchange.timeloop": "TimeloopModel",
    "measuring": "bench validate",
    "modelling": "export program",
    "native.bench.results": "Bench",
    "native.code": "Code",
    "native.host.detection": "Host",
    "native.run.kernel": "Kernel",
    "native.run.results": "Runs",
    "native.validate.validation": "Validation",
    "onnx_import.model": "ImportedModel",
    "problem.machine": "Machine",
    "problem.network": "Network",
    "problem.objective": "register_objective",
    "problem.workload": "Workload",
    "report.algorithms": "AlgorithmComparison",
    "report.derivation": "Classes Derivation",
    "report.entries": "Entry Listing",
    "report.inferred_reuse": "InferredReuse",
    "report.loading": "Certificate",
    "report.solvers": "Doctor",
    "running": "compile detect emit run",
    "search.bayes.sensitivity": "Sensitivity",
    "search.explore.exploration": "Exploration",
    "search.methods": "METHODS register_method",
    "search.plugins": "Plugin load_plugin",
    "search.result": "Answer",
    "sweeps.engine": "EngineError",
    "sweeps.files": "StoreError StoreFullError",
    "sweeps.nest_networks": "NetworkNests",
    "sweeps.network_curves": "NetworkCurve",
    "sweeps.networks": "NetworkSums",
    "sweeps.pictures": "Pictures",
    "sweeps.plan": "Plan",
    "sweeps.races": "race",
    "sweeps.reading": "read_sweep sweep_document",
    "sweeps.run": "sweep",
    "sweeps.tally": "Tally",
    "verbs": "algorithms check conformance doctor import_onnx network plan plot randomized",
}
"""Per module the public names that it has."""
_PLACES = {name: f"optmap.{module}" for module, names in _HOMES.items() for name in names.split()}
_OTHERWISE_NAMED = {"list": "list_names", "compile": "compile_result"}
"""Verbs whose function has a name that hides nothing of Python's own."""
_GONE = {
    "AcceleratorResult": "Answer",
    "NestEvaluation": "Evaluation",
    "SavedNest": "SavedSolution",
    "SolveResult": "Answer",
}
"""Names that there were, and the one that stands for each now."""
__all__ = ["__version__", "evaluate", *_PLACES]  # noqa: PLE0604 - texts, those of the table


def __getattr__(name: str) -> object:
    """Load a public name when it is first used; annotations of what is loaded can be evaluated."""
    if name == "evaluate":  # a package that can be called: both keep their name
        return import_module(f"{__name__}.{name}")
    if name in _PLACES:
        from optmap.hints import annotated

        return annotated(getattr(import_module(_PLACES[name]), _OTHERWISE_NAMED.get(name, name)))
    if name in _GONE:
        from optmap.errors import InputError

        raise InputError(f"there is no optmap.{name} any more: it is optmap.{_GONE[name]}, whatever the machine")
    raise AttributeError(f"module 'optmap' has no attribute {name!r}")


def __dir__() -> Sequence[str]:
    """The public names, and those that Python gives a module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
