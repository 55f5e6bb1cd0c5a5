"""A user's own constraints on a mapping: tile sizes, loop orders, splits and keepers of levels.

One constraint is one short text:

    L1.k=16          the tile of dim k at level L1 is 16
    L2.c<=64         at most 64 (`>=` for at least)
    L1.k%8=0         a multiple of 8
    L1.order=n,k,c   the loops over the tiles of L1, outermost first; every dim once
    L1.order=...,k   the innermost loop is k; `...` stands for any loops that are not named
    L1.order=...,k,...,c,...   c somewhere inside k
    L2.spatial.k=8   the tile of L2 is split 8 ways along k among the children of L2 (or its cores)
    L2.x.k=8         of these ways, 8 are along the first axis of its mesh (`y`: along the second)
    L2.keeps=A,B     L2 holds tiles of A and B and of no other tensor; the others bypass it
    L2.keeps=A,...   of A, and of others or not
    L2.bypass=A,B    of neither

A loop of one trip stands wherever an order wants it. What a level's name may hold is up to the machine: all before the
last `.` is the level, but for `spatial`, `x` or `y` before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm, prod

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.names import choose
from optmap.machines.machine import Machine
from optmap.machines.relations import GAP, Relation, follows
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.workload import LARGEST_EXTENT, Workload, access_names

ORDER = "order"
"""What stands in place of a dim where loops are constrained."""
KEEPS, BYPASS = "keeps", "bypass"
"""What stands in place of a dim where keepers are."""
SPATIAL = "spatial"
"""What stands before a dim where all ways of a split along it are constrained."""
AXES = (SPATIAL, "x", "y")
"""What may stand before a dim: ways of a split, all of them or those along one axis of a mesh."""


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

    def related(self, relation: Relation, value: int) -> Sizes:
        """Those that stand in a relation to a value."""
        match relation:
            case Relation.EQUAL:
                return self.within(value, value)
            case Relation.AT_MOST:
                return self.within(1, value)
            case Relation.AT_LEAST:
                return self.within(value, LARGEST_EXTENT)
            case Relation.MULTIPLE:
                return self.within(1, LARGEST_EXTENT, value)


EVERY = Sizes(low=1, high=LARGEST_EXTENT)
"""All sizes that there may be."""


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
        return self.restrict(EVERY).admits(level.tile[self.dim])

    def restrict(self, sizes: Sizes) -> Sizes:
        """Those of the sizes that meet it."""
        return sizes.related(self.relation, self.value)

    def found(self, level: LevelMapping) -> str:
        """What the mapping of its level has instead, in words."""
        return f"the tile of {self.dim} at {self.level} is {level.tile[self.dim]}"

    def document(self) -> dict[str, object]:
        """Its JSON form."""
        return {"level": self.level, "dim": self.dim, "relation": self.relation.value, "value": self.value}

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse one that does not belong to workload and machine; see `Constraints.refuse_foreign`."""
        where = f"constraint {self.text}"
        choose("level", self.level, [level.name for level in machine.levels], where=where)
        _check_size(self, workload, where)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConstraint:
    """A constraint on the ways in which the tile of a level is split along one dim, among its children or cores."""

    level: str
    axis: str
    """One of `AXES`."""
    dim: str
    relation: Relation
    value: int
    """Ways, from 1."""

    @property
    def text(self) -> str:
        """As it is written."""
        zero = "=0" * (self.relation is Relation.MULTIPLE)
        return f"{self.level}.{self.axis}.{self.dim}{self.relation}{self.value}{zero}"

    def admits(self, level: LevelMapping) -> bool:
        """Whether the mapping of its level meets it."""
        return self.ways.admits(self._ways(level))

    @property
    def ways(self) -> Sizes:
        """That meet it."""
        return EVERY.related(self.relation, self.value)

    def found(self, level: LevelMapping) -> str:
        """What the mapping of its level has instead, in words."""
        along = "" if self.axis == SPATIAL else f" along {self.axis}"
        return f"{self.level} splits {self.dim} {self._ways(level)} ways{along}"

    def document(self) -> dict[str, object]:
        """Its JSON form."""
        own = {"level": self.level, "axis": self.axis, "dim": self.dim}
        return {**own, "relation": self.relation.value, "value": self.value}

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse one that does not belong to workload and machine; see `Constraints.refuse_foreign`."""
        where = f"constraint {self.text}"
        choose("level", self.level, machine.mapped, where=where)
        if self.axis != SPATIAL and f"{self.level}.{self.axis}" not in dict(machine.axes):
            raise InputError(
                f"{where}: {self.level} of {machine.name} has {machine.leaf}s and no mesh with axes; write "
                f"{self.level}.{SPATIAL}.{self.dim}"
            )
        _check_size(self, workload, where)

    def _ways(self, level: LevelMapping) -> int:
        ways = {SPATIAL: level.spatial, "x": level.spatial_x, "y": level.spatial_y}
        return ways[self.axis].get(self.dim, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepConstraint:
    """A constraint on the tensors whose tiles a level holds."""

    level: str
    tensors: tuple[str, ...]
    """At least one, none twice."""
    kept: bool
    """Whether it must hold them; else it must not."""
    alone: bool = False
    """Whether it must hold no others."""

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.level}.{KEEPS if self.kept else BYPASS}={','.join(self._names)}"

    @property
    def _names(self) -> tuple[str, ...]:
        return self.tensors if self.alone or not self.kept else (*self.tensors, GAP)

    def demands(self, tensor: str) -> bool | None:
        """Whether a tensor must be held; None where it may be or not."""
        if tensor in self.tensors:
            return self.kept
        return False if self.alone else None

    def admits(self, level: LevelMapping) -> bool:
        """Whether the mapping of its level meets it; one that does not say what it holds holds everything."""
        if level.keeps is None:
            return self.kept and not self.alone
        held = {*level.keeps}
        if not self.kept:
            return held.isdisjoint(self.tensors)
        return held == {*self.tensors} if self.alone else held >= {*self.tensors}

    def found(self, level: LevelMapping) -> str:
        """What the mapping of its level has instead, in words."""
        held = "all tensors" if level.keeps is None else ", ".join(level.keeps) or "no tensor"
        return f"{self.level} holds {held}"

    def document(self) -> dict[str, object]:
        """Its JSON form."""
        return {"level": self.level, KEEPS if self.kept else BYPASS: list(self._names)}

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse one that does not belong to workload and machine; see `Constraints.refuse_foreign`."""
        where = f"constraint {self.text}"
        choose("level", self.level, machine.mapped, where=where)
        if self.level not in machine.bypassed:
            raise InputError(
                f"{where}: {machine.name} has caches, through which every tensor goes; only memories of an accelerator "
                "are bypassed"
            )
        for tensor in self.tensors:
            choose("tensor", tensor, access_names(workload), where=where)


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

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse one that does not belong to workload and machine; see `Constraints.refuse_foreign`."""
        where = f"constraint {self.text}"
        choose("level", self.level, [level.name for level in machine.levels], where=where)
        for dim in self.pattern:
            if dim != GAP:
                choose("dim", dim, workload.dims, where=where)
        if GAP not in self.pattern and len(self.pattern) < len(workload.dims):
            left = ", ".join(d for d in workload.dims if d not in self.pattern)
            raise InputError(f"{where} leaves out {left}; name every dim, or write ... where any loops may stand")


def _check_size(item: TileConstraint | SplitConstraint, workload: Workload, where: str) -> None:
    choose("dim", item.dim, workload.dims, where=where)
    extent = workload.extents[item.dim]
    if item.relation is not Relation.AT_MOST and item.value > extent:
        raise InfeasibleError(f"{where} cannot be met: {item.dim} has {extent} iterations; at most that")


Constraint = TileConstraint | SplitConstraint | OrderConstraint | KeepConstraint


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

    def step(self, dim: str, *, apart: bool) -> int:
        """Of what an extent is a multiple in which all tiles and ways of a dim that are demanded divide each other.

        Args:
            dim: which.
            apart: whether all ways are outside all tiles, and outside one another; else all are inside the largest.
        """
        about = (item for item in self.items if isinstance(item, TileConstraint | SplitConstraint) and item.dim == dim)
        exact = [item for item in about if item.relation in (Relation.EQUAL, Relation.MULTIPLE)]
        tiles = lcm(*(item.value for item in exact if isinstance(item, TileConstraint)))
        ways = [item.value for item in exact if isinstance(item, SplitConstraint)]
        return tiles * prod(ways) if apart else lcm(tiles, *ways)

    def splits(self, level: str) -> tuple[SplitConstraint, ...]:
        """What is demanded of the split of a level."""
        return tuple(item for item in self.items if isinstance(item, SplitConstraint) and item.level == level)

    def patterns(self, level: str) -> tuple[tuple[str, ...], ...]:
        """What the loop order of a level must follow."""
        return tuple(item.pattern for item in self.items if isinstance(item, OrderConstraint) and item.level == level)

    def broken(self, mapping: Mapping) -> tuple[tuple[Constraint, LevelMapping], ...]:
        """Those that a mapping does not meet, each with its level."""
        if not self:
            return ()  # of a tree, which has no levels, nothing is demanded
        levels = {level.level: level for level in mapping.levels}
        return tuple((item, levels[item.level]) for item in self.items if not item.admits(levels[item.level]))

    def admits(self, mapping: Mapping) -> bool:
        """Whether a mapping meets all of them; its levels must be those of the machine."""
        return not self.broken(mapping)

    def refuse_foreign(self, workload: Workload, machine: Machine) -> None:
        """Refuse constraints that do not belong to the workload and the machine.

        Raises:
            UnknownNameError: for a level, a dim or a tensor that is not there.
            InputError: for a whole loop order that leaves out a dim, and for what a machine with caches has not.
            InfeasibleError: for a size beyond the extent.
        """
        for item in self.items:
            item.check(workload, machine)


NO_CONSTRAINTS = Constraints()
"""Nothing is demanded."""
