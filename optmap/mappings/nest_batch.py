"""Many nests of one fabric as arrays: what searches make and the batched counting takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.base.errors import InputError
from optmap.base.rows import Rows
from optmap.machines.fabric import Fabric, Rule
from optmap.mappings.nest import MemoryNest, Nest

KINDS = 3
"""Of places for a factor at a memory: along x, along y, in time."""
TIME = 2
"""The last of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestBatch(Rows):
    """Nests of one fabric, as arrays. Memories inner to outer, dims and operands as the fabric numbers them."""

    x: Ints
    """(nests, memories, dims): ways along the first axis of a memory's mesh, 1 for none."""
    y: Ints
    """(nests, memories, dims): ways along the second axis."""
    temporal: Ints
    """(nests, memories, dims): trips of a memory's temporal loops, 1 for none."""
    order: Ints
    """(nests, memories, dims): its dims, outermost loop first; where dims of one trip stand is of no account."""
    keeps: Flags
    """(nests, memories, operands): whether it is held there."""

    def __post_init__(self) -> None:
        shape = self.temporal.shape
        if len(shape) != 3 or any(part.shape != shape for part in (self.x, self.y, self.order)):
            raise InputError(f"x, y, temporal and order must be of one shape (nests, memories, dims), not {shape}")
        if self.keeps.ndim != 3 or self.keeps.shape[:2] != shape[:2]:
            raise InputError(f"keeps must be (nests, memories, operands), not {self.keeps.shape}")

    def __len__(self) -> int:
        return len(self.temporal)

    def nest(self, row: int) -> Nest:
        """One nest, as loops."""
        return Nest(
            memories=tuple(
                MemoryNest(
                    x=tuple(map(int, x)),
                    y=tuple(map(int, y)),
                    temporal=tuple((int(dim), int(trips[dim])) for dim in order if trips[dim] > 1),
                    keeps=tuple(map(bool, keeps)),
                )
                for x, y, trips, order, keeps in zip(
                    self.x[row], self.y[row], self.temporal[row], self.order[row], self.keeps[row], strict=True
                )
            )
        )


def rules_met(rules: Iterable[Rule], trips: Ints) -> Flags:
    """(rows,): whether trips (rows, dims) meet all of some rules."""
    found = np.ones(len(trips), bool)
    for rule in rules:
        found &= rule.met(trips[:, list(rule.dims)].prod(axis=1))
    return found


def batch_of(nests: Sequence[Nest], fabric: Fabric) -> NestBatch:
    """Nests of one fabric as arrays.

    Children are numbered in the workload's order of dims, whatever the nests have: no count depends on that, only the
    price of wires.

    Raises:
        InputError: for a nest with other memories, dims or operands than the fabric has.
    """
    memories, dims, operands = len(fabric.memories), len(fabric.dims), len(fabric.operands)
    for nest in nests:
        found = [(len(memory.x), len(memory.y), len(memory.keeps)) for memory in nest.memories]
        if found != [(dims, dims, operands)] * memories:
            raise InputError(f"a nest is not one of {memories} memories, {dims} dims and {operands} operands")
    temporal = np.ones((len(nests), memories, dims), np.int64)
    order = np.empty_like(temporal)
    for row, nest in enumerate(nests):
        for number, memory in enumerate(nest.memories):
            loops = [dim for dim, _ in memory.temporal]
            order[row, number] = [*loops, *(dim for dim in range(dims) if dim not in loops)]
            for dim, trips in memory.temporal:
                temporal[row, number, dim] = trips
    shape = (len(nests), memories, dims)
    return NestBatch(
        x=np.array([[m.x for m in nest.memories] for nest in nests], np.int64).reshape(shape),
        y=np.array([[m.y for m in nest.memories] for nest in nests], np.int64).reshape(shape),
        temporal=temporal,
        order=order,
        keeps=np.array([[m.keeps for m in nest.memories] for nest in nests], bool).reshape(
            len(nests), memories, operands
        ),
    )
