"""A user's own constraints on a mapping: tile sizes and loop orders of levels.

One constraint is one short text:

    L1.k=16          the tile of dim k at level L1 is 16
    L2.c<=64         at most 64 (`>=` for at least)
    L1.k%8=0         a multiple of 8
    L1.order=n,k,c   the loops over the tiles of L1, outermost first; every dim once
    L1.order=...,k   the innermost loop is k; `...` stands for any loops that are not named
    L1.order=...,k,...,c,...   c somewhere inside k

What a level's name may hold is up to the machine: all before the last `.` is the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from optmap.errors import InfeasibleError, InputError
from optmap.names import choose
from optmap.problem.machine import Machine
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.relations import GAP, Relation, follows
from optmap.problem.workload import LARGEST_EXTENT, Workload

ORDER = "order"
"""What stands in place of a dim where loops are constrained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Tile sizes of one dim at one level: the multiples of `step` from `low` to `high`, both among them."""

    low: int
    high: int
    """Less than `low` where there are none."""
    step: int = 1

    @property
    def empty(self) -> bool:
        """Whether no size is left."""
        return self.low > self.high

    @property
    def count(self) -> int:
        """How many sizes there are."""
        return 0 if self.empty else (self.high - self.low) // self.step + 1

    def admits(self, size: int) -> bool:
        """Whether a size is one of them."""
        return self.low <= size <= self.high and size % self.step == 0

    def within(self, low: int, high: int, step: int = 1) -> Sizes:
        """Those also from `low` to `high` that are multiples of `step`."""
        both = lcm(self.step, step)
        return Sizes(low=-(-max(low, self.low) // both) * both, high=min(high, self.high) // both * both, step=both)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileConstraint:
    """A constraint on the tile of one dim at one level."""

    level: str
    dim: str
    relation: Relation
    value: int
    """In iterations, from 1."""

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.level}.{self.dim}{self.relation}{self.value}" + "=0" * (self.relation is Relation.MULTIPLE)

    def admits(self, level: LevelMapping) -> bool:
        """Whether the mapping of its level meets it."""
        return self.restrict(Sizes(low=1, high=LARGEST_EXTENT)).admits(level.tile[self.dim])

    def restrict(self, sizes: Sizes) -> Sizes:
        """Those of the sizes that meet it."""
        match self.relation:
            case Relation.EQUAL:
                return sizes.within(self.value, self.value)
            case Relation.AT_MOST:
                return sizes.within(1, self.value)
            case Relation.AT_LEAST:
                return sizes.within(self.value, LARGEST_EXTENT)
            case Relation.MULTIPLE:
                return sizes.within(1, LARGEST_EXTENT, self.value)

    def found(self, level: LevelMapping) -> str:
        """What the mapping of its level has instead, in words."""
        return f"the tile of {self.dim} at {self.level} is {level.tile[self.dim]}"

    def document(self) -> dict[str, object]:
        """Its JSON form."""
        return {"level": self.level, "dim": self.dim, "relation": self.relation.value, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderConstraint:
    """A constraint on the loops over the tiles of one level."""

    level: str
    pattern: tuple[str, ...]
    """Dims, outermost first, and gaps; at least one dim, none twice, no two gaps side by side."""

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.level}.{ORDER}={','.join(self.pattern)}"

    def admits(self, level: LevelMapping) -> bool:
        """Whether the mapping of its level meets it."""
        return follows(level.permutation, self.pattern)

    def found(self, level: LevelMapping) -> str:
        """What the mapping of its level has instead, in words."""
        return f"the loops of {self.level} are {','.join(level.permutation)}"

    def document(self) -> dict[str, object]:
        """Its JSON form."""
        return {"level": self.level, "order": list(self.pattern)}


Constraint = TileConstraint | OrderConstraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """All that a user demands of a mapping; each must be met."""

    items: tuple[Constraint, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items)

    @property
    def texts(self) -> tuple[str, ...]:
        """Each as it is written."""
        return tuple(item.text for item in self.items)

    @property
    def text(self) -> str:
        """All in one line; empty for none."""
        return "; ".join(self.texts)

    def document(self) -> list[dict[str, object]]:
        """Their JSON form."""
        return [item.document() for item in self.items]

    def without(self, item: Constraint) -> Constraints:
        """All but one."""
        return Constraints(items=tuple(each for each in self.items if each != item))

    def sizes(self, level: str, dim: str, extent: int) -> Sizes:
        """The tile sizes of a dim at a level that they leave."""
        left = Sizes(low=1, high=extent)
        for item in self.items:
            if isinstance(item, TileConstraint) and (item.level, item.dim) == (level, dim):
                left = item.restrict(left)
        return left

    def patterns(self, level: str) -> tuple[tuple[str, ...], ...]:
        """What the loop order of a level must follow."""
        return tuple(item.pattern for item in self.items if isinstance(item, OrderConstraint) and item.level == level)

    def broken(self, mapping: Mapping) -> tuple[tuple[Constraint, LevelMapping], ...]:
        """Those that a mapping does not meet, each with its level."""
        levels = {level.level: level for level in mapping.levels}
        return tuple((item, levels[item.level]) for item in self.items if not item.admits(levels[item.level]))

    def admits(self, mapping: Mapping) -> bool:
        """Whether a mapping meets all of them; its levels must be those of the machine."""
        return not self.broken(mapping)

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse constraints that do not belong to the workload and the machine.

        Raises:
            UnknownNameError: for a level or a dim that is not there.
            InputError: for a whole loop order that leaves out a dim.
            InfeasibleError: for a size beyond the extent.
        """
        names = [level.name for level in machine.levels]
        for item in self.items:
            where = f"constraint {item.text}"
            choose("level", item.level, names, where=where)
            dims = (item.dim,) if isinstance(item, TileConstraint) else item.pattern
            for dim in dims:
                if dim != GAP:
                    choose("dim", dim, workload.dims, where=where)
            if isinstance(item, OrderConstraint) and GAP not in dims and len(dims) < len(workload.dims):
                left = ", ".join(d for d in workload.dims if d not in dims)
                raise InputError(f"{where} leaves out {left}; name every dim, or write ... where any loops may stand")
            if isinstance(item, TileConstraint) and item.relation is not Relation.AT_MOST:
                extent = workload.extents[item.dim]
                if item.value > extent:
                    raise InfeasibleError(f"{where} cannot be met: {item.dim} has {extent} iterations; at most that")


NO_CONSTRAINTS = Constraints()
"""Nothing is demanded."""
