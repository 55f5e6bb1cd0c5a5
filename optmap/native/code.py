"""Emitted code and the buffers that it works on."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.problem import Mapping, Workload
from optmap.problem.code_options import CodeOptions
from optmap.problem.kernel_roles import KernelKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a tensor lies in memory: a mixed-radix number over pieces of its subscripts.

    `order` lists (axis, block) from the slowest piece to the fastest. The pieces of an axis have falling blocks, the
    last of them 1; a piece is `index // block`, modulo what the piece before it of the same axis spans. An axis is
    filled up with zeros to a multiple of its largest block. `((0, 1), (1, 16), (2, 1), (3, 1), (1, 1))` is nChw16c.
    """

    order: tuple[tuple[int, int], ...]

    @classmethod
    def plain(cls, rank: int) -> Layout:
        """As the statement writes it, last subscript fastest."""
        return cls(order=tuple((axis, 1) for axis in range(rank)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """One tensor as the code's functions take it."""

    tensor: str
    shape: tuple[int, ...]
    """Elements per subscript: real ones if padding is implicit, else every index value from the first to the last."""
    origin: tuple[int, ...]
    """Index value of element 0 per subscript."""
    bits: int
    layout: Layout
    """What the kernel reads or writes."""
    packed: bool = False
    """Whether a function of the code brings it there from the plain layout before the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """C for one workload in one mapping.

    Its functions: `void ENTRY(T *out, const T *in, ...)` on the buffers in their order, and for every packed buffer
    `void ENTRY_pack_TENSOR(const T *plain, T *packed)`. All are without state, and may be called by several threads.
    """

    workload: Workload
    mapping: Mapping
    options: CodeOptions
    kernel: KernelKind
    entry: str
    source: str
    """One C11 file with the functions."""
    main: str
    """A C11 program that checks them against plain loops and times them, to be compiled beside `source`."""
    buffers: tuple[Buffer, ...]
    """Output first."""
    threads: int
    """Of OpenMP, that the mapping splits among; 1 needs none."""
    notes: tuple[str, ...] = ()
    """What a reader should know, as why no microkernel applies."""
