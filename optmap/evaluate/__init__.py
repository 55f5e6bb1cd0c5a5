"""Exact integer cost of a mapping, on processors and accelerators, and walks that share no code with it."""

from __future__ import annotations

import sys
from inspect import Signature, signature
from types import ModuleType
from typing import Any, get_type_hints

from optmap.evaluate.cost import evaluate_cost as evaluate_cost
from optmap.evaluate.count import count_mapping as count_mapping
from optmap.evaluate.per_level import LevelModel as LevelModel
from optmap.evaluate.per_level import level_model as level_model
from optmap.evaluate.results import BoundaryTraffic as BoundaryTraffic
from optmap.evaluate.results import CostReport as CostReport
from optmap.evaluate.results import LevelCost as LevelCost
from optmap.evaluate.simulate import simulate as simulate
from optmap.evaluate.simulate import walk_levels as walk_levels
from optmap.evaluate.simulate import walk_nest as walk_nest
from optmap.evaluate.tally import Moved as Moved
from optmap.evaluate.walk_held import HeldWalk as HeldWalk
from optmap.evaluate.walk_held import walk_held as walk_held
from optmap.evaluate.whole_nest import exact_traffic as exact_traffic
from optmap.lazy import exports
from optmap.registry import VERBS


class _Verb(ModuleType):
    """The package, which is the verb `optmap.evaluate` as well."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Count a mapping again; see `optmap.verbs.evaluate`."""
        return VERBS["evaluate"](*args, **options)

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override] # of the verb
        """Types of its arguments and its answer."""
        return get_type_hints(VERBS["evaluate"])

    @property
    def __signature__(self) -> Signature:
        """What it takes."""
        return signature(VERBS["evaluate"])


sys.modules[__name__].__class__ = _Verb

__getattr__, __dir__ = exports(
    __name__,
    {
        "cutting": "cut_once cuts",
        "first_touches": "touched_values",
        "halo": "axis_counts entering group_counts shared_counts",
        "held": "entering_words held_occupancy held_traffic held_words loaded_words",
        "simulate": "corner_iterations",
        "spatial.batch": "BatchCost evaluate_batch",
        "level_policy": "HELD LEVEL_EXACT PER_LEVEL LevelPolicy",
        "policies": "POLICIES level_policies level_policy nest_policies nest_policy register_policy",
        "spatial.count": "NEST_EXACT NEST_FACTORFLOW NEST_TIMELOOP HandedPolicy WalkedPolicy count_nest",
        "spatial.layout": "Layout",
        "spatial.policy": "NestPolicy",
        "spatial.results": "Accesses MemoryCost SpatialCost",
        "spatial.rules": "broken_rules",
        "spatial.traffic": "accesses_of",
        "spatial.walk": "Walked walk_spatial",
        "timing": "MULTIPLY_ADDS Running TimeModel TimePart check_threads core_of floor_cycles instances_used "
        "kernel_cycles link predict roof",
        "timing.kernel": "KernelCycles roles_of",
        "timing.results": "BoundaryTime Caches Prediction",
        "trees": "LevelRoom TreeCount walk_tree",
        "walk_held": "run_held",
    },
)
