"""The outer-product leaf: which registers it fills, what it leaves out at rims, how its weights lie."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from cases import cases
from emitted import SANITIZED, check_together
from host_machines import AVX2, AVX512, HOSTS
from hypothesis import given
from hypothesis import strategies as st

from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import emit_code
from optmap.native.emit.regions import DimRegions, PaddedSubscript
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


def mapped(workload, machine, order, *tiles):
    """A mapping from the tiles of its inner levels; dims that are left out are 1 in the first, whole in the others."""
    levels = []
    for number, level in enumerate(machine.levels):
        rest = dict.fromkeys(workload.dims, 1) if number == 0 else workload.extents
        tile = {**rest, **(tiles[number] if number < len(tiles) else {})}
        levels.append(LevelMapping(level=level.name, tile=tile, permutation=tuple(order), spatial={}))
    return Mapping(levels=tuple(levels))


def layer(semantics=Semantics.ASSIGN, **sizes):
    return conv2d(**sizes).with_padding("implicit").with_semantics(semantics)


def emitted(workload, machine, tile, order=None, options=None, **l1):
    reductions = [d for d in "rsc" if d in workload.dims] if order is None else list(order)
    outer = [d for d in workload.dims if d not in reductions]
    return emit_code(workload, mapped(workload, machine, [*outer, *reductions], tile, l1), machine, options)


def kernels(code):
    """Text of every kernel."""
    return [part for part in code.source.split("/* ") if " points */" in part]


STEP = """\
    for (long c = 0; c <= 12 - 4; c += 4, x_0 += 4, y_0 += 32) {
#pragma GCC unroll 4
      for (long i0 = 0; i0 < 4; i0++) {
        const optmap_small_vector w_0 = optmap_small_load(y_0 + 8*i0, 8);
        { const float x_1 = x_0[i0]; a_0_0 += w_0 * x_1; }
        { const float x_1 = x_0[i0 + 24]; a_1_0 += w_0 * x_1; }
        __asm__ volatile("" ::: "memory");
      }
    }
"""


def test_a_small_kernel_reads_as_it_works():
    code = emitted(layer(name="small", c=12, k=8, h=2, w=2, r=1, s=1, stride=1), AVX2, {"k": 8, "h": 2})
    (kernel,) = kernels(code)
    assert STEP in kernel
    assert kernel.startswith("1 vector; 2 points */")
    assert "a_0_0 = {0};" in kernel
    assert "fresh" not in kernel  # all of the reduction: nothing to load


def test_the_rim_is_left_out():
    """Three taps and tiles of the whole width: each tap has the points that it meets."""
    code = emitted(layer(c=2, k=16, h=1, w=4, r=1, s=3), AVX512, {"k": 16, "w": 4})
    (kernel,) = kernels(code)
    assert [kernel.count(f"a_{point}_0 += ") for point in range(4)] == [2, 3, 3, 2]


def test_a_kernel_per_rim_and_size():
    code = emitted(layer(c=2, k=40, h=5, w=14, r=3, s=3), AVX512, {"k": 32, "w": 4})
    assert len(kernels(code)) == 2 * 3  # vectors: 2 or a part of 1; columns: left, inside, right and ragged


def test_rows_are_bounded_where_the_tile_is_known():
    code = emitted(layer(c=2, k=16, h=9, w=5, r=3, s=1), AVX512, {"k": 16, "w": 5})
    assert len(kernels(code)) == 1
    assert "larger(d_r, -d_h + 1)" in code.source


def test_weights_lie_as_they_are_read():
    workload = layer(c=64, k=64, h=7, w=7, r=3, s=3)
    code = emitted(workload, AVX512, {"k": 32, "w": 7}, c=16)
    assert code.buffers[2].packed
    assert code.buffers[2].layout.order == ((0, 32), (1, 16), (2, 1), (3, 1), (1, 1), (0, 1))
    ragged = emitted(workload, AVX512, {"k": 32, "w": 7}, k=48)
    assert ragged.buffers[2].layout.order[0] == (0, 80)  # tiles start anywhere: one block, and room for a vector


def test_sums_come_back_only_where_the_reduction_is_tiled():
    workload = layer(c=64, k=64, h=7, w=7, r=3, s=3)
    assert "const int fresh = d_c == 0;" in emitted(workload, AVX512, {"k": 32, "w": 7}, c=16).source
    adding = emitted(layer(Semantics.ACCUMULATE, c=4, k=16, h=3, w=3, r=1, s=1), AVX512, {"k": 16, "w": 3})
    assert "fresh" not in adding.source
    assert "a_0_0 = optmap_conv2d_load(Out, 16);" in adding.source


def test_tiles_beyond_the_registers_are_computed_in_parts():
    code = emitted(layer(c=4, k=100, h=6, w=30, r=1, s=1), AVX512, {"k": 100, "h": 6, "w": 30})
    for kernel in kernels(code):
        sums = kernel.count(" = {0}")
        vectors = kernel.count("_load(y_0")
        assert sums + vectors + 1 <= 32


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        (parse_workload("O[i,j] += A[i,k] * B[k,j] * C[k]", {"i": 4, "j": 16, "k": 4}), "no outer product"),
        (parse_workload("O[i,j] += A[i+k+l in 1..5] * B[j,k,l]", {"i": 4, "j": 16, "k": 3, "l": 2}), "one tap"),
        (parse_workload("O[i,j] += A[i,k+3] * A[k,j]", {"i": 4, "j": 16, "k": 4}), "two places"),
    ],
)
def test_why_not(workload, why):
    mapping = mapped(workload, AVX512, workload.dims, {})
    assert any(why in note for note in emit_code(workload, mapping, AVX512).notes)


@given(
    extent=st.integers(1, 60),
    cuts=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 4)), max_size=4),
)
def test_sizes_and_steps_are_those_of_the_pieces(extent, cuts):
    pieces = DimRegions(extent=extent, cuts=tuple(cuts))
    assert set(pieces.sizes) == {size for _, size in pieces.all}
    starts = [start for start, _ in pieces.all]
    assert all(start == 0 if pieces.step == 0 else start % pieces.step == 0 for start in starts)
    assert sum(size for _, size in pieces.all) == extent


@given(
    stride=st.integers(0, 3),
    dilation=st.integers(0, 3),
    real=st.tuples(st.integers(-4, 20), st.integers(0, 20)),
    start=st.integers(0, 12),
    size=st.integers(1, 8),
    taps=st.integers(1, 7),
)
def test_patterns_are_the_real_points(*, stride, dilation, real, start, size, taps):
    first, last = real[0], real[0] + real[1]
    window = PaddedSubscript(point="p", tap="t", stride=stride, dilation=dilation, first=first, last=last)
    met = {
        (tap, point)
        for begin, after, low, high in window.pattern(start, size, taps)
        for tap, point in product(range(begin, after), range(low, high))
    }
    everywhere = product(range(taps), range(size))
    assert met == {(t, p) for t, p in everywhere if first <= stride * (start + p) + dilation * t <= last}


def random_dense(rng, number):
    """A dense layer with a register tile that may be anything, and its machine."""
    machine = HOSTS[rng.choice(sorted(HOSTS))]
    workload = layer(
        rng.choice(list(Semantics)), name=f"layer {number}", bytes=rng.choice((4, 4, 8)),
        c=rng.choice((1, 3, 4, 8, 17, 20)), k=rng.choice((5, 16, 24, 32, 49)),
        h=rng.randint(1, 9), w=rng.randint(1, 14), stride=rng.choice((1, 1, 2)), dilation=rng.choice((1, 1, 2)),
        r=rng.choice((1, 2, 3, 5)), s=rng.choice((1, 3, 3, 4)),
    )  # fmt: skip
    sizes = workload.extents
    tile = {"k": rng.choice((sizes["k"], min(sizes["k"], 16), rng.randint(1, sizes["k"])))}
    tile |= {d: rng.randint(1, sizes[d]) for d in "hw"}
    l1 = {d: rng.choice((n, rng.randint(tile.get(d, 1), n))) for d, n in sizes.items()}
    order = rng.sample("rsc", 3)
    options = CodeOptions(layout=rng.choice(list(ActivationLayout)), stores=rng.choice(list(StoreKind)))
    return emitted(workload, machine, tile, order, options, **l1)


def test_random_dense_layers_are_right_and_clean(tmp_path: Path) -> None:
    rng = random.Random(1)
    codes = [random_dense(rng, number) for number in range(cases(3, 6))]
    assert all(code.kernel == "outer-product" for code in codes)
    check_together(codes, SANITIZED, tmp_path)


def test_what_comes_from_afar_is_asked_for_ahead():
    """Weights of 9 MiB do not stay in 2 MiB; four calls share those of the next filters."""
    large = layer(c=512, k=512, h=7, w=7, r=3, s=3)
    code = emitted(large, AVX512, {"k": 32, "h": 2, "w": 7}, c=64)
    assert "next_0 = (const char *)(by + 147456) + 18432*(d_h / 2 % 4)" in code.source
    assert "__builtin_prefetch(next_0" in code.source
    small = layer(c=64, k=64, h=7, w=7, r=3, s=3)
    assert "prefetch" not in emitted(small, AVX512, {"k": 32, "w": 7}, c=16).source
    assert "prefetch" not in emitted(large, AVX512, {"k": 32}, options=CodeOptions(prefetch=False)).source


def test_the_next_rows_of_a_large_image_are_asked_for():
    code = emitted(layer(c=128, k=64, h=136, w=136, r=1, s=1), AVX512, {"k": 64, "w": 6})
    assert "(const char *)(In + 17408*(d_h + 1)) + 3072*(d_w / 6 % 23)" in code.source


BLOCKED = CodeOptions(layout=ActivationLayout.BLOCKED)


def test_places_in_blocks_of_channels_are_found_once_per_block():
    """Inside a block pointers move on, and the elements of the next one are asked for: they begin a whole image on."""
    (kernel,) = kernels(emitted(layer(c=48, k=32, h=4, w=6, r=1, s=1), AVX512, {"k": 32, "w": 6}, options=BLOCKED))
    assert "for (long c_0 = 0; c_0 < 48; c_0 += 16) {\n      const float *x_0 = In + at + 384*(c_0 / 16)" in kernel
    assert "for (long c = 0; c <= 16 - 4; c += 4, x_0 += 4, y_0 += 128)" in kernel
    assert [f"__builtin_prefetch(x_0 + {384 + 16 * point}, 0, 3);" in kernel for point in range(7)] == [True] * 6 + [
        False
    ]


def test_a_cut_inside_a_block_has_no_other_to_ask_for():
    workload = layer(c=48, k=32, h=4, w=6, r=1, s=1)
    (kernel,) = kernels(emitted(workload, AVX512, {"k": 32, "w": 6}, options=BLOCKED, c=8))
    assert "c_0" not in kernel
    assert "prefetch" not in kernel
    none = CodeOptions(layout=ActivationLayout.BLOCKED, prefetch=False)
    assert "prefetch" not in emitted(workload, AVX512, {"k": 32, "w": 6}, options=none).source


def test_cuts_that_end_inside_a_block_are_right(tmp_path: Path) -> None:
    """Of 40 channels in blocks of 16 or 8: pieces that begin and end anywhere."""
    cuts = ((40, AVX512, "sc"), (24, AVX512, "cs"), (20, AVX2, "sc"), (13, AVX512, "sc"))
    codes = [
        emitted(
            layer(name=f"cut {cut}", c=40, k=16, h=2, w=5, r=1, s=3), machine, {"k": 16, "w": 3}, order, BLOCKED, c=cut
        )
        for cut, machine, order in cuts
    ]
    assert "const long c_1 = smaller(16, " in codes[0].source
    check_together(codes, SANITIZED, tmp_path)


def test_rows_of_the_image_that_come_again_soon_are_not_asked_for():
    """Of 1.1 MiB every filter tile reads a cut again: 289 KiB of 256 channels stay in 2 MiB, all 1,024 do not."""
    image = layer(c=1024, k=128, h=17, w=17, r=1, s=1)
    for order, cut, asks in (("nkhwrsc", 256, False), ("nkhwrsc", 1024, True), ("nhwkrsc", 256, True)):
        tiles = {"k": 32, "w": 9}, {"c": cut, "k": 128, "h": 17, "w": 17}
        source = emit_code(image, mapped(image, AVX512, order, *tiles), AVX512).source
        assert ("of the image what the next tile needs" in source) == asks


def test_taps_and_channels_side_by_side_are_one_loop():
    code = emitted(layer(c=3, k=16, h=1, w=9, r=1, s=3), AVX512, {"k": 16, "w": 9})
    (kernel,) = kernels(code)
    assert "long s" not in kernel
    assert kernel.count("#pragma GCC unroll 3") == 3  # a tap with its three channels per segment


def test_streaming_needs_the_whole_reduction():
    options = CodeOptions(stores=StoreKind.STREAMING)
    workload = layer(c=64, k=64, h=7, w=7, r=3, s=3)
    assert "_mm512_stream_ps" in emitted(workload, AVX512, {"k": 32, "w": 7}, options=options).source
    tiled = emitted(workload, AVX512, {"k": 32, "w": 7}, options=options, c=16)
    assert "stream" not in tiled.source
    assert any("the reduction is tiled" in note for note in tiled.notes)


def test_one_or_two_vectors_read_an_element_each_where_the_multiply_add_can():
    workload = layer(c=8, k=64, h=4, w=4, r=1, s=1)
    for machine, tile, reads in ((AVX512, 32, 2), (AVX512, 64, 1), (AVX2, 16, 1)):
        for kernel in kernels(emitted(workload, machine, {"k": tile, "w": 4})):
            assert kernel.count("x_0[i0]") == reads


def test_weights_that_come_again_soon_are_not_asked_for():
    """Filters innermost: 16 tiles of 36 KiB are read for every block of points, and stay in 2 MiB."""
    large = layer(c=512, k=512, h=7, w=7, r=3, s=3)
    tiles = {"k": 32, "h": 2, "w": 7}, {"c": 32}
    for order, asks in (("nkhwrsc", True), ("nhwkrsc", False)):
        source = emit_code(large, mapped(large, AVX512, order, *tiles), AVX512).source
        assert ("weights of the next tile" in source) == asks


@pytest.mark.parametrize("taps", [1, 2, 3])
def test_few_taps_of_one_point_run_without_a_loop_that_is_written_out(taps, tmp_path: Path) -> None:
    """Taps inside of channels, over one column: all at once where none is padding, or if there is but one."""
    workload = layer(c=5, k=16, h=4, w=5, r=3, s=3)
    code = emitted(workload, AVX512, {"k": 16, "h": 4}, order="crs", s=taps, w=1)
    texts = kernels(code)
    assert all("for (; s <" not in text for text in texts)
    if taps == 1:
        assert all("if (d_s < d_s + n_s)" in text for text in texts)
    elif taps == 3:
        assert all("if (d_s + n_s - (d_s) == 3)" in text for text in texts)
    check_together([code], SANITIZED, tmp_path)


def test_the_same_mapping_is_the_same_text_in_every_process() -> None:
    """What was built is found again by the digest of its text: no order of a set, which differs from run to run."""
    code = (
        "from test_outer_product import AVX512, emitted, layer;"
        "print(emitted(layer(c=4, k=16, h=6, w=6, r=3, s=3), AVX512, {'k': 16, 'w': 3}).source)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent), *sys.path)),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "14"
    }
    assert len(texts) == 1
