"""A time is written the same way everywhere: a number of seconds, or a text with its unit."""

from __future__ import annotations

import inspect
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import optmap
from optmap.base import values
from optmap.base.errors import InputError
from optmap.sweeps import spec_from

PROBLEM: dict[str, Any] = {"workload": "C[i,j] += A[i,k]*B[k,j]", "extents": "i=4,j=4,k=4"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("3s", 3.0),
        ("90", 90.0),
        (" 2 min ", 120.0),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        ("1e3", 1000.0),
        ("inf", inf),
        (7, 7.0),
        (0.25, 0.25),
    ],
)
def test_a_time_is_read(said: object, meant: float) -> None:
    assert values.seconds(said, "it") == meant


@given(st.integers(1, 10**6), st.sampled_from(["s", "ms", "min", "h", ""]))
def test_a_whole_number_with_a_unit_is_that_many(number: int, unit: str) -> None:
    assert values.seconds(f"{number}{unit}", "it") == number * values.SECONDS[unit]


@pytest.mark.parametrize(
    "said", ["", "0s", "0", "-1s", "3 days", "nan", "s", "3s4", "1e", "٣s", "60S", "1m", True, 0, -2.0]
)
def test_what_is_no_time_is_refused_with_one_that_is(said: object) -> None:
    with pytest.raises(InputError, match=r"budget is .*; (write a time above 0 such as 60s|give a positive number)"):
        values.seconds(said, "budget")


def test_every_verb_takes_it() -> None:
    found = optmap.race(**PROBLEM_OF_A_RACE, budget="20s", proof="1min")
    assert (found.budget, found.proof) == (20.0, 60.0)
    assert optmap.solve(**PROBLEM, memory="16w", time_limit="20s").cost
    assert optmap.compare(**PROBLEM, memory="16w", methods="mopt", time_limit="20s").rows
    assert optmap.explore(**PROBLEM_OF_A_SEARCH, time_limit="20s", evaluations=3).run().best is not None
    spec = {
        "workloads": ["resnet18/R12"],
        "machines": ["eyeriss"],
        "options": {"time_limit": "2min"},
        "kill_after": "1h",
    }
    read = spec_from(spec)
    assert (read.options.time_limit, read.kill_after) == (120.0, 3600.0)


PROBLEM_OF_A_SEARCH: dict[str, Any] = {**PROBLEM, "machine": "eyeriss_like"}
PROBLEM_OF_A_RACE: dict[str, Any] = {
    "workloads": PROBLEM["workload"],
    "extents": PROBLEM["extents"],
    "machine": "eyeriss_like",
    "methods": "random",
    "evaluations": 50,
}


TIMES = (values.TimeInput, values.TimeInput | None)


@pytest.mark.parametrize(
    "name", ["solve", "compare", "race", "network", "explore", "program", "export", "score", "emit", "run"]
)
def test_no_verb_says_that_it_takes_a_number_alone(name: str) -> None:
    own = inspect.signature(getattr(optmap, name)).parameters
    limits = [own[key] for key in ("time_limit", "budget", "proof", "seconds") if key in own]
    assert limits
    assert all(each.annotation in TIMES or "TimeInput" in str(each.annotation) for each in limits)


def test_a_range_is_no_time() -> None:
    with pytest.raises(InputError, match=r"time limit \(--time-limit\) is '3s:4s'"):
        optmap.solve(**PROBLEM, memory="16w", time_limit="3s:4s")
