"""HiGHS's pool of threads: every order of uses, numbers of threads, threads and forked workers; and what it prints."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from cases import some
from pyomo.core.base.componentuid import ComponentUID

import optmap
from optmap.base.clock import NO_LIMIT, Clock, limited, stop_on_signals
from optmap.base.errors import InputError
from optmap.solvers import PointKind, Stop, linear_program, solve_exact, solve_model
from optmap.solvers.engine import HighsEngine, LinearRows
from optmap.solvers.outer import OuterModel

ROOT = Path(__file__).resolve().parents[2]
THREADS = (1, 2, 8)


def knapsack(threads: int | None = None) -> None:
    """A model of whole numbers, through Pyomo."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1, 2], domain=pyo.Binary)
    model.row = pyo.Constraint(expr=3 * model.x[0] + 4 * model.x[1] + 5 * model.x[2] <= 8)
    model.goal = pyo.Objective(expr=4 * model.x[0] + 5 * model.x[1] + 6 * model.x[2], sense=pyo.maximize)
    found = solve_model(model, options={} if threads is None else {"threads": threads})
    assert (found.objective, found.bound) == (10.0, pytest.approx(10.0)), found.message


def fractions(threads: int | None = None) -> None:
    """A linear program with a proof in fractions, whose basis is HiGHS's."""
    found = solve_exact(linear_program([1, 1], [[2, 1], [1, 3]], row_lower=[3, 4]))
    assert (found.objective, found.message) == (2, "HiGHS basis, proved in fractions")


def tangents(threads: int | None = None) -> None:
    """A model to which rows are added."""
    model = pyo.ConcreteModel()
    model.x, model.v = pyo.Var(bounds=(0, 9)), pyo.Var(bounds=(0, 2))
    model.row = pyo.Constraint(expr=model.v >= 1)
    model.goal = pyo.Objective(expr=model.x)
    assert OuterModel(model, [("x", "v")]).relax(rounds=20, clock=NO_LIMIT) == pytest.approx(np.e, abs=1e-5)


def foreign(threads: int | None = None) -> None:
    """HiGHS by somebody else in the same process, who finds no pool of ours and leaves one behind."""
    engine = highspy.Highs()
    engine.silent()
    engine.addVar(0.0, 1.0)
    if threads is not None:
        engine.setOptionValue("threads", threads)
    assert engine.run() == highspy.HighsStatus.kOk


Use = Callable[[int | None], None]
USES: tuple[Use, ...] = (knapsack, fractions, tangents, foreign)


def in_thread(work: Callable[[], None]) -> None:
    """Work in a new thread, which has a pool of its own: as good as a new process."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


@pytest.mark.parametrize(
    "order",
    some(8, [(order,) for order in itertools.permutations(USES)]),
    ids=lambda order: "-".join(u.__name__ for u in order),
)
def test_every_order_of_uses_works_with_any_number_of_threads(order: tuple[Use, ...]) -> None:
    for threads in itertools.product((None, *THREADS), repeat=2):
        in_thread(lambda numbers=threads: [use(n) for n, use in zip(itertools.cycle(numbers), order)])


def test_threads_at_once_do_not_disturb_each_other() -> None:
    def run(place: int) -> None:
        for k in range(10):
            USES[(place + k) % len(USES)](THREADS[(place * k) % 3])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(run, range(6)))


def test_names_are_not_looked_up_by_what_threads_would_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo reads names with one lexer for all threads: two that do so at once get each other's variables."""

    def shared(*_: object) -> None:
        raise AssertionError("the lexer of ComponentUID")

    monkeypatch.setattr(ComponentUID, "_parse_cuid_v2", shared)
    knapsack()
    matmul = optmap.workload("C[i,j] = A[i,k]*B[k,j]", extents="i=4,j=4,k=4")
    optmap.solve(matmul, machine="eyeriss_like", method="allocation", time_limit=600)
    optmap.program(matmul, memory="20w")


FORKING = """
import os, sys
sys.path[:0] = [{tests!r}, {root!r}]
from unit.test_highs_engine import USES
for here in ({threads}):
    for use in USES:
        use(here)
        for there in (None, 1, 2, 8):
            child = os.fork()
            if child == 0:
                for other in USES:
                    other(there)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, (here, use, there)
print("all of them")
"""


@pytest.mark.parametrize("threads", some([2], THREADS))
def test_forked_workers_solve_whatever_pool_they_were_born_with(threads: int) -> None:
    text = FORKING.format(tests=str(ROOT / "tests"), root=str(ROOT), threads=f"{threads},")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "all of them\n", done.stderr


def test_a_number_of_threads_that_somebody_else_asked_for_is_the_case_that_fails_without_care() -> None:
    """HiGHS itself refuses to run; if it stops doing so, `HighsEngine.run` can be simpler."""

    def refused() -> None:
        for threads in (1, 2):
            engine = highspy.Highs()
            engine.silent()
            engine.setOptionValue("threads", threads)
            engine.addVar(0.0, 1.0)
            status = engine.run()
        assert status == highspy.HighsStatus.kError

    in_thread(refused)


def test_an_option_that_highs_refuses_is_an_error() -> None:
    with pytest.raises(InputError, match="time_limit = soon is refused"):
        HighsEngine(one_column(), {"time_limit": "soon"})


def one_column() -> LinearRows:
    nothing = np.zeros(0)
    return LinearRows(
        cost=np.ones(1),
        lower=np.ones(1),
        upper=np.ones(1),
        row_lower=nothing,
        row_upper=nothing,
        start=np.zeros(1, dtype=np.int32),
        index=np.zeros(0, dtype=np.int32),
        value=nothing,
        whole=np.zeros(1, dtype=bool),
    )


def long_knapsack() -> pyo.ConcreteModel:
    """Hours of branching: many rows, all alike."""
    model, numbers = pyo.ConcreteModel(), np.random.default_rng(1)
    weights = numbers.integers(1, 60, (40, 90))
    model.x = pyo.Var(range(90), domain=pyo.Binary)
    model.rows = pyo.Constraint(
        range(40),
        rule=lambda m, i: sum(int(w) * m.x[j] for j, w in enumerate(weights[i])) <= int(weights[i].sum()) // 3,
    )
    model.goal = pyo.Objective(
        expr=sum(int(v) * model.x[j] for j, v in enumerate(numbers.integers(5, 60, 90))), sense=pyo.maximize
    )
    return model


def test_somebody_who_asks_to_stop_gets_the_point_and_the_bound_so_far() -> None:
    with stop_on_signals(), ThreadPoolExecutor(1) as other:
        other.submit(lambda: (time.sleep(1.0), os.kill(os.getpid(), signal.SIGTERM)))
        found = solve_model(long_knapsack(), time_limit=600.0)
    assert (found.stop, found.point) == (Stop.INTERRUPTED, PointKind.FEASIBLE)
    assert found.objective is not None
    assert found.bound is not None
    assert 0 < found.objective < found.bound


def test_a_run_ends_with_the_answer_that_it_is_part_of() -> None:
    with limited(Clock.after(1.0)):
        found = solve_model(long_knapsack(), time_limit=600.0)
    assert (found.stop, found.point) == (Stop.TIME_LIMIT, PointKind.FEASIBLE)


def test_nothing_reaches_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    for use in (knapsack, fractions, tangents):
        use()
    assert capfd.readouterr() == ("", "")


def test_a_log_that_is_asked_for_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    engine = HighsEngine(one_column(), {"output_flag": True})
    engine.run()
    out, err = capfd.readouterr()
    assert out == ""
    assert "HiGHS" in err
    os.write(1, b"back\n")
    assert capfd.readouterr().out == "back\n"
