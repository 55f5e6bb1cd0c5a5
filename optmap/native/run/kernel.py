"""Compiled code as a function on NumPy arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.native.code import Buffer, Code
from optmap.native.run.clock import Call, bound_call
from optmap.native.run.layouts import (
    Array,
    aligned,
    checked,
    dtype_of,
    empty,
    is_split,
    memory_of,
    refuse_copy,
    stored,
    stored_shape,
    view_of,
)
from optmap.workloads.workload import Semantics


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packed:
    """An input in the order in which code reads it: prepared once, used in many calls."""

    buffers: tuple[Buffer, ...]
    """What it is prepared for, per access of the tensor; every kernel with these takes it."""
    memories: tuple[Array, ...]
    """Of `stored_shape` each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A function on NumPy arrays: `kernel(*inputs)` computes the statement.

    There is one input per tensor that is read, in the order of the statement, its axes in the order of its subscripts.
    Arrays are borrowed where they lie in memory as the code wants them (`empty` makes such ones, and results are such),
    else copied for the call; `copy=False` refuses instead. The interpreter lock is released while the code runs, and
    several threads may call the same kernel at once, each with an output of its own.
    """

    code: Code
    library: Path
    """The shared object."""
    functions: ctypes.CDLL = field(repr=False)
    """It, loaded."""

    def __call__(self, *inputs: Array | Packed, out: Array | None = None, copy: bool = True) -> Array:
        """Compute the output.

        Args:
            inputs: an array per tensor that is read, or what `pack` made of it; of the shapes in `code.buffers`.
            out: where the output goes; with semantics `accumulate` what is there is added to. New memory if left out,
                which `accumulate` begins with zeros.
            copy: whether arrays that lie otherwise than the code wants may be copied.

        Returns:
            The output under the statement's subscripts; `out` if it was given.

        Raises:
            InputError: for an array of another type, shape or order in memory, one that cannot be written, or an
                output that overlaps an input: which, and what would do.
        """
        if len(inputs) != len(self.inputs):
            names = ", ".join(self.inputs)
            raise InputError(f"{self.title}: {len(inputs)} inputs are given, {len(self.inputs)} are needed: {names}")
        given = dict(zip(self.inputs, inputs, strict=True))
        ready = {name: self._prepared(name, each, copy=copy) for name, each in given.items()}
        target = self._output(out, copy)
        if out is not None:
            for name, packed in ready.items():
                if any(np.may_share_memory(target, memory) for memory in packed.memories):
                    raise InputError(f"{self.title}: out overlaps {name}; give it memory of its own")
        self.call(target, *self.in_order(ready))
        if out is not None and np.may_share_memory(out, target):
            return out
        result = view_of(self.code.buffers[0], target)
        if out is None:
            return result
        out[...] = result
        return out

    @property
    def title(self) -> str:
        """The workload's name: what messages begin with."""
        return self.code.workload.title

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors that are read, in the order of the statement."""
        return tuple(dict.fromkeys(buffer.tensor for buffer in self.code.buffers[1:]))

    def pack(self, tensor: str, array: Array) -> Packed:
        """Prepare an input, such as the weights of a layer, for any number of calls.

        Args:
            tensor: its name.
            array: under the statement's subscripts; it is copied.

        Raises:
            InputError: for a name that no input has, or as a call does for the array.
        """
        return self._prepared(choose("input", tensor, self.inputs, where=self.title), array, fresh=True)

    def empty(self, tensor: str) -> Array:
        """Memory for a tensor that calls borrow, not set to anything.

        Its axes are the statement's subscripts; of a layout in blocks they are the pieces of the layout, which no
        strides of the subscripts can say.

        Args:
            tensor: name of the output, or of an input that is not packed.

        Raises:
            InputError: for another name.
        """
        names = [buffer.tensor for buffer in self.code.buffers]
        buffer = self.code.buffers[names.index(choose("tensor", tensor, names, where=self.title))]
        if buffer.packed:
            raise InputError(f"{self.title}: {tensor} is packed; fill a plain array and hand it to pack")
        memory = empty(stored_shape(buffer), dtype_of(buffer))
        return memory if is_split(buffer) else view_of(buffer, memory)

    def call(self, *memories: Array) -> None:
        """Run the code on memory as it is: output first, one of its `stored_shape` per buffer."""
        self.functions[self.code.entry](*self._pointers(memories))

    def bound(self, *memories: Array) -> Call:
        """The code on memory as it is, as `call` has it, for the clock; a workspace is that of the bound call."""
        return bound_call(self.functions[f"{self.code.entry}_call"], self._held(memories))

    def in_order(self, ready: dict[str, Packed]) -> list[Array]:
        """The memory per access of the statement's right side."""
        left = {name: iter(packed.memories) for name, packed in ready.items()}
        return [next(left[buffer.tensor]) for buffer in self.code.buffers[1:]]

    def _pointers(self, memories: tuple[Array, ...]) -> list[ctypes.c_void_p]:
        """Arguments of the entry; a workspace is the call's own, and lives as long as what refers to it."""
        held = self._held(memories)
        found = [ctypes.c_void_p(each.ctypes.data) for each in held]
        for pointer, each in zip(found, held, strict=True):
            pointer.memory = each  # type: ignore[attr-defined]
        return found

    def _held(self, memories: tuple[Array, ...]) -> list[Array]:
        """Memory of a call, with its workspace where it needs one."""
        workspace = [empty((self.code.workspace,), np.dtype(np.uint8))] if self.code.workspace else []
        return [*memories, *workspace]

    def _prepared(self, tensor: str, given: Array | Packed, *, copy: bool = True, fresh: bool = False) -> Packed:
        """The memory per access of an input: the caller's own where it lies as wanted, unless it must be `fresh`."""
        places = [place for place, each in enumerate(self.code.buffers) if place and each.tensor == tensor]
        buffers = tuple(self.code.buffers[place] for place in places)
        if isinstance(given, Packed):
            if given.buffers != buffers:
                raise InputError(f"{self.title}: {tensor} was packed for another code; pack it with this kernel")
            return given
        memories = [self._memory(place, given, copy=copy, fresh=fresh) for place in places]
        return Packed(buffers=buffers, memories=tuple(memories))

    def _memory(self, place: int, given: Array, *, copy: bool, fresh: bool) -> Array:
        buffer = self.code.buffers[place]
        array = checked(self.title, buffer, given)
        if buffer.packed:
            if not copy:
                raise InputError(
                    f"{self.title}: {buffer.tensor} would be packed in the call; hand in what pack({buffer.tensor!r}, "
                    "...) makes of it, or allow copy"
                )
            made = empty(stored_shape(buffer), dtype_of(buffer))
            pack = self.functions[f"{self.code.entry}_pack_{self.code.names[place]}"]
            pack(*self._pointers((array, made))[:2])
            return made
        memory = memory_of(buffer, array)
        if memory is None:
            refuse_copy(self.title, buffer, copy)
            return stored(buffer, array)
        return aligned(memory) if fresh else memory

    def _output(self, out: Array | None, copy: bool) -> Array:
        """Memory for the output: the caller's own where it lies as wanted."""
        buffer = self.code.buffers[0]
        if out is not None:
            array = checked(self.title, buffer, out)
            if not array.flags.writeable:
                raise InputError(f"{self.title}: out cannot be written to; give an array that can, such as a copy")
            memory = memory_of(buffer, array)
            if memory is not None:
                return memory
            refuse_copy(self.title, buffer, copy)
        made = empty(stored_shape(buffer), dtype_of(buffer))
        if self.code.workload.semantics is Semantics.ACCUMULATE:
            made[...] = 0 if out is None else stored(buffer, out)
        return made
