"""Dense layers whose lanes lie apart in the output: blocks of vectors are turned, and rows of points moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from emitted import STRICT, check_together
from host_machines import AVX2, AVX512, NEON

from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Code, emit_code
from optmap.workloads.builders import conv2d
from optmap.workloads.workload import Padding, Semantics

FLAGS = ("-O1", "-march=native", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *STRICT)


def dense(machine: Machine, name: str, sizes: dict[str, int], tile: dict[str, int], layout: str = "nchw") -> Code:
    """Filters in vectors, columns as points, the reduction in tiles of `c` channels."""
    workload = conv2d(k=sizes["k"], c=5, h=4, w=sizes["w"], r=3, s=3).with_padding(Padding.IMPLICIT)
    semantics = Semantics.ACCUMULATE if machine is NEON else Semantics.ASSIGN
    workload = replace(workload, name=name, semantics=semantics)
    whole = workload.extents
    tiles = (dict.fromkeys(whole, 1) | tile, whole | {"c": sizes["c"]}, *(whole for _ in machine.levels[2:]))
    orders = (("n", "k", "h", "w", "c", "r", "s"), *(("n", "c", "k", "h", "w", "r", "s") for _ in machine.levels[1:]))
    levels = tuple(
        LevelMapping(level=level.name, tile=dict(size), permutation=order, spatial={})
        for level, size, order in zip(machine.levels, tiles, orders, strict=True)
    )
    return emit_code(workload, Mapping(levels=levels), machine, CodeOptions(layout=ActivationLayout(layout)))


def test_outputs_with_rows_fastest_are_turned_and_right(tmp_path: Path) -> None:
    """Ragged filters and columns, more points than lanes, sums that come back, and sums that are added to."""
    codes = [
        dense(AVX512, "ragged", {"k": 40, "w": 14, "c": 5}, {"k": 32, "w": 14}),
        dense(AVX2, "back", {"k": 19, "w": 13, "c": 2}, {"k": 8, "w": 7}),
        dense(NEON, "added", {"k": 12, "w": 9, "c": 5}, {"k": 8, "w": 9}),
    ]
    for code in codes:
        assert "_turn(run_0);" in code.source
    check_together(codes, FLAGS, tmp_path)


def test_what_lies_side_by_side_is_not_turned() -> None:
    sizes, tile = {"k": 32, "w": 14, "c": 5}, {"k": 32, "w": 14}
    for layout in ("nhwc", "blocked"):
        assert "_turn(" not in dense(AVX512, "aside", sizes, tile, layout).source
    few = dense(AVX512, "few", sizes, {"k": 32, "w": 4}).source
    assert "_turn(" not in few  # four points of a vector are stored lane by lane
    assert "_store_apart(" in few
