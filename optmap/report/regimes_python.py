"""A closed form by regimes as the text of a Python function that needs nothing but Python."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence

from optmap.gap.regimes import Regime, Regimes
from optmap.problem.workload import Semantics
from optmap.report.products import number_powers, powers_of, product_python, sides
from optmap.report.regime_texts import created, needed, regime_name
from optmap.solvers.cones import Row

RESERVED = ("loads", "loads_and_tile", "ValueError", "max")
"""Names that the function itself uses."""


def regimes_python(answer: Regimes) -> str:
    """The function `loads_and_tile(M, i, j, ...)`: loads at least, and extent per dim or digit of a tile."""
    names = _names(answer)
    arguments = ", ".join(names[name] for name in (answer.names[0], *answer.workload.dims))
    lines = [
        f"def loads_and_tile({arguments}):",
        *(f"    {line}".rstrip() for line in _docstring(answer, names)),
        *(f"    {line}" for line in _digits(answer, names)),
        f"    if not ({_where(answer, answer.domain.facets, names, None)}):",
        '        raise ValueError("the memory holds an element of every tensor, and every extent is at least 1")',
        *(line for regime in answer.regimes for line in _regime_lines(answer, regime, names)),
        '    raise ValueError("sizes are numbers")',
    ]
    return "\n".join(lines) + "\n"


def _names(answer: Regimes) -> dict[str, str]:
    """Identifiers of the function per dim, digit and memory."""
    found: dict[str, str] = {}
    for name in (answer.names[0], *answer.workload.dims, *(d.name for d in answer.tiling.digits)):
        free = name
        while keyword.iskeyword(free) or free in RESERVED or free in found.values():
            free += "_"
        if name not in found:
            found[name] = free
    return found


def _docstring(answer: Regimes, names: dict[str, str]) -> list[str]:
    what = answer.workload.expression.replace("\\", "").replace('"', "'")
    return [
        f'"""Words that every schedule of {what} loads, at least, and a tile.',
        "",
        f"{names[answer.names[0]]} is the fast memory in words; the others are extents. The loads are proved, 0 where",
        "nothing but that every touched word is loaded once; the tile is optimal up to a constant factor.",
        '"""',
    ]


def _digits(answer: Regimes, names: dict[str, str]) -> Iterator[str]:
    for digit in answer.tiling.digits:
        if digit.factor > 1:
            dim = names[digit.dim]
            size = (
                f"{dim} if {dim} < {digit.factor} else {digit.factor}" if digit.low else f"-(-{dim} // {digit.factor})"
            )
            yield f"{names[digit.name]} = {size}"


def _regime_lines(answer: Regimes, regime: Regime, names: dict[str, str]) -> Iterator[str]:
    yield f"    if {_where(answer, regime.cone.facets, names, ())}:  # {regime_name(answer, regime)}"
    yield f"        loads = {_loads(answer, regime, names)}"
    for region in regime.tiles:
        where = _where(answer, region.cone.facets, names, regime.cone.facets)
        sizes = (
            f'"{digit.name}": {product_python(powers_of(answer.names, powers), names)}'
            for digit, powers in zip(answer.tiling.digits, region.vertex, strict=True)
        )
        result = f"return loads, {{{', '.join(sizes)}}}"
        yield f"        if {where}:" if where != "True" else f"        {result}"
        if where != "True":
            yield f"            {result}"


def _loads(answer: Regimes, regime: Regime, names: dict[str, str]) -> str:
    powers = answer.loads(regime)
    if regime.proof is None or powers is None:
        return "0"
    text = product_python(number_powers(regime.proof.factor) | powers, names)
    if answer.workload.semantics is Semantics.ASSIGN:
        return f"max(0, {text} - {product_python(created(answer), names)})"
    return text


def _where(answer: Regimes, rows: Sequence[Row], names: dict[str, str], known: Sequence[Row] | None) -> str:
    """Comparisons of products with whole powers: exact for whole numbers."""
    texts = []
    for row in needed(answer, rows, known):
        less, more = sides(powers_of(answer.names, row))
        texts.append(f"{product_python(less, names)} <= {product_python(more, names)}")
    return " and ".join(texts) or "True"
