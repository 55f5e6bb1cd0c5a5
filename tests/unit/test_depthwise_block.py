"""What a depthwise kernel holds and loads, against a walk over its points and taps."""

from __future__ import annotations

from itertools import product

import pytest
from host_machines import AVX2, AVX512, HOSTS

from optmap.kernels.depthwise_blocks import DepthwiseBlock, depthwise_block
from optmap.kernels.kernel_roles import kernel_roles
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload


def block_of(workload: Workload, machine, **tile: int) -> DepthwiseBlock:
    roles = kernel_roles(workload)
    assert roles is not None
    assert machine.core is not None
    return depthwise_block(workload, roles, {**workload.extents, **tile}, workload.extents, machine.core)


def test_a_window_of_three_by_three_is_read_once_for_all_points() -> None:
    """Four by four points need six by six elements and nine weights."""
    block = block_of(conv2d(c=32, h=12, w=12, r=3, s=3, depthwise=True), AVX512, h=4, w=4)
    assert (block.multiply_adds, block.image_loads, block.weight_loads, block.sums) == (144, 36, 9, 16)
    assert block.registers == 16 + 9 + 1


def test_stride_two_shares_less() -> None:
    block = block_of(conv2d(c=32, h=24, w=24, r=3, s=3, stride=2, depthwise=True), AVX512, h=4, w=4)
    assert (block.multiply_adds, block.image_loads, block.weight_loads) == (144, 81, 9)


def test_few_registers_take_the_window_row_by_row() -> None:
    """Sixteen registers: two by four points leave seven, so that two rows of weights stay at a time."""
    block = block_of(conv2d(c=32, h=12, w=12, r=3, s=3, depthwise=True), AVX2, h=2, w=4)
    assert [len(group) for group in block.groups] == [6, 3]
    assert block.image_loads == 3 * 6 + 2 * 6
    assert block.registers == 8 + 6 + 1


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("taps", [(1, 1), (3, 3), (5, 5), (7, 7), (1, 40), (40, 1)])
@pytest.mark.parametrize("step", [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_every_tap_is_done_once_and_registers_suffice(name: str, taps: tuple[int, int], step: tuple[int, int]) -> None:
    r, s = taps
    workload = conv2d(c=32, h=90, w=90, r=r, s=s, stride=step[0], dilation=step[1], depthwise=True)
    block = block_of(workload, HOSTS[name], h=5, w=6)
    assert block.registers <= HOSTS[name].core.registers
    every = list(product(*(range(workload.extents[d]) for d in block.tapped)))
    assert [tap for group in block.groups for tap in group] == every
    looped = 1
    for _, size in block.looped:
        looped *= size
    assert {*block.tapped, *(d for d, _ in block.looped)} == {d for d in "rs" if workload.extents[d] > 1}
    assert looped * len(every) == r * s
    extents = dict(block.points)
    assert block.multiply_adds == r * s * extents["h"] * extents["w"]
    wanted = 0
    for group in block.groups:
        seen = set()
        for h, w, tap in product(range(extents["h"]), range(extents["w"]), group):
            at = dict(zip(block.tapped, tap, strict=True))
            seen.add((step[0] * h + step[1] * at.get("r", 0), step[0] * w + step[1] * at.get("s", 0)))
        wanted += len(seen)
    assert block.image_loads == looped * wanted
    assert block.weight_loads == r * s


def test_more_points_than_registers_are_cut_from_the_innermost() -> None:
    block = block_of(conv2d(c=32, h=112, w=112, r=3, s=3, depthwise=True), AVX512)
    assert block.points == (("h", 1), ("w", 27))


def test_dims_that_the_weights_alone_have_reuse_the_image() -> None:
    block = block_of(parse_workload("O[x,c] += A[x,c] * K[c,k]", {"x": 4, "c": 16, "k": 5}), AVX512)
    assert (block.multiply_adds, block.image_loads, block.weight_loads) == (20, 4, 5)
