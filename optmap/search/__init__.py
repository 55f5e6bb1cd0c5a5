"""Search: dataflow classes, programs and solvers combined into the best integer mapping.

The names below are what a method of one's own needs; each is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optmap.base.lazy import exports

if TYPE_CHECKING:
    from optmap.search.answer import cost_of as cost_of
    from optmap.search.bayes.encoding import Encoding as Encoding
    from optmap.search.bayes.encoding import Orders as Orders
    from optmap.search.bayes.encoding import Tiles as Tiles
    from optmap.search.bayes.encoding import encoding_of as encoding_of
    from optmap.search.bayes.sensitivity import Sensitivity as Sensitivity
    from optmap.search.bayes.strategy import observations_of as observations_of
    from optmap.search.bayes.transfer import Observations as Observations
    from optmap.search.bayes.transfer import load_observations as load_observations
    from optmap.search.explore.protocol import Brief as Brief
    from optmap.search.explore.protocol import Proposals as Proposals
    from optmap.search.explore.protocol import Strategy as Strategy
    from optmap.search.explore.route import explorer as explorer
    from optmap.search.found import Found as Found
    from optmap.search.method import Method as Method
    from optmap.search.method import refuse as refuse
    from optmap.search.methods import METHODS as METHODS
    from optmap.search.methods import register_method as register_method
    from optmap.search.plugins import Plugin as Plugin
    from optmap.search.plugins import load_plugin as load_plugin
    from optmap.search.question import Question as Question
    from optmap.search.relaxation import Relaxation as Relaxation
    from optmap.search.result import Answer as Answer
    from optmap.search.route import Route as Route

__getattr__, __dir__ = exports(
    __name__,
    {
        "accelerators.random_nests": "random_nests",
        "answer": "assemble cost_of",
        "curve": "Improvement",
        "bayes.encoding": "Encoding Orders Tiles encoding_of",
        "bayes.sensitivity": "Influence Sensitivity sensitivity_of",
        "bayes.strategy": "BayesianSettings observations_of",
        "bayes.transfer": "Observations load_observations",
        "found": "Found PERFECT",
        "papers.gemmini": "best_stationary fits greedy_stationary stationary",
        "iooub.one_memory": "solve",
        "iooub.tiling": "best_tiling",
        "exact.elsewhere": "local_search",
        "floors": "MeshFloor WordsFloor",
        "explore.driver": "End Judged Trace drive",
        "explore.exploration": "Evaluated Exploration",
        "explore.exhaustive": "ExhaustiveSettings",
        "explore.mapspace": "Mapspace",
        "explore.judges": "Judge judged_by model",
        "explore.protocol": "NoSettings Exhausted Proposals Brief Scores Strategy",
        "explore.random": "RandomSettings",
        "explore.route": "explorer strategy_of",
        "explore.settings": "Settable described setting settings_of",
        "method": "Method refuse",
        "methods": "METHODS register_method usual_methods",
        "papers.mopt": "relaxation_report",
        "papers.algorithm1": "fix_levels",
        "papers.artifact": "roles_of",
        "papers.common": "Hunt",
        "relax.cross_check": "cross_check",
        "relax.level_programs": "program_of solve_described",
        "relax.node_programs": "Bounder",
        "relax.tree": "RelaxationResult TOLERANCE",
        "plugins": "PLUGINS Plugin code_digest is_shared load_plugin",
        "question": "Question",
        "relaxation": "Relaxation",
        "result": "Answer NestAnswer TileAnswer conclusion",
        "route": "Route",
        "space.search_space": "Setting setting_of",
        "sunstone.inferred": "Inferred LoopOrders inferred_reuse left_orders",
        "sunstone.order_trie": "trie_of",
        "sunstone.search": "SUNSTONE_STRATEGY",
        "sunstone.sizes": "SpaceSize space_sizes",
        "sunstone.settings": "SunstoneSettings",
        "timed.candidate": "TimedCandidate",
        "timed.ranking": "order_of ranked",
        "timed.shapes": "even_cuts_up_to",
        "whole.chain_costs": "ChainCosts all_chains chain_count grid_of",
        "whole.choices": "ChoiceLists",
        "whole.counts": "aligned_chains count_optimum",
        "whole.floor": "price_and_split",
        "whole.integers": "integer_search",
        "whole.one_level": "candidates grow imposed_optimum level_optimum",
        "whole.pair_costs": "PairCosts",
        "whole.sizes_left": "SizesLeft",
        "whole.tile_pairs": "beam divisor_optimum divisors_around",
    },
    gone={
        "SolveResult": "answers are of class Answer",
        "AcceleratorResult": "answers are of class Answer",
        "Request": "a method is asked a Question",
        "AcceleratorRequest": "a method is asked a Question, whatever the machine",
        "AcceleratorFound": "a method hands in Found(mapping=...), a nest on accelerators",
        "AcceleratorRoute": "write Route(meshes=True, objectives=(...), ...) among the routes of the method",
    },
)
