"""The exact search on accelerators against every mapping there is, against itself, and against known optima."""

import random
import time
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import pytest
from accelerator_machines import asked
from cases import cases, some
from spatial_brute_force import all_mappings, best_of_all, tiny_fabric, tiny_machine
from spatial_strategies import COUNTINGS, WALKED

import optmap
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InputError
from optmap.count.meshes.batch import BatchCost, evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.files import library
from optmap.machines.accelerator import FactorRule, KeepRule, Store
from optmap.machines.fabric import fabric_of
from optmap.machines.relations import Relation
from optmap.mappings.nest import Nest
from optmap.questions.objective import MERITS
from optmap.questions.options import Merit
from optmap.search import Answer, local_search, random_nests
from optmap.search.exact import search_nest
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.ways import maximal_ways
from optmap.workloads.parser import parse_workload

solving = import_module("optmap.search.exact.solve")


@pytest.mark.parametrize("seed", some(4, range(8)))
@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_no_mapping_is_better(seed: int, counting: NestPolicy) -> None:
    fabric = tiny_fabric(seed, most=8_000)
    best = best_of_all(fabric, counting)
    for merit in Merit:
        found = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT)
        if not best:
            assert found.nest is None
            continue
        assert found.nest is not None
        assert found.proved
        assert found.value == pytest.approx(float(best[merit].value), rel=1e-9)
        cost = count_nest(found.nest, fabric, counting)
        assert not cost.broken
        assert float(cost.merit(merit)) == found.value


@pytest.mark.parametrize("seed", some(2, range(12)))
@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_no_average_run_with_priced_cycles_is_better(seed: int, counting: NestPolicy) -> None:
    """Runs of which some go on with partial sums, and weighted sums of energy and cycles."""
    fabric, begun = tiny_fabric(seed, most=300), Fraction(1, 3)
    every = [batch.nest(row) for batch in all_mappings(fabric) for row in range(len(batch))]
    runs = [(counting.count(nest, fabric), counting.count(nest, fabric, bias=True)) for nest in every]
    valid = [pair for pair in runs if not pair[0].broken]
    for merit, price in ((Merit.ENERGY, 0), (Merit.ENERGY, 7), (Merit.CYCLES, 0), (Merit.PORT_CYCLES, 0)):
        found = search_nest(
            fabric, merit=merit, counting=counting, clock=NO_LIMIT, begun=begun, cycle_pj=Fraction(price)
        )
        costs = [[run.merit(merit) + price * run.cycles for run in pair] for pair in valid]
        best = min((begun * first + (1 - begun) * again for first, again in costs), default=None)
        assert (found.nest is None) == (best is None)
        if best is not None:
            assert found.proved
            assert found.value == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("seed", some([53], [53, 121, 125, 130]))
@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_no_mapping_is_better_where_tiles_have_gaps(seed: int, counting: NestPolicy) -> None:
    """Windows with strides over more taps than the stride: what was a gap of a hull is no new word of the next one."""
    draw = random.Random(seed)
    stride, extents = draw.choice((2, 3)), {"p": draw.choice((4, 6)), "r": draw.choice((4, 5, 6, 8))}
    machine = tiny_machine(draw)
    rule, some = FactorRule(dim="r", relation=Relation.EQUAL, value=1), draw.randint(1, len(machine.levels))
    alone = (
        replace(level, store=replace(level.store or Store(), factors=(rule,), order=()))
        for level in machine.levels[:some]
    )
    machine = replace(machine, levels=(*alone, *machine.levels[some:]))
    fabric = fabric_of(parse_workload(f"O[p] = I[{stride}*p+r]*W[r]", extents), machine)
    best = best_of_all(fabric, counting)
    for merit in Merit:
        found = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT)
        assert found.proved
        assert found.value == pytest.approx(float(best[merit].value), rel=1e-9)


@pytest.mark.parametrize("seed", some(3, range(100, 106)))
def test_bounds_and_dominance_leave_no_optimum_out(seed: int) -> None:
    fabric = tiny_fabric(seed, most=400_000)
    counting = COUNTINGS[seed % 2]
    merit = list(Merit)[seed // 2 % 4]
    quick = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT)
    slow = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT, dominance=False, bounds=False)
    assert quick.value == pytest.approx(slow.value, rel=1e-9)
    assert (quick.nest is None) == (slow.nest is None)


@pytest.mark.parametrize("seed", some(3, range(6)))
def test_every_operand_has_a_keeper_where_energy_does_not_matter(seed: int) -> None:
    """Who keeps what is left open at every memory, the outermost one among them."""
    fabric = tiny_fabric(seed, most=400)
    memories = tuple(replace(memory, keeps=(KeepRule.FREE,) * len(memory.keeps)) for memory in fabric.memories)
    fabric = replace(fabric, memories=memories)
    best = best_of_all(fabric, NEST_EXACT)
    for merit in (Merit.CYCLES, Merit.PORT_CYCLES):
        found = search_nest(fabric, merit=merit, counting=NEST_EXACT, clock=NO_LIMIT)
        assert found.value == (float(best[merit].value) if best else float("inf"))


def test_what_is_claimed_holds_at_every_limit() -> None:
    """Without time there is a bound and no proof; below the optimum there is nothing."""
    fabric = fabric_of(library.workload("resnet50/conv4_stride"), library.machine("gemmini"))
    found = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)
    assert found.proved
    assert found.value == found.bound
    late = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=Clock(deadline=0))
    assert not late.proved
    assert 0 < late.bound <= found.value
    below = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT, below=found.value)
    assert below.nest is None
    assert below.reason == "no mapping is below the limit"
    assert below.bound == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(cases(4, 40)))
def test_below_a_limit_that_is_near_the_optimum_is_found_or_nothing_is(seed: int) -> None:
    """One pass alone, without a mapping that was found before."""
    fabric = tiny_fabric(seed, 1500)
    best = best_of_all(fabric, NEST_EXACT)
    for merit, part in product((Merit.ENERGY, Merit.CYCLES) if best else (), (0.7, 1.0, 1.01, 1.3)):
        least = float(best[merit].value)
        limit = least * part
        found = search_nest(fabric, merit=merit, counting=NEST_EXACT, clock=NO_LIMIT, below=limit, straight=True)
        assert (found.nest is None) == (part <= 1)
        assert found.bound == pytest.approx(least * min(1, part), rel=1e-9)


def test_overlaps_of_long_windows_are_counted() -> None:
    """The tables of a window, which are as long as the window."""
    eyeriss = library.machine("eyeriss_like")
    for extent, strides in ((2**14, (1, 1)), (6_561, (3, 2))):
        text = f"O[p] = I[{strides[0]}*p+{strides[1]}*r] * W[r]"
        window = ExactFrame(fabric_of(parse_workload(text, {"p": extent, "r": 3}), eyeriss), NEST_EXACT, Merit.EDP)
        (own,) = window.windows[1]
        for row, box in enumerate(own.boxes(window)):
            if prod(box) < 2_000:
                values = {strides[0] * p + strides[1] * r for p in range(box[0]) for r in range(box[1])}
                for shift in (0, 1, 2, 3, 7, max(values), max(values) + 1):
                    assert own.kept[row, shift] == len(values & {value + shift for value in values})


@pytest.mark.parametrize(
    ("text", "extents", "message"),
    [
        ("O[p] = I[p+r] * W[r]", {"p": 2**40, "r": 3}, "no room"),
        ("C[m,n] = A[m,k] * B[k,n]", {"m": 2**62, "n": 4, "k": 4}, "iterations"),
        ("C[m,n] = A[m,k] * B[k,n]", {"m": 735_134_400, "n": 735_134_400, "k": 735_134_400}, "fewer divisors"),
    ],
)
def test_what_is_too_large_for_tables_is_refused_at_once(text: str, extents: dict[str, int], message: str) -> None:
    fabric = fabric_of(parse_workload(text, extents), library.machine("eyeriss_like"))
    with pytest.raises(InputError, match=message):
        search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)


def test_what_no_row_exceeds_is_what_comparing_all_pairs_finds() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        ways = np.unique(generator.integers(1, 7, (30, 3)), axis=0)
        exceeded = [any(np.all(row <= other) and np.any(row < other) for other in ways) for row in ways]
        assert list(maximal_ways(ways)) == [k for k, lost in enumerate(exceeded) if not lost]


def test_the_curve_falls_to_the_optimum_within_the_evaluations_of_the_search() -> None:
    fabric = fabric_of(library.workload("resnet18/R11"), library.machine("eyeriss_like"))
    found = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)
    values, at = [point.value for point in found.curve], [point.evaluations for point in found.curve]
    assert len(values) > 1
    assert values == sorted(set(values), reverse=True)
    assert at == sorted(set(at))
    assert at[-1] <= found.evaluations
    assert values[-1] == pytest.approx(found.value, rel=1e-9)
    assert all(a.seconds <= b.seconds for a, b in pairwise(found.curve))


def test_the_curve_of_padded_searches_is_one_after_the_other() -> None:
    asked = {"machine": "gemmini", "extents": {"i": 53, "j": 16, "k": 61}}
    found = optmap.solve("C[i,j] += A[i,k]*B[k,j]", tiles="padded", **asked)
    assert isinstance(found, Answer)
    alone = optmap.solve("C[i,j] += A[i,k]*B[k,j]", tiles="divisors", **asked)
    values, at = [point.value for point in found.found.curve], [point.evaluations for point in found.found.curve]
    assert found.cost < alone.cost
    assert values == sorted(set(values), reverse=True)
    assert at == sorted(set(at))
    assert values[-1] == pytest.approx(float(found.cost), rel=1e-9)
    assert found.found.curve[-1].evaluations > alone.found.evaluations  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", some(2, [40, 42, 43, 45]))
def test_what_another_search_hands_in_is_recounted_and_leaves_the_optimum_as_it_is(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optmap.search.exact.search.ELSEWHERE", 0)
    monkeypatch.setattr("optmap.search.exact.search.BEAMS", (1, 1))
    fabric = tiny_fabric(seed)
    alone = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)
    assert alone.nest is not None
    rows = random_nests(fabric, 64, np.random.default_rng(seed))
    invalid = [nest for nest in map(rows.nest, range(64)) if count_nest(nest, fabric).broken]
    local = local_search(fabric, asked(fabric))
    given: list[tuple[Nest | None, int]] = [(alone.nest, 7), (None, 7), *((nest, 7) for nest in invalid[:1])]
    for other in (local, *(lambda _, each=each: each for each in given)):
        found = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT, elsewhere=other)
        assert found.proved
        assert found.value == pytest.approx(alone.value, rel=1e-9)
        assert found.nest is not None
        assert not count_nest(found.nest, fabric).broken
        judged = local(NO_LIMIT)[1] if other is local else 7
        assert found.evaluations == judged + sum(each.evaluations for each in found.passes)


def test_its_answer_does_not_depend_on_the_seed() -> None:
    """Sweeps take an answer of another seed for it, also one that ended before the search met a mapping."""
    asked: dict[str, Any] = {"machine": "gemmini", "extents": {"i": 64, "j": 64, "k": 64}, "time_limit": 1e-6}
    found = [optmap.solve("C[i,j] += A[i,k]*B[k,j]", **asked, seed=seed) for seed in (0, 1)]
    assert "random ones" in str(found[0])
    assert found[0].cost == found[1].cost
    assert found[0].mapping == found[1].mapping


@pytest.mark.parametrize("seed", [40, 42, 43, 45])
def test_passes_for_an_incumbent_that_are_cut_short_leave_the_optimum_as_it_is(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = tiny_fabric(seed)
    alone = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)
    monkeypatch.setattr("optmap.search.exact.search.SHARE", 0.0)
    asked: list[Clock] = []

    def elsewhere(clock: Clock) -> tuple[Nest | None, int]:
        asked.append(clock)
        return None, 0

    limit = Clock(time.monotonic() + 300)
    found = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=limit, elsewhere=elsewhere)
    assert found.proved
    assert found.value == pytest.approx(alone.value, rel=1e-9)
    assert len(asked) == 1


@pytest.mark.parametrize(("slow", "late"), [(True, True), (True, False), (False, True)])
def test_random_mappings_beyond_floats_are_judged_while_there_is_a_moment(
    slow: bool, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the search met none: all, or, where each is counted on its own, some; of those judged the best."""
    fabric = next(tiny_fabric(seed, 1500) for seed in range(20) if best_of_all(tiny_fabric(seed, 1500), NEST_EXACT))
    question = replace(asked(fabric), objective=MERITS["edp"])
    ended = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=Clock(0.0))
    judged: list[BatchCost] = []

    def seen(*args: Any) -> BatchCost:
        judged.append(replace(evaluate_batch(*args), recounted=int(slow)))
        return judged[-1]

    monkeypatch.setattr(solving, "evaluate_batch", seen)
    monkeypatch.setattr(Clock, "ending", lambda _: Clock(0.0) if late else NO_LIMIT)
    found = solving._by_chance(question, ended)
    number = sum(len(cost.valid) for cost in judged)
    assert number == (solving.AT_ONCE if slow and late else solving.SAMPLES)
    values = np.concatenate([np.where(cost.valid, cost.merit(Merit.EDP), np.inf) for cost in judged])
    assert (found is None) is not bool(np.isfinite(values).any())
    if found is not None:
        assert f"the best of {number:,} random ones" in found.notes[0]
        assert found.evaluations == ended.evaluations + number
        drawn = random_nests(fabric, solving.SAMPLES, np.random.default_rng(solving.CHANCE))
        assert found.mapping == drawn.nest(int(values.argmin()))
