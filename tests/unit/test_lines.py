"""Where elements lie, as predictions take it: against the addresses of emitted code's buffers."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
from cases import cases
from host_machines import AVX512
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.count.timing import PAIR, contested_bytes, run_length
from optmap.count.timing.predict import predict
from optmap.files.inputs import workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.kernels.kernel_roles import kernel_roles
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import activation_layouts, buffers_of, places
from optmap.search import ranked
from optmap.workloads.builders import conv2d

LINE = 64
LANES = 4
"""They divide every number of channels."""


def addresses(workload, number, tile, layout):
    """Places of a tile's elements at the first iterations, in elements from the buffer's first, ascending."""
    tensor = workload.tensors[number]
    buffer = buffers_of(workload, activation_layouts(workload, kernel_roles(workload), layout, LANES))[number]
    found = np.zeros(1, dtype=np.int64)
    for place, axis in enumerate(tensor.axes):
        boxes = itertools.product(*(range(tile[d]) for d in axis.dims))
        values = sorted({sum(c * i for (_, c), i in zip(axis.terms, box, strict=True)) for box in boxes})
        found = np.add.outer(found, np.asarray(places(buffer, place))[values] // (buffer.bits // 8)).reshape(-1)
    return sorted(found.tolist())


def some_workload(data):
    kind = data.draw(st.sampled_from(("dense", "grouped", "depthwise")))
    more = {"h": data.draw(st.integers(2, 6)), "w": data.draw(st.integers(3, 7)), "n": 2, "padding": "valid"}
    if kind == "depthwise":
        return conv2d(c=data.draw(st.sampled_from((8, 32))), r=2, s=3, depthwise=True, **more)
    k, c = data.draw(st.sampled_from(((16, 32), (32, 16), (64, 8))))
    return conv2d(k=k, c=c, r=2, s=1, groups=1 if kind == "dense" else 4, **more)


def runs(found):
    """Lengths of runs of consecutive numbers."""
    ends = [0, *(n + 1 for n, (a, b) in enumerate(pairwise(found)) if b > a + 1), len(found)]
    return [b - a for a, b in pairwise(ends)]


@settings(max_examples=cases(26, 80))
@given(data=st.data())
def test_elements_lie_one_after_another_where_the_code_has_them(data):
    workload = some_workload(data)
    tile = {dim: data.draw(st.sampled_from((1, max(size // 2, 1), size))) for dim, size in workload.sizes}
    layout = data.draw(st.sampled_from(list(ActivationLayout)))
    roles = kernel_roles(workload, layout)
    unpacked = () if roles.apart is None else (roles.weights,)  # broadcast, in the order in which they are given
    for number in (0, roles.images, *unpacked):
        assert runs(addresses(workload, number, tile, layout))[0] == run_length(workload, number, tile, layout, LANES)


@settings(max_examples=cases(20, 60))
@given(data=st.data())
def test_what_threads_write_side_by_side_is_counted_run_by_run(data):
    workload = some_workload(data)
    layout = data.draw(st.sampled_from(list(ActivationLayout)))
    dim = data.draw(st.sampled_from([d for d, n in workload.sizes if d in workload.output.dims and n % 2 == 0]))
    tile = {**workload.extents, dim: workload.extents[dim] // 2}
    order = workload.dims
    inner = LevelMapping(level="L2", tile=tile, permutation=order, spatial={})
    outer = LevelMapping(level="L3", tile=workload.extents, permutation=order, spatial={dim: 2})
    found = runs(addresses(workload, 0, tile, layout))
    expected = sum(2 * min(-(-4 * run // LINE), PAIR) * LINE for run in found)
    assert (
        contested_bytes(workload, Mapping(levels=(inner, outer)), 0, layout=layout, lanes=LANES, line_bytes=LINE)
        == expected
    )


def test_threads_share_rows_where_channels_would_lie_side_by_side():
    """Pixels of M2 have 256 bytes: halves of them are written by two threads in turns if channels are split."""
    for name in ("M2", "M4"):
        workload = workload_of(f"mobilenet/{name}", None, "assign", "implicit")
        assert ranked(workload, AVX512, threads=2, count=1)[0].mapping.levels[-1].spatial == {"h": 2}
        blocked = CodeOptions(layout=ActivationLayout.BLOCKED)
        found = ranked(workload, AVX512, blocked, threads=2, count=1)[0]
        runs = contested_bytes(workload, found.mapping, 2, layout=blocked.layout, lanes=16, line_bytes=LINE)
        assert runs == 2 * PAIR * LINE  # one run


def test_contested_lines_are_waited_for():
    workload = workload_of("mobilenet/M2", None, "assign", "implicit")
    found = {}
    for dim in ("c", "h"):
        tile = {**workload.extents, dim: workload.extents[dim] // 2}
        register = {**dict.fromkeys(workload.dims, 1), "c": 16, "h": 4, "w": 4}
        levels = [
            LevelMapping(level=name, tile=size, permutation=("n", "h", "w", "c", "r", "s"), spatial=split)
            for name, size, split in (
                ("Reg", register, {}),
                ("L1", tile, {}),
                ("L2", tile, {}),
                ("L3", workload.extents, {dim: 2}),
            )
        ]
        found[dim] = predict(workload, AVX512, Mapping(levels=tuple(levels)), threads=2).boundaries[1]
    more = 56 * 56 * 2 * PAIR * LINE - 2 * PAIR * LINE
    assert found["c"].waited_cycles - found["h"].waited_cycles >= more / 24 * 0.9
