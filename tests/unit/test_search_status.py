"""What an answer minimises, and what is proved about it: objectives asked for, status, space."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from brute_force import best_nest

import optmap
from optmap.answers.documents.recount import evaluate_solution
from optmap.answers.documents.solution import read_solution
from optmap.base.errors import InputError
from optmap.count.reference.walk_held import walk_held
from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.mappings.held import Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.objective import OBJECTIVES
from optmap.report import solve_table
from optmap.search import METHODS, Answer, WordsFloor, conclusion
from optmap.search.whole import integers
from optmap.solvers import Stop
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_capacity

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 12, "j": 10, "k": 7}


def counted(result: Answer) -> float:
    """The objective of the exact traffic, written down once more."""
    cycles = []
    for between, level in zip(result.machine.boundaries, result.levels, strict=True):
        rows = [row for row in result.boundaries if row.between == between]
        loads, stores = sum(row.loads_words for row in rows), sum(row.stores_words for row in rows)
        cycles.append((loads + (0 if result.objective == "loads" else stores)) / level.bandwidth)
    return max(cycles) if result.objective == "bottleneck" else sum(cycles)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("objective", list(OBJECTIVES))
@pytest.mark.parametrize("method", ["mopt", "iooub", "gemmini", "mopt-algorithm1"])
def test_an_objective_is_minimised_or_refused(method: str, objective: str, levels: int) -> None:
    """Never replaced: cost and exact are of what was asked, the method is who answered."""
    sizes = [("24w", 3), ("60w", 2)][-levels:]
    machine = Machine(
        name="m",
        levels=tuple(
            Level(name=f"L{i}", capacity=parse_capacity(size), bandwidth=rate) for i, (size, rate) in enumerate(sizes)
        ),
        memory="M",
    )
    if objective not in METHODS[method].minimises(machine):
        with pytest.raises(InputError, match="does not minimise"):
            optmap.solve(STATEMENT, extents=EXTENTS, machine=machine, method=method, objective=objective)
        return
    result = optmap.solve(STATEMENT, extents=EXTENTS, machine=machine, method=method, objective=objective)
    assert (result.method, result.objective) == (method, objective)
    assert result.exact == pytest.approx(counted(result))
    assert result.cost >= result.integer_bound * (1 - 1e-9)
    if levels == 1 and method != "gemmini":
        assert result.cost == pytest.approx(result.exact)


def test_of_one_memory_three_objectives_are_one() -> None:
    """Loads and stores over bandwidth, under three names; loads are another quantity."""
    costs = {
        name: optmap.solve(STATEMENT, extents=EXTENTS, memory="30w", method="iooub", objective=name).cost
        for name in OBJECTIVES
        if not OBJECTIVES[name].timed
    }
    assert costs["bottleneck"] == costs["sum"] == costs["traffic"] > costs["loads"]


def test_the_sum_of_levels_is_no_bottleneck() -> None:
    """Both methods know the sum over levels; iooub has no bottleneck, and says who has."""
    total = optmap.solve("tccg/abc-bda-dc", machine="balanced", objective="sum", time_limit=5)
    assert (total.method, total.objective) == ("mopt", "sum")
    assert total.cost == pytest.approx(sum(level.cycles for level in total.levels))
    assert total.exact == pytest.approx(counted(total))
    with pytest.raises(InputError, match="use --method mopt or mopt-algorithm1"):
        optmap.solve("tccg/abc-bda-dc", machine="balanced", method="iooub", objective="bottleneck")


@pytest.mark.parametrize("method", ["mopt", "iooub", "gemmini", "mopt-algorithm1"])
def test_optimal_is_said_only_of_what_is_proved(method: str, tmp_path) -> None:
    """Of a space that the answer names; the document carries the same and is read back."""
    result = optmap.solve("mobilenet/M9", memory="600w", method=method)
    assert (result.stop is Stop.OPTIMAL) == result.proved
    assert result.within is not None
    assert result.proved == (result.within < 1e-5)
    assert result.space
    assert result.space in solve_table(result)
    assert ("optimal, proved" in solve_table(result)) == result.proved
    result.save(tmp_path / "s.json")
    read = read_solution(tmp_path / "s.json")
    assert read.document["status"] == {
        "stop": result.stop.value,
        "point": result.point.value,
        "proved": result.proved,
        "within": result.within,
        "space": result.space,
    }
    assert evaluate_solution(read).cost.value == pytest.approx(result.cost)


def test_a_search_that_ended_without_proof_says_how_close_it_is() -> None:
    """A cost above its bound is no optimum, whether the search ran to its end or not."""
    assert conclusion(100.0, 100.0, late=True) is Stop.OPTIMAL
    assert conclusion(101.0, 100.0, late=False) is Stop.SEARCH_ENDED
    assert conclusion(101.0, 100.0, late=True) is Stop.TIME_LIMIT
    result = optmap.solve(library.workload("resnet18/R12"), memory="5000w", tiles="any")
    worse = replace(result, floor=None).claiming(result.cost / 1.2, late=False)
    assert not worse.proved
    assert worse.within == pytest.approx(0.2)
    assert "search ended, cost proved within 20.000 % of its integer bound" in solve_table(worse)
    bounded = replace(worse, floor=WordsFloor(value=result.exact / 1.2, certificates=()))
    table = solve_table(bounded)  # as predicted times have it: the stronger claim is named
    assert "search ended, exact proved within 20.000 % of the bound of every schedule" in table


def test_no_optimum_is_claimed_over_streams_that_were_not_looked_at() -> None:
    """A dim that shares a subscript of one tensor stands alone in another, which can be streamed along it."""
    text, extents = "O[b] = A[b,c,a]*B[c,a]*C[3*a+b,a,a]", {"a": 6, "b": 5, "c": 5}
    made = parse_workload(text, extents, bytes={"O": 4, "A": 1, "B": 8, "C": 0.5})
    result = optmap.solve(made, memory="48w", method="iooub")
    mapping = LevelMapping(level="Fast", tile={"a": 1, "b": 3, "c": 1}, permutation=("b", "a", "c"), spatial={})
    held = Held(positions={"O": 2, "A": 0, "B": 0, "C": 1}, streams={"A": ("a", "b")}, inner=("a", "b", "c"))
    walk = walk_held(made, result.machine, Mapping(levels=(mapping,)), held)
    assert walk.peak_words <= 48
    assert result.integer_bound <= sum(row.loads_words for row in walk.moved) == 1290


def test_a_level_that_cannot_matter_is_bounded_by_what_must_move() -> None:
    """Not by whatever its program had proved when it was left alone: the sum adds all levels up."""
    extents = {"a": 12, "b": 64, "c": 2, "d": 5, "e": 13, "f": 13}
    made = parse_workload("O[b,a,f,d,c,e] += A[b,e+d,f]*A[3*c+a,b,f]", extents)
    levels = (
        Level(name="L0", capacity=parse_capacity("20w")),
        Level(name="L1", capacity=parse_capacity("40w"), bandwidth=0.3, inclusive=False),
    )
    result = optmap.solve(made, machine=Machine(name="m", levels=levels), objective="sum", time_limit=2)
    words = 2 * made.output.footprint(made.extents)
    assert result.relaxation.value >= words + words / 0.3


@pytest.mark.parametrize("tiles", ["any", "divisors"])
@pytest.mark.parametrize("machine", ["balanced", "i7-9700k"])
def test_without_time_a_mapping_near_the_relaxed_one_is_the_answer(machine: str, tiles: str) -> None:
    result = optmap.solve("resnet18/R9", machine=machine, tiles=tiles, time_limit=0.001)
    free = [level for level in result.mapping.levels if level.level != "Reg"]
    assert any(size > 1 for level in free for size in level.tile.values())


def test_divisors_are_not_rounded_down() -> None:
    """Tiles rounded down do not divide, and the answer would say that they do."""
    with pytest.raises(InputError, match="cannot keep to divisors"):
        optmap.solve(STATEMENT, extents=EXTENTS, memory="24w", tiles="divisors", integers="floor")


@pytest.mark.parametrize("objective", ["bottleneck", "sum"])
@pytest.mark.parametrize("text", ["O[a] += A[a,a,a]", "O[a] += A[a+b,a]*B[b,b]", "O[a] += A[2*a+b,a+b]"])
def test_a_diagonal_moves_less_than_the_box_around_it(text: str, objective: str) -> None:
    """Of a dim in two subscripts small tiles move little: what every mapping moves is not the whole box."""
    workload = parse_workload(text, {d: 4 for d in "ab" if d in text})
    machine = Machine(
        name="m",
        levels=(
            Level(name="L0", capacity=parse_capacity("7w"), bandwidth=7),
            Level(name="L1", capacity=parse_capacity("22w"), bandwidth=4),
        ),
        memory="M",
    )
    result = optmap.solve(workload, machine=machine, objective=objective)
    best = best_nest(workload, machine, objective, CapacityRule.TILE, divisors=False, cores=1)
    assert result.integer_bound <= best * (1 + 1e-9)
    assert result.relaxation.value <= best * (1 + 1e-9)
    assert result.cost == pytest.approx(best)


@pytest.mark.parametrize("tiles", ["any", "divisors"])
@pytest.mark.parametrize("enumerated", [True, False])
def test_the_best_tile_around_a_diagonal_is_small(
    tiles: str, enumerated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger tiles move more where a dim stands in two subscripts: the largest that fits is no optimum."""
    if not enumerated:
        monkeypatch.setattr(integers, "EXHAUSTIVE", 0)
    workload = parse_workload("O[a,c] += A[4*c,3*a] * A[c+a,a+c+2]", {"a": 4, "c": 4})
    machine = Machine(name="m", levels=(Level(name="L0", capacity=parse_capacity("16w"), bandwidth=1),), memory="M")
    best = best_nest(workload, machine, "traffic", CapacityRule.TILE, divisors=tiles == "divisors", cores=1)
    result = optmap.solve(workload, machine=machine, tiles=tiles)
    assert result.integer_bound <= best * (1 + 1e-9)
    assert result.cost == pytest.approx(best) or result.stop is not Stop.OPTIMAL
    assert result.cost == pytest.approx(best) or not enumerated


CASES = [
    ("mobilenet/M9", {"memory": "600w", "method": "iooub"}),
    ("mobilenet/M9", {"memory": "600w", "method": "gemmini-greedy"}),
    ("resnet18/R9", {"memory": "8192w", "method": "iooub", "time_limit": 0.01}),
    ("resnet18/R9", {"memory": "8192w", "method": "iooub", "objective": "sum", "time_limit": 0.01}),
    ("resnet18/R9", {"memory": "8192w", "method": "tiling-lp"}),
    ("resnet18/R12", {"machine": "balanced", "method": "mopt", "time_limit": 0.01}),
    ("resnet18/R12", {"machine": "balanced", "method": "mopt", "objective": "sum", "time_limit": 0.2}),
    ("mobilenet/M9d", {"memory": "600w", "method": "mopt-algorithm1"}),
    ("mobilenet/M9d", {"memory": "600w", "method": "mopt-artifact"}),
    ("resnet18/R12", {"machine": "eyeriss_like", "method": "random", "evaluations": 300}),
    ("resnet18/R12", {"machine": "eyeriss_like", "method": "exact", "time_limit": 0.01}),
    ("resnet18/R12", {"machine": "eyeriss_like", "method": "quickflow", "evaluations": 300, "counting": "timeloop"}),
]


@pytest.mark.parametrize(("layer", "asked"), CASES)
def test_status_and_gap_are_one_number_or_two_things(layer: str, asked: dict[str, object]) -> None:
    """The status names the nearest bound that is proved; where that is the one of the gap, it has the gap's number."""
    result = optmap.solve(layer, **asked)
    text = str(result)
    (status,) = (line for line in text.splitlines() if line.startswith("status"))
    (gap,) = (line for line in text.splitlines() if line.startswith("gap "))
    said = re.search(r"(\S+) proved within ([0-9.]+) % of (its|the) (\w+)", status)
    shown = float(gap.split()[1])
    assert (said is None) == ("optimal, proved" in status)
    if said is not None:
        assert float(said[2]) <= shown
        assert said[4] in ("floor", "bound", "integer")
        if said[3] == "the":
            assert float(said[2]) == shown
    else:
        assert result.cost <= result.integer_bound * 1.00001


@pytest.mark.parametrize(("layer", "asked"), [case for case in CASES if "eyeriss" not in str(case)])
def test_what_is_called_relaxation_is_one(layer: str, asked: dict[str, object]) -> None:
    """A lower bound below the integer bound, that below the cost; a local optimum has another name."""
    result = optmap.solve(layer, **asked)
    assert isinstance(result, Answer)
    assert result.relaxation.proved
    assert result.relaxation.value <= result.integer_bound <= result.cost
    assert result.integer_gap == pytest.approx(result.cost / result.relaxation.value - 1)
    local = [note for note in result.notes if note.startswith("program optimum (local)")]
    assert bool(local) == (str(asked["method"]) in ("mopt-algorithm1", "mopt-artifact"))
    local_only = replace(result.relaxation, proved=False)
    unproved = replace(result, found=replace(result.found, relaxation=local_only))
    lines = str(unproved).splitlines()
    assert not any(line.startswith("relaxation") for line in lines)
    assert any(line.startswith("program optimum") and "(local, no bound)" in line for line in lines)


def test_a_mapping_that_meets_the_bound_of_every_schedule_is_optimal() -> None:
    """Whatever its own search could prove: all tensors at once."""
    for method in ("tiling-lp", "iooub", "gemmini-greedy"):
        result = optmap.solve(STATEMENT, extents=EXTENTS, memory="400w", method=method)
        assert result.gap == 0
        assert result.proved
        assert result.stop is Stop.OPTIMAL
