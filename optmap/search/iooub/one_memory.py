"""`iooub` in one memory: IOOpt's upper bound with a reuse level per tensor.

The least loads (or loads and stores) over all loop orders, reuse levels and whole tiles; several memories
are `sum_over_levels`. Source: IOOpt section 4; dims that tensors see alike are bundled, tensors may be streamed
through a tile, tiles may leave out a corner (`corners`), and parts of a dim may be tiled on their own (`pieces`),
which IOOpt does not do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from optmap.base.clock import Clock
from optmap.base.errors import CheckError, InfeasibleError
from optmap.base.texts import several
from optmap.bounds.compulsory import compulsory as every_word
from optmap.count.levels.held import held_traffic
from optmap.machines.partitions import CapacityGroup, capacity_groups
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.pieces import Piece
from optmap.questions.objective import Crossing
from optmap.questions.options import TileRule
from optmap.search.found import Found
from optmap.search.iooub.corners import Cornered, best_cornered
from optmap.search.iooub.flows import permutation_of, positions_of
from optmap.search.iooub.one_tile import one_tile_each
from optmap.search.iooub.pieces import TiledPiece, best_in_pieces, value_of
from optmap.search.iooub.tiling import Tiling, best_tiling
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.search.space.compulsory import compulsory
from optmap.solvers.status import PointKind
from optmap.workloads.canonical import in_common_order
from optmap.workloads.meanings import Padding
from optmap.workloads.workload import Workload, access_names

LATE = "the time limit came before all flows, pieces and corners were looked at"
"""Said of an answer that may be better with more time."""
WHOLE = 0.7
"""Share of the time limit for tiles that are all alike, before pieces and corners are looked at."""


def solve(question: Question, *, streams: bool = True) -> Found:
    """The best tiling of one memory; which one of several alike is met first does not depend on names and order.

    Args:
        question: a machine of one level.
        streams: whether tensors may be streamed through a tile (not in IOOpt).

    Raises:
        InputError: if the machine has no place for a tensor, or first touches are not defined.
        InfeasibleError: if nothing fits.
        CheckError: if the search and the recount disagree.
    """
    workload, machine = in_common_order(question.workload), question.machine
    groups = capacity_groups(workload, machine.levels[0])
    cuts = streams and len(groups) == 1 and question.tiles is TileRule.ANY
    clock = question.clock
    whole = clock.share(WHOLE) if len(groups) == 1 else clock
    tiling = best_tiling(
        workload,
        [(group.words, group.tensors) for group in groups],
        weights_of(question),
        streams=streams,
        divisors=question.tiles is TileRule.DIVISORS,
        clock=whole,
    )
    late = whole.late
    if tiling is None:
        raise InfeasibleError(too_small(workload, groups))
    chosen = tiling, held_of(workload, tiling), mapping_of(question, tiling)
    plain = _one_tile_each(question, tiling, clock) if late and len(groups) == 1 else chosen
    if cuts:
        chosen = _cut(question, workload, groups[0].words, tiling, clock) or chosen
    best = min(chosen, plain, key=lambda each: each[0].value)
    return _found(question, *best, late=late or clock.late)


def whole_tiles(question: Question, clock: Clock, *, rolled: int) -> tuple[Held, Mapping] | None:
    """The best tiling of one memory by tiles that are all alike; None if nothing fits.

    Args:
        question: a machine of one level, and an objective in words.
        clock: when to stop looking.
        rolled: windows that one tensor is streamed along, at most.

    Raises:
        InputError: if the machine has no place for a tensor.
    """
    workload = in_common_order(question.workload)
    groups = tuple((each.words, each.tensors) for each in capacity_groups(workload, question.machine.levels[0]))
    tiling = _soon(workload, groups, tuple(weights_of(question)), rolled, clock)
    return None if tiling is None else (held_of(workload, tiling), mapping_of(question, tiling))


@lru_cache(maxsize=64)
def _soon(
    workload: Workload,
    groups: tuple[tuple[int, tuple[int, ...]], ...],
    weights: tuple[float, ...],
    rolled: int,
    clock: Clock,
) -> Tiling | None:
    """What `best_tiling` finds soon, kept for who asks for the same again."""
    return best_tiling(workload, groups, weights, rolled=rolled, soon=True, clock=clock)


def weights_of(question: Question) -> list[float]:
    """Objective weight per tensor, output first."""
    return [2.0 if question.objective.stores else 1.0, *[1.0] * len(question.workload.inputs)]


def _one_tile_each(question: Question, tiling: Tiling, clock: Clock) -> tuple[Tiling, Held, Mapping]:
    """What `mopt` finds in the time that is left, its words in place of those of a tiling."""
    held, mapping = one_tile_each(question, clock)
    rows = held_traffic(question.workload, mapping, held, question.machine.boundaries[0])
    (moved,) = question.objective.words(rows, question.machine).values()
    return replace(tiling, value=moved + created_words(rows)), held, mapping


def _cut(
    question: Question, workload: Workload, words: int, plain: Tiling, clock: Clock
) -> tuple[Tiling, Held, Mapping] | None:
    """A tiling in pieces, or with corners left out, that is better than tiles that are all alike; None without one.

    Args:
        question: gives machine and objective.
        workload: its workload, in the order of the tiling.
        words: of the memory.
        plain: the tiling of everything.
        clock: when to stop looking.
    """
    weights = weights_of(question)
    parts = best_in_pieces(workload, words, weights, plain, clock=clock)
    cornered = best_cornered(workload, words, weights, plain, clock=clock)
    best = plain.value if cornered is None else cornered.tiling.value
    if parts is not None and value_of(parts) < best:
        return _in_pieces(parts, question)
    if cornered is None:
        return None
    held = held_of(workload, cornered.tiling, corner_of(cornered, question))
    return cornered.tiling, held, mapping_of(question, cornered.tiling)


def _in_pieces(parts: Sequence[TiledPiece], question: Question) -> tuple[Tiling, Held, Mapping]:
    """The first tiling with the loads of all, what is held, and the mapping of the first piece."""
    pieces = [
        Piece(
            of=part.of,
            mapping=mapping_of(question, part.tiling),
            held=held_of(part.workload, part.tiling),
        )
        for part in parts
    ]
    first, *others = pieces
    tiling = replace(parts[0].tiling, value=value_of(parts))
    return tiling, replace(first.held, of=first.of, pieces=tuple(others)), first.mapping


def _found(question: Question, tiling: Tiling, held: Held, mapping: Mapping, *, late: bool) -> Found:
    """The tiling with its claims in the unit of the objective, and what is proved of it."""
    workload, machine, objective = question.workload, question.machine, question.objective
    held.check(workload, machine, mapping, question.capacity)
    rows = held_traffic(workload, mapping, held, machine.boundaries[0])
    (moved,) = objective.words(rows, machine).values()
    least = compulsory(workload, objective)
    if moved < least:
        raise CheckError(f"the tiling moves {several(moved, 'word')}, fewer than the {least:,} that must move")

    def value(words: int | Fraction) -> float:
        return float(objective.value({0: words}, machine, workload.word_bits))

    best = moved == least or (tiling.streams_complete and not late)
    if workload.padding is Padding.IMPLICIT:  # the rim counts here, which does not move
        floor = every_word(workload, 0)
        best, least = False, floor.total_words if objective.stores else floor.loads_words
    return Found(
        mapping=mapping,
        held=held,
        claimed=value(Fraction(tiling.value) - created_words(rows)),
        relaxation=_lower_estimate(mapping, value(moved if best else least), best=best),
        point=PointKind.GLOBAL_OPTIMUM if best else PointKind.FEASIBLE,
        late=late,
        notes=(*_notes(question, held, mapping, best=best), *([LATE] if late and not best else [])),
        space=_space(question, held),
    )


def created_words(rows: Sequence[Crossing]) -> int:
    """Words of the output that no first touch loads: the search counts every visit of it as a load."""
    return rows[0].stores_words - rows[0].loads_words


def mapping_of(question: Question, tiling: Tiling) -> Mapping:
    """The tile and loop order of a tiling as a mapping of a one-level machine, dims as they are given.

    Args:
        question: gives dims and machine.
        tiling: of its workload, or of a part of it.
    """
    workload, name = question.workload, question.machine.levels[0].name
    permutation = permutation_of(tiling.flow, workload, tiling.units)
    tile = {d: tiling.tile[d] for d in workload.dims}
    return Mapping(levels=(LevelMapping(level=name, tile=tile, permutation=permutation, spatial={}),))


def corner_of(cornered: Cornered, question: Question) -> Corner:
    """What the tiles of a tiling leave out."""
    mapping = mapping_of(question, cornered.rest)
    return Corner(sizes=cornered.sizes, mapping=mapping, held=held_of(cornered.corners, cornered.rest))


def held_of(workload: Workload, tiling: Tiling, corner: Corner | None = None) -> Held:
    """What a tiling holds of every tensor."""
    units, flow = tiling.units, tiling.flow
    streams = {
        name: tuple(d for u in flow.stream(number) for d in units[u].dims)
        for number, name in enumerate(access_names(workload))
    }
    return Held(
        positions=positions_of(flow, workload, units),
        streams={name: dims for name, dims in streams.items() if dims},
        inner=tuple(d for u in flow.inner for d in units[u].dims),
        corner=corner,
    )


def _space(question: Question, held: Held) -> str:
    tiles = "tiles that divide the extents" if question.tiles is TileRule.DIVISORS else "whole tiles of any size"
    return (
        f"{tiles}, any loop order, a reuse position per tensor (kept over more loops than the order alone allows, "
        "where it fits), tensors streamed through a tile"
        + (", a corner left out of every tile" if held.corner else "")
        + (", pieces of some dims tiled on their own" if held.pieces else "")
    )


def _lower_estimate(mapping: Mapping, bound: float, *, best: bool) -> Relaxation:
    """What is proved below the cost: its optimum by enumeration, else compulsory traffic."""
    if not best:
        return Relaxation.counted(mapping, bound)
    enumerated = "whole tiles, all loop orders, reuse positions and streams: the optimum itself, no relaxation"
    return Relaxation.counted(mapping, bound, enumerated, "enumeration")


def _notes(question: Question, held: Held, mapping: Mapping, *, best: bool) -> tuple[str, ...]:
    objective = question.objective
    what = objective.counts if objective.stores else f"{objective.counts} only, an output counts once per visit"
    notes = [f"the cost counts {what}"]
    if held.pieces:
        return (*notes, held.pieces_text(mapping))
    positions = ", ".join(f"{name} {held.positions[name]}" for name in access_names(question.workload))
    notes.append(f"reuse position per tensor (1 is the innermost loop, 0 keeps nothing between tiles): {positions}")
    for name, dims in held.streams.items():
        notes.append(f"{name} passes through its tile one iteration of {', '.join(dims)} at a time")
    if held.streams:
        notes.append(f"inside a tile the outermost loops are {', '.join(held.inner)}, in this order")
    if held.corner is not None:
        notes.append(str(held.corner))
    if best:
        notes.append("proved by enumeration: no other whole tile, loop order, reuse positions and streams move less")
    return tuple(notes)


def too_small(workload: Workload, groups: Sequence[CapacityGroup]) -> str:
    """Which part of a memory cannot hold one element of every tensor, and what would do."""
    for group in groups:
        least = sum(workload.weight(workload.tensors[i]) for i in group.tensors)
        if least > group.words:
            names = ", ".join(workload.tensors[i].name for i in group.tensors)
            return (
                f"{group.name} is short by {several(least - group.words, 'word')}: its "
                f"{several(group.words, 'word')} cannot hold one element of {names}, which takes "
                f"{several(least, 'word')}; give {group.name} at least {several(least, 'word')}"
            )
    return f"no tile of {workload.title} was found that fits; raise the time limit"
