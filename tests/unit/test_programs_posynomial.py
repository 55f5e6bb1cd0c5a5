"""Posynomials: algebra, values, and the refusal of what is not one."""

import numpy as np
import pytest

from optmap.base.errors import InputError
from optmap.programs import EpigraphRow, GeometricProgram, Posynomial, monomial

NAMES = ("x", "y", "z")


def random_posynomial(seed: int, terms: int = 5) -> Posynomial:
    rng = np.random.default_rng(seed)
    return Posynomial(
        names=NAMES,
        coefficients=rng.uniform(0.1, 5.0, terms),
        exponents=rng.integers(-2, 3, (terms, 3)).astype(float),
    )


def test_evaluates_what_is_written_down() -> None:
    p = monomial(NAMES, 2.0, {"x": 1, "y": -1}) + monomial(NAMES, 3.0, {"z": 2}) + monomial(NAMES, 0.5)
    assert p.evaluate([4.0, 2.0, 3.0]) == pytest.approx(2 * 4 / 2 + 3 * 9 + 0.5)
    assert p.terms == 3


def test_many_points_at_once_equal_one_by_one() -> None:
    p = random_posynomial(7)
    points = np.random.default_rng(7).uniform(-1, 1, (6, 3))
    for i, t in enumerate(points):
        assert p.log_value(points)[i] == pytest.approx(float(p.log_value(t)))


def test_sum_product_and_scale_are_pointwise() -> None:
    p, q = random_posynomial(1), random_posynomial(2)
    x = np.array([1.5, 0.7, 2.2])
    assert (p + q).evaluate(x) == pytest.approx(p.evaluate(x) + q.evaluate(x))
    assert (p * q).evaluate(x) == pytest.approx(p.evaluate(x) * q.evaluate(x))
    assert p.scale(3.0).evaluate(x) == pytest.approx(3 * p.evaluate(x))


def test_like_terms_are_collected_in_order() -> None:
    p = monomial(NAMES, 1.0, {"z": 1}) + monomial(NAMES, 2.0, {"x": 1}) + monomial(NAMES, 4.0, {"z": 1})
    assert p.coefficients.tolist() == [5.0, 2.0]
    assert p.exponents.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_over_reorders_and_refuses_to_lose_a_variable() -> None:
    p = monomial(("x", "y"), 2.0, {"x": 3})
    assert p.over(("w", "x")).exponents.tolist() == [[0, 3]]
    with pytest.raises(InputError, match="variable x is used"):
        p.over(("y",))


@pytest.mark.parametrize("coefficient", [0.0, -1.0, float("nan"), float("inf")])
def test_a_coefficient_must_be_positive_and_finite(coefficient: float) -> None:
    with pytest.raises(InputError, match="positive finite"):
        monomial(NAMES, coefficient, {"x": 1})


def test_bad_names_and_values_are_refused() -> None:
    with pytest.raises(InputError, match="unknown variable q"):
        monomial(NAMES, 1.0, {"q": 1})
    with pytest.raises(InputError, match="different variables"):
        _ = monomial(("x",), 1.0) + monomial(("y",), 1.0)


def test_a_geometric_program_refuses_what_is_unbounded() -> None:
    p = monomial(("x",), 1.0, {"x": -1})
    row = EpigraphRow(posynomial=p, alpha=1.0)
    box = {"lower": np.zeros(1), "upper": np.ones(1)}
    with pytest.raises(InputError, match="finite bounds"):
        GeometricProgram(names=("x",), lower=np.zeros(1), upper=np.array([np.inf]), levels=(row,), capacities=())
    limit = EpigraphRow(posynomial=p, alpha=0.0, constant=1.0)
    with pytest.raises(InputError, match="no row bounds z"):
        GeometricProgram(names=("x",), **box, levels=(limit,), capacities=())
    with pytest.raises(InputError, match="chain indices"):
        GeometricProgram(names=("x",), **box, levels=(row,), capacities=(), chain=((0, 1),))
