"""SymPy to Pyomo: equal values, and typed errors for what cannot be translated."""

import pyomo.environ as pyo
import pytest
import sympy

from optmap.errors import InputError
from optmap.programs.translate import to_pyomo

X, Y = sympy.symbols("x y", positive=True)


@pytest.mark.parametrize(
    "expression",
    [
        X + 2 * Y - 3,
        X * Y / (X + Y),
        X**2 * Y**-3,
        sympy.Rational(2, 3) * sympy.sqrt(X),
        sympy.log(X + 1) * sympy.exp(-Y),
        sympy.Float(1.5) * X + sympy.pi,
        sympy.Integer(7),
    ],
)
def test_values_agree(expression: sympy.Expr) -> None:
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=1.7), pyo.Var(initialize=0.6)
    translated = to_pyomo(expression, {"x": model.x, "y": model.y})
    assert pyo.value(translated) == pytest.approx(float(expression.subs({X: 1.7, Y: 0.6})), rel=1e-14)


def test_min_and_max_need_numbers() -> None:
    assert to_pyomo(sympy.Min(X, Y), {"x": 2.0, "y": 3.0}) == 2.0
    assert to_pyomo(sympy.Max(X, Y), {"x": 2.0, "y": 3.0}) == 3.0
    model = pyo.ConcreteModel()
    model.x = pyo.Var(initialize=1.0)
    with pytest.raises(InputError, match="depends on variables"):
        to_pyomo(sympy.Min(X, Y), {"x": model.x, "y": 3.0})


def test_unknown_symbols_and_functions_are_refused() -> None:
    with pytest.raises(InputError, match="no value for symbol y"):
        to_pyomo(X + Y, {"x": 1.0})
    with pytest.raises(InputError, match="gamma has no Pyomo counterpart"):
        to_pyomo(sympy.gamma(X), {"x": 1.0})
