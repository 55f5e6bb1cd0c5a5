"""One deadline for an answer: whoever looks for something stops at it, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby, pairwise
from math import inf
from pathlib import Path

import numpy as np
import pytest

from optmap import solve
from optmap.answers.proofs import beside
from optmap.base import clock
from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock, limited
from optmap.base.errors import LimitError
from optmap.bounds.best import best
from optmap.files.library import machine
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import CapacityRule
from optmap.search import (
    ChainCosts,
    PairCosts,
    Setting,
    beam,
    divisor_optimum,
    imposed_optimum,
    integer_search,
    level_optimum,
)
from optmap.search.iooub import flows, tiling
from optmap.search.iooub.boxes import Boxes
from optmap.search.iooub.corners import BEYOND, _Fitting
from optmap.search.iooub.grid import TileGrid
from optmap.search.papers import tiling_lp
from optmap.search.quickflow.classes import reuse_classes
from optmap.search.relax.tree import relax
from optmap.search.whole import one_level, pair_costs
from optmap.solvers import Stop
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

HOSTS = Path(__file__).parents[1] / "data" / "hosts"
OVER = Clock(-inf)


def chain(dims: str) -> Workload:
    """A product of matrices over dims of 24, 32, 40, … ."""
    factors = "*".join(f"M{a}[{a},{b}]" for a, b in pairwise(dims))
    return parse_workload(f"O[{dims[0]},{dims[-1]}] += {factors}", {d: 24 + 8 * n for n, d in enumerate(dims)})


def setting(workload: Workload, name: str = "balanced", most: int | None = None) -> Setting:
    return Setting(workload=workload, machine=machine(name), rule=CapacityRule.TILE, most=most)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chains of tiles were priced, call by call."""
    counts: list[int] = []
    usual: Callable[..., tuple[object, object]] = ChainCosts.evaluate

    def counted(self: ChainCosts, chains: Ints, *args: object, **named: object) -> tuple[object, object]:
        counts.append(len(chains))
        return usual(self, chains, *args, **named)

    monkeypatch.setattr(ChainCosts, "evaluate", counted)
    return counts


def test_clocks_are_equal_and_stop() -> None:
    assert OVER == NO_LIMIT
    assert hash(OVER) == hash(NO_LIMIT)
    assert OVER.late
    assert not NO_LIMIT.late
    NO_LIMIT.check()
    with pytest.raises(LimitError, match="raise the time limit"):
        OVER.check()


def test_nothing_is_priced_once_the_time_is_over(rows: list[int]) -> None:
    posed = setting(chain("abcd"))
    costs = ChainCosts(posed)
    whole = {posed.space.whole(): 0.0}
    with pytest.raises(LimitError):
        level_optimum(posed, costs, 0, whole, inf, clock=OVER)
    assert divisor_optimum(posed, costs, inf, clock=OVER) == (None, 0.0)
    centre = np.repeat(costs.extents[None], costs.depth, axis=0)
    assert beam(posed, costs, centre, inf, 0.0, clock=OVER).shape == (0, costs.depth, 4)
    with_kernel = setting(chain("abcd"), "i7-9700k")
    assert with_kernel.fixed
    with pytest.raises(LimitError):
        imposed_optimum(with_kernel, ChainCosts(with_kernel), 0, clock=OVER)
    assert not rows
    assert level_optimum(posed, costs, 0, whole, inf, clock=NO_LIMIT)[1] is not None
    assert rows


@pytest.mark.parametrize("name", ["balanced", "i7-9700k"])
def test_a_search_that_is_late_keeps_its_incumbent_and_says_so(name: str) -> None:
    posed = setting(chain("abcd"), name)
    relaxation = relax(posed)
    late = integer_search(posed, relaxation, clock=OVER)
    assert late.stop is Stop.TIME_LIMIT
    assert late.bound == ChainCosts(posed).reachable(relaxation.bound) <= late.point.value
    assert not late.exhaustive


def test_a_microkernel_in_many_dims_is_priced_in_few_outer_tiles(rows: list[int]) -> None:
    """Millions of outer tiles took minutes and gigabytes, whatever the time limit."""
    posed = setting(chain("abcdefgh"), "i7-9700k", most=64)
    bound, _ = imposed_optimum(posed, ChainCosts(posed), 0, clock=NO_LIMIT)
    assert 0 < sum(rows) <= one_level.LARGEST_GRID
    assert 0 < bound < inf


def test_fewer_outer_tiles_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    posed = setting(chain("abcd"), "i7-9700k")
    costs = ChainCosts(posed)
    full, _ = imposed_optimum(posed, costs, 0, clock=NO_LIMIT)
    found = [full]
    for most in (200, 20, 1):
        monkeypatch.setattr(one_level, "LARGEST_GRID", most)
        found.append(imposed_optimum(posed, costs, 0, clock=NO_LIMIT)[0])
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0


def test_a_bound_is_found_in_time_or_not_at_all() -> None:
    """A lattice that does not close is given up between two of its parts."""
    tangled = parse_workload("O[x] += I[x+r]*J[x+q]*K[r,q]", {"x": 43, "r": 7, "q": 9})
    for workload in (chain("abcd"), tangled, replace(tangled, name="other")):
        with pytest.raises(LimitError):
            best(workload, 40, OVER)
        assert best(workload, 40).certificate is not None


def test_tilings_of_one_memory_ask_the_clock_between_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts into pieces and boxes once went on for seconds without a look at it."""
    seen: list[str] = []

    def noted(owner: object, name: str) -> None:
        usual = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *asked, **named: seen.append(name) or usual(*asked, **named))

    flows._flows.cache_clear()
    steps = [(TileGrid, "_largest"), (flows, "_covered"), (tiling, "streaming"), (_Fitting, "best"), (Boxes, "halves")]
    for owner, name in steps:
        noted(owner, name)
    monkeypatch.setattr(tiling, "WORK", 30_000)  # so that candidates are thinned, and looked at again
    monkeypatch.setattr(Clock, "late", property(lambda _: bool(seen.append("late"))))
    workload = parse_workload("O[k,h] += I[c,2*h+r]*K[k,c,r]", {"k": 36, "c": 40, "r": 3, "h": 20})
    solve(workload, memory="200w", method="iooub")
    solve("O[k,n] += I[c,n]*F[k,c]", extents={"k": 16, "c": 16, "n": 60}, memory="256w", method="iooub")
    between = [list(many) for late, many in groupby(seen, lambda step: step == "late") if not late]
    assert {step for many in between for step in many} == {name for _, name in steps}
    assert max(len(many) for many in between) <= len(BEYOND)


def test_tables_of_pairs_of_tiles_ask_the_clock_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without filter sizes is one block however large it is; it once took a minute without a look."""
    posed = setting(chain("abc"))
    costs = ChainCosts(posed)
    pairs, rng = PairCosts(posed, costs, clock=NO_LIMIT), np.random.default_rng(1)
    own, outer = (np.stack([rng.integers(1, n + 1, size=300) for n in costs.extents], axis=1) for _ in range(2))
    parts = -(-len(outer) // (pair_costs.IN_CACHE // len(own)))
    assert parts > 1
    asked: list[None] = []
    monkeypatch.setattr(Clock, "late", property(lambda _: bool(asked.append(None))))
    pairs.served(own, np.zeros(len(own)), outer, 0, inf)
    assert len(asked) >= parts
    monkeypatch.setattr(Clock, "late", property(lambda _: bool(asked.append(None)) or len(asked) > 1))
    asked.clear()
    with pytest.raises(LimitError):
        pairs.served(own, np.zeros(len(own)), outer, 0, inf)
    assert len(asked) == 2


@pytest.mark.parametrize("name", ["resnet18/R12", "sunstone/mttkrp_nell2"])
def test_a_search_by_predicted_time_hears_who_asks_to_stop(name: str) -> None:
    """With a vector kernel it once looked at its own time limit alone, and without one it never said so."""
    told: list[str] = []

    def tell(text: str, fraction: float) -> None:
        assert 0 <= fraction <= 1
        told.append(text)
        clock.stop()

    host = str(HOSTS / "detected.yaml")
    with clock.stop_on_signals():
        result = solve(name, machine=host, objective="time", semantics="assign", time_limit=3600, progress=tell)
    assert result.stop is Stop.INTERRUPTED
    assert result.mapping.levels
    assert len(told) < 5


def test_classes_of_loop_orders_ask_the_clock_of_the_answer() -> None:
    """Of eight dims in seven tensors there are hundreds of thousands."""
    operands = tuple(fabric_of(chain("abcd").with_semantics("assign"), machine("simba")).operands)
    reuse_classes.cache_clear()
    with limited(OVER), pytest.raises(LimitError):
        reuse_classes(operands, tuple("abcd"))
    assert reuse_classes(operands, tuple("abcd"))


def test_vertices_of_the_tiling_lp_are_left_out_once_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    usual = tiling_lp.round_tile
    monkeypatch.setattr(tiling_lp, "round_tile", lambda *asked, **named: seen.append(asked) or usual(*asked, **named))
    result = solve(chain("abcd"), memory="200w", method="tiling-lp", time_limit=1e-9)
    assert len(seen) == 1
    assert result.stop is Stop.TIME_LIMIT
    assert result.bound is not None
    assert result.seconds > 1e-9


def test_the_seconds_of_an_answer_are_those_of_its_bounds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [0.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: moments[0])
    usual = beside.certified_bound

    def slow(*asked: object) -> object:
        moments[0] += 100.0
        return usual(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(beside, "certified_bound", slow)
    result = solve(chain("abc"), memory="50w", time_limit=5)
    assert result.seconds >= 100.0


def test_who_asks_to_stop_makes_every_clock_late() -> None:
    with clock.stop_on_signals():
        assert not NO_LIMIT.late
        clock.stop()
        assert NO_LIMIT.late
        assert NO_LIMIT.left == 0.0
        assert Stop.late() is Stop.INTERRUPTED
    assert not NO_LIMIT.late
    assert Stop.late() is Stop.TIME_LIMIT


def test_a_clock_inside_an_answer_is_no_later_than_its_own() -> None:
    with limited(Clock(5.0)):
        assert Clock.after(1e9).deadline == 5.0
        assert clock.current().deadline == 5.0
    assert clock.current() is NO_LIMIT


def test_the_exact_search_is_not_ended_by_a_local_one_that_is_late() -> None:
    """Its local search once took its mapping along."""
    result = solve("resnet18/R11", machine="simba", method="exact", time_limit=1e-6)
    assert result.stop is Stop.TIME_LIMIT
    assert result.mapping.levels
    with pytest.raises(LimitError, match="0 mappings were looked at"):
        solve("resnet18/R11", machine="simba", method="quickflow", time_limit=1e-6)
