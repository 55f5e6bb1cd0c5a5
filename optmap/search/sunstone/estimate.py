"""The optimistic value of a partial mapping: what alpha-beta pruning compares with the best mapping known.

It is energy times cycles of what no completion can avoid (or the one of the two that is minimised):

- energy: arithmetic, and every access that is decided, sum of words * price in a full block. Bottom-up these are the
  accesses to the memories that have their tiles, and to the next one outside for what they ask of it; top-down those to
  the memories outside the last tile, and the fills of that tile's memory. Of partial sums only those are taken that
  remain if all meshes and summed dims that are left went to spreading them.
- cycles: operations / (ways in use * children of the meshes that are left, at most what is left of the loops).

Bottom-up what is left of the loops stands in the order that is tried, so the words are those of the tile with that
order, and the least over all orders of a tile is compared. That is a lower bound where every order is tried
(`within` does not begin with ordering) and no loop order reuses more than the trie says (`order_trie`, on windows).
Top-down every word that is taken is final: it is a lower bound. For `port-cycles` it is 0: nothing is cut.
"""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Flags, Floats
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.questions.policy import Footprint
from optmap.search.accelerators.fitting import Fitting


def optimistic(
    batch: NestBatch,
    fabric: Fabric,
    merit: Merit,
    counting: NestPolicy,
    *,
    memory: int,
    inwards: bool,
    settled: Flags,
) -> tuple[Floats, Floats]:
    """The optimistic value of partial mappings, completed in any order of what is left.

    Args:
        batch: completed mappings: what is left is at the outermost memory, or top-down at `memory`.
        fabric: the machine as the workload sees it.
        merit: what is minimised.
        counting: how words are counted.
        memory: the last that has its tile; -1 for the arithmetic.
        inwards: top-down.
        settled: (memories, operands), where it is decided whether an operand is kept.

    Returns:
        The optimistic value, and the same with every keeper as it stands, decided or not: what ranks. Each (nests,)
    """
    if merit is Merit.PORT_CYCLES:
        return np.zeros(len(batch)), np.zeros(len(batch))
    cost = evaluate_batch(batch, fabric, counting)
    cycles = _cycles(batch, fabric, memory, inwards=inwards)
    if merit is Merit.CYCLES:
        return cycles, cycles
    weights = np.array([_prices(fabric, number) for number in range(len(fabric.memories))])
    reads, fills = cost.reads, cost.fills
    if not inwards:
        lost = _spreadable(batch, fabric, memory)
        reads, fills = (np.maximum(part - lost, 0) for part in (reads, fills))

    def value(decided: Flags) -> Floats:
        taken = _taken(batch, memory, inwards=inwards, settled=decided)
        energy = np.full(len(batch), float(fabric.operations * fabric.arithmetic_pj))
        for kind, words in enumerate((reads, fills, cost.updates)):
            energy += np.einsum("nmo,mo,nmo->n", words, weights[:, kind], taken[kind])
        return energy if merit is Merit.ENERGY else energy * cycles

    least = value(settled)
    return least, least if settled.all() else value(np.ones_like(settled))


def _prices(fabric: Fabric, number: int) -> list[list[float]]:
    """Least pJ of an element of each operand read, filled, updated: in full blocks, one access for a cluster."""
    share = fabric.clusters(number) / fabric.instances(number)
    least = zip(*(element.least_pj for element in fabric.memories[number].elements), strict=True)
    return [[float(price) * share for price in prices] for prices in least]


def _cycles(batch: NestBatch, fabric: Fabric, memory: int, *, inwards: bool) -> Floats:
    used = (batch.x * batch.y).prod(axis=(1, 2)).astype(np.float64)
    meshes = fabric.memories[: memory + 1] if inwards else fabric.memories[memory + 2 :]
    left = batch.temporal[:, memory if inwards else -1].prod(axis=1).astype(np.float64)
    further = np.minimum(left, float(np.prod([own.fanout for own in meshes], dtype=np.float64)))
    found: Floats = fabric.operations / (used * further)
    return found


def _taken(batch: NestBatch, memory: int, *, inwards: bool, settled: Flags) -> tuple[Floats, Floats, Floats]:
    """Which reads, fills and updates are decided, each (nests, memories, operands)."""
    shape = batch.keeps.shape
    numbers = np.arange(shape[1])[None, :, None]
    if not inwards:
        asked = np.broadcast_to((numbers <= memory + 1) & settled, shape)
        return asked.astype(float), (asked & (numbers <= memory)).astype(float), asked.astype(float)
    inside = np.zeros(shape, bool)
    for number in range(memory + 1, shape[1]):
        inside[:, number] = batch.keeps[:, memory:number].any(axis=1)
    served = inside & (numbers > memory)
    return served.astype(float), np.broadcast_to(numbers >= memory, shape).astype(float), served.astype(float)


def _spreadable(batch: NestBatch, fabric: Fabric, memory: int) -> Floats:
    """Partial sums that need not be read again if meshes outside spread what is summed, (nests, memories, operands).

    Elements of the output that an instance meets for the first time are not read: |T| * (copies - now), copies at
    most the children of the meshes that are left times those in use, and at most the summed loops that are left.
    """
    output = fabric.operands[0]
    summed = [dim for dim in range(len(fabric.dims)) if dim not in output.dims]
    ways = (batch.x * batch.y)[:, :, summed].prod(axis=2).astype(np.float64)
    copies = np.cumprod(ways[:, ::-1], axis=1)[:, ::-1] / ways
    meshes = float(np.prod([own.fanout for own in fabric.memories[memory + 2 :]], dtype=np.float64))
    more = np.minimum(batch.temporal[:, -1, summed].prod(axis=1), meshes)
    elements = float(Fitting(fabric, Footprint.TOUCHED).words(output, np.array([fabric.extents]))[0])
    found = np.zeros(batch.keeps.shape)
    found[:, :, 0] = elements * copies * (more - 1)[:, None]
    return found
