"""Emitted code as one more way."""

from __future__ import annotations

import ctypes

import numpy as np

from optmap.native.bench.contender import Array, Contender, touched
from optmap.native.code import Code
from optmap.native.emit.names import tensor_names
from optmap.native.layouts import pack, unpack
from optmap.native.run.compiled import compile_code

OURS = "optmap"


def own_way(code: Code, inputs: dict[str, Array], name: str) -> Contender:
    """Code, compiled, with its operands in its layouts; what it packs ahead is packed.

    Args:
        code: what `emit` wrote.
        inputs: per tensor, in the statement's order of subscripts.
        name: the variant.

    Raises:
        SolverUnavailableError: if there is no compiler.
        CheckError: if it refuses the code.
    """
    kernel = compile_code(code)
    names = tensor_names(code.workload)
    operands = [_memory(buffer.layout.size(buffer.shape), buffer.bits) for buffer in code.buffers]
    for buffer, operand, c_name in list(zip(code.buffers, operands, names, strict=True))[1:]:
        values = inputs[buffer.tensor]
        if buffer.packed:
            plain = np.ascontiguousarray(values)
            arguments = (ctypes.c_void_p(each.ctypes.data) for each in (plain, operand))
            kernel.functions[f"{code.entry}_pack_{c_name}"](*arguments)
        else:
            operand[:] = pack(buffer.layout, values)
    out = code.buffers[0]
    call = kernel.bound(*operands)
    return Contender(
        library=OURS,
        variant=name,
        function=call.function,
        context=call.context,
        operands=call.operands,
        result=lambda: unpack(out.layout, operands[0], out.shape),
        kept=(call, kernel),
    )


def _memory(elements: int, bits: int) -> Array:
    return touched(elements * bits // 8).view(np.dtype("u1" if bits == 8 else f"f{bits // 8}"))
