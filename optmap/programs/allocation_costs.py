"""The part of the allocation program that prices words: energy per kind of access, cycles of limited ports."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any, NamedTuple

import pyomo.environ as pyo

from optmap.machines.fabric import Fabric, Memory
from optmap.programs.allocation_frame import DEEP, NONE, AllocationModel
from optmap.programs.allocation_traffic import Link, Traffic, TrafficTerm, output_words

Curve = tuple[str, str]
"""Names of a variable and of the one whose exponential it is at least."""


def add_energy(frame: AllocationModel, traffic: Traffic, *, reference: float, timed: bool) -> list[Curve]:
    """Energy, or energy times cycles, over a reference: a share per kind of access.

    Args:
        frame: the model; it gets its objective.
        traffic: its links.
        reference: in pJ or pJ*cycles.
        timed: whether energy is multiplied by cycles.
    """
    model, fabric = frame.model, frame.layout.fabric
    terms = list(_energy_terms(traffic))
    model.energy = pyo.Var([term.name for term in terms], bounds=(0, None))
    model.energy_log = pyo.Var([term.name for term in terms])
    model.priced = pyo.ConstraintList()
    curves = []
    for term in terms:
        here = model.energy_log[term.name]
        full = term.log_words - log(reference) + (model.cycles if timed else 0.0)
        slack = term.largest - log(reference) + (model.cycles.ub if timed else 0.0) + DEEP
        model.priced.add(here >= full - sum(slack * (1 - switch) for switch in term.switches))
        curves.append((model.energy[term.name].name, here.name))
    arithmetic = float(fabric.operations * fabric.arithmetic_pj) / reference
    total = sum(model.energy[term.name] for term in terms)
    if arithmetic and timed:
        model.computing, model.computing_log = pyo.Var(bounds=(0, None)), pyo.Var()
        model.priced.add(model.computing_log >= log(arithmetic) + model.cycles)
        curves.append((model.computing.name, model.computing_log.name))
        total += model.computing
    elif arithmetic:
        total += arithmetic
    model.cost = pyo.Objective(expr=total, sense=pyo.minimize)
    return curves


def _energy_terms(traffic: Traffic) -> Iterator[TrafficTerm]:
    """Energy of every kind of access, as logs of pJ."""
    fabric = traffic.frame.layout.fabric
    most = log(fabric.operations)
    for link in traffic.links:
        operand = fabric.operands[link.operand]
        outer = fabric.memories[link.outer]
        name = f"{operand.name},{outer.name},{'arithmetic' if link.inner == NONE else fabric.memories[link.inner].name}"
        on = () if isinstance(link.switch, float) else (link.switch,)
        read, _, update = _prices(fabric, link.outer, link.operand)
        fill = 0.0 if link.inner == NONE else _prices(fabric, link.inner, link.operand).fill
        if operand.output:
            for inside, each, first in ((False, read + update, read), (True, fill, fill)):
                found = output_words(traffic, link, inside=inside, per_visit=each, first=first) if each else None
                if found is not None:
                    kind = "fill" if inside else "update"
                    yield _term(f"{name},{kind}", link, found[0], (*on, *found[1]), most + found[2])
            continue
        for kind, price, words in (("read", read, link.reads), ("fill", fill, link.fills)):
            if price:
                yield _term(f"{name},{kind}", link, words + log(price), on, most + log(price))


def _term(name: str, link: Link, words: Any, switches: tuple[Any, ...], largest: float) -> TrafficTerm:
    return TrafficTerm(name=name, memory=link.outer, log_words=words, switches=switches, largest=largest)


class _Prices(NamedTuple):
    read: float
    fill: float
    update: float


def _prices(fabric: Fabric, number: int, operand: int) -> _Prices:
    """Energy per element, in pJ, of every kind of access, if blocks and clusters are full."""
    shared = fabric.clusters(number) / fabric.instances(number)
    return _Prices(*(float(price) * shared for price in fabric.memories[number].elements[operand].least_pj))


def add_ports(frame: AllocationModel, traffic: Traffic) -> list[Curve]:
    """Cycles that every limited port needs: words over instances and rate, at most 1 per cycle."""
    model, fabric = frame.model, frame.layout.fabric
    wanted = [
        (memory.name, port, term)
        for number, memory in enumerate(fabric.memories)
        for port, rate, reads, writes in _port_kinds(memory)
        for term in _port_terms(traffic, number, reads=reads, writes=writes, rate=float(rate))
    ]
    names = [(memory, port, term.name) for memory, port, term in wanted]
    model.port_share, model.port_log = pyo.Var(names, bounds=(0, 1)), pyo.Var(names, bounds=(None, 0))
    model.port = pyo.ConstraintList()
    curves = []
    for memory, port in dict.fromkeys((m, p) for m, p, _ in names):
        model.port.add(sum(model.port_share[key] for key in names if key[:2] == (memory, port)) <= 1)
    for memory, port, term in wanted:
        key = (memory, port, term.name)
        here = model.port_log[key]
        above = frame.layout.meshes(term.memory, len(fabric.memories) - 1)
        instances = sum(frame.trips(dim, stage) for stage in above for dim in frame.layout.chains)
        slack = term.largest + DEEP + (60.0 if model.cycles.lb < 0 else 0.0)
        full = term.log_words - instances - model.cycles
        model.port.add(here >= full - sum(slack * (1 - switch) for switch in term.switches))
        curves.append((model.port_share[key].name, here.name))
    return curves


def _port_kinds(memory: Memory) -> Iterator[tuple[str, Any, bool, bool]]:
    kinds = (
        ("read", memory.read_rate, True, False),
        ("write", memory.write_rate, False, True),
        ("shared", memory.shared_rate, True, True),
    )
    return (kind for kind in kinds if kind[1] is not None)


def _port_terms(traffic: Traffic, number: int, *, reads: bool, writes: bool, rate: float) -> Iterator[TrafficTerm]:
    """Words that pass a port of a memory, over its rate."""
    fabric = traffic.frame.layout.fabric
    for link in traffic.links:
        operand = fabric.operands[link.operand]
        elements = rate / float(fabric.memories[number].elements[link.operand].passing)
        most = log(fabric.operations) - log(elements)
        on = () if isinstance(link.switch, float) else (link.switch,)
        other = "arithmetic" if link.inner == NONE else fabric.memories[link.inner].name
        for inside in (False, True):
            if number != (link.inner if inside else link.outer):
                continue
            name = f"{operand.name},{other},{'fill' if inside else 'serve'},{fabric.memories[link.outer].name}"
            if operand.output:
                each = (1.0 if writes else 0.0) + (1.0 if reads and not inside else 0.0)
                first = (1.0 if writes else 0.0) if inside else (1.0 if reads else 0.0)
                found = output_words(traffic, link, inside=inside, per_visit=each, first=first) if each else None
                if found is not None:
                    term = _term(name, link, found[0] - log(elements), (*on, *found[1]), most + found[2])
                    yield _at(term, number)
            elif writes if inside else reads:
                words = link.fills if inside else link.reads
                yield _at(_term(name, link, words - log(elements), on, most), number)


def _at(term: TrafficTerm, memory: int) -> TrafficTerm:
    return TrafficTerm(
        name=term.name, memory=memory, log_words=term.log_words, switches=term.switches, largest=term.largest
    )
