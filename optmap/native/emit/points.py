"""Loops over single iterations, in which operations on padding are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from optmap.native.emit.indices import index_text
from optmap.workloads.workload import Workload


def point_loops(
    workload: Workload, names: Mapping[str, str], order: Iterable[str], loop: Callable[[str], str]
) -> list[str]:
    """Heads of blocks inside each other: loops, and tests of a subscript as soon as its last dim is known.

    Args:
        workload: gives the subscripts with implicit padding.
        names: C variable per dim that is looped over; the others are 0.
        order: dims of the loops, outermost first, all of them in `names`.
        loop: the head of a dim's loop.
    """
    ranged = [axis for tensor in workload.tensors for axis in tensor.axes if axis.real is not None]
    heads: list[str] = []
    known: set[str] = set()
    tested: set[str] = set()
    for dim in (None, *order):
        if dim is not None:
            heads.append(loop(dim))
            known.add(dim)
        for axis in ranged:
            if axis.real is not None and {d for d in axis.dims if d in names} <= known:
                index = index_text(axis, names)
                test = f"if ({index} >= {axis.real[0]} && {index} <= {axis.real[1]})"
                heads += [test] if test not in tested else []
                tested.add(test)
    return heads
