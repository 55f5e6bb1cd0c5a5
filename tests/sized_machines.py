"""Accelerators whose costs depend on the bits of elements, and what they cost counted one element after the other.

Nothing here comes from `optmap.machines.elements` or `optmap.count.meshes.prices`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import ceil

from optmap.count.meshes.results import SpatialCost
from optmap.machines.accelerator import Ports, Prices, Store
from optmap.machines.fabric import Fabric
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload

WIDTHS = (4, 8, 16, 32, 1, 12, 24)


def with_bits(workload: Workload, bits: list[int]) -> Workload:
    """The workload with elements of these sizes, the output first; accesses to one tensor have the first's."""
    sizes: dict[str, int] = {}
    for tensor, own in zip(workload.tensors, bits, strict=True):
        sizes.setdefault(tensor.name, own)
    return workload.with_accesses([replace(tensor, bits=sizes[tensor.name]) for tensor in workload.tensors])


def random_bits(workload: Workload, draw: random.Random) -> Workload:
    """The workload with elements of random sizes, of one or of several."""
    if draw.random() < 0.3:
        return with_bits(workload, [draw.choice(WIDTHS[:4])] * len(workload.tensors))
    return with_bits(workload, [draw.choice(WIDTHS) for _ in workload.tensors])


def sized_store(store: Store, draw: random.Random) -> Store:
    """A store with prices per bit, ports in bytes, packed entries: each or none of them."""
    per_bit = [Fraction(draw.randint(0, 9), 16) for _ in range(3)] if draw.random() < 0.5 else [Fraction(0)] * 3
    bits = draw.choice((8, 16, 16, 32, 64, 20))
    ports = store.ports
    if draw.random() < 0.5:
        rates = {key: getattr(ports, key) for key in ("read", "write", "shared")}
        times = draw.choice((1, 2, Fraction(3, 2)))
        ports = Ports(unit="bytes", **{key: rate if rate is None else rate * times for key, rate in rates.items()})
    pack = draw.random() < 0.6
    return replace(
        store,
        energy_pj=Prices() if draw.random() < 0.2 else store.energy_pj,
        energy_pj_per_bit=Prices(read=per_bit[0], fill=per_bit[1], update=per_bit[2]),
        word_bits=bits if pack or draw.random() < 0.4 else None,
        pack=pack,
        ports=ports,
    )


def sized_machine(machine: Machine, draw: random.Random) -> Machine:
    """The machine with such stores; some capacities are in bytes."""
    levels = []
    for level in machine.levels:
        times = draw.choice((1, 2, 4)) if draw.random() < 0.4 else 0

        def resized(capacity: Capacity, times: int = times) -> Capacity:
            return Capacity(amount=capacity.amount * times, unit="bytes") if times else capacity

        parts = tuple(replace(part, capacity=resized(part.capacity)) for part in level.partitions)
        store = sized_store(level.store or Store(), draw)
        levels.append(replace(level, capacity=resized(level.capacity), partitions=parts, store=store))
    return replace(machine, levels=tuple(levels), outermost=sized_store(machine.stores[-1], draw))


def filled(elements: int, bits: int, word: int) -> int:
    """Entries that elements fill, laid down one after the other, none across two entries that fits into one."""
    entries = free = 0
    for _ in range(elements):
        if bits > word:
            entries, left = entries + 1, bits - word
            while left > 0:
                entries, left = entries + 1, left - word
        else:
            if free < bits:
                entries, free = entries + 1, word
            free -= bits
    return entries


def levels_of(fabric: Fabric) -> list[tuple[Level | None, Store]]:
    """Levels with their stores, inner to outer; None for the unbounded memory."""
    return list(zip((*fabric.machine.levels, None), fabric.machine.stores, strict=True))


def literal_energy(fabric: Fabric, cost: SpatialCost) -> Fraction | None:
    """Energy of the memories, of counts; None where those of one instance are no whole numbers."""
    total = Fraction(0)
    bits = {operand.name: t.bits for operand, t in zip(fabric.operands, fabric.workload.tensors, strict=True)}
    for number, ((_, store), memory) in enumerate(zip(levels_of(fabric), cost.memories, strict=True)):
        paid = min(memory.instances, max(1, fabric.instances(number) // store.cluster))
        for row in memory.accesses:
            size = bits[row.operand]
            for kind, count in (("read", row.reads), ("fill", row.fills), ("update", row.updates)):
                each, rest = divmod(count, memory.instances)
                if rest:
                    return None
                entries = filled(each, size, store.word_bits or 0) if store.pack else each
                accesses = len(range(0, entries, store.block))
                total += paid * accesses * Fraction(getattr(store.energy_pj, kind))
                total += paid * each * size * Fraction(getattr(store.energy_pj_per_bit, kind))
    return total


def literal_port_cycles(fabric: Fabric, cost: SpatialCost) -> list[int]:
    """Cycles of the slowest port of every memory."""
    found = []
    bits = {operand.name: t.bits for operand, t in zip(fabric.operands, fabric.workload.tensors, strict=True)}
    for (_, store), memory in zip(levels_of(fabric), cost.memories, strict=True):

        def passing(words: int, size: int, store: Store = store) -> Fraction:
            if store.ports.unit == "bytes":
                return Fraction(words * size, 8)
            if not store.pack or store.word_bits is None:
                return Fraction(words)
            return (
                Fraction(words * filled(10_000, size, store.word_bits), 10_000)
                if size > store.word_bits
                else (Fraction(words, next(n for n in range(1, 10_000) if filled(n + 1, size, store.word_bits) > 1)))
            )

        read = sum((passing(row.reads, bits[row.operand]) for row in memory.accesses), Fraction(0))
        write = sum((passing(row.fills + row.updates, bits[row.operand]) for row in memory.accesses), Fraction(0))
        ports = ((store.ports.read, read), (store.ports.write, write), (store.ports.shared, read + write))
        found.append(
            max((ceil(n / Fraction(rate) / memory.instances) for rate, n in ports if rate is not None), default=0)
        )
    return found


def literal_rooms(fabric: Fabric, cost: SpatialCost) -> list[list[tuple[int, int]]]:
    """(words that the tiles take, words that there are) of every part of every memory."""
    found: list[list[tuple[int, int]]] = []
    names = [operand.name for operand in fabric.operands]
    tensors, roles = dict(zip(names, fabric.workload.tensors, strict=True)), {"output": names[:1], "inputs": names[1:]}
    for (level, store), memory in zip(levels_of(fabric), cost.memories, strict=True):
        parts = [] if level is None else [(names, level.capacity)]
        if level is not None and level.partitions:
            parts = [([n for t in part.tensors for n in roles[t]], part.capacity) for part in level.partitions]
        own = []
        for held, capacity in parts:
            total = capacity.amount if capacity.unit == "words" else 8 * capacity.amount
            word = 1 if capacity.unit == "words" else (store.word_bits or fabric.workload.word_bits)
            entries = capacity.unit == "words" or store.word_bits is not None
            used = 0
            for row in memory.accesses:
                if row.operand in held:
                    size = tensors[row.operand].bits
                    plain = 1 if entries else size // fabric.workload.word_bits
                    used += filled(row.tile_words, size, store.word_bits or 0) if store.pack else plain * row.tile_words
            own.append((used, total // word // (1 if level is None else level.buffering)))
        found.append(own)
    return found
