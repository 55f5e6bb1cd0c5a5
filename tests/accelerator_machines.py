"""Small accelerators and mappings on them, for the tests of answers, checks and sweeps there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from optmap.count.meshes.count import count_nest
from optmap.count.meshes.rules import broken_rules
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.objective import MERITS
from optmap.questions.options import Merit
from optmap.search import Found, Question, Route
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

CONVOLUTION = "O[k,p,q] = I[c,p+r,q+s] * W[k,c,r,s]"
EXTENTS = {"k": 4, "c": 3, "p": 6, "q": 4, "r": 3, "s": 2}


def grid_machine(*, free: bool = True, ports: bool = True) -> Machine:
    """Registers under a 4 x 3 mesh below a buffer with limited ports."""
    bypass = KeepRule.FREE if free else KeepRule.KEPT
    registers = Store(
        keeps=(("output", bypass), ("weight", KeepRule.KEPT), ("input", bypass)),
        energy_pj=Prices(read=0.96, fill=0.96, update=0.96),
    )
    buffer = Store(
        keeps=(("output", KeepRule.KEPT), ("input", KeepRule.KEPT), ("weight", KeepRule.REFUSED)),
        energy_pj=Prices(read=13.5, fill=13.5, update=14.25),
        ports=Ports(read=4, write=4) if ports else Ports(),
        block=2,
        mesh=Mesh(x=MeshAxis(size=4), y=MeshAxis(size=3)),
    )
    dram = Store(energy_pj=Prices(read=200, fill=200, update=200), ports=Ports(shared=2) if ports else Ports())
    return Machine(
        name="grid",
        levels=(
            Level(name="Registers", capacity=Capacity(amount=24, unit="words"), store=registers),
            Level(name="Buffer", capacity=Capacity(amount=160, unit="words"), store=buffer),
        ),
        memory="DRAM",
        outermost=dram,
        arithmetic=Arithmetic(energy_pj=Fraction("0.56")),
    )


def convolution(**extents: int) -> Workload:
    """A small convolution that assigns."""
    return parse_workload(CONVOLUTION, {**EXTENTS, **extents})


def factorings(number: int, parts: int, generator: random.Random) -> list[int]:
    """A random split of a number into so many factors."""
    found = [1] * parts
    rest, prime = number, 2
    while rest > 1:
        if rest % prime == 0:
            found[generator.randrange(parts)] *= prime
            rest //= prime
        else:
            prime += 1
    return found


def random_nest(fabric: Fabric, generator: random.Random, extents: tuple[int, ...] | None = None) -> Nest:
    """A mapping with random factors, orders and bypass; it may break capacities and meshes."""
    sizes = fabric.extents if extents is None else extents
    places = 3 * len(fabric.memories)
    shares = [factorings(size, places, generator) for size in sizes]
    memories = []
    for number, memory in enumerate(fabric.memories):
        x, y, t = ([share[3 * number + axis] for share in shares] for axis in range(3))
        for ways, axis in ((x, memory.x), (y, memory.y)):
            if axis.size == 1:
                t = [a * b for a, b in zip(t, ways, strict=True)]
                ways[:] = [1] * len(ways)
        loops = [(dim, trips) for dim, trips in enumerate(t) if trips > 1]
        generator.shuffle(loops)
        keeps = tuple(
            keep is KeepRule.KEPT or (keep is KeepRule.FREE and generator.random() < 0.5) for keep in memory.keeps
        )
        memories.append(MemoryNest(x=tuple(x), y=tuple(y), temporal=tuple(loops), keeps=keeps))
    return Nest(memories=tuple(memories))


def valid_nests(fabric: Fabric, seed: int, tries: int = 4000) -> Iterator[Nest]:
    """Random mappings that are valid."""
    generator = random.Random(seed)
    for _ in range(tries):
        nest = random_nest(fabric, generator)
        if not broken_rules(nest, fabric):
            yield nest


def sampled(question: Question) -> Found:
    """A stand-in for a search: the best of random mappings, which proves nothing."""
    found = min(
        valid_nests(question.fabric, question.seed, 150),
        key=lambda nest: count_nest(nest, question.fabric, question.counting).merit(question.merit),
    )
    return Found(mapping=found, evaluations=150, space="150 random mappings")


MESHED = Route(solve=sampled, objectives=("edp", "energy", "cycles", "traffic"), meshes=True)
"""The route of that search."""


def asked(fabric: Fabric, merit: Merit = Merit.EDP, **options: Any) -> Question:
    """The question for the best mapping of a workload onto a machine."""
    return Question(workload=fabric.workload, machine=fabric.machine, objective=MERITS[merit], **options)


def small_fabric(machine: Machine | None = None, **extents: int) -> Fabric:
    """The small convolution on the small machine."""
    return fabric_of(convolution(**extents), grid_machine() if machine is None else machine)


def assigned(workload: Workload) -> Workload:
    """The workload with outputs that start empty."""
    return replace(workload, semantics=Semantics.ASSIGN)


def wired_machine() -> Machine:
    """The same with priced wires, clusters of instances, and blocks that do not divide."""
    machine = grid_machine()
    registers, buffer = machine.levels
    inner = replace(registers.store or Store(), cluster=5, block=3)
    outer = replace(buffer.store or Store(), hop_pj=Fraction(1, 4), router_pj=Fraction(1, 8), cluster=2)
    return replace(machine, levels=(replace(registers, store=inner), replace(buffer, store=outer)))
