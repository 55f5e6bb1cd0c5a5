"""The batched interior point against Ipopt and SciPy; its bound holds wherever it stops."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from cases import some
from scipy.optimize import minimize

from optmap.programs import EpigraphRow, GeometricProgram, Posynomial
from optmap.solvers import Batch, joined, solve_batch
from optmap.solvers.ipopt import solve_posynomial

N, EPIGRAPHS, LIMITS, TERMS = 3, 2, 1, 3
SIZE = 12


def random_batch(seed, *, constants=True):
    """Programs like those of tiles: traffic falls with sizes, capacities rise, no traffic below a constant."""
    rng = np.random.default_rng(seed)
    rows = (EPIGRAPHS + LIMITS) * TERMS
    exponents = rng.integers(-1, 1, (SIZE, rows, N)).astype(float)
    exponents[:, : EPIGRAPHS * TERMS : TERMS] = 0.0
    exponents[:, EPIGRAPHS * TERMS :] = rng.integers(0, 2, (SIZE, LIMITS * TERMS, N))
    logs = rng.uniform(-1.0, 3.0, (SIZE, rows))
    logs[:, : EPIGRAPHS * TERMS : TERMS] = 1.0
    logs[:, EPIGRAPHS * TERMS :] -= 6.0
    return Batch(
        exponents=exponents.reshape(SIZE, -1, TERMS, N),
        logs=logs.reshape(SIZE, -1, TERMS),
        alpha=rng.uniform(0.5, 4.0, (SIZE, EPIGRAPHS)),
        constant=rng.uniform(0.0, 2.0, (SIZE, EPIGRAPHS)) * constants,
        linear=np.tile(np.array([[[1.0, -1.0, 0.0]]]), (SIZE, 1, 1)),
        limit=np.zeros((SIZE, 1)),
        lower=np.zeros((SIZE, N)),
        upper=rng.uniform(1.0, 4.0, (SIZE, N)),
    )


def start_of(batch):
    """Well inside the box, the first variable below the second."""
    start = batch.lower + 0.1 * (batch.upper - batch.lower)
    start[:, 0] = np.minimum(0.3 * start[:, 0], 0.8 * start[:, 1])
    return start


def program_of(batch, i):
    names = ("a", "b", "c")

    def row(k):
        return Posynomial(names=names, coefficients=np.exp(batch.logs[i, k]), exponents=batch.exponents[i, k])

    return GeometricProgram(
        names=names,
        lower=batch.lower[i],
        upper=batch.upper[i],
        levels=tuple(
            EpigraphRow(posynomial=row(k), alpha=float(batch.alpha[i, k]), constant=float(batch.constant[i, k]))
            for k in range(EPIGRAPHS)
        ),
        capacities=tuple(row(EPIGRAPHS + j) for j in range(LIMITS)),
        chain=((0, 1),),
    )


@pytest.mark.parametrize("constants", [True, False])
@pytest.mark.parametrize("seed", some(4, range(8)))
def test_agrees_with_ipopt(seed, constants):
    batch = random_batch(seed, constants=constants)
    found = solve_batch(batch, start=start_of(batch))
    for i in range(SIZE):
        reference = solve_posynomial(program_of(batch, i))
        assert found.value[i] == pytest.approx(reference.objective, rel=2e-7)
        assert found.bound[i] == pytest.approx(reference.objective, rel=2e-6)
        assert found.bound[i] <= reference.objective * (1 + 1e-8)


@pytest.mark.parametrize("seed", some(2, range(4)))
def test_agrees_with_scipy(seed):
    batch = random_batch(100 + seed, constants=False)
    found = solve_batch(batch, start=start_of(batch))
    for i in range(4):
        program = program_of(batch, i)
        rows = [(r.posynomial, r.alpha) for r in program.levels]
        constraints = [
            {"type": "ineq", "fun": lambda x, p=p, a=a: x[-1] + np.log(a) - p.log_value(x[:-1])} for p, a in rows
        ]
        constraints += [{"type": "ineq", "fun": lambda x, p=p: -p.log_value(x[:-1])} for p in program.capacities]
        constraints.append({"type": "ineq", "fun": lambda x: x[1] - x[0]})
        bounds = [*zip(batch.lower[i], batch.upper[i], strict=True), (-20, 20)]
        options = {"ftol": 1e-13, "maxiter": 500}
        given = {"bounds": bounds, "constraints": constraints, "options": options, "method": "SLSQP"}
        # Rounding alone decides whether a line search near the optimum fails; from another height it succeeds.
        starts = (np.append(start_of(batch)[i], height) for height in (2.0, 5.0, 10.0, 15.0))
        tried = (minimize(lambda x: x[-1], start, **given) for start in starts)
        best = next((one for one in tried if one.success), None)
        assert best is not None
        assert found.value[i] == pytest.approx(np.exp(best.fun), rel=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 4, 8, 16])
def test_bound_and_point_hold_wherever_it_stops(steps):
    for seed in range(20):
        batch = random_batch(200 + seed, constants=seed % 2 == 0)
        whole = solve_batch(batch, start=start_of(batch))
        early = solve_batch(batch, start=start_of(batch), max_iterations=steps)
        assert early.iterations <= steps
        scale = 1e-9 * (1 + np.abs(whole.value))
        assert (early.bound <= whole.value + scale).all()
        assert (early.value >= whole.bound - scale).all()


def test_points_are_feasible_and_have_their_value():
    for seed in range(10):
        batch = random_batch(300 + seed)
        found = solve_batch(batch, start=start_of(batch))
        for i in range(SIZE):
            program, t = program_of(batch, i), found.point[i]
            assert (t >= batch.lower[i]).all()
            assert (t <= batch.upper[i]).all()
            assert t[0] <= t[1]
            assert all(p.log_value(t) <= 0 for p in program.capacities)
            needed = max((np.exp(r.posynomial.log_value(t)) - r.constant) / r.alpha for r in program.levels)
            assert needed == pytest.approx(found.value[i], rel=1e-9, abs=1e-12)


def test_programs_without_a_start_are_infeasible():
    batch = random_batch(7)
    start = start_of(batch)
    start[[2, 5]] = np.nan
    found = solve_batch(batch, start=start)
    assert np.isinf(found.value[[2, 5]]).all()
    assert np.isinf(found.bound[[2, 5]]).all()
    assert np.isnan(found.point[[2, 5]]).all()
    others = [i for i in range(SIZE) if i not in {2, 5}]
    alone = solve_batch(batch[np.array(others)], start=start[others])
    assert np.allclose(found.value[others], alone.value, rtol=1e-7)
    nothing = solve_batch(batch, start=np.full_like(start, np.nan))
    assert nothing.iterations == 0
    assert np.isinf(nothing.bound).all()


@pytest.mark.parametrize("limits", [0, 1])
def test_programs_without_variables_need_what_their_rows_do(limits):
    """As that of an imposed tile just below the memory: one row and, if there is a tile beside it, what it holds."""
    size, words = 3, np.log(np.array([[5.0, 2.0], [7.0, 1.0], [1.0, 0.5]]))
    held = np.full((size, limits, 2), np.log(0.25))
    batch = Batch(
        exponents=np.zeros((size, 1 + limits, 2, 0)),
        logs=np.concatenate((words[:, None], held), axis=1),
        alpha=np.full((size, 1), 2.0),
        constant=np.zeros((size, 1)),
        linear=np.zeros((size, 0, 0)),
        limit=np.zeros((size, 0)),
        lower=np.zeros((size, 0)),
        upper=np.zeros((size, 0)),
    )
    found = solve_batch(batch, start=np.zeros((size, 0)))
    np.testing.assert_allclose(found.value, [3.5, 4.0, 0.75], rtol=1e-12)
    np.testing.assert_allclose(found.bound, [3.5, 4.0, 0.75], rtol=1e-7)


def test_programs_of_which_enough_is_known_stop_early():
    """They stop at a point that is good enough, or at a bound that is; the others are solved as before."""
    batch = random_batch(11)
    whole = solve_batch(batch, start=start_of(batch))
    enough, hopeless = np.quantile(whole.value, [0.4, 0.6])
    steps = []

    def settled(value, bound):
        steps.append(bound.copy())
        return (value <= enough) | (bound >= hopeless)

    found = solve_batch(batch, start=start_of(batch), settled=settled)
    assert (found.bound <= whole.value * (1 + 1e-9)).all()
    assert (found.value >= whole.bound * (1 - 1e-9)).all()
    cheap, dear = whole.value <= enough * (1 - 1e-6), whole.value >= hopeless * (1 + 1e-6)
    assert (found.value[cheap] <= enough).all()
    assert (found.bound[dear] >= hopeless).all()
    between = ~cheap & ~dear
    assert found.value[between] == pytest.approx(whole.value[between], rel=1e-6)
    assert (1 - found.bound / found.value).max() > 1e-3, "no program stopped before its optimum"
    assert all((raised >= bound).all() for bound, raised in pairwise(steps))


def test_a_program_is_solved_alike_alone_and_in_company():
    """Programs that are done stand still until half of a batch is done."""
    batch = random_batch(12)
    together = solve_batch(batch, start=start_of(batch))
    for i in range(SIZE):
        alone = solve_batch(batch[np.array([i])], start=start_of(batch)[[i]])
        assert alone.value[0] == pytest.approx(together.value[i], rel=1e-7)
        assert alone.bound[0] == pytest.approx(together.bound[i], rel=1e-6)
        assert alone.iterations <= together.iterations


def test_batches_with_posynomials_of_different_lengths_are_joined():
    short, long = random_batch(13), random_batch(14)
    padded = replace(
        long,
        exponents=np.concatenate((long.exponents, long.exponents[:, :, :1]), axis=2),
        logs=np.concatenate((long.logs, long.logs[:, :, :1]), axis=2),
    )
    both = joined([short, padded])
    t = np.concatenate((start_of(short), start_of(long)))
    assert both.totals(t) == pytest.approx(np.concatenate((short.totals(t[:SIZE]), padded.totals(t[SIZE:]))))
    found = solve_batch(both, start=t)
    assert found.value[:SIZE] == pytest.approx(solve_batch(short, start=t[:SIZE]).value, rel=1e-7)


def test_steps_are_few():
    """Predictor and corrector: about half of what a fixed centring needs."""
    found = [solve_batch(random_batch(seed), start=start_of(random_batch(seed))).iterations for seed in range(20)]
    assert max(found) <= 16


def test_a_singular_matrix_takes_no_other_program_along() -> None:
    """The first program is paid by its constant: z falls below every power of ten, and its equations degenerate."""
    alone = random_batch(3, constants=False)[np.array([0])]
    paid = Batch(**{name: getattr(alone, name) for name in alone.__slots__} | {"constant": alone.constant + 1e6})
    both = Batch(**{name: np.concatenate([getattr(paid, name), getattr(alone, name)]) for name in alone.__slots__})
    found = solve_batch(both, start=start_of(both))
    assert found.value[1] == pytest.approx(solve_batch(alone, start=start_of(alone)).value[0], rel=1e-9)
    assert found.bound[0] <= found.value[0]
