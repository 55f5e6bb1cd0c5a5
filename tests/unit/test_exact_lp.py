"""Linear programs with proofs in fractions, against conditions recomputed here and SciPy."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from cases import cases
from scipy.optimize import linprog

from optmap.base.errors import CheckError, InputError
from optmap.solvers import Stop, VertexFinder, certified, linear_program, minimise_standard, solve_exact, solve_square


def _random_program(rng: random.Random):
    def number():
        return Fraction(rng.randint(-6, 6), rng.choice([1, 1, 1, 2, 3, 7]))

    n, m = rng.randint(1, 6), rng.randint(0, 6)
    rows = [[number() if rng.random() < 0.7 else Fraction(0) for _ in range(n)] for _ in range(m)]

    def limits(count):
        pairs = []
        for _ in range(count):
            low = number()
            high = low + abs(number())
            pairs.append(rng.choice([(low, high), (low, None), (None, high), (None, None), (low, low)]))
        return [p[0] for p in pairs], [p[1] for p in pairs]

    row_lower, row_upper = limits(m)
    lower, upper = limits(n)
    cost = [number() for _ in range(n)]
    return linear_program(cost, rows, row_lower, row_upper=row_upper, lower=lower, upper=upper)


def _floats(program):
    above = [
        ([float(v) for v in r], float(b)) for r, b in zip(program.rows, program.row_upper, strict=True) if b is not None
    ]
    below = [
        ([-float(v) for v in r], -float(b))
        for r, b in zip(program.rows, program.row_lower, strict=True)
        if b is not None
    ]
    rows = above + below
    bounds = [
        (None if a is None else float(a), None if b is None else float(b))
        for a, b in zip(program.lower, program.upper, strict=True)
    ]
    return {"A_ub": [r for r, _ in rows] or None, "b_ub": [b for _, b in rows] or None, "bounds": bounds}


def _assert_optimal(program, answer):
    """Feasibility, complementary slackness and equal objectives, recomputed."""
    activity = [sum(a * x for a, x in zip(row, answer.x, strict=True)) for row in program.rows]
    total = Fraction(0)
    for value, price, low, high in [
        *zip(activity, answer.duals, program.row_lower, program.row_upper, strict=True),
        *zip(answer.x, answer.reduced_costs, program.lower, program.upper, strict=True),
    ]:
        assert low is None or value >= low
        assert high is None or value <= high
        if price > 0:
            assert value == low
        if price < 0:
            assert value == high
        total += price * value
    for j, c in enumerate(program.cost):
        assert c == answer.reduced_costs[j] + sum(y * row[j] for y, row in zip(answer.duals, program.rows, strict=True))
    assert total == answer.objective == sum(c * x for c, x in zip(program.cost, answer.x, strict=True))


def test_random_programs_are_proved_or_refused_like_scipy():
    rng = random.Random(1)
    seen = set()
    for _ in range(cases(50, 300)):
        program = _random_program(rng)
        answer = solve_exact(program)
        floats = _floats(program)
        reference = linprog([float(c) for c in program.cost], **floats)
        if answer.stop is Stop.OPTIMAL:
            _assert_optimal(program, answer)
            assert reference.status == 0
            assert float(answer.objective) == pytest.approx(reference.fun, abs=1e-7)
        else:
            feasible = linprog([0.0] * len(program.cost), **floats).status == 0
            assert reference.status in (2, 3, 4)
            assert feasible == (answer.stop is Stop.ERROR)
            assert ("unbounded" if feasible else "infeasible") in answer.message
        seen.add(answer.stop)
    assert seen == {Stop.OPTIMAL, Stop.INFEASIBLE, Stop.ERROR}


def test_the_simplex_fallback_agrees_with_the_highs_route(monkeypatch):
    rng = random.Random(2)
    programs = [_random_program(rng) for _ in range(cases(25, 120))]
    first = [solve_exact(p) for p in programs]
    monkeypatch.setattr("optmap.solvers.exact._highs_basis", lambda program: None)
    for program, answer in zip(programs, first, strict=True):
        again = solve_exact(program)
        assert (again.stop, again.objective) == (answer.stop, answer.objective)
        if again.stop is Stop.OPTIMAL:
            assert "simplex method in fractions" in again.message
            _assert_optimal(program, again)


def test_a_wrong_basis_is_not_believed(monkeypatch):
    program = linear_program([1, 1], [[1, 2], [3, 1]], [4, 6])
    monkeypatch.setattr("optmap.solvers.exact._highs_basis", lambda p: (["kBasic", "kLower"], ["kLower", "kBasic"]))
    answer = solve_exact(program)
    assert answer.objective == Fraction(14, 5)
    assert answer.x == (Fraction(8, 5), Fraction(6, 5))
    assert "simplex" in answer.message


def test_certified_refuses_points_and_duals_that_do_not_match():
    program = linear_program([1, 1], [[1, 2], [3, 1]], [4, 6])
    x = (Fraction(8, 5), Fraction(6, 5))
    duals = (Fraction(2, 5), Fraction(1, 5))
    assert certified(program, x, duals, "by hand") is not None
    assert certified(program, x, (Fraction(1, 5), Fraction(2, 5)), "by hand") is None
    assert certified(program, (Fraction(0), Fraction(0)), duals, "by hand") is None
    assert certified(program, (Fraction(2), Fraction(2)), duals, "by hand") is None


def test_matrix_product_exponents():
    answer = solve_exact(linear_program([1, 1, 1], [[1, 1, 0], [1, 0, 1], [0, 1, 1]], [1, 1, 1]))
    assert answer.x == (Fraction(1, 2),) * 3
    assert answer.duals == (Fraction(1, 2),) * 3
    assert answer.objective == Fraction(3, 2)


def test_cycling_program_of_beale_ends():
    F = Fraction
    cost = [F(-3, 4), F(150), F(-1, 50), F(6), F(0), F(0), F(0)]
    matrix = [
        [F(1, 4), F(-60), F(-1, 25), F(9), F(1), F(0), F(0)],
        [F(1, 2), F(-90), F(-1, 50), F(3), F(0), F(1), F(0)],
        [F(0), F(0), F(1), F(0), F(0), F(0), F(1)],
    ]
    answer = minimise_standard(cost, matrix, [F(0), F(0), F(1)])
    assert answer.stop == "optimal"
    assert sum(c * x for c, x in zip(cost, answer.x, strict=True)) == F(-1, 20)


def test_redundant_equations_are_kept_and_contradictions_found():
    F = Fraction
    twice = minimise_standard([F(1), F(2)], [[F(1), F(1)], [F(2), F(2)]], [F(3), F(6)])
    assert twice.stop == "optimal"
    assert twice.x == (F(3), F(0))
    assert minimise_standard([F(1)], [[F(1)], [F(1)]], [F(1), F(2)]).stop == "infeasible"


def test_square_systems():
    F = Fraction
    assert solve_square([[F(0), F(2)], [F(3), F(1)]], [F(4), F(5)]) == [F(1), F(2)]
    assert solve_square([[F(1), F(2)], [F(2), F(4)]], [F(1), F(2)]) is None


def test_bad_programs_are_refused():
    with pytest.raises(InputError, match="row 0 has 1 coefficients for 2 columns"):
        linear_program([1, 1], [[1]])
    with pytest.raises(InputError, match="row_lower has 2 entries"):
        linear_program([1], [[1]], [1, 2])
    with pytest.raises(InputError, match=r"lower\[0\] = 2 exceeds upper\[0\] = 1"):
        linear_program([1], [], lower=[2], upper=[1])


def test_vertex_finder_returns_cheapest_vertices_for_many_costs():
    rows = [((1, 1, 0), 1), ((1, 0, 1), 1), ((0, 1, 1), 1)]
    finder = VertexFinder(rows=rows, columns=3)
    rng = random.Random(4)
    for _ in range(20):
        cost = np.array([rng.random() + 0.01 for _ in range(3)])
        vertex = finder.vertex(cost)
        reference = linprog(cost, A_ub=[[-float(c) for c in r] for r, _ in rows], b_ub=[-1.0] * 3, bounds=[(0, 1)] * 3)
        assert cost @ vertex == pytest.approx(reference.fun)
    with pytest.raises(CheckError, match="polytope of exponents"):
        VertexFinder(rows=[((0, 0), 1)], columns=2).vertex(np.ones(2))
