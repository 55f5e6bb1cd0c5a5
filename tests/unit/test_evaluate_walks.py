"""The closed forms of `per_level` and `whole_nest` equal literal walks of the loops, number for number."""

import random

import numpy as np
import pytest
from cases import cases as tries
from cases import some
from levels_walk import walk_levels

from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.per_level import LevelModel
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.reference.simulate import walk_nest
from optmap.machines.machine import Level, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

CASES = range(tries(140, 400))


def random_access(rng, name, dims, *, joined):
    """One to two subscripts of one to three dims; `joined` allows a dim in both."""
    pool = list(dims)
    axes = []
    for _ in range(rng.randint(1, 2)):
        chosen = rng.sample(pool, min(rng.choice([1, 1, 2, 2, 3]), len(pool)))
        axes.append(Subscript(terms=tuple((d, rng.choice([1, 1, 2, 3])) for d in chosen), offset=rng.choice([0, 1])))
        if not joined:
            pool = [d for d in pool if d not in chosen]
        if not pool:
            break
    return TensorAccess(name=name, axes=tuple(axes), bits=rng.choice([32, 32, 64]))


def random_workload(rng):
    """Two inputs and an output over two to four dims of extent up to 9, strides and gaps included."""
    dims = "abcd"[: rng.randint(2, 4)]
    semantics = rng.choice(list(Semantics))
    output = random_access(rng, "Out", dims, joined=semantics is Semantics.ACCUMULATE)
    inputs = tuple(random_access(rng, name, dims, joined=True) for name in "AB")
    used = frozenset().union(*(t.dims for t in (output, *inputs)))
    sizes = tuple((d, rng.randint(1, 9)) for d in dims if d in used)
    return Workload.product(name="random", output=output, inputs=inputs, sizes=sizes, semantics=semantics)


def random_mapping(rng, workload, levels, *, split):
    """Nested tiles, random orders and, if wanted, splits of any dim (more ways than tile allowed)."""
    outer, found = workload.extents, []
    for level in reversed(range(levels)):
        tile = {d: rng.randint(1, n) for d, n in outer.items()}
        spatial = {d: rng.randint(1, 3) for d in tile} if split and rng.random() < 0.6 else {}
        order = tuple(rng.sample(workload.dims, len(workload.dims)))
        found.append(LevelMapping(level=f"L{level}", tile=tile, permutation=order, spatial=spatial))
        outer = {d: -(-n // spatial.get(d, 1)) for d, n in tile.items()}
    return Mapping(levels=tuple(reversed(found)))


def scratchpads(levels):
    capacity = Capacity(amount=10**6, unit="words")
    return Machine(name="test", levels=tuple(Level(name=f"L{i}", capacity=capacity, fanout=81) for i in range(levels)))


def case(seed):
    rng = random.Random(seed)
    workload = random_workload(rng)
    levels = rng.randint(1, 3)
    return workload, scratchpads(levels), random_mapping(rng, workload, levels, split=seed % 3 == 0)


def entries(traffic):
    return [(t.between, t.tensor, t.loads_words, t.stores_words) for t in traffic]


def arrays(workload, mappings):
    chain = [[[level.tile[d] for d in workload.dims] for level in m.levels] for m in mappings]
    ways = [[[level.spatial.get(d, 1) for d in workload.dims] for level in m.levels] for m in mappings]
    return np.array(chain), np.array(ways)


@pytest.mark.parametrize("block", some(2, range(4)))
def test_per_level_cost_equals_the_walk(block):
    for seed in CASES[block::4]:
        workload, machine, mapping = case(seed)
        assert entries(evaluate_cost(workload, machine, mapping).boundaries) == entries(
            walk_levels(workload, machine, mapping)
        ), (seed, workload, mapping)


@pytest.mark.parametrize("block", some(2, range(4)))
def test_exact_traffic_equals_the_walk(block):
    for seed in CASES[block::4]:
        workload, machine, mapping = case(seed)
        assert entries(exact_traffic(workload, machine, mapping)) == entries(walk_nest(workload, machine, mapping)), (
            seed,
            workload,
            mapping,
        )


def test_the_nest_never_moves_more_than_the_per_level_form():
    lower = 0
    for seed in CASES:
        workload, machine, mapping = case(seed)
        cost = evaluate_cost(workload, machine, mapping).boundaries
        exact = exact_traffic(workload, machine, mapping)
        for a, b in zip(exact, cost, strict=True):
            assert a.loads_words <= b.loads_words, (seed, a, b)
            assert a.stores_words <= b.stores_words, (seed, a, b)
        lower += sum(t.words for t in exact) < sum(t.words for t in cost)
    assert lower > len(CASES) // 4  # reuse across levels and over one-trip loops is common


def test_cases_cover_what_they_should():
    cases = [case(seed) for seed in CASES]
    tensors = [t for w, _, _ in cases for t in w.tensors]
    assert any(len(axis.terms) == 3 for t in tensors for axis in t.axes)
    assert any(len(t.dims) < sum(len(axis.terms) for axis in t.axes) for t in tensors)
    assert {w.semantics for w, _, _ in cases} == set(Semantics)
    assert {len(m.levels) for _, m, _ in cases} == {1, 2, 3}
    assert any(m.levels[0].tile[d] > 1 and w.extents[d] % m.levels[0].tile[d] for w, _, m in cases for d in w.dims)
    assert any(ways > 1 for _, _, m in cases for level in m.levels for ways in level.spatial.values())


@pytest.mark.parametrize("seed", some(13, range(40)))
def test_batches_and_wide_integers_change_nothing(seed):
    rng = random.Random(1000 + seed)
    workload = random_workload(rng)
    levels = rng.randint(1, 3)
    mappings = [random_mapping(rng, workload, levels, split=seed % 2 == 0) for _ in range(6)]
    chain, ways = arrays(workload, mappings)
    flows = [dataflow(workload, tuple(rng.sample(workload.dims, len(workload.dims)))) for _ in range(3)]
    narrow, wide = LevelModel(workload), LevelModel(workload, wide=True)
    assert narrow.dtype is np.int64
    for level in range(levels):
        together = narrow.traffic_all(chain, level, flows, ways)
        assert together.dtype == np.int64
        assert together.tolist() == wide.traffic_all(chain, level, flows, ways).tolist()
        for n, flow in enumerate(flows):
            loads, stores = narrow.tensor_traffic(chain, level, flow, ways)
            assert (loads.sum(axis=1) + stores.sum(axis=1)).tolist() == together[:, n].tolist()
            alone = [narrow.traffic(chain[b : b + 1], level, flow, ways[b : b + 1])[0] for b in range(6)]
            assert alone == together[:, n].tolist()
        assert narrow.occupancy(chain[:, level]).tolist() == wide.occupancy(chain[:, level]).tolist()


def test_a_tile_of_a_tensor_that_has_a_dim_several_times_is_counted_in_numbers_that_hold_it():
    """Its elements are more than all iterations."""
    workload = parse_workload("O[b] += A[b] * B[b,3*b,b]", {"b": 2**22})
    assert LevelModel(workload).occupancy(np.array([[2**21]])).tolist() == [(2**21) ** 3 + 2 * 2**21]


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_boundaries_priced_together_cost_what_they_cost_alone(seed):
    rng = random.Random(2000 + seed)
    workload, levels = random_workload(rng), rng.randint(2, 4)
    chain, ways = arrays(workload, [random_mapping(rng, workload, levels, split=seed % 2 == 0) for _ in range(4)])
    model, order = LevelModel(workload), rng.sample(range(levels), rng.randint(1, levels))
    flows = [
        [dataflow(workload, tuple(rng.sample(workload.dims, len(workload.dims)))) for _ in range(rng.randint(1, 4))]
        for _ in order
    ]
    together = list(model.traffic_at(chain, order, map(model.flows, flows), ways))
    for level, each, words in zip(order, flows, together, strict=True):
        alone = [model.traffic(chain, level, flow, ways).tolist() for flow in each]
        assert words.T.tolist() == alone
