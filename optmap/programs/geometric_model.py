"""Geometric programs as Pyomo models and as `Program`s: the rows that are solved, with their names.

In logarithms t of the sizes the model is convex: sums of exponentials under a logarithm, chains
and a box. A row with both z and a constant is kept in z itself, since the logarithm of an affine
function is concave; otherwise the objective is log z. For reading, the same rows are written in
the sizes themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import exp, isfinite, log, prod
from typing import Any

import pyomo.environ as pyo

from optmap.base.errors import InputError
from optmap.programs.posynomial import EpigraphRow, GeometricProgram, tidy
from optmap.programs.program import Form, Program, Sense, Variable
from optmap.programs.tile_plan import Scale

ROUNDED = 1e-9
"""Relative excess of an added row that is put down to rounding."""


def geometric_model(program: GeometricProgram, *, scale: Scale = Scale.LOG, name: str = "geometric program") -> Any:
    """The Pyomo model of a geometric program.

    Args:
        program: what is minimised; the names of its variables and rows become those of the model.
        scale: `LOG` for a solver: variables `t`, named expressions `T = exp(t)`, objective `log_z` (or `z`).
            `RAW` for reading: variables `T` and `z`.
        name: of the model.
    """
    model = pyo.ConcreteModel(name=name)
    keys = [_key(quantity)[1] for quantity in program.names]
    if scale is Scale.LOG:
        bounds = {k: (low, high) for k, low, high in zip(keys, program.lower, program.upper, strict=True)}
    else:
        bounds = {k: (tidy(low), tidy(high)) for k, low, high in _box(program, keys)}
    variables = pyo.Var(keys, bounds=bounds, initialize={k: 0.9 * a + 0.1 * b for k, (a, b) in bounds.items()})
    model.add_component("t" if scale is Scale.LOG else "T", variables)
    if scale is Scale.LOG:
        model.T = pyo.Expression(keys, rule=lambda _, *k: pyo.exp(variables[k]))
    columns = [variables[k] for k in keys]
    z = _objective(model, program, scale)
    rows: dict[str, dict[Any, Any]] = {}
    named: dict[str, dict[Any, Any]] = {}
    for number, row in enumerate(_rows(program)):
        stem, key = _key(row.name or f"row[{number}]")
        parts = _parts(row, columns, scale)
        for label, expression in parts.items():
            part, index = _key(label)
            named.setdefault(part, {})[index] = expression
        rows.setdefault(stem, {})[key] = row, tuple(parts)
    for stem, expressions in named.items():
        model.add_component(stem, pyo.Expression(list(expressions), initialize=expressions, doc="words"))
    for stem, members in rows.items():
        relations = {k: _relation(row, _total(model, labels), z, scale) for k, (row, labels) in members.items()}
        model.add_component(stem, pyo.Constraint(list(relations), rule=lambda _, *k, of=relations: of[_plain(k)]))
    _nest(model, program, columns)
    return model


def geometric_program(
    program: GeometricProgram,
    *,
    name: str,
    unit: str,
    scale: Scale = Scale.LOG,
    fixed: Mapping[str, float] | None = None,
    notes: tuple[str, ...] = (),
) -> Program:
    """A geometric program with its export and the way back from its variables.

    Args:
        program: the rows.
        name: one line.
        unit: of the objective.
        scale: see `geometric_model`.
        fixed: quantities that are parameters, so that `Program.read_back` is complete.
        notes: what a reader should know.
    """
    logarithmic = scale is Scale.LOG
    variables = []
    for quantity, low, high in _box(program, program.names):
        ends = (log(low), log(high)) if logarithmic else (tidy(low), tidy(high))
        label = "t" + quantity.removeprefix("T") if logarithmic else quantity
        variables.append(
            Variable(name=label, quantity=quantity, lower=ends[0], upper=ends[1], log=logarithmic, unit="iterations")
        )
    in_log = logarithmic and program.in_log_z
    low, high = program.z_range()
    variables.append(
        Variable(
            name="log_z" if in_log else "z",
            quantity="z",
            lower=log(low) if in_log else low,
            upper=log(high) if in_log else high,
            log=in_log,
            unit=unit,
        )
    )
    return Program(
        name=name,
        form=Form.NLP,
        convex=logarithmic,
        geometric=True,
        sense=Sense.MINIMIZE,
        variables=tuple(variables),
        build=partial(geometric_model, program, scale=scale, name=name),
        objective_unit=unit,
        objective_log=in_log,
        fixed=tuple((fixed or {}).items()),
        notes=notes,
    )


def _objective(model: Any, program: GeometricProgram, scale: Scale) -> Any:
    """The variable that is minimised, as a logarithm where the rows are convex in it."""
    low, high = program.z_range()
    if scale is Scale.LOG and program.in_log_z:
        model.log_z = pyo.Var(bounds=(log(low), log(high)), initialize=log(high))
        z = model.log_z
    else:
        model.z = pyo.Var(bounds=(low, high), initialize=high)
        z = model.z
    model.cost = pyo.Objective(expr=z, sense=pyo.minimize)
    return z


def _rows(program: GeometricProgram) -> list[EpigraphRow]:
    """All rows, capacities included."""
    limits = [
        EpigraphRow(posynomial=p, alpha=0.0, constant=1.0, name=f"limit[{i}]") for i, p in enumerate(program.capacities)
    ]
    return [*program.levels, *limits]


def _parts(row: EpigraphRow, columns: list[Any], scale: Scale) -> dict[str, Any]:
    """Expression per named part of a row; one with its own name if it has no parts."""
    p = row.posynomial
    found: dict[str, Any] = {}
    first = 0
    for label, count in row.parts or ((f"total[{row.name}]", p.terms),):
        members = range(first, first + count)
        terms = [_monomial(float(p.coefficients[m]), p.exponents[m], columns, scale) for m in members]
        found[label] = sum(terms[1:], start=terms[0]) if terms else 0.0
        first += count
    return found


def _monomial(coefficient: float, exponents: Any, columns: list[Any], scale: Scale) -> Any:
    used = [(float(e), v) for e, v in zip(exponents, columns, strict=True) if e]
    if not used:
        return coefficient
    if scale is Scale.LOG:
        power = sum(v if e == 1 else -v if e == -1 else e * v for e, v in used)
        return coefficient * pyo.exp(power)
    above = [v if e == 1 else v**e for e, v in used if e > 0]
    below = [v if e == -1 else v**-e for e, v in used if e < 0]
    numerator = prod(above, start=coefficient) if coefficient != 1 or not above else prod(above[1:], start=above[0])
    return numerator / prod(below[1:], start=below[0]) if below else numerator


def _total(model: Any, labels: tuple[str, ...]) -> Any:
    parts = [model.component(stem)[key] for stem, key in map(_key, labels)]
    return sum(parts[1:], start=parts[0])


def _relation(row: EpigraphRow, total: Any, z: Any, scale: Scale) -> Any:
    if scale is Scale.RAW:
        return (total - row.alpha * z if row.alpha else total) <= row.constant
    if row.alpha == 0:
        return pyo.log(total) <= log(row.constant)
    if z.name == "log_z":
        return pyo.log(total) - z <= log(row.alpha)
    return pyo.log(total) - pyo.log(row.alpha * z + row.constant) <= 0


def _nest(model: Any, program: GeometricProgram, columns: list[Any]) -> None:
    pairs = {(_key(program.names[i])[1], _key(program.names[j])[1]): (i, j) for i, j in program.chain}
    if not pairs:
        return
    inner = [a for a, _ in pairs]
    keys = inner if len(set(inner)) == len(inner) else [(*_tuple(a), *_tuple(b)) for a, b in pairs]
    rows = {k: columns[i] <= columns[j] for k, (i, j) in zip(keys, pairs.values(), strict=True)}
    model.nest = pyo.Constraint(list(rows), rule=lambda _, *k: rows[_plain(k)])


def _box(program: GeometricProgram, keys: Any) -> list[tuple[Any, float, float]]:
    """Key, least and largest size per variable."""
    return [(k, exp(low), exp(high)) for k, low, high in zip(keys, program.lower, program.upper, strict=True)]


def _key(name: str) -> tuple[str, Any]:
    """`T[L1,k]` as (`T`, (`L1`, `k`)), `x` as (`x`, `x`)."""
    stem, bracket, rest = name.partition("[")
    if not bracket:
        return stem, stem
    parts = tuple(rest.removesuffix("]").rsplit(",", 1))
    return stem, _plain(parts)


def _tuple(key: Any) -> tuple[str, ...]:
    return key if isinstance(key, tuple) else (key,)


def _plain(key: tuple[Any, ...]) -> Any:
    return key[0] if len(key) == 1 else key


def model_values(model: Any) -> dict[str, float]:
    """Value per variable of a model that was solved, by name.

    Raises:
        InputError: if it is no Pyomo model, or a variable has no value.
    """
    if not hasattr(model, "component_data_objects"):
        raise InputError("a solved Pyomo model, or a value per variable, is needed")
    values = {}
    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is None:
            raise InputError(f"model {model.name}: variable {variable.name} has no value; solve the model first")
        values[variable.name] = float(variable.value)
    return values


def sizes_of(program: GeometricProgram, point: Any) -> dict[str, float]:
    """Sizes by quantity at a point of the program.

    Args:
        program: whose variables are meant.
        point: a solved model, a `Solution`, or values by the names of variables (`t[L1,k]`) or quantities (`T[L1,k]`).

    Raises:
        InputError: if a value is missing or no finite number.
    """
    values = getattr(point, "values", None)
    values = point if isinstance(point, Mapping) else values if isinstance(values, Mapping) else model_values(point)
    found = {}
    for quantity in program.names:
        label = "t" + quantity.removeprefix("T")
        given = values.get(label, values.get(quantity))
        if not isinstance(given, int | float) or not isfinite(given):
            raise InputError(f"the point has no value for {label} (or {quantity}), or it is no finite number")
        found[quantity] = exp(given) if label in values else float(given)
    return found


def broken_rows(model: Any, program: GeometricProgram, sizes: Mapping[str, float]) -> dict[str, float]:
    """What was added to a model of the program and does not hold at some sizes, with its excess.

    Rows of the program itself are not looked at; bounds and fixed values of its variables are. The
    model keeps its values.

    Args:
        model: `geometric_model` of the program in logarithms, changed as one likes.
        program: what it was made of.
        sizes: value per quantity.
    """
    own = {_key(row.name)[0] for row in program.levels} | {"nest"}
    variables = {f"t{q.removeprefix('T')}": log(size) for q, size in sizes.items()}
    value = program.value([log(sizes[q]) for q in program.names])
    kept = [(v, v.value) for v in model.component_data_objects(pyo.Var)]
    found: dict[str, float] = {}
    for v, old in kept:
        new = variables.get(v.name)
        if v.name in ("z", "log_z") and isfinite(value):
            new = value if v.name == "z" else log(value)
        if new is None:
            continue
        if v.name in variables:
            low, high = (old, old) if v.fixed else (v.lb, v.ub)
            over = max(0.0 if low is None else low - new, 0.0 if high is None else new - high)
            if over > ROUNDED:
                found[f"the bounds of {v.name}"] = over
        v.set_value(new, skip_validation=True)
    try:
        for row in model.component_data_objects(pyo.Constraint, active=True):
            if row.parent_component().local_name not in own:
                over = max(-float(row.lslack()), -float(row.uslack()))
                if over > ROUNDED * (1 + abs(pyo.value(row.body))):
                    found[row.name] = over
    finally:
        for v, old in kept:
            v.set_value(old, skip_validation=True)
    return found
