"""The leaves of a mapping tree as their Keeps see them, where what is kept are boxes: what each holds of a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

from optmap.count.trees.placed import Placed, placed
from optmap.count.trees.runs import Interval
from optmap.count.trees.views import TensorView, UnboxedError, views_of
from optmap.mappings.nodes import Address, Loop, PathLeaf, Sequence
from optmap.mappings.tree import MappingTree
from optmap.workloads.band import band_of_statements

Cell = dict[str, Interval]
"""A box of a tensor, by dim."""


@dataclass(frozen=True, slots=True)
class BoxPath:
    """A leaf as its Keeps see it."""

    leaf: PathLeaf
    keeps: tuple[Placed, ...]
    views: Mapping[str, TensorView]
    """Of the stored tensors that it touches."""
    makes: frozenset[str]
    """Those that it updates."""

    def loops(self, node: Address) -> tuple[Loop, ...]:
        """The loops above a node."""
        return tuple(each for address, each in self.leaf.path if address < node and isinstance(each, Loop))

    def outside(self, keep: Placed) -> int:
        """How many of the loops above a Keep are outside what empties it: in every iteration of theirs it is empty."""
        if keep.ends:
            return len(self.loops(keep.address))
        around = (address for address, each in self.leaf.path if isinstance(each, Sequence) and address < keep.address)
        return len(self.loops(max(around, default=())))


class BoxPaths:
    """The leaves of a tree, in the order of their run.

    Args:
        tree: the mapping.

    Raises:
        UnboxedError: as `views_of`.
    """

    def __init__(self, tree: MappingTree) -> None:
        self.tree, self.extents = tree, tree.workload.extents
        self.band = band_of_statements(tree.workload.statements, self.extents)
        views = views_of(tree, banded=self.band is not None)
        self.leaves = tuple(
            BoxPath(
                leaf=leaf,
                keeps=placed(tree, leaf),
                views=views[leaf.statement],
                makes=tree.kept.made[leaf.statement],
            )
            for leaf in tree.leaves
        )

    def touching(self, view: TensorView) -> tuple[BoxPath, ...]:
        """The paths whose statements touch a tensor so, in the order of their run."""
        return tuple(path for path in self.leaves if path.views.get(view.tensor) == view)

    def view_below(self, keep: Placed, tensor: str) -> TensorView:
        """How the statements below a Keep touch a tensor that it keeps."""
        found = {path.views[tensor] for path in self.leaves if tensor in path.views and keep in path.keeps}
        if len(found) > 1:
            raise UnboxedError(f"{tensor} is touched in two ways below a Keep of {keep.level}")
        return found.pop()

    def cells(self, view: TensorView) -> Iterator[Cell]:
        """A tensor, cut along the ends of its pinned parts."""
        sides = []
        pinned = [keep.of for path in self.touching(view) for keep in path.keeps if view.tensor in keep.tensors]
        for dim in view.dims:
            ends = {0, self.extents[dim]}.union(*((of[dim].start, of[dim].stop) for of in pinned if dim in of))
            sides.append([(dim, ends) for ends in pairwise(sorted(ends))])
        yield from (dict(cell) for cell in product(*sides))

    def holding(self, path: BoxPath, tensor: str, cell: Cell) -> tuple[Placed, ...]:
        """The Keeps of a path that hold a cell, outermost first: none inside another one of the same level."""
        found: dict[str, Placed] = {}
        for keep in path.keeps:
            inside = all(r.start <= cell[d][0] and cell[d][1] <= r.stop for d, r in keep.of.items() if d in cell)
            if tensor in keep.tensors and inside and keep.level not in found:
                found[keep.level] = keep
        return tuple(found.values())
