"""Tiny accelerators and workloads, and the best mapping of one found by trying every one.

What an exact search claims is compared with it, so that nothing here comes from `optmap.search`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from sized_machines import random_bits, sized_machine

from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.accelerator import ROLES, Arithmetic, FactorRule, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine, Partition
from optmap.machines.relations import GAP, Relation
from optmap.mappings.nest import Nest
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

ROWS = 1 << 16
"""Mappings per batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The least value of a merit over a whole mapspace."""

    value: Fraction
    """Recounted exactly."""
    nest: Nest
    """One mapping that reaches it."""


def best_of_all(fabric: Fabric, counting: NestPolicy) -> dict[Merit, Best]:
    """The optimum of every merit over all mappings with perfect factors; empty if none is valid."""
    least: dict[Merit, tuple[float, Nest]] = {}
    for batch in all_mappings(fabric):
        cost = evaluate_batch(batch, fabric, counting)
        rows = np.flatnonzero(cost.valid)
        for merit in Merit if len(rows) else ():
            values = cost.merit(merit)[rows]
            row = int(values.argmin())
            if merit not in least or values[row] < least[merit][0]:
                least[merit] = float(values[row]), batch.nest(int(rows[row]))
    return {
        merit: Best(value=count_nest(nest, fabric, counting).merit(merit), nest=nest)
        for merit, (_, nest) in least.items()
    }


@cache
def factorings(number: int, slots: int) -> tuple[tuple[int, ...], ...]:
    """Every way to write a number as an ordered product."""
    if slots == 1:
        return ((number,),)
    return tuple(
        (first, *rest)
        for first in range(1, number + 1)
        if number % first == 0
        for rest in factorings(number // first, slots - 1)
    )


def _splits(fabric: Fabric, most: int) -> np.ndarray | None:
    """Every way to divide the extents over (memory, x y temporal), (ways, memories * 3, dims); None for too many."""
    limits = [limit for memory in fabric.memories for limit in (memory.x.size, memory.y.size, None)]
    found = np.ones((1, len(limits), 0), np.int64)
    for dim, extent in enumerate(fabric.extents):
        allowed = [a for m in fabric.memories for a in (m.x.allowed[dim], m.y.allowed[dim], True)]
        open_slots = [
            slot
            for slot, (limit, allow) in enumerate(zip(limits, allowed, strict=True))
            if allow and (limit is None or limit > 1)
        ]
        own = np.ones((len(factorings(extent, len(open_slots))), len(limits)), np.int64)
        own[:, open_slots] = factorings(extent, len(open_slots))
        if len(found) * len(own) > 64 * most:
            return None
        joined = np.concatenate((np.repeat(found, len(own), axis=0), np.tile(own, (len(found), 1))[:, :, None]), axis=2)
        used = joined.prod(axis=2)
        fits = np.ones(len(joined), bool)
        for slot, limit in enumerate(limits):
            if limit is not None:
                fits &= used[:, slot] <= limit
        found = joined[fits]
        if len(found) > most:
            return None
    return found


def _keep_patterns(fabric: Fabric) -> np.ndarray:
    """Every choice that the machine leaves open, (choices, memories, operands); a tensor has a keeper."""
    choices = [
        {KeepRule.KEPT: (True,), KeepRule.REFUSED: (False,), KeepRule.FREE: (False, True)}[keep]
        for memory in fabric.memories
        for keep in memory.keeps
    ]
    found = np.array(list(product(*choices)), bool).reshape(-1, len(fabric.memories), len(fabric.operands))
    return found[found.any(axis=1).all(axis=1)]


def _orders(fabric: Fabric, number: int, loops: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """Orders of one memory's temporal loops, each as all dims outermost first.

    What enters a memory depends on the loops outside it: the order inside the innermost memory is of no account.
    """
    own = [dim for dim, several in enumerate(loops) if several]
    rest = [dim for dim, several in enumerate(loops) if not several]
    if number == 0 and not fabric.memories[0].order:
        return ((*own, *rest),)
    return tuple((*order, *rest) for order in permutations(own))


def mapspace_size(fabric: Fabric, most: int) -> int | None:
    """Mappings that `all_mappings` makes, valid or not; None for more than `most`."""
    splits = _splits(fabric, most)
    if splits is None:
        return None
    loops = (splits[:, 2::3] > 1).sum(axis=2)
    if not fabric.memories[0].order:
        loops[:, 0] = 1
    orders = np.array([factorial(n) for n in range(len(fabric.dims) + 1)])[loops].prod(axis=1)
    found = int(orders.sum()) * len(_keep_patterns(fabric))
    return found if found <= most else None


def all_mappings(fabric: Fabric) -> Iterator[NestBatch]:
    """Every mapping with perfect factors, every loop order and every choice of keepers, in batches."""
    splits = _splits(fabric, 1 << 24)
    assert splits is not None
    loops = splits[:, 2::3] > 1
    keeps = _keep_patterns(fabric)
    kinds, kind = np.unique(loops.reshape(len(loops), -1), axis=0, return_inverse=True)
    waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    held = 0
    for number, several in enumerate(kinds.reshape(-1, *loops.shape[1:])):
        own = splits[kind.reshape(-1) == number]
        orders = np.array(
            list(product(*(_orders(fabric, place, tuple(row)) for place, row in enumerate(several.tolist()))))
        )
        for order in orders:
            for kept in keeps:
                waiting.append((own, order, kept))
                held += len(own)
                if held >= ROWS:
                    yield _batch(waiting)
                    waiting, held = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> NestBatch:
    counts = [len(own) for own, _, _ in parts]
    splits = np.concatenate([own for own, _, _ in parts])
    return NestBatch(
        x=splits[:, 0::3],
        y=splits[:, 1::3],
        temporal=splits[:, 2::3],
        order=np.repeat([order for _, order, _ in parts], counts, axis=0),
        keeps=np.repeat([kept for _, _, kept in parts], counts, axis=0),
    )


def tiny_fabric(seed: int, most: int = 100_000, *, sized: bool = False) -> Fabric:
    """A random small accelerator with a random small workload, of at most that many mappings.

    Args:
        seed: the same one gives the same problem.
        most: of mappings with perfect factors.
        sized: with elements of several sizes, and costs that depend on them.
    """
    draw = random.Random(seed)
    while True:
        workload, machine = tiny_workload(draw), tiny_machine(draw)
        if sized:
            workload, machine = random_bits(workload, draw), sized_machine(machine, draw)
        fabric = fabric_of(workload, machine)
        if mapspace_size(fabric, most) is not None:
            return fabric


def _text(draw: random.Random) -> str:
    stride, dilation = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 1, 2))
    window = f"{stride}*p+{dilation}*r"
    other = f"{draw.choice((1, 2))}*q+s"
    return draw.choice(
        (
            f"O[k,p] = I[c,{window}] * W[k,c,r]",
            f"O[p] = I[{window}] * W[r]",
            f"O[k,p,q] = I[c,{window},{other}] * W[k,c,r,s]",
            f"O[p,q] = I[{window},{other}] * W[r,s]",
            f"O[n,k,p] = I[n,c,{window}] * W[k,c,r]",
            f"O[c,p] = I[c,{window}] * W[c,r]",
            f"O[c,p,q] = I[c,{window},{other}] * W[c,r,s]",
            f"O[g,k,p] = I[g,c,{window}] * W[g,k,c,r]",
            "C[m,n] = A[m,k] * B[k,n]",
            "C[b,m,n] = A[b,m,k] * B[b,k,n]",
            "M[i,r] = T[i,j,k] * B[j,r] * C[k,r]",
            "D[i,j] = S[i,j] * A[i,k] * B[k,j]",
            "Y[i] = A[i,k] * X[k]",
        )
    )


def tiny_workload(draw: random.Random) -> Workload:
    """A random workload of few iterations: convolutions, with stride and dilation, products, MTTKRP, SDDMM."""
    text = _text(draw)
    dims = sorted({letter for letter in text.split("[", 1)[1] if letter.islower()})
    while True:
        extents = {dim: draw.choice((1, 2, 2, 3, 4, 4, 5, 6, 8)) for dim in dims}
        if prod(extents.values()) <= 1200:
            return parse_workload(text, extents)


def tiny_machine(draw: random.Random) -> Machine:
    """A random accelerator of two to four memories, one or two of them with a mesh."""
    bounded = draw.choice((1, 1, 2, 2, 2, 3))
    meshes = draw.sample(range(bounded + 1), k=min(bounded + 1, draw.choice((1, 1, 2))))
    amount = draw.randint(1, 12)
    levels = []
    for number in range(bounded):
        levels.append(
            Level(
                name=f"L{number + 1}",
                capacity=Capacity(amount=amount, unit="words"),
                inclusive=False,
                partitions=_partitions(amount),
                buffering=draw.choice((1, 1, 1, 2)) if amount > 1 else 1,
                store=_store(draw, meshed=number in meshes, price=4**number, outermost=False),
            )
        )
        amount = draw.randint(1, 6) * draw.randint(2, 24)
    outermost = _store(draw, meshed=bounded in meshes, price=4 ** (bounded + 1), outermost=True)
    arithmetic = Arithmetic(energy_pj=Fraction(draw.randint(0, 8), 4))
    return Machine(name="tiny", levels=tuple(levels), outermost=outermost, arithmetic=arithmetic)


def _partitions(amount: int) -> tuple[Partition, ...]:
    """Rooms apart for inputs and output in a part of the levels."""
    if amount < 6 or amount % 5:
        return ()
    parts = (("in", "inputs", amount - amount // 3), ("out", "output", amount // 3))
    return tuple(
        Partition(name=name, tensors=(tensors,), capacity=Capacity(amount=words, unit="words"))
        for name, tensors, words in parts
    )


def _store(draw: random.Random, *, meshed: bool, price: int, outermost: bool) -> Store:
    prices = Prices(
        read=Fraction(draw.randint(1, 12) * price, 8),
        fill=Fraction(draw.randint(0, 12) * price, 8),
        update=Fraction(draw.randint(0, 12) * price, 8),
    )
    return Store(
        keeps=() if outermost else _keeps(draw),
        energy_pj=prices,
        ports=_ports(draw),
        block=draw.choice((1, 1, 1, 2, 4)),
        cluster=draw.choice((1, 1, 1, 2)),
        mesh=_mesh(draw) if meshed else Mesh(),
        factors=_factors(draw, 0.08),
        order=_order(draw),
    )


def _order(draw: random.Random) -> tuple[str, ...]:
    """Mostly any order, else some roles with gaps around them."""
    if draw.random() < 0.85:
        return ()
    roles = draw.sample(ROLES, k=draw.choice((1, 2, 2, 3)))
    pattern = [part for role in roles for part in ((GAP, role) if draw.random() < 0.6 else (role,))]
    return (*pattern, GAP) if draw.random() < 0.7 or pattern[0] != GAP else tuple(pattern)


def _keeps(draw: random.Random) -> tuple[tuple[str, KeepRule], ...]:
    if draw.random() < 0.3:
        return ()
    choices = (KeepRule.FREE, KeepRule.FREE, KeepRule.KEPT, KeepRule.REFUSED)
    return ("output", draw.choice(choices)), ("inputs", draw.choice(choices)), ("weight", draw.choice(choices))


def _ports(draw: random.Random) -> Ports:
    rates = (None, None, Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(2), Fraction(5))
    kind = draw.choice(("none", "none", "apart", "shared"))
    if kind == "none":
        return Ports()
    return (
        Ports(shared=draw.choice(rates))
        if kind == "shared"
        else Ports(read=draw.choice(rates), write=draw.choice(rates))
    )


def _mesh(draw: random.Random) -> Mesh:
    return Mesh(
        x=_mesh_axis(draw),
        y=_mesh_axis(draw) if draw.random() < 0.4 else MeshAxis(),
        multicast=draw.random() < 0.85,
        reduction=draw.random() < 0.85,
    )


def _mesh_axis(draw: random.Random) -> MeshAxis:
    dims = tuple(draw.sample(ROLES, k=draw.randint(2, 5))) if draw.random() < 0.3 else None
    return MeshAxis(size=draw.choice((2, 2, 3, 4, 4, 6, 8)), dims=dims, factors=_factors(draw, 0.1))


def _factors(draw: random.Random, chance: float) -> tuple[FactorRule, ...]:
    if draw.random() >= chance:
        return ()
    role = draw.choice(("filters", "channels", "height", "filter_height"))
    relation, value = draw.choice(
        ((Relation.EQUAL, 1), (Relation.AT_MOST, 2), (Relation.AT_LEAST, 2), (Relation.EQUAL, 2))
    )
    return (FactorRule(dim=role, relation=relation, value=value),)
