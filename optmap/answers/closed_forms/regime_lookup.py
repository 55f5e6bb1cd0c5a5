"""Looking up a closed form: the regime at given sizes, and the regimes along one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key

from optmap.answers.closed_forms.fitted_tile import FittedTile, fitted_tile
from optmap.answers.closed_forms.monomials import sign, value, whole_above
from optmap.answers.closed_forms.regimes import Powers, Regime, Regimes, regimes_of
from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.shown import Concise
from optmap.base.texts import several
from optmap.bounds.fixed_exponents import strongest
from optmap.programs.parametric_tiling import ParametricTiling, parametric_tiling
from optmap.solvers.parametric import VertexRegion
from optmap.workloads.workload import Workload

METHOD = "closed_form"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeAt(Concise):
    """A closed form at a capacity and the extents of its workload."""

    memory_words: int
    """M."""
    regime: int
    """Position in the regimes."""
    shape: dict[str, float]
    """Extent per dim or digit of the tile that is optimal where each tensor alone fits, a real number."""
    loads_words: int
    """Loads that all regimes together prove, compulsory ones included."""
    tile: FittedTile | None = None
    """The shape in whole numbers of which all tensors fit together; None if not one element of each does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConeStretch:
    """A part of the line along one parameter in one cone."""

    regime: int
    """Position in the regimes."""
    region: VertexRegion
    """With its tile."""
    low: Powers
    """Where it begins: a product of the other parameters' powers, 1 if all are zero."""
    low_value: float
    """That product."""
    first: int
    """Its least whole number."""
    last: int | None
    """Its largest whole number, that of the border left to the next; None if it has no end, below `first` if none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """The regimes along one parameter, the others fixed."""

    name: str
    """The parameter."""
    fixed: dict[str, int]
    """Values of the others."""
    stretches: tuple[ConeStretch, ...]
    """In growing order, end to end."""


def looked_up(
    workload: Workload, memory_words: int | None = None, vary: str | None = None, over: Sequence[str] | None = None
) -> Regimes:
    """The closed form of a workload with what is asked of it, refused before it is derived.

    Args:
        workload: as for `regimes_of`.
        memory_words: where to look it up, with the extents of the workload.
        vary: a parameter to follow.
        over: two parameters to draw it over.

    Raises:
        InputError: for a parameter that it does not have, a missing capacity, or one below an element of a tensor.
        LimitError: as `regimes_of`.
    """
    tiling = parametric_tiling(workload)
    axes = None if over is None else _axes(tiling, memory_words, over)
    name = None
    if vary is not None:
        name = _parameter(tiling, vary, "vary")
        _need_memory(tiling, memory_words, (name,), "vary")
    found = regimes_of(workload)
    return replace(
        found,
        at=None if memory_words is None else _with_tile(found, regime_at(found, memory_words)),
        varied=None if name is None else along(found, name, sizes_of(found, memory_words or 1)),
        over=axes,
    )


def _axes(tiling: ParametricTiling, memory_words: int | None, over: Sequence[str]) -> tuple[str, str]:
    """The two parameters of a picture."""
    names = [p.name for p in tiling.parameters]
    if len(over) != 2:
        raise InputError(f"over {','.join(over)!r}: give two different parameters, such as {names[0]},{names[1]}")
    chosen = (_parameter(tiling, over[0], "over"), _parameter(tiling, over[1], "over"))
    _need_memory(tiling, memory_words, chosen, "over")
    return chosen


def _parameter(tiling: ParametricTiling, name: str, option: str) -> str:
    """A parameter that has many values.

    Raises:
        InputError: for any other name; for a dim that is lifted, with its digits.
    """
    digits = [d.name for d in tiling.digits if d.dim == name and d.factor > 1]
    if digits:
        raise InputError(f"{option}: {name} is lifted into {' and '.join(digits)}; give one of these")
    return choose("parameter", name, [p.name for p in tiling.parameters if p.number is None], where=option)


def _need_memory(tiling: ParametricTiling, memory_words: int | None, chosen: Sequence[str], option: str) -> None:
    memory = tiling.parameters[0].name
    if memory_words is None and memory not in chosen:
        raise InputError(f"{option} {','.join(chosen)} is at one capacity; add memory (--memory), or choose {memory}")


def sizes_of(regimes: Regimes, memory_words: int) -> tuple[int, ...]:
    """The value of every parameter at a capacity and the extents of the workload."""
    extents = regimes.workload.extents
    return tuple(p.value(memory_words, extents) for p in regimes.tiling.parameters)


def regime_at(regimes: Regimes, memory_words: int) -> RegimeAt:
    """The regime, shape and proved loads at a capacity and the extents of the workload.

    Raises:
        InputError: if the memory is below one element of a tensor.
    """
    values = sizes_of(regimes, memory_words)
    found, region = place(regimes, values)
    known = dict(zip(regimes.names, values, strict=True))
    volumes = [regime.proof.volume(known) for regime in regimes.regimes if regime.proof is not None]
    return RegimeAt(
        memory_words=memory_words,
        regime=regimes.regimes.index(found),
        shape={
            digit.name: value(powers, values)
            for digit, powers in zip(regimes.tiling.digits, region.vertex, strict=True)
        },
        loads_words=strongest(METHOD, regimes.workload, memory_words, volumes, ()).loads_words,
    )


def _with_tile(regimes: Regimes, at: RegimeAt) -> RegimeAt:
    return replace(at, tile=fitted_tile(regimes.workload, regimes.tiling, at.shape, at.memory_words))


def place(regimes: Regimes, values: Sequence[int]) -> tuple[Regime, VertexRegion]:
    """The first regime and cone that hold a point.

    Args:
        regimes: the closed form.
        values: of every parameter.

    Raises:
        InputError: if the memory is below one element of a tensor.
    """
    for regime in regimes.regimes:
        if all(sign(row, values) >= 0 for row in regime.cone.facets):
            for region in regime.tiles:
                if all(sign(row, values) >= 0 for row in region.cone.facets):
                    return regime, region
    raise InputError(
        f"a memory of {several(values[0], 'word')} holds less than one element of a tensor; use a larger memory"
    )


def along(regimes: Regimes, name: str, values: Sequence[int]) -> Varied:
    """Where regime or tile change as one parameter grows from 1, the others fixed.

    Args:
        regimes: the closed form.
        name: of the parameter.
        values: of every parameter; that of the one that grows is not used.
    """
    axis = regimes.names.index(name)
    pieces: list[_Piece] = []
    for number, regime in enumerate(regimes.regimes):
        for region in regime.tiles:
            ends = _ends(region, axis, values)
            if ends is not None:
                pieces.append((number, region, *ends))
    chain: list[_Piece] = []
    here: Powers | None = None
    while True:
        following = _next(pieces, here, values)
        if following is None:
            break
        chain.append(following)
        here = following[3]
        if here is None:
            break
    firsts = [whole_above(low, values) for _, _, low, _ in chain]
    lasts = [*(first - 1 for first in firsts[1:]), None]
    return Varied(
        name=name,
        fixed={n: v for n, v in zip(regimes.names, values, strict=True) if n != name},
        stretches=tuple(
            ConeStretch(regime=number, region=region, low=low, low_value=value(low, values), first=first, last=last)
            for (number, region, low, _), first, last in zip(chain, firsts, lasts, strict=True)
        ),
    )


_Piece = tuple[int, VertexRegion, Powers, Powers | None]
"""Regime, cone, and the ends of its part of the line; None for no end."""


def _ends(region: VertexRegion, axis: int, values: Sequence[int]) -> tuple[Powers, Powers | None] | None:
    """Where the line is inside a cone; None if it misses it or touches it only."""
    low: Powers | None = None
    high: Powers | None = None
    for row in region.cone.facets:
        slope = row[axis]
        others = tuple(Fraction(0 if i == axis else x) for i, x in enumerate(row))
        if not slope:
            if sign(others, values) < 0:
                return None
            continue
        end = tuple(-x / slope for x in others)
        if slope > 0:
            low = end if low is None or _order(end, low, values) > 0 else low
        else:
            high = end if high is None or _order(end, high, values) < 0 else high
    if low is None:
        low = (Fraction(0),) * len(values)
    return None if high is not None and _order(low, high, values) >= 0 else (low, high)


def _order(a: Powers, b: Powers, values: Sequence[int]) -> int:
    """-1, 0 or 1 as one product is below, at or above another."""
    return sign([x - y for x, y in zip(a, b, strict=True)], values)


def _next(pieces: Sequence[_Piece], here: Powers | None, values: Sequence[int]) -> _Piece | None:
    """The first piece that holds the line just behind a place, or at its beginning; shared borders have several."""

    def order(a: _Piece, b: _Piece) -> int:
        return _order(a[2], b[2], values)

    if here is None:
        return min(pieces, key=cmp_to_key(order), default=None)
    for piece in pieces:
        if _order(piece[2], here, values) <= 0 and (piece[3] is None or _order(here, piece[3], values) < 0):
            return piece
    return None
