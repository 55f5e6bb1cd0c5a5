"""Words that a mapping tree moves and holds, in closed form, for trees whose contents are boxes.

**The trees.** Loops over time, keeps, sequences, leaves. No access has a dim twice; what is written has dims alone as
subscripts. There is no padding, and conditions are of one kind (`bands`): under them all that touches a tensor has the
same dims at the same places, but for an input that other statements read with other dims, if no Keep is above both.
Every loop of more than one trip is over a dim of each statement below, and if some of them pass a tensor on between
branches of a sequence further in, over a dim that is the same subscript where it is made and where it is read. Other
trees are refused (`not counted`), where they do not mean nothing.
A loop with one trip in every iteration restricts nothing and is not looked at.

**Contents are boxes.** Loops restrict every statement below to a product of ranges, by their dims; further in these are
gone over wholly. So in an iteration of the loops above a Keep the operations below touch of a tensor the product of the
ranges of its dims, whichever of them touches it; along the run such boxes are equal or disjoint. A reader meets what is
complete: loops above it and the writer are over dims of the tensor, and the writer's branch has ended. Nothing of an
intermediate is alive beyond its iteration but what an outer Keep holds.

**Several accesses, and windows.** A Keep below which a tensor is read through several accesses, of one statement or of
several, or by subscripts of several dims, and not written, holds the union of the boxes that the accesses touch. What
enters is what of a union is not in that of the iteration before, if no branch ended in between (`slides`). Room is
not largest in the first iteration, where accesses may have most in common: all iterations of dims of subscripts in
which accesses differ are looked at. What is made and read so is read wholly by every statement that reads it so.
Loops above both are over subscripts that are the same ones in all accesses, so that in each iteration of theirs all of
the box that is made is read, and nothing beside it: a Keep above what makes a tensor holds the box that is written.

**Rows.** A function of rows has a statistic (`stated_rows`), which is an intermediate that loops over other dims may
go around: its words are updated and read again in several of their iterations, all words of the box by the writer and
by every reader in each. Where no Keep further out has it, each of its words must come into the Keep once, or it is not
counted. Everything else below is true of it as it is: a Keep below which it is updated changes all of it whenever it
comes, and what is needed later is stored.

**Pins.** A Keep that holds only operations with dims of a tensor in some range holds the part of its box in a fixed box
P of the tensor. A Keep of the same level further in holds its own box without what is held there, which is without P
as its box is inside the other. So every Keep has a fixed *region* of the tensor and holds what of its box is in it; the
source of an element is the innermost Keep outside it at another level that has the element in its region.

**Entries.** An element enters a Keep whenever the box with it begins. Loops of dims of the tensor (*its* loops) are all
at the element's trips then; others may be anywhere. Between two iterations of the others, one after the other in
time, the outermost that steps on being at depth p, another box has its time if and only if one of its loops further in
than p has several trips in what outer loops over that dim have left at the element, since such trips come before or
after the element's. Besides, what steps on above the sequence whose branch the Keep is in ends that branch. So the
entries are the iterations of the others down to the depth of the innermost of its loops with several trips, or of
that sequence. Depths depend on the element dim by dim: elements are counted by depth per dim, and these distributions
are put together (`runs.entries`).

**Loads.** Every entry is one, but where words start empty and the statement that makes them first is below the Keep: it
touches all of the box in the first iteration with it, so the first entry of each element loads nothing; whatever enters
later is there, and its copy in the next Keep outwards is up to date, as what is changed is stored when it leaves.

**Stores.** If a statement below a Keep writes the tensor, all that leaves was changed. Of an output it is stored each
time; of an intermediate if it is touched later. If its last toucher is below the Keep, that is so but for the last
time; if not, this toucher is in a later branch of a sequence, loops above which are over dims of the tensor, so that
it touches all of the box in the same iteration: it is stored each time. Where no Keep further out has an intermediate,
it is *lost* by that, unless the Keep is above all that touch it.

**Room.** While a leaf runs, the Keeps above it hold their boxes in their regions. What they hold together depends on
the iteration dim by dim: the first is the largest where nothing is pinned, and where dims are pinned, one iteration of
every kind is looked at (`runs.courses`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

from ..core.tools import need
from .banded_rooms import BandedHolding, BandedRooms
from .bands import StatedBand, stated_band
from .regions import Region, both, either, size, whole, without
from .runs import EVERY, MOST, Course, courses, entries, every_course
from .slides import slid
from .stated_tree import StatedKeep, StatedLeaf, StatedTree
from .stated_views import Axes, dims_alone, stated_views, window_box

PINS = 6
"""Pinned parts of one tensor outside each other that are looked at."""
HeldTensor = tuple[str, list[Axes], dict[str, int], Region | None]
"""A tensor that a level holds: subscripts, how many loops over each dim are outside the Keep, and its region."""
Pair = tuple[str, str, str]
"""Inner level, outer level, and the name under which a tensor is stored."""


@dataclass(frozen=True)
class CountedTree:
    """What a tree moves and holds, in words."""

    moved: dict[Pair, tuple[int, int]]
    """Loads and stores of every pair between which a tensor might move."""
    occupied: dict[str, int]
    """The largest occupancy per bounded level."""


def count_tree(tree: StatedTree) -> CountedTree:
    """Count a tree of the kind that the docstring of this file describes.

    Args:
        tree: means something by itself.

    Raises:
        RefusedError: for a tree that is not of the kind (`not counted`), in which an element is read before it is
            complete (`incomplete`), or needed later and nowhere (`lost`).
    """
    counts = _Counts(tree)
    return CountedTree(counts.moved(), {level: counts.peak(level) for level in tree.levels[:-1]})


class _Counts:
    def __init__(self, tree: StatedTree) -> None:
        self.tree, self.chain = tree, tree.chain
        self.band = stated_band(self.chain)
        self.views = stated_views(self.chain, tree.rows, alike=self.band is not None)
        self.weights = self.chain.weights | {rows.name: rows.weight for rows in tree.rows}
        self.touchers = {t: [leaf for leaf in tree.leaves if t in tree.touched[leaf.statement]] for t in self.views}
        self.writers = {
            t: [leaf for leaf in leaves if self.chain.held[self.chain.names[leaf.statement]] == t]
            for t, leaves in self.touchers.items()
        }
        self.writers |= {rows.name: [leaf for leaf in tree.leaves if leaf.statement == rows.made] for rows in tree.rows}
        self._check_order()
        self._check_loops()

    def moved(self) -> dict[Pair, tuple[int, int]]:
        """Loads and stores per pair."""
        loads, stores = Counter[Pair](), Counter[Pair]()
        for keep in self.tree.keeps:
            for tensor in self.tree.holds(keep):
                weight = self.weights[tensor]
                if self._plain(keep, tensor) is None:
                    outside = [o.level for o in keep.above.keeps if tensor in self.tree.holds(o)]
                    pair = (keep.level, (outside or [self.tree.memory])[-1], tensor)
                    loads[pair] += weight * slid(keep, self._view(keep, tensor), self.chain.extents)
                    stores[pair] += 0
                    continue
                for source, region in self._sources(keep, tensor):
                    pair = (keep.level, source, tensor)
                    loads[pair] += weight * self._loads(keep, tensor, region)
                    stores[pair] += weight * self._stores(keep, tensor, region)
        return {pair: (loads[pair], stores[pair]) for pair in loads}

    def peak(self, level: str) -> int:
        """The largest occupancy of a level."""
        return max(self._held(level, leaf) for leaf in self.tree.leaves)

    def _check_order(self) -> None:
        """Every reader comes after its writer, and meets all of an element."""
        leaves = {leaf.statement: leaf for leaf in self.tree.leaves}
        for number, reader in leaves.items():
            for access in self.chain.accesses[number][1:]:
                made = access["tensor"]
                if made not in self.chain.names:
                    continue
                writer = leaves[self.chain.names.index(made)]
                why = f"{self.chain.names[number]} reads {made} before it is complete"
                need(writer.address < reader.address, f"incomplete: {why}: its branch is before that of {made}")
                axes = self.chain.accesses[writer.statement][0]["axes"]
                same = [axis["terms"][0][0] for axis, own in zip(axes, access["axes"], strict=True) if axis == own]
                kind = "incomplete" if dims_alone(access["axes"]) == dims_alone(axes) else "not counted"
                for loop in set(writer.above.loops) & set(reader.above.loops):
                    inner = loop.dim in self.chain.dims[writer.statement] and loop.dim not in same
                    need(not inner, f"{kind}: {why}: the loop over {loop.dim} above both leaves {made} unfinished")
        for rows in self.tree.rows:
            for number in rows.readers if rows.waits else ():
                shared = set(leaves[rows.made].above.loops) & set(leaves[number].above.loops)
                inner = any(loop.dim in self.chain.dims[rows.made] and loop.dim not in rows.dims for loop in shared)
                kind = "not counted" if self.band else "incomplete"  # a band may end a row before its loop does
                need(not inner, f"{kind}: {self.chain.names[number]} reads a row before it is complete")

    def _check_loops(self) -> None:
        for leaf in self.tree.leaves:
            for loop in leaf.above.loops:
                name = self.chain.names[leaf.statement]
                fine = loop.dim in self.chain.dims[leaf.statement]
                need(fine, f"not counted: a loop over {loop.dim} above {name}, which does not have it")
        for keep in self.tree.keeps:
            for dim, _, _ in keep.pin:
                held = {t: self._plain(keep, t) for t in self.tree.holds(keep)}
                fine = all(dims is not None and dim in dims and self._alike(keep, t) for t, dims in held.items())
                need(fine, f"not counted: a keep at {keep.level} of a part of {dim}, which a tensor does not have")

    def _below(self, keep: StatedKeep, tensor: str) -> list[StatedLeaf]:
        """The leaves below a Keep that touch a tensor."""
        return [leaf for leaf in self.touchers[tensor] if keep in leaf.above.keeps]

    def _alike(self, keep: StatedKeep, tensor: str) -> bool:
        """Whether all that touches a tensor below a Keep does so through the same subscripts."""
        views = [self.views[tensor][leaf.statement] for leaf in self._below(keep, tensor)]
        return all(view == views[0][:1] for view in views)

    def _view(self, keep: StatedKeep, tensor: str) -> list[Axes]:
        """Through which subscripts a tensor is touched below a Keep: what is made there is all that is read there."""
        leaves, views = self._below(keep, tensor), self.views[tensor]
        leaves = [leaf for leaf in leaves if leaf in self.writers[tensor]][:1] or leaves
        found: list[Axes] = []
        for leaf in leaves:
            found += [axes for axes in views[leaf.statement] if axes not in found]
        need(self.band is None or not found[1:], f"not counted: {tensor} is touched with different dims below a keep")
        return found

    def _plain(self, keep: StatedKeep, tensor: str) -> list[str] | None:
        """The dims that are the subscripts of a tensor in all accesses below a Keep; None if there is more to say."""
        axes, *others = self._view(keep, tensor)
        return None if others else dims_alone(axes)

    def _dims(self, keep: StatedKeep, tensor: str) -> list[str]:
        """The same, of a tensor of which there is no more to say."""
        return self._plain(keep, tensor) or []

    def _region(self, keep: StatedKeep, tensor: str) -> Region:
        """What of a tensor a Keep is for."""
        dims, extents = self._dims(keep, tensor), self.chain.extents
        region = _pinned(keep, dims, extents)
        same = [o for o in keep.above.keeps if o.level == keep.level and tensor in self.tree.holds(o)]
        need(len(same) <= PINS, f"not counted: more than {PINS} pinned parts of {tensor} outside each other")
        for outer in same:
            region = without(region, _pinned(outer, dims, extents))
        return region

    def _sources(self, keep: StatedKeep, tensor: str) -> list[tuple[str, Region]]:
        """The levels from which parts of a Keep's region come."""
        found, left = [], self._region(keep, tensor)
        for outer in reversed(keep.above.keeps):
            if outer.level != keep.level and tensor in self.tree.holds(outer):
                if not outer.pin:  # what it does not have, pins of its level have
                    found.append((outer.level, left))
                    break
                there = self._region(outer, tensor)
                found.append((outer.level, both(left, there)))
                left = without(left, there)
        else:
            if tensor not in self.tree.inner:
                return [*found, (self.tree.memory, left)]
            self._check_home(keep, tensor, left)
        return found

    def _check_home(self, keep: StatedKeep, tensor: str, region: Region) -> None:
        """What has no other place must not be needed when it leaves."""
        touching = self.touchers[tensor]
        home = all(self.tree.is_below(leaf, keep) for leaf in touching)
        made = self.tree.is_below(self.writers[tensor][0], keep)
        stays = home and self._entries(keep, tensor, region) == self._size(keep, tensor, region)
        lost = tensor in self.chain.names or not home
        why = f"{'lost' if lost else 'not counted'}: {tensor} leaves {keep.level} and has no outer home"
        need(stays or not made or not size(region), why)

    def _entries(self, keep: StatedKeep, tensor: str, region: Region) -> int:
        dims, extents = self._dims(keep, tensor), self.chain.extents
        enter = self.band.entries if self.band else entries
        return sum(factor * enter(keep, dims, box, extents) for box, factor in region.items())

    def _size(self, keep: StatedKeep, tensor: str, region: Region) -> int:
        """How many elements of a region are touched at all."""
        if self.band is None:
            return size(region)
        dims = self._dims(keep, tensor)
        every = {self.band.touched(dims, {d: (0, n) for d, n in self.chain.extents.items()}): 1}
        return sum(factor * self.band.size(dims, box) for box, factor in both(every, region).items())

    def _loads(self, keep: StatedKeep, tensor: str, region: Region) -> int:
        made = tensor in self.tree.inner or (tensor in self.chain.names and self.chain.starts_empty(tensor))
        first = self._size(keep, tensor, region) if made and self.tree.is_below(self.writers[tensor][0], keep) else 0
        return self._entries(keep, tensor, region) - first

    def _stores(self, keep: StatedKeep, tensor: str, region: Region) -> int:
        if not any(self.tree.is_below(leaf, keep) for leaf in self.writers[tensor]):
            return 0
        dropped = tensor not in self.chain.outputs and self.tree.is_below(self.touchers[tensor][-1], keep)
        return self._entries(keep, tensor, region) - (self._size(keep, tensor, region) if dropped else 0)

    def _held(self, level: str, leaf: StatedLeaf) -> int:
        """The most that a level holds while a leaf runs."""
        keeps = [keep for keep in leaf.above.keeps if keep.level == level]
        held: list[HeldTensor] = []
        for keep in keeps:
            depths = {d: sum(loop.dim == d for loop in keep.above.loops) for d in self.chain.extents}
            for tensor in self.tree.holds(keep):
                region = None if self._plain(keep, tensor) is None else self._region(keep, tensor)
                held.append((tensor, self._view(keep, tensor), depths, region))
        kinds, apart = dict[str, list[Course]](), _dims_apart(held)
        for dim, extent in self.chain.extents.items():
            cuts = sorted({end for keep in keeps for d, *ends in keep.pin if d == dim for end in ends})
            grids = [(loop.tile, loop.ahead) for loop in leaf.above.loops if loop.dim == dim]
            kinds[dim] = every_course(extent, grids) if dim in apart else courses(extent, grids, tuple(cuts))
        most = EVERY if apart else MOST
        need(
            prod(map(len, kinds.values())) <= most,
            "not counted: too many kinds of iterations of dims that are pinned or of several accesses",
        )
        if self.band is None:
            return self._most(kinds, held)
        others = {d: own for d, own in kinds.items() if d not in self.band.dims}
        loops = [loop for loop in leaf.above.loops if loop.dim in self.band.dims]
        found = 0
        for chosen in product(*others.values()):
            holding = [self._holding(one, dict(zip(others, chosen, strict=True)), self.band) for one in held]
            found = BandedRooms(self.band, loops, holding, found).look(
                {d: (0, self.chain.extents[d]) for d in self.band.dims}
            )
        return found

    def _holding(self, one: HeldTensor, courses_of: dict[str, Course], band: StatedBand) -> BandedHolding:
        """A tensor under conditions, given iterations of the loops over other dims."""
        tensor, (axes,), depths, region = one
        dims, now = dims_alone(axes) or [], {d: course[depths[d]] for d, course in courses_of.items()}

        @cache
        def elements(*ends: tuple[str, tuple[int, int]]) -> int:
            part = both({band.touched(dims, {**now, **dict(ends)}): 1}, region or {})
            return sum(factor * band.size(dims, box) for box, factor in part.items())

        return BandedHolding(
            due=sum(depths[d] for d in band.dims),
            dims=tuple(dims),
            weight=self.weights[tensor],
            elements=lambda places: elements(*places.items()),
            others=prod(high - low for d, (low, high) in now.items() if d in dims),
        )

    def _most(self, kinds: dict[str, list[Course]], held: list[HeldTensor]) -> int:
        """The most words that are held in some iterations."""
        most, known = 0, dict[tuple[int, tuple[Any, ...]], int]()
        for chosen in product(*kinds.values()):
            words = 0
            for number, (_, _, depths, _) in enumerate(held):
                now = tuple(course[depth] for course, depth in zip(chosen, depths.values(), strict=True))
                if (number, now) not in known:
                    known[number, now] = self._words(held[number], dict(zip(kinds, now, strict=True)))
                words += known[number, now]
            most = max(most, words)
        return most

    def _words(self, one: HeldTensor, now: dict[str, Any]) -> int:
        """Words of a tensor that a level holds in an iteration."""
        tensor, view, _, region = one
        content = either(window_box(axes, now) for axes in view)
        return self.weights[tensor] * size(content if region is None else both(content, region))


def _dims_apart(held: list[HeldTensor]) -> set[str]:
    """Dims of subscripts in which accesses to a tensor differ: what they have in common depends on where these are."""
    found = set[str]()
    for _, view, _, _ in held:
        for axes in zip(*view, strict=True):
            if any(axis != axes[0] for axis in axes):
                found |= {d for axis in axes for d, _ in axis["terms"]}
    return found


def _pinned(keep: StatedKeep, dims: list[str], extents: dict[str, int]) -> Region:
    """The part of a tensor whose operations a Keep is for."""
    ends: dict[str, Any] = {d: (low, high) for d, low, high in keep.pin}
    return both(whole([extents[d] for d in dims]), {tuple(ends.get(d, (0, extents[d])) for d in dims): 1})
