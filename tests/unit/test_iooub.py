"""IOUB: literal walks of held and streamed tensors, exhaustive optima, and the papers' numbers."""

import json
from dataclasses import replace
from itertools import permutations, product, takewhile
from math import ceil, inf
from pathlib import Path

import numpy as np
import pytest
from cases import cases, some
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import workloads

from optmap.answers.documents.solution import solution_document
from optmap.api import solve
from optmap.base.errors import InfeasibleError, InputError
from optmap.checker import check_document
from optmap.count.levels.held import entering_words, held_occupancy, held_traffic, held_words
from optmap.count.reference.walk_held import walk_held
from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine, two_level
from optmap.mappings.held import Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import reuse_at
from optmap.questions.objective import LOADS, SUM
from optmap.questions.options import TileRule
from optmap.search import METHODS, Answer, Question, best_tiling
from optmap.search import solve as solve_memory
from optmap.search.space.compulsory import compulsory
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "iooub_reference.json").read_text())


def solve_level(question: Question) -> tuple[Answer, Held]:
    """The answer for one memory, loads counted unless asked otherwise, and what it holds."""
    asked = question if question.objective is SUM else replace(question, objective=LOADS)
    result = METHODS["iooub"].run(asked)
    assert result.held is not None
    return result, result.held


def words(amount):
    return two_level(Capacity(amount=amount, unit="words"))


@given(workloads(max_extent=5, max_operations=300), st.data())
@settings(max_examples=cases(15, 80))
def test_an_answer_runs_as_it_says_in_the_memory_it_was_made_for(workload, data):
    least = sum(workload.weight(t) for t in workload.tensors)
    capacity = data.draw(st.integers(least, 3 * least + 40))
    try:
        result, held = solve_level(Question(workload=workload, machine=words(capacity)))
    except InputError:
        return  # first touches are not defined
    walk = walk_held(workload, result.machine, result.mapping, held)
    assert walk.peak_words == result.levels[0].occupancy_words <= capacity
    assert [(row.tensor, row.loads_words, row.stores_words) for row in walk.moved] == [
        (row.tensor, row.loads_words, row.stores_words) for row in result.boundaries
    ]
    assert result.cost == sum(row.loads_words for row in result.boundaries)
    assert result.cost >= result.relaxation.value >= compulsory(workload, LOADS)


@pytest.mark.parametrize(
    ("shape", "memory", "loads"),
    [
        # A filter as large as the memory: without a corner of 4 x 5 beside an input's 16 words and an output's one,
        ({"k": 16, "c": 16, "n": 60}, 256, (16 + 16) * 60 + 256 + (4 + 5) * 60),
        # and two such filters, whose corners run as one of 6 by 2 x 3.
        ({"k": 32, "c": 16, "n": 240}, 256, (32 + 2 * 16) * 240 + 512 + (6 + 2 * 3) * 240),
    ],
)
def test_what_does_not_quite_fit_stays_but_for_a_corner(shape, memory, loads):
    workload = parse_workload("O[k,n] += I[c,n] * F[k,c]", shape)
    result, held = solve_level(Question(workload=workload, machine=words(memory)))
    assert set(held.corner.sizes) == {"k", "c"}
    assert result.cost == loads < best_tiling(workload, [(memory, (0, 1, 2))], [1, 1, 1]).value
    assert result.levels[0].occupancy_words <= memory
    if workload.operations < 20_000:
        walk = walk_held(workload, result.machine, result.mapping, held)
        assert sum(row.loads_words for row in walk.moved) == loads
        assert walk.peak_words == result.levels[0].occupancy_words
    assert "leaves out a corner" in " ".join(result.notes)
    divided, plain = solve_level(Question(workload=workload, machine=words(memory), tiles=TileRule.DIVISORS))
    assert plain.corner is None
    assert divided.cost > loads


def test_no_corner_is_cut_along_implicit_padding():
    padded = parse_workload("O[k,n] += I[c,n] * F[k in 0..14,c]", {"k": 16, "c": 16, "n": 60})
    assert solve_level(Question(workload=padded, machine=words(256)))[1].corner is None
    beside = parse_workload("O[k,n] += I[c,n in 0..58] * F[k,c]", {"k": 16, "c": 16, "n": 60})
    result, held = solve_level(Question(workload=beside, machine=words(256)))
    assert set(held.corner.sizes) == {"k", "c"}
    assert walk_held(beside, result.machine, result.mapping, held).peak_words == result.levels[0].occupancy_words


@pytest.mark.parametrize(
    ("text", "shape", "memory", "cuts", "loads"),
    [
        # Equal tiles of 11 leave a small one; pieces of 7 and 4 do not.
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 11, "j": 11, "k": 11}, 60, [range(7), range(7, 11)], 561),
        # A filter of 6 that moves by two: even and odd rows need every other input each.
        (
            "O[k,h] += I[c,2*h+r] * K[k,c,r]",
            {"k": 16, "c": 3, "r": 6, "h": 24},
            48,
            [range(0, 6, 2), range(1, 6, 2)],
            1680,
        ),
    ],
)
def test_pieces_are_tiled_on_their_own(text, shape, memory, cuts, loads):
    workload = parse_workload(text, shape)
    plain = best_tiling(workload, [(memory, (0, 1, 2))], [1, 1, 1])
    result, held = solve_level(Question(workload=workload, machine=words(memory)))
    assert [each for piece in held.every(result.mapping) for each in piece.of.values()] == cuts
    assert result.cost == loads < plain.value
    walk = walk_held(workload, result.machine, result.mapping, held)
    assert sum(row.loads_words for row in walk.moved) == loads
    assert walk.peak_words == result.levels[0].occupancy_words <= memory
    assert "pieces run one after the other" in " ".join(result.notes)
    assert "proved by enumeration" not in " ".join(result.notes)
    divided, whole = solve_level(Question(workload=workload, machine=words(memory), tiles=TileRule.DIVISORS))
    assert not whole.pieces
    assert divided.cost > loads
    saved = json.loads(json.dumps(solution_document(result)))
    assert any("2 pieces run" in line for line in check_document(saved).verified)


def exhaustive(workload, capacity):
    """The least loads over all loop orders, reuse positions and tiles, one by one."""
    best = inf
    count = len(workload.dims)
    boxes = [dict(zip(workload.dims, t, strict=True)) for t in product(*(range(1, n + 1) for _, n in workload.sizes))]
    for order in permutations(workload.dims):
        ways = [{reuse_at(t, order, p) for p in range(1, count + 2)} for t in workload.tensors]
        for tile in boxes:
            options = []
            for tensor, hows in zip(workload.tensors, ways, strict=True):
                options.append(
                    {(held_words(workload, tensor, tile, h), entering_words(workload, tensor, tile, h)) for h in hows}
                )
            for choice in product(*options):
                if sum(c for c, _ in choice) <= capacity:
                    best = min(best, sum(moved for _, moved in choice))
    return best


@pytest.mark.parametrize(
    ("text", "extents", "capacities"),
    [
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 4, "j": 3, "k": 5}, (3, 5, 8, 13, 21)),
        ("O[x] += I[x+r] * F[r]", {"x": 6, "r": 3}, (3, 5, 7, 9)),
        ("O[x] += I[2*x+r] * F[r]", {"x": 4, "r": 5}, (3, 5, 8, 12)),
        ("O[x] += I[x+2*r] * F[r]", {"x": 5, "r": 3}, (3, 6, 9)),
        ("O[k,x] += I[c,x+r] * F[k,c,r]", {"k": 2, "c": 2, "x": 3, "r": 2}, (4, 9, 16)),
        ("O[a,b] += A[a,c,b] * B[c]", {"a": 2, "b": 3, "c": 3}, (3, 7)),
        ("O[i,j] += A[i] * B[j]", {"i": 4, "j": 5}, (3, 6)),
    ],
)
def test_the_best_without_streams_is_that_of_an_exhaustive_search(text, extents, capacities):
    workload = parse_workload(text, extents)
    for capacity in capacities:
        tiling = best_tiling(workload, [(capacity, (0, 1, 2))], [1, 1, 1], streams=False)
        assert tiling.complete
        assert tiling.value == exhaustive(workload, capacity)
        streamed = best_tiling(workload, [(capacity, (0, 1, 2))], [1, 1, 1])
        assert streamed.value <= tiling.value


def exhaustive_with_streams(workload, capacity):
    """As `exhaustive`, every tensor either held or streamed along the loops that are outermost in a tile."""
    best = inf
    boxes = [dict(zip(workload.dims, t, strict=True)) for t in product(*(range(1, n + 1) for _, n in workload.sizes))]
    for order, inner in product(permutations(workload.dims), permutations(workload.dims)):
        for tile in boxes:
            options = []
            for tensor in workload.tensors:
                choice = set()
                for position in range(len(workload.dims) + 2):
                    how = reuse_at(tensor, order, position)
                    lead = list(takewhile(lambda d, own=tensor.dims: d in own, inner)) if position == 0 else []
                    held = held_words(workload, tensor, tile, how, tuple(lead))
                    choice.add((held, entering_words(workload, tensor, tile, how)))
                options.append(choice)
            for choice in product(*options):
                if sum(c for c, _ in choice) <= capacity:
                    best = min(best, sum(moved for _, moved in choice))
    return best


@pytest.mark.parametrize("capacity", some([8], [5, 8, 14]))
def test_the_best_with_streams_is_that_of_an_exhaustive_search(capacity):
    workload = matmul(i=3, j=4, k=3)
    tiling = best_tiling(workload, [(capacity, (0, 1, 2))], [1, 1, 1])
    assert tiling.streams_complete
    assert tiling.value == exhaustive_with_streams(workload, capacity)


def test_a_tensor_that_costs_nothing_is_no_obstacle():
    """Its words, none, are not multiplied by an infinite number of tiles where nothing fits."""
    workload = parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 4, "j": 4, "k": 32})
    assert best_tiling(workload, [(9, (0, 1, 2))], [0.0, 1.0, 1.0]).value == 2 * 4 * 32


@pytest.mark.parametrize(("name", "capacity", "most"), some(1, [("Y4", 4096, 17_315_840), ("Y2", 1024, 36_213_760)]))
def test_windows_roll_over_strips(name, capacity, most):
    """Kernel resident for k and c, a strip of w columns, two rows and three words of the input per channel."""
    workload = library.workload(f"yolo9000/{name}")
    result, held = solve_level(Question(workload=workload, machine=words(capacity)))
    assert result.cost <= most
    assert set(held.streams["In"]) == {"h", "w"}


def test_matmul_of_the_paper():
    workload = matmul(i=2000, j=1500, k=1500)
    tile = {"i": 31, "j": 31, "k": 1}
    held = Held(positions={"C": 1, "A": 1, "B": 1}, streams={}, inner=())
    mapping = Mapping(levels=(LevelMapping(level="Fast", tile=tile, permutation=("i", "j", "k"), spatial={}),))
    loads = {row.tensor: row.loads_words for row in held_traffic(workload, mapping, held, ("Fast", "Memory"))}
    assert loads == {"C": 3_000_000, "A": 3_000_000 * ceil(1500 / 31), "B": 2_250_000 * ceil(2000 / 31)}
    assert sum(loads.values()) == 296_250_000
    assert held_occupancy(workload, mapping, held) == 31 * 31 + 62 <= 1024
    real = 2000 * 1500 * 1500 * (1 / 31 + 1 / 31 + 1 / 1500)
    assert int(real) == 293_322_580
    plain = solve_memory(Question(workload=workload, machine=words(1024), objective=LOADS), streams=False)
    assert plain.claimed == 293_250_000  # 30 x 32: whole tiles, fewer than the real quotient of 31 x 31
    streamed, held = solve_level(Question(workload=workload, machine=words(1024)))
    assert streamed.cost == 290_250_000
    assert held.streams
    assert streamed.levels[0].occupancy_words == 1024


@pytest.mark.parametrize(
    "row", some(4, (r for r in REFERENCE["found"] if r["name"] != "abcdef-dega-gfbc" and r["name"] != "Y0"))
)
def test_no_mapping_found_by_random_search_is_better(row):
    workload = parse_workload(row["workload"], row["extents"])
    result = solve(workload, memory=f"{row['capacity']}w", method="iooub")
    assert row["loads_bound"] <= result.cost <= row["best_loads"]


@pytest.mark.parametrize(("name", "capacity"), some(1, [("abcdef-dega-gfbc", 16384), ("Y0", 1024)]))
def test_the_larger_searches_reach_the_random_search_too(name, capacity):
    row = next(r for r in REFERENCE["found"] if (r["name"], r["capacity"]) == (name, capacity))
    workload = parse_workload(row["workload"], row["extents"])
    result = solve(workload, memory=f"{capacity}w", method="iooub")
    assert row["loads_bound"] <= result.cost <= row["best_loads"]


def test_loads_and_stores_can_be_minimised_together():
    workload = library.workload("tccg/abc-bda-dc")
    question = Question(workload=workload, machine=words(4096))
    loads, _ = solve_level(question)
    both, _ = solve_level(replace(question, objective=SUM))
    assert both.objective == "sum"
    assert both.cost == sum(row.words for row in both.boundaries)
    assert both.cost <= sum(row.words for row in loads.boundaries)
    assert loads.cost <= sum(row.loads_words for row in both.boundaries)


def test_divisors_divide_and_cost_no_less():
    workload = library.workload("yolo9000/Y13")
    free, _ = solve_level(Question(workload=workload, machine=words(4096)))
    even, _ = solve_level(Question(workload=workload, machine=words(4096), tiles=TileRule.DIVISORS))
    assert all(n % even.mapping.levels[0].tile[d] == 0 for d, n in workload.extents.items())
    assert even.cost >= free.cost


def test_assign_subtracts_the_outputs_created():
    summed = matmul(i=40, j=30, k=20)
    created = summed.with_semantics(Semantics.ASSIGN)
    one, _ = solve_level(Question(workload=summed, machine=words(100)))
    two, _ = solve_level(Question(workload=created, machine=words(100)))
    assert two.cost == one.cost - 1200


def test_element_sizes_weigh_words():
    workload = matmul(i=20, j=20, k=20, bytes={"C": 4, "A": 1, "B": 1})
    result, held = solve_level(Question(workload=workload, machine=words(64)))
    walk = walk_held(workload, result.machine, result.mapping, held)
    assert walk.peak_words <= 64
    assert sum(row.loads_words for row in walk.moved) == result.cost


def test_huge_extents_are_tiled():
    workload = matmul(i=2**40, j=2**35, k=2**20)
    result, _ = solve_level(Question(workload=workload, machine=words(1024)))
    ideal = 2 * 2**95 / np.sqrt(1024)
    assert ideal < result.cost < 1.1 * ideal


def test_a_tensor_read_twice_has_a_position_per_access():
    workload = parse_workload("C[i,j] += A[i,k] * A[j,k]", {"i": 5, "j": 4, "k": 3})
    result, held = solve_level(Question(workload=workload, machine=words(9)))
    assert set(held.positions) == {"C", "A", "A#2"}
    walk = walk_held(workload, result.machine, result.mapping, held)
    assert sum(row.loads_words for row in walk.moved) == result.cost


@pytest.mark.longer
def test_several_levels_minimise_the_weighted_sum():
    workload = conv2d(k=16, c=8, h=14, w=14, r=3, s=3)
    bottleneck = solve(workload, machine="balanced")
    total = solve(workload, machine="balanced", method="iooub")
    assert total.objective == "sum"
    assert total.cost == pytest.approx(sum(level.traffic_words / level.bandwidth for level in total.levels))
    assert total.relaxation.value <= total.cost <= sum(level.cycles for level in bottleneck.levels) * (1 + 1e-12)
    assert max(level.cycles for level in total.levels) >= bottleneck.cost * (1 - 1e-9)


def test_several_levels_with_divisors():
    workload = conv2d(k=16, c=8, h=12, w=12, r=3, s=3)
    total = solve(workload, machine="balanced", method="iooub", tiles="divisors")
    outer = workload.extents
    for level in reversed(total.mapping.levels):
        assert all(outer[d] % n == 0 for d, n in level.tile.items())
        outer = level.tile


def test_what_the_method_does_not_know_is_refused():
    workload = matmul(i=8, j=8, k=8)
    cache = Level(name="L1", capacity=Capacity(amount=64, unit="words"), kind=LevelKind.CACHE)
    with pytest.raises(InputError, match="--capacity tile"):
        solve(workload, machine=Machine(name="cached", levels=(cache,)), method="iooub", capacity="safe")
    with pytest.raises(InputError, match="floor"):
        solve(workload, memory="64w", method="iooub", integers="floor")
    with pytest.raises(InputError, match="--cores 1"):
        solve(workload, machine="i7-9700k", method="iooub", cores=8)
    with pytest.raises(InputError, match="microkernel of Reg"):
        solve(workload, machine="i7-9700k", method="iooub")
    with pytest.raises(InputError, match="3 levels"):
        solve_level(Question(workload=workload, machine=library.machine("balanced")))
    with pytest.raises(InfeasibleError, match="short by 1 word:"):
        solve(workload, memory="2w", method="iooub")


def test_a_bandwidth_turns_words_into_cycles():
    workload = matmul(i=8, j=8, k=8)
    level = Level(name="Fast", capacity=Capacity(amount=64, unit="words"), bandwidth=4.0)
    machine = Machine(name="quick", levels=(level,))
    quick, _ = solve_level(Question(workload=workload, machine=machine, capacity=CapacityRule.TILE))
    slow, _ = solve_level(Question(workload=workload, machine=words(64)))
    assert (quick.cost_unit, slow.cost_unit) == ("cycles", "words")
    assert quick.cost * 4 == slow.cost
