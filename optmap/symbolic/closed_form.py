"""Closed forms of IOOpt's upper bound: loads in the extents N and the memory S, without tile sizes.

One tensor stays in fast memory while a square tile of it is used up; its side fills the memory. Source: IOOpt,
section 6 and Figure 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Mul, Symbol, ceiling, latex, sqrt

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.shown import Concise
from optmap.base.texts import several
from optmap.symbolic.footprint import footprint
from optmap.symbolic.ioopt import HeldTraffic, held_traffic
from optmap.symbolic.symbols import latex_name, tile, tiles
from optmap.workloads.forms import contraction_form, convolution_form
from optmap.workloads.workload import Semantics, TensorAccess, Workload

MEMORY = Symbol("S", positive=True)
"""Words of the fast memory."""
SIDE = Symbol("T", positive=True)
"""Side of the square tile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedForm(Concise):
    """An upper bound without tile sizes."""

    expression: Expr
    """Words loaded, in the extents N_… and the side T."""
    side: Expr
    """The side T of the square tile, in the memory S and extents."""
    stationary: str
    """The tensor that stays."""
    cut: tuple[tuple[str, ...], ...]
    """Groups of dims; in each the tile sizes have the product T."""
    order: tuple[str, ...]
    """Loops over tiles, outermost first."""
    positions: Mapping[str, int]
    """Reuse position per tensor (see `held_traffic`)."""
    fixed: Mapping[str, Expr]
    """Tile size of the dims in no group: 1, or the whole extent."""
    assumptions: tuple[str, ...]
    """When the bound holds."""

    @property
    def in_memory(self) -> Expr:
        """Words loaded, in the extents N_… and the memory S."""
        return self.expression.subs(SIDE, self.side)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedFormValue:
    """A closed form at extents and a memory."""

    side: float
    """T."""
    loads_words: int
    """The expression, rounded up."""
    broken: tuple[str, ...]
    """Assumptions that the extents or the memory break; with any, the value bounds nothing."""


def closed_form(workload: Workload, stationary: str | None = None) -> ClosedForm:
    """The closed form of a contraction of two tensors or of a two-dimensional convolution.

    Args:
        workload: in either semantics; under `assign` the first touch of an output is no load.
        stationary: the tensor that stays, for a contraction; None for the one with the fewest words.

    Raises:
        InputError: saying why neither closed form is for this workload, or that it has no such tensor.
    """
    try:
        return contraction_closed_form(workload, stationary)
    except InputError as error:
        sliding = any(len(axis.terms) > 1 for tensor in workload.tensors for axis in tensor.axes)
        if not sliding:
            raise
        reason = error
    try:
        return convolution_closed_form(workload, stationary)
    except InputError as error:
        raise InputError(f"no closed form: as a contraction: {reason}; as a convolution: {error}") from None


def contraction_closed_form(workload: Workload, stationary: str | None = None) -> ClosedForm:
    """The upper bound of a matrix product or a tensor contraction in N and S (IOOpt, section 6).

    Dims fall into three groups by the pair of tensors they occur in. The tile of the stationary
    tensor is square after merging each of its groups and fills the memory together with one column of
    each of the others: T^2 + 2T = S, hence T = sqrt(S+1) - 1 and

        loads = 2 * (product of all extents) / T + (words of the stationary tensor).

    Args:
        workload: an output and two inputs, each dim alone in its subscripts and in exactly two of them.
        stationary: the tensor that is loaded once; None for the one with the fewest words.

    Raises:
        InputError: if the workload is not such a contraction, or has no such tensor.
    """
    groups = _groups(workload)
    names = [tensor.name for tensor in workload.tensors]
    if stationary is None:
        stationary = min(workload.tensors, key=lambda t: t.footprint(workload.extents)).name
    kept = workload.tensors[names.index(choose("tensor", stationary, names, where=workload.title))]
    extents = tiles(workload.dims, 2)
    streamed = tuple(d for d in workload.dims if d not in kept.dims)
    return ClosedForm(
        expression=2 * Mul(*extents.values()) / SIDE + _words(kept) - _created(workload),
        side=sqrt(MEMORY + 1) - 1,
        stationary=stationary,
        cut=tuple(dims for pair, dims in groups.items() if names.index(stationary) in pair),
        order=(*(d for d in workload.dims if d in kept.dims), *streamed),
        positions=dict.fromkeys(names, 1) | {stationary: len(streamed)},
        fixed=dict.fromkeys(streamed, Integer(1)),
        assumptions=(
            "square tiles: in each of the stationary tensor's two groups of dims the tile sizes have the product T",
            "T = sqrt(S+1) - 1 does not exceed the product of the extents of either group",
            "real quotients: T divides what it cuts",
        ),
    )


def _groups(workload: Workload) -> dict[tuple[int, int], tuple[str, ...]]:
    """Dims by the two tensors that they occur in."""
    form = contraction_form(workload)
    _one_size(workload)
    groups = {(0, 1): form.rows, (0, 2): form.columns, (1, 2): form.reduction}
    if form.batch:
        raise InputError(f"{workload.expression}: dim {form.batch[0]} occurs in 3 tensors; a closed form needs 2")
    if not all(groups.values()):
        raise InputError(f"{workload.expression}: every two tensors of a contraction share a dim for a closed form")
    return groups


def _one_size(workload: Workload) -> None:
    if len({workload.weight(tensor) for tensor in workload.tensors}) > 1:
        raise InputError(f"{workload.expression}: a closed form needs one element size for all tensors")
    if len({tensor.name for tensor in workload.tensors}) < len(workload.tensors):
        raise InputError(f"{workload.expression}: a closed form needs different tensors")


def convolution_closed_form(workload: Workload, stationary: str | None = None) -> ClosedForm:
    """The printed upper bound of a two-dimensional convolution (IOOpt, Figure 6), any batch.

    Filter-stationary with tiles of side T along f, c and y and extent 1 along x, filters whole. With one image

        CFHWXY * (1/(XY) + 1/(H T W) + (H+T-1)(W+X-1)/(H T^2 W X)),

    where T fills the memory: (HW+W+1) T^2 + (HW-W) T = S. It holds while T fits f, c and y, and its
    leading term is not the lower bound's. A batch repeats what image and output move.

    Args:
        workload: a convolution by structure with two windows.
        stationary: the filter, or None.

    Raises:
        InputError: if the workload is no such convolution, or another tensor is to stay.
    """
    form = convolution_form(workload)
    _one_size(workload)
    if len(form.windows) != 2 or any(w.stride * w.dilation != 1 for w in form.windows) or form.groups:
        raise InputError("a closed form needs two windows with stride and dilation 1 and no groups")
    if not (form.channels and form.features):
        raise InputError("a closed form needs a dim of channels and one of features")
    if stationary not in (None, form.kernel.name):
        raise InputError(f"the closed form of a convolution keeps the filter {form.kernel.name}, not {stationary}")
    N = tiles(workload.dims, 2)
    across, down = form.windows
    x, w, y, h = (N[d] for d in (across.position, across.tap, down.position, down.tap))
    c, f, batch = (Mul(*(N[d] for d in dims)) for dims in (form.channels, form.features, form.batch))
    square, linear = h * w + w + 1, h * w - w
    outputs, image = x * y / SIDE, y * (h + SIDE - 1) * (w + x - 1) / SIDE**2
    inside, taps = (*form.batch, down.position, across.position), (down.tap, across.tap)
    return ClosedForm(
        expression=c * f * h * w + batch * c * f * (outputs + image) - _created(workload),
        side=(-linear + sqrt(linear**2 + 4 * square * MEMORY)) / (2 * square),
        stationary=form.kernel.name,
        cut=(form.features, form.channels, (down.position,)),
        order=(*form.features, *form.channels, *taps, *inside),
        positions={form.output.name: 1, form.image.name: 1, form.kernel.name: len(inside) + 1},
        fixed={d: N[d] for d in taps} | dict.fromkeys((across.position, *form.batch), Integer(1)),
        assumptions=(
            f"square tiles: along {'*'.join(form.features)}, {'*'.join(form.channels)} and {down.position} the tile "
            f"sizes have the product T; {' and '.join(taps)} are whole",
            "T, which fills the memory, does not exceed any of these extents",
            "real quotients: T divides what it cuts",
        ),
    )


def _words(tensor: TensorAccess) -> Expr:
    return footprint(tensor, tiles(tensor.dims, 2))


def _created(workload: Workload) -> Expr:
    """Output words whose first touch is no load."""
    return _words(workload.output) if workload.semantics is Semantics.ASSIGN else Integer(0)


def parts(form: ClosedForm, workload: Workload) -> tuple[HeldTraffic, ...]:
    """What every tensor holds and brings in, in tile sizes T_… of the dims that are cut; outputs count as loaded."""
    fixed = {tile(d): value for d, value in form.fixed.items()}
    return tuple(
        HeldTraffic(name=row.name, position=row.position, held=row.held.subs(fixed), entering=row.entering.subs(fixed))
        for row in held_traffic(workload, form.order, form.positions)
    )


def closed_form_value(form: ClosedForm, workload: Workload, memory_words: int) -> ClosedFormValue:
    """A closed form at the extents of its workload and a memory.

    Args:
        form: of the workload.
        workload: gives the extents.
        memory_words: words of the fast memory.

    Raises:
        InputError: for a memory in which no tile of one element per group fits.
    """
    side = at_extents(form.side, workload, memory_words)
    if side < 1:
        raise InputError(
            f"a memory of {several(memory_words, 'word')} holds no tile of the closed form: "
            f"its side T would be {float(side):.3g}"
        )
    extents = workload.extents
    products = {"*".join(dims): Mul(*(Integer(extents[d]) for d in dims)) for dims in form.cut}
    return ClosedFormValue(
        side=float(side),
        loads_words=int(ceiling(at_extents(form.in_memory, workload, memory_words))),
        broken=tuple(
            f"T = {float(side):,.4g} exceeds {group} = {int(size):,}" for group, size in products.items() if side > size
        ),
    )


def at_extents(expression: Expr, workload: Workload, memory_words: int | None = None) -> Expr:
    """An expression with the extents of a workload, and the memory, put in.

    Args:
        expression: in extents N_… and the memory S.
        workload: gives the extents.
        memory_words: words of the fast memory; None leaves S.
    """
    values = {symbol: Integer(workload.extents[d]) for d, symbol in tiles(workload.dims, 2).items()}
    if memory_words is not None:
        values[MEMORY] = Integer(memory_words)
    return expression.subs(values)


def formula_latex(expression: Expr) -> str:
    """An expression as LaTeX."""
    names = {symbol: latex_name(symbol) for symbol in expression.free_symbols if "_" in symbol.name}
    return str(latex(expression, symbol_names=names))
