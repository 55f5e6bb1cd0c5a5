"""What no schedule of several statements in turn goes below, on a machine with meshes and prices.

A mapping is a tree that is read as nests in turn (`mappings.parts`). Every cost in it is of a nest, which belongs to a
statement, or of a tensor that is brought to stay; give the latter to the first statement that touches the tensor (to
the one that makes it, if one does). Then costs are shared out, and each statement has at least the floor that it has by
itself (`answers.proofs.floor`), on a machine on which the tensors that it gets from elsewhere at no cost are *given*:

- an intermediate in some level of one instance that may keep it, or not at all (then it comes from the outermost
  memory, or goes there);
- likewise a tensor that an earlier statement touches as well, and one that it reads twice: brought to stay it comes
  once for both reads, for which the floor of a statement by itself has a price each.

The nests of a statement, one after the other, are a schedule of it on that machine: each begins with memories that
hold nothing of it but what is given, and what other statements keep meanwhile only takes room. The bounds on words that
cross are those of the statement on the machine as it is: to the words of all memories inside a boundary a rule on who
keeps what only takes away. They are used where all tensors of the statement cross. The least over all choices holds
whatever the mapping chooses. Multiply-accumulates cost what they cost; statements are done in turn, so that
energies and cycles add up, each statement having at least its own; the product of both sums is the floor of
energy-delay. Of a statement under conditions the floor is that of a box of its points that meet them: whoever does all
of them does these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from optmap.answers.proofs.floor import crossings_of, refuse_below
from optmap.answers.proofs.mesh_bound import MeshBound
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.texts import plain
from optmap.bounds.mesh_least import least_of
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import homes_of, with_given
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.search.floors import StatementFloor, TurnFloor
from optmap.search.question import understood
from optmap.search.result import Answer
from optmap.solvers.status import Stop
from optmap.workloads.chain import TensorRole
from optmap.workloads.inner_box import inner_box
from optmap.workloads.single import has_nest, product_alone
from optmap.workloads.workload import Workload

REACHED = "the floor of every schedule in turn, which the mapping reaches"


def with_turn_floor(answer: Answer[Any, Any], clock: Clock = NO_LIMIT) -> Answer[Any, Any]:
    """The answer with the floor of every schedule in turn.

    Raises:
        ContradictionError: if the mapping is below it: one of the two is wrong.
    """
    floor, notes = turn_floor(answer.workload, answer.machine, clock)
    refuse_below(answer, floor)
    bounded = replace(answer.noting(*notes), floor=floor)
    least = floor.of(answer.question.objective)
    counted_so = answer.count.value_of(answer.question.objective, answer.workload, answer.machine)
    return _proved(bounded, least) if counted_so == answer.exact_count.merit(answer.merit) == least else bounded


def _proved(answer: Answer[Any, Any], least: Fraction) -> Answer[Any, Any]:
    """An answer that costs what every mapping does at least: no search was needed to prove that.

    A relaxation of nothing is none, and is never called proved.
    """
    known = replace(answer.relaxation, value=plain(least), proved=least > 0, formulation=REACHED)
    found = replace(answer.found, relaxation=known, bound=least, proved=True, proof=REACHED)
    return replace(answer, found=found, stop=Stop.OPTIMAL)


def turn_floor(workload: Workload, machine: Machine, clock: Clock = NO_LIMIT) -> tuple[TurnFloor, tuple[str, ...]]:
    """The floor of a chain, and notes about boundaries without a bound.

    Args:
        workload: products, and functions in place or of rows, of which nothing is counted here.
        machine: with meshes and prices.
        clock: when boundaries get compulsory traffic alone, with a note.

    Raises:
        InputError: for a statement that is neither, by name.
    """
    found, notes = list[StatementFloor](), list[str]()
    for each in workload.statements:
        if not has_nest(workload, each.name):
            continue
        box = inner_box(each, workload.extents) if each.domain else {}
        left = {**workload.extents, **{dim: len(values) for dim, values in box.items()}}
        alone = product_alone(workload, each.name, left)
        fabric = fabric_of(alone, machine)
        crossings, own = crossings_of(fabric, clock)
        notes += [f"{each.name}: {note}" for note in own]
        words = {number: crossing.words for number, crossing in crossings.items()}
        merits = [least_of(fabric_of(alone, given), words) for given in _given(workload, machine, each.name, fabric)]
        found.append(
            StatementFloor(
                statement=each.name,
                energy_pj=min(merit.energy_pj for merit in merits),
                cycles=min(merit.cycles for merit in merits),
                port_cycles=min(merit.port_cycles for merit in merits),
                certificates=tuple(crossings[number] for number in sorted(crossings)),
                box=tuple((d, v.start, v.stop) for d, v in box.items() if len(v) < workload.extents[d]),
            )
        )
    return TurnFloor(statements=tuple(found)), tuple(notes)


def mesh_bound(workload: Workload, machine: Machine, objective: Objective) -> MeshBound:
    """The floor of an objective.

    Args:
        workload: products, and functions in place or of rows, of which nothing is counted here.
        machine: with meshes and prices.
        objective: energy, cycles, their product, or cycles of ports.

    Raises:
        InputError: for a statement that is neither, or if workload and machine do not go together.
    """
    problem, notes = understood(workload, machine)
    floor, more = turn_floor(problem, machine)
    return MeshBound(workload=problem, machine=machine, objective=objective, floor=floor, notes=(*notes, *more))


def _given(workload: Workload, machine: Machine, name: str, fabric: Fabric) -> Iterator[Machine]:
    """The machine with every choice of levels for what a statement may get at no cost."""
    tensors = handed_on(workload, name)
    names = [access.name for access in fabric.workload.tensors]
    places = [[place for place, name in enumerate(names) if name == tensor] for tensor in tensors]
    choices = [[machine.memory, *homes_of(fabric, mine)] for mine in places]
    for homes in product(*choices):
        given = with_given(machine, fabric.workload, dict(zip(tensors, homes, strict=True)))
        if given is not None:
            yield given


def handed_on(workload: Workload, name: str) -> tuple[str, ...]:
    """Names of the tensors that a statement may get, or hand on, at no cost of its own.

    Args:
        workload: the chain.
        name: of one of its products.
    """
    stored = workload.stored_as
    earlier = set[str]()
    for each in workload.statements:
        if each.name == name:
            break
        earlier |= {stored[access.name] for access in each.accesses}
    accesses = workload.statement(name).accesses
    times = Counter(stored[access.name] for access in accesses)
    found = (
        access.name
        for access in accesses
        if stored[access.name] in earlier
        or workload.roles[stored[access.name]] is TensorRole.INTERMEDIATE
        or times[stored[access.name]] > 1
    )
    return tuple(dict.fromkeys(found))
