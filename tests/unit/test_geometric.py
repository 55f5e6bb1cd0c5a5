"""Posynomial rows: exact at whole numbers of tiles in exact boxes, lower estimates everywhere else."""

from math import log

import numpy as np
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import affine_workloads, convolutions_1d, convolutions_2d, loop_orders, matmuls, tiles

from optmap.count.levels.per_level import LevelModel
from optmap.mappings.reuse import TensorRoom, dataflow, safe_working_set
from optmap.programs import TileSpace, linear_subscripts, whole_count
from optmap.workloads.halo import run_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

FAMILIES = (matmuls, convolutions_1d, convolutions_2d)


def dense(max_extent=9):
    return st.one_of(*(family(max_extent=max_extent, max_operations=20_000) for family in FAMILIES))


def anything(max_extent=7):
    return st.one_of(dense(max_extent), affine_workloads(max_extent=max_extent, max_operations=20_000))


def value(rows, space, own, outer):
    """Rows at tiles given as extents per dim."""
    mine = np.array([log(own[d]) for d in space.free])
    beyond = np.array([log(outer[d]) for d in space.free])
    return float(np.exp(rows.logs + rows.own @ mine + rows.next @ beyond).sum())


def wide_box(draw, space, tile):
    box = []
    for dim in space.boxed:
        low = draw(st.integers(1, tile[dim]))
        box.append((low, draw(st.integers(tile[dim], space.extents[dim]))))
    return tuple(box)


def exact_traffic(workload, chain, flow):
    model = LevelModel(workload)
    array = np.array([[[tile[d] for d in workload.dims] for tile in chain]])
    return int(model.traffic(array, 0, flow)[0])


def subtracted(workload):
    return whole_count(workload) if workload.semantics is Semantics.ASSIGN else 0


def allowed(workload):
    """Under `assign`, evaluation refuses a dim in two subscripts of the output."""
    if workload.semantics is Semantics.ACCUMULATE:
        return True
    dims = [d for axis in workload.output.axes for d in axis.dims]
    return len(dims) == len(set(dims))


@given(st.data())
@settings(max_examples=cases(40, 300))
def test_traffic_is_a_lower_estimate(data):
    """Any box around the tiles, ragged tiles, one or two levels, gaps, three terms, joined subscripts."""
    workload = data.draw(anything().filter(allowed))
    space = TileSpace(workload)
    outer = data.draw(tiles(workload.extents))
    own = data.draw(tiles(outer))
    flow = dataflow(workload, data.draw(loop_orders(workload)))
    boxes = [wide_box(data.draw, space, own), wide_box(data.draw, space, outer)]
    words = exact_traffic(workload, (own, outer), flow) + subtracted(workload)
    assert value(space.traffic(flow, boxes[0], boxes[1]), space, own, outer) <= words * (1 + 1e-9)
    whole = workload.extents
    words = exact_traffic(workload, (own,), flow) + subtracted(workload)
    assert value(space.traffic(flow, boxes[0], None), space, own, whole) <= words * (1 + 1e-9)


def without_gaps(axis, tile):
    """Whether the values that a tile touches along an axis are consecutive."""
    reach = 1
    for size, dim in sorted((size, dim) for dim, size in axis.terms):
        if tile[dim] > 1 and size > reach:
            return False
        reach += size * (tile[dim] - 1)
    return True


def windows_without_gaps(workload, own, outer):
    """Along an axis that two dims move, tiles without gaps overlap with their neighbours only."""
    axes = [axis for tensor in workload.tensors for axis in tensor.axes]
    return all(without_gaps(axis, own) for axis in axes if sum(outer[d] > 1 for d in axis.dims) > 1)


@given(st.data())
@settings(max_examples=cases(30, 200))
def test_traffic_is_exact_at_divisors(data):
    """Single values of the boxed dims, tiles that divide, dense or strided windows without gaps."""
    workload = data.draw(dense().filter(allowed))
    space = TileSpace(workload)
    outer = {d: data.draw(st.sampled_from([v for v in range(1, n + 1) if n % v == 0])) for d, n in workload.sizes}
    own = {d: data.draw(st.sampled_from([v for v in range(1, n + 1) if n % v == 0])) for d, n in outer.items()}
    flow = dataflow(workload, data.draw(loop_orders(workload)))
    boxes = (space.single(own), space.single(outer))
    found = value(space.traffic(flow, *boxes), space, own, outer)
    words = exact_traffic(workload, (own, outer), flow) + subtracted(workload)
    assert found <= words * (1 + 1e-9)
    if windows_without_gaps(workload, own, outer):
        assert abs(found - words) <= 1e-9 * words


@given(st.data())
@settings(max_examples=cases(40, 300))
def test_capacity_is_a_lower_estimate(data):
    workload = data.draw(anything())
    space = TileSpace(workload)
    own = data.draw(tiles(workload.extents))
    box = wide_box(data.draw, space, own)
    model = LevelModel(workload.with_semantics(Semantics.ACCUMULATE))
    array = np.array([[own[d] for d in workload.dims]])
    single = tuple(TensorRoom() for _ in workload.tensors)
    for working in (single, safe_working_set(workload, data.draw(loop_orders(workload)))):
        held = int(model.safe_occupancy(array, working)[0])
        assert value(space.capacity(box, working), space, own, workload.extents) <= held * (1 + 1e-9)


@given(st.data())
@settings(max_examples=cases(30, 150))
def test_capacity_of_one_tile_is_exact_at_single_values(data):
    workload = data.draw(dense())
    space = TileSpace(workload)
    own = data.draw(tiles(workload.extents))
    single = tuple(TensorRoom() for _ in workload.tensors)
    held = sum(workload.weight(t) * t.footprint(own) for t in workload.tensors)
    found = value(space.capacity(space.single(own), single), space, own, workload.extents)
    assert abs(found - held) <= 1e-9 * held


@given(st.data())
def test_splitting_covers_a_box_and_ends_in_exact_ones(data):
    workload = data.draw(anything())
    space = TileSpace(workload)
    own = data.draw(tiles(workload.extents))
    box = space.whole()
    for _ in range(200):
        parts = space.split(box)
        if not parts:
            break
        inside = [p for p in parts if all(lo <= own[d] <= hi for d, (lo, hi) in zip(space.boxed, p, strict=True))]
        assert inside
        box = inside[-1]
    assert space.is_exact(box)


@given(st.data())
@settings(max_examples=cases(200, 600))
def test_the_walk_over_whole_tiles_brings_in_the_least_share(data):
    """Else rows along a reuse dim would have to look at every length of a walk."""
    size = st.integers(1, 9)
    box = data.draw(st.lists(size, min_size=2, max_size=4))
    coefficients = data.draw(st.lists(st.integers(1, 12), min_size=len(box), max_size=len(box)))
    along, extent = data.draw(st.integers(0, len(box) - 1)), data.draw(st.integers(1, 40))
    walked = [run_values(tuple(coefficients), tuple(box), along, n) for n in range(1, extent + 1)]
    tiled = extent // box[along] * box[along]
    shares = [entered * extent >= n * walked[-1] for n, entered in enumerate(walked, 1)]
    assert all(shares) == (tiled == 0 or shares[tiled - 1])


def test_rows_along_a_reuse_dim_take_as_long_for_every_extent(monkeypatch):
    """They once walked over every tile of a row, which no time limit ended."""
    walks = []
    monkeypatch.setattr(linear_subscripts, "run_values", lambda *asked: walks.append(asked) or run_values(*asked))
    counts = set()
    for extent in (50, 65537):
        workload = parse_workload("O[a,b] += A[a+2*b,c]*B[c+b,a]", {"a": 1000003, "b": extent, "c": 99991})
        space = TileSpace(workload)
        box = space.single(dict.fromkeys(workload.dims, 7))
        space.traffic(dataflow(workload, ("a", "c", "b")), box, None)
        counts.add(len(walks))
        walks.clear()
    (count,) = counts
    assert 0 < count <= 8
