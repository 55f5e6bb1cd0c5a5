"""Small machines that items of several papers count on: buffers below a memory without limit, units below one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from optmap.count.meshes.batch import evaluate_batch
from optmap.machines.accelerator import Arithmetic, Mesh, MeshAxis, Prices, Store
from optmap.machines.fabric import Fabric
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest_batch import NestBatch
from optmap.papers.counting import Sizes
from optmap.workloads.amounts import Capacity


def buffers(words: Sequence[int], prices: Sequence[int], ways: int) -> Machine:
    """A buffer per unit, further buffers, and a memory without limit; ways x ways units are below the second memory.

    Args:
        words: of each buffer, inner to outer.
        prices: pJ per word of each buffer and of the outermost memory.
        ways: units along an axis.
    """
    stores = []
    for number, price in enumerate(prices):
        axis = MeshAxis(size=ways if number == 1 else 1)
        stores.append(Store(energy_pj=Prices(read=price, fill=price, update=price), mesh=Mesh(x=axis, y=axis)))
    levels = tuple(
        Level(name=f"L{number}", capacity=Capacity(amount=amount, unit="words"), store=store, inclusive=False)
        for number, (amount, store) in enumerate(zip(words, stores, strict=False), 1)
    )
    return Machine(name="buffers", levels=levels, outermost=stores[-1], arithmetic=Arithmetic(energy_pj=Fraction(1)))


def outer_words(fabric: Fabric, tile: Sizes, ways: Sizes, orders: Iterable[str]) -> list[Sizes]:
    """Words of every tensor that the memory outside one buffer per unit reads and takes, for each order of its loops.

    Args:
        fabric: two memories; a dim has a name of one letter.
        tile: of a unit.
        ways: units that a dim is spread over.
        orders: dims outside the tiles, outermost first.
    """
    chosen, dims = list(orders), fabric.dims
    shape = (len(chosen), 2, len(dims))
    x, y, temporal, order = np.ones(shape, np.int64), np.ones(shape, np.int64), np.ones(shape, np.int64), np.ones(shape)
    x[:, 1] = [ways[dim] for dim in dims]
    temporal[:, 0] = [tile[dim] for dim in dims]
    temporal[:, 1] = [extent // (tile[dim] * ways[dim]) for dim, extent in zip(dims, fabric.extents, strict=True)]
    order[:, 0] = range(len(dims))
    order[:, 1] = [[dims.index(dim) for dim in own] for own in chosen]
    kept = np.ones((len(chosen), 2, len(fabric.operands)), bool)
    batch = NestBatch(x=x, y=y, temporal=temporal, order=order.astype(np.int64), keeps=kept)
    cost = evaluate_batch(batch, fabric)
    names = [operand.name for operand in fabric.operands]
    moved = (cost.reads + cost.updates)[:, 1]
    return [dict(zip(names, map(int, row), strict=True)) for row in moved]


def all_orders(dims: Sequence[str]) -> list[str]:
    """Every order of dims of one letter."""
    return ["".join(order) for order in permutations(dims)]
