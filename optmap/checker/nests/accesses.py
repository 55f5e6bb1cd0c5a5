"""Reads, fills and updates on an accelerator, energy and cycles, counted anew from their definition.

**What enters.** An instance of a memory needs its tile at every step of the loops over time outside it. Of its
previous tile it keeps everything if nothing moved; what both have in common if exactly one subscript
moved, and by as much as at the last step that moved anything (or by any amount, if that one kept nothing); else
nothing. Counting `timeloop`: tiles are hulls, and a loop is taken to bring in at each further trip what it
brings in at its second one, from which it also goes back.

Here the walk is a machine whose state is the move that it would go on with; a loop is run as a whole, trip
after trip, until a trip begins in the state in which the one before began: all further ones are alike.

**What is asked.** The innermost keeper serves every operation, each further one what the keeper inside
takes in, children of a mesh with the same words by one access; memories that do not keep the tensor pass it on. An
update reads what is there, but for the first of each word and instance; a word never updated is not filled.

**What the wires carry.** Each group of children with the same words is sent what one child asks for, over the wires of
a row and of one trunk per column; the routers on the way are as many as whole hops of the mean way to groups of as many
children, and one more. An update is sent once. Counting `timeloop`, wires carry what the memory inside would take in if
it kept the tensor, and routers of the outermost memory what it reads of an output, too.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

from ..core.fabric import StatedFabric
from ..core.footprints import Steps, common, common_hull, hull, reached, words
from ..core.tools import SPAN
from .loops import Loops
from .rectangles import Turns, numbers, rectangles, trunk

MOST_CHILDREN = SPAN // 16
"""Children that are set down on their mesh one by one."""
Shift = tuple[int, ...]
Row = dict[int, tuple[int, int, int, int, Fraction]]
"""Of one memory per tensor that it keeps, by number: reads, fills, updates, words of the tile, children per access."""


class EnteringWords:
    """What enters an instance of a memory of one tensor."""

    def __init__(self, axes: Any, tile: dict[str, int], turns: list[tuple[str, int, int]], *, timeloop: bool) -> None:
        self.axes, self.tile, self.timeloop = axes, tile, timeloop
        self.whole = hull(axes, tile) if timeloop else words(axes, tile)
        self.trips = [n for _, _, n in reversed(turns)]
        self.moves: list[Shift] = []
        back = (0,) * len(axes)
        for dim, step, n in reversed(turns):
            ahead = tuple(axis.get(dim, 0) * step for axis in axes)
            self.moves.append(tuple(a - b for a, b in zip(ahead, back, strict=True)))
            far = 1 if timeloop else n - 1
            back = tuple(b + a * far for a, b in zip(ahead, back, strict=True))
        self.known: dict[tuple[int, Shift | None], tuple[Shift | None, int]] = {}
        self.shared: dict[Shift, int] = {}

    def total(self) -> int:
        """Words over all steps."""
        return self.whole + self.run(len(self.trips) - 1, None)[1]

    def step(self, move: Shift, state: Shift | None) -> tuple[Shift | None, int]:
        """The state after a step, and the words that it brings in; state None is that of a walk that kept nothing."""
        moved = sum(map(bool, move))
        if not moved:
            return state, 0
        if moved > 1 or state not in (None, move):
            return None, self.whole
        if move not in self.shared:
            self.shared[move] = (common_hull if self.timeloop else common)(self.axes, self.tile, move)
        return move, self.whole - self.shared[move]

    def run(self, place: int, state: Shift | None) -> tuple[Shift | None, int]:
        """The loops up to one, run through: the state after them, and the words that they bring in."""
        if place < 0:
            return state, 0
        if (place, state) in self.known:
            return self.known[place, state]
        end, brought = self.run(place - 1, state)
        left = self.trips[place] - 1
        while left:
            began = end
            after, one = self.step(self.moves[place], began)
            end, inside = self.run(place - 1, after)
            alike = left if self.timeloop or end == began else 1
            brought += alike * (one + inside)
            left -= alike
        self.known[place, state] = end, brought
        return end, brought


class Counts:
    """Accesses, energy and cycles of a mapping.

    Args:
        loops: the mapping.
        timeloop: whether to count as Timeloop does.
        going_on: whether results go on with sums that are there: then no read and no fill is left out.
    """

    def __init__(self, loops: Loops, *, timeloop: bool, going_on: bool = False) -> None:
        self.loops, self.fabric, self.timeloop, self.going_on = loops, loops.fabric, timeloop, going_on
        self.operations = prod(loops.tiles[-1].values())
        self.size = hull if timeloop else words
        self.rows: list[Row] = [{} for _ in self.fabric.memories]
        for i in range(len(self.fabric.operands)):
            self._count(i)
        self.energies = [self._energy(number) for number in range(len(self.rows))]
        self.port_cycles = [self._cycles(number) for number in range(len(self.rows))]
        self.arithmetic = self.operations * self.fabric.arithmetic
        self.energy = self.arithmetic + sum(self.energies, Fraction(0))
        self.units = prod(n for number in range(len(self.rows)) for n in loops.ways(number).values())
        self.compute_cycles = self.operations // self.units
        self.cycles = max(self.compute_cycles, *self.port_cycles)

    def merit(self, objective: str) -> Fraction:
        """The value of an objective."""
        return objective_value(objective, self.energy, self.cycles, max(self.port_cycles))

    def entering(self, i: int, number: int) -> int:
        """Words of a tensor that all instances of a memory take in; -1 stands for the arithmetic."""
        if number < 0:
            return self.operations
        _, axes = self.fabric.operands[i]
        walk = EnteringWords(axes, self.loops.tiles[number], self.loops.outside(number), timeloop=self.timeloop)
        return self.loops.used(number) * walk.total()

    def share(self, i: int, inside: int, outside: int) -> Fraction:
        """Accesses to a memory per word that those inside take in, over the meshes on the way."""
        found = Fraction(1)
        for number in range(inside + 1, outside + 1):
            memory, ways = self.fabric.memories[number], self.loops.ways(number)
            if memory.reduction if i == 0 else memory.multicast:
                inner = self.loops.inner(number)
                steps = [(dim, inner[dim], n) for dim, n in ways.items()]
                found *= Fraction(reached(self.fabric.operands[i][1], steps), prod(ways.values()))
        return found

    def touched(self, i: int, number: int) -> int:
        """Words that an instance of a memory ever holds, added up over the instances."""
        axes, tile = self.fabric.operands[i][1], self.loops.tiles[number]
        if not self.timeloop:
            steps: Steps = [(dim, 1, n) for dim, n in tile.items()] + self.loops.outside(number)
            return self.loops.used(number) * reached(axes, steps)
        part = Fraction(hull(axes, self.loops.tiles[-1]))
        for outer in range(number + 1, len(self.loops.tiles)):
            inner, ways = self.loops.inner(outer), self.loops.ways(outer)
            part *= Fraction(hull(axes, inner), hull(axes, {dim: inner[dim] * n for dim, n in ways.items()}))
        return self.loops.used(number) * floor(part)

    def _count(self, i: int) -> None:
        keepers = [number for number, keeps in enumerate(self.loops.keeps) if keeps[i]]
        for inside, keeper in zip([-1, *keepers], keepers, strict=False):
            share = self.share(i, inside, keeper)
            asked = floor(self.entering(i, inside) * share)
            taken = 0 if keeper == keepers[-1] else self.entering(i, keeper)
            first = self.touched(i, keeper) if i == 0 and not self.going_on else 0
            tile = self.size(self.fabric.operands[i][1], self.loops.tiles[keeper])
            fills = 0 if keeper == keepers[-1] else max(0, taken - first)
            self.rows[keeper][i] = max(0, asked - first), fills, asked if i == 0 else 0, tile, 1 / share

    def _energy(self, number: int) -> Fraction:
        memory, used, there = self.fabric.memories[number], self.loops.used(number), self.fabric.instances(number)
        clusters = min(used, max(1, there // memory.cluster))
        total, widths = Fraction(0), memory.widths
        for i, row in self.rows[number].items():
            for count, kind in zip(row[:3], ("read", "fill", "update"), strict=True):
                each = Fraction(count, used)
                total += clusters * ceil(widths.entries(i, each) / memory.block) * memory.prices[kind]
                total += clusters * widths.energy(i, kind, each)
        return total + sum((self._wires(number, i) for i in range(len(self.fabric.operands))), Fraction(0))

    def _cycles(self, number: int) -> int:
        """Cycles of the slowest port."""
        rows, rates = self.rows[number], self.fabric.memories[number].rates
        widths = self.fabric.memories[number].widths
        read = sum((widths.passing(i, row[0]) for i, row in rows.items()), Fraction(0))
        write = sum((widths.passing(i, row[1] + row[2]) for i, row in rows.items()), Fraction(0))
        passed = {"read": read, "write": write, "shared": read + write}
        return max((ceil(passed[port] / (rate * self.loops.used(number))) for port, rate in rates.items()), default=0)

    def _wires(self, number: int, i: int) -> Fraction:
        """Energy of a tensor in the wires and routers of the meshes of a memory."""
        hop, router = self.fabric.memories[number].wires
        keeps = [kept[i] for kept in self.loops.keeps]
        if not (hop or router) or not any(keeps[number:]):
            return Fraction(0)
        inside = max((keeper for keeper in range(number) if keeps[keeper]), default=-1)
        asked = self.entering(i, inside) * self.share(i, inside, number - 1) / self.loops.used(number - 1)
        wired, twice = asked, None
        if self.timeloop:
            wired = Fraction(self.entering(i, number - 1), self.loops.used(number - 1))
            twice = self.touched(i, number) if i == 0 and number == len(keeps) - 1 else None
        hops, routers = Fraction(0), 0
        for groups, way in self._trunks(number, i).values():
            sent = asked * groups if twice is None else 2 * asked * groups - twice
            if sent > 0:
                hops += wired * way
                routers = floor(routers + sent + floor(wired * way / sent) * sent)
        return self.loops.used(number) * (hops * hop + routers * router)

    def _trunks(self, number: int, i: int) -> dict[int, tuple[int, Fraction]]:
        """Groups of children with the same words, and hops to all of them together, per number of children.

        Child after child is set down on the mesh: from column 0 of the middle row a word goes along the row to the last
        column of its group, and in every column of it along the trunk to the last child above and below.
        """
        memory, x, y = self.fabric.memories[number], self.loops.x[number], self.loops.y[number]
        wide, high = max(memory.x.size, prod(x.values())), max(memory.y.size, prod(y.values()))
        turns, different = self._turns(number, i)
        if prod(n for _, n in turns) > MOST_CHILDREN:
            return rectangles(turns, (wide, high), different, memory.name)
        needs = numbers(turns)
        if len(needs) == 1:
            return {1: (1, Fraction(0))}
        rows = [child // wide for child in range(len(needs))]
        spots = [word * wide + child % wide for child, word in enumerate(needs)]
        bottom = dict(zip(spots, rows, strict=True))  # the last child of a spot is the one that stays
        top = dict(zip(reversed(spots), reversed(rows), strict=True))
        along: dict[int, int] = {}
        upright: dict[int, int] = {}
        for spot, row in top.items():
            word, column = divmod(spot, wide)
            along[word] = max(column, along.get(word, 0))
            upright[word] = upright.get(word, 0) + trunk(row, bottom[spot], high)
        groups: dict[int, int] = {}
        halves: dict[int, int] = {}
        for word, size in Counter(needs).items():
            groups[size] = groups.get(size, 0) + 1
            halves[size] = halves.get(size, 0) + 2 * along[word] + upright[word]
        return {size: (groups[size], Fraction(halves[size], 2)) for size in groups}

    def _turns(self, number: int, i: int) -> tuple[Turns, int]:
        """Loops over the children of a memory, in the order of the children, and how many need different words.

        A number that says which words of a tensor a child needs moves with them.
        """
        memory, inner, axes = self.fabric.memories[number], self.loops.inner(number), self.fabric.operands[i][1]
        loops = self.loops.numbering(number)
        if not (memory.reduction if i == 0 else memory.multicast):  # each by itself
            apart = [prod(n for _, _, n in loops[place + 1 :]) for place in range(len(loops))]
            return [(far, n) for far, (_, _, n) in zip(apart, loops, strict=True)], prod(n for _, _, n in loops)
        weight, step = 1, [0] * len(loops)
        for axis in axes:  # so far apart that no two places in the tensor give one number
            moves = [axis.get(dim, 0) * apart * inner[dim] for dim, apart, _ in loops]
            step = [own + weight * move for own, move in zip(step, moves, strict=True)]
            weight *= 1 + sum(abs(move) * (n - 1) for move, (_, _, n) in zip(moves, loops, strict=True))
        different = reached(axes, [(dim, inner[dim], n) for dim, n in self.loops.ways(number).items()])
        return [(far, n) for far, (_, _, n) in zip(step, loops, strict=True)], different


def objective_value(objective: str, energy: Fraction, cycles: int, port_cycles: int) -> Fraction:
    """The value of an objective; `traffic` is the older name of `port-cycles`."""
    values = {"energy": energy, "cycles": Fraction(cycles), "edp": energy * cycles}
    return values.get(objective, Fraction(port_cycles))


def named(fabric: StatedFabric, row: Row) -> dict[str, Any]:
    """The accesses of a memory as a document says them."""
    return {
        fabric.operands[i][0]: {
            "reads": reads,
            "fills": fills,
            "updates": updates,
            "tile_words": tile,
            "multicast": float(multicast),
        }
        for i, (reads, fills, updates, tile, multicast) in sorted(row.items())
    }
