"""What a label costs at least, however its mapping goes on.

Three facts make the bound.

- **Locked words.** Whatever level inside keeps an operand next, at least `locked` words enter it (see
  `costs.locked_of`), and the parent reads at least `locked/share` of them. The same holds for each later pair of
  keepers, of which nothing is known about the children that share a read: ways over irrelevant dims in between make
  as many more copies inside as they save reads outside. So a chain of keepers costs at least its prices times locked
  words. A further keeper adds words and takes none away from the others, except that it serves the arithmetic: so
  only chains of the memories that must keep the operand and at most one more, inside of them, matter.
- **Arithmetic.** The innermost keeper serves M operand words over the children that share a read. These are at most the
  ways left for irrelevant dims, and where windows of children coincide, what that can give.
- **Ways.** The ways left are products over classes of dims (dims that occur in the same operands) that can be packed
  into the meshes left and divide the tile. Cycles are at least M over the units; energy and cycles are bounded for
  the same ways, and the least over all maximal ways counts. Reads of the present parents limit the cycles too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.rows import Rows
from optmap.search.exact.costs import cycles_of, locked_of
from optmap.search.exact.frame import ExactFrame, product
from optmap.search.exact.keepers import keeper_chains
from optmap.search.exact.labels import Labels
from optmap.search.exact.passing import ParentPort, add_passing
from optmap.search.exact.steps import MemorySteps, Pairs
from optmap.search.exact.ways import dim_classes, maximal_ways


@dataclass(frozen=True, slots=True)
class Prospect(Rows):
    """What the bound needs of labels, or of labels with a split chosen."""

    energy: Floats
    instances: Floats
    parent: Ints
    parents: Floats
    share: Floats
    """Per operand children of the parent so far that share a read."""
    first: Floats
    """Per operand the least that the parent reads if another memory keeps it, in words."""
    locked: Floats
    """Per operand the least that enters any later keeper."""
    reduced: Floats
    reduced_above: Floats
    reads: Floats
    writes: Floats
    values: Ints
    """Extents that are left."""


@dataclass(frozen=True, slots=True)
class Simply:
    """What bounds all moves of labels."""

    chains: list[list[tuple[Floats, Floats, Floats]]]
    """Per operand and chain what a word read by the parent and a locked word cost, and the rest."""
    ports: list[ParentPort]
    """Per operand; none where they do not count."""
    units: Floats
    """Arithmetic units in use, at most."""


class Bounds:
    """Bounds of labels of which some levels are still open.

    Args:
        frame: of the search.
        top: the outermost open level, -1 for none.
        ways: of the meshes that are not filled (see `ways_within`): of all open levels, and of one more if it has only
            decided what it keeps.
    """

    def __init__(self, frame: ExactFrame, top: int, ways: Ints) -> None:
        self.frame, self.top = frame, top
        self.classes = dim_classes(frame)
        self.ways = ways
        self.multiple = np.lcm.reduce(ways, axis=0) if len(ways) else np.ones(len(self.classes), np.int64)
        """Per class of all ways: what else is in a product decides nothing of which ways divide it."""
        self._maximal: dict[tuple[int, ...], Ints] = {}
        self.widest = np.array(
            [[_widest(frame, level, operand) for operand in range(frame.operands)] for level in range(-1, top + 1)]
        )
        """(level + 1, operand): children inside a level that may share a read."""
        self._chains = {
            (operand, parent): keeper_chains(frame, operand, parent, top)
            for operand in range(frame.operands)
            for parent in (-1, *range(top + 1, frame.levels))
        }

    def of_labels(self, labels: Labels) -> Prospect:
        """Labels as the bound sees them."""
        frame = self.frame
        values = frame.values(labels.tile)
        locked = np.stack([locked_of(frame, labels, k, values) for k in range(frame.operands)], axis=1)
        return Prospect(
            labels.energy,
            labels.instances,
            labels.parent,
            labels.parents,
            labels.share,
            locked / labels.share,
            locked,
            labels.reduced,
            labels.reduced_above,
            labels.reads,
            labels.writes,
            values,
        )

    def of_pairs(self, outer: Prospect, level: MemorySteps, pairs: Pairs) -> Prospect:
        """Labels with a split as the bound of the level inside sees them.

        A split over irrelevant dims multiplies what enters inside and divides what is read outside by as much. For
        other dims nothing more is known than before.
        """
        frame, memory = self.frame, self.frame.memory(level.number)
        copies = level.copies[pairs.split]
        share = copies * level.doubled[pairs.split]
        if not memory.multicast:
            share[:, [k for k in range(frame.operands) if k != frame.output]] = 1.0
        if not memory.reduction:
            share[:, frame.output] = 1.0
        own = outer[pairs.label]
        return Prospect(
            own.energy,
            own.instances * level.units[pairs.split],
            own.parent,
            own.parents,
            own.share * share,
            own.first,
            own.locked * copies,
            own.reduced * copies[:, frame.output],
            own.reduced_above,
            own.reads,
            own.writes,
            frame.values(pairs.rest),
        )

    def least(self, own: Prospect, cutoff: float, clock: Clock = NO_LIMIT) -> Floats:
        """The bound of each; where a simple one reaches the cutoff already, or the time is over, that one."""
        if not len(self.ways):
            return np.full(len(own.energy), np.inf)
        free, units = self._freest(own)
        found = self._value(own, free, units)
        open_rows = np.flatnonzero(found < cutoff)
        if len(self.ways) > 1 and len(open_rows):
            found[open_rows] = np.maximum(found[open_rows], self._over_ways(own[open_rows], clock))
        return found

    def _freest(self, own: Prospect) -> tuple[Floats, Floats]:
        """Children that may share a read, per operand, and units, each as if the ways were all for it."""
        caps = np.ones((len(own.energy), len(self.classes)))
        for number, members in enumerate(self.classes):
            most = self.ways[:, number].max()
            caps[:, number] = np.minimum(product(own.values[:, members]), most)
        return self._free(caps), np.minimum(product(caps), self.ways.prod(axis=1).max())

    def _free(self, ways: Floats) -> Floats:
        """(row, operand): children that may share a read, at most, of ways per class."""
        found = np.ones((len(ways), self.frame.operands))
        for operand in range(self.frame.operands):
            outside = [k for k, members in enumerate(self.classes) if not self.frame.relevant[operand, members[0]]]
            found[:, operand] = ways[:, outside].prod(axis=1) * self._doubled(operand, ways)
        return found

    def simply(self, own: Prospect) -> Simply:
        """What bounds the same for all moves of a label: as if the ways that are left were all for each operand."""
        if not len(self.ways):
            every = range(self.frame.operands)
            return Simply(chains=[[] for _ in every], ports=[], units=np.ones(len(own.energy)))
        free, units = self._freest(own)
        every = range(self.frame.operands)
        timed = bool(self.frame.limited) and counts_cycles(self.frame)
        return Simply(
            chains=[self._lines(own, operand, free[:, operand]) for operand in every],
            ports=[self.port(own, operand, free[:, operand]) for operand in every] if timed else [],
            units=units,
        )

    def _over_ways(self, own: Prospect, clock: Clock) -> Floats:
        """The least over all maximal ways that divide what is left; 0 if the time is over."""
        products = np.stack([own.values[:, members].prod(axis=1) for members in self.classes], axis=1)
        cases, place = np.unique(np.gcd(products, self.multiple), axis=0, return_inverse=True)
        place = place.ravel()
        options = []
        for case in cases:
            if clock.late:
                return np.zeros(len(products))
            options.append(self._most(tuple(map(int, case))))
        counts = np.array([len(option) for option in options])[place]
        rows = np.repeat(np.arange(len(products)), counts)
        ways = self.ways[np.concatenate([options[k] for k in place])].astype(np.float64)
        found = self._value(own[rows], self._free(ways), ways.prod(axis=1))
        least = np.full(len(products), np.inf)
        some = counts > 0
        if some.any():
            least[some] = np.minimum.reduceat(found, (np.cumsum(counts) - counts)[some])
        return least

    def _doubled(self, operand: int, ways: Floats) -> Floats:
        """Children over different windows, at most.

        Among the children of a subscript at most as many coincide as there are ways without the widest dim. Its dims
        are of different classes, so the ways of all windows together are at most the product over all classes but any
        one.
        """
        found = np.ones(len(ways))
        if operand not in self.frame.sliding:
            return found
        inside = self.frame.fabric.operands[operand].window_dims
        own = [k for k, members in enumerate(self.classes) if inside & set(members)]
        if not own:
            return found
        return np.asarray(ways[:, own].prod(axis=1) / ways[:, own].max(axis=1))

    def _most(self, products: tuple[int, ...]) -> Ints:
        """Maximal ways that divide the products of the classes."""
        if products not in self._maximal:
            rows = np.flatnonzero(np.all(np.array(products) % self.ways == 0, axis=1))
            self._maximal[products] = rows[maximal_ways(self.ways[rows])]
        return self._maximal[products]

    def _value(self, own: Prospect, free: Floats, units: Floats) -> Floats:
        """Merit of the least energy and cycles, for the most children that share a read, and units."""
        frame = self.frame
        energy = own.energy.copy()
        reads, writes = own.reads, own.writes
        if frame.limited:
            reads, writes = reads.copy(), writes.copy()
        for operand in range(frame.operands):
            energy += self._operand(own, operand, free[:, operand])
            if frame.limited:
                port = self.port(own, operand, free[:, operand])
                add_passing(frame, port, own.first[:, operand], reads, writes)
        cycles = cycles_of(frame, reads, writes, frame.operations / (own.instances * units))
        return merit_of(frame, energy, cycles)

    def _operand(self, own: Prospect, operand: int, free: Floats) -> Floats:
        """Least energy that an operand still costs."""
        found = np.full(len(free), np.inf)
        locked, first = own.locked[:, operand], own.first[:, operand]
        for per_first, per_locked, rest in self._lines(own, operand, free):
            found = np.minimum(found, per_first * first + per_locked * locked + rest)
        return found

    def _lines(self, own: Prospect, operand: int, free: Floats) -> list[tuple[Floats, Floats, Floats]]:
        """Chains of keepers as prices: per word that the parent reads, per locked word, and the rest.

        Outputs pay no reads and fills for the first touch of each element: what is taken off for them is in the rest.
        """
        frame, rows = self.frame, len(free)
        output = operand == frame.output
        touches = frame.output_words * own.reduced if output else np.zeros(rows)
        above = frame.output_words * own.reduced_above if output else touches
        parents = own.parent[:, operand]
        most = max((len(self._chains[operand, int(parent)]) for parent in np.unique(parents)), default=0)
        lines = [(np.zeros(rows), np.zeros(rows), np.full(rows, np.inf)) for _ in range(most)]
        served = frame.operations / free
        alone = served / own.share[:, operand]
        for parent in np.unique(parents):
            mine = np.flatnonzero(parents == parent)
            for (per_first, per_locked, rest), option in zip(lines, self._chains[operand, int(parent)], strict=False):
                per_first[mine], per_locked[mine] = option.first, option.locked
                if option.innermost < 0:
                    taken, all_ways, less = alone[mine], alone[mine], above[mine]
                else:
                    taken = frame.operations / np.minimum(free[mine], self.widest[option.innermost + 1, operand])
                    all_ways, less = served[mine], touches[mine]
                read = np.maximum(0.0, all_ways - less) if output else taken
                rest[mine] = option.work * read + option.updates * taken
                rest[mine] -= option.less * touches[mine] + option.less_above * above[mine]
        return lines

    def port(self, own: Prospect, operand: int, free: Floats) -> ParentPort:
        """The port through which an operand still passes.

        Args:
            own: labels.
            operand: number.
            free: children that may share a read, at most.
        """
        frame, parents = self.frame, own.parent[:, operand]
        served = np.full(len(free), np.inf)
        for parent in np.unique(parents):
            if any(option.innermost < 0 for option in self._chains[operand, int(parent)]):
                some = parents == parent
                served[some] = frame.operations / free[some] / own.share[some, operand]
        return ParentPort(
            operand=operand,
            number=frame.port[parents],
            served=served,
            passing=frame.passing[parents, operand] / own.parents[:, operand],
            touched=own.reduced_above if operand == frame.output else np.zeros(len(free)),
        )


def counts_cycles(frame: ExactFrame) -> bool:
    """Whether cycles are in what is minimised."""
    return frame.merit != "energy" or frame.cycle_pj > 0


def merit_of(frame: ExactFrame, energy: Floats, cycles: Floats) -> Floats:
    """What is minimised."""
    if frame.merit == "energy":
        return energy + frame.cycle_pj * cycles if frame.cycle_pj else energy
    return energy * cycles if frame.merit == "edp" else cycles


def _widest(frame: ExactFrame, level: int, operand: int) -> float:
    """Children inside a level that may share a read of an operand, by the meshes alone."""
    inside = frame.fabric.operands[operand].window_dims
    able = [dim for dim in range(frame.dims) if not frame.relevant[operand, dim] or dim in inside]
    found = 1.0
    for number in range(level + 1):
        memory = frame.memory(number)
        if not (memory.reduction if operand == frame.output else memory.multicast):
            continue
        for direction in (memory.x, memory.y):
            if any(direction.allowed[dim] for dim in able):
                found *= direction.size
    return found
