"""The best mapping that keeps one tile of every tensor, as `mopt` finds it within a moment, as a held mapping.

Flows with streams, pieces and corners are many: out of time `iooub` has seen few of them, and its best may cost more.
"""

from __future__ import annotations

from optmap.base.clock import Clock
from optmap.mappings.held import Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.options import TileRule
from optmap.search.question import Question
from optmap.search.relax.tree import relax
from optmap.search.space.search_space import setting_of
from optmap.search.whole.chain_answer import mapping_of
from optmap.search.whole.integers import integer_search
from optmap.workloads.workload import Workload, access_names


def one_tile_each(question: Question, clock: Clock) -> tuple[Held, Mapping]:
    """The mapping of one memory, unified, and what it holds: one tile of every tensor.

    Args:
        question: a machine of one level.
        clock: when to stop looking, with the best so far.

    Raises:
        InfeasibleError: if nothing fits.
    """
    setting = setting_of(question)
    found = integer_search(
        setting, relax(setting, clock=clock), divisors=question.tiles is TileRule.DIVISORS, clock=clock
    )
    (level,) = mapping_of(setting, found.point).levels
    permutation = _one_trip_innermost(question.workload, level)
    mapping = Mapping(
        levels=(LevelMapping(level=level.level, tile=dict(level.tile), permutation=permutation, spatial={}),)
    )
    return Held(positions=_positions(question.workload, mapping.levels[0]), streams={}, inner=()), mapping


def _one_trip_innermost(workload: Workload, level: LevelMapping) -> tuple[str, ...]:
    """The loop order with the loops that run once innermost, where they end no reuse."""
    once = [d for d in level.permutation if level.tile[d] == workload.extents[d]]
    return (*(d for d in level.permutation if d not in once), *once)


def _positions(workload: Workload, level: LevelMapping) -> dict[str, int]:
    """Per access the innermost loop that changes its tile; outside of all if none does."""
    inner = list(reversed(level.permutation))
    changing = [d for d in inner if level.tile[d] < workload.extents[d]]
    positions = {}
    for name, tensor in zip(access_names(workload), workload.tensors, strict=True):
        first = next((d for d in changing if d in tensor.dims), None)
        positions[name] = len(inner) + 1 if first is None else inner.index(first) + 1
    return positions
