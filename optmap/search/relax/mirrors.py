"""Choices for a level that mirror each other, of which one is enough.

Where an exchange of dims leaves the rows of a workload as they are (`programs.exchanges`), and what may be chosen at
every level as well, the program of a node is that of its mirror image with the columns in another order: both have the
same optimum. A node that is its own mirror image has, among its children, the mirror images of all of them: of two
children that mirror each other the second has nothing below it whose like is not below the first, and is left out.
Nothing is left out below nodes with another mirror image.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from optmap.programs.exchanges import Exchange, exchanges
from optmap.programs.geometric import Box
from optmap.search.relax.layout import Node, Unit
from optmap.search.space.search_space import Order, Setting

Flow = tuple[object, ...]
"""What rows depend on of a loop order: per access dims inside its reuse position, the dim there, and room."""


class Mirrors:
    """Mirror images of the units of a setting's levels."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.space = setting.space
        self._images: dict[tuple[int, int, Order], Order | None] = {}

    def distinct(self, node: Node, level: int, units: Collection[Unit]) -> Collection[Unit]:
        """Units to choose from at a level below a node, without those that mirror an earlier one.

        Args:
            node: what is chosen at other levels.
            level: where nothing is chosen yet.
            units: what can be chosen there.
        """
        kept = [number for number in range(len(self._exchanges)) if self._keeps(number, node)]
        if not kept:
            return units
        places = {unit: place for place, unit in enumerate(units)}
        images = (min(self._place(number, level, unit, places) for number in kept) for unit in units)
        return [unit for (unit, place), image in zip(places.items(), images, strict=True) if image >= place]

    @cached_property
    def _exchanges(self) -> Sequence[Exchange]:
        """Exchanges after which every level may be what it may be now.

        Imposed tiles and loop orders are their own mirror images too rarely to ask. Of free loop orders that are not
        listed, as mirror images may be, a listed one costs no more.
        """
        setting = self.setting
        ordered = any(setting.constraints.patterns(level.name) for level in setting.machine.levels)
        if setting.fixed or setting.loops or ordered:
            return ()
        dims, rows = setting.workload.dims, setting.allowed.sizes
        places = {dim: i for i, dim in enumerate(dims)}
        return [
            each
            for each in exchanges(self.space)
            if all(row[places[a]] == row[places[b]] for row in rows for a, b in each.dims.items())
        ]

    def _keeps(self, number: int, node: Node) -> bool:
        """Whether a node is its own mirror image."""
        return all(self.image(number, level, unit) == unit for level, unit in enumerate(node) if unit is not None)

    def _place(self, number: int, level: int, unit: Unit, places: dict[Unit, int]) -> int:
        """The place of a unit's mirror image among units; beyond all of them if it is not there."""
        image = self.image(number, level, unit)
        return len(places) if image is None else places.get(image, len(places))

    def image(self, number: int, level: int, unit: Unit) -> Unit | None:
        """The mirror image of a unit; None if no loop order of the level has that traffic."""
        order = None if unit.order is None else self._order(number, level, unit.order)
        if order is None and unit.order is not None:
            return None
        return Unit(order, self._box(self._exchanges[number], unit.box))

    def _order(self, number: int, level: int, order: Order) -> Order | None:
        key = (number, level, order)
        if key not in self._images:
            flows = {self._flow(level, each, None): each for each in reversed(self.setting.orders_at(level))}
            self._images[key] = flows.get(self._flow(level, order, self._exchanges[number]))
        return self._images[key]

    def _flow(self, level: int, order: Order, exchange: Exchange | None) -> Flow:
        """What rows depend on of a loop order whose dims have gone elsewhere."""
        dims = {d: d for d in self.space.free + self.space.branch} if exchange is None else exchange.dims
        tensors = range(len(order.flow)) if exchange is None else exchange.tensors
        found: dict[int, object] = {}
        rooms = self.setting.working(order, level)
        for place, reuse, room, overlapping in zip(tensors, order.flow, rooms, self.space.overlapping, strict=True):
            free = frozenset(dims[d] for d in reuse.free if d in dims)
            at = dims[reuse.at] if reuse.at in overlapping else None
            along = None if room.along is None else dims.get(room.along)
            found[place] = (free, at, room.copies, along)
        return tuple(found[place] for place in sorted(found))

    def _box(self, exchange: Exchange, box: Box) -> Box:
        ends = dict(zip((exchange.dims[d] for d in self.space.boxed), box, strict=True))
        return tuple(ends[d] for d in self.space.boxed)
