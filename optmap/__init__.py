"""optmap: optimization modelling of data movement in tensor computations.

The verbs of the command line are functions here, under the same names; they are loaded when first
used, so that importing the package costs nothing. Their answers print as tables, render in
notebooks, and have `to_dict`, `save` and, where there is something to draw, `plot`. The types of
answers and of errors are here, too, and `METHODS`, what `solve` can search with.
"""

from __future__ import annotations

import optmap.base.starting  # before anything else is imported, so that an interrupt is heard

# isort: split
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import optmap.wiring  # noqa: F401 - every process that has the package has its registries filled
from optmap.version import __version__ as __version__

if TYPE_CHECKING:
    from optmap.answers.closed_forms.closed_forms import ClosedFormAnswer as ClosedFormAnswer
    from optmap.answers.closed_forms.regimes import Regimes as Regimes
    from optmap.answers.documents.recount import Evaluation as Evaluation
    from optmap.answers.documents.saved_tree import SavedTree as SavedTree
    from optmap.answers.documents.saved_tree import TreeEvaluation as TreeEvaluation
    from optmap.answers.documents.saved_turns import TurnEvaluation as TurnEvaluation
    from optmap.answers.documents.solution import SavedSolution as SavedSolution
    from optmap.answers.over_capacity.capacity_curve import CapacityCurve as CapacityCurve
    from optmap.answers.over_capacity.fused import FusedCurve as FusedCurve
    from optmap.answers.over_capacity.fused import FusedNetwork as FusedNetwork
    from optmap.answers.over_capacity.network_sums import NetworkSums as NetworkSums
    from optmap.answers.proofs.boundaries import BoundReport as BoundReport
    from optmap.answers.proofs.mesh_bound import MeshBound as MeshBound
    from optmap.answers.proofs.program import ProvedProgram as ProvedProgram
    from optmap.answers.side_by_side.comparison import Comparison as Comparison
    from optmap.answers.side_by_side.conformance import Conformance as Conformance
    from optmap.answers.side_by_side.mappings import MappingComparison as MappingComparison
    from optmap.answers.side_by_side.race import Race as Race
    from optmap.answers.side_by_side.scoring import Score as Score
    from optmap.api import bound as bound
    from optmap.api import solve as solve
    from optmap.base.errors import CheckError as CheckError
    from optmap.base.errors import ContradictionError as ContradictionError
    from optmap.base.errors import InfeasibleError as InfeasibleError
    from optmap.base.errors import InputError as InputError
    from optmap.base.errors import LimitError as LimitError
    from optmap.base.errors import OneStatementError as OneStatementError
    from optmap.base.errors import OptmapError as OptmapError
    from optmap.base.errors import ParseError as ParseError
    from optmap.base.errors import SolverUnavailableError as SolverUnavailableError
    from optmap.base.errors import StatementError as StatementError
    from optmap.base.errors import StrategyError as StrategyError
    from optmap.base.errors import TreeError as TreeError
    from optmap.base.errors import UnknownNameError as UnknownNameError
    from optmap.base.errors import WrongKindError as WrongKindError
    from optmap.baselines.randomized import RandomizedComparison as RandomizedComparison
    from optmap.checker import Report as Report
    from optmap.count.policies import register_policy as register_policy
    from optmap.files.network import Network as Network
    from optmap.interchange.formats import register_format as register_format
    from optmap.interchange.timeloop import TimeloopModel as TimeloopModel
    from optmap.machines.machine import Machine as Machine
    from optmap.machines.traits import register_trait as register_trait
    from optmap.native.bench.results import Bench as Bench
    from optmap.native.code import Code as Code
    from optmap.native.host.detection import Host as Host
    from optmap.native.run.kernel import Kernel as Kernel
    from optmap.native.run.results import Runs as Runs
    from optmap.native.validate.validation import Validation as Validation
    from optmap.onnx_import.model import ImportedModel as ImportedModel
    from optmap.papers.answer import Reproduction as Reproduction
    from optmap.papers.run import reproduce as reproduce
    from optmap.questions.objective import register_objective as register_objective
    from optmap.report.algorithms import AlgorithmComparison as AlgorithmComparison
    from optmap.report.answers.compare import SavedComparison as SavedComparison
    from optmap.report.answers.loading import Certificate as Certificate
    from optmap.report.closed_forms.derivation import Classes as Classes
    from optmap.report.closed_forms.derivation import Derivation as Derivation
    from optmap.report.library.entries import Entry as Entry
    from optmap.report.library.entries import Listing as Listing
    from optmap.report.library.inferred_reuse import InferredReuse as InferredReuse
    from optmap.report.library.solvers import Doctor as Doctor
    from optmap.search.bayes.sensitivity import Sensitivity as Sensitivity
    from optmap.search.explore.exploration import Exploration as Exploration
    from optmap.search.methods import METHODS as METHODS
    from optmap.search.methods import register_method as register_method
    from optmap.search.plugins import Plugin as Plugin
    from optmap.search.plugins import load_plugin as load_plugin
    from optmap.search.result import Answer as Answer
    from optmap.sweeps.engines.engine import EngineError as EngineError
    from optmap.sweeps.networks.network_curves import NetworkCurve as NetworkCurve
    from optmap.sweeps.pictures import Pictures as Pictures
    from optmap.sweeps.plan import Plan as Plan
    from optmap.sweeps.races import race as race
    from optmap.sweeps.reading import read_sweep as read_sweep
    from optmap.sweeps.reading import sweep_document as sweep_document
    from optmap.sweeps.records.files import StoreError as StoreError
    from optmap.sweeps.records.files import StoreFullError as StoreFullError
    from optmap.sweeps.run import sweep as sweep
    from optmap.sweeps.tally import Tally as Tally
    from optmap.verbs.catalogue import doctor as doctor
    from optmap.verbs.catalogue import list_names as list  # noqa: F401 - exported by __getattr__
    from optmap.verbs.catalogue import load as load
    from optmap.verbs.catalogue import machine as machine
    from optmap.verbs.catalogue import show as show
    from optmap.verbs.catalogue import workload as workload
    from optmap.verbs.checking import check as check
    from optmap.verbs.checking import conformance as conformance
    from optmap.verbs.checking import evaluate as evaluate
    from optmap.verbs.comparing import algorithms as algorithms
    from optmap.verbs.comparing import compare as compare
    from optmap.verbs.comparing import compare_mappings as compare_mappings
    from optmap.verbs.comparing import randomized as randomized
    from optmap.verbs.curving import curve as curve
    from optmap.verbs.deriving import classes as classes
    from optmap.verbs.deriving import closed_form as closed_form
    from optmap.verbs.deriving import derive as derive
    from optmap.verbs.deriving import inferred_reuse as inferred_reuse
    from optmap.verbs.deriving import regimes as regimes
    from optmap.verbs.emitting import compile_result as compile  # noqa: F401
    from optmap.verbs.emitting import emit as emit
    from optmap.verbs.exchange import export_timeloop as export_timeloop
    from optmap.verbs.exchange import import_onnx as import_onnx
    from optmap.verbs.exchange import import_timeloop as import_timeloop
    from optmap.verbs.exchange import score as score
    from optmap.verbs.exploring import explore as explore
    from optmap.verbs.exploring import sensitivity as sensitivity
    from optmap.verbs.measuring import bench as bench
    from optmap.verbs.measuring import validate as validate
    from optmap.verbs.modelling import export as export
    from optmap.verbs.modelling import program as program
    from optmap.verbs.running import detect as detect
    from optmap.verbs.running import run as run
    from optmap.verbs.sweeping import network as network
    from optmap.verbs.sweeping import plan as plan
    from optmap.verbs.sweeping import plot as plot
    from optmap.workloads.workload import Workload as Workload

_HOMES = {
    "api": "bound solve",
    "baselines.randomized": "RandomizedComparison",
    "verbs.catalogue": "doctor list load machine show workload",
    "verbs.checking": "check conformance evaluate",
    "checker": "Report",
    "verbs.comparing": "algorithms compare compare_mappings randomized",
    "verbs.curving": "curve",
    "verbs.deriving": "classes closed_form derive inferred_reuse regimes",
    "base.errors": (
        "CheckError ContradictionError InfeasibleError InputError LimitError OneStatementError OptmapError "
        "ParseError SolverUnavailableError StatementError StrategyError TreeError UnknownNameError WrongKindError"
    ),
    "count.policies": "register_policy",
    "verbs.exchange": "export_timeloop import_onnx import_timeloop score",
    "verbs.exploring": "explore sensitivity",
    "answers.over_capacity.fused": "FusedCurve FusedNetwork",
    "answers.over_capacity.capacity_curve": "CapacityCurve",
    "answers.over_capacity.network_sums": "NetworkSums",
    "answers.proofs.boundaries": "BoundReport",
    "answers.closed_forms.closed_forms": "ClosedFormAnswer",
    "answers.side_by_side.comparison": "Comparison",
    "answers.side_by_side.mappings": "MappingComparison",
    "answers.side_by_side.conformance": "Conformance",
    "answers.proofs.mesh_bound": "MeshBound",
    "answers.proofs.program": "ProvedProgram",
    "answers.side_by_side.race": "Race",
    "answers.documents.recount": "Evaluation",
    "answers.closed_forms.regimes": "Regimes",
    "answers.documents.saved_tree": "SavedTree TreeEvaluation",
    "answers.documents.saved_turns": "TurnEvaluation",
    "answers.side_by_side.scoring": "Score",
    "answers.documents.solution": "SavedSolution",
    "interchange.formats": "register_format",
    "interchange.timeloop": "TimeloopModel",
    "verbs.measuring": "bench validate",
    "verbs.modelling": "export program",
    "native.bench.results": "Bench",
    "native.code": "Code",
    "native.host.detection": "Host",
    "native.run.kernel": "Kernel",
    "native.run.results": "Runs",
    "native.validate.validation": "Validation",
    "onnx_import.model": "ImportedModel",
    "machines.machine": "Machine",
    "machines.traits": "register_trait",
    "files.network": "Network",
    "papers.answer": "Reproduction",
    "papers.run": "reproduce",
    "questions.objective": "register_objective",
    "workloads.workload": "Workload",
    "report.algorithms": "AlgorithmComparison",
    "report.closed_forms.derivation": "Classes Derivation",
    "report.library.entries": "Entry Listing",
    "report.library.inferred_reuse": "InferredReuse",
    "report.answers.compare": "SavedComparison",
    "report.answers.loading": "Certificate",
    "report.library.solvers": "Doctor",
    "verbs.emitting": "compile emit",
    "verbs.running": "detect run",
    "verbs.sweeping": "network plan plot",
    "search.bayes.sensitivity": "Sensitivity",
    "search.explore.exploration": "Exploration",
    "search.methods": "METHODS register_method",
    "search.plugins": "Plugin load_plugin",
    "search.result": "Answer",
    "sweeps.engines.engine": "EngineError",
    "sweeps.records.files": "StoreError StoreFullError",
    "sweeps.networks.network_curves": "NetworkCurve",
    "sweeps.pictures": "Pictures",
    "sweeps.plan": "Plan",
    "sweeps.races": "race",
    "sweeps.reading": "read_sweep sweep_document",
    "sweeps.run": "sweep",
    "sweeps.tally": "Tally",
}
"""Per module the public names that it has."""
_PLACES = {name: f"optmap.{module}" for module, names in _HOMES.items() for name in names.split()}
_OTHERWISE_NAMED = {"list": "list_names", "compile": "compile_result"}
"""Verbs whose function has a name that hides nothing of Python's own."""
_GONE = {
    "AcceleratorResult": "Answer",
    "NestComparison": "Comparison",
    "NetworkNests": "NetworkSums",
    "NestEvaluation": "Evaluation",
    "SavedNest": "SavedSolution",
    "SolveResult": "Answer",
}
"""Names that there were, and the one that stands for each now."""
__all__ = ["__version__", *_PLACES]  # noqa: PLE0604 - texts, those of the table


def __getattr__(name: str) -> object:
    """Load a public name when it is first used; annotations of what is loaded can be evaluated."""
    if name in _PLACES:
        from optmap.base.hints import annotated

        return annotated(getattr(import_module(_PLACES[name]), _OTHERWISE_NAMED.get(name, name)))
    if name in _GONE:
        from optmap.base.errors import InputError

        raise InputError(f"there is no optmap.{name} any more: it is optmap.{_GONE[name]}, whatever the machine")
    raise AttributeError(f"module 'optmap' has no attribute {name!r}")


def __dir__() -> Sequence[str]:
    """The public names, and those that Python gives a module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
