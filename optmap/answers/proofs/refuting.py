"""The tree behind a proof: sets of mappings, split until each of them is refuted.

The steps are those of `checker.cover.cover`, and so are rows, parts and the test whether a set is refuted: what is
searched here is only which ones to take. Where real sizes leave nothing to refute, the claim is lowered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from math import exp, log

from optmap.answers.proofs.refutation import Refutation, best_weights, refutation
from optmap.base.arrays import Floats
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.checker import RefusedError
from optmap.checker.core.tools import count
from optmap.checker.cover.cover import parts_of, refutes
from optmap.checker.cover.rows import Key, MappingSet, Model, Range, RefutedRow

ROUNDED = 1e-9
"""Relative error of floats that decide what the checker is asked, at most."""
WORTH = 1e-8
"""Excess from which a sum of rows is worth writing down."""
ROUNDINGS = ((4, 4, False), (6, 7, False), (9, 10, True), (13, 15, True))
"""Digits of weights and of sizes that are tried, shortest first."""
COUNTS = 0.02
"""Share of the weights from which on a level's row counts."""
FEW = 40
"""Steps after which it is tried to look at all numbers of tiles, and no more what rows alone cut off."""
IDLE = 1e-5
"""Slope below which a size does not matter."""
LOWERED = 2e-7
"""How far below a point that cannot be refuted a claim is set."""
LOWERINGS = 60
"""Times that a claim is lowered at most."""


@dataclass(slots=True)
class Proving:
    """A claim on its way to a proof: no mapping has costs below `value` at all of some levels."""

    model: Model
    levels: list[int]
    value: Fraction
    whole: bool
    most: int
    """Steps at most."""
    clock: Clock
    first: list[int] = field(default_factory=list)
    """Levels in the order in which their loop orders are chosen."""
    lowered: int = 0

    def run(self) -> list[str]:
        """The steps, in the order in which the checker takes them.

        Raises:
            LimitError: if there are too many, the time is over, or mappings are left that cost less.
        """
        root = self.model.root()
        left = [] if root is None else [root]
        self.first = self._sequence(root) if root is not None else []
        steps: list[str] = []
        while left:
            if self.whole and root is not None and len(steps) == FEW and self._all_looked_at(root):
                return ["every"]
            if len(steps) >= self.most:
                raise LimitError(f"it has more than {self.most:,} steps")
            if self.clock.late:
                raise LimitError("the time is over; give a longer --time-limit")
            node = left.pop()
            step = self._leaf(node)
            if isinstance(step, str):
                steps.append(step)
                continue
            trim = max(self._trims(node), default=None) if self.whole and len(steps) < FEW else None
            split = trim[1] if trim else self._split(node, step)
            if split is None:
                self._lower(step)
                left.append(node)
                continue
            kind, *words = split.split(" ")
            steps.append(split)
            left += [part for part in reversed(parts_of(self.model, node, kind, words, "")) if part is not None]
        return steps

    def _all_looked_at(self, root: MappingSet) -> bool:
        """Whether no whole tiles are left; not if there are too many to look at.

        Raises:
            LimitError: if some are left.
        """
        try:
            refuted = refutes(self.model, root, self._rows(root), self.levels, ["every"])
        except RefusedError:
            return False
        if not refuted:
            raise LimitError("what the checker knows of every mapping is not enough for it")
        return True

    def _rows(self, node: MappingSet) -> list[RefutedRow]:
        limits = [self.model.limit(level, self.value, whole=self.whole) for level in self.levels]
        return self.model.rows(node, self.levels, limits)

    def _leaf(self, node: MappingSet) -> str | Refutation:
        """The step that refutes a node, or what is known where none does."""
        rows = self._rows(node)
        broken = self._broken(node, rows)
        if broken is not None:
            return broken
        found = refutation(self.model, node, rows)
        if found.excess > WORTH:
            for digits, places, exact in ROUNDINGS:
                weights = best_weights(self.model, node, rows, found) if exact else found.weights
                words = [] if weights is None else self._written(node, found, weights, digits, places)
                if words and refutes(self.model, node, rows, self.levels, ["sum", *words]):
                    return " ".join(("sum", *words))
        return found

    def _broken(self, node: MappingSet, rows: list[RefutedRow]) -> str | None:
        """The step that refutes a node by one row alone."""
        for number, row in enumerate(rows):
            if self._least(node, row) > float(row.limit) * (1 - ROUNDED) and refutes(
                self.model, node, rows, self.levels, ["row", str(number)]
            ):
                return f"row {number}"
        return None

    def _least(self, node: MappingSet, row: RefutedRow) -> float:
        """A row where all its terms are least, about."""
        known: dict[Key, float] = {}
        total = 0.0
        for coefficient, keys in row.terms:
            term = coefficient.numerator / coefficient.denominator
            for key in keys:
                if key not in known:
                    kind, level, dim = key
                    low, high = self.model.range(node, level, dim)
                    ends = {"size": float(low), "inverse": 1.0 / high}
                    known[key] = ends[kind] if kind in ends else float(self.model.fewest(node, level, dim))
                term *= known[key]
            total += term
        return total

    def _written(self, node: MappingSet, found: Refutation, weights: Floats, digits: int, places: int) -> list[str]:
        """Weights and sizes as a step has them."""
        top = float(weights.max())
        whole = [round(10**digits * max(0.0, w) / top) for w in weights.tolist()]
        used = {level for (kind, level, _), pull in found.pull.items() if pull * 10**digits > 0.01 * top}
        variable = [d for d in self.model.dims if d not in self.model.fixed]
        groups = []
        for level in range(self.model.depth):
            sizes = [found.sizes.get((level, d)) for d in variable]
            own = [float(self.model.range(node, level, d)[1]) for d in variable]
            texts = [f"{n if size is None else size:.{places}g}" for size, n in zip(sizes, own, strict=True)]
            groups.append(",".join(_plain(text) for text in texts) if level in used else "")
        return [",".join(map(str, whole)), "/".join(groups)]

    def _sequence(self, root: MappingSet) -> list[int]:
        """The level that costs most on its own first, then those outside it, then those inside."""
        own = {}
        for level in self.levels:
            excess = []
            for number in range(len(self.model.flows[level])):
                node = root._replace(flows=(*root.flows[:level], number, *root.flows[level + 1 :]))
                limits = [self.model.limit(level, self.value, whole=self.whole)]
                excess.append(refutation(self.model, node, self.model.rows(node, [level], limits)).excess)
            own[level] = min(excess)
        top = max(own, key=lambda level: own[level], default=0)
        return [*range(top, self.model.depth), *range(top - 1, -1, -1)]

    def _split(self, node: MappingSet, found: Refutation) -> str | None:
        """The step that splits a node; None if nothing is left to split."""
        # A level whose row hardly counts is left as it is as long as something else can be split.
        shares = dict(zip(self.levels, found.weights.tolist(), strict=False))
        asked = [level for level in self.first if level in shares]
        counting = [level for level in asked if shares[level] > COUNTS]
        first = [self._fixed_cut(node, level) for level in counting]
        first += [f"flow {level}" for level in counting if node.flows[level] is None]
        first += [self._fixed_cut(node, level) for level in asked if level - 1 in counting]
        chosen = next((split for split in first if split is not None), None)
        if chosen is not None:
            return chosen
        best = max(self._bends(node, found), default=None)
        if best is None and self.whole:
            best = max(self._cuts(node, found), default=None)
        if best is not None:
            return best[1]
        rest = [self._fixed_cut(node, level) for level in asked if node.flows[level] is not None]
        rest += [f"flow {level}" for level in asked if node.flows[level] is None]
        rest += self._outer_cuts(node) if self.whole else []
        return next((split for split in rest if split is not None), None)

    def _trims(self, node: MappingSet) -> Iterator[tuple[float, str]]:
        """Cuts with one side that a row alone refutes, at least half of the range, and its share of it."""
        for level, dim in product(range(self.model.depth), self.model.dims):
            low, high = self.model.range(node, level, dim)
            middle, size = (low + high) // 2, high - low + 1
            sides = partial(self._side, node, level, dim)
            if low < high and sides((low, middle)):
                at = middle - 1 + bisect_left(range(middle, high), True, key=lambda n: not sides((low, n)))
                yield (at - low + 1) / size, f"cut {level} {dim} {at}"
            if low < high and sides((middle + 1, high)):
                at = low + bisect_left(range(low, middle), True, key=lambda n: sides((n + 1, high)))
                yield (high - at) / size, f"cut {level} {dim} {at}"

    def _side(self, node: MappingSet, level: int, dim: str, sizes: Range) -> bool:
        """Whether nothing is left of a node where a dim's tile is in a range, or a row alone refutes it."""
        part = self.model.narrowed(node, level, dim, sizes)
        return part is None or self._broken(part, self._rows(part)) is not None

    def _outer_cuts(self, node: MappingSet) -> list[str]:
        """Cuts of any range that is left, outermost first: how outer tiles are cut says more of the tiles inside."""
        found = []
        for level in reversed(range(self.model.depth)):
            for dim in self.model.dims:
                low, high = self.model.range(node, level, dim)
                if low < high:
                    found.append(f"cut {level} {dim} {(low + high) // 2}")
        return found

    def _fixed_cut(self, node: MappingSet, level: int) -> str | None:
        """A cut of a fixed dim at a level, the whole extent apart from the rest first; None if all are single sizes."""
        for dim in sorted(self.model.fixed & set(self.model.dims)):
            low, high = self.model.range(node, level, dim)
            if low < high:
                whole = high == self.model.extents[dim] and (high - low < 4 or low == 1)
                return f"cut {level} {dim} {high - 1 if whole else min(high - 1, max(low, int((low * high) ** 0.5)))}"
        return None

    def _bends(self, node: MappingSet, found: Refutation) -> Iterator[tuple[float, str]]:
        """Cuts of ranges in which a subscript's number of values is far above its chord."""
        for axes in self.model.axes:
            for axis in axes:
                main = next((d for d, _ in axis if d not in self.model.fixed), None)
                if main is None or len(axis) == 1:
                    continue
                for level in range(self.model.depth):
                    low, high = self.model.range(node, level, main)
                    size = found.sizes.get((level, main))
                    if size is None or high - low < 2:
                        continue
                    at = min(high - 1, max(low + 1, round(size)))
                    for end in (0, 1):
                        others = {d: self.model.range(node, level, d)[end] for d, _ in axis}
                        values = [count(dict(axis), {**others, main: n}) for n in (low, at, high)]
                        chord = values[0] + (values[2] - values[0]) * (at - low) / (high - low)
                        if values[1] > chord * (1 + 1e-9):
                            yield values[1] / chord, f"cut {level} {main} {at}"

    def _cuts(self, node: MappingSet, found: Refutation) -> Iterator[tuple[float, str]]:
        """Cuts beside the real sizes, with how far both sides move them apart."""
        for (level, dim), size in found.sizes.items():
            low, high = self.model.range(node, level, dim)
            pull = sum(found.pull.get((kind, level, dim), 0.0) for kind in ("size", "inverse", "number"))
            if low == high or pull < IDLE:
                continue
            extent = self.model.extents[dim]
            number = max(1, int(extent / size + 1e-9))
            for n in (number, number + 1):
                at = -(-extent // n) - 1
                if low <= at < high:
                    up, down = max(0.0, log((at + 1) / size)), max(0.0, log(size * -(-extent // at) / extent))
                    yield (pull * min(up, down) + 1e-3 * pull * (up + down), f"cut {level} {dim} {at}")
            middle = min(high - 1, max(low, round((low * high) ** 0.5)))
            yield 1e-6 * (pull + 1e-6) * log(high / low), f"cut {level} {dim} {middle}"

    def _lower(self, found: Refutation) -> None:
        """Lower the claim below the point that was found."""
        self.lowered += 1
        if self.lowered > LOWERINGS or self.whole:
            raise LimitError("what the checker knows of every mapping is not enough for it")
        shares = []
        for level in self.levels:
            limit = float(self.model.limit(level, self.value, whole=False))
            moved = limit * exp(min(0.0, found.excess - LOWERED))
            shares.append((moved - self.model.created) / float(self.model.rates[level]))
        self.value = Fraction(f"{min(shares) * (1 - LOWERED):.12g}")


def _plain(text: str) -> str:
    """A number without exponent."""
    return text if "e" not in text else f"{float(text):.15f}".rstrip("0").rstrip(".")
