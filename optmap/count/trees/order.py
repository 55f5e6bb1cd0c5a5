"""Who does what, and when: rule 1 of mapping trees.

A loop restricts the statements that have its dim. Under a loop over a dim that a statement has not, it does what
later branches inside the innermost such loop read in this iteration, or everything at once where none reads it. No
operation is done twice. Children along an axis of a mesh go in step: each step is done by all of them before the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from optmap.base.errors import TreeError
from optmap.count.tally import Budget
from optmap.count.trees.touches import Operation, Operations, element_text, operations_of
from optmap.mappings.nodes import Address, Box, Compute, Loop, Node, PathLeaf, Split, is_above
from optmap.mappings.nodes import Sequence as Branches
from optmap.mappings.tree import MappingTree
from optmap.workloads.row_statistics import RowStatistic

Places = tuple[tuple[Address, int], ...]
"""Per loop, outermost first, which iteration or child it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A leaf in one iteration of all loops over time above it, in which something is done."""

    leaf: PathLeaf
    times: Places
    """Iterations of the loops over time."""
    done: Mapping[Places, tuple[Operation, ...]]
    """What each child does."""

    def iteration(self, address: Address) -> Places:
        """The iteration of the loops over time that are above a node."""
        return above(self.times, address)


def above(places: Places, address: Address) -> Places:
    """The entries of the loops that are above a node."""
    return tuple(entry for entry in places if is_above(entry[0], address))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Child:
    """What one child works on."""

    places: Places
    ranges: Mapping[str, Sequence[int]]
    needed: Mapping[Address, frozenset[tuple[int, ...]]] = field(default_factory=dict)
    """Per leaf that is done as it is needed: the elements of its output, in this iteration."""

    @property
    def is_idle(self) -> bool:
        """Whether some loop or box has left nothing to it."""
        return not all(self.ranges.values())


def visits(tree: MappingTree, budget: Budget) -> tuple[Visit, ...]:
    """Every visit of a leaf in which something is done, in the order of the run.

    Args:
        tree: the mapping.
        budget: pays for every point that is looked at.

    Raises:
        TreeError: `incomplete` where an element is read before it is complete, `not done` for operations left over.
        LimitError: if the budget is spent.
    """
    return tuple(_Order(tree, budget).run())


class _Order:
    def __init__(self, tree: MappingTree, budget: Budget) -> None:
        self.tree = tree
        self.budget = budget
        self.operations = operations_of(tree)
        self.whole = {d: range(n) for d, n in tree.workload.sizes}
        self.leaves = {leaf.address: leaf for leaf in tree.leaves}
        self.slicing = {leaf.address: _slicing(leaf, tree, self.operations) for leaf in tree.leaves}
        points = sum(prod(len(self.whole[d]) for d in each.dims) for each in tree.workload.statements)
        budget.afford(2 * points)  # each is looked at here, and where it is done
        self.done: dict[str, set[Operation]] = {name: set() for name in self.operations}
        self.missing: dict[str, Counter[tuple[int, ...]]] = {
            name: Counter(each.output.subscripts(point) for point in each.among(self.whole, budget))
            for name, each in self.operations.items()
        }
        """Per statement and element of its output: the operations that are not done yet."""
        self.rows = {each.name: each for each in tree.kept.statistics if each.waits}
        """Statistics of rows that have to be complete before they are read."""
        self.open_rows = {
            touch.access.name: Counter(touch.subscripts(point) for point in each.among(self.whole, budget))
            for each in self.operations.values()
            for touch in each.updates[1:]
            if touch.access.name in self.rows
        }
        """Per statistic and row: the operations that are not done yet."""

    def run(self) -> Iterator[Visit]:
        yield from self._nodes(self.tree.nodes, (0,), [_Child(places=(), ranges=self.whole)], ())
        for name, counts in self.missing.items():
            left = sum(counts.values())
            if left:
                element = min(element for element, count in counts.items() if count)
                raise TreeError(
                    "not done",
                    f"statement {name}: {left:,} operations are left over, such as those of "
                    f"{element_text((name, element))}",
                )

    def _nodes(
        self, nodes: tuple[Node, ...], address: Address, children: list[_Child], times: Places
    ) -> Iterator[Visit]:
        """Run the nodes from an address on for all children in step."""
        children = [child for child in children if not child.is_idle]
        if not children:
            return
        inside, following = nodes[1:], (*address[:-1], address[-1] + 1)
        match nodes[0]:
            case Loop(dim=dim, tile=tile) as loop:
                trips = max(-(-(len(child.ranges[dim]) + loop.ahead) // tile) for child in children)
                for trip in range(trips):
                    start, end = max(0, trip * tile - loop.ahead), (trip + 1) * tile - loop.ahead
                    steps = [_part(child, dim, start, end - start) for child in children]
                    yield from self._nodes(inside, following, self._slice(address, steps), (*times, (address, trip)))
            case Split(dim=dim, ways=ways):
                split = []
                for child in children:
                    share = -(-len(child.ranges[dim]) // ways)
                    for way in range(ways):
                        part = _part(child, dim, way * share, share)
                        split.append(replace(part, places=(*child.places, (address, way))))
                yield from self._nodes(inside, following, self._slice(address, split), times)
            case Box(ranges=ranges):
                boxed = [replace(child, ranges=_inside(child.ranges, ranges)) for child in children]
                yield from self._nodes(inside, following, boxed, times)
            case Branches(branches=branches):
                for number, branch in enumerate(branches):
                    yield from self._nodes(branch, (*address, number, 0), children, times)
            case Compute():
                yield from self._compute(self.leaves[address], children, times)
            case _:
                yield from self._nodes(inside, following, children, times)

    def _slice(self, loop: Address, children: list[_Child]) -> list[_Child]:
        """Say per child what statements that do not have the loop's dim do in this iteration of it."""
        cut = [leaf for leaf in reversed(self.leaves.values()) if (self.slicing[leaf.address] or ((),))[0] == loop]
        return [self._cut(child, cut) for child in children]

    def _cut(self, child: _Child, leaves: list[PathLeaf]) -> _Child:
        """A child that knows what leaves do in this iteration; later ones come first, as others need what they do."""
        for leaf in leaves if not child.is_idle else ():
            _, readers = self.slicing[leaf.address] or ((), ())
            child = replace(child, needed={**child.needed, leaf.address: self._read_by(readers, leaf, child)})
        return child

    def _read_by(self, readers: tuple[PathLeaf, ...], leaf: PathLeaf, child: _Child) -> frozenset[tuple[int, ...]]:
        """Elements of a leaf's output that others read of it in what they do in this iteration."""
        return frozenset(
            touch.subscripts(operation)
            for reader in readers
            for operation in self._work(reader, child)
            for touch in self.operations[reader.statement].inputs
            if touch.access.name == leaf.statement
        )

    def _work(self, leaf: PathLeaf, child: _Child) -> list[Operation]:
        """What a leaf does in an iteration, as far as it is not done."""
        ranges = dict(child.ranges)
        for _, node in leaf.path:
            if isinstance(node, Box):
                ranges = _inside(ranges, node.ranges)
        each, sliced = self.operations[leaf.statement], self.slicing[leaf.address]
        done = self.done[leaf.statement]
        work = [point for point in each.among(ranges, self.budget) if point not in done]
        if sliced is None:
            return work
        needed = child.needed.get(leaf.address)
        if needed is None:  # the loop that cuts it is further in
            needed = self._read_by(sliced[1], leaf, child)
        return [point for point in work if each.output.subscripts(point) in needed]

    def _compute(self, leaf: PathLeaf, children: list[_Child], times: Places) -> Iterator[Visit]:
        each = self.operations[leaf.statement]
        done: dict[Places, tuple[Operation, ...]] = {}
        for child in children:
            work = self._work(leaf, child)
            if work:
                done[child.places] = tuple(work)
                self.done[leaf.statement].update(work)
        for point in (point for work in done.values() for point in work):
            for touch in each.inputs:
                if self.missing.get(touch.access.name, Counter()).get(touch.subscripts(point)):
                    self._refuse(leaf, (touch.access.name, touch.subscripts(point)))
            for touch in each.rows:
                if self.open_rows.get(touch.access.name, Counter()).get(touch.subscripts(point)):
                    self._refuse_row(leaf, self.rows[touch.access.name])
            self.missing[leaf.statement][each.output.subscripts(point)] -= 1
            for touch in each.updates[1:]:
                if touch.access.name in self.rows:
                    self.open_rows[touch.access.name][touch.subscripts(point)] -= 1
        if done:
            yield Visit(leaf=leaf, times=times, done=done)

    def _refuse(self, reader: PathLeaf, element: tuple[str, tuple[int, ...]]) -> None:
        """Say why an element is not complete when it is read.

        Raises:
            TreeError: always.
        """
        name = element[0]
        before = f"{reader.statement} reads {element_text(element)} before it is complete: "
        writers = [leaf for leaf in self.leaves.values() if leaf.statement == name]
        if all(leaf.address > reader.address for leaf in writers):
            raise TreeError("incomplete", f"{before}its branch is before that of {name}")
        mine, theirs = self.operations[name].statement.dims, self.operations[reader.statement].statement.dims
        shared = [
            node.dim
            for address, node in reader.path
            if isinstance(node, Loop | Split)
            and node.dim in mine
            and node.dim not in theirs
            and any(is_above(address, leaf.address) for leaf in writers)
        ]
        why = (
            f"the loop over {shared[0]} above both leaves {name} unfinished in its iterations"
            if shared
            else f"what is done of {name} until then is not all of it; look at the loops and boxes above both"
        )
        raise TreeError("incomplete", f"{before}{why}")

    def _refuse_row(self, reader: PathLeaf, statistic: RowStatistic) -> None:
        """Say why a row is not complete when something of it is read.

        Raises:
            TreeError: always.
        """
        raise TreeError(
            "incomplete",
            f"{reader.statement} reads {statistic.made_by} before its row is complete: {statistic.waits}; make whole "
            "rows first, all that is inside the loops above both",
        )


def _slicing(
    leaf: PathLeaf, tree: MappingTree, operations: Mapping[str, Operations]
) -> tuple[Address, tuple[PathLeaf, ...]] | None:
    """The innermost loop over a dim that a leaf's statement has not, and the later leaves inside it that read it.

    None if there is no such loop, or nothing inside it reads the result: then all is done at once.
    """
    dims = operations[leaf.statement].statement.dims
    foreign = [a for a, node in leaf.path if isinstance(node, Loop | Split) and node.dim not in dims]
    if not foreign:
        return None
    loop = foreign[-1]
    readers = tuple(
        other
        for other in tree.leaves
        if other.address > leaf.address
        and is_above(loop, other.address)
        and any(touch.access.name == leaf.statement for touch in operations[other.statement].inputs)
    )
    return (loop, readers) if readers else None


def _part(child: _Child, dim: str, first: int, size: int) -> _Child:
    """A child's part of what is left of a dim."""
    return replace(child, ranges={**child.ranges, dim: child.ranges[dim][first : first + size]})


def _inside(ranges: Mapping[str, Sequence[int]], box: Mapping[str, range]) -> dict[str, Sequence[int]]:
    """What is left of ranges inside a box."""
    return {d: [i for i in left if i in box[d]] if d in box else left for d, left in ranges.items()}
