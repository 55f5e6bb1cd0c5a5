"""Depthwise layers whose rows are fastest in memory: vectors along them, lanes on padding left out."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import Run, cases, some
from emitted import STRICT, check_together, expected, run_together, values_of
from host_machines import AVX2, AVX512, HOSTS, NEON
from random_codes import random_mapping
from register_shapes import register_shape

from optmap.count.timing.kernel import kernel_cycles
from optmap.count.timing.predict import predict
from optmap.files.inputs import workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking
from optmap.kernels.kernel_roles import KernelKind, kernel_roles
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Code, emit_code
from optmap.search import ranked
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Padding, Semantics, Workload

FLAGS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fopenmp", "-march=native", *STRICT)
NCHW = ActivationLayout.NCHW
OPTIONS = CodeOptions(layout=NCHW)


def assigned(workload: Workload, name: str, bits: int = 32) -> Workload:
    """Without padding in memory, computed from nothing."""
    workload = workload.with_padding(Padding.IMPLICIT) if workload.image else workload
    sized = workload.with_accesses([replace(tensor, bits=bits) for tensor in workload.tensors])
    return replace(sized, name=name, semantics=Semantics.ASSIGN)


def rows(workload: Workload, machine: Machine, h: int) -> Mapping:
    """A register tile of one vector along w and some rows, channels outermost."""
    assert machine.core is not None
    extents = workload.extents
    lanes = min(machine.core.lanes(workload.output.bits), extents["w"])
    inner = dict.fromkeys(extents, 1) | {"w": lanes, "h": min(h, extents["h"])}
    whole = inner | {d: extents[d] for d in extents if d not in ("c", "n")}
    tiles = [inner, whole, *(extents for _ in machine.levels[2:])]
    return Mapping(
        levels=tuple(
            LevelMapping(level=level.name, tile=dict(each), permutation=("n", "c", "h", "w", "r", "s"), spatial={})
            for level, each in zip(machine.levels, tiles, strict=True)
        )
    )


CONVOLUTIONS = {
    "same": ({"c": 3, "h": 9, "w": 40, "r": 3, "s": 3}, 4),
    "stride": ({"c": 2, "h": 11, "w": 77, "r": 3, "s": 3, "stride": 2}, 3),
    "dilation": ({"c": 2, "h": 9, "w": 19, "r": 3, "s": 3, "dilation": 2}, 2),
    "third": ({"c": 2, "h": 12, "w": 50, "r": 3, "s": 2, "stride": (2, 3), "dilation": (1, 3)}, 2),
    "large": ({"c": 1, "h": 6, "w": 14, "r": 5, "s": 7}, 3),
    "wide": ({"c": 2, "h": 1, "w": 20, "r": 1, "s": 35}, 1),
    "point": ({"c": 5, "h": 5, "w": 33, "r": 1, "s": 1, "stride": 2}, 2),
    "even": ({"c": 2, "h": 4, "w": 68, "r": 2, "s": 2, "stride": 2, "padding": "valid"}, 2),
}
FEW = ("stride", "third", "wide", "even")


def test_windows_of_every_kind_are_right(tmp_path: Path) -> None:
    """Padding wider than vectors, strides, dilation, rows shorter than a vector or of many."""
    codes = []
    chosen = [each for each in enumerate(CONVOLUTIONS.items()) if Run.longer or each[1][0] in FEW]
    for number, (name, (sizes, h)) in chosen:
        workload = assigned(conv2d(**sizes, depthwise=True), name, 64 if number % 4 == 3 else 32)
        machine = (AVX512, AVX2, AVX512, NEON)[number % 4]
        codes.append(emit_code(workload, rows(workload, machine, h), machine, OPTIONS))
    assert {code.kernel for code in codes} == {KernelKind.DEPTHWISE}
    assert not any(buffer.packed for code in codes for buffer in code.buffers)
    check_together(codes, FLAGS, tmp_path)


def test_any_mapping_is_right(tmp_path: Path) -> None:
    """Tiles as they come: parts of vectors, windows cut, split, accumulating, past the caches."""
    codes: list[Code] = []
    seed = 0
    while len(codes) < cases(1, 3):
        seed += 1
        rng = random.Random(seed)
        sizes, _ = rng.choice(list(CONVOLUTIONS.values()))
        workload = replace(
            assigned(conv2d(**sizes, depthwise=True), f"case{seed}"), semantics=rng.choice(list(Semantics))
        )
        machine = HOSTS[rng.choice(list(HOSTS))]
        machine = replace(machine, levels=machine.levels[: rng.randint(1, 4)])
        options = CodeOptions(layout=NCHW, stores=rng.choice(list(StoreKind)))
        code = emit_code(workload, random_mapping(rng, workload, machine), machine, options)
        codes += [code] if code.kernel is KernelKind.DEPTHWISE else []
    check_together(codes, FLAGS, tmp_path)


def test_roles_follow_the_layout() -> None:
    workload = workload_of("mobilenet/M2", None, "assign", "implicit")
    along = kernel_roles(workload, NCHW)
    assert along is not None
    assert (along.kind, along.vector, along.apart) == (KernelKind.DEPTHWISE, "w", 2)
    assert (along.points, along.shared, along.reduction) == (("n", "h"), ("c",), ("r", "s"))
    across = kernel_roles(workload)
    assert across is not None
    assert (across.vector, across.apart) == ("c", None)
    shape = register_shape(workload, rows(workload, AVX512, 5), AVX512.core, NCHW)
    assert shape is not None
    assert (shape.vectors, shape.points) == (1, 5)
    column = workload_of("Out[c,h] = In[c,h+r] * Ker[c,r]", {"c": 16, "h": 1, "r": 3}, "assign", "stored")
    assert kernel_roles(column, NCHW) == kernel_roles(column)  # a row of one element is no vector


def test_steps_along_rows_are_counted_by_hand() -> None:
    """M2: 56 columns are three vectors and a half, 9 taps; four rows of points read nine rows of the image."""
    workload = replace(workload_of("mobilenet/M2", None, "assign", "stored"))
    found = kernel_cycles(workload, rows(workload, AVX512, 4), AVX512.core, NCHW)
    whole = 2 + (31 - 2) / 16  # 31 elements in two vectors, each of which begins anywhere in a line of 16
    half = 1 + (15 - 1) / 16
    lines = (3 * whole + half) / 4 * 9 * 3 / (4 * 9)
    tiles = 64 * 14 * 4
    assert lines * 4 / 2 > max(4 / 2, 4)
    assert found.steps == pytest.approx(tiles * 9 * lines * 4 / 2)
    assert found.fetching == pytest.approx(found.steps)
    assert found.loads == pytest.approx(tiles * (9 * lines * 4 + 9)), "and all nine weights of every tile"
    assert found.sums == pytest.approx(tiles * (9 / 2 + 4 + 4))


def test_lanes_far_apart_are_elements_one_by_one() -> None:
    text = "Out[n,c,h,w] = In[n,c,h+r,3*w+s] * Ker[c,r,s]"
    workload = workload_of(text, {"n": 1, "c": 2, "h": 4, "w": 16, "r": 1, "s": 1}, "assign", "stored")
    found = kernel_cycles(workload, rows(workload, AVX512, 4), AVX512.core, NCHW)
    assert found.fetching == pytest.approx(2 * 4 * 16 / 2)


def test_elements_of_a_row_take_turns() -> None:
    """Additions to one sum wait for each other: those of three elements in a row would be nine to three sums."""
    workload = workload_of("mobilenet/M7", None, "assign", "implicit")
    code = emit_code(workload, rows(workload, AVX512, 14), AVX512, CodeOptions(layout=NCHW))
    body = next(each for each in code.source.split("/* one vector at ")[1:] if each.startswith("h=14"))
    updated = re.findall(r"(sum_\d+) \+=", body)
    assert len(updated) >= 14 * 9 - 6, "but for rows on padding"
    assert all(len({*updated[at : at + 9]}) >= 4 for at in range(6, 30))


def test_weights_that_are_broadcast_take_no_time_to_pack() -> None:
    workload = workload_of("mobilenet/M8", None, "assign", "implicit")
    for layout, packs in ((NCHW, False), (ActivationLayout.NHWC, True)):
        options = CodeOptions(layout=layout, weights=WeightPacking.CALL)
        mapping = next(iter(ranked(workload, AVX512, options, count=1))).mapping
        assert (predict(workload, AVX512, mapping, options).packing_cycles > 0) is packs
        assert ("_pack_" in emit_code(workload, mapping, AVX512, options).source) is packs


def test_searched_mappings_have_vectors_along_rows() -> None:
    workload = workload_of("mobilenet/M8", None, "assign", "implicit")
    for candidate in ranked(workload, AVX512, OPTIONS, count=3):
        assert candidate.mapping.levels[0].tile["w"] == 7
        assert candidate.mapping.levels[0].tile["c"] == 1
        assert emit_code(workload, candidate.mapping, AVX512, OPTIONS).kernel is KernelKind.DEPTHWISE


def test_vectors_inside_the_image_have_code_without_masks() -> None:
    workload = assigned(conv2d(c=2, h=4, w=64, r=3, s=3, depthwise=True), "inside")
    source = emit_code(workload, rows(workload, AVX512, 4), AVX512, OPTIONS).source
    assert "first_0, 1, 5, 0, (1l << 40));" in source
    assert "first_0, 1, 5, from_3, to_3);" in source


@pytest.mark.parametrize("text", some(1, ["O[g,c,x] += I[g,c,3*x+k] * K[c,k]", "O[c,x] += I[c,x+k] * K[c,k]"]))
def test_other_statements_are_rows_too(text: str, tmp_path: Path) -> None:
    workload = replace(parse_workload(text, {d: 21 for d in "gcxk" if d in text}), name="rows")
    extents = workload.extents
    inner = dict.fromkeys(extents, 1) | {"x": 16}
    order = tuple(sorted(extents, key=lambda d: (d == "k", d)))
    levels = tuple(
        LevelMapping(level=level.name, tile=tile, permutation=order, spatial={})
        for level, tile in zip(AVX512.levels, (inner, *(extents for _ in AVX512.levels[1:])), strict=True)
    )
    code = emit_code(workload, Mapping(levels=levels), AVX512, OPTIONS)
    assert code.kernel is KernelKind.DEPTHWISE
    check_together([code], FLAGS, tmp_path)


def test_weights_that_are_not_finite_stay_out_of_padding(tmp_path: Path) -> None:
    """A tap that is on padding is not multiplied at all: an infinite weight there changes nothing."""
    codes, contents = [], []
    for number, (name, machine) in enumerate({"stride": AVX512, "large": NEON}.items()):
        sizes, h = CONVOLUTIONS[name]
        workload = assigned(conv2d(**sizes, depthwise=True), name, 64 if number == 1 else 32)
        code = emit_code(workload, rows(workload, machine, h), machine, OPTIONS)
        values = values_of(code, number)
        values[1][...] = np.maximum(values[1], 1)
        values[2].reshape(-1)[[0, -1]] = np.inf, np.nan
        codes.append(code)
        contents.append(values)
    for code, values, found in zip(
        codes, contents, run_together(codes, contents, ("-O1", *STRICT), tmp_path), strict=True
    ):
        np.testing.assert_array_equal(found, expected(code, values))


def test_vectors_all_on_padding_read_nothing(tmp_path: Path) -> None:
    """Sixteen lanes, two elements apart, before a row: what is there is of another row, and infinite."""
    sizes = {"c": 2, "h": 3, "w": 40, "r": 1, "s": 3, "stride": 2, "dilation": 45}
    workload = assigned(conv2d(**sizes, depthwise=True), "margin")
    code = emit_code(workload, rows(workload, AVX512, 2), AVX512, OPTIONS)
    assert code.kernel is KernelKind.DEPTHWISE
    values = values_of(code, 0)
    values[1][..., 0, :] = np.inf
    strict = ("-fsanitize=undefined", "-fno-sanitize-recover=all", *STRICT)
    for flags in (STRICT, strict):
        (found,) = run_together([code], [values], ("-O1", "-march=native", *flags), tmp_path)
        np.testing.assert_array_equal(found, expected(code, values))
