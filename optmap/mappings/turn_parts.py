"""Statements in turn on a machine with meshes and prices: nests, rows, and tensors that stay while they are done."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from optmap.machines.given import KeptBlock
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.nodes import Address
from optmap.mappings.tree import MappingTree
from optmap.workloads.access import TensorAccess
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterLoop:
    """A loop around a sequence."""

    address: Address
    """Of its node."""
    dim: str
    trips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A tensor that a Keep outside nests holds at a level."""

    address: Address
    """Of the Keep."""
    tensor: str
    """The name under which its elements are stored."""
    level: str
    source: str
    """The level that it comes from and goes to; empty for the home of an intermediate, which comes from nowhere."""
    above: tuple[OuterLoop, ...]
    """Loops around the Keep, outermost first."""
    emptied: int
    """How many of these are around a sequence, at the end of whose branch the Keep is emptied."""
    block: KeptBlock
    """What is there at a time."""
    access: TensorAccess
    made: bool
    """Whether a statement below writes it."""

    @property
    def brought(self) -> int:
        """How often its content is another one than before, in all iterations."""
        inner = len(self.above)
        while inner > self.emptied and not self._moves(self.above[inner - 1]):
            inner -= 1
        return prod(loop.trips for loop in self.above[:inner])

    @property
    def different(self) -> int:
        """Contents without a common element."""
        return prod(loop.trips for loop in self.above if loop.dim in self.access.dims)

    def _moves(self, loop: OuterLoop) -> bool:
        return loop.trips > 1 and loop.dim in self.access.dims


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementPart:
    """A statement that is done in every iteration of the loops around."""

    statement: str
    loops: tuple[OuterLoop, ...]
    workload: Workload
    """The product of what it reads, on what the loops leave of its dims."""
    stays: tuple[Stay, ...]
    """All that is held while it runs, its own tensors or not."""

    @property
    def times(self) -> int:
        """How often it is done."""
        return prod(loop.trips for loop in self.loops)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPart(_StatementPart):
    """A statement with the nest that does it."""

    machine: Machine | None
    """With what is kept outside as rules; None if that leaves no room."""
    mapping: Mapping | None
    """The nest; None without a machine."""

    @property
    def begun(self) -> int:
        """In how many of its runs its result begins; in the others it goes on with partial sums."""
        return prod(loop.trips for loop in self.loops if loop.dim in self.workload.output.dims)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPart(_StatementPart):
    """A function of rows with what it goes through.

    Every row passes whatever applies the function twice, word by word: first what its statistic is formed of, then all
    that the statement reads, and every element of the result is stored where it is to be.
    """

    levels: tuple[str, ...]
    """Per access, the output first, where it is."""
    first: tuple[int, ...]
    """Numbers of the accesses that the statistic is formed of."""
    fits: bool
    """Whether there is room for what stays meanwhile."""

    @property
    def points(self) -> int:
        """Of an iteration: so many words pass of each access."""
        return prod(size for _, size in self.workload.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTree:
    """A mapping tree as nests in turn."""

    tree: MappingTree
    parts: tuple[TurnPart | RowsPart, ...]
    """In the order of their run, functions of elements in place left out."""
    moving: tuple[Stay, ...]
    """What is brought from a level outside and taken there again, each once."""
