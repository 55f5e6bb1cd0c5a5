"""What a mapping tree says of statements in turn: loops around them, what stays, nests, and functions of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..core.fabric import StatedFabric
from ..nests.loops import Loops

Address = tuple[int, ...]


@dataclass(frozen=True)
class Around:
    """A loop around a sequence."""

    address: Address
    dim: str
    trips: int


@dataclass(frozen=True)
class Staying:
    """A tensor in a level, as a Keep outside nests has it."""

    address: Address
    tensor: str
    level: int
    source: int | None
    """Number of the memory that it is brought from; None for the home of an intermediate."""
    loops: tuple[Around, ...]
    ended: int
    """How many of these are around a sequence: the Keep is emptied in each of their iterations."""
    elements: int
    access_dims: frozenset[str]
    made: bool
    """Whether a statement below makes it."""

    @property
    def contents(self) -> int:
        """Contents one after the other: loops behind the last one that moves it bring nothing new."""
        turning = [n for n, loop in enumerate(self.loops) if loop.dim in self.access_dims and loop.trips > 1]
        last = max([self.ended, *(n + 1 for n in turning)])
        return prod(loop.trips for loop in self.loops[:last])

    @property
    def different(self) -> int:
        """Contents that have no element in common."""
        return prod(loop.trips for loop in self.loops if loop.dim in self.access_dims)


@dataclass(frozen=True)
class State:
    """What is above a node."""

    left: tuple[tuple[str, int], ...]
    loops: tuple[Around, ...] = ()
    stays: tuple[Staying, ...] = ()
    ended: int = 0


@dataclass(frozen=True)
class StatedNest:
    """The nest of a statement."""

    statement: int
    state: State
    fabric: StatedFabric
    """With what is given as rules, and less room."""
    loops: Loops


@dataclass(frozen=True)
class StatedRowPass:
    """A function of rows, in every iteration of the loops around it."""

    statement: int
    state: State
    fabric: StatedFabric
    levels: tuple[int, ...]
    """Per access, the output first, the memory where it is."""
