"""Tensor accesses of one workload, dims by number."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.workloads.workload import Workload, access_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One tensor access, dims by number."""

    name: str
    """As `access_names` has it."""
    axes: tuple[tuple[tuple[int, int], ...], ...]
    """Per subscript the (dim, coefficient) pairs."""
    output: bool

    @property
    def dims(self) -> frozenset[int]:
        """Every dim that occurs in a subscript: those that are relevant to it."""
        return frozenset(dim for axis in self.axes for dim, _ in axis)

    @property
    def window_dims(self) -> frozenset[int]:
        """The dims that it has together with others in one subscript."""
        return frozenset(dim for axis in self.axes if len(axis) > 1 for dim, _ in axis)


def operands_of(workload: Workload) -> tuple[Operand, ...]:
    """The tensor accesses of a workload with its dims by number, the output first."""
    number = {dim: place for place, dim in enumerate(workload.dims)}
    return tuple(
        Operand(
            name=name,
            axes=tuple(tuple((number[dim], factor) for dim, factor in axis.terms) for axis in tensor.axes),
            output=tensor is workload.output,
        )
        for name, tensor in zip(access_names(workload), workload.tensors, strict=True)
    )
