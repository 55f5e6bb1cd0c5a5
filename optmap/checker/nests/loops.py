"""The loops of a mapping on an accelerator: read from its tiles, and held against the rules of the machine."""

from __future__ import annotations

from math import prod
from typing import Any

from ..core.fabric import MeshDirection, StatedFabric
from ..core.footprints import hull, words
from ..core.tools import need, whole

Ways = dict[str, int]


class Loops:
    """Per memory, inner first: tile, ways along both axes, loops over time (outermost first), and who is kept.

    A memory's loops over time run over the tiles of the memory inside, which names their order; the order
    of the innermost memory's own loops is not in the document, and no count depends on it.
    """

    def __init__(self, fabric: StatedFabric, entries: Any) -> None:
        self.fabric = fabric
        names = [memory.name for memory in fabric.memories]
        need([entry["level"] for entry in entries] == names, "mapping and machine have other levels")
        self.tiles: list[Ways] = [entry["tile"] for entry in entries]
        self.x: list[Ways] = []
        self.y: list[Ways] = []
        self.orders: list[list[tuple[str, bool]]] = []
        self.trips: list[Ways] = []
        self.turns: list[list[tuple[str, int]]] = []
        self.keeps: list[list[bool]] = []
        tensors = [name for name, _ in fabric.operands]
        for number, entry in enumerate(entries):
            where = f"level {entry['level']}"
            need(set(entry["tile"]) == set(fabric.dims), f"{where}: the tile does not have the dims of the workload")
            need(sorted(entry["permutation"]) == sorted(fabric.dims), f"{where}: the loops are not the dims")
            x, y = (self._ways(entry["spatial_axes"][axis], where) for axis in ("x", "y"))
            both = {dim: x[dim] * y[dim] for dim in fabric.dims}
            need(entry["spatial"] == {d: n for d, n in both.items() if n > 1}, f"{where}: spatial and its axes differ")
            inside = self.tiles[number - 1] if number else dict.fromkeys(fabric.dims, 1)
            trips = {}
            for dim in fabric.dims:
                trips[dim], rest = divmod(whole(entry["tile"][dim], "tile", 1), inside[dim] * both[dim])
                need(rest == 0, f"{where}: the tile of {dim} is no multiple of what is inside")
            need(set(entry["keeps"]) <= set(tensors), f"{where}: keeps an unknown tensor")
            need(len(set(entry["keeps"])) == len(entry["keeps"]), f"{where}: keeps a tensor twice")
            order = entries[number - 1]["permutation"] if number else fabric.dims
            self.x.append(x)
            self.y.append(y)
            said = entry.get("spatial_order", {"x": [], "y": []})
            rows, columns = (self._order(said[axis], ways, where) for axis, ways in (("y", y), ("x", x)))
            self.orders.append([*((dim, True) for dim in rows), *((dim, False) for dim in columns)])
            self.trips.append(trips)
            self.turns.append([(dim, trips[dim]) for dim in order if trips[dim] > 1])
            self.keeps.append([name in entry["keeps"] for name in tensors])
        for dim, extent in fabric.extents.items():
            need(self.tiles[-1][dim] >= extent, f"the loops cover {self.tiles[-1][dim]} of {dim}={extent}")

    def _ways(self, given: Ways, where: str) -> Ways:
        need(set(given) <= set(self.fabric.dims), f"{where}: an unknown dim is split")
        return {dim: whole(given.get(dim, 1), "spatial", 1) for dim in self.fabric.dims}

    def _order(self, said: list[str], ways: Ways, where: str) -> list[str]:
        """Dims that are split along an axis in the order that is said, that of the workload if none is."""
        split = [dim for dim in self.fabric.dims if ways[dim] > 1]
        need(not said or sorted(said) == sorted(split), f"{where}: spatial_order does not name what is split")
        return said or split

    def numbering(self, number: int) -> list[tuple[str, int, int]]:
        """Loops over the children of a memory as they are numbered, slowest first, those along y before those along x.

        Each is (dim, children along it from one to the next, ways).
        """
        x, y = self.x[number], self.y[number]
        return [(dim, x[dim], y[dim]) if row else (dim, 1, x[dim]) for dim, row in self.orders[number]]

    def ways(self, number: int) -> Ways:
        """Children per dim of a mesh."""
        return {dim: self.x[number][dim] * self.y[number][dim] for dim in self.fabric.dims}

    def inner(self, number: int) -> Ways:
        """The tile of a child of a memory."""
        return self.tiles[number - 1] if number else dict.fromkeys(self.fabric.dims, 1)

    def used(self, number: int) -> int:
        """Instances of a memory in use."""
        return prod(n for outer in range(number + 1, len(self.tiles)) for n in self.ways(outer).values())

    def outside(self, number: int) -> list[tuple[str, int, int]]:
        """Loops over time outside a memory's tile, outermost first: (dim, iterations between trips, trips)."""
        found = []
        for outer in reversed(range(number + 1, len(self.tiles))):
            inner, ways = self.inner(outer), self.ways(outer)
            found += [(dim, inner[dim] * ways[dim], trips) for dim, trips in self.turns[outer]]
        return found

    def padded(self) -> dict[str, int]:
        """Dims that the loops cover more of than there is, with what they cover."""
        return {d: self.tiles[-1][d] for d, extent in self.fabric.extents.items() if self.tiles[-1][d] > extent}

    def check(self, *, hulls: bool) -> None:
        """Every rule of the machine is kept: bypass, capacities, meshes, factors, orders.

        Args:
            hulls: whether tiles are counted from the first to the last value of a subscript.
        """
        for number, memory in enumerate(self.fabric.memories):
            for (name, _), demand, kept in zip(self.fabric.operands, memory.keeps, self.keeps[number], strict=True):
                need(demand != "kept" or kept, f"{memory.name} must keep {name}")
                need(demand != "refused" or not kept, f"{memory.name} must not keep {name}")
            self._check_rooms(number, hulls=hulls)
            for direction, ways, axis in ((memory.x, self.x[number], "x"), (memory.y, self.y[number], "y")):
                check_direction(direction, ways, f"{memory.name}, axis {axis}")
            check_factors(memory.rules, self.trips[number])
            loops = [dim for dim, _ in self.turns[number]]
            # The innermost memory's own loops come in the order that is asked for: any is as good.
            need(not number or follows(loops, memory.order), f"{memory.name}: the loops are not in the order asked for")
        for i, (name, _) in enumerate(self.fabric.operands):
            need(any(keeps[i] for keeps in self.keeps), f"no memory keeps {name}")

    def _check_rooms(self, number: int, *, hulls: bool) -> None:
        memory = self.fabric.memories[number]
        for name, weights, units in memory.rooms:
            size = hull if hulls else words
            needed = sum(
                memory.taken(i, weight, size(self.fabric.operands[i][1], self.tiles[number]))
                for i, weight in weights.items()
                if self.keeps[number][i]
            )
            need(needed <= units, f"{name} needs {needed:,} and has {units:,}")


def check_direction(direction: MeshDirection, ways: Ways, where: str) -> None:
    """The ways along an axis are as many as there are children, over dims that may go there."""
    need(prod(ways.values()) <= direction.size, f"{where}: more ways than the {direction.size} children")
    for dim, n in ways.items():
        need(n == 1 or direction.dims is None or dim in direction.dims, f"{where}: {dim} may not be unrolled here")
    check_factors(direction.rules, ways)


def check_factors(rules: list[tuple[str, set[str], str, int]], factors: Ways) -> None:
    """Products of factors stand in the relations that are asked for."""
    for text, dims, relation, value in rules:
        found = prod(factors[dim] for dim in dims)
        met = {"=": found == value, "<=": found <= value, ">=": found >= value}[relation]
        need(met, f"{text} is asked for, the mapping has {found}")


def follows(loops: list[str], order: list[set[str] | None]) -> bool:
    """Whether loops, outermost first, read like an order; a gap takes loops of dims that it does not name."""
    if not order:
        return True
    named = set().union(*(entry for entry in order if entry is not None))
    left = list(loops)
    for entry in order:
        while left and (left[0] not in named if entry is None else left[0] in entry):
            left = left[1:]
    return not left
