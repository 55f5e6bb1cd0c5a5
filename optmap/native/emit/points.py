"""Loops over single iterations, in which what conditions or padding leave out is not done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

from optmap.native.emit.indices import index_text
from optmap.workloads.workload import Workload


def where(tests: Iterable[str]) -> list[str]:
    """The head of what is done where all of some tests hold; none without tests."""
    every = " && ".join(tests)
    return [f"if ({every})"] if every else []


def guarded(loops: Mapping[str, str], tests: Iterable[tuple[AbstractSet[str], str]]) -> list[str]:
    """Heads of blocks inside each other: loops, and tests as soon as the last of their dims is known.

    Args:
        loops: the head of each dim's loop, outermost first; other dims are known before.
        tests: dims of each, and its C.
    """
    heads, known = list[str](), set[str]()
    waiting = {test: dims & loops.keys() for dims, test in tests}
    for dim in ("", *loops):
        if dim:
            heads.append(loops[dim])
            known.add(dim)
        now = [test for test, dims in waiting.items() if dims <= known]
        heads += where(now)
        waiting = {test: dims for test, dims in waiting.items() if test not in now}
    return heads


def point_loops(
    workload: Workload, names: Mapping[str, str], order: Iterable[str], loop: Callable[[str], str]
) -> list[str]:
    """Heads of blocks inside each other: loops, and tests of subscripts that padding may be at.

    Args:
        workload: gives the subscripts with implicit padding.
        names: C variable per dim that is looped over; the others are 0.
        order: dims of the loops, outermost first, all of them in `names`.
        loop: the head of a dim's loop.
    """
    tests = []
    for axis in (axis for tensor in workload.tensors for axis in tensor.axes):
        if axis.real is not None:
            index = index_text(axis, names)
            tests.append(({*axis.dims}, f"{index} >= {axis.real[0]} && {index} <= {axis.real[1]}"))
    return guarded({dim: loop(dim) for dim in order}, tests)
