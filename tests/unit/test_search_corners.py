"""Corners of the search: nothing to tile, cores that cannot be split, tiles that must divide."""

from __future__ import annotations

import time
from itertools import count, pairwise

import numpy as np
import pytest

from optmap import api
from optmap.answers.side_by_side.comparison import ComparedWords
from optmap.base.clock import Clock
from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.count.levels.cost import evaluate_cost
from optmap.files import library
from optmap.machines.machine import Level, Machine
from optmap.search import (
    METHODS,
    Answer,
    Hunt,
    Question,
    all_chains,
    chain_count,
    fix_levels,
    price_and_split,
    setting_of,
)
from optmap.solvers import Stop
from optmap.verbs import comparing
from optmap.workloads.amounts import Capacity

MATMUL = "C[i,j] += A[i,k]*B[k,j]"


def touched_once(result: Answer) -> bool:
    """Whether every boundary is crossed by each word once, and once more by the output."""
    return all(
        row.loads_words == 1 and row.stores_words == (1 if row.tensor == result.workload.output.name else 0)
        for row in result.boundaries
    )


@pytest.mark.parametrize(
    ("method", "tiles"),
    [
        (method, tiles)
        for method, each in METHODS.items()
        for tiles in ("any", "divisors")
        if any(not route.meshes and not route.chains for route in each.routes)
        and method not in ("mopt-artifact", "timed")  # the second is for machines with a core
        and (method, tiles) not in (("mopt-algorithm1", "divisors"), ("tiling-lp", "divisors"))
    ],
)
def test_a_single_point_is_moved_once(method: str, tiles: str) -> None:
    """All extents 1: no variable is left in any program."""
    result = api.solve(MATMUL, extents={"i": 1, "j": 1, "k": 1}, memory="64w", method=method, tiles=tiles)
    assert touched_once(result)
    assert result.cost == result.exact == (3 if result.objective == "loads" else 4)


@pytest.mark.parametrize("machine", ["i7-9700k", "balanced"])
@pytest.mark.parametrize("method", ["mopt", "mopt-algorithm1"])
def test_a_single_point_on_several_levels(machine: str, method: str) -> None:
    """The slowest boundary decides: four words there."""
    result = api.solve(MATMUL, extents={"i": 1, "j": 1, "k": 1}, machine=machine, method=method)
    assert touched_once(result)
    assert result.cost == pytest.approx(4 / min(level.bandwidth for level in result.levels))


def test_comparing_a_single_point() -> None:
    """The bound and every mapping meet."""
    row = comparing.compare(MATMUL, extents={"i": 1, "j": 1, "k": 1}, memory="64w").rows[0]
    for found in row.found.values():
        least = 3 if found.counted is ComparedWords.LOADS else 4
        assert found.words == row.bound_on(found.counted) == least


@pytest.mark.parametrize("tiles", ["any", "divisors"])
def test_a_single_output_cannot_be_split(tiles: str) -> None:
    """Two cores and one output element: the answer is a reason."""
    with pytest.raises(InfeasibleError, match="2 cores cannot be written as a product"):
        api.solve("O[x] += I[x+2*r]*K[r]", extents={"x": 1, "r": 1}, machine="i7-9700k", cores=2, tiles=tiles)


@pytest.mark.parametrize("cores", [2, 4, 7, 8])
def test_divisor_tiles_are_split_evenly(cores: int) -> None:
    """Around a microkernel every tile still divides the next, and every core's share of the shared one."""
    result = api.solve("resnet18/R9", machine="i7-9700k", cores=cores, tiles="divisors")
    levels = result.mapping.levels
    shared = next(number for number, level in enumerate(levels) if level.spatial)
    ways = 1
    for split in levels[shared].spatial.values():
        ways *= split
    assert ways == cores
    for number, (inner, outer) in enumerate(pairwise(levels)):
        for dim, size in inner.tile.items():
            inside = outer.tile[dim]
            if number + 1 == shared:
                assert inside % outer.spatial.get(dim, 1) == 0
                inside //= outer.spatial.get(dim, 1)
            assert number == 0 or inside % size == 0  # the microkernel's tile is given


@pytest.mark.parametrize("machine", ["i9-10980xe", "balanced"])
@pytest.mark.parametrize("looks", [1, 30])
def test_more_loop_orders_than_time(machine: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine dims in a chain have 4,464 classes: a sample gives a mapping that fits, and proves little.

    The time is over after so many looks at the clock, however fast or busy the computer is.
    """
    ticks = count(step=0.02)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    dims = "abcdefghi"
    factors = "*".join(f"M{a}[{a},{b}]" for a, b in pairwise(dims))
    sizes = {d: 8 + n for n, d in enumerate(dims)}
    result = api.solve(f"O[a,i] += {factors}", extents=sizes, machine=machine, time_limit=0.02 * looks)
    assert result.relaxation.proved
    assert result.relaxation.value * (1 + result.relaxation.tolerance) <= result.cost * (1 + 1e-9)
    assert result.relaxation.value <= result.integer_bound
    assert result.stop is (Stop.OPTIMAL if result.proved else Stop.TIME_LIMIT)
    assert 0 < result.integer_bound <= result.cost
    report = evaluate_cost(result.workload, result.machine, result.mapping, result.capacity)
    assert report.fits
    assert report.value == pytest.approx(result.cost)
    words = sum(a * b for a, b in pairwise(sizes.values())) + 2 * sizes["a"] * sizes["i"]
    assert result.integer_bound <= words / min(level.bandwidth for level in result.levels) * (1 + 1e-9)


@pytest.mark.parametrize("cores", [3, 5])
def test_cores_that_divide_nothing_are_refused(cores: int) -> None:
    """14, 14, 256 and 1 have no factor 3 or 5."""
    with pytest.raises(InfeasibleError, match="use fewer cores or --tiles any"):
        api.solve("resnet18/R9", machine="i7-9700k", cores=cores, tiles="divisors")


def test_every_chain_nests_and_there_are_as_many_as_counted() -> None:
    """Twelve positions on six levels are 12,376 chains, not the three million choices they are among."""
    made = all_chains([12, 1], 6)
    assert len(made) == chain_count([12, 1], 6) == 12_376
    assert (made[:, 1:] >= made[:, :-1]).all()
    assert len({chain.tobytes() for chain in made}) == len(made)


def test_algorithm1_looks_at_the_clock_before_every_program() -> None:
    """A machine of many levels has many programs per loop order."""
    machine = library.machine("balanced")
    setting = setting_of(Question(workload=library.workload("resnet18/R9"), machine=machine))
    state = Hunt(clock=Clock(float("-inf")))
    assert fix_levels(setting, [setting.orders[0]] * len(machine.levels), state) is None
    assert state.programs == 0
    with pytest.raises(LimitError, match="raise it"):
        state.winner("mopt-algorithm1")


def test_rounded_tiles_that_do_not_fit_are_refused() -> None:
    """Never a disagreement of search and recount."""
    setting = setting_of(Question(workload=library.workload("resnet18/R9"), machine=library.machine("balanced")))
    chain = np.tile([n for _, n in setting.workload.sizes], (len(setting.capacities), 1))
    with pytest.raises(InfeasibleError, match="integers exact"):
        price_and_split(setting, chain, (setting.orders[0],) * len(chain))


def test_every_chain_of_divisors_is_enumerated_once() -> None:
    """Against the chains of all sizes, those that do not divide left out."""
    every = all_chains([12, 8], 2)
    outer = np.concatenate([every[:, 1:], np.broadcast_to(np.array([12, 8]), (len(every), 1, 2))], axis=1)
    wanted = {chain.tobytes() for chain in every[(outer % every == 0).all(axis=(1, 2))]}
    made = all_chains([12, 8], 2, divisors=True)
    assert {chain.tobytes() for chain in made} == wanted
    assert len(made) == len(wanted) == chain_count([12, 8], 2, divisors=True)


@pytest.mark.parametrize("objective", ["bottleneck", "sum"])
def test_first_touches_of_a_diagonal_are_refused_before_the_search(objective: str) -> None:
    """Under `=` the box around it has more first touches than words that move."""
    with pytest.raises(InputError, match=r"a dim stands in two subscripts of O\[a,a\]"):
        api.solve("O[a,a] = B[a,a]", extents={"a": 22}, machine="balanced", objective=objective)


@pytest.mark.parametrize(
    ("expression", "sizes", "words", "shared", "cores"),
    [
        ("O[i,j] += A[i,k,l] * B[k,j] * C[l,j]", {"i": 3, "j": 5, "k": 2, "l": 2}, (4, 16), 1, 4),
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 9, "j": 2, "k": 2}, (5, 5, 6), 1, 2),
    ],
    ids=["start-fits", "start-does-not-fit"],
)
def test_cores_have_an_answer_however_short_the_time_is(expression, sizes, words, shared, cores) -> None:
    """That the time was over before any split was looked at is no proof that nothing fits."""
    levels = tuple(
        Level(
            name=f"L{i}",
            capacity=Capacity(amount=n, unit="words"),
            shared=i == shared,
            fanout=cores if i == shared else 1,
        )
        for i, n in enumerate(words)
    )
    machine = Machine(name="cores", levels=levels)
    result = api.solve(expression, extents=sizes, machine=machine, cores=cores, time_limit=1e-9)
    assert result.integer_bound <= result.cost


@pytest.mark.parametrize(
    ("layer", "machine", "cost"),
    [
        ("yolo9000/Y18", "i7-9700k", 4_393_779.2),
        ("yolo9000/Y23", "i7-9700k", 31_511_655.6),
        ("resnet18/R1", "balanced", 110_772.6875),
    ],
)
def test_layers_whose_optimum_few_descents_meet_are_proved(layer: str, machine: str, cost: float) -> None:
    found = api.solve(layer, machine=machine)
    assert found.cost == pytest.approx(cost, rel=1e-12)
    assert found.integer_bound == pytest.approx(cost, rel=1e-9)
