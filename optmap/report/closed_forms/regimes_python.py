"""A closed form by regimes as the text of Python functions that need nothing but Python."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence

from optmap.answers.closed_forms.regimes import Regime, Regimes
from optmap.report.closed_forms.products import number_powers, powers_of, product_python, sides
from optmap.report.closed_forms.regime_texts import created, needed, regime_name
from optmap.solvers.cones import Row
from optmap.workloads.workload import Semantics, TensorAccess, Workload

RESERVED = (
    *("loads", "loads_and_tile", "loads_and_shape", "ValueError", "max", "min", "int"),
    *("shape", "sizes", "words", "tile", "low", "high", "middle"),
)
"""Names that the functions themselves use."""


def regimes_python(answer: Regimes) -> str:
    """`loads_and_tile(M, i, j, ...)`: loads at least, and a tile that fits; `loads_and_shape` is what it rests on."""
    names = _names(answer)
    arguments = ", ".join(names[name] for name in (answer.names[0], *answer.workload.dims))
    lines = [
        f"def loads_and_tile({arguments}):",
        *(f"    {line}".rstrip() for line in _tile_docstring(answer, names)),
        *(f"    {line}" for line in _tile_lines(answer, names, arguments)),
        "",
        "",
        f"def loads_and_shape({arguments}):",
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


def _expression(answer: Regimes) -> str:
    return answer.workload.expression.replace("\\", "").replace('"', "'")


def _tile_docstring(answer: Regimes, names: dict[str, str]) -> list[str]:
    memory = names[answer.names[0]]
    return [
        f'"""Words that every schedule of {_expression(answer)} loads, at least, and a tile that fits.',
        "",
        f"{memory} is the fast memory in words; the others are extents. The loads are proved, 0 where nothing but that",
        "every touched word is loaded once. The tile has whole sizes, and all tensors fit into the memory together: it",
        "is the shape of a smaller memory, rounded down. None where not even one element of each fits.",
        '"""',
    ]


def _tile_lines(answer: Regimes, names: dict[str, str], arguments: str) -> Iterator[str]:
    """The largest memory, in whole words, of whose shape all tensors fit together."""
    workload, memory = answer.workload, names[answer.names[0]]
    least = sum(workload.weight(tensor) for tensor in workload.tensors)
    first = max(workload.weight(tensor) for tensor in workload.tensors)
    sizes = []
    for dim in workload.dims:
        parts = " * ".join(f'shape["{d.name}"]' for d in answer.tiling.digits if d.dim == dim)
        sizes.append(f'"{dim}": max(1, min({names[dim]}, int(({parts}) * (1 + 1e-9)))),')
    ones = ", ".join(f'"{dim}": 1' for dim in workload.dims)
    yield f"loads = loads_and_shape({arguments})[0]"
    yield f"tile = {{{ones}}} if {least} <= {memory} else None"
    yield f"low, high = {first}, {memory}"
    yield "while low <= high:"
    yield "    middle = (low + high) // 2"
    yield f"    shape = loads_and_shape(middle, {', '.join(names[d] for d in workload.dims)})[1]"
    yield "    sizes = {"
    yield from (f"        {text}" for text in sizes)
    yield "    }"
    yield f"    words = {' + '.join(_words(workload, tensor) for tensor in workload.tensors)}"
    yield f"    if words <= {memory}:"
    yield "        tile, low = sizes, middle + 1"
    yield "    else:"
    yield "        high = middle - 1"
    yield "return loads, tile"


def _words(workload: Workload, tensor: TensorAccess) -> str:
    """Words of a tensor that a tile needs, at most: of a window its hull, or one per iteration where that is less."""
    parts = [str(workload.weight(tensor))] if workload.weight(tensor) > 1 else []
    for axis in tensor.axes:
        own = [f'sizes["{dim}"]' for dim in axis.dims]
        hull = " + ".join(f'{factor} * (sizes["{dim}"] - 1)' for dim, factor in axis.terms)
        parts += [f"min({' * '.join(own)}, 1 + {hull})"] if len(own) > 1 else own
    return " * ".join(parts) or "1"


def _docstring(answer: Regimes, names: dict[str, str]) -> list[str]:
    return [
        f'"""Words that every schedule of {_expression(answer)} loads, at least, and the shape of a tile.',
        "",
        f"{names[answer.names[0]]} is the fast memory in words; the others are extents. The loads are proved, 0 where",
        "nothing but that every touched word is loaded once. The shape is asymptotic: real sizes, optimal up to a",
        "constant factor, of which each tensor alone fits, and all together mostly do not.",
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
