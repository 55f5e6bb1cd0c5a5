"""The tiling LP in logarithms with capacity and extents as parameters: rows, limits and what they are named after.

Projective nests as in `loglp` (LP 3.2.1); convolutions lifted as in `lifted` (LP 4.2.1). A high digit has
ceil(extent/factor) values here, which is what a proof counts; a tile may exceed its dim by less than a factor of 2
where the stride does not divide. Prime factors of words per element are parameters like the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.base.shown import Concise
from optmap.programs.lifted import LiftedDim, lifted_lp, whole_dims
from optmap.programs.loglp_numbers import LogField
from optmap.workloads.forms import convolution_form
from optmap.workloads.workload import Workload

MEMORY = "M"
"""Name of the capacity, unless a dim has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Concise):
    """A number, at least 1, whose logarithm is a coordinate of the closed form."""

    name: str
    """`M`, a dim, a digit of one, or a whole number."""
    digit: LiftedDim | None = None
    """The dim or digit that it is the extent of."""
    number: int | None = None
    """The whole number that it is."""

    @property
    def text(self) -> str:
        """What it stands for."""
        if self.digit is None:
            return "words of fast memory" if self.number is None else "factor of the words per element"
        dim, factor = self.digit.dim, self.digit.factor
        if factor == 1:
            return f"extent of {dim}"
        return f"min({factor}, {dim})" if self.digit.low else f"ceil({dim}/{factor})"

    def value(self, memory_words: int, extents: Mapping[str, int]) -> int:
        """The number at a capacity in words and extents per dim."""
        if self.digit is None:
            return memory_words if self.number is None else self.number
        return self.digit.values(extents[self.digit.dim])


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingRow:
    """Digits whose product must fit into the memory."""

    access: int
    """Position of the tensor access in the workload."""
    members: tuple[str, ...]
    """Digits, at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricTiling(Concise):
    """max sum of log T: first one row per product that must fit, then one limit per digit."""

    digits: tuple[LiftedDim, ...]
    """Variables: the dims in the order of the workload, lifted ones in two digits."""
    rows: tuple[TilingRow, ...]
    """What must fit."""
    parameters: tuple[Parameter, ...]
    """Coordinates: memory first, then a limit per digit, then factors of the words per element."""
    matrix: tuple[tuple[int, ...], ...]
    """Coefficients of the digits: rows, then limits."""
    right: tuple[tuple[int, ...], ...]
    """Coefficients of the parameters' logarithms on the right-hand sides: rows, then limits."""


def parametric_tiling(workload: Workload) -> ParametricTiling:
    """The tiling LP of a projective nest or a convolution; only its extents' names are used.

    Raises:
        InputError: for a subscript of several dims that is no window of a convolution.
    """
    digits, rows = _lifted(workload) if _slides(workload) else _projective(workload)
    weights = [workload.weight(workload.tensors[row.access]) for row in rows]
    primes = LogField.of(weights)
    parameters = (
        Parameter(name=_memory_name(workload)),
        *(Parameter(name=digit.name, digit=digit) for digit in digits),
        *(Parameter(name=str(n), number=n) for n in primes.basis),
    )
    units = [tuple(int(i == k) for k in range(len(digits))) for i in range(len(digits))]
    nothing = (0,) * len(primes.basis)
    return ParametricTiling(
        digits=digits,
        rows=rows,
        parameters=parameters,
        matrix=(*(tuple(int(digit.name in row.members) for digit in digits) for row in rows), *units),
        right=(
            *((1, *(0,) * len(digits), *(-int(power) for power in primes.log(weight))) for weight in weights),
            *((0, *unit, *nothing) for unit in units),
        ),
    )


def _slides(workload: Workload) -> bool:
    return any(len(axis.terms) > 1 for tensor in workload.tensors for axis in tensor.axes)


def _projective(workload: Workload) -> tuple[tuple[LiftedDim, ...], tuple[TilingRow, ...]]:
    held = (tuple(d for d in workload.dims if d in tensor.dims) for tensor in workload.tensors)
    return whole_dims(workload), tuple(
        TilingRow(access=i, members=members) for i, members in enumerate(held) if members
    )


def _lifted(workload: Workload) -> tuple[tuple[LiftedDim, ...], tuple[TilingRow, ...]]:
    try:
        lp = lifted_lp(workload, capacity=max(workload.weight(t) for t in workload.tensors))
    except InputError as error:
        raise InputError(
            f"{error}; the closed form is for nests with one dim per subscript and for convolutions"
        ) from None
    form = convolution_form(workload)
    places = {tensor.name: i for i, tensor in enumerate(workload.tensors)}
    # The rows of the image come after those of the two others.
    accesses = [places[form.output.name], places[form.kernel.name]] + [places[form.image.name]] * (len(lp.rows) - 2)
    rows = (TilingRow(access=i, members=held) for i, (_, held, _) in zip(accesses, lp.rows, strict=True) if held)
    return lp.digits, tuple(rows)


def _memory_name(workload: Workload) -> str:
    name = MEMORY
    while name in workload.dims:
        name += "_"
    return name
