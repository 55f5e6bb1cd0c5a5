"""What words on the wires of an accelerator's meshes cost, child by child: nothing here comes from optmap.

A problem is plain data: levels inner to outer, each with its loops over time and over the children of its mesh. Two
rules are followed, Timeloop's (hulls, two steps of every loop, its quirks of bypass and of partial sums) and the exact
one, for which every step of the nest is walked with the sets of elements that every child needs.

Of both: words enter a mesh of H columns and V rows at column 0, in the middle of the rows, (V-1)/2. Children are
numbered with loops along y outside those along x, and stand in rows of H, packed. Children that need the same share a
word; to them it goes along the row to their last column, and in every column of theirs up to the highest and down to
the lowest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

Place = tuple[int, int]
"""Column and row of a child."""
Point = tuple[int, ...]
"""An index per subscript of a tensor."""
Words = tuple[int, ...]
"""Elements of a tensor, by number, in order."""
Need = tuple[Words, ...]
"""What somebody asks for in a step, in order: of each group of those inside what comes to all of the group."""


@dataclass(frozen=True)
class Tensor:
    """One access of the statement."""

    name: str
    output: bool
    axes: tuple[tuple[tuple[str, int], ...], ...]
    """Per subscript its (dim, factor) pairs."""

    def at(self, point: dict[str, int]) -> Point:
        """The element at a point of the dims; those left out are 0."""
        return tuple(sum(factor * point.get(dim, 0) for dim, factor in axis) for axis in self.axes)

    def hull(self, extent: dict[str, int]) -> Point:
        """Per subscript how many values there are from the least to the largest."""
        return tuple(sum(abs(factor) * (extent[dim] - 1) for dim, factor in axis) + 1 for axis in self.axes)


@dataclass(frozen=True)
class Level:
    """A memory, its loops, and the mesh of its children."""

    temporal: tuple[tuple[str, int], ...]
    """(dim, trips), the outermost first."""
    spatial: tuple[tuple[str, int, str], ...]
    """(dim, ways, X or Y), the outermost first, those along Y outside those along X."""
    keeps: frozenset[str]
    """Names of the tensors that it holds."""
    columns: int = 1
    rows: int = 1
    multicast: bool = True
    reduction: bool = True
    hop: Fraction = Fraction(0)
    """Price of a word on the way to a neighbour."""
    router: Fraction = Fraction(0)

    @property
    def children(self) -> int:
        """In use, of one instance."""
        return prod(ways for _, ways, _ in self.spatial)

    @cached_property
    def board(self) -> tuple[int, int]:
        """Columns and rows: those there are, or what is unrolled along the axis where that is more."""
        along = {axis: prod(ways for _, ways, own in self.spatial if own == axis) for axis in "XY"}
        return max(self.columns, along["X"]), max(self.rows, along["Y"])

    def place(self, child: int) -> Place:
        """Where a child stands."""
        return child % self.board[0], child // self.board[0]

    def hops(self, group: Iterable[int]) -> Fraction:
        """To the children of a group: along the row by which words enter, and along one trunk per column."""
        stand = defaultdict[int, list[int]](list)
        for child in group:
            column, row = self.place(child)
            stand[column].append(row)
        doubled, middle = 2 * max(stand), self.board[1] - 1  # twice the middle row is whole
        for rows in stand.values():
            doubled += max(0, middle - 2 * min(rows)) + max(0, 2 * max(rows) - middle)
        return Fraction(doubled, 2)


@dataclass(frozen=True)
class Problem:
    """A mapping on a machine."""

    tensors: tuple[Tensor, ...]
    levels: tuple[Level, ...]
    """Inner to outer, the unbounded one last."""

    @cached_property
    def dims(self) -> frozenset[str]:
        """Of all tensors and loops."""
        own = {dim for tensor in self.tensors for axis in tensor.axes for dim, _ in axis}
        return frozenset(own | {loop[0] for level in self.levels for loop in (*level.temporal, *level.spatial)})

    @cached_property
    def tiles(self) -> tuple[dict[str, int], ...]:
        """Extents: of one operation, then of the tile of every level."""
        found = [dict.fromkeys(self.dims, 1)]
        for level in self.levels:
            tile = dict(found[-1])
            for dim, ways, *_ in (*level.spatial, *level.temporal):
                tile[dim] *= ways
            found.append(tile)
        return tuple(found)

    def instances(self, number: int) -> int:
        """Instances in use of a level."""
        return prod(level.children for level in self.levels[number + 1 :])

    def keepers(self, tensor: Tensor) -> list[int]:
        """Numbers of the levels that hold it."""
        return [number for number, level in enumerate(self.levels) if tensor.name in level.keeps]

    def steps(self, number: int) -> list[tuple[dict[str, int], int]]:
        """Loops over time of this level and those outside it, the outermost first: how far one goes, and trips."""
        found = []
        for above in reversed(range(number, len(self.levels))):
            at = {
                dim: n * prod(w for d, w, _ in self.levels[above].spatial if d == dim)
                for dim, n in self.tiles[above].items()
            }
            own = []
            for dim, trips in reversed(self.levels[above].temporal):
                own.append(({dim: at[dim]}, trips))
                at[dim] *= trips
            found += reversed(own)
        return found

    def offsets(self, number: int) -> list[dict[str, int]]:
        """Where the tiles of the children of one instance begin, in the order in which they are numbered."""
        ways, at = [], dict(self.tiles[number])
        for axis in "XY":  # the loops along x are inside those along y
            for dim, count, own in reversed(self.levels[number].spatial):
                if own == axis:
                    ways.append([(dim, index * at[dim]) for index in range(count)])
                    at[dim] *= count
        found = []
        for chosen in product(*reversed(ways)):
            point = defaultdict[str, int](int)
            for dim, start in chosen:
                point[dim] += start
            found.append(dict(point))
        return found

    def shared(self, number: int, tensor: Tensor) -> bool:
        """Whether children of a level that need the same are served, or added up, together."""
        return self.levels[number].reduction if tensor.output else self.levels[number].multicast


class Held:
    """What somebody holds of a tensor from one step to the next: a tile that slides along one subscript."""

    def __init__(self) -> None:
        self.last: Point | None = None
        self.slide: Point | None = None

    def step(self, at: Point) -> Point | None:
        """Go to the tile that begins there; how far from the one before it, None where nothing of that is of use."""
        before, self.last = self.last, at
        shift = tuple(b - a for a, b in zip(before or at, at, strict=True))
        if before is None:
            return None
        if not any(shift):
            return shift
        if sum(map(bool, shift)) == 1 and self.slide in (None, shift):
            self.slide = shift
            return shift
        self.slide = None
        return None


def recorded(record: dict[str, Any]) -> Problem:
    """The problem of one of Timeloop's records (`tests/data/wires_conformance.json`)."""
    tensors = tuple(
        Tensor(own["name"], own["read_write"], tuple(tuple((dim, n) for dim, n in axis) for axis in own["projection"]))
        for own in record["workload"]["tensors"]
    )
    found, inside = [], record["arch"]["mac"]
    for own, loops in zip(record["arch"]["levels"], record["mapping"], strict=True):
        columns = inside["meshX"] // own["meshX"]
        level = Level(
            temporal=tuple((dim, trips) for dim, trips in loops["temporal"]),
            spatial=tuple((dim, ways, axis) for dim, ways, axis in loops["spatial"]),
            keeps=frozenset(loops["keep"]),
            columns=columns,
            rows=inside["instances"] // own["instances"] // columns,
            hop=Fraction(str(own.get("energy_per_hop", 0))),
            router=Fraction(str(own.get("router_energy", 0))),
        )
        found.append(level)
        inside = own
    return Problem(tensors, tuple(found))


def recorded_energies(record: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Of every mesh of a record and every tensor what it is, Timeloop's energy, and that of `timeloop`."""
    problem = recorded(record)
    names = ["MAC", *(level["name"] for level in record["arch"]["levels"])]
    for tensor in problem.tensors:
        _, energy = timeloop(problem, tensor)
        for number, (inner, outer) in enumerate(pairwise(names)):
            place = f"{outer} <==> {inner}"
            expected = record["result"]["networks"][place][tensor.name]["energy_pJ"]
            yield f"{record['id']} {place} {tensor.name}", expected, float(energy.get(number, 0))


# --- Timeloop's rule


def grouped(problem: Problem, number: int, tensor: Tensor) -> dict[int, list[list[int]]]:
    """The groups of children of a level that need the same, by how many they are."""
    same = defaultdict[object, list[int]](list)
    together = problem.shared(number, tensor)
    for child, offset in enumerate(problem.offsets(number)):
        same[tensor.at(offset) if together else child].append(child)
    found = defaultdict[int, list[list[int]]](list)
    for group in same.values():
        found[len(group)].append(group)
    return found


def extrapolated(problem: Problem, number: int, tensor: Tensor) -> int:
    """Words that come into one child of a level, of steps 0 and 1 of every loop."""
    loops = [(tensor.at(step), trips) for step, trips in problem.steps(number) if trips > 1]
    if number == 0:
        return prod(trips for _, trips in loops)
    size, held = tensor.hull(problem.tiles[number]), Held()

    def words(place: int, at: Point) -> int:
        if place == len(loops):
            shift = held.step(at)
            kept = 0 if shift is None else prod(max(0, n - abs(s)) for n, s in zip(size, shift, strict=True))
            return prod(size) - kept
        step, trips = loops[place]
        first = words(place + 1, at)
        second = words(place + 1, tuple(a + s for a, s in zip(at, step, strict=True)))
        return first + (trips - 1) * second

    return words(0, (0,) * len(tensor.axes))


def timeloop(problem: Problem, tensor: Tensor) -> tuple[dict[int, int], dict[int, Fraction]]:
    """Words that a level serves to its mesh (all instances together), and energy there, as Timeloop has them."""
    levels, keepers = problem.levels, problem.keepers(tensor)
    served: list[dict[int, Fraction]] = []
    wires: list[dict[int, Fraction]] = []
    for number in range(len(levels)):
        groups, words = grouped(problem, number, tensor), extrapolated(problem, number, tensor)
        served.append({m: Fraction(len(own) * words) for m, own in groups.items()})
        spread = levels[number].children > 1
        wires.append(
            {
                m: served[-1][m] * sum(map(levels[number].hops, own)) / len(own) if spread else Fraction(0)
                for m, own in groups.items()
            }
        )
    for number in range(len(levels) - 1):
        if number not in keepers:
            outside = served[number + 1]
            asked = sum(served[number].values()) * levels[number + 1].children
            times = asked / sum(m * words for m, words in outside.items())
            served[number + 1] = {m: words * times for m, words in outside.items()}
    counted, energy = {}, {}
    for number in range(max(keepers, default=-1) + 1):
        level, routers, hops = levels[number], 0, Fraction(0)
        for m, words in served[number].items():
            passing = words
            if tensor.output and number == len(levels) - 1:
                passing = 2 * words - prod(tensor.hull(problem.tiles[-1]))
            if passing > 0:
                hops += wires[number][m]
                routers = int(routers + (1 + int(wires[number][m] / passing)) * passing)
        counted[number] = int(sum(served[number].values()) * problem.instances(number))
        energy[number] = problem.instances(number) * (hops * level.hop + routers * level.router)
    return counted, energy


# --- The exact rule


class Elements:
    """The elements of a tensor, each with a number, so that what moves along moves by adding a number."""

    def __init__(self, problem: Problem, tensor: Tensor) -> None:
        self.tensor = tensor
        self.hull = tensor.hull(problem.tiles[-1])

    def number(self, at: Point) -> int:
        """Of an element; no two have the same."""
        found = 0
        for index, size in zip(at, self.hull, strict=True):
            found = found * size + index
        return found

    def of(self, extent: dict[str, int]) -> tuple[int, ...]:
        """All that the points of a tile touch, in order."""
        own = sorted({dim for axis in self.tensor.axes for dim, _ in axis})
        points = product(*(range(extent[dim]) for dim in own))
        return tuple(sorted({self.number(self.tensor.at(dict(zip(own, point, strict=True)))) for point in points}))


def walk(problem: Problem, elements: Elements, inner: int) -> Iterator[Words]:
    """The words that come into the first instance of a level (-1: a unit, which holds nothing) at every step."""
    tensor = elements.tensor
    loops = [(tensor.at(step), trips) for step, trips in problem.steps(inner + 1)]
    tile, held = elements.of(problem.tiles[inner + 1]), Held()
    for indices in product(*(range(trips) for _, trips in loops)):
        at = tuple(
            sum(index * step[axis] for index, (step, _) in zip(indices, loops, strict=True))
            for axis in range(len(tensor.axes))
        )
        shift = held.step(at)
        start = elements.number(at)
        now = tuple(element + start for element in tile)
        if inner >= 0 and shift is not None:
            back = start - elements.number(shift)
            before = {element + back for element in tile}
            now = tuple(element for element in now if element not in before)
        yield now


class Mesh:
    """What passes the meshes of a level inside one instance of the next keeper outside."""

    def __init__(self, problem: Problem, number: int, elements: Elements) -> None:
        self.level = problem.levels[number]
        self.together = problem.shared(number, elements.tensor)
        self.starts = [elements.number(elements.tensor.at(offset)) for offset in problem.offsets(number)]
        self.words: Counter[tuple[int, ...]] = Counter()
        """By the children who share them."""

    def serve(self, asked: list[Need]) -> Need:
        """One step of one mesh: what every child asks for; what the level is asked for by all of them."""
        same = defaultdict[object, list[int]](list)
        for child, need in enumerate(asked):
            same[need if self.together else child].append(child)
        everything: list[Words] = []
        for group in same.values():
            need = asked[group[0]]
            self.words[tuple(group)] += sum(map(len, need))
            everything += need
        return tuple(sorted(everything))

    def energy(self) -> Fraction:
        """A word passes the wires to its children, and as many routers as whole hops, and one more; of routers that is
        the mean of all groups of as many children."""
        found, sizes = Fraction(0), defaultdict[int, list[tuple[int, ...]]](list)
        for group in self.words:
            sizes[len(group)].append(group)
        spread = self.level.children > 1
        for groups in sizes.values():
            hops = {group: self.level.hops(group) if spread else Fraction(0) for group in groups}
            routers = 1 + int(sum(hops.values()) / len(groups))
            for group in groups:
                found += self.words[group] * (hops[group] * self.level.hop + routers * self.level.router)
        return found


def exact(problem: Problem, tensor: Tensor) -> tuple[dict[int, int], dict[int, Fraction]]:
    """Words that a level serves to its mesh (all instances together), and energy there, walked step by step."""
    counted, energy, inner, elements = {}, {}, -1, Elements(problem, tensor)
    for outer in problem.keepers(tensor):
        meshes = [Mesh(problem, number, elements) for number in range(inner + 1, outer + 1)]
        for now in walk(problem, elements, inner):
            _asked(meshes, now, 0)
        for number, mesh in enumerate(meshes, inner + 1):
            counted[number] = sum(mesh.words.values()) * problem.instances(outer)
            energy[number] = mesh.energy() * problem.instances(outer)
        inner = outer
    return counted, energy


def _asked(meshes: list[Mesh], now: Words, at: int) -> Need:
    """What an instance asks for in a step, and what passes the meshes inside it: those of all its children first.

    Args:
        meshes: inner to outer, its own the last; none for who receives words.
        now: what comes into the very first of the innermost.
        at: how far its first one is from that.
    """
    if not meshes:
        return (tuple(element + at for element in now),)
    *inside, own = meshes
    return own.serve([_asked(inside, now, at + start) for start in own.starts])
