"""What every Keep holds in every iteration of the loops above it: rules 2 and 5 of mapping trees, and pinned parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from optmap.count.tally import Budget
from optmap.count.trees.order import Places, Visit, above
from optmap.count.trees.placed import Placed, placed
from optmap.count.trees.touches import Element, Operation, operations_of
from optmap.mappings.nodes import PathLeaf
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole

Instances = dict[Places, set[Element]]
"""What a Keep holds in each child that has one."""


class Contents:
    """What operations touch, by visit."""

    def __init__(self, tree: MappingTree, run: Sequence[Visit], budget: Budget) -> None:
        self.run = run
        self.budget = budget
        self.operations = operations_of(tree)
        self.roles = tree.kept.roles
        """By the name under which a tensor is stored, what it is."""
        self.outermost = tree.machine.memory
        self.paths = {leaf.address: placed(tree, leaf) for leaf in tree.leaves}
        self.written = {
            (touch.access.name, touch.subscripts(point))
            for visit in run
            for work in visit.done.values()
            for point in work
            for touch in self.operations[visit.leaf.statement].updates
        }
        """Elements that statements make, by the names of the tensors themselves: where a function is done in place and
        a mask leaves out some of its elements, the word of what it is of is none of them."""
        self.made = frozenset[str]().union(*tree.kept.made.values())
        self.begun = {*self.operations, *(each.name for each in tree.kept.statistics)}
        """What has no elements but those written."""
        self.last = {
            element: number
            for number, visit in enumerate(run)
            for work in visit.done.values()
            for point in work
            for element in self.touched(visit.leaf, point)
        }
        """Per element the number of the last visit that touches it."""

    def keeps(self, leaf: PathLeaf) -> tuple[Placed, ...]:
        """The Keeps above a leaf that hold anything of their own, outermost first."""
        return self.paths[leaf.address]

    def is_intermediate(self, tensor: str) -> bool:
        """Whether a stored tensor has no home in the outermost level by itself."""
        return self.roles[tensor] is TensorRole.INTERMEDIATE

    def is_needed(self, element: Element, visit: int) -> bool:
        """Whether a visit, or one after it, touches an element."""
        return self.last[element] >= visit

    def touched(self, leaf: PathLeaf, point: Operation) -> set[Element]:
        """The elements that an operation touches, see `read`."""
        return {*self.updated(leaf, point), *self.read(leaf, point)}

    def updated(self, leaf: PathLeaf, point: Operation) -> list[Element]:
        """The elements that an operation updates, its output first."""
        updates = self.operations[leaf.statement].updates
        self.budget.spend(len(updates))
        return [touch.element(point) for touch in updates]

    def read(self, leaf: PathLeaf, point: Operation) -> set[Element]:
        """The elements that an operation reads; what a mask leaves unwritten is no element."""
        operations = self.operations[leaf.statement]
        reads = (*operations.inputs, *operations.rows)
        self.budget.spend(len(reads))
        return {
            touch.element(point)
            for touch in reads
            if touch.access.name not in self.begun or (touch.access.name, touch.subscripts(point)) in self.written
        }

    def entering(self, keep: Placed, visit: int) -> Instances:
        """What the operations below a Keep touch of its tensors in the iteration that begins with a visit, per child.

        Args:
            keep: above the leaf of the visit.
            visit: number of the visit.
        """
        iteration = self.run[visit].iteration(keep.address)
        found: Instances = {}
        for each in islice(self.run, visit, None):
            if not self._is_below(keep, each.leaf) or each.iteration(keep.address) != iteration:
                break
            for places, work in each.done.items():
                mine = found.setdefault(above(places, keep.address), set())
                for point in self._meant(keep, each.leaf, work):
                    mine.update(e for e in self.touched(each.leaf, point) if e[0] in keep.tensors)
        return found

    def _is_below(self, keep: Placed, leaf: PathLeaf) -> bool:
        return any(address == keep.address for address, _ in leaf.keeps)

    def _meant(self, keep: Placed, leaf: PathLeaf, work: Iterable[Operation]) -> Iterable[Operation]:
        """The operations that a Keep holds anything for."""
        dims = self.operations[leaf.statement].statement.dims
        if not keep.of.keys() <= set(dims):
            return ()
        places = [(dims.index(d), each) for d, each in keep.of.items()]
        return (point for point in work if all(point[at] in each for at, each in places))
