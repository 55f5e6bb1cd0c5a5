"""Sets of a cache: lines per set against literal addresses, what stays against the simulated cache."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import cases
from host_machines import AVX512
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.count.timing import cache_geometry, kept_shares, tile_loads
from optmap.count.timing.predict import predict
from optmap.files.inputs import workload_of
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import kernel_roles
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Geometry, activation_layouts, buffers_of, places, replay_lines
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload

LINE = 64


def literal_lines(workload, number, tile, layout, lanes):
    """Lines of a tile at the first iterations, every element asked for its address."""
    tensor = workload.tensors[number]
    buffer = buffers_of(workload, activation_layouts(workload, kernel_roles(workload), layout, lanes), (False,) * 3)[
        number
    ]
    own = [places(buffer, axis) for axis in range(len(tensor.axes))]
    indices = [
        sorted(
            {
                sum(c * i for (_, c), i in zip(axis.terms, box, strict=True))
                for box in itertools.product(*(range(tile[d]) for d in axis.dims))
            }
        )
        for axis in tensor.axes
    ]
    sums = [sum(int(p[i]) for p, i in zip(own, choice, strict=True)) for choice in itertools.product(*indices)]
    return sorted({place // LINE for place in sums})


@settings(max_examples=cases(12, 60))
@given(data=st.data())
def test_lines_per_set_are_those_of_the_addresses(data):
    channels = data.draw(st.sampled_from((16, 32, 64)))
    kind = data.draw(st.sampled_from(({}, {"groups": 4}, {"depthwise": True})))
    sizes = {"c": channels} if "depthwise" in kind else {"k": channels, "c": channels}
    workload = conv2d(**sizes, h=9, w=10, r=3, s=2, stride=data.draw(st.integers(1, 2)), padding="valid", **kind)
    tile = {dim: data.draw(st.integers(1, size)) for dim, size in workload.sizes}
    layout = data.draw(st.sampled_from((ActivationLayout.NHWC, ActivationLayout.BLOCKED)))
    sets = data.draw(st.sampled_from((1, 8, 64)))
    number = data.draw(st.sampled_from((0, 1)))
    loads = tile_loads(workload, number, tile, layout=layout, lanes=16, line_bytes=LINE, sets=sets)
    lines = literal_lines(workload, number, tile, layout, 16)
    assert loads.tolist() == np.bincount([line % sets for line in lines], minlength=sets).tolist()


@pytest.mark.parametrize(("size", "line"), [(0.5, 8), (1.5, 48), (0.125, 6), (2, 32)])
def test_elements_that_are_no_whole_bytes_lie_side_by_side(size, line):
    extents = {"i": 20, "k": 96, "l": 2, "j": 2}
    workload = parse_workload("O[i,j] += A[i,k]*B[k,l]*C[l,j]", extents, bytes=size)
    tile = {"i": 5, "k": 30, "l": 1, "j": 1}
    loads = tile_loads(workload, 1, tile, layout=ActivationLayout.NHWC, lanes=1, line_bytes=line, sets=4)
    lines = {int((96 * i + k) * 8 * size) // (8 * line) for i in range(5) for k in range(30)}
    assert loads.tolist() == np.bincount([each % 4 for each in lines], minlength=4).tolist()


@given(
    lines=st.sets(st.integers(0, 60), min_size=1, max_size=40),
    sets=st.sampled_from((1, 2, 4, 8)),
    ways=st.integers(1, 6),
)
def test_what_goes_round_and_round_stays_in_the_sets_where_it_fits(lines, sets, ways):
    """The share that is kept is exactly what a simulated cache does not load again."""
    once, rounds = np.array(sorted(lines)), 4
    loads = np.bincount(once % sets, minlength=sets).astype(float)
    (share,) = kept_shares([loads], ways)
    stream = np.tile(once, rounds)
    geometry = [Geometry(sets=sets, ways=ways, inclusive=False)]
    loaded, _ = replay_lines(geometry, stream, np.zeros(len(stream), int), np.zeros(len(stream), bool), 1)
    assert loaded[0, 0] == len(once) + round((rounds - 1) * len(once) * (1 - share))


def test_pixels_a_power_of_two_apart_meet_in_few_sets():
    workload = workload_of("resnet18/R2", None, "assign", "implicit")
    tile = {"n": 1, "k": 16, "c": 1, "r": 1, "s": 3, "h": 56, "w": 3}
    loads = tile_loads(workload, 1, tile, layout=ActivationLayout.NHWC, lanes=16, line_bytes=LINE, sets=64)
    assert loads.sum() == 56 * 5
    assert (np.count_nonzero(loads), loads.max()) == (10, 28)  # pixels 4 lines apart, rows 224
    assert kept_shares([loads], 12) == (0,)
    assert kept_shares([loads], 28) == (1,)


def test_sets_are_told_apart_where_the_program_chooses_them():
    l1, l2, _ = AVX512.levels[1:]
    assert cache_geometry(l1, 32) == (64, 12, 64)
    assert cache_geometry(l2, 32) == (1, 2**21 // 64, 64)  # by pages
    assert cache_geometry(replace(l1, ways=None), 32) == (1, 768, 64)
    assert cache_geometry(replace(l1, ways=None, line_bytes=None), 32) == (1, 12288, 4)


def test_a_tile_that_collides_costs_what_it_loses():
    """The same tiles with 64 channels, whose pixels collide in the first cache, and with 80, whose pixels do not."""
    order = ("n", "k", "h", "w", "c", "r", "s")

    def moved(channels):
        workload = conv2d(k=channels, c=channels, h=56, w=56, r=3, s=3).with_padding("implicit")
        one = dict.fromkeys(workload.dims, 1)
        tiles = (one | {"k": 16, "w": 3}, one | {"k": 16, "s": 3, "h": 56, "w": 3}, workload.extents, workload.extents)
        levels = (
            LevelMapping(level=level.name, tile=tile, permutation=order, spatial={})
            for level, tile in zip(AVX512.levels, tiles, strict=True)
        )
        return predict(workload, AVX512, Mapping(levels=tuple(levels))).boundaries[0].moved_bytes / workload.operations

    assert moved(64) > 1.5 * moved(80)
