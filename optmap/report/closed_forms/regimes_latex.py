r"""A closed form by regimes as LaTeX: one `cases` of the loads, one of the shape of a tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optmap.answers.closed_forms.regimes import Regime, Regimes
from optmap.report.closed_forms.products import number_powers, powers_of, product_latex, sides
from optmap.report.closed_forms.regime_texts import created, needed
from optmap.solvers.cones import Row
from optmap.workloads.workload import Semantics


def regimes_latex(answer: Regimes) -> str:
    r"""Loads and shape as one `align*` environment; $N$ are extents, $T$ sizes of the shape, $M$ is the memory."""
    names = _names(answer)
    tile = ", ".join(_index("T", digit.name) for digit in answer.tiling.digits)
    body = [
        *_digits(answer, names),
        r"  \text{loads} &\ge \begin{cases}",
        *_cases(_loads_rows(answer, names)),
        r"  \end{cases} \\",
        rf"  ({tile}) &= \begin{{cases}}",
        *_cases(_tile_rows(answer, names)),
        r"  \end{cases}",
    ]
    return "\n".join([r"\begin{align*}", *body, r"\end{align*}"]) + "\n"


def _names(answer: Regimes) -> dict[str, str]:
    extents = {name: _index("N", name) for name in (*answer.workload.dims, *(d.name for d in answer.tiling.digits))}
    return extents | {answer.names[0]: "M"}


def _digits(answer: Regimes, names: dict[str, str]) -> Iterator[str]:
    """What the digits of a dim are."""
    for digit in answer.tiling.digits:
        if digit.factor > 1:
            whole = names[digit.dim]
            size = rf"\min({digit.factor}, {whole})" if digit.low else rf"\lceil {whole} / {digit.factor} \rceil"
            yield rf"  {names[digit.name]} &= {size} \\"


def _index(letter: str, name: str) -> str:
    if len(name) == 1:
        return f"{letter}_{{{name}}}"
    text = name.replace("_", r"\_")
    return rf"{letter}_{{\mathrm{{{text}}}}}"


def _cases(rows: Iterator[tuple[str, str]]) -> list[str]:
    return [rf"    {value} & {where} \\" for value, where in rows]


def _loads_rows(answer: Regimes, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for regime in answer.regimes:
        yield _loads(answer, regime, names), _where(answer, regime.cone.facets, names)


def _loads(answer: Regimes, regime: Regime, names: dict[str, str]) -> str:
    powers = answer.loads(regime)
    if regime.proof is None or powers is None:
        return r"\text{every touched word once}"
    text = product_latex(number_powers(regime.proof.factor) | powers, names)
    if answer.workload.semantics is Semantics.ASSIGN:
        return f"{text} - {product_latex(created(answer), names)}"
    return text


def _tile_rows(answer: Regimes, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for regime in answer.regimes:
        for region in regime.tiles:
            sizes = (product_latex(powers_of(answer.names, powers), names) for powers in region.vertex)
            yield f"({', '.join(sizes)})", _where(answer, region.cone.facets, names)


def _where(answer: Regimes, rows: Sequence[Row], names: dict[str, str]) -> str:
    texts = []
    for row in needed(answer, rows, ()):
        less, more = sides(powers_of(answer.names, row))
        texts.append(rf"{product_latex(less, names)} \le {product_latex(more, names)}")
    return rf"\text{{if }} {', '.join(texts)}" if texts else r"\text{always}"
