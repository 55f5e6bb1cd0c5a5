"""What no member of a family of mappings in turn costs less than: floors that are proved here, and nests that are said.

A member says what is done together, in which blocks, and what stays. It costs what its nests do and what is brought;
a nest costs its floor at least, on the machine where what stays is given, or more where the file says so: that is what
a search found, which is not run again, but may not be above what the mapping's own nests cost. Members are gone through
anew, each of them, so that none is left out. Of energy-delay it is sums of energy and cycles at a price that are said.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain as joined
from itertools import combinations, permutations, product
from math import prod
from typing import Any

from ..bounds.floor import movement, port_cycles
from ..chains.chain import Access, StatedChain, dims_of
from ..core.fabric import StatedFabric
from ..core.footprints import words
from ..core.form import EXTENTS
from ..core.shapes import Shape, flag, many, name, positive, record, records, table, text
from ..core.tools import need, spelled
from ..nests.accesses import objective_value
from ..nests.nest_counts import UNITS, check_amount, exact_value
from ..nests.nest_form import AMOUNT
from ..nests.nest_solution import NEAR
from .fronts import BoundedSums, Point, one_after_other
from .room import words_left
from .single import alone_there, give, has_nest, is_of_rows, places_of, single_fabric, touched_fabric
from .stated_parts import StatedNest
from .stated_turns import StatedTurns
from .turn_counts import paid, passing, row_passes, runs_of, slowest, ways_between

NEST: dict[str, Shape] = {
    "statement": name,
    "extents": EXTENTS,
    "homes": table(name),
    "kept": many(record(level=name, tensor=name, elements=positive)),
    "begun": text,
    "least": AMOUNT,
}
FAMILY = record(together=flag, members=positive, nests=many(records(NEST, NEST | {"cycle_pj": text})))
CLOSE = 2 * NEAR
"""Relative distance to which sums of bounds of searches are trusted."""
Block = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]
"""Loops as (dim, step), outermost first, and what stays as (tensor, loops around it)."""


def family_lines(doc: Any, turns: StatedTurns) -> list[str]:
    """No member of the family is below the bound of the search.

    Args:
        doc: a solution that has a family.
        turns: its mapping.
    """
    family, bound, unit = doc["family"], Fraction(doc["search"]["bound"]), UNITS[doc["objective"]]
    stated = StatedFamily(doc, turns.chain)
    for nest in turns.nests:
        stated.check_own(turns, nest, timeloop=doc["counting"] == "timeloop")
    leasts = list(stated.leasts())
    need(len(leasts) == family["members"], f"the family has {len(leasts)} members")
    said = {(nest, kept) for nest, beside in stated.said.items() for kept in beside}
    need(said <= stated.used, "the family has the least of a nest that no member has")
    real = [least for least in leasts if least is not None]
    least = min(least for least, _ in real)
    need(least >= bound * (1 - CLOSE), f"a member of the family may cost {float(least)}, the bound is {float(bound)}")
    need(least <= exact_value(doc["cost"]["exact"], "cost") * (1 + CLOSE), "the mapping is below every member's least")
    floors = sum(floor >= bound * (1 - CLOSE) for _, floor in real) + len(leasts) - len(real)
    pairs = ", or two together, what they hand on in one level" if len(leasts) > 1 else ""
    return [
        spelled(
            f"no mapping of the family (statements one after the other{pairs}; {len(leasts):,} ways to cut and keep) "
            f"costs less than {float(bound):,.10g} {unit}: {floors:,} by floors that are proved here or for want of "
            f"room, {len(leasts) - floors:,} if nests cost what the file says of {len(said):,} of them"
        )
    ]


class StatedFamily:
    """The family of a chain on a machine.

    Whatever is a nest beside what stays is one beside less, so what is the least there is not above the least here; and
    a run costs no less for going on with partial sums.

    Args:
        doc: a solution that has a family.
        chain: its workload.
    """

    def __init__(self, doc: Any, chain: StatedChain) -> None:
        self.chain, self.machine, self.objective = chain, doc["machine"], doc["objective"]
        self.together: bool = doc["family"]["together"]
        self.products = [number for number in range(len(chain.names)) if has_nest(chain, number)]
        self.rows = [number for number in range(len(chain.names)) if is_of_rows(chain, number)]
        self.whole = {number: single_fabric(chain, number, self.machine, chain.extents) for number in self.products}
        self.whole |= {number: touched_fabric(chain, number, self.machine, chain.extents) for number in self.rows}
        self.names = [level["name"] for level in self.machine["levels"]] + [self.machine["memory"]]
        self.product = self.objective == "edp"
        self.floors: dict[object, Point] = {}
        self.said: dict[tuple[Any, ...], dict[frozenset[Any], dict[Fraction, Fraction]]] = {}
        """Per nest, part of its runs that begins empty, what stays meanwhile, and price of a cycle: its least."""
        self.used = set[object]()
        """Nests that members have."""
        for entry in doc["family"]["nests"]:
            need(entry["statement"] in chain.names, "the least of a nest of no statement")
            least = exact_value(entry["least"]["exact"], "family")
            check_amount(entry["least"], least, UNITS["energy" if self.product else self.objective], "family")
            need(("cycle_pj" in entry) == self.product, "cycles have a price where the objective is energy-delay alone")
            price = exact_value(entry.get("cycle_pj", "0"), "cycle_pj")
            need(price >= 0, f"a cycle is charged {float(price)} pJ")
            number = chain.names.index(entry["statement"])
            kept = frozenset((each["level"], each["tensor"], each["elements"]) for each in entry["kept"])
            nest = (number, *_frozen(entry["extents"], entry["homes"]), exact_value(entry["begun"], "begun"))
            lines = self.said.setdefault(nest, {}).setdefault(kept, {})
            need(price not in lines, f"two leasts of one nest of {entry['statement']}")
            lines[price] = least

    def check_own(self, turns: StatedTurns, nest: StatedNest, *, timeloop: bool) -> None:
        """What is said to be the least of a nest is not above what the mapping's own one costs.

        Nor is that of the same nest beside less that stays: where this one has room, it has room there.

        Args:
            turns: the mapping.
            nest: of it.
            timeloop: whether nests are counted as Timeloop does.
        """
        stays = [stay for stay in nest.state.stays if stay.level < len(self.names) - 1]
        homes = {stay.tensor: self.names[stay.level] for stay in stays}
        kept = frozenset((self.names[stay.level], stay.tensor, stay.elements) for stay in stays)
        mine = self._mine(nest.statement, dict(nest.state.left), homes)
        runs = runs_of(nest, timeloop=timeloop)
        times = sum(many for many, _ in runs)
        for part, own in ((Fraction(1), runs[:1]), (Fraction(runs[0][0], times), runs)):
            ends = [self._ends(run.energy, run.cycles, max(run.port_cycles)) for _, run in own]
            weights = [Fraction(many, sum(each for each, _ in own)) for many, _ in own]
            for price, least in self._said_of((nest.statement, *mine, part), kept):
                cost = sum(w * (first + price * second) for w, (first, second) in zip(weights, ends, strict=True))
                need(
                    least <= cost * (1 + CLOSE),
                    f"family: a nest of {self.chain.names[nest.statement]} is said to cost {float(least)} at least, "
                    f"the mapping's own costs {float(cost)}",
                )

    def _said_of(self, nest: tuple[object, ...], kept: frozenset[Any]) -> Iterator[Point]:
        """Prices of a cycle and leasts of a nest beside what stays meanwhile, or less."""
        for less, lines in self.said.get(nest, {}).items():
            if less <= kept:
                yield from lines.items()

    def leasts(self) -> Iterator[tuple[Fraction, Fraction] | None]:
        """What every member costs at least, and what it does by floors alone; None for one that has no room."""
        yield self._least("", ((), ()), "")
        inner = self._handed_on()
        if not self.together or inner is None:
            return
        for place in range(len(self.names) - 1):
            if all(self._may_be(number, inner, place) for number in [*self.products, *self._between(inner)]):
                for block in self._blocks(inner, place):
                    yield self._least(self.names[place], block, inner)

    def _handed_on(self) -> str | None:
        """What the first of two statements makes and only the second one reads."""
        if len(self.products) != 2:
            return None
        chain, (first, second) = self.chain, self.products
        made = chain.held[chain.names[first]]
        inner = {chain.held[t] for t in chain.names} - {chain.held[t] for t in chain.outputs}
        read = any(i for i in places_of(chain, second, made))
        return made if made in inner and read else None

    def _between(self, inner: str) -> list[int]:
        """Functions of rows that are applied to what is handed on."""
        return [number for number in self.rows if self.chain.held[self.chain.names[number]] == inner]

    def _may_be(self, number: int, tensor: str, place: int) -> bool:
        """Whether a level may have a tensor for a statement, or need not."""
        fabric, places = self.whole[number], places_of(self.chain, number, tensor)
        may = all(fabric.memories[place].keeps[i] != "refused" for i in places)
        return not places or (alone_there(fabric, place) and may)

    def _accesses(self, tensor: str) -> list[Access]:
        chain = self.chain
        return [chain.accesses[number][i] for number in self.products for i in places_of(chain, number, tensor)]

    def _blocks(self, inner: str, place: int) -> Iterator[Block]:
        """Loops in every order and number of steps, and what stays over the innermost of them."""
        extents, chain = self.chain.extents, self.chain
        able = {d for number in self.products for d in chain.dims[number]}
        dims = [d for d in extents if d in able and self._aligned(inner, d)]
        others = dict.fromkeys(chain.held[a["tensor"]] for number in self.products for a in chain.accesses[number])
        may = {t: set(dims_of(self._accesses(t)[0])) for t in others if t != inner and self._may_stay(t, place)}
        seen = set[object]()
        for order in joined.from_iterable(permutations(dims, size) for size in range(len(dims) + 1)):
            still = [t for t, moved in may.items() if order and order[-1] not in moved]
            around = {t: max([n for n, d in enumerate(order, 1) if d in may[t]], default=0) for t in still}
            steps = [[n for n in range(1, extents[d]) if extents[d] % n == 0] for d in order]
            for tiles in product(*steps):
                loops = tuple(zip(order, tiles, strict=True))
                for some in joined.from_iterable(combinations(still, size) for size in range(len(still) + 1)):
                    stays = tuple((t, around[t]) for t in some)
                    sort = frozenset(loops), frozenset((t, frozenset(loops[:n])) for t, n in stays)
                    if sort not in seen:
                        seen.add(sort)
                        yield loops, stays

    def _aligned(self, inner: str, dim: str) -> bool:
        """Whether a dim is one subscript of what is handed on, alone, wherever it is made or read."""
        both = all(dim in self.chain.dims[number] for number in self.products)
        both = both and all(dim != self.chain.said[number].along for number in self._between(inner))
        places = {
            next((n for n, axis in enumerate(access["axes"]) if axis["terms"] == [[dim, 1]]), None)
            for access in self._accesses(inner)
        }
        return both and len(places) == 1 and None not in places

    def _may_stay(self, tensor: str, place: int) -> bool:
        """Whether a tensor that enters or leaves may stay in a level: it comes straight from the outermost memory."""
        accesses = self._accesses(tensor)
        dims = dims_of(accesses[0])
        plain = all(len(axis["terms"]) <= 1 for axis in accesses[0]["axes"]) and len(set(dims)) == len(dims)
        same = all(access["axes"] == accesses[0]["axes"] for access in accesses)
        made = tensor in self.chain.names and tensor not in self.chain.outputs
        straight = all(self._may_be(number, tensor, place) for number in self.products)
        for number in self.products:
            fabric = self.whole[number]
            straight = straight and not any(any(memory.wires) for memory in fabric.memories)
            for i in places_of(self.chain, number, tensor):
                keeps = [memory.keeps[i] for memory in fabric.memories]
                straight = straight and keeps[-1] != "refused" and "kept" not in keeps[place + 1 : -1]
        return plain and same and not made and straight

    def _least(self, level: str, block: Block, inner: str) -> tuple[Fraction, Fraction] | None:
        """What a member costs at least, and by floors alone."""
        (loops, stays), extents = block, self.chain.extents
        left, homes = extents | dict(loops), dict.fromkeys([t for t, _ in stays], level)
        held = [(t, self._elements(t, extents | dict(loops[:n]))) for t, n in stays]
        if level:
            homes, held = homes | {inner: level}, [(inner, self._elements(inner, left)), *held]
        trips = {d: extents[d] // tile for d, tile in loops}
        times, moved = prod(trips.values()), self._moving(level, block)
        passed = self._passing(left, homes, inner, times)
        beside = moved[0] + passed[0], moved[1] + passed[1]
        floors, shown = list[tuple[int, BoundedSums]](), list[tuple[int, BoundedSums]]()
        for number in self.products:
            if not self._has_room(number, level, held, homes):
                return None
            floor = self._floor(number, left, homes)
            result = set(dims_of(self.chain.accesses[number][0]))
            begun = Fraction(prod(n for d, n in trips.items() if d in result), times)
            mine = self._mine(number, left, homes)
            kept = frozenset((level, t, n) for t, n in held)
            nests = [(number, *mine, part) for part in {begun, Fraction(1)}]
            self.used.update((nest, kept) for nest in nests)
            known = tuple(line for nest in nests for line in self._said_of(nest, kept))
            floors.append((times, BoundedSums(*floor)))
            shown.append((times, BoundedSums(*floor, known)))
        return self._worth(one_after_other(beside, shown)), self._worth(one_after_other(beside, floors))

    def _worth(self, sums: BoundedSums) -> Fraction:
        """The objective, at least."""
        return sums.product if self.product else sums.sum_at(Fraction(0))

    def _ends(self, energy: Fraction, cycles: int, ports: int) -> Point:
        """What adds up: energy and cycles of energy-delay, any other objective itself."""
        if self.product:
            return energy, Fraction(cycles)
        return objective_value(self.objective, energy, cycles, ports), Fraction(0)

    def _mine(self, number: int, left: dict[str, int], homes: dict[str, str]) -> tuple[object, object]:
        mine = {self.chain.held[access["tensor"]] for access in self.chain.accesses[number]}
        sizes = {d: n for d, n in left.items() if d in self.chain.dims[number]}
        return _frozen(sizes, {t: level for t, level in homes.items() if t in mine})

    def _elements(self, tensor: str, left: dict[str, int]) -> int:
        """Elements of a tensor that one block of it has."""
        access = self._accesses(tensor)[0]
        axes = [dict(axis["terms"]) for axis in access["axes"]]
        return words(axes, {d: left[d] for d in dims_of(access)})

    def _has_room(self, number: int, level: str, held: list[tuple[str, int]], homes: dict[str, str]) -> bool:
        """Whether what stays leaves room for what a level must keep beside it."""
        if not level:
            return True
        fabric, place = self.whole[number], self.names.index(level)
        rest = words_left(self.chain, self.machine, place, held, fabric.work.word_bits)
        others = [i for i, (tensor, _) in enumerate(fabric.work.tensors) if self.chain.held[tensor] not in homes]
        return rest > 0 or (rest == 0 and all(fabric.memories[place].keeps[i] != "kept" for i in others))

    def _floor(self, number: int, left: dict[str, int], homes: dict[str, str]) -> Point:
        """What one run of a nest costs at least, whoever keeps what inside."""
        key = (number, *self._mine(number, left, homes))
        if key not in self.floors:
            fabric = single_fabric(self.chain, number, self.machine, left)
            for tensor, level in homes.items():
                give(fabric, places_of(self.chain, number, tensor), self.names.index(level))
            self.floors[key] = self._value(fabric)
        return self.floors[key]

    def _value(self, fabric: StatedFabric) -> Point:
        operations, ports = prod(fabric.extents.values()), port_cycles(fabric, {})
        energy = operations * fabric.arithmetic + movement(fabric, {})
        return self._ends(energy, max(-(-operations // fabric.units), ports), ports)

    def _moving(self, level: str, block: Block) -> Point:
        """What tensors cost that are brought to stay, and taken away."""
        (loops, stays), extents = block, self.chain.extents
        energy, cycles = Fraction(0), 0
        for tensor, around in stays:
            number = next(n for n in self.products if places_of(self.chain, n, tensor))
            fabric, i = self.whole[number], places_of(self.chain, number, tensor)[0]
            trips = {d: extents[d] // tile for d, tile in loops[:around]}
            made = tensor in self.chain.names
            mine = prod(n for d, n in trips.items() if d in dims_of(self._accesses(tensor)[0]))
            times, elements = prod(trips.values()), self._elements(tensor, extents | dict(loops[:around]))
            back = times if made else 0
            ends = len(self.names) - 1, self.names.index(level)
            for often, passed in zip((times - mine * made, back), ways_between(*ends, elements), strict=True):
                energies, busy = passing(fabric, i, passed)
                energy, cycles = energy + often * sum(energies.values(), Fraction(0)), cycles + often * busy
        return self._ends(energy, cycles, cycles)

    def _passing(self, left: dict[str, int], homes: dict[str, str], inner: str, times: int) -> Point:
        """What functions of rows cost: those of what is handed on where that is, others in the outermost memory.

        A result that stays over inner loops is complete behind them only: functions of its rows are others.
        """
        energy, cycles = Fraction(0), 0
        for number in self.rows:
            chain, inside = self.chain, number in self._between(inner)
            at = {i: homes.get(chain.held[access["tensor"]]) for i, access in enumerate(chain.accesses[number])}
            far = len(self.names) - 1
            levels = tuple(self.names.index(at[i] or "") if inside and at[i] else far for i in sorted(at))
            extents = left if inside else chain.extents
            fabric = touched_fabric(chain, number, self.machine, extents)
            for passed in row_passes(chain, number, levels, prod(fabric.extents.values())):
                costs = (paid(fabric, i, key, count) for i, own in passed.items() for key, count in own.items())
                many = times if inside else 1
                energy, cycles = energy + many * sum(costs, Fraction(0)), cycles + many * slowest(fabric, passed)
        return self._ends(energy, cycles, cycles)


def _frozen(sizes: dict[str, int], homes: dict[str, str]) -> tuple[object, object]:
    return frozenset(sizes.items()), frozenset(homes.items())
