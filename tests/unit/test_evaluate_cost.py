"""Exact cost: the papers' closed forms, safe occupancy, huge extents, reports, errors."""

import itertools
import random
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from cases import some

from optmap.base.errors import InputError
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.halo import axis_counts
from optmap.count.levels.per_level import LevelModel, level_model
from optmap.count.levels.whole_nest import exact_traffic
from optmap.machines.machine import CapacityRule, Level, Machine, two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow, safe_working_set
from optmap.questions.objective import BOTTLENECK
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.axes import axis_groups
from optmap.workloads.halo import distinct_values, shared_values
from optmap.workloads.workload import Semantics, Workload


def access(name, *subscripts, size=4):
    axes = tuple(Subscript(terms=tuple(s) if isinstance(s, list) else ((s, 1),)) for s in subscripts)
    return TensorAccess(name=name, axes=axes, bits=8 * size)


def matmul(i, j, k, semantics=Semantics.ACCUMULATE):
    return Workload.product(
        name="matmul",
        output=access("C", "i", "j"),
        inputs=(access("A", "i", "k"), access("B", "k", "j")),
        sizes=(("i", i), ("j", j), ("k", k)),
        semantics=semantics,
    )


def cnn(stride=1, **extents):
    return Workload.product(
        name="cnn",
        output=access("Out", "n", "k", "h", "w"),
        inputs=(
            access("In", "n", "c", [("h", stride), ("r", 1)], [("w", stride), ("s", 1)]),
            access("Ker", "k", "c", "r", "s"),
        ),
        sizes=tuple((d, extents[d]) for d in "nkcrshw"),
    )


def one_level(tile, permutation, name="Fast"):
    return Mapping(levels=(LevelMapping(level=name, tile=tile, permutation=tuple(permutation), spatial={}),))


def words(amount):
    return Capacity(amount=amount, unit="words")


def divisible(rng, dims):
    tile = {d: rng.randint(1, 6) for d in dims}
    return tile, {d: t * rng.randint(2, 5) for d, t in tile.items()}


@pytest.mark.parametrize("seed", some(10, range(30)))
def test_matmul_is_mopt_equation_3(seed):
    T, N = divisible(random.Random(seed), "ijk")
    report = evaluate_cost(matmul(**N), two_level(words(10**6)), one_level(T, "ijk"))
    expected = prod(N.values()) * (Fraction(1, T["i"]) + Fraction(1, T["j"]) + Fraction(2, N["k"]))
    assert report.value_exact == expected
    assert report.levels[0].traffic_words == expected
    assert report.levels[0].occupancy_words == T["i"] * T["j"] + T["i"] * T["k"] + T["k"] * T["j"]


@pytest.mark.parametrize("seed", some(10, range(30)))
def test_cnn_is_mopt_equation_5(seed):
    T, N = divisible(random.Random(seed), "nkcrshw")
    report = evaluate_cost(cnn(**N), two_level(words(10**9)), one_level(T, "kcrsnhw"))
    tiles = {d: N[d] // T[d] for d in N}
    ker = prod(N[d] for d in "kcrs")
    out = 2 * prod(N[d] for d in "nkhw") * prod(tiles[d] for d in "crs")
    rows, columns = T["h"] + T["r"] - 1, N["w"] + T["s"] - 1
    image = prod(tiles[d] for d in "kcrsnh") * T["n"] * T["c"] * rows * columns
    assert [b.words for b in report.boundaries] == [out, image, ker]
    occupancy = T["n"] * T["c"] * rows * (T["w"] + T["s"] - 1)
    occupancy += prod(T[d] for d in "kcrs") + prod(T[d] for d in "nkhw")
    assert report.levels[0].occupancy_words == occupancy


def test_assign_saves_exactly_the_first_touches():
    mapping = one_level({"i": 3, "j": 2, "k": 4}, "kij")
    both = [
        evaluate_cost(matmul(10, 7, 9, s), two_level(words(100)), mapping).boundaries[0]
        for s in (Semantics.ACCUMULATE, Semantics.ASSIGN)
    ]
    assert both[0].loads_words == both[0].stores_words == both[1].stores_words == 3 * 70
    assert both[1].loads_words == 2 * 70


def test_bottleneck_uses_decimal_bandwidths_exactly():
    capacity = words(1000)
    machine = Machine(
        name="m",
        levels=(
            Level(name="L1", capacity=capacity, bandwidth=0.3),
            Level(name="L2", capacity=capacity, bandwidth=0.1),
        ),
    )
    tile = {"i": 2, "j": 2, "k": 2}
    mapping = Mapping(
        levels=tuple(LevelMapping(level=n, tile=tile, permutation=("i", "j", "k"), spatial={}) for n in ("L1", "L2"))
    )
    report = evaluate_cost(matmul(4, 4, 4), machine, mapping)
    inner, outer = (level.traffic_words for level in report.levels)
    assert report.levels[0].cycles_exact == Fraction(10 * inner, 3)
    assert report.value_exact == max(Fraction(10 * inner, 3), 10 * outer)
    assert report.bottleneck == "L2"
    assert report.value == float(report.value_exact)
    moved = BOTTLENECK.words(exact_traffic(matmul(4, 4, 4), machine, mapping), machine)
    cycles = BOTTLENECK.alone(moved, machine, 32)
    assert cycles[0] * 3 == cycles[1]  # equal tiles: both boundaries see the same nest


def test_fits_is_a_value():
    mapping = one_level({"i": 4, "j": 4, "k": 4}, "ijk")
    tight = evaluate_cost(matmul(8, 8, 8), two_level(words(48)), mapping)
    short = evaluate_cost(matmul(8, 8, 8), two_level(words(47)), mapping)
    safe = evaluate_cost(matmul(8, 8, 8), two_level(words(79)), mapping, CapacityRule.SAFE)
    assert tight.fits
    assert not short.fits
    assert safe.levels[0].occupancy_words == 16 + 32 + 32  # C stays while A and B move
    assert not safe.fits


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("order", ["kcrsnhw", "nkhwcrs", "nchrswk", "hwnkcsr"])
def test_safe_occupancy_of_a_batch_is_that_of_each_tile(stride, order):
    workload = cnn(stride, n=2, k=8, c=6, r=3, s=3, h=9, w=9)
    residents = safe_working_set(workload, tuple(order))
    rng = np.random.default_rng(5)
    tiles = rng.integers(1, [n + 1 for _, n in workload.sizes], size=(50, 7))
    batch = level_model(workload).safe_occupancy(tiles, residents)
    for row, occupancy in zip(tiles.tolist(), batch.tolist(), strict=True):
        tile = dict(zip(workload.dims, row, strict=True))
        assert occupancy == sum(r.elements(t, tile) for r, t in zip(residents, workload.tensors, strict=True))


def test_huge_extents_do_not_overflow():
    n, t = 10**12, 10**6
    workload = matmul(n, n, n)
    model = LevelModel(workload)
    assert model.dtype is object
    report = evaluate_cost(workload, two_level(words(10**13)), one_level({"i": t, "j": t, "k": t}, "ijk"))
    assert report.levels[0].traffic_words == 2 * n**3 // t + 2 * n**2
    assert [b.words for b in report.boundaries] == [2 * n**2, n**3 // t, n**3 // t]
    ragged = evaluate_cost(workload, two_level(words(10**13)), one_level({"i": 7, "j": t, "k": t}, "ijk"))
    assert ragged.boundaries[2].words == -(-n // 7) * n * n
    exact = exact_traffic(workload, two_level(words(10**13)), one_level({"i": t, "j": t, "k": t}, "ijk"))
    # one step in a million along i or j keeps a tile of the input that does not move
    assert [b.words for b in exact] == [2 * n**2, n**3 // t, n**3 // t]


def test_huge_strided_convolution_is_exact_without_enumeration():
    n = 10**12
    workload = cnn(2, n=1, k=4, c=4, r=3, s=3, h=n, w=n)
    tile = {"n": 1, "k": 4, "c": 4, "r": 3, "s": 3, "h": 10, "w": 10}
    mapping = one_level(tile, "nkcrshw")
    image = 4 * (n // 10) * 21 * (2 * (n - 1) + 3)
    assert evaluate_cost(workload, two_level(words(10**6)), mapping).boundaries[1].words == image
    assert exact_traffic(workload, two_level(words(10**6)), mapping)[1].words == image


def test_exact_sees_reuse_across_levels_that_the_cost_misses():
    """k16 c32 h8 w8, 1x1, 64 and 160 words: exact is at least 7.7 % below a good mapping's cost."""
    workload = Workload.product(
        name="1x1",
        output=access("Out", "k", "h", "w"),
        inputs=(access("In", "c", "h", "w"), access("Ker", "k", "c")),
        sizes=(("k", 16), ("c", 32), ("h", 8), ("w", 8)),
    )
    machine = Machine(name="m", levels=(Level(name="L1", capacity=words(64)), Level(name="L2", capacity=words(160))))
    best = 1.0
    for k, c1, c2, h, w in itertools.product((2, 4), (1, 8), (8,), (1, 2), (4, 8)):
        levels = [
            LevelMapping(level=name, tile={"k": k, "c": c, "h": h, "w": w}, permutation=tuple("khwc"), spatial={})
            for name, c in (("L1", c1), ("L2", c2))
        ]
        mapping = Mapping(levels=tuple(levels))
        cost = evaluate_cost(workload, machine, mapping)
        if not cost.fits:
            continue
        exact = BOTTLENECK.of(exact_traffic(workload, machine, mapping), machine, workload.word_bits)
        assert exact <= cost.value_exact
        best = min(best, float(exact / cost.value_exact))
    assert best < 1 - 0.077


def test_a_dim_in_two_output_subscripts_needs_accumulate():
    def diagonal(semantics):
        return Workload.product(
            name="diagonal",
            output=access("Out", "i", [("i", 1), ("j", 1)]),
            inputs=(access("A", "i", "j"),),
            sizes=(("i", 4), ("j", 3)),
            semantics=semantics,
        )

    mapping = one_level({"i": 2, "j": 1}, "ij")
    assert evaluate_cost(diagonal(Semantics.ACCUMULATE), two_level(words(100)), mapping).fits
    for function in (evaluate_cost, exact_traffic):
        with pytest.raises(InputError, match=r"two subscripts of Out.*use '\+='"):
            function(diagonal(Semantics.ASSIGN), two_level(words(100)), mapping)


def test_a_foreign_mapping_is_refused():
    with pytest.raises(InputError, match="levels"):
        evaluate_cost(matmul(4, 4, 4), two_level(words(9)), one_level({"i": 1, "j": 1, "k": 1}, "ijk", "L7"))
    with pytest.raises(InputError, match="tile of i is 5"):
        exact_traffic(matmul(4, 4, 4), two_level(words(9)), one_level({"i": 5, "j": 1, "k": 1}, "ijk"))


def test_a_scalar_is_loaded_once_per_outer_tile():
    workload = Workload.product(
        name="sum",
        output=TensorAccess(name="S", axes=()),
        inputs=(access("A", "i", "j"),),
        sizes=(("i", 6), ("j", 5)),
    )
    machine = Machine(name="m", levels=(Level(name="L1", capacity=words(9)), Level(name="L2", capacity=words(99))))
    mapping = Mapping(
        levels=(
            LevelMapping(level="L1", tile={"i": 1, "j": 2}, permutation=("i", "j"), spatial={}),
            LevelMapping(level="L2", tile={"i": 4, "j": 3}, permutation=("j", "i"), spatial={}),
        )
    )
    assert [b.loads_words for b in evaluate_cost(workload, machine, mapping).boundaries] == [4, 30, 1, 30]
    assert [b.loads_words for b in exact_traffic(workload, machine, mapping)] == [1, 30, 1, 30]


@pytest.mark.parametrize("seed", some(20, range(60)))
def test_axis_counts_of_arrays_are_the_exact_counts(seed):
    rng = random.Random(seed)
    terms = tuple((d, rng.randint(1, 6)) for d in "abcd"[: rng.randint(1, 4)])
    sizes = {d: np.array([rng.randint(1, 7) for _ in range(40)]) for d, _ in terms}
    counts = axis_counts(Subscript(terms=terms), sizes)
    for i, count in enumerate(counts.tolist()):
        box = [range(int(sizes[d][i])) for d, _ in terms]
        values = {sum(c * x for (_, c), x in zip(terms, p, strict=True)) for p in itertools.product(*box)}
        assert count == len(values) == distinct_values(tuple(c for _, c in terms), tuple(map(len, box)))


@pytest.mark.parametrize("seed", some(100, range(300)))
def test_shared_values_are_those_of_the_sets(seed):
    rng = random.Random(seed)
    count = rng.choice([1, 2, 2, 2, 3])
    coefficients = tuple(rng.choice([1, 1, 2, 3, 4, 5, 6]) for _ in range(count))
    new, old = (tuple(rng.randint(1, 8) for _ in range(count)) for _ in range(2))
    shifts = tuple(rng.randint(-9, 9) for _ in range(count))

    def values(starts, extents):
        box = (range(s, s + e) for s, e in zip(starts, extents, strict=True))
        return {sum(c * x for c, x in zip(coefficients, p, strict=True)) for p in itertools.product(*box)}

    expected = len(values([0] * count, new) & values([-s for s in shifts], old))
    assert shared_values(coefficients, new, old, shifts) == expected


def test_axis_groups_join_what_shares_a_dim():
    tensor = access("A", "i", [("j", 1), ("k", 2)], "l", [("k", 1), ("l", 1)], [])
    groups = [{str(axis) for axis in group} for group in axis_groups(tensor)]
    assert groups == [{"i"}, {"j+2*k", "l", "k+l"}]


def test_element_sizes_weigh_the_words():
    workload = Workload.product(
        name="mixed",
        output=access("C", "i", size=8),
        inputs=(access("A", "i", "k", size=2), access("B", "k", size=4)),
        sizes=(("i", 6), ("k", 4)),
    )
    model = LevelModel(workload)
    assert model.occupancy(np.array([[3, 2]])).tolist() == [4 * 3 + 3 * 2 + 2 * 2]
    loads, stores = model.tensor_traffic(np.array([[[3, 2]]]), 0, dataflow(workload, ("k", "i")))
    assert loads.tolist() == [[4 * 12, 24, 2 * 4]]
    assert stores.tolist() == [[4 * 12, 0, 0]]
