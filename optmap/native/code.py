"""Emitted code and the buffers that it works on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Concise, Shown
from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.workloads.workload import Workload

ALIGNMENT = 64
"""Bytes at whose multiples memory begins that is taken here: a cache line, and the longest vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutPiece:
    """One digit of a layout's mixed-radix number: `index // block`, modulo `extent` unless it is the first."""

    axis: int
    block: int
    extent: int
    """Values of the digit."""
    stride: int
    """Elements from one value to the next."""
    first: bool
    """Whether the axis has no slower piece."""
    alone: bool
    """Whether the axis has no other piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorLayout:
    """How a tensor lies in memory: a mixed-radix number over pieces of its subscripts.

    `order` lists (axis, block) from the slowest piece to the fastest. The pieces of an axis have falling blocks, the
    last of them 1; a piece is `index // block`, modulo what the piece before it of the same axis spans. An axis is
    filled up with zeros to a multiple of its largest block. `((0, 1), (1, 16), (2, 1), (3, 1), (1, 1))` is nChw16c.
    """

    order: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        for axis in {axis for axis, _ in self.order}:
            blocks = [block for each, block in self.order if each == axis]
            if blocks[-1] != 1 or any(b >= a or a % b for a, b in pairwise(blocks)):
                raise InputError(f"layout: blocks {blocks} of subscript {axis}; each must divide the one before, to 1")

    def pieces(self, shape: tuple[int, ...]) -> tuple[LayoutPiece, ...]:
        """The digits for a tensor of that many elements per subscript, slowest first.

        Raises:
            InputError: if the layout does not name every subscript.
        """
        if {axis for axis, _ in self.order} != set(range(len(shape))):
            raise InputError(f"layout {self.order} is not one of a tensor with {len(shape)} subscripts")
        found: list[LayoutPiece] = []
        stride = 1
        for place in range(len(self.order) - 1, -1, -1):
            axis, block = self.order[place]
            slower = [each for at, each in self.order[:place] if at == axis]
            extent = slower[-1] // block if slower else -(-shape[axis] // block)
            alone = not slower and block == 1 and sum(at == axis for at, _ in self.order) == 1
            found.append(
                LayoutPiece(axis=axis, block=block, extent=extent, stride=stride, first=not slower, alone=alone)
            )
            stride *= extent
        return tuple(reversed(found))

    def size(self, shape: tuple[int, ...]) -> int:
        """Elements of the buffer, those that fill up blocks included."""
        return prod(piece.extent for piece in self.pieces(shape))

    @classmethod
    def plain(cls, rank: int) -> TensorLayout:
        """As the statement writes it, last subscript fastest."""
        return cls(order=tuple((axis, 1) for axis in range(rank)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer(Concise):
    """One tensor as the code's functions take it."""

    tensor: str
    shape: tuple[int, ...]
    """Elements per subscript: real ones if padding is implicit, else every index value from the first to the last."""
    origin: tuple[int, ...]
    """Index value of element 0 per subscript."""
    bits: int
    layout: TensorLayout
    """What the kernel reads or writes."""
    packed: bool = False
    """Whether a function of the code brings it there from the plain layout before the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How fast code was where it was chosen by the clock."""

    gflops: float
    """Two operations per point of the iteration space, in the median time."""
    seconds: float
    """Median of its calls."""
    tried: int
    """Mappings that were run beside it, itself included."""
    by: str
    """What ran it, such as `run.json` or `this machine`."""

    @property
    def text(self) -> str:
        """One line for people."""
        several = f"the fastest of {self.tried} mappings that were" if self.tried > 1 else "the only mapping that was"
        return f"{self.gflops:.4g} GFLOPS, {1e6 * self.seconds:.4g} us a call: {several} run ({self.by})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Shown):
    """C for one workload in one mapping.

    Its functions: `void ENTRY(T *out, const T *in, ...)` on the buffers in their order, with a workspace after them if
    one is needed, and for every packed buffer `void ENTRY_pack_NAME(const T *plain, T *packed)`. All are without state,
    and may be called by several threads.
    """

    shown_as: ClassVar[str] = "code"

    workload: Workload
    machine: Machine
    mapping: Any
    """As tiles, loop orders and splits (`Mapping`), or as a `MappingTree`."""
    options: CodeOptions
    kernel: KernelKind
    entry: str
    source: str
    """One C11 file with the functions."""
    main: str
    """A C11 program that checks them against plain loops and times them, to be compiled beside `source`; of a tree
    there is none."""
    buffers: tuple[Buffer, ...]
    """One per access, output first; of a tree one per tensor that is no intermediate."""
    names: tuple[str, ...]
    """What the functions call them."""
    threads: int
    """Of OpenMP, that the mapping splits among; 1 needs none."""
    workspace: int = 0
    """Bytes of the memory that the entry takes as one more argument, `void *workspace`, aligned to 64 bytes; it is
    the call's own and needs no contents. 0: there is no such argument."""
    ran: Ran | None = None
    """How fast it was, if it was chosen so; None if it was not run."""
    notes: tuple[str, ...] = ()
    """What a reader should know, as why no microkernel applies."""

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write code, header and mapping into a folder, and the checking program with a Makefile where there is one.

        Returns:
            The paths of all files.

        Raises:
            InputError: if they cannot be written, or a file of that name is there that somebody else wrote.
        """
        write = self.presentation.folder
        if write is None:
            raise InputError(f"{type(self).__name__} has no files to write")
        return write(self, folder)
