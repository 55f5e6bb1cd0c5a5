"""What a mapping method is: what each can do, and who is refused.

A method is a value: routes, each a solve function with what it can do. `refuse` reads that, so that no
solve function asks again. A method of one's own is registered and is then a name like any other:

    def first_point(request: Request) -> Found: ...
    register_method(Method(name="mine", description="...", routes=(Route(objectives=("sum",), solve=first_point),)))

`methods` has them by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.options import IntegerRule, TileRule
from optmap.problem.workload import Semantics
from optmap.search.accelerators.route import AcceleratorRoute
from optmap.search.route import Route

if TYPE_CHECKING:
    from optmap.search.accelerators.request import AcceleratorRequest
    from optmap.search.accelerators.result import AcceleratorResult
    from optmap.search.request import Request
    from optmap.search.result import SolveResult

METHODS: dict[str, Method] = {}
"""The methods by name, filled by `methods`; each is imported when it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way from a workload and a machine to a mapping."""

    name: str
    """Key in `METHODS`."""
    description: str
    """One line for lists."""
    routes: tuple[Route, ...] = ()
    """On machines without fanouts: the first that minimises an objective on a machine is taken."""
    accelerator: AcceleratorRoute | None = None
    """On accelerators; None if it is not for them."""

    def run(self, request: Request) -> SolveResult:
        """Find a mapping, and count it again.

        Raises:
            InputError: for what the method cannot do.
            OptmapError: what its solve function raises.
            CheckError: if a re-check of the answer fails.
        """
        from optmap.search.answer import assemble

        begun = time.monotonic()
        found = refuse(request, self).solve(request)
        return assemble(request, self.name, found, seconds=time.monotonic() - begun)

    def map(self, request: AcceleratorRequest) -> AcceleratorResult:
        """Find a mapping on an accelerator, and count it again.

        Raises:
            InputError: for what the method cannot do.
            OptmapError: what its solve function raises.
            CheckError: if a re-check of the answer fails.
        """
        from optmap.search.accelerators.answer import assemble_nest

        begun = time.monotonic()
        route = self.route_on(request.fabric.machine, request.merit)
        route.refuse(request, self.name)
        found = route.solve(request)
        return assemble_nest(request, self.name, found, seconds=time.monotonic() - begun)

    def route_on(self, machine: Machine, merit: str | None = None) -> AcceleratorRoute:
        """Its route on an accelerator.

        Raises:
            InputError: if it has none, or does not minimise the merit.
        """
        self.objective(merit, machine)
        if self.accelerator is None:
            raise InputError(f"method {self.name} has no way on accelerators")
        return self.accelerator

    def suits(self, machine: Machine) -> bool:
        """Whether it is for machines of the kind: accelerators, or those without fanouts and prices."""
        if machine.meshed:
            return self.accelerator is not None
        return any(machine.core is not None or not route.needs_core for route in self.routes)

    def minimises(self, machine: Machine) -> tuple[str, ...]:
        """The objectives that it minimises on a machine, its default first."""
        if machine.meshed:
            return () if self.accelerator is None else tuple(merit.value for merit in self.accelerator.merits)
        return tuple(dict.fromkeys(name for route in self.routes for name in route.minimises(machine)))

    def objective(self, name: str | None, machine: Machine) -> str:
        """The objective that is asked for, or the method's own.

        Args:
            name: a key of `OBJECTIVES`; None for the method's own.
            machine: what it is asked of.

        Raises:
            InputError: for an objective that the method does not minimise on the machine.
        """
        known = self.minimises(machine)
        if known and name is None:
            return known[0]
        if name not in known:
            levels = _kind(machine)
            offer = f"there it knows {', '.join(known)}" if known else self._depths(machine)
            others = [m.name for m in METHODS.values() if (name or _first(m, machine)) in m.minimises(machine)]
            use = f"; use --method {' or '.join(others)}" if others else ""
            asked = f"does not minimise {name} on" if name else "has no objective for"
            raise InputError(f"method {self.name} {asked} {levels}: {offer}{use}")
        return str(name)

    def _depths(self, machine: Machine) -> str:
        """For which machines it is, if not for this one."""
        if machine.meshed:
            return "it is for machines without fanouts and prices"
        if not self.routes:
            return "it is for accelerators, machines with fanouts and prices"
        if all(route.most_levels == 1 for route in self.routes):
            return "it is for one level only"
        ranges = [(r.fewest_levels, r.most_levels) for r in self.routes]
        return "it is for " + " or ".join(f"{a} or more" if b is None else f"{a} to {b}" for a, b in ranges) + " levels"


def refuse(request: Request, method: Method) -> Route:
    """Refuse what a method cannot do, and what no mapping of the machine can, before anything is computed.

    Args:
        request: what is asked.
        method: of whom.

    Returns:
        The route that can.

    Raises:
        InputError: naming the option, and who can.
        InfeasibleError: if not even one element of every tensor fits.
    """
    machine = request.machine
    objective = method.objective(request.objective.name, machine)
    route = next(each for each in method.routes if objective in each.minimises(machine))
    if route.fits is not None:
        route.fits(request.workload)
    what = f"method {method.name}" + (f", objective {objective} over levels," if route is not method.routes[0] else "")
    for reason, can in _demands(request):
        if not can(route):
            raise InputError(f"{what} {reason}{_who(machine, can)}")
    if request.integers is IntegerRule.FLOOR and request.tiles is TileRule.DIVISORS:
        raise InputError("--integers floor rounds tiles down and cannot keep to divisors; use --tiles any")
    if request.integers is IntegerRule.FLOOR and request.constraints:
        raise InputError("--integers floor rounds and evens out tiles as MOpt does; leave it out or --constraint")
    if request.cores > 1:
        _refuse_cores(request)
    from optmap.search.search_space import refuse_small

    refuse_small(request)
    return route


def _kind(machine: Machine) -> str:
    """What a machine is to a method, in words."""
    if machine.meshed:
        return f"the accelerator {machine.name}"
    return "one level" if len(machine.levels) == 1 else f"{len(machine.levels)} levels"


def _first(method: Method, machine: Machine) -> str:
    """The objective that a method takes of itself on a machine; empty for none."""
    return next(iter(method.minimises(machine)), "")


Can = Callable[[Route], bool]
"""Whether a route has what is demanded."""


def _demands(request: Request) -> Iterator[tuple[str, Can]]:
    """What a request demands: why a route without it refuses, and which routes have it."""
    levels = request.machine.levels
    if any(level.rule(request.capacity) is not CapacityRule.TILE for level in levels):
        yield "counts for scratchpads: use --capacity tile", lambda route: request.capacity in route.capacity
    if request.workload.semantics is Semantics.ASSIGN:
        yield "loads every output: use --semantics accumulate", lambda route: Semantics.ASSIGN in route.semantics
    if request.cores > 1:
        yield "is for one core; use --cores 1", lambda route: route.cores
    if request.integers is IntegerRule.FLOOR:
        yield "searches whole tiles; leave out --integers floor", lambda route: request.integers in route.integers
    if request.constraints:
        yield (
            f"searches tiles and loop orders of its own; leave out --constraint ({request.constraints.text})",
            lambda route: route.constraints,
        )
    if request.solver is not None:
        yield "solves no relaxation; leave out --solver", lambda route: route.solver
    if request.tiles is TileRule.PADDED:
        yield "pads no dim, tiles are cut at the end of one: use --tiles any", lambda _: False
    if request.tiles is TileRule.DIVISORS:
        yield (
            "rounds tiles down and cannot keep to divisors; use --tiles any",
            lambda route: request.tiles in route.tiles,
        )
    for level in levels:
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
                lambda route: route.partitions,
            )


def _who(machine: Machine, can: Can) -> str:
    """The first method that can, with its objective on the machine; empty for none."""
    for method in METHODS.values():
        for route in method.routes:
            if can(route) and route.minimises(machine):
                return f", or --method {method.name} and its {route.minimises(machine)[0]}"
    return ""


def _refuse_cores(request: Request) -> None:
    """Refuse more cores than the machine can share a level among."""
    machine, cores = request.machine, request.cores
    level = machine.split_level(cores)
    if level is None:
        raise InputError(f"machine {machine.name} has no shared level to split among {cores} cores; use 1")
    if cores > machine.cores:
        raise InputError(f"machine {machine.name} has {machine.cores} cores, {cores} were asked for")
    shared = machine.levels[level]
    if cores > shared.fanout:
        raise InputError(
            f"machine {machine.name}: {shared.name} feeds {shared.fanout} of the {machine.cores} cores, and one level "
            f"alone splits the work; use --cores {shared.fanout} or fewer"
        )
