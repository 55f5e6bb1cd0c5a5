"""The tile that a kernel keeps in vector registers, derived from what a core computes with."""

from __future__ import annotations

from fractions import Fraction

from optmap.base.errors import InputError
from optmap.kernels.kernel_roles import RegisterShape
from optmap.machines.core import Core, Microkernel


def microkernel_shape(core: Core) -> RegisterShape:
    """The outer product that asks least of the load ports (as BLIS derives it; MOpt section 6).

    V vectors of weights times P broadcast elements are V P sums in registers. A sum can be added to again after
    `fma_latency` cycles and `fma_ports` begin per cycle, so V P must be their product or more; the sums, the V vectors
    and the broadcast element need V P + V + 1 registers. A step loads V + P times for V P multiply-adds: the shape with
    the fewest loads per multiply-add is taken, and of equal ones the one with fewer registers. V is a power of two:
    channels come in multiples of those, and every other number would leave a rest.

    Args:
        core: its registers, latency and ports.

    Returns:
        If no shape hides the latency, the one with most sums.

    Raises:
        InputError: for fewer registers than one sum, one vector and one element need.
    """
    vectors = [2**power for power in range(core.registers.bit_length())]
    shapes = [
        RegisterShape(vectors=count, points=points)
        for count in vectors
        for points in [(core.registers - 1 - count) // count]
        if points > 0
    ]
    if not shapes:
        raise InputError(f"core: {core.registers} registers hold no kernel; 3 are needed at least")
    hidden = [shape for shape in shapes if _sums(shape) >= core.fma_latency * core.fma_ports]
    if not hidden:
        return max(shapes, key=_sums)
    return min(hidden, key=lambda shape: (Fraction(shape.vectors + shape.points, _sums(shape)), shape.registers))


def microkernel_of(core: Core, bits: int = 32) -> Microkernel:
    """The same shape in elements, as machine files have it.

    Args:
        core: as for `microkernel_shape`.
        bits: of one element.
    """
    shape = microkernel_shape(core)
    return Microkernel(vector=shape.vectors * core.lanes(bits), broadcast=shape.points)


def _sums(shape: RegisterShape) -> int:
    return shape.vectors * shape.points
