"""`gemmini`: output-stationary tiles of an accelerator's buffers, proved optimal in whole numbers.

Dinh, section 4.3.2: the partial sums of an output tile stay in the accumulator until they are complete,
so the loops over reductions are innermost, and every tile brings in its part of the inputs. Which
tensors share which buffer is the machine's (`Level.partitions`), double buffering halves them. Tiles
are whole numbers, footprints are exact, ragged tiles are counted as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from optmap.base.errors import InfeasibleError, InputError
from optmap.count.levels.held import entering_words, loaded_words
from optmap.machines.machine import Level
from optmap.machines.partitions import CapacityGroup, capacity_groups
from optmap.mappings.held import Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import reuse_at
from optmap.questions.options import TileRule
from optmap.search.found import Found
from optmap.search.iooub.flows import Flow, Hold
from optmap.search.iooub.grid import TileGrid
from optmap.search.iooub.one_memory import too_small
from optmap.search.iooub.tiling import tile_of
from optmap.search.iooub.units import Bundle, units_of
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.search.space.compulsory import compulsory
from optmap.search.space.sizes import even_cuts
from optmap.solvers.status import PointKind
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.workload import Workload, access_names

MOST_POINTS = 20_000_000
"""Combinations of candidates up to which all are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StationaryTiling:
    """An output-stationary tile and what it moves."""

    tile: dict[str, int]
    """Extent per dim."""
    permutation: tuple[str, ...]
    """Loops over tiles, outermost first: reductions innermost."""
    input_words: int
    """Words of the inputs that are brought in, over all tiles."""
    output_words: int
    """Words of the output that leave: every element once, when it is complete."""
    loaded_words: int
    """Words of the output that enter before: as many under `accumulate`, none under `assign`."""

    @property
    def words(self) -> int:
        """All words that move."""
        return self.input_words + self.output_words + self.loaded_words


def best_stationary(workload: Workload, level: Level, *, divisors: bool = False) -> StationaryTiling:
    """The output-stationary tile that moves the fewest words, over all tiles of whole numbers.

    Args:
        workload: what is tiled.
        level: its buffers.
        divisors: whether tiles must divide the extents.

    Raises:
        InputError: if the machine has no place for a tensor, or extents are too large to prove a best.
        InfeasibleError: if not even one element of every tensor fits.
    """
    groups = capacity_groups(workload, level)
    units = units_of(workload, divisors=divisors)
    if not units:  # one point
        point = dict.fromkeys(workload.dims, 1)
        if not fits(workload, groups, point):
            raise InfeasibleError(too_small(workload, groups))
        return stationary(workload, point)
    grid = TileGrid(workload, units, [(g.words, g.tensors) for g in groups], [0.0, *[1.0] * len(workload.inputs)])
    if not all(unit.complete for unit in units) or grid.points() > MOST_POINTS:
        raise InputError(
            f"{workload.title}: extents are too large, or subscripts too irregular, to prove a best tile; "
            "use --tiles divisors or --method iooub"
        )
    found = grid.search(_flow(workload, units), [np.arange(len(unit.boxes)) for unit in units], inf)
    if found is None:
        raise InfeasibleError(too_small(workload, groups))
    return _larger(workload, groups, stationary(workload, tile_of(workload, units, found)), divisors=divisors)


def _larger(
    workload: Workload, groups: Sequence[CapacityGroup], tiling: StationaryTiling, *, divisors: bool
) -> StationaryTiling:
    """As few tiles as move the same words: reductions first, each dim as far as it goes."""
    reductions = workload.reduction_dims
    for dim in (*reductions, *(d for d in workload.dims if d not in reductions)):
        extent = workload.extents[dim]
        for size in reversed(divisors_of(extent) if divisors else even_cuts(extent)):
            if size <= tiling.tile[dim]:
                break
            tile = {**tiling.tile, dim: size}
            if fits(workload, groups, tile) and stationary(workload, tile).words <= tiling.words:
                tiling = stationary(workload, tile)
                break
    return tiling


def stationary(workload: Workload, tile: dict[str, int]) -> StationaryTiling:
    """The words that an output-stationary tile moves, exactly.

    Args:
        workload: what is tiled.
        tile: extent per dim.
    """
    reductions = workload.reduction_dims
    permutation = (*(d for d in workload.dims if d not in reductions), *reductions)
    inputs = sum(entering_words(workload, tensor, tile, reuse_at(tensor, permutation, 0)) for tensor in workload.inputs)
    kept = reuse_at(workload.output, permutation, output_position(workload))
    output = entering_words(workload, workload.output, tile, kept)
    return StationaryTiling(
        tile=tile,
        permutation=permutation,
        input_words=inputs,
        output_words=output,
        loaded_words=loaded_words(workload, workload.output, tile, kept),
    )


def greedy_stationary(workload: Workload, level: Level, *, divisors: bool = False) -> StationaryTiling:
    """The tile of a tiler that grows one dim at a time until the memory is full (the paper's baseline).

    Starting from a single iteration, every round makes each dim longer by one, or up to its next
    divisor, where the tile still fits; it ends when no dim can grow.

    Args:
        workload: what is tiled.
        level: its buffers.
        divisors: whether tiles must divide the extents.

    Raises:
        InputError: if the machine has no place for a tensor.
        InfeasibleError: if not even one element of every tensor fits.
    """
    groups = capacity_groups(workload, level)
    tile = dict.fromkeys(workload.dims, 1)
    if not fits(workload, groups, tile):
        raise InfeasibleError(too_small(workload, groups))
    sizes = {d: iter((divisors_of(n) if divisors else range(1, n + 1))[1:]) for d, n in workload.sizes}
    while sizes:
        for dim in list(sizes):
            longer = {**tile, dim: next(sizes[dim], 0)}
            if longer[dim] and fits(workload, groups, longer):
                tile = longer
            else:
                del sizes[dim]
    return stationary(workload, tile)


def fits(workload: Workload, groups: Sequence[CapacityGroup], tile: dict[str, int]) -> bool:
    """Whether one tile of every tensor fits its part of the memory."""
    tensors = workload.tensors
    return all(
        sum(workload.weight(tensors[i]) * tensors[i].footprint(tile) for i in group.tensors) <= group.words
        for group in groups
    )


def solve(question: Question) -> Found:
    """The best output-stationary tile of a machine of one level, unified or with partitions.

    Raises:
        InputError: if the machine has no place for a tensor, or extents are too large to prove a best.
        InfeasibleError: if nothing fits.
    """
    best = best_stationary(question.workload, question.machine.levels[0], divisors=question.tiles is TileRule.DIVISORS)
    return _found(question, best, best)


def solve_greedy(question: Question) -> Found:
    """The tile of the greedy tiler, beside the proved best one of the same kind.

    Raises:
        InputError: if the machine has no place for a tensor, or extents are too large to prove a best.
        InfeasibleError: if nothing fits.
    """
    divisors = question.tiles is TileRule.DIVISORS
    best = best_stationary(question.workload, question.machine.levels[0], divisors=divisors)
    grown = greedy_stationary(question.workload, question.machine.levels[0], divisors=divisors)
    note = f"the tile was grown step by step; it brings in {grown.input_words:,} words of inputs, the best tile "
    return _found(question, grown, best, note + f"{best.input_words:,}")


def _found(question: Question, tiling: StationaryTiling, best: StationaryTiling, *notes: str) -> Found:
    """A tiling as an answer, with what the best tiling proves."""
    workload, machine, objective = question.workload, question.machine, question.objective
    (level,) = machine.levels
    # The search compares input words; the output's are the same for every tile if no two dims share a subscript.
    proves = all(len(axis.terms) <= 1 for axis in workload.output.axes)
    lowest = best.words if proves else compulsory(workload, objective)
    own, lower = (
        Mapping(levels=(LevelMapping(level=level.name, tile=each.tile, permutation=each.permutation, spatial={}),))
        for each in (tiling, best)
    )
    exact = "all output-stationary tiles of whole numbers, inputs reloaded for every tile"
    how = (exact, "exact tables over every number of tiles per dim") if proves else ()
    return Found(
        mapping=own,
        held=_held(workload),
        claimed=float(objective.value({0: tiling.words}, machine, workload.word_bits)),
        relaxation=Relaxation.counted(lower, float(objective.value({0: lowest}, machine, workload.word_bits)), *how),
        point=PointKind.GLOBAL_OPTIMUM if best.words == lowest else PointKind.FEASIBLE,
        notes=(*notes, *_notes(workload, capacity_groups(workload, level), tiling)),
        space=(
            "output-stationary tiles: partial sums stay until they are complete, every tile brings in its part of the "
            "inputs; "
            + ("tiles that divide the extents" if question.tiles is TileRule.DIVISORS else "whole tiles of any size")
        ),
    )


def output_position(workload: Workload) -> int:
    """The reuse position of an output that stays while the reductions, which are innermost, run."""
    return len(workload.reduction_dims) + 1


def _held(workload: Workload) -> Held:
    """The output stays while the reductions run; nothing of the inputs is kept."""
    output, *inputs = access_names(workload)
    return Held(positions={output: output_position(workload), **dict.fromkeys(inputs, 0)}, streams={}, inner=())


def _flow(workload: Workload, units: tuple[Bundle, ...]) -> Flow:
    """Reductions innermost; the output enjoys them, the inputs are reloaded for every tile."""
    reduced = [u for u, unit in enumerate(units) if not set(unit.dims) & workload.output.dims]
    order = (*reduced, *(u for u in range(len(units)) if u not in reduced))
    output = Hold(sum(1 << u for u in reduced), 0, -1)
    return Flow(order=order, holds=(output, *(Hold(0, 0, -1) for _ in workload.inputs)))


def _notes(workload: Workload, groups: Sequence[CapacityGroup], tiling: StationaryTiling) -> tuple[str, ...]:
    tensors = workload.tensors
    notes = [
        "partial sums stay inside until they are complete; every tile brings in its part of the inputs, "
        "also where neighbouring tiles share it"
    ]
    for group in groups:
        used = sum(workload.weight(tensors[i]) * tensors[i].footprint(tiling.tile) for i in group.tensors)
        names = ", ".join(tensors[i].name for i in group.tensors)
        notes.append(f"{group.name} holds {used:,} of {group.words:,} words ({names})")
    return tuple(notes)
