"""Counts over integers and over arrays against sets of literal index values, and against each other."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optmap.count.levels.cutting import cut_once, cuts
from optmap.count.levels.first_touches import touched_values
from optmap.count.levels.halo import entering, group_counts, shared_counts
from optmap.mappings.cutting import TileDescent
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.axes import group_dims, touched_at_least
from optmap.workloads.halo import grid_values, run_values


def ranges(extent: int, tile: int) -> list[range]:
    return [range(start, min(start + tile, extent)) for start in range(0, extent, tile)]


def values(coefficients, box) -> set[int]:
    return {sum(c * x for c, x in zip(coefficients, point, strict=True)) for point in product(*box)}


def elements(group, box: dict[str, range]) -> set[tuple[int, ...]]:
    """The product of the values of the subscripts: what a tile of a tensor is."""
    return set(product(*(values([c for _, c in axis.terms], [box[d] for d in axis.dims]) for axis in group)))


@st.composite
def boxes(draw, most=3):
    dims = draw(st.integers(1, most))
    coefficients = tuple(draw(st.integers(1, 5)) for _ in range(dims))
    extents = tuple(draw(st.integers(1, 9)) for _ in range(dims))
    return coefficients, extents, tuple(draw(st.integers(1, n)) for n in extents)


@given(boxes(), st.data())
def test_a_run_brings_in_what_the_tile_before_did_not_have(box, data):
    coefficients, extents, tile = box
    along = data.draw(st.integers(0, len(tile) - 1))
    total, old = 0, set()
    for part in ranges(extents[along], tile[along]):
        new = values(coefficients, [part if i == along else range(t) for i, t in enumerate(tile)])
        total, old = total + len(new - old), new
    assert run_values(coefficients, tile, along, extents[along]) == total


@given(boxes())
def test_a_grid_counts_every_tile_as_it_is(box):
    coefficients, extents, tile = box
    tiles = product(*(ranges(n, t) for n, t in zip(extents, tile, strict=True)))
    assert grid_values(coefficients, extents, tile) == sum(len(values(coefficients, part)) for part in tiles)


GROUPS = {
    "plain": (Subscript(terms=(("x", 3),)),),
    "window": (Subscript(terms=(("x", 1), ("y", 1))),),
    "stride": (Subscript(terms=(("x", 3), ("y", 1))),),
    "dilation": (Subscript(terms=(("x", 1), ("y", 4))),),
    "coprime": (Subscript(terms=(("x", 2), ("y", 3))),),
    "three": (Subscript(terms=(("x", 1), ("y", 2), ("z", 5))),),
    "two subscripts": (Subscript(terms=(("x", 2), ("y", 1))), Subscript(terms=(("y", 1), ("z", 3)))),
}


@pytest.mark.parametrize("kind", GROUPS)
@given(data=st.data())
def test_what_enters_over_all_tiles_is_what_sets_say(kind, data):
    group = GROUPS[kind]
    dims = group_dims(group)
    extents = {d: data.draw(st.integers(1, 8)) for d in dims}
    tile = {d: data.draw(st.integers(1, n)) for d, n in extents.items()}
    at = data.draw(st.sampled_from([None, *dims]))
    along = {d: cut_once(extents[d], np.array([tile[d]])) for d in dims}
    total = 0
    outer = [d for d in dims if d != at]
    for parts in product(*(ranges(extents[d], tile[d]) for d in outer)):
        box, old = dict(zip(outer, parts, strict=True)), set()
        for part in ranges(extents[at], tile[at]) if at else [range(1)]:
            new = elements(group, {**box, at: part} if at else box)
            total, old = total + len(new - old), new
    assert entering(group, along, at).tolist() == [total]


@pytest.mark.parametrize("kind", GROUPS)
@given(data=st.data())
def test_neighbours_share_what_sets_share(kind, data):
    group = GROUPS[kind]
    sizes = {d: data.draw(st.integers(1, 6)) for d in group_dims(group)}
    at, before = data.draw(st.sampled_from(list(sizes))), data.draw(st.integers(1, 6))
    new = elements(group, {d: range(n) for d, n in sizes.items()})
    old = elements(group, {d: range(-before, 0) if d == at else range(n) for d, n in sizes.items()})
    arrays = {d: np.array([n]) for d, n in sizes.items()}
    assert group_counts(group, arrays).tolist() == [len(new)]
    assert shared_counts(group, arrays, at, np.array([before])).tolist() == [len(new & old)]


@st.composite
def descents(draw):
    """One dim of a chain with splits: (extent, tiles, ways), inner level first."""
    size = extent = draw(st.integers(1, 40))
    tiles, ways = [], []
    for _ in range(draw(st.integers(1, 3))):
        tiles.append(draw(st.integers(1, size)))
        ways.append(draw(st.integers(1, min(3, tiles[-1]))))
        size = -(-tiles[-1] // ways[-1])
    return extent, tuple(reversed(tiles)), tuple(reversed(ways))


def executed(extent, tiles, ways, level) -> list[range]:
    """The parts of a dim that the first child of every split beyond a level gets, literally."""
    parts = [range(extent)]
    for at in range(len(tiles) - 1, level, -1):
        whole = [part[start : start + tiles[at]] for part in parts for start in range(0, len(part), tiles[at])]
        parts = [piece[: -(-len(piece) // ways[at])] for piece in whole]
    return parts


@given(descents(), st.data())
def test_an_extent_is_cut_in_one_way_by_integers_arrays_and_hand(chain, data):
    extent, tiles, ways = chain
    level = data.draw(st.integers(0, len(tiles) - 1))
    parts = executed(extent, tiles, ways, level)
    placed = TileDescent(extent=extent, base=level, tiles=tiles, ways=ways, placed=True)
    plain = TileDescent(extent=extent, base=level, tiles=tiles, ways=ways)
    assert placed.shares(level + 1) == Counter((part.start, len(part)) for part in parts)
    assert plain.shares(level + 1) == Counter((0, len(part)) for part in parts)
    assert plain.executed == sum(map(len, parts))
    column = [np.array(sizes)[:, None, None] for sizes in (tiles, ways)]
    along = cuts(np.array([extent]), column[0], level, column[1]).along(0)
    children = Counter(len(piece) for part in parts for piece in ranges(len(part), tiles[level]))
    for sliding in (False, True):
        found: Counter[int] = Counter()
        for _, size, times in along.visits(sliding=sliding):
            found[int(size[0])] += int(times[0])
        assert +found == children
    assert (int(along.total[0]), int(along.parents[0])) == (sum(map(len, parts)), len(parts))
    assert int(along.children[0]) == children.total()


@given(descents(), descents(), st.integers(1, 3), st.integers(1, 4))
def test_touched_values_are_those_of_what_the_first_child_executes(one, other, m, n):
    pair = [(extent, tiles, ways) for extent, tiles, ways in (one, other)]
    boxes = [[x for part in executed(*dim, 0) for x in part] for dim in pair]
    placed = tuple(TileDescent(extent=e, base=0, tiles=t, ways=w, placed=True) for e, t, w in pair)
    assert touched_values((m, n), placed) == len(values((m, n), boxes))
    assert touched_values((m,), placed[:1]) == len(boxes[0])


def test_subscripts_without_a_common_dim_combine_freely():
    chain = TensorAccess(
        name="A", axes=tuple(Subscript(terms=tuple((d, 1) for d in pair)) for pair in ("ij", "jk", "kl"))
    )
    tile = {"i": 3, "j": 2, "k": 2, "l": 4}
    touched = {(i + j, j + k, k + l) for i, j, k, l in product(*(range(n) for n in tile.values()))}  # noqa: E741
    assert touched_at_least(chain, tile) == 4 * 5 <= len(touched)
    diagonal = TensorAccess(name="A", axes=(Subscript(terms=(("i", 1),)), Subscript(terms=(("i", 1),))))
    assert touched_at_least(diagonal, {"i": 7}) == 7
