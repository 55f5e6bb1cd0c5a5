"""Mappings of depthwise layers by predicted time: tiles over rows and columns, vectors one after another."""

from __future__ import annotations

import pytest
from host_machines import AVX2, AVX512

from optmap.files.inputs import workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.kernels.depthwise_blocks import depthwise_block, lines_per_set
from optmap.kernels.kernel_roles import kernel_roles
from optmap.machines.machine import Machine
from optmap.search import ranked


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("name", ["M1", "M4", "M9"])
def test_tiles_share_elements_in_both_directions_and_vectors_follow_each_other(name: str, machine: Machine) -> None:
    workload = workload_of(f"mobilenet/{name}", None, "assign", "implicit")
    roles, core = kernel_roles(workload), machine.core
    assert roles is not None
    assert core is not None
    for candidate in ranked(workload, machine, count=3):
        inner = candidate.mapping.levels[0]
        assert inner.tile["h"] >= inner.tile["w"]
        if core.registers == 32:  # nine weights beside the sums
            assert inner.tile["w"] > 1
        assert inner.tile["c"] == core.lanes(32)
        assert inner.permutation[-3] == "c"
        assert candidate.mapping.levels[1].tile["c"] == workload.extents["c"]
        block = depthwise_block(workload, roles, inner.tile, workload.extents, core)
        assert block.sums == inner.tile["h"] * inner.tile["w"]
        assert block.registers < core.registers


def test_blocks_of_channels_may_be_outermost() -> None:
    """Where a vector's pixels lie side by side, rows are read along them: the model says which loop is outside."""
    workload = workload_of("mobilenet/M7", None, "assign", "implicit")
    options = CodeOptions(layout=ActivationLayout.BLOCKED)
    assert ranked(workload, AVX512, options, count=1)[0].mapping.levels[0].permutation[-3] != "c"


def test_tiles_leave_room_in_the_sets_that_they_fall_into() -> None:
    """Pixels of M5 are 1024 bytes apart, rows a multiple of 4096: four columns fall into sets of their own."""
    workload = workload_of("mobilenet/M5", None, "assign", "implicit")
    roles, core, cache = kernel_roles(workload), AVX512.core, AVX512.levels[1]
    assert roles is not None
    assert core is not None

    def crowd(h: int, w: int) -> int:
        tile = {**dict.fromkeys(workload.dims, 1), "h": h, "w": w}
        return lines_per_set(workload, roles, depthwise_block(workload, roles, tile, workload.extents, core), cache)

    assert (crowd(4, 2), crowd(4, 4), crowd(7, 2)) == (6 + 4, 12 + 4, 9 + 7)
    for candidate in ranked(workload, AVX512, count=3):
        tile = candidate.mapping.levels[0].tile
        assert crowd(tile["h"], tile["w"]) <= cache.ways
