"""Method `exhaustive`: every mapping once, no other, and the best of them proved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from accelerator_machines import asked
from spatial_brute_force import all_mappings, best_of_all, tiny_fabric
from spatial_strategies import COUNTINGS, machine, statement

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search import Mapspace, explorer
from optmap.search.explore.exhaustive import STRATEGY

SEEDS = range(10)
STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
ROUTE = explorer(STRATEGY)


def tiny(seed: int) -> Fabric:
    return tiny_fabric(seed, 8_000)


def rows(batch: NestBatch) -> np.ndarray:
    """A row of numbers per nest that says what it is: loops of one trip have no place, the innermost loops no order."""
    several = np.take_along_axis(batch.temporal, batch.order, axis=2) > 1
    several[:, 0] = False
    loops = np.where(several, batch.order, -1)
    loops = np.take_along_axis(loops, np.argsort(~several, axis=2, kind="stable"), axis=2)
    parts = (batch.x, batch.y, batch.temporal, loops, batch.keeps)
    return np.concatenate([part.reshape(len(batch), -1) for part in parts], axis=1)


def valid_rows(batches: Iterable[NestBatch], fabric: Fabric) -> np.ndarray:
    """Those of the valid nests, each once."""
    found = [rows(batch)[evaluate_batch(batch, fabric, NEST_EXACT).valid] for batch in batches]
    return np.unique(np.concatenate(found), axis=0) if found else np.zeros((0, 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_it_makes_every_valid_mapping_once_and_as_many_as_it_says(seed: int) -> None:
    fabric = tiny(seed)
    space = Mapspace(fabric)
    size = space.size(10**9)
    made = list(space.batches())
    assert size.exact
    assert size.mappings == sum(map(len, made))
    if made:
        assert len(np.unique(np.concatenate([rows(batch) for batch in made]), axis=0)) == size.mappings
        assert np.array_equal(valid_rows(made, fabric), valid_rows(all_mappings(fabric), fabric))
    else:
        assert not len(valid_rows(all_mappings(fabric), fabric))


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_its_best_is_that_of_brute_force(seed: int, counting: NestPolicy) -> None:
    fabric = tiny(seed)
    best = best_of_all(fabric, counting)
    for merit in Merit:
        question = asked(fabric, merit, counting=counting, method="exhaustive")
        if merit not in best:
            with pytest.raises(InfeasibleError, match="no mapping is valid"):
                ROUTE.solve(question)
            continue
        found = ROUTE.solve(question)
        value = count_nest(found.nest, fabric, counting).merit(merit)
        assert abs(value - best[merit].value) <= best[merit].value * 1e-12
        assert found.proved
        assert 0 <= value - found.bound <= value * 2e-12


@pytest.mark.parametrize("extents", [{"i": 4, "j": 6, "k": 4}, {"i": 8, "j": 2, "k": 3}])
@pytest.mark.parametrize("machine", ["gemmini", "tpuv1"])
def test_on_machines_of_the_library_it_proves_what_the_exact_search_proves(
    machine: str, extents: dict[str, int]
) -> None:
    asked: dict[str, Any] = {"machine": machine, "extents": extents}
    found = optmap.solve(STATEMENT, **asked, method="exhaustive")
    exact = optmap.solve(STATEMENT, **asked, tiles="divisors")
    assert float(found.cost) == pytest.approx(float(exact.cost), rel=1e-12)
    assert "mappings with perfect factors was judged" in str(found)
    assert found.to_dict()["status"]["proved"]


def test_what_is_too_large_is_refused_with_its_size() -> None:
    asked: dict[str, Any] = {"machine": "gemmini", "extents": {"i": 16, "j": 16, "k": 16}, "method": "exhaustive"}
    workload = optmap.workload(STATEMENT, extents=asked["extents"], semantics="assign")
    size = Mapspace(fabric_of(workload, optmap.machine("gemmini"))).size(1)
    assert size.exact
    with pytest.raises(
        InputError, match=f"has {size.mappings:,} mappings .* the limit is 1,000; .* limit={size.mappings}$"
    ):
        optmap.solve(STATEMENT, **asked, settings={"limit": 1000})


def test_what_is_far_too_large_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"has (more than )?[0-9.,e+]+ mappings"):
        optmap.solve("resnet50/conv2", machine="eyeriss_like", method="exhaustive")


def test_a_machine_without_meshes_is_searched() -> None:
    fabric = fabric_of(statement("conv1d", {"k": 1, "c": 2, "p": 4, "r": 2}, stride=2), machine([(1, 1), (1, 1)]))
    assert Mapspace(fabric).size(10**9).mappings == sum(map(len, all_mappings(fabric)))
    found = optmap.solve(fabric.workload, machine=fabric.machine, method="exhaustive")
    assert found.cost == best_of_all(fabric, NEST_EXACT)[Merit.EDP].value
