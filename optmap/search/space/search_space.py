"""What a search is about: workload, levels, classes and capacities in the form search uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from optmap.base.errors import InfeasibleError
from optmap.base.shown import Concise
from optmap.count.levels.first_touches import check_output
from optmap.kernels.microkernel import microkernel_permutation, microkernel_tile
from optmap.loop_orders.classes import DataflowClasses, dataflow_classes
from optmap.loop_orders.patterns import AllowedOrders, allowed_orders
from optmap.machines.machine import CapacityRule, Machine
from optmap.machines.partitions import capacity_groups
from optmap.machines.relations import follows
from optmap.mappings.constraints import NO_CONSTRAINTS, Constraints
from optmap.mappings.reuse import Reuse, TensorRoom, dataflow, safe_working_set
from optmap.programs.geometric import TileSpace
from optmap.questions.objective import SUM
from optmap.search.question import Question
from optmap.search.space.allowed import Allowed, allowed_sizes
from optmap.search.space.compulsory import compulsory
from optmap.search.space.shortage import shortage
from optmap.solvers.config import relaxation_solver
from optmap.workloads.workload import Workload, access_names

ORDERS_PER_SECOND = 250
"""Loop orders per second of the time limit and level that a search can do with."""
LEAST_ORDERS = 64
"""Loop orders that are looked at however short the time is."""
MOST_ORDERS = 20_000
"""Loop orders that are looked at however long it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Concise):
    """One loop order with what it means for reuse and for the working set."""

    permutation: tuple[str, ...]
    """Dims, outermost first."""
    flow: tuple[Reuse, ...]
    """Reuse of every tensor, output first."""
    working: tuple[TensorRoom, ...]
    """What must fit of every tensor."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once: a search looks loop orders up all the time."""
        object.__setattr__(self, "_hash", hash((self.permutation, self.flow, self.working)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, kw_only=True)
class Setting(Concise):
    """A workload on a machine, ready to be searched.

    Levels are numbered inner to outer; the unbounded memory is not one of them.
    """

    workload: Workload
    machine: Machine
    rule: CapacityRule
    cores: int = 1
    """Cores in use; more than 1 splits the tile of the innermost shared level."""
    most: int | None = None
    """Loop orders to look at, about; of more, a sample."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demands of the mapping."""
    solver: str = "batch"
    """What solves the convex programs of the relaxation: a solver of `FORMS["relaxation"]`."""
    loops: tuple[tuple[str, ...], ...] = ()
    """Loop orders to keep to, one per level, outermost loop first; empty for a free choice."""

    @cached_property
    def space(self) -> TileSpace:
        """Free and branch dims, and rows of traffic and capacity."""
        return TileSpace(self.workload)

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """One representative of every dataflow class that may be optimal."""
        return tuple(self.order(c.representative) for c in self._classes.classes)

    def orders_at(self, level: int) -> tuple[Order, ...]:
        """Loop orders to choose from at a level: the imposed one, the one to keep to, or those that may be optimal."""
        return self._orders[level]

    @cached_property
    def most_orders(self) -> int:
        """Loop orders of the level that has most."""
        return max(len(orders) for orders in self._orders)

    @property
    def complete(self) -> bool:
        """Whether every loop order that is allowed and may be optimal is looked at, so that bounds are bounds."""
        free = not self.loops and any(patterns is None for patterns in self._patterns)
        return (not free or self._classes.complete) and all(found.complete for found in self._followed.values())

    @cached_property
    def allowed(self) -> Allowed:
        """The tile sizes of every level that constraints and imposed tiles leave."""
        imposed = {level: tile for level, (tile, _) in self.fixed.items()}
        return allowed_sizes(self.workload, self.machine, self.constraints, imposed)

    @cached_property
    def _patterns(self) -> tuple[tuple[tuple[str, ...], ...] | None, ...]:
        """Per level what its loop order must follow; None where it is free."""
        return tuple(self.constraints.patterns(level.name) or None for level in self.machine.levels)

    @cached_property
    def _followed(self) -> dict[int, AllowedOrders]:
        """The loop orders of every level that must follow something, unless they are imposed."""
        return {
            level: allowed_orders(self.workload, patterns, rule=self.rule, most=self.most)
            for level, patterns in enumerate(self._patterns)
            if patterns is not None and level not in self.fixed and not self.loops
        }

    @cached_property
    def _orders(self) -> tuple[tuple[Order, ...], ...]:
        found: list[tuple[Order, ...]] = []
        for level, patterns in enumerate(self._patterns):
            if level in self.fixed or self.loops:
                order = self.fixed[level][1] if level in self.fixed else self.order(self.loops[level])
                met = all(follows(order.permutation, pattern) for pattern in patterns or ())
                found.append((order,) if met else ())
            elif level in self._followed:
                found.append(tuple(self.order(permutation) for permutation in self._followed[level].permutations))
            else:
                found.append(self.orders)
        return tuple(found)

    @cached_property
    def _classes(self) -> DataflowClasses:
        concrete = self.rule is CapacityRule.TILE
        return dataflow_classes(self.workload, concrete=concrete, rule=self.rule, most=self.most)

    @cached_property
    def least_words(self) -> int:
        """Words that cross every boundary under every mapping: each of every tensor once, per memory."""
        return compulsory(self.workload, SUM)

    @cached_property
    def least_costs(self) -> tuple[float, ...]:
        """What every level costs at least, whatever the loop orders."""
        return tuple(self.least_words / rate / self.cores_inside(level) for level, rate in enumerate(self.bandwidths))

    def order(self, permutation: tuple[str, ...]) -> Order:
        """A loop order with its reuse and working set."""
        safe = self.rule is CapacityRule.SAFE
        working = safe_working_set(self.workload, permutation) if safe else self.least_working
        return Order(permutation=permutation, flow=dataflow(self.workload, permutation), working=working)

    @cached_property
    def least_working(self) -> tuple[TensorRoom, ...]:
        """One tile of every tensor: what every loop order needs at least."""
        return tuple(TensorRoom() for _ in self.workload.tensors)

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Words per level, per instance."""
        return tuple(level.words(self.workload.word_bits) for level in self.machine.levels)

    @cached_property
    def bandwidths(self) -> tuple[float, ...]:
        """Words per cycle between each level and the next outer one."""
        return tuple(float(rate) for rate in self.machine.rates(self.workload.word_bits))

    @cached_property
    def fixed(self) -> dict[int, tuple[dict[str, int], Order]]:
        """Levels whose tile and loop order the machine imposes: a microkernel that applies and fits."""
        imposed = {}
        for number, level in enumerate(self.machine.levels):
            if level.microkernel is not None:
                tile = microkernel_tile(self.workload, level.microkernel)
                order = self.order(microkernel_permutation(self.workload))
                if tile is not None and self.occupancy(tile, order, number) <= self.capacities[number]:
                    imposed[number] = (tile, order)
        return imposed

    @cached_property
    def split_level(self) -> int | None:
        """The level whose tile is split among cores; None for one core."""
        return self.machine.split_level(self.cores)

    def meets_split(self, ways: Sequence[int]) -> bool:
        """Whether constraints admit that the split level is split so many ways per dim, and no other level at all."""
        return all(
            item.ways.admits(ways[self.workload.dims.index(item.dim)] if number == self.split_level else 1)
            for number, level in enumerate(self.machine.levels)
            for item in self.constraints.splits(level.name)
        )

    def cores_inside(self, level: int) -> int:
        """Cores among which the traffic of a level is divided: all of them inside the split level, else one."""
        return self.cores if self.split_level is not None and level < self.split_level else 1

    def check_capacities(self) -> None:
        """Refuse machines on which not even the smallest tile fits.

        Raises:
            InputError: for an inclusive level that holds fewer words than one inside it.
            InfeasibleError: naming the level, what is missing and what would fit.
        """
        self.machine.check_inclusion(self.workload.word_bits)
        short = [text for number in range(len(self.machine.levels)) for text in self._short(number)]
        if short:
            raise InfeasibleError(" and ".join(short))

    def _short(self, number: int) -> Iterator[str]:
        """What a level, or each of its parts, is short of for the smallest tile."""
        level, tile, names = self.machine.levels[number], self.smallest(number), access_names(self.workload)
        capacities = {part.name: part.capacity for part in level.partitions}
        rooms = min((self.rooms(tile, order, number) for order in self.sized_by(number)), key=sum)
        for group in capacity_groups(self.workload, level):
            if sum(rooms[place] for place in group.tensors) > group.words:
                text = shortage(
                    group.name,
                    capacities.get(group.name, level.capacity),
                    {names[place]: rooms[place] for place in group.tensors},
                    tile,
                    entry_bits=self.workload.word_bits,
                    buffering=level.buffering,
                )
                yield text + (" (two adjacent tiles; --capacity tile needs less)" if self.safe(number) else "")

    def smallest(self, level: int) -> dict[str, int]:
        """The smallest tile of a level: what is imposed inside it, and what the constraints leave."""
        return dict(zip(self.workload.dims, self.allowed.low[level].tolist(), strict=True))

    def least_occupancy(self, level: int) -> int:
        """Words that the smallest tile of a level needs under its best loop order."""
        return min(self.occupancy(self.smallest(level), order, level) for order in self.sized_by(level))

    def sized_by(self, level: int) -> tuple[Order | None, ...]:
        """Loop orders that decide how much room a tile needs at a level; None where any needs the same."""
        return self.orders_at(level) if self.safe(level) else (None,)

    def safe(self, level: int) -> bool:
        """Whether a level needs room for adjacent tiles."""
        return self.machine.levels[level].rule(self.rule) is CapacityRule.SAFE

    def working(self, order: Order | None, level: int) -> tuple[TensorRoom, ...]:
        """What must fit into a level of every tensor under a loop order (None: any)."""
        return self.least_working if order is None or not self.safe(level) else order.working

    def rooms(self, tile: dict[str, int], order: Order | None, level: int) -> tuple[int, ...]:
        """Words of the working set of a tile at a level, of every tensor."""
        return tuple(
            self.workload.weight(tensor) * item.elements(tensor, tile)
            for tensor, item in zip(self.workload.tensors, self.working(order, level), strict=True)
        )

    def occupancy(self, tile: dict[str, int], order: Order | None, level: int) -> int:
        """Words of the working set of a tile at a level."""
        return sum(self.rooms(tile, order, level))


def setting_of(question: Question) -> Setting:
    """The setting of a question, refused if nothing fits whatever the constraints.

    Raises:
        InputError: for `=` with a dim in two subscripts of the output.
        InfeasibleError: if not even the smallest tile fits.
    """
    check_output(question.workload)
    refuse_small(question)
    return _setting(question)


def refuse_small(question: Question) -> None:
    """Refuse what fits no mapping, whatever the constraints, before anything is searched.

    Where time is predicted a cache keeps what fits of a tile that does not, which is an iteration at least; tiles
    there follow from the core, whatever a machine imposes.

    Raises:
        InputError: for an inclusive level that holds fewer words than one inside it.
        InfeasibleError: naming the level, what is missing and what would fit.
    """
    if question.objective.timed:
        levels = tuple(replace(level, microkernel=None) for level in question.machine.levels)
        question = replace(question, machine=replace(question.machine, levels=levels))
    replace(_setting(question), constraints=NO_CONSTRAINTS).check_capacities()


def _setting(question: Question) -> Setting:
    """The setting of a question."""
    orders = ORDERS_PER_SECOND * question.time_limit / len(question.machine.levels)
    return Setting(
        workload=question.workload,
        machine=question.machine,
        rule=question.capacity,
        cores=question.cores,
        constraints=question.constraints,
        solver=relaxation_solver(question.solver),
        most=max(LEAST_ORDERS, int(min(MOST_ORDERS, orders))),
    )
