"""What the methods that search chains of tiles hand in: mapping, notes, and the space that they searched."""

from __future__ import annotations

from optmap.machines.machine import CapacityRule
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.options import TileRule
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.search.space.search_space import Setting
from optmap.search.whole.chain_costs import IntegerPoint
from optmap.solvers.status import PointKind


def found_chain(
    question: Question,
    setting: Setting,
    point: IntegerPoint,
    relaxation: Relaxation,
    *,
    claimed: float,
    bound: float,
    late: bool,
    known: PointKind,
    notes: tuple[str, ...],
) -> Found:
    """An integer point as what a method hands in.

    Args:
        question: what was asked.
        setting: the setting that was searched.
        point: the integer point found.
        relaxation: what was solved below it.
        claimed: its objective as the search counted it.
        bound: proved lower bound on the objective of integer mappings.
        late: whether the time ran out.
        known: what is known of the relaxed point.
        notes: what a reader should know.
    """
    return Found(
        mapping=mapping_of(setting, point),
        claimed=claimed,
        relaxation=relaxation,
        bound=bound,
        point=known,
        late=late,
        notes=notes,
        space=_space(question),
    )


def mapping_of(setting: Setting, point: IntegerPoint) -> Mapping:
    """An integer point as a mapping."""
    dims = setting.workload.dims
    levels = []
    for number, level in enumerate(setting.machine.levels):
        split = number == setting.split_level
        levels.append(
            LevelMapping(
                level=level.name,
                tile=dict(zip(dims, point.chain[number], strict=True)),
                permutation=point.orders[number].permutation,
                spatial={d: p for d, p in zip(dims, point.spatial, strict=True) if p > 1} if split else {},
            )
        )
    return Mapping(levels=tuple(levels))


def machine_notes(setting: Setting) -> tuple[str, ...]:
    """What the machine imposed, and what its caches do not promise."""
    notes = []
    for number, level in enumerate(setting.machine.levels):
        if level.microkernel is None:
            continue
        if number in setting.fixed:
            tile = ", ".join(f"{d}={n}" for d, n in setting.fixed[number][0].items() if n > 1) or "one point"
            notes.append(f"{level.name} holds the microkernel tile of the machine: {tile}")
        else:
            notes.append(f"{level.name}: the microkernel does not apply (no outer product); its tile was searched")
    if setting.rule is CapacityRule.TILE and any(level.kind == "cache" for level in setting.machine.levels):
        notes.append("caches were filled with one tile; LRU may move more (see --capacity safe)")
    return tuple(notes)


def _space(question: Question) -> str:
    """The mappings among which the search looks for the best, in words."""
    tiles = "tiles that divide the next outer one" if question.tiles is TileRule.DIVISORS else "whole tiles of any size"
    split = f", every split over {question.cores} cores" if question.cores > 1 else ""
    return (
        f"{tiles} and any loop order per level{split}; one tile of every tensor per level, kept while the loops inside "
        "the innermost one that the tensor depends on run"
    )
