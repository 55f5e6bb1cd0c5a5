"""Mapping trees counted without walking them, where every content is a box.

Of what it is asked, what is tested first: loops over time alone; subscripts of one dim each, but where a tensor is
read by windows; of a tensor the same ones in all accesses, but where a statement only reads it, or of an input; every
loop above a leaf over a dim of its statement; every loop above a sequence over a dim of every tensor that one branch
makes and another one reads, the same subscript in both, the maker first. Then every iteration of the loops above a
sequence makes and uses a box of such a tensor wholly, no operation is left over or done early, and:

* Contents of a Keep in two iterations are the same box or have no element in common, as its loops cut a grid. Words
  enter whenever the content is another one than that of the iteration before. A loop over a dim of the tensor changes
  it with every trip; another loop brings back the first content after the last one, which is another one if more than
  one comes within a trip, and is nothing new if not. Sizes of steps are full or ragged, so that trips of one size are
  counted once: `runs`. In an iteration of the loops above the innermost sequence around a Keep it starts empty.
* A pinned part is a box, too: tensors are cut into cells along the ends of all pinned parts, each is kept by some Keeps
  of the path as a whole, and is counted by itself.
* Of an element that is made here the first visit loads nothing; whatever leaves a Keep below which it is changed is
  stored, unless it is of an intermediate whose last reader is below the same Keep: then it came once.
* Of what is read by windows (`I[c,2*y+r]`) contents are boxes of index values, and of what a statement reads through
  several accesses (`A[m,k]*A[l,k]`) unions of boxes: what enters is counted with what two contents in a row share, see
  `windows`. No Keep of it is above two statements, but where an intermediate is at home, in the outermost memory: there
  each of its elements stays. Likewise of an input that statements read with different dims.
* Under conditions on the difference of two dims, the same ones wherever one of them is, contents are boxes, too, or
  what of a box meets them: see `bands`.
* What is held is largest in the first iteration, but for pinned parts and unions: see `box_rooms`.

The walk (`walk_tree`), which shares no count with this, is what it is tested against.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from optmap.base.remembered import remembering
from optmap.count.tally import Moved
from optmap.count.trees import windows
from optmap.count.trees.bands import entered_in_band
from optmap.count.trees.box_paths import BoxPath, BoxPaths, Cell
from optmap.count.trees.box_rooms import rooms_of
from optmap.count.trees.placed import Pair, Placed, pairs
from optmap.count.trees.results import TreeCount
from optmap.count.trees.runs import BoxRuns, size
from optmap.count.trees.steps import place_count
from optmap.count.trees.views import TensorView, UnboxedError
from optmap.mappings.nodes import Address, Box, Keep, Loop, PathLeaf, Sequence, Split, is_above
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole
from optmap.workloads.workload import Semantics, TensorAccess

MOST_PLACES = 2**34
"""Of the two dims of a band, in which a leaf may be visited."""


@remembering  # what a method has looked at is counted again when it hands it in
def count_boxes(tree: MappingTree) -> TreeCount | None:
    """Words that a mapping tree moves between levels and the room that it takes, in closed form.

    Args:
        tree: the mapping, valid by itself.

    Returns:
        What `walk_tree` finds; None of a tree that only a walk can count, or that a walk refuses.
    """
    try:
        return _Boxes(tree).count()
    except UnboxedError:
        return None


def check_boxes(tree: MappingTree) -> None:
    """Refuse a tree of which one iteration may touch something else than boxes, or leave operations for others.

    Args:
        tree: the mapping, valid by itself.

    Raises:
        UnboxedError: for the first thing that the head of this file asks for and that is otherwise.
    """
    for statement in tree.workload.statements:
        if statement.domain:
            raise UnboxedError(f"{statement} has a condition")
    _Boxes(tree)


class _Boxes:
    """Counts one tree."""

    def __init__(self, tree: MappingTree) -> None:
        self.tree, self.touched = tree, BoxPaths(tree)
        self.kept, self.roles, self.extents = tree.kept, tree.kept.roles, tree.workload.extents
        self.rows = {each.name: each for each in self.kept.statistics}
        self.band, self.paths = self.touched.band, self.touched.leaves
        for path in self.paths:
            self._check_path(path)
        for number, path in enumerate(self.paths):
            self._check_order(path, self.paths[:number])

    def _check_path(self, path: BoxPath) -> None:
        """Refuse other nodes than loops over dims of the statement, and pinned parts that are no boxes."""
        dims = self.tree.workload.statement(path.leaf.statement).dims
        for _, node in path.leaf.path:
            if isinstance(node, Split | Box):
                raise UnboxedError(f"a split or a box is above {path.leaf.statement}; loops over time are needed")
            if isinstance(node, Loop) and node.dim not in dims:
                raise UnboxedError(f"the loop over {node.dim} is above {path.leaf.statement}, which has no such dim")
        for keep in path.keeps:
            if keep.ends:
                self._check_end(path.leaf, keep)
            wanted = {d for d, each in keep.of.items()} if all(each.step == 1 for each in keep.of.values()) else {""}
            views = [path.views[tensor] for tensor in keep.tensors if tensor in path.views]
            if any(not wanted <= set(view.dims) or (wanted and view.windows) for view in views):
                raise UnboxedError(f"{keep.level} keeps a part of {', '.join(keep.tensors)} that is no box")
        of = {} if self.band is None else {d: self.extents[d] for d in (self.band.first, self.band.second)}
        if place_count(path.loops(path.leaf.address), of) > MOST_PLACES:
            raise UnboxedError(f"{path.leaf.statement} is visited in more than {MOST_PLACES:,} places of its band")

    def _check_end(self, leaf: PathLeaf, keep: Placed) -> None:
        """Refuse a Keep that is not there for whole branches, one after the other, of a sequence right below it."""
        inside = ((address, node) for address, node in leaf.path if address > keep.address)
        address, first = next((address, node) for address, node in inside if not isinstance(node, Keep))
        what = f"{keep.level} keeps {', '.join(sorted(keep.tensors))} for some statements only"
        if not isinstance(first, Sequence):
            raise UnboxedError(f"{what}, with a loop between it and their branches")
        there = [set[bool]() for _ in first.branches]
        for path in self.paths:
            if is_above(address, path.leaf.address):
                there[path.leaf.branch(address)].add(keep in path.keeps)
                if keep not in path.keeps:
                    self._check_inside(keep, path, what)
        if any(len(branch) > 1 for branch in there) or [some for some, _ in groupby(there)].count({True}) > 1:
            raise UnboxedError(f"{what}, which are no whole branches one after the other")

    def _check_inside(self, keep: Placed, path: BoxPath, what: str) -> None:
        """Refuse a Keep inside one that goes on where that one ends: its content comes from elsewhere then."""
        for inner in path.keeps:
            inside = is_above(keep.address, inner.address) and not keep.tensors.isdisjoint(inner.tensors)
            if inside and any(keep in each.keeps and inner in each.keeps for each in self.paths):
                raise UnboxedError(f"{what}, and inside it {inner.level} for others, too")

    def _check_order(self, reader: BoxPath, before: tuple[BoxPath, ...]) -> None:
        """Refuse a statement that reads a tensor before all is made of it that it reads."""
        workload = self.tree.workload
        made = {path.leaf.statement: path for path in before}
        made |= {each.name: made[each.made_by] for each in self.rows.values() if each.waits and each.made_by in made}
        for access in self.kept.touched[reader.leaf.statement][1:]:
            if access.name in made:
                shared = [
                    address
                    for address, node in reader.leaf.path
                    if isinstance(node, Sequence) and is_above(address, made[access.name].leaf.address)
                ]
                there = self.kept.touched[made[access.name].leaf.statement]
                own = next(each for each in there if each.name == access.name)
                alike = {str(one) for one, other in zip(access.axes, own.axes, strict=True) if str(one) == str(other)}
                others = [loop.dim for loop in reader.loops(shared[-1]) if loop.dim not in alike]
                if others:
                    raise UnboxedError(
                        f"the loop over {others[0]} is above what makes {access.name} and what reads it, which do not "
                        "both have that dim as the same subscript"
                    )
            elif any(access.name == each.name for each in workload.statements):
                raise UnboxedError(f"{access.name} is read before it is made")

    def count(self) -> TreeCount:
        loads, stores = Counter[Pair](), Counter[Pair]()
        for view in dict.fromkeys(view for path in self.paths for view in path.views.values()):
            if view.windows:
                for path in self.touched.touching(view):
                    self._slide(path, view.tensor, view.windows, loads, stores)
                continue
            for cell in self.touched.cells(view):
                self._move(view, cell, loads, stores)
        weights = self.kept.weights
        moved = tuple(
            Moved(
                between=pair[:2],
                tensor=pair[2],
                loads_words=loads[pair] * weights[pair[2]],
                stores_words=stores[pair] * weights[pair[2]],
            )
            for pair in pairs(self.tree)
        )
        return TreeCount(moved=moved, rooms=rooms_of(self.touched), walked=False)

    def _move(self, view: TensorView, cell: Cell, loads: Counter[Pair], stores: Counter[Pair]) -> None:
        """Add up what moves of a cell."""
        tensor, paths = view.tensor, self.touched.touching(view)
        every = [path for path in self.paths if tensor in path.views]
        intermediate = self.roles[tensor] is TensorRole.INTERMEDIATE
        holding = [(path, self.touched.holding(path, tensor, cell)) for path in paths]
        homes = [self.touched.holding(path, tensor, cell)[0] for path in every if intermediate]
        if any(home.address != homes[0].address for home in homes):
            raise UnboxedError(f"{tensor} leaves one home and is needed in another")
        if intermediate and len(every) > len(paths) and homes[0].level != self.tree.machine.memory:
            raise UnboxedError(f"{tensor} is read by windows where it has another home than {self.tree.machine.memory}")
        empty = intermediate or self.tree.workload.semantics is Semantics.ASSIGN
        made = frozenset[str]().union(*(path.makes for path in paths))
        seen = set[Address]()
        for path, keeps in holding:
            outer = None if intermediate else self.tree.machine.memory
            for keep in keeps:
                source, outer = outer, keep.level
                if keep.address in seen or (source is None and tensor not in self.rows):
                    continue
                seen.add(keep.address)
                below = [each for each in paths if keep in each.keeps]
                self.touched.view_below(keep, tensor)
                entered = self._entered(path, keep, view.dims, cell)
                if source is None:
                    if entered != self._size(view.dims, cell):
                        raise UnboxedError(f"{tensor} has no home and is needed again after other parts of it")
                    continue
                pair = (keep.level, source, tensor)
                first = tensor in made and empty and below[0] is paths[0]
                loads[pair] += entered - (first and self._size(view.dims, cell))
                if any(tensor in each.makes for each in below):
                    last = intermediate and below[-1] is every[-1]
                    stores[pair] += entered - (last and self._size(view.dims, cell))

    def _slide(
        self,
        path: BoxPath,
        tensor: str,
        accesses: tuple[TensorAccess, ...],
        loads: Counter[Pair],
        stores: Counter[Pair],
    ) -> None:
        """Add up what moves of a tensor that is read by windows, or through several accesses."""
        source = self.tree.machine.memory
        for keep in path.keeps:
            if tensor in keep.tensors and keep.level != source:
                self.touched.view_below(keep, tensor)
                words = windows.entered(accesses, path.loops(keep.address), path.outside(keep), self.extents)
                if words is None:
                    often = f"changes in more than {windows.MOST:,} places, or there are too many accesses"
                    raise UnboxedError(f"{accesses[0]}: what {keep.level} keeps of it has gaps, or {often}")
                pair = (keep.level, source, tensor)
                loads[pair] += words
                stores[pair] += 0
                source = keep.level

    def _entered(self, path: BoxPath, keep: Placed, dims: tuple[str, ...], cell: Cell) -> int:
        """Elements of a cell that enter a Keep or begin there."""
        loops = path.loops(keep.address)
        if self.band is not None:
            return entered_in_band(self.band, loops, path.outside(keep), {d: cell[d] for d in dims}, self.extents)
        left = {d: (self.extents[d], cell.get(d, (0, 0))) for d in {loop.dim for loop in loops} | cell.keys()}
        return BoxRuns(loops, path.outside(keep), dims).entered(0, left)[0]

    def _size(self, dims: tuple[str, ...], cell: Cell) -> int:
        """Elements of a cell that are touched."""
        if self.band is None:
            return size(cell.values())
        return entered_in_band(self.band, (), 0, {d: cell[d] for d in dims}, self.extents)
