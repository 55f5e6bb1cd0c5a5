"""Loads and occupancy of every combination of candidate tiles of a flow, by broadcasting.

Traffic and footprint of a tensor are products over its groups of subscripts, and a group depends on
few units: each factor is a small exact table, and a flow over the whole grid of candidates is a few
products of broadcast tables. Of one plain unit only the largest candidate that fits is looked at:
larger tiles never load more.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import ceil, inf, prod
from typing import Any, Self, TypeVar

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.count.levels import halo
from optmap.count.levels.cutting import Along, Array, cut_once
from optmap.count.levels.rolling import axis_profile, buffer_table, steady
from optmap.search.iooub.flows import Flow, Hold
from optmap.search.iooub.products import GridProducts, Product, over, spread
from optmap.search.iooub.streams import passage
from optmap.search.iooub.units import Bundle
from optmap.workloads.axes import axis_groups, group_dims, moving
from optmap.workloads.workload import Subscript, TensorAccess, Workload

Choice = tuple[int, ...]
"""Index of one candidate per unit."""
Factor = tuple[Floats, tuple[int, ...]]
"""A table over candidates, and the units of its axes; none for a constant."""
WIDEST = 2**58
"""Index space of a group above which its table is computed in Python integers."""
KEPT = 2**16
"""Largest product of tables that is kept."""
SHARED = 2**21
"""Words of products that are kept for other capacities."""
ROUNDING = 1e-9
"""Relative slack of a capacity compared in floating point; the winner is checked in integers."""


@dataclass(frozen=True, slots=True)
class BestOfFlow:
    """The best combination of a flow."""

    value: float
    """Weighted loads, in words."""
    choice: Choice
    """Candidate per unit."""


class TileGrid:
    """Tables of one workload's units, and the search over their combinations.

    Args:
        workload: what is tiled.
        units: its units.
        groups: capacity constraints: (words, tensor numbers) pairs.
        weights: objective weight of every tensor, output first.
    """

    def __init__(
        self,
        workload: Workload,
        units: tuple[Bundle, ...],
        groups: Sequence[tuple[int, tuple[int, ...]]],
        weights: Sequence[float],
    ) -> None:
        self.workload = workload
        self.units = units
        self.groups = tuple(groups)
        self.weights = tuple(weights)
        self._owner = {d: u for u, unit in enumerate(units) for d in unit.dims}
        self._tensors = workload.tensors
        self._words = [float(workload.weight(tensor)) for tensor in self._tensors]
        """Per element of every tensor."""
        self._axis_groups = tuple(axis_groups(moving(tensor, self._owner)) for tensor in self._tensors)
        self._live = tuple(
            tuple(tuple(dict.fromkeys(self._owner[d] for d in group_dims(group))) for group in groups)
            for groups in self._axis_groups
        )
        """Units of every group of subscripts of every tensor."""
        self._tables: dict[object, Floats] = {}
        self.every = [np.arange(len(unit.boxes)) for unit in units]
        """All candidates per unit, in order."""
        self._shared = {id(self.every): GridProducts(SHARED)}
        """By the lists of candidates that stay."""
        self._listed: Sequence[Ints] = ()
        self._own = GridProducts(inf)
        lengths = [(unit.plain, len(unit.boxes)) for unit in units]
        best = max(range(len(units)), key=lambda u: lengths[u], default=-1)
        self.last = best if best >= 0 and units[best].plain else -1
        self._whole = {self.last}
        """Units of which no candidates are left out."""

    def under(self, groups: Sequence[tuple[int, tuple[int, ...]]]) -> Self:
        """The same tables for other capacities.

        Args:
            groups: (words, tensor numbers) pairs.
        """
        other = copy(self)
        other.groups, other._listed = tuple(groups), ()
        return other

    def points(self) -> int:
        """Number of combinations looked at per flow if every candidate is."""
        return prod(len(unit.boxes) for u, unit in enumerate(self.units) if u != self.last)

    def search(self, flow: Flow, lists: Sequence[Ints], ceiling: float) -> BestOfFlow | None:
        """The best combination of a flow below a ceiling; None if there is none.

        Args:
            flow: loop order and holds.
            lists: per unit, increasing candidate indices to combine.
            ceiling: value to undercut.
        """
        shape = tuple(1 if u == self.last else len(values) for u, values in enumerate(lists))
        grown = self._largest(flow, lists, shape)
        values = over(self._loads(flow, lists, grown), shape)
        flat = int(values.argmin())
        value = float(values.flat[flat])
        if not value < ceiling:
            return None
        return BestOfFlow(value, self._chosen(lists, grown, shape, flat))

    def _chosen(self, lists: Sequence[Ints], grown: Ints, shape: tuple[int, ...], flat: int) -> Choice:
        """The combination at a place of the grid."""
        choice = [int(lists[u][i]) for u, i in enumerate(np.unravel_index(flat, shape))]
        if self.last >= 0:
            choice[self.last] = int(over(grown, shape).flat[flat])
        return tuple(choice)

    def thinned(self, flows: int, work: int) -> list[Ints]:
        """Candidates per unit that keep a search of so many flows below a number of combinations, spread evenly."""
        lists, points = self.every, self.points()
        while points * flows > work:
            long = [u for u in range(len(lists)) if u not in self._whole]
            widest = max(long, key=lambda u: len(lists[u]), default=-1)
            if widest < 0 or len(lists[widest]) <= 2:
                break
            keep = max(2, ceil(len(lists[widest]) * 0.8) - 1)
            fewer = np.unique(np.linspace(0, len(self.every[widest]) - 1, keep).round().astype(np.int64))
            lists = [*lists[:widest], fewer, *lists[widest + 1 :]]
            points = prod(len(values) for u, values in enumerate(lists) if u != self.last)
        return lists

    def _loads(self, flow: Flow, lists: Sequence[Ints], grown: Ints) -> Floats | float:
        """Weighted loads over the grid; the candidate of the last unit is `grown`, infinite where that is -1."""
        steady: Floats | float = 0.0
        counted: Floats | float | None = None
        for number, hold in enumerate(flow.holds):
            words, again = self._moved(number, hold, lists)
            if again:
                counted = words if counted is None else counted + words
            else:
                steady = steady + words
        if counted is None:
            return np.where(grown >= 0, steady, inf)
        return steady + counted * self.units[self.last].times[grown]

    def _moved(self, number: int, hold: Hold, lists: Sequence[Ints]) -> tuple[Floats | float, bool]:
        """Weighted loads of a tensor over the grid, and whether they are those of one tile of the last unit."""
        asked = "loads", number, hold
        return self._known(asked, lists) or self._keep(asked, lists, self._multiplied(number, hold, lists))

    def _multiplied(self, number: int, hold: Hold, lists: Sequence[Ints]) -> tuple[Floats | float, bool]:
        """What a tensor moves once, as often as tiles need it that the hold does not keep it for."""
        if not self.weights[number]:
            return 0.0, False  # and no infinite number of times nothing
        words, again = self.weights[number] * self._product(number, hold, None, lists)[0], False
        for u, unit in enumerate(self.units):
            if self._absent(self._tensors[number], unit) and not hold.free >> u & 1:
                again = again or u == self.last
                words = words if u == self.last else words * spread(unit.counts, (u,), lists)
        return words, again

    def _largest(self, flow: Flow, lists: Sequence[Ints], shape: tuple[int, ...], slack: float = ROUNDING) -> Ints:
        """Index of the largest candidate of the last unit that fits (0 without one), -1 if none does.

        Capacities are taken larger by a part `slack` of them.
        """
        grown: Floats | float = inf
        for capacity, numbers in self.groups:
            fixed, slope = self._need(flow, numbers, lists)
            left = capacity * (1 + slack) - fixed
            grown = np.minimum(grown, left / slope if isinstance(slope, np.ndarray) else self._any_size(left, slope))
        if not isinstance(grown, np.ndarray):
            grown = np.full((1,) * len(shape), grown)
        if self.last < 0:
            return np.where(grown >= 0, 0, -1)
        return self.units[self.last].largest(grown)

    def _any_size(self, left: Floats | float, slope: float) -> Floats | float:
        """The largest size of the last unit with some room where that grows alike everywhere, or not at all."""
        with np.errstate(over="ignore"):
            return left / max(slope, 1e-100)

    def _need(self, flow: Flow, numbers: Sequence[int], lists: Sequence[Ints]) -> tuple[Floats | float, Floats | float]:
        """Words that some tensors take over the grid: what is fixed, and what grows with the size of the last unit."""
        fixed: Floats | float = 0.0
        slope: Floats | float = 0.0
        for number in numbers:
            words, grows = self._product(number, flow.holds[number], flow.stream(number), lists)
            if grows:
                slope = slope + words
            else:
                fixed = fixed + words
        return fixed, slope

    def _product(
        self, number: int, hold: Hold, stream: tuple[int, ...] | None, lists: Sequence[Ints]
    ) -> tuple[Floats | float, bool]:
        """Words of a tensor over the grid as in `_factors`, and whether they grow with the size of the last unit."""
        asked = number, hold, stream
        return self._known(asked, lists) or self._keep(asked, lists, self._multiply(number, hold, stream, lists))

    def _multiply(
        self, number: int, hold: Hold, stream: tuple[int, ...] | None, lists: Sequence[Ints]
    ) -> tuple[Floats | float, bool]:
        """The product of the factors of a tensor, but for the size of the last unit, and whether that is one."""
        words: Floats | float = self._words[number]
        grows = False
        for table, axes in self._factors(number, hold, stream):
            if axes == (self.last,):
                grows = True
            else:
                words = words * spread(table, axes, lists)
        return words, grows

    def _known(self, asked: object, lists: Sequence[Ints]) -> Product | None:
        """A product of tables over the grid that is kept.

        Many flows treat a tensor alike: small products are kept as long as the candidates stay the same, and of lists
        that stay for other capacities, too.
        """
        if self._listed is not lists:
            self._listed, self._own = lists, GridProducts(inf)
        shared = self._shared.get(id(lists), self._own)
        return shared.found.get(asked) or self._own.found.get(asked)

    def _keep(self, asked: object, lists: Sequence[Ints], product: Product) -> Product:
        """The product, which is known from now on if it is small."""
        shared = self._shared.get(id(lists), self._own)
        if np.size(product[0]) <= KEPT and not shared.keep(asked, product):
            self._own.keep(asked, product)
        return product

    def _share(self, some: Sequence[list[Ints]]) -> None:
        """Keep products over lists of candidates for other capacities: as long as the grid is there, they are.

        Args:
            some: lists that together are all candidates.
        """
        self._shared |= {id(lists): GridProducts(SHARED // len(some)) for lists in some}

    def _absent(self, tensor: TensorAccess, unit: Bundle) -> bool:
        return unit.dims[0] not in tensor.dims

    def _factors(self, number: int, hold: Hold, stream: tuple[int, ...] | None = None) -> list[Factor]:
        """The factors of a tensor: tables with the units of their axes.

        Elements that enter, or with `stream` (streamed units, outermost first) elements that are held.
        """
        rolled = self._rolled(number, stream or ())
        factors: list[Factor] = [self._buffer(number, rolled)] if rolled else []
        bundles: set[int] = set()
        for index, (group, live) in enumerate(zip(self._axis_groups[number], self._live[number], strict=True)):
            if any(u in live for u in rolled):
                continue
            if len(live) == 1 and self.units[live[0]].plain:
                bundles.add(live[0])
            else:
                factors.append((self._window(group, (number, index), live, hold, stream), live))
        factors += [self._bundle(u, hold, stream) for u in sorted(bundles)]
        return factors

    def _rolled(self, number: int, stream: tuple[int, ...]) -> tuple[int, ...]:
        """The windows that a tensor is streamed along, if what it holds of them is not one slice."""
        if all(self.units[u].plain for u in stream):
            return ()
        tensor = self._tensors[number]
        ways = [(u, way) for u in stream if (way := passage(self.workload, tensor, self.units[u])) is not None]
        windows = tuple(u for u, way in ways if way.window >= 0)
        if len(windows) == 1:
            (axis,) = (axis for axis in tensor.axes if self.units[windows[0]].dims[0] in axis.dims)
            return () if steady(axis, self.units[windows[0]].dims[0], self.workload.extents) else windows
        return windows

    def _buffer(self, number: int, rolled: tuple[int, ...]) -> Factor:
        """What a tensor holds at most of the subscripts that it is streamed along, one inside the other."""
        axes = [self._axis(number, u) for u in rolled]
        live = [tuple(self._owner[d] for d in axis.dims) for axis in axes]
        if ("buffer", number, rolled) not in self._tables:
            rows = [self._profiles(axis, u, mine) for axis, u, mine in zip(axes, rolled, live, strict=True)]
            shape = [len(self.units[u].boxes) for mine in live for u in mine]
            self._tables["buffer", number, rolled] = buffer_table(rows).reshape(shape)
        return self._tables["buffer", number, rolled], tuple(u for mine in live for u in mine)

    def _axis(self, number: int, u: int) -> Subscript:
        """The one subscript of a tensor with a unit, without its one-trip dims."""
        (axis,) = (a for group in self._axis_groups[number] for a in group if self.units[u].dims[0] in a.dims)
        return axis

    def _profiles(self, axis: Subscript, u: int, live: tuple[int, ...]) -> list[Ints]:
        """The profile of a subscript along a unit for all combinations of candidates of its units."""
        boxes = product(*([box[0] for box in self.units[v].boxes] for v in live))
        dims = [self.units[v].dims[0] for v in live]
        return [axis_profile(axis, self.units[u].dims[0], dict(zip(dims, box, strict=True))) for box in boxes]

    def _bundle(self, u: int, hold: Hold, stream: tuple[int, ...] | None) -> Factor:
        """The factor of a plain unit: all of it enters, or its tile is held."""
        unit = self.units[u]
        if stream is None or hold.full >> u & 1:
            return np.array(float(unit.extent)), ()
        if u in stream:
            return np.array(1.0), ()
        return unit.sizes, (u,)

    def _window(
        self,
        group: tuple[Subscript, ...],
        key: tuple[int, int],
        live: tuple[int, ...],
        hold: Hold,
        stream: tuple[int, ...] | None,
    ) -> Floats:
        """The table of a group of subscripts with overlap; made once for everything it depends on."""
        full = tuple(u for u in live if hold.full >> u & 1)
        single = tuple(u for u in live if stream is not None and u in stream)
        at = hold.at if stream is None and hold.at in live else -1
        asked = (key, full, single, at, stream is None)
        if asked not in self._tables:
            self._tables[asked] = self._table(group, live, full, single, at, entering=stream is None)
        return self._tables[asked]

    def _cut(self, dim: str, size: Array) -> Along:
        """The tiles of a dim for all candidates."""
        return cut_once(self.workload.extents[dim], size)

    def _table(
        self,
        group: tuple[Subscript, ...],
        live: tuple[int, ...],
        full: tuple[int, ...],
        single: tuple[int, ...],
        at: int,
        *,
        entering: bool,
    ) -> Floats:
        """Exact values of one group over all candidates of its units."""
        extents = self.workload.extents
        wide = prod(extents[d] for d in group_dims(group)) * max(c for axis in group for _, c in axis.terms) > WIDEST
        kind: type = object if wide else np.int64
        sizes: dict[str, Array] = {d: np.array(1, dtype=kind) for d in group_dims(group)}
        for axis, u in enumerate(live):
            unit = self.units[u]
            whole = unit.extent if u in full else 1
            values: Array = np.array([whole if u in full or u in single else box[0] for box in unit.boxes], dtype=kind)
            sizes[unit.dims[0]] = values.reshape([-1 if i == axis else 1 for i in range(len(live))])
        shape = tuple(len(self.units[u].boxes) for u in live)
        if entering:
            along = {d: self._cut(d, size) for d, size in sizes.items()}
            table = halo.entering(group, along, self.units[at].dims[0] if at >= 0 else None)
        else:
            table = halo.group_counts(group, sizes)
        return np.broadcast_to(table.astype(np.float64), shape)


Grid = TypeVar("Grid", bound=TileGrid)


def kept_grid(kind: type[Grid], workload: Workload, units: tuple[Bundle, ...], *more: Any) -> Grid:
    """The tables of a workload that is asked about once more, at another capacity: see `TileGrid.under`.

    Args:
        kind: the class of the grid.
        workload: what is tiled.
        units: its units.
        *more: what else the class takes after its groups, that has a hash.
    """
    of_its_kind: Any = kind
    grid: Grid = _kept_grid(of_its_kind, workload, units, more)
    return grid


@lru_cache(maxsize=12)
def _kept_grid(kind: Any, workload: Workload, units: tuple[Bundle, ...], more: tuple[Any, ...]) -> Any:
    return kind(workload, units, (), *more)
