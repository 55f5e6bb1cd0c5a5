"""Closed forms by regimes: exact agreement with the LP, exact covers, sound bounds, look-ups and texts."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from math import ceil, prod
from pathlib import Path

import pytest
from cases import cases

import optmap
from optmap.answers.closed_forms.regime_lookup import place, sizes_of
from optmap.answers.closed_forms.regimes import Regimes, regimes_of
from optmap.base.errors import InputError, LimitError
from optmap.count.reference.simulate import walk_nest
from optmap.files.inputs import machine_of
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.programs import tile_words
from optmap.solvers import ParametricLp, cone, critical_regions, linear_program, solve_exact
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload
from tests.bounds_oracles import element, exact_loads, least_memory, points
from tests.regimes_oracle import (
    LIFTED,
    PROJECTIVE,
    agree,
    dims_of,
    dual_vertices,
    proved_cover,
    random_points,
    supports,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "closed_form"
QUICK = [
    name
    for name in (*PROJECTIVE, *LIFTED)
    if name not in ("2d convolution", "strided 2d", "7 dims", "mttkrp of 4 modes")
]
MATMUL = PROJECTIVE["matmul"]


def closed(text: str, **extents: int) -> Regimes:
    return regimes_of(parse_workload(text, {d: extents.get(d, 4) for d in dims_of(text)}))


@pytest.mark.parametrize("name", QUICK)
def test_every_point_has_the_optimum_of_the_lp_exactly(name):
    text, rows = supports(name)
    answer = closed(text)
    found = agree(answer, rows, random_points(random.Random(name), len(answer.names), 400))
    assert found.inside >= 100
    assert found.shared >= 20


def test_the_oracle_is_the_lp():
    """The enumerated duals have the optimum that HiGHS finds and fractions prove."""
    rng = random.Random(3)
    for name in QUICK:
        rows = supports(name)[1]
        names = sorted({n for row in rows for n in row})
        duals = dual_vertices(rows, names)
        for memory, *limits in random_points(rng, len(names) + 1, 3).tolist():
            best = min(sum(x * n for x, n in zip(y, [memory] * len(rows) + limits, strict=True)) for y in duals)
            held = [[int(n in row) for n in names] for row in rows]
            program = linear_program([-1] * len(names), held, row_upper=[memory] * len(rows), upper=limits)
            assert solve_exact(program).objective == -best


def test_the_convolution_of_the_source_has_its_five_values():
    answer = closed(LIFTED["2d convolution"][0])
    volumes = {tuple(zip(answer.names, map(str, regime.volume), strict=True)) for regime in answer.regimes}
    named = [{name: power for name, power in volume if power != "0"} for volume in volumes]
    assert len(answer.regimes) == 12
    assert {"M": "2"} in named
    # Where the filter exceeds the image, the image takes its place: four square roots and four sizes of the image.
    for dims in itertools.product("rw", "sh"):
        # Image rows go with h and r, columns with w and s.
        pair = [{"r": "r", "w": "h"}[dims[0]], {"s": "s", "h": "w"}[dims[1]]]
        assert {"M": "3/2", pair[0]: "1/2", pair[1]: "1/2"} in named
        assert {"M": "1", "k": "1", pair[0]: "1", pair[1]: "1"} in named
    assert {"M": "1", "c": "1", "r": "1", "s": "1"} in named
    assert {"M": "1", "n": "1", "h": "1", "w": "1"} in named
    assert dict.fromkeys("nkchwrs", "1") in named


@pytest.mark.parametrize("name", [name for name in QUICK if name not in ("depthwise", "1d convolution")])
def test_cones_cover_the_domain_without_overlap_proved_on_their_facets(name):
    assert proved_cover(closed(supports(name)[0])) >= 8


def test_a_cover_with_a_hole_or_an_overlap_is_seen():
    answer = closed(MATMUL)
    last = answer.regimes[-1]
    with pytest.raises(AssertionError):
        proved_cover(replace(answer, regimes=answer.regimes[:-1]))
    with pytest.raises(AssertionError):
        proved_cover(replace(answer, regimes=(*answer.regimes, last)))


def test_facets_are_irredundant_and_rays_are_on_their_cone():
    rng = random.Random(5)
    for _ in range(60):
        size = rng.randint(2, 5)
        rows = [[rng.randint(-2, 2) for _ in range(size)] for _ in range(rng.randint(0, 6))]
        found = cone(size, rows)
        if found is None:
            continue
        units = [tuple(int(i == j) for j in range(size)) for i in range(size)]
        for row in (*rows, *units):
            assert all(sum(a * b for a, b in zip(row, ray, strict=True)) >= 0 for ray in found.rays)
            if any(row):
                assert sum(a * b for a, b in zip(row, found.interior, strict=True)) > 0
        for facet in found.facets:
            others = [f for f in found.facets if f != facet]
            # Without it the cone is larger: something of it is beyond, found by cutting there.
            unlimited = [f for f in others if f not in units]
            if facet in units:
                continue
            assert cone(size, [*unlimited, tuple(-x for x in facet)]) is not None
            point = found.inside(facet)
            assert all(sum(a * b for a, b in zip(f, point, strict=True)) > 0 for f in others)


def test_rays_of_a_known_cone():
    found = cone(3, [(1, -1, 0), (1, 1, -1), (2, 0, -1), (-1, 1, 0)])
    assert found is None  # x = y has no interior
    found = cone(3, [(1, -1, 0), (2, -2, 0), (1, 1, 1)])
    assert found is not None
    assert set(found.rays) == {(1, 0, 0), (1, 1, 0), (0, 0, 1)}
    assert set(found.facets) == {(1, -1, 0), (0, 1, 0), (0, 0, 1)}
    assert found.inside((1, -1, 0)) == (1, 1, 1)


def test_a_program_without_limits_and_one_with_too_many_regions_are_refused():
    with pytest.raises(InputError, match="no limit"):
        critical_regions(ParametricLp(cost=(1, 1), matrix=((1, 0),), right=((1,),)))
    with pytest.raises(InputError, match="never positive together"):
        critical_regions(ParametricLp(cost=(1,), matrix=((1,), (1,)), right=((1, -1), (-1, 1))))
    box = ParametricLp(cost=(1,), matrix=((1,), (1,)), right=((1, 0), (0, 1)))
    assert len(critical_regions(box)) == 2
    with pytest.raises(LimitError, match="more than 1 regions"):
        critical_regions(box, limit=1)


def test_rows_that_repeat_each_other_give_every_region_once():
    doubled = ParametricLp(cost=(1,), matrix=((1,), (1,), (1,), (2,)), right=((1, 0), (1, 0), (0, 1), (0, 2)))
    regions = critical_regions(doubled)
    assert sorted(region.cone.facets for region in regions) == [((0, 1), (1, -1)), ((1, 0), (-1, 1))]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("matmul", "2*i*j*k / M^(1/2)"),
        ("mttkrp", "3*i*j*k*r / M^(2/3)"),
        ("2d convolution", "9*c*h*k*n*r*s*w / (4*M)"),
        ("gram", "i*j*k / M^(1/2)"),
    ],
)
def test_factors_that_are_known(name, first):
    """2·G/sqrt(M) (Smith and van de Geijn), 3·G/M^(2/3) (Ballard, Knight, Rouse), C_p·G/M with C_p = 9/4 (Dinh)."""
    document = closed(supports(name)[0]).to_dict()
    assert document["regimes"][0]["loads"] == first


@pytest.mark.parametrize("semantics", ["+=", "="])
@pytest.mark.parametrize(
    ("text", "extents"),
    [
        ("C[i,j] {} A[i,k] * B[k,j]", "i=2,j=2,k=1"),
        ("O[x] {} I[x+r] * F[r]", "x=3,r=2"),
        ("O[x] {} I[2*x+r] * F[r]", "x=2,r=3"),
        ("O[x] {} I[2*x+3*r] * F[r]", "x=2,r=2"),
        ("O[i,j] {} A[i] * B[j]", "i=2,j=2"),
        ("O[i] {} A[i,j] * A[j,i]", "i=2,j=2"),
    ],
)
def test_no_schedule_loads_less_than_any_regime_says(text, extents, semantics):
    workload = optmap.workload(text.format(semantics), extents=extents)
    answer = regimes_of(workload)
    least = least_memory(workload)
    created = workload.output.footprint(workload.extents) if semantics == "=" else 0
    for memory in (least, least + 1):
        fewest = exact_loads(workload, memory)
        values = dict(zip(answer.names, sizes_of(answer, memory), strict=True)) | workload.extents
        for regime in answer.regimes:
            if regime.proof is not None:
                powers = answer.loads(regime)
                bound = regime.proof.factor_value * prod(values[n] ** float(q) for n, q in powers.items())
                assert ceil(bound - 1e-9) - created <= fewest
        found = optmap.regimes(workload, memory=f"{memory}w")
        assert found.at is not None
        assert found.at.loads_words <= fewest


@pytest.mark.parametrize("name", [*QUICK, "2d convolution", "dilated"])
def test_the_product_inequality_holds_for_random_sets_of_operations(name):
    text = "O[k,x] += I[c,2*x+3*r] * F[k,c,r]" if name == "dilated" else supports(name)[0]
    rng = random.Random(name)
    answer = closed(text, **{d: rng.randint(2, 3) for d in dims_of(text)})
    workload = answer.workload
    grid = points(workload)
    sizes = dict(zip(answer.names, sizes_of(answer, 1), strict=True))
    for _ in range(40):
        some = rng.sample(grid, rng.randint(1, min(len(grid), rng.choice([4, 30, 300]))))
        touched = {name: set() for name in (t.name for t in workload.tensors)}
        for access in workload.tensors:
            touched[access.name] |= {element(access, point) for point in some}
        for regime in answer.regimes:
            if regime.proof is None:
                continue
            factors = [(len(touched[t]), s) for t, _, s in regime.proof.tensors]
            factors += [(sizes[d], z) for d, z in regime.proof.sizes]
            whole = prod(x.denominator for _, x in factors)
            assert len(some) ** whole <= prod(n ** int(x * whole) for n, x in factors)


def test_the_formula_is_what_the_integers_prove_up_to_rounding():
    for text in (MATMUL, PROJECTIVE["mttkrp"], LIFTED["1d convolution"][0]):
        workload = parse_workload(text, {d: 3 if d == "r" and "w" in text else 64 for d in dims_of(text)})
        answer = regimes_of(workload)
        for memory in (101, 4096):
            values = dict(zip(answer.names, sizes_of(answer, memory), strict=True)) | workload.extents
            found = optmap.regimes(workload, memory=f"{memory}w").at
            assert found is not None
            for regime in answer.regimes:
                if regime.proof is not None:
                    formula = regime.proof.factor_value * prod(
                        values[n] ** float(q) for n, q in answer.loads(regime).items()
                    )
                    assert found.loads_words >= formula * (1 - 1e-6) - 1


def _assert_fits(workload: Workload, memory: int, loads: float, said: float, tile: dict[str, int] | None) -> None:
    """The same loads, and a tile of which all tensors fit together; none only where not one element of each does."""
    assert said == loads
    ones = tile_words(workload, dict.fromkeys(workload.dims, 1))
    assert (tile is None) == (ones > memory)
    if tile is not None:
        assert all(isinstance(tile[dim], int) and 1 <= tile[dim] <= extent for dim, extent in workload.sizes)
        assert tile_words(workload, tile) <= memory


@pytest.mark.parametrize("name", QUICK)
def test_the_tile_beside_the_loads_fits_and_moves_what_is_said(name):
    """In the answer and in the table; a walk of the nest counts the loads that are said of it."""
    text, rng = supports(name)[0], random.Random(name)
    for _ in range(cases(4, 12)):
        extents = {d: rng.choice([1, 2, 3, 5]) for d in dims_of(text)}
        workload = parse_workload(text, extents)
        memory = rng.randint(1, 60)
        found = optmap.regimes(workload, memory=f"{memory}w")
        assert found.at is not None
        tile = found.at.tile
        if tile is None:
            assert tile_words(workload, dict.fromkeys(workload.dims, 1)) > memory
            assert "tile    none: one element of every tensor" in str(found)
            continue
        assert tile.words == tile_words(workload, tile.sizes) <= memory
        level = LevelMapping(level="Fast", tile=tile.sizes, permutation=tile.permutation, spatial={})
        moved = walk_nest(workload, machine_of(None, f"{memory}w"), Mapping(levels=(level,)))
        assert sum(row.loads_words for row in moved) == tile.loads_words >= found.at.loads_words
        assert f"all tensors fit together, in {tile.words:,} words" in str(found)
        document = found.to_dict()["at"]
        assert document["tile"] == tile.sizes
        assert document["tile_loads_words"] >= document["loads_words"]


@pytest.mark.parametrize("name", ["matmul", "mttkrp", "1d convolution", "strided 1d"])
def test_the_python_function_stands_alone_and_says_the_same(name):
    text = supports(name)[0]
    rng = random.Random(name)
    namespace: dict[str, object] = {}
    answer = closed(text)
    exec(answer.to_dict()["python"], namespace)
    function, fitted = namespace["loads_and_shape"], namespace["loads_and_tile"]
    assert callable(function)
    assert callable(fitted)
    for _ in range(80):
        extents = {d: rng.choice([1, 2, 7, 64, 1000]) for d in answer.workload.dims}
        memory = rng.choice([1, 2, 64, 1000, 65536, 10**6])
        values = tuple(p.value(memory, extents) for p in answer.tiling.parameters)
        regime, _ = place(answer, values)
        loads, tile = function(memory, *extents.values())
        _assert_fits(answer.workload.with_extents(**extents), memory, loads, *fitted(memory, *extents.values()))
        sizes = [dict(zip(answer.names, values, strict=True))[d.name] for d in answer.tiling.digits]
        volume = prod(v ** float(q) for v, q in zip(values, regime.volume, strict=True))
        assert prod(tile.values()) == pytest.approx(volume)
        assert all(1 - 1e-9 <= size <= most * (1 + 1e-9) for size, most in zip(tile.values(), sizes, strict=True))
        if regime.proof is None:
            assert loads == 0
        else:
            known = dict(zip(answer.names, values, strict=True)) | extents
            formula = prod(known[n] ** float(q) for n, q in answer.loads(regime).items())
            assert loads == pytest.approx(regime.proof.factor_value * formula)
    with pytest.raises(ValueError, match="at least 1"):
        function(0, *extents.values())


def test_names_that_python_keeps_for_itself():
    sizes = {"M": 100, "lambda": 100, "loads": 100}
    answer = regimes_of(parse_workload("C[M,lambda] += max[M,loads] * B[loads,lambda]", sizes))
    assert answer.names[0] == "M_"
    namespace: dict[str, object] = {}
    exec(answer.to_dict()["python"], namespace)
    assert namespace["loads_and_shape"](100, 100, 100, 100) == (2e5, {"M": 10.0, "lambda": 10.0, "loads": 10.0})
    assert namespace["loads_and_tile"](100, 100, 100, 100) == (2e5, {"M": 5, "lambda": 5, "loads": 5})


def test_golden_latex_and_python():
    document = optmap.regimes(MATMUL, extents="i=64,j=64,k=64").to_dict()
    assert document["latex"] == (GOLDEN / "matmul.tex").read_text()
    assert document["python"] == (GOLDEN / "matmul.py.txt").read_text()


def test_breakpoints_along_a_parameter_are_where_a_scan_sees_them():
    for text, name, extents, memory in (
        (MATMUL, "k", "i=40,j=9,k=5", 100),
        (MATMUL, "M", "i=40,j=9,k=5", 100),
        (PROJECTIVE["1x1 convolution"], "n", "n=1,k=32,h=7,w=7,c=64", 4096),
        (LIFTED["1d convolution"][0], "n", "n=1,k=8,w=9,c=5,r=3", 64),
    ):
        workload = optmap.workload(text, extents=extents)
        found = optmap.regimes(workload, memory=f"{memory}w", vary=name)
        assert found.varied is not None
        values = list(sizes_of(found, memory))
        axis = found.names.index(name)
        stretches = found.varied.stretches
        assert stretches[0].first == 1
        assert stretches[-1].last is None
        for here, following in itertools.pairwise(stretches):
            assert here.last == following.first - 1
        for number in range(1, 150):
            values[axis] = number
            [here] = [s for s in stretches if s.first <= number and (s.last is None or number <= s.last)]
            squares = [prod(v ** int(2 * q) for v, q in zip(values, r.volume, strict=True)) for r in found.regimes]
            assert squares[here.regime] == min(squares)


def test_words_per_element_are_parameters():
    workload = parse_workload(MATMUL, {"i": 64, "j": 64, "k": 64})
    sized = [replace(t, bits=8 * b) for t, b in zip(workload.tensors, (4, 1, 2), strict=True)]
    answer = regimes_of(workload.with_accesses(sized))
    assert answer.names == ("M", "i", "j", "k", "2")
    rows = (("i", "j"), ("i", "k"), ("k", "j"))
    rng = random.Random(2)
    points = random_points(rng, 5, 300)
    points[:, 0] += 2  # an element of C has 4 words
    points[:, 4] = 1
    agree(answer, rows, points, (2, 0, 1))
    with pytest.raises(InputError, match="less than one element"):
        place(answer, (3, 64, 64, 64, 2))
    # Loomis and Whitney with weights: 2·sqrt(4·1·2)·G / sqrt(M).
    assert "2^(5/2)*i*j*k / M^(1/2)" in [regime["loads"] for regime in answer.to_dict()["regimes"]]
