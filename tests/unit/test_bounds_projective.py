"""Projective tiling LP: exact faces, duals, Theorem 14, and the bounds that follow."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction
from math import log, prod
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from scipy.optimize import linprog

from optmap.base.errors import InfeasibleError, InputError
from optmap.bounds import BOUNDS, VolumeBound, bounds, cold_loads, dual_volume, tile_bound, why_not_projective
from optmap.bounds.projective import projective
from optmap.machines.machine import two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.programs import (
    LogField,
    LogLp,
    best_permutation,
    face,
    log_tiling_program,
    projective_face,
    real_tile,
    round_tile,
    tile_loads,
    tile_words,
)
from optmap.solvers import solve_model
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv1d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

DATA = json.loads((Path(__file__).parents[1] / "data" / "closed_form_bounds.json").read_text())


def _projective(supports, extents):
    """A nest with the given supports, the first one being the output."""
    tensors = [f"A{j}[{','.join(f'x{i}' for i in s)}]" for j, s in enumerate(supports)]
    text = f"{tensors[0]} += {' * '.join(tensors[1:])}"
    return parse_workload(text, {f"x{i}": n for i, n in enumerate(extents)})


@pytest.mark.parametrize("row", DATA["projective"], ids=lambda r: r["name"])
def test_the_face_has_the_reference_volume_and_both_sides_agree(row):
    workload = _projective(row["supports"], row["L"])
    found = projective_face(workload, row["M"])
    assert found.complete
    assert found.volume == pytest.approx(row["max_tile"], rel=1e-9)
    assert log(found.volume, row["M"]) == pytest.approx(row["primal"], rel=1e-9)
    for vertex in found.vertices:
        tile = real_tile(vertex)
        assert prod(tile.values()) == pytest.approx(found.volume, rel=1e-9)
        assert all(prod(tile[f"x{i}"] for i in s) <= row["M"] * (1 + 1e-9) for s in row["supports"])
        assert all(tile[f"x{i}"] * (1 + 1e-9) >= 1 and tile[f"x{i}"] <= n * (1 + 1e-9) for i, n in enumerate(row["L"]))
    for dual in found.duals:
        assert dual.bound.value == pytest.approx(found.volume, rel=1e-9)
        for i, dim in enumerate(workload.dims):
            held = [s for s, support in zip(dual.rows.values(), row["supports"], strict=True) if i in support]
            assert sum(held) + dual.limits[dim] >= 1


@pytest.mark.parametrize("row", DATA["projective"], ids=lambda r: r["name"])
def test_highs_solves_the_exported_program_to_the_same_volume(row):
    program = log_tiling_program(_projective(row["supports"], row["L"]), capacity=row["M"])
    solution = solve_model(program.pyomo())
    assert program.objective_value(solution.objective) == pytest.approx(row["max_tile"], rel=1e-6)


def test_thin_matmul_has_the_whole_family_of_optimal_tiles():
    # Dinh 3.3.1: M^(1-a/2)/L^(1-a) x M^(a/2)*L^(1-a) x L is optimal for 0 <= a <= 2, half of it for a <= 1.
    memory, thin = 65536, 64
    workload = parse_workload("A1[x1,x3] += A2[x1,x2] * A3[x2,x3]", {"x1": 4096, "x2": 4096, "x3": thin})
    found = projective_face(workload, memory)
    tiles = [real_tile(v) for v in found.vertices]
    corners = sorted((round(t["x1"], 6), round(t["x2"], 6), round(t["x3"], 6)) for t in tiles)
    assert corners == [(thin, memory / thin, thin), (memory / thin, thin, thin)]
    first = next(i for i, t in enumerate(tiles) if t["x1"] > t["x2"])
    for a in (0.0, 0.25, 1.0, 1.7, 2.0):
        weights = [1 - a / 2 if i == first else a / 2 for i in range(2)]
        tile = found.tile(weights)
        assert tile["x1"] == pytest.approx(memory ** (1 - a / 2) / thin ** (1 - a))
        assert tile["x2"] == pytest.approx(memory ** (a / 2) * thin ** (1 - a))
        assert max(tile["x1"] * thin, tile["x2"] * thin, tile["x1"] * tile["x2"]) <= memory * (1 + 1e-9)
    for a in (-0.1, 2.1):  # outside the family a tensor no longer fits
        x1, x2 = memory ** (1 - a / 2) / thin ** (1 - a), memory ** (a / 2) * thin ** (1 - a)
        assert max(x1 * thin, x2 * thin) > memory
    assert {str(v["x1"]) for v in found.vertices} == {"M * L[x3]^(-1)", "L[x3]"}
    (dual,) = found.duals
    assert dual.rows == {"A1": 0, "A2": 1, "A3": 0}
    assert dual.limits["x3"] == 1
    assert str(dual.bound) == "M * L[x3]"
    assert "small loop bounds x3" in tile_bound(dual)


def test_degenerate_memory_has_several_duals_that_prove_the_same_volume():
    # At L3 = sqrt(M) the cases of 3.3.1 meet: the large-loop dual and the small-loop dual are both optimal.
    found = projective_face(matmul(i=4096, j=256, k=4096), 65536)
    assert {tuple(d.rows.values()) for d in found.duals} >= {(Fraction(1, 2),) * 3, (0, 1, 0)}
    assert {round(d.bound.value) for d in found.duals} == {2**24}


def _random_supports(rng, dims, count):
    while True:
        supports = [sorted(rng.sample(range(dims), rng.randint(1, dims))) for _ in range(count)]
        if set().union(*supports) == set(range(dims)):
            return supports


def test_random_faces_are_optimal_and_one_small_case_matches_them():
    # Theorem 14: the LP's optimum is the least of the 2^d bounds of Theorem 13.
    rng = random.Random(14)
    for _ in range(cases(15, 60)):
        d = rng.randint(1, 4)
        supports = _random_supports(rng, d, rng.randint(2, 4))
        extents = [rng.choice([1, 2, 3, 7, 16, 50, 400, 5000]) for _ in range(d)]
        memory = rng.choice([2, 10, 64, 1000, 4096])
        found = projective_face(_projective(supports, extents), memory)
        beta = np.array([log(n, memory) for n in extents])
        least = []
        for small in itertools.chain.from_iterable(itertools.combinations(range(d), q) for q in range(d + 1)):
            # minimise sum s + sum over small dims of beta * max(0, 1 - sum of their s), as an LP in (s, z)
            columns = len(supports) + len(small)
            cost = [1.0] * len(supports) + [beta[i] for i in small]
            rows = [[-float(i in s) for s in supports] + [-float(i == j) for j in small] for i in range(d)]
            solved = linprog(cost, A_ub=rows, b_ub=[-1.0] * d, bounds=[(0, None)] * columns)
            if solved.status == 0:
                least.append(solved.fun)
        assert log(found.volume, memory) == pytest.approx(min(least), abs=1e-7)


def test_no_whole_tile_is_larger_and_whole_vertices_attain_the_volume():
    rng = random.Random(4)
    attained = 0
    for _ in range(40):
        d = rng.randint(1, 3)
        supports = _random_supports(rng, d, rng.randint(2, 3))
        extents = [2 ** rng.randint(0, 5) for _ in range(d)]
        memory = 4 ** rng.randint(0, 3)
        found = projective_face(_projective(supports, extents), memory)
        largest = max(
            prod(tile)
            for tile in itertools.product(*(range(1, n + 1) for n in extents))
            if all(prod(tile[i] for i in s) <= memory for s in supports)
        )
        assert largest <= found.volume * (1 + 1e-9)
        whole = any(all(abs(m.value - round(m.value)) < 1e-9 for m in v.values()) for v in found.vertices)
        attained += whole
        assert not whole or largest == round(found.volume)
    assert attained > 30


def test_tiny_volume_inequality_holds_on_every_subset():
    # |V| <= U(words touched): exhaustively on domains of up to 12 points.
    rng = random.Random(3)
    for _ in range(40):
        d = rng.randint(1, 3)
        extents = [rng.randint(1, 3) for _ in range(d)]
        while prod(extents) > 12:
            extents[extents.index(max(extents))] -= 1
        supports = _random_supports(rng, d, rng.randint(2, 3))
        workload = _projective(supports, extents)
        volumes = [dual_volume(workload, u).segment() for u in projective_face(workload, rng.choice([1, 2, 4])).duals]
        points = list(itertools.product(*(range(n) for n in extents)))
        for bits in range(1, 2 ** len(points)):
            chosen = [p for i, p in enumerate(points) if bits >> i & 1]
            words = sum(len({tuple(p[i] for i in s) for p in chosen}) for s in supports)
            assert all(len(chosen) <= u(words) for u in volumes)


def test_bounds_of_matmul_against_the_literature():
    workload = matmul(i=2000, j=1500, k=1500)
    bound = projective(workload, 1024)
    assert bound.loads_words >= 2 * workload.operations // 32  # 2·G/sqrt(M), nothing subtracted
    assert bound.loads_words <= 293_322_580  # a 31x31 tile attains this
    assert bound.exponents == {"C": Fraction(1, 2), "A": Fraction(1, 2), "B": Fraction(1, 2)}
    assert bound.stores_words == 2000 * 1500
    assigned = projective(workload.with_semantics(Semantics.ASSIGN), 1024)
    assert assigned.loads_words == bound.loads_words - 2000 * 1500


def test_a_tensor_read_twice_is_one_memory():
    workload = parse_workload("C[i,j] += A[i,k] * A[j,k]", {"i": 40, "j": 40, "k": 40})
    bound = projective(workload, 30)
    assert bound.exponents["A"] == 1  # the two accesses share one exponent
    assert bound.exponents["C"] == Fraction(1, 2)
    once = projective(parse_workload("C[i,j] += A[i,k] * B[j,k]", {"i": 40, "j": 40, "k": 40}), 30)
    assert bound.loads_words < once.loads_words


def test_everything_fits_means_compulsory_traffic():
    workload = matmul(i=8, j=8, k=8)
    bound = projective(workload, 10_000)
    assert bound.loads_words == 3 * 64
    assert bound.exponents == {}


def test_volume_of_one_word_per_operation():
    # U(K) = K: every run loads one word per operation.
    volume = VolumeBound(tensors=(("A", 1, Fraction(1)),))
    assert cold_loads(volume, 1000, 10) >= 1000 - 10
    assert cold_loads(VolumeBound(tensors=(("A", 1, Fraction(0)),)), 1000, 10) == 0


def test_what_does_not_apply_is_refused_with_a_reason():
    conv = conv1d(f=2, x=4, c=2, w=3)
    assert "several dims" in why_not_projective(conv)
    with pytest.raises(InputError, match="several dims"):
        projective_face(conv, 100)
    with pytest.raises(InputError, match="several dims"):
        bounds(conv, 100, ["projective"])
    assert "projective" in BOUNDS
    with pytest.raises(InputError, match="less than one element"):
        face(LogLp(memory=1, names=("x",), limits=(Fraction(3),), rows=(("A", ("x",), Fraction(1, 2)),)))


def test_signs_of_logarithms_are_exact():
    field = LogField.of([8, 12, 3**50, 2**79, Fraction(7, 5)])
    assert field.sign(field.log(8)) == 1
    assert field.sign(field.log(Fraction(5, 7))) == -1
    eight = field.log(8)
    assert field.sign(tuple(a - 3 * b for a, b in zip(eight, field.log(2), strict=True))) == 0
    a, b = 3**50, 2**79
    assert field.sign(tuple(x - y for x, y in zip(field.log(a), field.log(b), strict=True))) == (1 if a > b else -1)
    close = LogField.of([10**40, 10**40 + 1])
    difference = tuple(x - y for x, y in zip(close.log(10**40 + 1), close.log(10**40), strict=True))
    assert close.sign(difference) == 1
    assert close.sign(tuple(-x for x in difference)) == -1


def test_rounding_gives_a_valid_mapping_that_fits_and_cannot_grow():
    rng = random.Random(5)
    for _ in range(40):
        d = rng.randint(1, 4)
        supports = _random_supports(rng, d, rng.randint(2, 3))
        workload = _projective(supports, [rng.randint(1, 60) for _ in range(d)])
        memory = rng.randint(len(supports), 400)
        vertex = projective_face(workload, memory).vertices[0]
        tile = round_tile(workload, real_tile(vertex), capacity_words=memory)
        order = best_permutation(workload, tile)
        level = LevelMapping(level="Fast", tile=tile, permutation=order, spatial={})
        Mapping(levels=(level,)).check(workload, two_level(Capacity(amount=memory, unit="words")))
        assert tile_words(workload, tile) <= memory
        for dim, extent in workload.sizes:
            trips = -(-extent // tile[dim])
            if trips > 1:
                assert tile_words(workload, {**tile, dim: -(-extent // (trips - 1))}) > memory


def test_rounded_tile_of_a_large_matmul_is_near_the_bound():
    workload = matmul(i=2000, j=1500, k=1500)
    vertex = projective_face(workload, 1024).vertices[0]
    tile = round_tile(workload, real_tile(vertex), capacity_words=1024)
    loads = tile_loads(workload, tile, best_permutation(workload, tile))
    assert projective(workload, 1024).loads_words <= loads <= 1.15 * projective(workload, 1024).loads_words


def test_rounding_refuses_what_cannot_fit():
    workload = matmul(i=4, j=4, k=4)
    with pytest.raises(InfeasibleError, match="at least 3 words"):
        round_tile(workload, {"i": 1.0, "j": 1.0, "k": 1.0}, capacity_words=2)
    with pytest.raises(InputError, match="no extent for k"):
        round_tile(workload, {"i": 1.0, "j": 1.0}, capacity_words=100)
