"""Mapping trees run literally: every element of every Keep, one iteration after the other.

Rules 2 to 5 and 7: when an iteration changes, what leaves goes from inner to outer Keeps, what enters from outer to
inner ones. A copy of an element is *fresh* if no later update is missing in it; only fresh copies are read, updated
and fetched. Along an axis of a mesh every child has Keeps of its own, and the words of all are added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from optmap.base.errors import InputError, TreeError
from optmap.count.tally import Budget, Moved
from optmap.count.trees.contents import Contents, Instances
from optmap.count.trees.order import Places, Visit, above, visits
from optmap.count.trees.placed import Placed, pairs
from optmap.count.trees.results import TreeCount
from optmap.count.trees.rooms import Occupancy
from optmap.count.trees.touches import Element, element_text
from optmap.machines.machine import CapacityRule
from optmap.mappings.nodes import Address
from optmap.mappings.tree import MappingTree
from optmap.workloads.workload import Semantics

Copy = tuple[Address, Places]
"""Where an element is: a Keep and a child."""
HOME: Copy = ((), ())
"""The outermost level, as the home of inputs and outputs."""


def walk_tree(tree: MappingTree, *, rule: CapacityRule = CapacityRule.TILE, limit: int = 5_000_000) -> TreeCount:
    """Words that a mapping tree moves between levels, and the room that it takes.

    Args:
        tree: the mapping, valid by itself.
        rule: of caches; `safe` is not known for trees.
        limit: largest number of points and accesses looked at.

    Returns:
        Loads and stores in words over all instances, and the largest occupancy of one instance.

    Raises:
        TreeError: `incomplete` for an element that is read before it is complete, `lost` for one that is needed later
            and finds no place, `not done` for operations that are left over.
        InputError: for rule `safe` on a machine with caches, and what is not counted, by name.
        LimitError: if the limit is reached.
    """
    refuse_safe(tree, rule)
    budget = Budget(limit)
    return _TreeWalk(tree, Contents(tree, visits(tree, budget), budget)).run()


def refuse_safe(tree: MappingTree, rule: CapacityRule) -> None:
    """Refuse a capacity rule that is not known for trees.

    Raises:
        InputError: for rule `safe` on a machine with caches.
    """
    for level in tree.machine.levels:
        if level.rule(rule) is CapacityRule.SAFE:
            raise InputError(
                f"{level.name} is a cache and the capacity rule safe, but what a mapping tree needs between reuses is "
                "not known; use capacity rule tile"
            )


class _TreeWalk:
    def __init__(self, tree: MappingTree, contents: Contents) -> None:
        self.tree = tree
        self.contents = contents
        self.held: dict[Address, Instances] = {}
        self.fresh: dict[Element, set[Copy]] = {}
        self.changed: dict[Element, set[Copy]] = {}
        self.loads: Counter[tuple[str, str, str]] = Counter()
        self.stores: Counter[tuple[str, str, str]] = Counter()
        self.occupancy = Occupancy(tree)
        self.assigned = tree.workload.semantics is Semantics.ASSIGN

    def run(self) -> TreeCount:
        run = self.contents.run
        before: Visit | None = None
        for number, visit in enumerate(run):
            self._change(before, visit, number)
            self.occupancy.look(self.contents.keeps(visit.leaf), visit.leaf.statement)
            self._compute(visit)
            before = visit
        self._change(before, None, len(run))
        return TreeCount(moved=tuple(self._moved()), rooms=self.occupancy.rooms(), walked=True)

    def _change(self, before: Visit | None, visit: Visit | None, number: int) -> None:
        """Empty what ends, and fill what begins, between two visits."""
        old = self.contents.keeps(before.leaf) if before is not None else ()
        new = self.contents.keeps(visit.leaf) if visit is not None else ()
        staying = [keep for keep in old if visit is not None and before is not None and _stays(keep, before, visit)]
        found: dict[Address, Instances] = {}
        for place, keep in enumerate(new):
            same = before is not None and visit is not None and keep in staying
            if same and visit.iteration(keep.address) == before.iteration(keep.address):  # type: ignore[union-attr]
                found[keep.address] = self.held[keep.address]
            else:
                outer = [(each, found[each.address]) for each in new[:place]]
                found[keep.address] = self._content(
                    keep, outer, self.held.get(keep.address, {}) if same else {}, number
                )
        changing = [keep for keep in old if keep not in staying or found[keep.address] is not self.held[keep.address]]
        for keep in reversed(changing):
            self._leave(keep, old, found[keep.address] if keep in staying else {}, number)
        for keep in new:
            if found[keep.address] is not self.held.get(keep.address):
                self._enter(keep, new, found[keep.address])

    def _content(self, keep: Placed, outer: list[tuple[Placed, Instances]], old: Instances, number: int) -> Instances:
        """What a Keep holds from a visit on: what is touched below it, and what is alive and has no other home.

        A child that has nothing to do in the iteration goes on holding what it has, as long as all outside it stays.
        """
        touched = self.contents.entering(keep, number)
        self.contents.budget.spend(sum(map(len, old.values())))
        found: Instances = {}
        for places in old.keys() | touched.keys():
            around = [(each, held.get(above(places, each.address), set())) for each, held in outer]
            if places not in touched and all(held == self._now(each, places) for each, held in around):
                found[places] = old[places]
                continue
            mine = {e for e in touched.get(places, ()) if not _holds(around, e, keep.level)}
            alive = {e for e in old.get(places, ()) if self._is_alive(e, number) and not _holds(around, e)}
            found[places] = mine | alive
        return found

    def _now(self, keep: Placed, places: Places) -> set[Element]:
        """What a Keep holds in a child, or outside it, before anything changes."""
        return self.held.get(keep.address, {}).get(above(places, keep.address), set())

    def _is_alive(self, element: Element, number: int) -> bool:
        """Whether an element of an intermediate is created and needed from a visit on."""
        intermediate = self.contents.is_intermediate(element[0])
        return intermediate and element in self.fresh and self.contents.is_needed(element, number)

    def _leave(self, keep: Placed, path: tuple[Placed, ...], new: Instances, number: int) -> None:
        lost, staying = [], {}
        for places, elements in self.held[keep.address].items():
            copy = (keep.address, places)
            staying[places] = elements & new.get(places, set())
            for element in elements - staying[places]:
                needed = self.contents.is_needed(element, number)
                changed = self.changed.get(element, set())
                if copy in changed and (needed or not self.contents.is_intermediate(element[0])):
                    self._store(element, keep, path, places)
                changed.discard(copy)
                fresh = self.fresh.get(element, set())
                fresh.discard(copy)
                if needed and element in self.fresh and not fresh:
                    lost.append(element)
        if lost:
            raise TreeError(
                "lost", f"{element_text(min(lost))} leaves {keep.level}, is needed later and has no outer home"
            )
        self.held[keep.address] = staying

    def _store(self, element: Element, keep: Placed, path: tuple[Placed, ...], places: Places) -> None:
        outer = self._outer(element, keep, path, places)
        if outer is not None:
            level, copy = outer
            self.stores[keep.level, level, element[0]] += 1
            self.fresh[element].add(copy)
            self.changed.setdefault(element, set()).add(copy)

    def _enter(self, keep: Placed, path: tuple[Placed, ...], new: Instances) -> None:
        held = self.held.get(keep.address, {})
        for places, elements in new.items():
            for element in elements - held.get(places, set()):
                outer = self._outer(element, keep, path, places)
                if outer is not None and outer[1] in self._fresh(element):
                    self.loads[keep.level, outer[0], element[0]] += 1
                    self.fresh[element].add((keep.address, places))
        self.held[keep.address] = new
        self.occupancy.hold(keep, new)

    def _fresh(self, element: Element) -> set[Copy]:
        """Copies of an element with its present value; inputs, and outputs that are added to, are there at first."""
        if element not in self.fresh and (element[0] not in self.contents.made or self._starts_outside(element[0])):
            self.fresh[element] = {HOME}
        return self.fresh.get(element, set())

    def _starts_outside(self, tensor: str) -> bool:
        return not self.assigned and not self.contents.is_intermediate(tensor)

    def _outer(
        self, element: Element, keep: Placed, path: tuple[Placed, ...], places: Places
    ) -> tuple[str, Copy] | None:
        """The next place outwards that has an element, at another level: its level and the copy."""
        for each in reversed(path):
            here = above(places, each.address)
            outside = each.address < keep.address and each.level != keep.level
            if outside and element in self.held.get(each.address, {}).get(here, ()):
                return each.level, (each.address, here)
        return None if self.contents.is_intermediate(element[0]) else (self.contents.outermost, HOME)

    def _compute(self, visit: Visit) -> None:
        """Do what a visit does: read and update fresh copies in the innermost Keeps."""
        keeps = self.contents.keeps(visit.leaf)[::-1]
        for places, work in visit.done.items():
            for point in work:
                for element in sorted(self.contents.read(visit.leaf, point)):
                    self._use(element, keeps, places, visit)
            for point in work:
                for element in self.contents.updated(visit.leaf, point):
                    copy = self._use(element, keeps, places, visit)
                    self.fresh[element] = {copy}
                    self.changed.setdefault(element, set()).add(copy)

    def _use(self, element: Element, keeps: tuple[Placed, ...], places: Places, visit: Visit) -> Copy:
        """The innermost copy of an element, which must be fresh if the element exists."""
        for keep in keeps:
            here = above(places, keep.address)
            if element in self.held[keep.address].get(here, ()):
                copy = (keep.address, here)
                if self._fresh(element) and copy not in self.fresh[element]:
                    raise TreeError(
                        "incomplete",
                        f"{visit.leaf.statement} uses {element_text(element)} where its value is not: another child "
                        "has it, and partial sums or intermediates of several children are not put together; keep it "
                        "outside that loop, or make the loop one over time",
                    )
                return copy
        return HOME

    def _moved(self) -> Iterator[Moved]:
        weights = self.tree.kept.weights
        for key in pairs(self.tree):
            inner, outer, tensor = key
            yield Moved(
                between=(inner, outer),
                tensor=tensor,
                loads_words=self.loads[key] * weights[tensor],
                stores_words=self.stores[key] * weights[tensor],
            )


def _stays(keep: Placed, before: Visit, visit: Visit) -> bool:
    """Whether a Keep's branch goes on from one visit to the next."""
    if keep.address not in (address for address, _ in visit.leaf.keeps):
        return False
    sequence = keep.address[:-2]
    return not sequence or before.iteration(sequence) == visit.iteration(sequence)


def _holds(around: list[tuple[Placed, set[Element]]], element: Element, level: str | None = None) -> bool:
    """Whether an outer Keep, of one level or of any, has an element."""
    return any(element in held for keep, held in around if level in (None, keep.level))
