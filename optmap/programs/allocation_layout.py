"""The numbers of an allocation program: stages, divisors that can occur, tables of windows. No solver, no model.

A mapping with perfect factors is, per dim, a chain of divisors: the extent that is covered up to each stage of each
memory, from inner to outer x, y and time. What the chain can be is thinned out here: rules that say 1, meshes of one
child, tiles that no memory holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from math import log, prod

from optmap.base.clock import current
from optmap.base.errors import InfeasibleError, InputError
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Fabric, Memory, Rule
from optmap.machines.operands import Operand
from optmap.machines.relations import Relation
from optmap.questions.policy import Footprint, Policy
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.halo import distinct_values

MOST_COMBINATIONS = 20_000
"""Entries of one table over the dims of a subscript; more are refused."""

SAFE = 1e-9
"""Added to a largest ratio of logs, which floats may round down."""


class StageKind(StrEnum):
    """What the loops of a stage are."""

    X = "x"
    Y = "y"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Loops of one memory of one kind."""

    memory: int
    kind: StageKind
    moves: tuple[bool, ...]
    """Per dim, whether its loop here may have more than one trip."""
    size: int | None
    """Children along the axis of the mesh; None for time."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DimStages:
    """What one dim can do."""

    dim: int
    stages: tuple[int, ...]
    """Numbers of the stages at which it may move, inner to outer."""
    layers: tuple[tuple[int, ...], ...]
    """Extents that may be covered: before the first of its stages (only 1), then after each (at last the extent)."""
    steps: tuple[tuple[tuple[int, int], ...], ...]
    """Per stage of its own the pairs (covered before, covered after)."""

    def layer(self, stage: int) -> int:
        """The layer that holds after a stage of the machine (-1: before the first)."""
        return sum(own <= stage for own in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class TabledSubscript:
    """A subscript of an operand whose words are a table: of several dims, or a hull with gaps."""

    operand: int
    axis: int
    dims: tuple[int, ...]
    coefficients: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLayout:
    """A fabric as chains of divisors."""

    fabric: Fabric
    counting: Policy
    stages: tuple[Stage, ...]
    chains: dict[int, DimStages]
    """By dim; dims of extent 1 have none."""
    windows: tuple[TabledSubscript, ...]

    def after(self, memory: int) -> int:
        """The last stage of a memory, whose layers are its tile; -1 for the arithmetic (memory -1)."""
        return max((n for n, stage in enumerate(self.stages) if stage.memory <= memory), default=-1)

    def meshes(self, above: int, to: int) -> Iterator[int]:
        """Spatial stages of the memories above one, up to another (it included)."""
        for number, stage in enumerate(self.stages):
            if stage.size is not None and above < stage.memory <= to:
                yield number

    def times(self, above: int) -> Iterator[int]:
        """Temporal stages of the memories above one."""
        return (number for number, stage in enumerate(self.stages) if stage.size is None and above < stage.memory)

    def values(self, window: TabledSubscript, extents: tuple[int, ...]) -> int:
        """Words along a subscript of a tile, as they are counted."""
        return self.counting.footprint.words(window.coefficients, extents)

    def extents(self, dim: int, memory: int) -> tuple[int, ...]:
        """What the tile of a memory may cover of a dim."""
        if dim not in self.chains:
            return (1,)
        chain = self.chains[dim]
        return chain.layers[chain.layer(self.after(memory))]

    def combinations(self, window: TabledSubscript, memory: int) -> list[tuple[int, ...]]:
        """Extents that the dims of a window may have together in the tile of a memory.

        Raises:
            InputError: if they are too many for a table.
        """
        choices = [self.extents(dim, memory) for dim in window.dims]
        if prod(map(len, choices)) > MOST_COMBINATIONS:
            names = ", ".join(self.fabric.dims[dim] for dim in window.dims)
            raise InputError(f"{prod(map(len, choices)):,} tiles of {names} are too many for a table; use exact")
        return list(product(*choices))


@cache
def least_new(
    coefficients: tuple[int, ...], extents: tuple[int, ...], place: int, whole: int, footprint: Footprint
) -> int:
    """Words along a subscript that a step of the loop over one of its dims must bring at least.

    The loop moves the tile by a multiple of what the tile covers of the dim (a mesh between may move it further).

    Args:
        coefficients: of the subscript.
        extents: of the tile.
        place: which dim the loop is over.
        whole: extent of that dim in the workload.
        footprint: of a tile.

    Raises:
        LimitError: if the time of the answer is over.
    """
    words, shift = footprint.words(coefficients, extents), coefficients[place] * extents[place]
    if footprint is Footprint.HULL:
        return min(words, shift)
    tile = _values(coefficients, extents)
    span, touched, least = tile.bit_length() - 1, tile.bit_count(), words
    for times in range(1, whole // extents[place] + 1):
        if times * shift > span:
            break
        current().check()
        least = min(least, touched - (tile & (tile >> times * shift)).bit_count())
    return least


def _values(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """The values of a subscript over a tile, as the bits of a number."""
    found = 1
    for coefficient, extent in zip(coefficients, extents, strict=True):
        done = 1
        while done < extent:  # as many again, as far as there are
            more = min(done, extent - done)
            found |= found << coefficient * more
            done += more
    return found


def layout_of(fabric: Fabric, counting: Policy) -> StageLayout:
    """The stages and chains of a fabric.

    Raises:
        InputError: for an output with a subscript of several dims.
        InfeasibleError: if the rules or the smallest tiles leave no chain for a dim.
    """
    _refuse(fabric)
    stages = tuple(_stages(fabric))
    chains = {dim: _chain(fabric, counting, stages, dim) for dim, extent in enumerate(fabric.extents) if extent > 1}
    windows = tuple(
        TabledSubscript(
            operand=number,
            axis=place,
            dims=tuple(dim for dim, _ in axis if dim in chains),
            coefficients=tuple(factor for dim, factor in axis if dim in chains),
        )
        for number, operand in enumerate(fabric.operands)
        for place, axis in enumerate(operand.axes)
        if _tabled([(dim, factor) for dim, factor in axis if dim in chains], counting.footprint)
    )
    return StageLayout(fabric=fabric, counting=counting, stages=stages, chains=chains, windows=windows)


def _tabled(terms: list[tuple[int, int]], footprint: Footprint) -> bool:
    """Whether the words along a subscript are something else than the extent of its one dim."""
    return len(terms) > 1 or (footprint is Footprint.HULL and any(factor > 1 for _, factor in terms))


def _refuse(fabric: Fabric) -> None:
    output = next(operand for operand in fabric.operands if operand.output)
    if any(len(axis) > 1 for axis in output.axes):
        raise InputError(f"the allocation program needs an output without windows, unlike {output.name}; use exact")


def _stages(fabric: Fabric) -> Iterator[Stage]:
    for number, memory in enumerate(fabric.memories):
        for kind, direction in ((StageKind.X, memory.x), (StageKind.Y, memory.y)):
            still = _still(direction.rules, fabric)
            moves = tuple(
                direction.size > 1 and free and dim not in still and fabric.extents[dim] > 1
                for dim, free in enumerate(direction.allowed)
            )
            if any(moves) or direction.rules:
                yield Stage(memory=number, kind=kind, moves=moves, size=direction.size, rules=direction.rules)
        still, loops = _still(memory.rules, fabric), memory.loopable(len(fabric.dims))
        moves = tuple(loops[dim] and dim not in still and extent > 1 for dim, extent in enumerate(fabric.extents))
        yield Stage(memory=number, kind=StageKind.TIME, moves=moves, size=None, rules=memory.rules)


def _still(rules: tuple[Rule, ...], fabric: Fabric) -> set[int]:
    """Dims that a rule allows one trip only; a rule that no chain can meet is an error."""
    found: set[int] = set()
    for rule in rules:
        if not any(fabric.extents[dim] > 1 for dim in rule.dims) and not rule.admits((1,) * len(fabric.extents)):
            raise InfeasibleError(f"no mapping keeps to {rule.text}: the workload has one trip there")
        if rule.value == 1 and rule.relation in (Relation.EQUAL, Relation.AT_MOST):
            found |= set(rule.dims)
    return found


def _chain(fabric: Fabric, counting: Policy, stages: tuple[Stage, ...], dim: int) -> DimStages:
    own = tuple(number for number, stage in enumerate(stages) if stage.moves[dim])
    every = divisors_of(fabric.extents[dim])
    bounds = [
        1,
        *(
            _largest(fabric, counting, stages, number=number, following=following, dim=dim)
            for number, following in _next(own)
        ),
    ]
    held = [_held(stages, number, following) for number, following in _next((0, *own))]
    forward: list[set[int]] = [{1} if _demanded(fabric, held[0], dim, 1) else set()]
    for place, number in enumerate(own):
        forward.append(
            {
                new
                for new in every
                if new <= bounds[place + 1]
                and _demanded(fabric, held[place + 1], dim, new)
                and any(_step(stages[number], old, new) for old in forward[-1])
            }
        )
    layers = [{fabric.extents[dim]} & forward[-1]]
    for place in range(len(own) - 1, -1, -1):
        outer = layers[0]
        layers.insert(0, {old for old in forward[place] if any(_step(stages[own[place]], old, n) for n in outer)})
    if not layers[0] or not own:
        raise InfeasibleError(
            f"no chain of tiles of {fabric.dims[dim]} fits the memories, meshes and rules of {fabric.machine.name}"
        )
    ordered = tuple(tuple(sorted(layer)) for layer in layers)
    steps = tuple(
        tuple((old, new) for old in ordered[place] for new in ordered[place + 1] if _step(stages[number], old, new))
        for place, number in enumerate(own)
    )
    return DimStages(dim=dim, stages=own, layers=ordered, steps=steps)


def _next(own: tuple[int, ...]) -> Iterator[tuple[int, int | None]]:
    """Each of a dim's stages with the one after it."""
    for place, number in enumerate(own):
        yield number, own[place + 1] if place + 1 < len(own) else None


def _held(stages: tuple[Stage, ...], number: int, following: int | None) -> set[int]:
    """The memories whose tiles are what is covered from a stage on, before another (None: to the end)."""
    return {stage.memory for stage in stages[number:following] if stage.kind is StageKind.TIME}


def _demanded(fabric: Fabric, memories: set[int], dim: int, extent: int) -> bool:
    """Whether tiles of memories may cover so much of a dim, as far as a user demands something of them."""
    rules = (rule for memory in memories for rule in fabric.memories[memory].tiles)
    return all(rule.relation.holds(extent, rule.value) for rule in rules if rule.dims == (dim,))


def _step(stage: Stage, old: int, new: int) -> bool:
    return new % old == 0 and (stage.size is None or new // old <= stage.size)


def _largest(
    fabric: Fabric, counting: Policy, stages: tuple[Stage, ...], *, number: int, following: int | None, dim: int
) -> int:
    """The largest extent of a dim after a stage that the memories before its next stage can hold, others at 1."""
    inside = _held(stages, number, following)
    return max(
        (
            extent
            for extent in divisors_of(fabric.extents[dim])
            if all(_holds(fabric, counting, fabric.memories[memory], dim, extent) for memory in inside)
        ),
        default=1,
    )


def _holds(fabric: Fabric, counting: Policy, memory: Memory, dim: int, extent: int) -> bool:
    """Whether the tiles that a memory must keep fit if they cover one dim that far and the others not at all."""
    for room in memory.rooms:
        needed = 0
        for operand, weight in zip(room.operands, room.weights, strict=True):
            if memory.keeps[operand] is KeepRule.KEPT:
                needed += whole(least_tile(fabric.operands[operand], dim, extent, counting.room), weight)
        if needed > room.capacity:
            return False
    return True


def least_tile(operand: Operand, dim: int, extent: int, footprint: Footprint) -> int:
    """Words of a tile that covers one dim that far and the others not at all."""
    return prod(
        footprint.words(tuple(c for _, c in axis), tuple(extent if d == dim else 1 for d, _ in axis))
        for axis in operand.axes
        if axis
    )


def whole_words(layout: StageLayout, operand: Operand) -> int:
    """Words of an operand that the workload touches."""
    extents = layout.fabric.extents
    return prod(
        layout.counting.footprint.words(tuple(c for _, c in axis), tuple(extents[d] for d, _ in axis))
        for axis in operand.axes
        if axis
    )


def gain(layout: StageLayout, window: TabledSubscript, place: int, extents: tuple[int, ...]) -> float:
    """Log of a window's words over the least that a step along one of its dims brings anew."""
    whole = layout.fabric.extents[window.dims[place]]
    words = layout.values(window, extents)
    return log(words / max(1, least_new(window.coefficients, extents, place, whole, layout.counting.footprint)))


def most_shared(layout: StageLayout, window: TabledSubscript, children: int) -> tuple[float, tuple[float, float]]:
    """How many children of a mesh can have the same part of a window of two dims, as parts of their ways.

    Args:
        layout: gives extents.
        window: of two dims.
        children: of the mesh.

    Returns:
        The most of log(children per different offset) over log(children), and over the log of each dim's ways.
    """
    first, second = (divisors_of(layout.fabric.extents[dim]) for dim in window.dims)
    both, one, two = 0.0, 0.0, 0.0
    for a, b in product(first, second):
        if a > 1 and b > 1 and a * b <= children:
            shared = log(a * b / _fewest_offsets(window.coefficients, (a, b), (first, second)))
            both, one, two = max(both, shared / log(a * b)), max(one, shared / log(a)), max(two, shared / log(b))
    return both + SAFE, (one + SAFE, two + SAFE)


def _fewest_offsets(
    coefficients: tuple[int, ...], ways: tuple[int, int], tiles: tuple[tuple[int, ...], tuple[int, ...]]
) -> int:
    """Different offsets of that many children along two dims, the least over tiles of a child."""
    whole = tiles[0][-1], tiles[1][-1]
    return min(
        distinct_values((coefficients[0] * a, coefficients[1] * b), ways)
        for a, b in product(*tiles)
        if whole[0] % (a * ways[0]) == 0 and whole[1] % (b * ways[1]) == 0
    )
