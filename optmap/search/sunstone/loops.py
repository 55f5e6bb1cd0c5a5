"""Orders of one memory's loops as the machine's pattern wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optmap.machines.fabric import Memory


def whole_orders(inner: Iterable[Sequence[int]], memory: Memory, dims: int) -> tuple[tuple[int, ...], ...]:
    """Orders of all dims, outermost first, that keep to a memory's pattern.

    Dims that an inner part leaves open stand outside it, as they are numbered. A dim that the pattern does not name
    goes to one of its gaps; every gap is tried, for all such dims together.

    Args:
        inner: inner parts of orders, innermost first.
        memory: whose loops they are.
        dims: how many there are.
    """
    found: dict[tuple[int, ...], None] = {}
    gaps = [place for place, entry in enumerate(memory.order) if entry is None] or [len(memory.order)]
    for part in inner:
        order = [*(dim for dim in range(dims) if dim not in part), *reversed(part)]
        for gap in gaps:
            entries = {dim: _entry(memory, dim, gap) for dim in order}
            found[tuple(sorted(order, key=entries.__getitem__))] = None
    return tuple(found)


def _entry(memory: Memory, dim: int, gap: int) -> int:
    named = (place for place, entry in enumerate(memory.order) if entry is not None and dim in entry)
    return next(named, gap)
