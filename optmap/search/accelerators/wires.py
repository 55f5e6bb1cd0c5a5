"""Prices of wires, which no search bounds: it goes without them, and its bound holds with them, too.

Hops of a word depend on how children stand on their mesh, along x or y and in which order; nothing else that is counted
depends on that. They only add energy, so the bound without them is one with them; the mapping found is split among the
axes of its meshes in the best way and counted with them, and is proved the best only where it has none to pay. The
curve of the search is of numbers without them: an answer has its end alone, with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from optmap.count.meshes.count import count_nest
from optmap.machines.machine import Machine
from optmap.questions.options import Merit
from optmap.search.accelerators.arrange import arranged
from optmap.search.curve import Improvement
from optmap.search.found import Found
from optmap.search.question import Question

NOTE = (
    "hops and routers of meshes are in the energy, but not in the search: its bound leaves them out, and another "
    "mapping may have shorter wires"
)


def without_wires(machine: Machine) -> Machine:
    """The same accelerator with wires and routers that cost nothing."""
    *stores, outermost = (replace(store, hop_pj=0, router_pj=0) for store in machine.stores)
    levels = tuple(replace(level, store=store) for level, store in zip(machine.levels, stores, strict=True))
    return replace(machine, levels=levels, outermost=outermost)


def searched(question: Question) -> Question:
    """What a search is asked that knows no wires: the same question if they have no price or energy does not matter."""
    if not are_priced(question):
        return question
    return replace(question, machine=without_wires(question.machine))


def answered(question: Question, found: Found) -> Found:
    """What a search of `searched(question)` found, as an answer to the question."""
    free = searched(question)
    if free is question:
        return found
    found = replace(found, mapping=arranged(found.nest, question.fabric, question.counting, question.clock))
    value = count_nest(found.nest, free.fabric, question.counting).merit(question.merit)
    paid = count_nest(found.nest, question.fabric, question.counting).merit(question.merit)
    trace = found.trace
    if trace is not None:
        trace = replace(trace, value=float(paid), curve=list(_end(trace.curve, paid)))
    found = replace(found, claimed=None, trace=trace, curve=_end(found.curve, paid))
    if paid == value:
        return found
    return replace(found, bound=min(Fraction(found.bound or 0), value), proved=False, notes=(*found.notes, NOTE))


def _end(curve: Sequence[Improvement], paid: Fraction) -> tuple[Improvement, ...]:
    """When the best was found, at what it costs; what the best ones before would cost with wires is not known."""
    return tuple(replace(point, value=float(paid)) for point in curve[-1:])


def are_priced(question: Question) -> bool:
    """Whether words pay for wires on a question's machine, and energy matters to it."""
    return any(store.wired for store in question.machine.stores) and question.merit in (Merit.ENERGY, Merit.EDP)
