"""What a mapping method is: what each can do, and who is refused.

A method is a value: routes, each a solve function with what it can do. `refuse` compares a question with them, so that
no solve function asks again. A method of one's own is registered and is then a name like any other:

    def first_point(question: Question) -> Found: ...
    register_method(Method(name="mine", description="...", routes=(Route(objectives=("sum",), solve=first_point),)))

`methods` has them by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from optmap.base.errors import InputError
from optmap.base.shown import Concise, Names
from optmap.base.texts import several
from optmap.machines.machine import CapacityRule, Machine
from optmap.questions.form import FORMS, form_on
from optmap.questions.options import IntegerRule, TileRule
from optmap.search.route import Route
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.search.found import Found
    from optmap.search.question import Question
    from optmap.search.result import Answer

METHODS: Names[Method] = Names()
"""The methods by name, filled by `methods`; each is imported when it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Concise):
    """A way from a workload and a machine to a mapping.

    Raises:
        InputError: for a route outside of `routes`, as there was one before.
    """

    name: str
    """Key in `METHODS`."""
    description: str
    """One line for lists."""
    routes: tuple[Route, ...] = ()
    """Of those for a machine the first that minimises an objective is taken."""
    accelerator: InitVar[object] = None
    """No more: its route is one of `routes`."""

    def __post_init__(self, accelerator: object) -> None:
        if accelerator is not None:
            raise InputError(
                f"method {self.name}: a method has no accelerator= any more; write its route among the others, such as "
                "routes=(explorer(function),)"
            )

    def run(self, question: Question) -> Answer[Any, Any]:
        """Find a mapping, and count it again.

        Raises:
            InputError: for what the method cannot do.
            OptmapError: what its solve function raises.
            CheckError: if a re-check of the answer fails.
        """
        from optmap.search.answer import assemble

        begun = time.monotonic()
        route, asked = self._asked(question)
        return assemble(asked, route.solve(asked), seconds=time.monotonic() - begun)

    def hand_in(self, question: Question, found: Found, *, seconds: float) -> Answer[Any, Any]:
        """The answer that `run` gives if that is what is found, counted again.

        Args:
            question: that was asked.
            found: what another process found for it.
            seconds: that it took there.

        Raises:
            CheckError: if a re-check of the answer fails.
        """
        from optmap.search.answer import assemble

        return assemble(self._asked(question)[1], found, seconds=seconds)

    def _asked(self, question: Question) -> tuple[Route, Question]:
        """The route that answers a question, and the question with its rules."""
        route = refuse(question, self)
        return route, replace(question, method=self.name, tiles=route.rule(question.tiles))

    @property
    def explorer(self) -> Route | None:
        """Its route that has mappings judged one by one; None without one."""
        return next((route for route in self.routes if route.explores), None)

    @property
    def chains(self) -> bool:
        """Whether it is for chains of statements; else for one statement."""
        return any(route.chains for route in self.routes)

    def suits(self, machine: Machine) -> bool:
        """Whether it is for machines of the kind: with or without meshes and prices, a core or not."""
        return any(route.suits(machine) for route in self.routes)

    def minimises(self, machine: Machine) -> tuple[str, ...]:
        """The objectives that it minimises on a machine, its default first."""
        return tuple(dict.fromkeys(name for route in self.routes for name in route.minimises(machine)))

    def objective(self, name: str | None, machine: Machine) -> str:
        """The objective that is asked for, or the method's own.

        Args:
            name: a key of `objectives_on` the machine; None for the method's own.
            machine: what it is asked of.

        Raises:
            InputError: for an objective that the method does not minimise on the machine.
        """
        known = self.minimises(machine)
        if known and name is None:
            return known[0]
        if name not in known:
            offer = f"there it knows {', '.join(known)}" if known else self._depths(machine)
            alike = [m for m in METHODS.values() if m.chains is self.chains]
            others = [m.name for m in alike if (name or _first(m, machine)) in m.minimises(machine)]
            use = f"; use --method {' or '.join(others)}" if others else ""
            asked = f"does not minimise {name} on" if name else "has no objective for"
            raise InputError(f"method {self.name} {asked} {form_on(machine).noun(machine)}: {offer}{use}")
        return str(name)

    def route(self, objective: str, machine: Machine) -> Route:
        """The route that minimises an objective on a machine; one does, as `objective` has found."""
        return next(each for each in self.routes if objective in each.minimises(machine))

    def _depths(self, machine: Machine) -> str:
        """For which machines it is, if not for this one."""
        mine = [route for route in self.routes if route.hands_in(machine)]
        if not mine:
            return "it is for " + next(form.machines for form in FORMS.values() if form.meshes is self.routes[0].meshes)
        if all(route.most_levels == 1 for route in mine):
            return "it is for one level only"
        ranges = [(r.fewest_levels, r.most_levels) for r in mine]
        return "it is for " + " or ".join(f"{a} or more" if b is None else f"{a} to {b}" for a, b in ranges) + " levels"


def refuse(question: Question, method: Method) -> Route:
    """Refuse what a method cannot do, and what no mapping of the machine can, before anything is computed.

    Args:
        question: what is asked.
        method: of whom.

    Returns:
        The route that can.

    Raises:
        InputError: naming the option, and who can.
        InfeasibleError: if no mapping is valid, as where not even one element of every tensor fits.
    """
    machine = question.machine
    objective = method.objective(question.objective.name, machine)
    route = method.route(objective, machine)
    if not route.chains:
        _ = question.workload.only  # or it says what it is instead
    elif question.workload.is_product:
        raise InputError(f"method {method.name} is for chains of statements; leave out --method for one statement")
    if route.fits is not None:
        route.fits(question.workload)
    first = next(each for each in method.routes if each.meshes is route.meshes)
    what = f"method {method.name}" + (f", objective {objective} over levels," if route is not first else "")
    for reason, can in _demands(question, route):
        if not can(route):
            raise InputError(f"{what} {reason}{_who(machine, can, chains=route.chains)}")
    if question.integers is IntegerRule.FLOOR and question.tiles is TileRule.DIVISORS:
        raise InputError("--integers floor rounds tiles down and cannot keep to divisors; use --tiles any")
    if question.integers is IntegerRule.FLOOR and question.constraints:
        raise InputError("--integers floor rounds and evens out tiles as MOpt does; leave it out or --constraint")
    if question.cores > 1:
        _refuse_cores(question)
    _refuse_hopeless(replace(question, tiles=route.rule(question.tiles)))
    return route


def lacking(question: Question) -> str:
    """What the method of a question does not know of its demands, and how to ask for less; empty if it knows all.

    What no mapping meets is not looked for.
    """
    route = METHODS[question.method].route(question.objective.name, question.machine)
    return next((reason for reason, can in _demands(question, route) if not can(route)), "")


def _refuse_hopeless(question: Question) -> None:
    """Refuse what no mapping of the machine can meet."""
    if not question.workload.is_product:
        return  # a method of chains says what it needs
    from optmap.search.answer import handling

    handling(question).refuse_hopeless(question)


def _first(method: Method, machine: Machine) -> str:
    """The objective that a method takes of itself on a machine; empty for none."""
    return next(iter(method.minimises(machine)), "")


Can = Callable[[Route], bool]
"""Whether a route has what is demanded."""
CANNOT = {
    TileRule.ANY: "has no tiles of any size",
    TileRule.DIVISORS: "rounds tiles down and cannot keep to divisors",
    TileRule.PADDED: "pads no dim",
}
"""What is said of a route that does not know a tile rule."""


def _demands(question: Question, route: Route) -> Iterator[tuple[str, Can]]:
    """What a question demands: why this route refuses if it has it not, and which routes have it."""
    levels, tiles = question.machine.levels, question.tiles
    if any(level.rule(question.capacity) is not CapacityRule.TILE for level in levels):
        yield "counts for scratchpads: use --capacity tile", lambda route: question.capacity in route.capacity
    if question.workload.semantics is Semantics.ASSIGN:
        yield "loads every output: use --semantics accumulate", lambda route: Semantics.ASSIGN in route.semantics
    from optmap.count.policies import nest_policies

    known = " or ".join(name for name, policy in nest_policies().items() if route.counts(policy))
    yield (
        f"does not count as {question.counting} does; use --counting {known}",
        lambda route: route.counts(question.counting),
    )
    if question.cores > 1:
        yield "is for one core; use --cores 1", lambda route: route.cores
    if question.integers is IntegerRule.FLOOR:
        yield "searches whole tiles; leave out --integers floor", lambda route: question.integers in route.integers
    if question.top > 1:
        yield "hands in one mapping; leave out --top", lambda route: route.tops
    if question.confirm:
        yield "proves nothing a second time; leave out --confirm", lambda route: route.confirms
    searched = {"--set": question.settings, "--evaluations": question.evaluations, "--journal": question.journal}
    for option in (option for option, value in searched.items() if value):
        yield f"is no search that has mappings judged; leave out {option}", lambda route: route.explores
    if question.constraints:
        yield (
            f"searches tiles and loop orders of its own; leave out --constraint ({question.constraints.text})",
            lambda route: route.constraints,
        )
    if question.solver is not None:
        yield "solves no relaxation; leave out --solver", lambda route: route.solver
    yield f"{CANNOT[tiles]}; use --tiles {' or '.join(route.rules)}", lambda route: route.rule(tiles) in route.rules
    for level in levels:
        lacking = set(route.traits).difference(name for name, _ in level.traits)
        if lacking:
            yield (
                f"asks every level for {', '.join(sorted(lacking))}, of which {level.name} says nothing; write for "
                f"example `traits: {{{min(lacking)}: 1}}` there",
                partial(_asks_nothing_of, lacking),
            )
        if level.microkernel is not None:
            yield (
                f"does not impose the microkernel of {level.name}; leave the register level out "
                "(--innermost with the next level)",
                lambda route: route.microkernels,
            )
        if level.partitions:
            parts = ", ".join(part.name for part in level.partitions)
            yield (
                f"does not know the partitions of {level.name} ({parts}); use a machine without partitions",
                lambda route: route.partitions or route.meshes,
            )


def _asks_nothing_of(traits: set[str], route: Route) -> bool:
    """Whether a route does without some traits."""
    return traits.isdisjoint(route.traits)


def _who(machine: Machine, can: Can, *, chains: bool) -> str:
    """The first method that can, for chains or not, with its objective on the machine; empty for none."""
    for method in METHODS.values():
        for route in method.routes:
            if route.chains is chains and can(route) and route.minimises(machine):
                return f", or --method {method.name} and its {route.minimises(machine)[0]}"
    return ""


def _refuse_cores(question: Question) -> None:
    """Refuse more cores than the machine can share a level among."""
    machine, cores = question.machine, question.cores
    level = machine.split_level(cores)
    if level is None:
        raise InputError(f"machine {machine.name} has no shared level to split among {several(cores, 'core')}; use 1")
    if cores > machine.cores:
        raise InputError(f"machine {machine.name} has {several(machine.cores, 'core')}, {cores} were asked for")
    shared = machine.levels[level]
    if cores > shared.fanout:
        raise InputError(
            f"machine {machine.name}: {shared.name} feeds {shared.fanout} of the {machine.cores} cores, and one level "
            f"alone splits the work; use --cores {shared.fanout} or fewer"
        )
