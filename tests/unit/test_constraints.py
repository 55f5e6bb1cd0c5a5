"""A user's own constraints: their notation, what they mean, and that every road keeps to them."""

from __future__ import annotations

import re
from math import inf, isclose

import pytest
from brute_force import best_nest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import optmap
from optmap.base.errors import InfeasibleError, ParseError
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine
from optmap.mappings.constraint_texts import constraints_of, parse_constraint
from optmap.mappings.levels import LevelMapping
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

MATMUL = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 3, "j": 2, "k": 4})
WINDOW = parse_workload("O[x] += I[2*x+r]*K[r]", {"x": 4, "r": 2})
POOLED = parse_workload("O[n,x] = I[n,x+r]*K[r]", {"n": 1, "x": 4, "r": 2})


def machine(*words: int, kind: LevelKind = LevelKind.CACHE, shared: bool = False) -> Machine:
    """Levels L1, L2, ... with so many words; the last one feeds two if it is shared."""
    last = len(words) - 1
    levels = [
        Level(
            name=f"L{i + 1}",
            capacity=Capacity(amount=amount, unit="words"),
            kind=kind,
            shared=shared and i == last,
            fanout=2 if shared and i == last else 1,
        )
        for i, amount in enumerate(words)
    ]
    return Machine(name="test", levels=tuple(levels))


def meets(level: LevelMapping, text: str) -> bool:
    """The meaning of a constraint, read from its text by hand."""
    name, _, rest = text.partition(".")
    if level.level != name:
        return True
    if rest.startswith("order="):
        wanted = rest.removeprefix("order=").split(",")
        loops = list(level.permutation)
        named = "".join(d if d in wanted else "#" for d in loops)
        gap = "#*"
        return re.fullmatch("".join(gap if d == "..." else d for d in wanted), named) is not None
    for sign in ("<=", ">=", "%", "="):
        dim, found, value = rest.partition(sign)
        if found:
            axis, _, dim = dim.rpartition(".")
            size, n = level.spatial.get(dim, 1) if axis else level.tile[dim], int(value.removesuffix("=0"))
            return {"<=": size <= n, ">=": size >= n, "%": size % n == 0, "=": size == n}[sign]
    raise AssertionError(text)


def texts(workload: Workload, depth: int) -> st.SearchStrategy[str]:
    """One constraint on a workload of dims with names of one letter."""
    level = st.integers(1, depth).map(lambda n: f"L{n}")
    size = st.sampled_from(workload.dims).flatmap(
        lambda d: st.tuples(st.just(d), st.sampled_from(("=", "<=", ">=", "%")), st.integers(1, workload.extents[d]))
    )
    tile = st.tuples(level, st.sampled_from(("", "", "spatial.")), size).map(
        lambda drawn: f"{drawn[0]}.{drawn[1]}{drawn[2][0]}{drawn[2][1]}{drawn[2][2]}" + "=0" * (drawn[2][1] == "%")
    )
    order = st.tuples(
        level, st.permutations(workload.dims), st.integers(1, len(workload.dims)), st.integers(0, 15)
    ).map(lambda drawn: f"{drawn[0]}.order={','.join(_pattern(drawn[1][: drawn[2]], drawn[3], len(workload.dims)))}")
    return st.one_of(tile, tile, order)


def _pattern(dims: list[str], gaps: int, all_dims: int) -> list[str]:
    pattern = []
    for place, dim in enumerate(dims):
        pattern += ["..."] * (gaps >> place & 1) + [dim]
    return pattern + ["..."] * ((len(dims) < all_dims and "..." not in pattern) or bool(gaps & 8))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("L1.k", 4),
        ("k=3", 0),
        ("L1.k==3", 5),
        ("L1.k<3", 4),
        ("L1.k=0", 5),
        ("L1.k%8=1", 7),
        ("L1.k%8", 6),
        ("L1.order=", 9),
        ("L1.order=...", 9),
        ("L1.order=k,k", 11),
        ("L1.order=...,...,k", 13),
        ("L1.order=k c", 11),
        (".k=1", 0),
        ("L1.k=3 4", 7),
        ("L1.k=-3", 5),
        ("L1.3=4", 3),
        ("L1.__import__('os')=4", 3),
    ],
)
def test_errors_point_at_the_character(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_constraint(text)
    assert caught.value.position == position


@given(st.text(alphabet="L1.kc=<>%08, order", max_size=20))
def test_every_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_constraint(text)
    except ParseError as error:
        position = error.position
    else:
        position = 0
        assert parse_constraint(found.text) == found
    assert 0 <= position <= len(text)


def test_a_mapping_of_python_says_the_same() -> None:
    given_ = {"L1.k": 16, "L2.c": "<=64", "L1.c": "%8=0", "L1.order": ["...", "k"]}
    assert constraints_of(given_) == constraints_of(["L1.k=16", "L2.c<=64", "L1.c%8=0", "L1.order=...,k"])


@given(st.data())
def test_orders_mean_what_they_say(data: st.DataObject) -> None:
    order = data.draw(st.permutations(("a", "b", "c", "d")))
    workload = parse_workload("O[a,b] += I[a,c]*K[c,d]", dict.fromkeys("abcd", 2))
    text = data.draw(texts(workload, 1).filter(lambda t: "order" in t))
    level = LevelMapping(level="L1", tile=dict.fromkeys("abcd", 1), permutation=tuple(order), spatial={})
    assert parse_constraint(text).admits(level) == meets(level, text)


@pytest.mark.parametrize("workload", [MATMUL, WINDOW, POOLED], ids=["matmul", "window", "assign"])
@pytest.mark.parametrize("divisors", [False, True], ids=["any", "divisors"])
@settings(max_examples=cases(2, 6), deadline=None)
@given(data=st.data())
def test_answers_are_the_best_of_all_that_meet_the_constraints(
    workload: Workload, divisors: bool, data: st.DataObject
) -> None:
    words = data.draw(st.sampled_from([(5,), (9,), (5, 12), (7, 20)]))
    demanded = data.draw(st.lists(texts(workload, len(words)), min_size=1, max_size=3))
    rule = data.draw(st.sampled_from(list(CapacityRule)))
    cores = data.draw(st.sampled_from((1, 1, 2)))
    target = machine(*words, shared=cores > 1)
    compare_with_brute_force(workload, target, "bottleneck", rule, demanded, divisors=divisors, cores=cores)


@settings(max_examples=cases(2, 5), deadline=None)
@given(data=st.data())
def test_sums_over_levels_keep_to_the_constraints(data: st.DataObject) -> None:
    workload = data.draw(st.sampled_from((MATMUL, WINDOW)))
    demanded = data.draw(st.lists(texts(workload, 2), min_size=1, max_size=3))
    divisors = data.draw(st.booleans())
    compare_with_brute_force(
        workload, machine(5, 12), "sum", CapacityRule.TILE, demanded, divisors=divisors, cores=1, method="iooub"
    )


def compare_with_brute_force(
    workload: Workload,
    target: Machine,
    objective: str,
    rule: CapacityRule,
    demanded: list[str],
    *,
    divisors: bool,
    cores: int,
    method: str = "mopt",
) -> float:
    """The least cost by trying every mapping, after `solve` was held against it."""
    least = best_nest(
        workload,
        target,
        objective,
        rule,
        divisors=divisors,
        cores=cores,
        demands=[lambda level, text=text: meets(level, text) for text in demanded],
    )
    try:
        found = optmap.solve(
            workload,
            machine=target,
            method=method,
            objective=objective,
            tiles="divisors" if divisors else "any",
            capacity=rule.value,
            cores=cores,
            constraints=demanded,
        )
    except InfeasibleError:
        assert least == inf
        return least
    assert found.cost >= least * (1 - 1e-9)
    assert found.integer_bound <= least * (1 + 1e-9)
    assert not found.relaxation.proved or found.relaxation.value <= least * (1 + 1e-6)
    assert not found.proved or isclose(found.cost, least, rel_tol=3e-6)
    assert all(meets(level, text) for level in found.mapping.levels for text in demanded)
    return least
