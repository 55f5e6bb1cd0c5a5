"""Products that share one tensor: cuts by the loads of that tensor, while all others are counted together.

Symbols, theorem and proof: `docs/chain-floors.md`, Products around one tensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil, prod

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import LimitError
from optmap.bounds.chains.counts import is_whole
from optmap.bounds.chains.groups import StatementGroup, appearing, group_of
from optmap.bounds.chains.joined import live_dims
from optmap.bounds.chains.touching import Sides, about_touched, least_touched
from optmap.workloads.domain import points
from optmap.workloads.statement import Statement
from optmap.workloads.workload import TensorAccess, Workload

MOST_SHARING = 6
"""Statements around one tensor of which every choice is tried; of more, all of them and all but one."""
FEW, MANY = 64, 400
"""Numbers of full segments that are tried, and further W between the least and the largest."""
NEAR = 512
"""W that are tried near the best of these."""
Rule = tuple[tuple[tuple[int, int], ...], int, str]
"""A condition: factors by position in K and the constant of its left side less its right side, and the relation."""


@dataclass(frozen=True, slots=True)
class AtPlaces:
    """What one statement does with K."""

    places: int
    operations: int
    """At a place."""
    sides: Sides
    """Elements of the other two tensors at a place, at most."""

    def least(self, most: int) -> Fraction:
        """Elements of the other two that are touched, added up over segments, or a little less.

        Args:
            most: elements of K that a segment uses.
        """
        return least_touched([(self.places, self.operations, self.sides)], most, Fraction(1))

    def about(self, most: Floats) -> Floats:
        """The same in floats, for many numbers."""
        return about_touched([(self.places, self.operations, self.sides)], most, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """A group around a tensor."""

    kept: str
    """The tensor that holds the elements of K."""
    statements: tuple[Statement, ...]
    meetings: tuple[AtPlaces, ...]
    elements: int
    """Of K."""
    less: tuple[str, ...]
    """Tensors whose words may appear without a load."""
    free: int
    """Elements of these."""

    def strongest(self, room: int) -> tuple[int, Fraction]:
        """The W that proves the most loads, creations counted, and that number.

        Args:
            room: elements that fit.
        """
        top = max(room, *(each.operations + 1 for each in self.meetings))
        ends = [float(each.operations // n + 1) for each in self.meetings for n in range(1, FEW + 1)]
        tried = self._best(room, np.array([*ends, *np.geomspace(float(room), float(top), MANY), float(top)]))
        chosen = int(self._best(room, np.linspace(0.9 * tried, 1.1 * tried, NEAR), tried))
        proved = sum((each.least(chosen - 1) for each in self.meetings), Fraction())
        return chosen, proved + (1 - Fraction(room, chosen)) * self.elements

    def _best(self, room: int, most: Floats, *known: float) -> float:
        every = np.unique(np.maximum(np.floor([*most, *known]), float(room)))
        worth = sum(each.about(every - 1) for each in self.meetings) + (1 - room / every) * float(self.elements)
        return float(every[int(np.argmax(worth))])


def shared(workload: Workload, memory_words: int) -> list[StatementGroup]:
    """Every two or more products that share a tensor, with the best cuts by its loads."""
    found = []
    for each in sharings(workload):
        accesses = [access for statement in each.statements for access in statement.accesses]
        weight = min(workload.weight(access) for access in accesses)
        room = memory_words // weight
        if room < 3:
            continue
        most, proved = each.strongest(room)
        names = ", ".join(statement.name for statement in each.statements)
        group = group_of(
            workload,
            "shared",
            each.statements,
            loads_words=weight * (ceil(proved) - each.free),
            proof={"kept": each.kept, "most": most},
            expression=f"{names} around {each.kept}, cut by {most:,} of its elements, proof: "
            "optmap/bounds/chains/shared.py",
            less=each.less,
        )
        found.append(group)
    return found


@lru_cache(maxsize=64)
def sharings(workload: Workload) -> tuple[Sharing, ...]:
    """Groups of products around each tensor."""
    return tuple(_sharings(workload))


def _sharings(workload: Workload) -> Iterator[Sharing]:
    held = workload.stored_as
    for kept in dict.fromkeys(held.values()):
        around = [each for each in workload.statements if _is_around(workload, each, kept)]
        sizes = range(2, len(around) + 1) if len(around) <= MOST_SHARING else (len(around) - 1, len(around))
        for many in sizes:
            for statements in combinations(around, many):
                found = _sharing(workload, kept, statements)
                if found is not None:
                    yield found


def _is_around(workload: Workload, statement: Statement, kept: str) -> bool:
    """Whether a statement is a product, under conditions perhaps, with a tensor once among its three."""
    held = [workload.stored_as[access.name] for access in statement.accesses]
    return statement.multiplies and len(set(held)) == len(held) == 3 and kept in held


def _sharing(workload: Workload, kept: str, statements: tuple[Statement, ...]) -> Sharing | None:
    """The group, if it is of the form that the theorem needs."""
    held, extents = workload.stored_as, workload.extents
    writers = [each for each in workload.statements if held[each.name] == kept]
    others = [access for each in statements for access in each.accesses if held[access.name] != kept]
    if len({held[access.name] for access in others}) < len(others):
        return None
    read = {access.name for each in statements for access in each.inputs if held[access.name] != kept}
    if not all(is_whole(workload, name) for name in read):
        return None
    cores = [next(access for access in each.accesses if held[access.name] == kept) for each in statements]
    involved = [*zip(statements, cores, strict=True), *((each, each.output) for each in writers)]
    rules = [rules_by_place(each, access) for each, access in involved]
    shapes = {tuple(axis.count(extents) for axis in access.axes) for _, access in involved}
    if rules[0] is None or len({*rules}) > 1 or len(shapes) > 1 or any(each.has_ranges for each in writers):
        return None
    meetings = [found for each in zip(statements, cores, strict=True) if (found := _at_places(workload, *each))]
    if len(meetings) < len(statements):
        return None
    free = appearing(workload, statements)
    try:
        elements = points(cores[0].dims, statements[0].domain, extents)
    except LimitError:
        return None
    less = [access for access in others if access.name in free]
    appears = bool(writers) and writers[0].name in free
    return Sharing(
        kept=kept,
        statements=statements,
        meetings=tuple(meetings),
        elements=elements,
        less=(*((kept,) if appears else ()), *(access.name for access in less)),
        free=elements * appears + sum(access.footprint(extents) for access in less),
    )


def rules_by_place(statement: Statement, access: TensorAccess) -> frozenset[Rule] | None:
    """The conditions of a statement by positions in an access of plain subscripts; None if they are of another form."""
    place: dict[str, int] = {}
    for number, axis in enumerate(access.axes):
        if axis.real is not None or axis.offset or len(axis.terms) > 1 or any(c != 1 for _, c in axis.terms):
            return None
        place |= dict.fromkeys(axis.dims, number)
    if len(place) < sum(len(axis.terms) for axis in access.axes):
        return None
    found = set[Rule]()
    for condition in statement.domain:
        factors = Counter(dict(condition.left.terms))
        factors.subtract(dict(condition.right.terms))
        if not factors.keys() <= place.keys():
            return None
        terms = tuple(sorted((place[d], c) for d, c in factors.items() if c))
        found.add((terms, condition.left.offset - condition.right.offset, condition.relation.value))
    return frozenset(found)


def _at_places(workload: Workload, statement: Statement, core: TensorAccess) -> AtPlaces | None:
    """Places, operations and sides of a statement; None if its dims are of another form."""
    extents = workload.extents
    one, other = (access for access in statement.accesses if access is not core)
    live = live_dims(workload, statement.accesses)
    if live is None:
        return None
    k, x, y = (live[access] for access in (core, one, other))
    single = (k - x - y) | (x - k - y) | (y - k - x)
    if single or any(condition.dims & x & y for condition in statement.domain):
        return None
    try:
        operations = points(k - (x & y), statement.domain, extents)
    except LimitError:
        return None
    if not operations:
        return None
    sides = (prod(extents[d] for d in (x & k) - y), prod(extents[d] for d in (y & k) - x))
    return AtPlaces(prod(extents[d] for d in x & y), operations, sides)
