"""The depthwise kernel: right for windows of any kind, nothing of padding copied, and plain loops where it is none."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from cases import Run, cases
from emitted import STRICT, check_together
from host_machines import AVX2, AVX512, HOSTS, NEON
from random_codes import random_mapping

from optmap.count.timing.predict import predict
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Code, emit_code
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Padding, Semantics, Workload

FLAGS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fopenmp", "-march=native", *STRICT)
NHWC, BLOCKED, NCHW = ActivationLayout.NHWC, ActivationLayout.BLOCKED, ActivationLayout.NCHW


def assigned(workload: Workload, name: str, bits: int = 32) -> Workload:
    """Without padding in memory, computed from nothing."""
    workload = workload.with_padding(Padding.IMPLICIT) if workload.image else workload
    sized = workload.with_accesses([replace(tensor, bits=bits) for tensor in workload.tensors])
    return replace(sized, name=name, semantics=Semantics.ASSIGN)


def blocks(workload: Workload, machine: Machine, **tile: int) -> Mapping:
    """A register tile of one vector along c and some points, windows inside it, channels innermost."""
    assert machine.core is not None
    extents = workload.extents
    lanes = min(machine.core.lanes(workload.output.bits), extents["c"])
    inner = dict.fromkeys(extents, 1) | {"c": lanes} | {d: min(n, extents[d]) for d, n in tile.items()}
    whole = inner | {d: extents[d] for d in workload.reduction_dims}
    order = (*(d for d in workload.output.dims if d != "c"), "c", *workload.reduction_dims)
    order = tuple(sorted(order, key=lambda d: (d in workload.reduction_dims, d == "c", workload.dims.index(d))))
    tiles = [inner, whole, *(extents for _ in machine.levels[2:])]
    return Mapping(
        levels=tuple(
            LevelMapping(level=level.name, tile=dict(each), permutation=order, spatial={})
            for level, each in zip(machine.levels, tiles, strict=True)
        )
    )


def emitted(workload: Workload, machine: Machine = AVX512, layout: ActivationLayout = NHWC, **tile: int) -> Code:
    return emit_code(workload, blocks(workload, machine, **tile), machine, CodeOptions(layout=layout))


CONVOLUTIONS = {
    "same": ({"c": 40, "h": 9, "w": 10, "r": 3, "s": 3}, {"h": 4, "w": 4}),
    "stride": ({"c": 33, "h": 11, "w": 9, "r": 3, "s": 3, "stride": 2}, {"h": 3, "w": 2}),
    "dilation": ({"c": 16, "h": 9, "w": 9, "r": 3, "s": 3, "dilation": 2}, {"h": 2, "w": 5}),
    "both": ({"c": 7, "h": 12, "w": 13, "r": 3, "s": 2, "stride": (3, 2), "dilation": (1, 3)}, {"h": 2, "w": 3}),
    "large": ({"c": 17, "h": 8, "w": 4, "r": 7, "s": 7}, {"h": 4, "w": 4}),
    "row": ({"c": 19, "h": 1, "w": 20, "r": 1, "s": 35}, {"w": 10}),
    "column": ({"c": 19, "h": 30, "w": 2, "r": 9, "s": 1}, {"h": 8}),
    "point": ({"c": 37, "h": 5, "w": 6, "r": 1, "s": 1}, {"h": 2, "w": 6}),
}
FEW = ("both", "row")


def test_windows_of_every_kind_are_right(tmp_path: Path) -> None:
    """Padding wider than tiles, strides, dilation, windows in one direction, channels that are no whole vectors."""
    codes = []
    chosen = [each for each in enumerate(CONVOLUTIONS.items()) if Run.longer or each[1][0] in FEW]
    for number, (name, (sizes, tile)) in chosen:
        workload = assigned(conv2d(**sizes, depthwise=True), name, 64 if number % 3 == 0 else 32)
        machine = (AVX512, AVX2, NEON)[number % 3]
        codes.append(emitted(workload, machine, (NHWC, BLOCKED)[number % 2], **tile))
    assert {code.kernel for code in codes} == {KernelKind.DEPTHWISE}
    check_together(codes, FLAGS, tmp_path)


def test_any_mapping_is_right(tmp_path: Path) -> None:
    """Tiles as they come: through vectors and windows, of more points than registers, in parts, split, accumulating."""
    codes: list[Code] = []
    seed = 0
    while len(codes) < cases(1, 4):
        seed += 1
        rng = random.Random(seed)
        sizes, _ = rng.choice(list(CONVOLUTIONS.values()))
        workload = replace(
            assigned(conv2d(**sizes, depthwise=True), f"case{seed}"), semantics=rng.choice(list(Semantics))
        )
        machine = HOSTS[rng.choice(list(HOSTS))]
        machine = replace(machine, levels=machine.levels[: rng.randint(1, 4)])
        options = CodeOptions(layout=rng.choice((NHWC, BLOCKED)), stores=rng.choice(list(StoreKind)))
        code = emit_code(workload, random_mapping(rng, workload, machine), machine, options)
        codes += [code] if code.kernel is KernelKind.DEPTHWISE else []
    check_together(codes, FLAGS, tmp_path)


STATEMENTS = (
    ("O[x,c] += I[x+k,c] * K[k,c]", {"x": 21, "c": 24, "k": 4}, {"x": 5}),
    ("O[g,x,c] += I[g,2*x+3*k,c] * K[g,c,k]", {"g": 3, "x": 9, "c": 20, "k": 4}, {"x": 4, "g": 2}),
    ("O[x,c] += I[x+k,l,c] * K[k,l,c]", {"x": 7, "c": 18, "k": 3, "l": 4}, {"x": 7}),
    ("O[x,c] += I[x+k,c] * K[k,c]", {"x": 54, "c": 16, "k": 3}, {"x": 54}),
    ("O[x,c+1] += I[x,c+2] * K[c+3]", {"x": 7, "c": 18}, {"x": 3}),
)


def test_other_statements_than_convolutions_are_right(tmp_path: Path) -> None:
    codes = []
    for number, (text, extents, tile) in enumerate(STATEMENTS):
        workload = replace(parse_workload(text, extents), name=f"statement{number}")
        codes.append(emitted(workload, AVX512, NCHW, **tile))
    assert {code.kernel for code in codes} == {KernelKind.DEPTHWISE}
    check_together(codes, FLAGS, tmp_path)


@pytest.mark.parametrize(
    ("text", "layout", "why"),
    [
        ("O[c,x] += I[x+k,c] * K[c,k]", NCHW, "vectors run along c, which is not fastest in the layout nchw"),
        ("O[c,x] += I[c,x] * I[c,k]", NHWC, "a tensor is read twice"),
        ("O[c,x] += I[c in 1..9,x+k] * K[c,k]", NHWC, "there is padding along c"),
        ("O[c,x+y] += I[c,x,y] * K[c]", NHWC, "two points may be one element of the output"),
    ],
)
def test_the_answer_says_why_there_is_no_kernel(text: str, layout: ActivationLayout, why: str) -> None:
    workload = parse_workload(text, {d: 16 for d in "cxyk" if d in text.replace(" in ", "")})
    code = emitted(workload, AVX512, layout)
    assert code.kernel is KernelKind.PLAIN
    assert any(f"no depthwise kernel: {why}" in note for note in code.notes)


def test_a_machine_without_a_core_and_tiles_without_vectors_have_plain_loops() -> None:
    workload = assigned(conv2d(c=16, h=4, w=4, r=3, s=3, depthwise=True), "small")
    mapping = blocks(workload, AVX512)
    bare = emit_code(workload, mapping, replace(AVX512, core=None))
    assert any("what its core computes with" in note for note in bare.notes)
    inner = replace(mapping.levels[0], tile={**mapping.levels[0].tile, "c": 1})
    narrow = emit_code(workload, Mapping(levels=(inner, *mapping.levels[1:])), AVX512)
    assert any("one element wide along c" in note for note in narrow.notes)


@pytest.mark.parametrize("layout", [ActivationLayout.NHWC, ActivationLayout.NCHW])
@pytest.mark.parametrize("width", [1, 8])
def test_predictions_are_of_the_kernel_that_the_code_has(layout: ActivationLayout, width: int) -> None:
    """Vectors run along channels or along rows: a tile of one of these leaves plain loops, and their time."""
    workload = assigned(conv2d(c=16, h=8, w=8, r=3, s=3, depthwise=True), "small")
    vector = "c" if layout is ActivationLayout.NHWC else "w"
    inner, *outer = blocks(workload, AVX512).levels
    inner = replace(inner, tile={**inner.tile, vector: width})
    whole = (replace(level, tile={**level.tile, vector: workload.extents[vector]}) for level in outer)
    mapping, options = Mapping(levels=(inner, *whole)), CodeOptions(layout=layout)
    code, found = emit_code(workload, mapping, AVX512, options), predict(workload, AVX512, mapping, options)
    assert found.kernel == code.kernel.value == ("plain" if width == 1 else "depthwise")


def test_taps_on_padding_have_kernels_of_their_own() -> None:
    """Three by three tiles of a padded image: nine kinds of edges, each with the part of the image that is real."""
    workload = assigned(conv2d(c=16, h=12, w=12, r=3, s=3, depthwise=True), "edges")
    source = emitted(workload, AVX512, h=4, w=4).source
    for rows, columns in ((a, b) for a in ("0, 6", "1, 6", "0, 5") for b in ("0, 6", "1, 6", "0, 5")):
        assert source.count(f"first_0, {rows}, {columns});") == 1


GOLDEN = """\
/* one vector at w=2: 6 multiply-adds, 7 loads, 2 stores */
static inline __attribute__((always_inline)) void optmap_golden_points_2_3(float *restrict Out, const float *restrict \
In, const float *restrict Ker, long at_0, long at_1, long at_2, long lanes_0, int first_0, long from_3, long to_3) {
  const optmap_golden_vector zero_0 = {0};
  optmap_golden_vector sum_0 = first_0 ? zero_0 : optmap_golden_load(Out + at_0, lanes_0);
  optmap_golden_vector sum_1 = first_0 ? zero_0 : optmap_golden_load(Out + (at_0 + 4), lanes_0);
  {
    const optmap_golden_vector tap_0 = optmap_golden_load(Ker + at_2, lanes_0);
    const optmap_golden_vector tap_1 = optmap_golden_load(Ker + (at_2 + 4), lanes_0);
    const optmap_golden_vector tap_2 = optmap_golden_load(Ker + (at_2 + 8), lanes_0);
    if (from_3 <= 0 && 0 < to_3) {
      const optmap_golden_vector value_0 = optmap_golden_load(In + at_1, lanes_0);
      sum_0 += value_0 * tap_0;
      __asm__ volatile("" ::: "memory");
    }
    if (from_3 <= 1 && 1 < to_3) {
      const optmap_golden_vector value_0 = optmap_golden_load(In + (at_1 + 4), lanes_0);
      sum_0 += value_0 * tap_1;
      sum_1 += value_0 * tap_0;
      __asm__ volatile("" ::: "memory");
    }
    if (from_3 <= 2 && 2 < to_3) {
      const optmap_golden_vector value_0 = optmap_golden_load(In + (at_1 + 8), lanes_0);
      sum_0 += value_0 * tap_2;
      sum_1 += value_0 * tap_1;
      __asm__ volatile("" ::: "memory");
    }
    if (from_3 <= 3 && 3 < to_3) {
      const optmap_golden_vector value_0 = optmap_golden_load(In + (at_1 + 12), lanes_0);
      sum_1 += value_0 * tap_2;
      __asm__ volatile("" ::: "memory");
    }
  }
  optmap_golden_store(Out + at_0, &sum_0, lanes_0);
  optmap_golden_store(Out + (at_0 + 4), &sum_1, lanes_0);
}
"""


def test_the_text_of_a_kernel() -> None:
    workload = assigned(conv2d(c=4, h=1, w=6, r=1, s=3, depthwise=True), "golden")
    code = emit_code(workload, blocks(workload, NEON, w=2), NEON, CodeOptions(prefetch=False))
    start = code.source.index("/* one vector")
    assert code.source[start : start + len(GOLDEN)] == GOLDEN


def test_the_next_outputs_are_asked_for_where_the_innermost_cache_keeps_them() -> None:
    """Pixels 4096 bytes apart fall into one set of 12 ways: 36 of them drive each other out, whatever was asked for."""
    for channels, asked in ((64, True), (256, True), (512, False), (1024, False)):
        workload = assigned(conv2d(c=channels, h=8, w=8, r=3, s=3, depthwise=True), "ahead")
        assert ("__builtin_prefetch" in emitted(workload, AVX512, h=4, w=4).source) is asked
        assert ("__builtin_prefetch" in emitted(workload, AVX512, BLOCKED, h=4, w=4).source) is True
    streamed = CodeOptions(stores=StoreKind.STREAMING)
    workload = assigned(conv2d(c=64, h=8, w=8, r=3, s=3, depthwise=True), "ahead")
    assert "__builtin_prefetch" not in emit_code(workload, blocks(workload, AVX512, h=4), AVX512, streamed).source


def test_a_loop_over_vectors_just_outside_the_taps_is_inside_the_choice_of_the_kernel() -> None:
    workload = assigned(conv2d(c=64, h=8, w=8, r=3, s=3, depthwise=True), "vectors")
    mapping = blocks(workload, AVX512, h=4, w=4)
    inner, outer, *rest = mapping.levels
    wide = replace(outer, tile={**outer.tile, "c": 64, "h": 8})
    taken = emit_code(workload, Mapping(levels=(inner, wide, *rest)), AVX512).source
    assert "c, r, s: inside the kernel" in taken
    order = ("n", "c", "h", "w", "r", "s")
    other = emit_code(workload, Mapping(levels=(replace(inner, permutation=order), wide, *rest)), AVX512).source
    assert "r, s: inside the kernel" in other
    assert "c, r, s: inside the kernel" not in other
