"""What enters a Keep, and what it holds, where conditions on two dims leave points out; see `tree_counts`.

All conditions are on the same two dims and bound their difference. Every statement has both dims and the conditions, or
neither of the dims. An iteration of loops in which no point of the two dims is left is not run. In one that is run the
values of one dim for which there is a point have no gap; so what is touched of a tensor is a box cut by the conditions
if it has both dims, and a smaller box if it has one. Iterations are gone over one by one, but for loops over other dims
of the tensor: outermost ones with full steps are gone through once, as what they hold has no element in common; and if
the innermost ones have several trips everywhere, whatever is held is new. Innermost loops over dims of the tensor hold
everything once that is touched inside of them; of what is there from before only their first trip may find some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..chains.chain import StatedChain
from ..chains.chain_masks import rules_of
from ..core.tools import need
from .regions import Box
from .stated_tree import StatedKeep, StatedLoop

MOST = 2**20
"""Iterations that are gone over."""
FAR = 2**64
"""A difference that there is not."""
Span = tuple[int, int]
"""First and beyond."""
Places = dict[str, Span]
"""What is left of every dim."""


@dataclass(frozen=True)
class StatedBand:
    """Pairs of values of two dims, the first less the second from `least` to `most`."""

    dims: tuple[str, str]
    least: int
    most: int

    def pairs(self, one: Span, other: Span) -> int:
        """How many there are in a box."""
        return _pairs_up_to(self.most, one, other) - _pairs_up_to(self.least - 1, one, other)

    def left(self, places: Places, dim: str) -> Span:
        """Values of a dim for which a pair is left, if there is one."""
        low, high = places[dim]
        if dim not in self.dims:
            return low, high
        mine = self.dims.index(dim)
        first, beyond = places[self.dims[1 - mine]]
        least, most = (self.least, self.most) if mine == 0 else (-self.most, -self.least)
        return max(low, first + least), min(high, beyond + most)

    def runs(self, places: Places) -> bool:
        """Whether a pair is left."""
        low, high = self.left(places, self.dims[0])
        return low < high and all(a < b for a, b in places.values())

    def size(self, dims: Iterable[str], box: Box) -> int:
        """Elements of a box of a tensor with some dims, without those of pairs that are left out."""
        sides = dict(zip(dims, box, strict=True))
        found = 1
        if all(dim in sides for dim in self.dims):
            found = self.pairs(sides.pop(self.dims[0]), sides.pop(self.dims[1]))
        for low, high in sides.values():
            found *= max(0, high - low)
        return found

    def touched(self, dims: list[str], places: Places) -> Box:
        """The box of a tensor that operations touch, conditions on both dims not looked at."""
        both = all(dim in dims for dim in self.dims)
        return tuple(places[dim] if both else self.left(places, dim) for dim in dims)

    def entries(self, keep: StatedKeep, dims: list[str], box: Box, extents: dict[str, int]) -> int:
        """How often elements of a box enter a Keep, all together.

        Args:
            keep: which holds all of the box.
            dims: of the subscripts of the tensor.
            box: with a first and a beyond per subscript.
            extents: iterations per dim.
        """
        free = [d for d in dims if d not in self.dims]
        places = {d: (0, n) for d, n in extents.items()}
        loops, times, begins = list(keep.above.loops), 1, 0
        wholly = dict(zip(dims, box, strict=True))
        while loops and loops[0].dim in free:
            dim, tile = loops[0].dim, loops[0].tile
            size = places[dim][1]
            if size % tile or loops[0].ahead or wholly[dim] != (0, extents[dim]):
                break
            times *= size // tile
            places[dim] = (0, tile)
            wholly[dim] = (0, tile)
            del loops[0]
            begins += 1
        box = tuple(wholly[dim] for dim in dims)
        ended = keep.above.ended - begins
        fresh = False
        while loops and loops[-1].dim in free:
            dim, tile = loops[-1].dim, loops[-1].tile
            if any(loop.ahead for loop in loops if loop.dim == dim):
                break
            size = min([loop.tile for loop in loops[:-1] if loop.dim == dim], default=places[dim][1])
            if places[dim][1] % size or any(loop.dim == dim and size % loop.tile for loop in loops[:-1]):
                break
            fresh = fresh or size > tile
            del loops[-1]
        outer = len(loops)
        while outer and loops[outer - 1].dim in dims:
            outer -= 1
        found, before, last = 0, None, None
        for gone, (place, now) in enumerate(self._iterations(loops[:outer], places)):
            need(gone < MOST, f"not counted: too many iterations under conditions, more than {MOST:,}")
            found += self.size(dims, _meet(self.touched(dims, now), box))
            begun = place[: max(0, ended)]
            if before is not None and begun == last and not fresh and ended <= outer:
                first = _meet(self.touched(dims, self._end(loops[outer:], now, last=False)), box)
                found -= self.size(dims, _meet(first, before))
            before, last = _meet(self.touched(dims, self._end(loops[outer:], now, last=True)), box), begun
        return times * found

    def _end(self, loops: list[StatedLoop], places: Places, *, last: bool) -> Places:
        """What is left in the first or the last iteration that is run of some loops."""
        for loop in loops:
            first, beyond = self.left(places, loop.dim)
            places = {**places, loop.dim: loop.step(places[loop.dim], beyond - 1 if last else first)}
        return places

    def _iterations(
        self, loops: list[StatedLoop], places: Places, at: tuple[int, ...] = ()
    ) -> Iterator[tuple[tuple[int, ...], Places]]:
        """Every iteration that is run: where it begins in each loop, and what is left."""
        if not self.runs(places):
            return
        if len(at) == len(loops):
            yield at, places
            return
        loop = loops[len(at)]
        for step in loop.steps(places[loop.dim], *self.left(places, loop.dim)):
            yield from self._iterations(loops, {**places, loop.dim: step}, (*at, step[0]))


def _pairs_up_to(most: int, one: Span, other: Span) -> int:
    """Pairs of values of which the first less the second is so much at most."""
    (low, high), (first, beyond) = one, other
    whole = max(0, min(high, first + most + 1) - low)  # values that go with all others
    begin, end = max(low, first + most + 1), min(high, beyond + most)  # those that go with the last ones
    number = max(0, end - begin)
    return whole * max(0, beyond - first) + number * (2 * (beyond + most) - begin - end + 1) // 2


def _meet(one: Box, other: Box) -> Box:
    return tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def stated_band(chain: StatedChain) -> StatedBand | None:
    """The band of the conditions of a chain; None if it has no conditions.

    Raises:
        RefusedError: for conditions of another form, or that are not the same wherever one of the two dims is.
    """
    sets = {rules_of(said) for said in chain.said if said.conditions}
    if not sets:
        return None
    need(len(sets) == 1, "not counted: statements have different conditions")
    least, most = -FAR, FAR
    (rules,) = sets
    dims = tuple(sorted({d for rule in rules for d in rule.dims}))
    need(len(dims) == 2, "not counted: conditions on other dims than two")
    for rule in rules:
        need(sorted(c for _, c in rule.factors) == [-1, 1], "not counted: a condition that is on no difference of dims")
        if dict(rule.factors)[dims[0]] == 1:
            most = min(most, -rule.constant)
        else:
            least = max(least, rule.constant)
    for number, said in enumerate(chain.said):
        fine = said.conditions or not {*dims} & {*chain.dims[number]}
        need(bool(fine), f"not counted: {said.name} has a dim of the conditions, and not these")
    band = StatedBand((dims[0], dims[1]), least, most)
    places: Any = {d: (0, chain.extents[d]) for d in dims}
    need(least <= most and band.runs(places), "not counted: conditions that nothing meets")
    return band
