"""Method `sunstone`: what it finds, and that its rules off are every mapping there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import some
from spatial_brute_force import best_of_all, tiny_fabric
from sunstone_search import OPEN, searched

import optmap
from optmap.base.errors import OptmapError
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import fabric_of
from optmap.questions.options import Merit
from optmap.search import End, SunstoneSettings
from optmap.workloads.workload import Semantics


@pytest.mark.parametrize("seed", some(2, range(5)))
@pytest.mark.parametrize("direction", ["bottom-up", "top-down"])
def test_without_rules_it_looks_at_every_mapping(seed: int, direction: str) -> None:
    fabric = tiny_fabric(seed, 300)
    every = best_of_all(fabric, NEST_EXACT)
    found = searched(fabric, replace(OPEN, direction=direction))
    assert (found.best is None) == (not every)
    if every:
        assert found.value == pytest.approx(float(every[Merit.EDP].value), rel=1e-12)


@pytest.mark.parametrize("machine", ["eyeriss", "simba", "gemmini", "tpuv1", "eyeriss_like", "sunstone-simba"])
@pytest.mark.parametrize("workload", ["resnet18/R5", "sunstone/sddmm_bcsstk17"])
def test_bottom_up_proposes_nothing_that_the_machine_forbids(machine: str, workload: str) -> None:
    fabric = fabric_of(replace(optmap.workload(workload), semantics=Semantics.ASSIGN), optmap.machine(machine))
    found = searched(fabric, SunstoneSettings(width=4))
    assert 0 < found.evaluations == found.valid
    assert found.end is End.STRATEGY
    rules = {cut.rule: cut for cut in found.cuts}
    assert rules["orders: no further reuse"].cut > 0
    assert all(0 <= cut.cut <= cut.seen for cut in found.cuts)


@pytest.mark.parametrize("within", ["tiling-unrolling-ordering", "ordering-tiling-unrolling"])
def test_the_order_within_a_memory_changes_the_space(within: str) -> None:
    fabric = fabric_of(optmap.workload("resnet18/R5", semantics="assign"), optmap.machine("eyeriss_like"))
    usual, other = searched(fabric, SunstoneSettings()), searched(fabric, SunstoneSettings(within=within))
    assert usual.evaluations != other.evaluations
    assert other.value < 2 * usual.value


@pytest.mark.parametrize("wrong", [{"direction": "up"}, {"within": "x"}, {"utilisation": 2.0}, {"width": -1}])
def test_settings_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptmapError, match=r"sunstone|part from 0 to 1|0 or more"):
        SunstoneSettings(**wrong)
