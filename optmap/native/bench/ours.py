"""Emitted code as one more way."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from optmap.native.bench.clock import address, clock_library
from optmap.native.bench.contender import Array, Contender, touched
from optmap.native.code import Code
from optmap.native.emit.names import tensor_names
from optmap.native.layouts import pack, unpack
from optmap.native.toolchain.build import build_library, flags_of
from optmap.native.toolchain.libraries import load_library

MOST_ARGUMENTS = 8
OURS = "optmap"


class _Bound(ctypes.Structure):
    """As `bound` in clock.c."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p * MOST_ARGUMENTS),
        ("count", ctypes.c_long),
    )


def build_code(code: Code) -> Path:
    """Its shared object; errors as of `own_way`."""
    return build_library(code.source, flags=flags_of(code.threads))


def own_way(code: Code, inputs: dict[str, Array], name: str) -> Contender:
    """Code, compiled, with its operands in its layouts; what it packs ahead is packed.

    Args:
        code: of up to seven tensors.
        inputs: per tensor, in the statement's order of subscripts.
        name: the variant.

    Raises:
        SolverUnavailableError: if there is no compiler.
        CheckError: if it refuses the code.
    """
    library = load_library(build_code(code))
    names = tensor_names(code.workload)
    operands = [_memory(buffer.layout.size(buffer.shape), buffer.bits) for buffer in code.buffers]
    for buffer, operand, c_name in list(zip(code.buffers, operands, names, strict=True))[1:]:
        values = inputs[buffer.tensor]
        if buffer.packed:
            plain = np.ascontiguousarray(values)
            arguments = (ctypes.c_void_p(each.ctypes.data) for each in (plain, operand))
            library[f"{code.entry}_pack_{c_name}"](*arguments)
        else:
            operand[:] = pack(buffer.layout, values)
    if code.workspace:
        operands.append(_memory(code.workspace, 8))
    places = (ctypes.c_void_p * MOST_ARGUMENTS)(*(each.ctypes.data for each in operands))
    out = code.buffers[0]
    bound = _Bound(entry=address(library[code.entry]), arguments=places, count=len(operands))
    return Contender(
        library=OURS,
        variant=name,
        function=address(clock_library().bench_bound),
        context=ctypes.addressof(bound),
        operands=tuple(operands),
        result=lambda: unpack(out.layout, operands[0], out.shape),
        kept=(bound, library),
    )


def _memory(elements: int, bits: int) -> Array:
    return touched(elements * bits // 8).view(np.dtype("u1" if bits == 8 else f"f{bits // 8}"))
