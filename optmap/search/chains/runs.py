"""Runs of three products or more: neighbours fused or not, intermediates stored or whole, strips of the rows.

The rows that all products have in common are cut into strips; in each strip the products are done one after the other,
alone or two fused, and an intermediate between them goes through the slow memory or stays whole. Inputs that have no
rows come again with every strip, unless they stay for good. The best choice for a strip is found product by product:
what has been done so far matters only through the intermediate that is handed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations, pairwise, product
from math import prod

from optmap.base.clock import NO_LIMIT, Clock
from optmap.search.chains.banded import best_fused_banded
from optmap.search.chains.banded_apart import best_apart_banded, least_apart_banded
from optmap.search.chains.family import Fused, best_fused, smallest_tiles
from optmap.search.chains.pair import ProductPair, ProductStep, pair_of
from optmap.search.chains.streaming import Apart, best_apart, products_of
from optmap.workloads.band import IndexBand
from optmap.workloads.workload import TensorAccess, Workload

FAMILY = (
    "strips of the rows; in each the products one after the other, alone or two fused, every intermediate stored or "
    "kept whole, inputs without rows loaded with every strip or kept for good"
)
"""The mappings among which the best is looked for, in words."""
APART = (
    "every product by itself, a tile of one of its tensors staying, every intermediate stored and loaded; of every "
    "number of tiles the smallest ones, and pinned what then fits"
)
"""Of these the mappings without anything fused."""
MOST_RESIDENT = 4
"""Inputs without rows that may stay for good: all sets of them are tried."""


class Way(Enum):
    """How an intermediate goes from one product to another."""

    INSIDE = "inside"
    """It stays whole in the fast memory."""
    DONE = "done"
    """It is stored, after what is done to it in place."""
    RAW = "raw"
    """It is stored, and what is done to it in place is done where it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Products of a run that are done together."""

    first: int
    """Number of the (first) product."""
    member: Apart | Fused
    """It by itself, or it and the next one."""

    @property
    def last(self) -> int:
        """Number of the last product."""
        return self.first + isinstance(self.member, Fused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A mapping of a run."""

    strip: int
    """Rows of a strip; all of them if the products have no rows in common."""
    resident: tuple[str, ...]
    """Inputs that stay for good."""
    parts: tuple[Part, ...]
    ways: tuple[Way, ...]
    """Of the intermediate behind every part but the last."""
    words: int
    """At most: the last strip may be shorter."""
    rows_whole: bool = False
    """Whether the statistic of a function of rows stays whole in the fast memory."""


def rows_of(workload: Workload, steps: Sequence[ProductStep]) -> str | None:
    """The dim that the first input, all intermediates and the result have in common; None if there is none."""
    sides = [{side.dim for side in pair_of(workload, *two).sides} for two in pairwise(steps)]
    return next(iter(sorted(set.intersection(*sides))), None)


def _weights(workload: Workload, steps: Sequence[ProductStep], rows: str, batch: Sequence[str]) -> dict[str, int]:
    """Words of the inputs without rows, for one iteration of what goes through everything."""
    made = {step.result for step in steps}
    return {
        access.name: _words(workload, access, batch)
        for step in steps
        for access in step.product.inputs
        if access.name not in made and rows not in access.dims
    }


def _words(workload: Workload, access: TensorAccess, batch: Sequence[str]) -> int:
    return workload.weight(access) * prod(workload.extents[d] for d in access.dims.difference(batch))


def best_run(
    workload: Workload,
    steps: Sequence[ProductStep],
    memory: int,
    *,
    stores: bool = True,
    apart: bool = False,
    clock: Clock = NO_LIMIT,
    band: IndexBand | None = None,
) -> Run | None:
    """The mapping of a run that moves the fewest words; None if none fits.

    Args:
        workload: the chain.
        steps: its products.
        memory: words that fit.
        stores: whether words that are stored count.
        apart: whether every product is to be done by itself, and every intermediate stored.
        clock: when it is late, the best so far is taken.
        band: of the two dims of an intermediate: two products only, each mapping priced under it.
    """
    rows, pair = rows_of(workload, steps), pair_of(workload, steps[0], steps[1], stores=stores)
    extent = 0 if rows is None else workload.extents[rows]
    whole = _Strip(workload=workload, steps=steps, memory=memory, stores=stores, apart=apart, clock=clock, band=band)
    if band is not None and not apart:
        whole = replace(whole, known=best_fused_banded(pair, band, memory))
    best = whole.best()
    if pair.rows is not None:
        statistic = pair.rows.words * pair.sides[pair.rows.side].extent
        stays = replace(whole, memory=memory - statistic, rows_whole=True).best()
        if stays is not None and (best is None or stays.words < best.words):
            best = replace(stays, rows_whole=True)
    if best is not None:
        best = replace(best, strip=extent)
    if rows is None or apart or len(steps) == 2:  # of two the strips are tiles
        return best
    weights, times = _weights(workload, steps, rows, pair.batch), pair.times
    for strip in reversed(smallest_tiles(extent)[:-1].tolist()):
        cut = replace(workload, sizes=tuple((d, strip if d == rows else n) for d, n in workload.sizes))
        strips = -(-extent // strip)
        for resident in _sets(weights, memory):
            if clock.late and best is not None:
                return best
            kept = sum(weights[name] for name in resident)
            again = sum(weights.values()) - kept
            if best is not None and (strips * again + kept) * times >= best.words:
                continue
            found = replace(whole, workload=cut, memory=memory - kept, resident=resident, cut=rows).best()
            if found is not None:
                words = strips * found.words + kept * times
                if best is None or words < best.words:
                    best = replace(found, strip=strip, resident=resident, words=words)
    return best


def _sets(weights: dict[str, int], memory: int) -> Iterator[tuple[str, ...]]:
    """Sets of inputs that fit, small ones first."""
    for many in range(min(len(weights), MOST_RESIDENT) + 1):
        for names in combinations(weights, many):
            if sum(weights[name] for name in names) < memory:
                yield names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Strip:
    """The best way through the products of one strip."""

    workload: Workload
    steps: Sequence[ProductStep]
    memory: int
    """Words beside those that stay for good."""
    stores: bool
    apart: bool
    """Whether products are not fused, and intermediates do not stay."""
    resident: tuple[str, ...] = ()
    cut: str | None = None
    """The dim of the rows, if there are several strips."""
    clock: Clock
    rows_whole: bool = False
    """Whether the statistic of a function of rows has its room outside of that memory."""
    band: IndexBand | None = None
    """Of the dims of the intermediate of two products."""
    known: Fused | None = None
    """The best mapping that does both of these together, None if none fits: what is to move more is not looked for."""

    def best(self) -> Run | None:
        """The mapping that moves the fewest words; None if none fits."""
        last = len(self.steps) - 1
        found: dict[tuple[int, Way], Run] = {(-1, Way.DONE): Run(strip=0, resident=(), parts=(), ways=(), words=0)}
        for number in range(len(self.steps)):
            for before, after in product(Way, [Way.DONE] if number == last else self._ways(number)):
                for first in (number,) if self.apart or self.rows_whole else (number, number - 1):
                    so_far = found.get((first - 1, before))
                    member = None if so_far is None else self._member(first, number, before, after)
                    if so_far is None or member is None:
                        continue
                    run = Run(
                        strip=0,
                        resident=(),
                        parts=(*so_far.parts, Part(first=first, member=member)),
                        ways=so_far.ways if number == last else (*so_far.ways, after),
                        words=so_far.words + member.words,
                    )
                    known = found.get((number, after))
                    if known is None or run.words < known.words:
                        found[number, after] = run
        return found.get((last, Way.DONE))

    def _ways(self, number: int) -> list[Way]:
        """How the result of a product may go on."""
        comes = self._pair(0, ()).rows is not None and not self.rows_whole
        inside = [] if self.apart or comes else [Way.INSIDE]
        return [*inside, Way.DONE, Way.RAW] if self.steps[number].functions else [*inside, Way.DONE]

    def _member(self, first: int, last: int, before: Way, after: Way) -> Apart | Fused | None:
        """Products by themselves, given how what they read comes and what they make goes."""
        inside = [
            self.steps[number].result
            for number, way in ((first - 1, before), (last, after))
            if way is Way.INSIDE and number >= 0
        ]
        room = self.memory - sum(self._size(name) for name in inside)
        if room <= 0:
            return None
        if first == last:
            return self._alone(first, room, inside, before, after)
        if before is Way.RAW or (after is Way.DONE and self.steps[last].functions):
            return None  # functions are done with their own product only
        pair = self._pair(first, inside)
        if self.band is not None:
            return self.known
        return best_fused(pair, room, self.clock)

    def _alone(self, number: int, room: int, inside: list[str], before: Way, after: Way) -> Apart | None:
        last = number == len(self.steps) - 1
        pair = self._pair(number - last, inside)
        shared = self.steps[number - last].result in inside
        alone = products_of(pair, whole=shared, second=None if self.rows_whole else Way.RAW in (before, after))[last]
        once = []
        if before is Way.RAW:
            once.append(pair.shared.name if last else self.steps[number - 1].result)
        if after is Way.DONE and self.steps[number].functions:
            once.append(pair.shared.name)
        if self.band is not None:
            if not shared and self.known is not None and self._least_apart(self.band) > self.known.words:
                return None
            member = best_apart_banded(alone, self.band, room, tuple(once))
        else:
            member = best_apart(alone, room, once)
        return None if member is None else replace(member, words=member.words * pair.times)

    def _least_apart(self, band: IndexBand) -> int:
        """Words that two products by themselves move at least, with the intermediate stored and loaded."""
        pair = self._pair(0, ())
        return pair.times * sum(least_apart_banded(alone, band) for alone in products_of(pair))

    def _pair(self, first: int, inside: Sequence[str]) -> ProductPair:
        return pair_of(
            self.workload,
            self.steps[first],
            self.steps[first + 1],
            stores=self.stores,
            inside=(*inside, *self.resident),
            cut=self.cut,
        )

    def _size(self, result: str) -> int:
        """Words of an intermediate for one iteration of what goes through everything."""
        made = next(step.product.output for step in self.steps if step.result == result)
        return _words(self.workload, made, self._pair(0, ()).batch)
