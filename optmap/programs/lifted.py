"""The tiling LP of a convolution in logarithms, lifted by the digits of its windows.

A window `stride*w + dilation*r` becomes projective when r = stride*r' + r'' and
w = dilation*w' + w'': the image then has (T_w' + T_r')·T_w''·T_r'' index values, and bounding each
of the two summands by the memory loses at most a factor of 2 per window.
Source: Dinh's dissertation, LP 4.2.1, with its upper bounds corrected for filters smaller than the
stride (T_r' <= max(1, L_r/stride), T_r'' <= min(stride, L_r)) and extended to dilation and to any
number of windows.

Its limits are those of tiles: T_r'·T_r'' <= L_r holds with the quotient L_r/stride, fractional where the stride does
not divide, as 3.5 in 7x7 with stride 2. What bounds all schedules counts values of digits, ceil(L_r/stride), here 4:
the volume of this LP, duals included, is then no bound on the operations of a segment (Lemma 20 with 3.5 fails), and
none is taken from it. `bounds.convolution`, `bounds.exponents.lifting` and the closed form
(`parametric_tiling`) count with 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import log
from typing import Any

from optmap.base.errors import InputError
from optmap.programs.program import Form, Program, Sense, Variable
from optmap.workloads.forms import ConvolutionForm, convolution_form
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedDim:
    """A variable of the lifted LP: a whole dim or one digit of it."""

    name: str
    """Name of the digit: the dim itself, `dim_high` or `dim_low`."""
    dim: str
    """Dim of the workload that it belongs to."""
    limit: Fraction
    """Largest extent of a tile, in values of the digit (fractional where the stride does not divide)."""
    factor: int = 1
    """The dim is factor times its high digit plus its low one; 1 for a whole dim."""
    low: bool = False
    """Whether it is the low digit, with min(factor, extent) values."""

    def values(self, extent: int) -> int:
        """How many values the digit has in a dim of this extent, rounded up: what a proof counts."""
        return min(self.factor, extent) if self.low else -(-extent // self.factor)


def whole_dims(workload: Workload) -> tuple[LiftedDim, ...]:
    """Every dim of a workload as one digit."""
    return tuple(LiftedDim(name=d, dim=d, limit=Fraction(n)) for d, n in workload.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLp:
    """A tiling LP as data: what is maximised is the sum of the logarithms of all digits."""

    digits: tuple[LiftedDim, ...]
    """Variables, dims in the order of the workload."""
    rows: tuple[tuple[str, tuple[str, ...], Fraction], ...]
    """(label, digits whose product must fit, elements that fit) per constraint."""

    def program(self, name: str, notes: tuple[str, ...] = ()) -> Program:
        """It as a program.

        Args:
            name: one line.
            notes: what a reader should know.
        """
        return Program(
            name=name,
            form=Form.LP,
            convex=True,
            sense=Sense.MAXIMIZE,
            variables=tuple(
                Variable(
                    name=f"t[{d.name}]",
                    quantity=f"T[{d.name}]",
                    lower=0.0,
                    upper=log(d.limit),
                    log=True,
                    unit="iterations",
                )
                for d in self.digits
            ),
            build=partial(_build, name, self),
            objective_unit="operations per tile",
            objective_log=True,
            notes=notes,
        )


def lifted_lp(workload: Workload, *, capacity: float) -> LiftedLp:
    """The rows and digits of the lifted tiling LP.

    Args:
        workload: a convolution by structure.
        capacity: words M; each tensor alone must fit.

    Raises:
        InputError: if it is no convolution or an element of some tensor exceeds the capacity.
    """
    form = convolution_form(workload)
    widest = max(workload.weight(t) for t in workload.tensors)
    if not widest <= capacity < float("inf"):
        raise InputError(f"capacity is {capacity} words; the tiling LP needs at least {widest}, one element")
    digits = _digits(workload, form)
    high = {d.dim: d.name for d in digits}  # a dim without low digit is its own high digit
    low = {d.dim: d.name for d in digits if d.name == _low(d.dim, workload)}
    high |= {d.dim: d.name for d in digits if d.name not in low.values()}

    def parts(dims: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(n for d in dims for n in ((high[d], low[d]) if d in low else (high[d],)))

    room = {t.name: Fraction(capacity) / workload.weight(t) for t in workload.tensors}
    taps, positions = tuple(w.tap for w in form.windows), tuple(w.position for w in form.windows)
    lows = tuple(low[d] for d in taps + positions if d in low)
    shared = form.batch + form.channels + form.groups
    rows = [
        (form.output.name, parts(form.batch + form.features + form.groups + positions), room[form.output.name]),
        (form.kernel.name, parts(form.channels + form.features + form.groups + taps), room[form.kernel.name]),
    ]
    for chosen in product(*((w.position, w.tap) for w in form.windows)):
        label = f"{form.image.name}_{'_'.join(chosen)}"
        rows.append((label, shared + tuple(high[d] for d in chosen) + lows, room[form.image.name]))
    return LiftedLp(digits=digits, rows=tuple(rows))


def lifted_tiling_program(workload: Workload, *, capacity: float) -> Program:
    """The lifted log-space tiling LP of a convolution as a program (LP 4.2.1).

    Args:
        workload: a convolution by structure.
        capacity: words M; each tensor alone must fit, as in the source.

    Raises:
        InputError: if it is no convolution or an element of some tensor exceeds the capacity.
    """
    note = "each summand of an image subscript is bounded alone: up to a factor 2 per window in the footprint"
    return lifted_lp(workload, capacity=capacity).program(f"lifted tiling LP of {workload.title}", (note,))


def _digits(workload: Workload, form: ConvolutionForm) -> tuple[LiftedDim, ...]:
    factors = {w.tap: w.stride for w in form.windows} | {w.position: w.dilation for w in form.windows}
    digits = []
    for dim, extent in workload.sizes:
        factor = factors.get(dim, 1)
        if factor == 1:
            digits.append(LiftedDim(name=dim, dim=dim, limit=Fraction(extent)))
            continue
        most = max(Fraction(1), Fraction(extent, factor))
        digits.append(LiftedDim(name=_high(dim, workload), dim=dim, limit=most, factor=factor))
        least = Fraction(min(factor, extent))
        digits.append(LiftedDim(name=_low(dim, workload), dim=dim, limit=least, factor=factor, low=True))
    return tuple(digits)


def _high(dim: str, workload: Workload) -> str:
    return _fresh(f"{dim}_high", workload)


def _low(dim: str, workload: Workload) -> str:
    return _fresh(f"{dim}_low", workload)


def _fresh(name: str, workload: Workload) -> str:
    while name in workload.dims:
        name += "_"
    return name


def _build(name: str, lp: LiftedLp) -> Any:
    import pyomo.environ as pyo  # here: the rows are also read by code that builds no model

    model = pyo.ConcreteModel(name=name)
    names = [d.name for d in lp.digits]
    model.t = pyo.Var(names, bounds={d.name: (0.0, log(d.limit)) for d in lp.digits}, initialize=0.0)
    rows = {label: sum(model.t[n] for n in held) <= log(room) for label, held, room in lp.rows if held}
    model.footprint = pyo.Constraint(list(rows), rule=lambda _, label: rows[label])
    model.operations = pyo.Objective(expr=sum(model.t[n] for n in names), sense=pyo.maximize)
    return model
