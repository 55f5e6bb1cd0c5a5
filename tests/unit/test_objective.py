"""An objective is one value: evaluated, bounded, listed and refused without another file knowing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import optmap
from optmap.answers.proofs.beside import with_bound
from optmap.base.errors import InputError
from optmap.count.results import BoundaryTraffic
from optmap.machines.machine import Level, Machine
from optmap.questions.form import alike
from optmap.questions.objective import (
    OBJECTIVES,
    TIME,
    Combination,
    Objective,
    Quantity,
    Term,
    register_objective,
)
from optmap.workloads.sizes import parse_capacity

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 12, "j": 10, "k": 7}
PICOJOULES = (Fraction(1, 10), Fraction(6), Fraction(200))

ENERGY = Quantity(name="energy", unit=lambda _: "pJ", per_word=lambda machine, _: PICOJOULES[-len(machine.levels) :])
MACHINE = Machine(
    name="m",
    levels=(
        Level(name="L1", capacity=parse_capacity("24w"), bandwidth=4),
        Level(name="L2", capacity=parse_capacity("60w"), bandwidth=1.5),
    ),
    memory="M",
)


@pytest.fixture(scope="module")
def toys() -> Iterator[None]:
    """Energy, and energy times delay, as anyone would add them."""
    energy = Term(quantity=ENERGY, combination=Combination.SUM)
    delay = Term(quantity=TIME, combination=Combination.LARGEST)
    register_objective(Objective(name="energy", description="energy of all traffic", terms=(energy,)))
    register_objective(Objective(name="edp", description="energy times delay", terms=(energy, delay)))
    yield
    for name in ("energy", "edp"):
        del OBJECTIVES[name]


def rows(words: list[tuple[int, int]]) -> list[BoundaryTraffic]:
    return [
        BoundaryTraffic(between=between, tensor="A", loads_words=loads, stores_words=stores)
        for between, (loads, stores) in zip(MACHINE.boundaries, words, strict=True)
    ]


amounts = st.tuples(*[st.tuples(st.integers(0, 10**20), st.integers(0, 10**20))] * 2).map(list)


@given(words=amounts)
def test_the_known_objectives_are_what_their_names_say(words: list[tuple[int, int]]) -> None:
    times = [Fraction(sum(both)) / Fraction(rate) for both, rate in zip(words, (4, 1.5), strict=True)]
    found = {name: OBJECTIVES[name].of(rows(words), MACHINE, 32) for name in ("bottleneck", "sum", "traffic", "loads")}
    loads = [Fraction(load) / Fraction(rate) for (load, _), rate in zip(words, (4, 1.5), strict=True)]
    assert found == {"bottleneck": max(times), "sum": sum(times), "traffic": sum(times), "loads": sum(loads)}


@given(words=amounts, fewer=amounts, names=st.sets(st.integers(0, 1)))
@pytest.mark.usefixtures("toys")
def test_words_that_must_move_bound_every_objective(
    words: list[tuple[int, int]], fewer: list[tuple[int, int]], names: set[int]
) -> None:
    """Fewer words at some boundaries, and nothing known of the others, never cost more."""
    least = [tuple(min(a, b) for a, b in zip(both, less, strict=True)) for both, less in zip(words, fewer, strict=True)]
    for objective in OBJECTIVES.values():
        counted = objective.words(rows(words), MACHINE)
        must = {level: n for level, n in objective.words(rows(least), MACHINE).items() if level in names}
        assert objective.value(must, MACHINE, 32) <= objective.value(counted, MACHINE, 32)


@pytest.mark.usefixtures("toys")
def test_a_new_objective_is_evaluated_bounded_and_listed() -> None:
    """Of a mapping that minimises another objective."""
    solved = optmap.solve(STATEMENT, extents=EXTENTS, machine=MACHINE)
    words = OBJECTIVES["energy"].words(solved.boundaries, MACHINE)
    energy = sum(Fraction(n) * PICOJOULES[1 + level] for level, n in words.items())
    time = max(Fraction(n) / Fraction(rate) for n, rate in zip(words.values(), (4, 1.5), strict=True))
    for name, value, unit in (("energy", energy, "pJ"), ("edp", energy * time, "pJ*cycles")):
        objective = OBJECTIVES[name]
        assert objective.of(solved.boundaries, MACHINE, 32) == value
        assert objective.unit(MACHINE) == unit
        bounded = with_bound(replace(solved, question=replace(solved.question, objective=objective), floor=None))
        assert bounded.bound is not None
        assert bounded.bound.unit == unit
        assert 0 < bounded.bound.value <= value
        assert bounded.gap == pytest.approx(float(value) / bounded.bound.value - 1)
        assert objective.description in str(optmap.list("objectives"))


@pytest.mark.usefixtures("toys")
def test_nobody_minimises_it_and_that_is_said() -> None:
    for method in ("mopt", "iooub", "gemmini"):
        with pytest.raises(InputError, match="does not minimise energy"):
            optmap.solve(STATEMENT, extents=EXTENTS, memory="60w", method=method, objective="energy")


@pytest.mark.usefixtures("toys")
def test_on_one_level_only_the_same_quantity_is_the_same_number() -> None:
    one = MACHINE.from_level("L2")
    assert set(alike("sum", one)) == {"bottleneck", "sum", "traffic"}
    assert alike("energy", one) == ("energy",)
    assert alike("edp", one) == ("edp",)
    assert alike("loads", MACHINE) == ()


@pytest.mark.parametrize("name", ["sum", "", "a b", "é,"])
def test_a_name_that_is_taken_or_none_is_refused(name: str) -> None:
    known = dict(OBJECTIVES)
    with pytest.raises(InputError, match="objective"):
        register_objective(Objective(name=name, description="", terms=()))
    assert known == OBJECTIVES


def test_words_that_pass_a_level_by_cross_every_boundary_in_between() -> None:
    passing = BoundaryTraffic(between=("L1", "M"), tensor="A", loads_words=30, stores_words=5)
    inside = BoundaryTraffic(between=("L1", "L2"), tensor="B", loads_words=2, stores_words=1)
    assert OBJECTIVES["sum"].words((passing, inside), MACHINE) == {0: 38, 1: 35}
    assert OBJECTIVES["loads"].words((passing, inside), MACHINE) == {0: 32, 1: 30}
