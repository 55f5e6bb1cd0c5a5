"""A closed form by regimes: table and document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optmap.answers.closed_forms.regime_lookup import ConeStretch, RegimeAt, Varied
from optmap.answers.closed_forms.regimes import Regime, Regimes
from optmap.base.texts import number, several
from optmap.bounds.fixed_exponents import COLD_START, OUTPUTS_CREATED, OUTPUTS_LOADED
from optmap.files.workloads import workload_document
from optmap.report.closed_forms.products import powers_of, product_text
from optmap.report.closed_forms.regime_texts import conditions, cut_text, loads_text, regime_name, tile_texts
from optmap.report.closed_forms.regimes_latex import regimes_latex
from optmap.report.closed_forms.regimes_python import regimes_python
from optmap.report.tables import grid, pairs, workload_lines
from optmap.workloads.workload import Semantics

SCHEMA = "optmap.regimes/2"


def regimes_document(answer: Regimes) -> dict[str, object]:
    """The JSON document of `closed-form`."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(answer.workload),
        "parameters": [{"name": p.name, "stands_for": p.text} for p in answer.tiling.parameters],
        "domain": conditions(answer, answer.domain.facets),
        "regimes": [_regime_document(answer, regime) for regime in answer.regimes],
        "proved": proved_lines(answer),
        "asymptotic": asymptotic_lines(answer),
        "latex": regimes_latex(answer),
        "python": regimes_python(answer),
        "at": None if answer.at is None else _at_document(answer.at),
        "vary": None if answer.varied is None else _varied_document(answer, answer.varied),
    }


def _regime_document(answer: Regimes, regime: Regime) -> dict[str, Any]:
    proof, names = regime.proof, answer.names
    return {
        "name": regime_name(answer, regime),
        "operations_per_tile": product_text(powers_of(names, regime.volume)),
        "where": conditions(answer, regime.cone.facets, ()),
        "inequalities": [list(row) for row in regime.cone.facets],
        "loads": loads_text(answer, regime),
        "loads_factor": None if proof is None else proof.factor_value,
        "exponents": {}
        if proof is None
        else {name: str(s) for name, _, s in proof.tensors} | {f"L[{name}]": str(z) for name, z in proof.sizes},
        "shapes": [
            {
                "shape": tile_texts(answer, region),
                "where": conditions(answer, region.cone.facets, regime.cone.facets),
                "inequalities": [list(row) for row in region.cone.facets],
            }
            for region in regime.tiles
        ],
    }


def _at_document(at: RegimeAt) -> dict[str, Any]:
    tile = at.tile
    return {
        "memory_words": at.memory_words,
        "regime": at.regime + 1,
        "loads_words": at.loads_words,
        "shape": at.shape,
        "tile": None if tile is None else tile.sizes,
        "tile_words": None if tile is None else tile.words,
        "tile_permutation": None if tile is None else list(tile.permutation),
        "tile_loads_words": None if tile is None else tile.loads_words,
    }


def _varied_document(answer: Regimes, varied: Varied) -> dict[str, Any]:
    return {
        "parameter": varied.name,
        "fixed": varied.fixed,
        "stretches": [
            {
                "regime": stretch.regime + 1,
                "name": regime_name(answer, answer.regimes[stretch.regime]),
                "from": product_text(powers_of(answer.names, stretch.low)),
                "from_value": stretch.low_value,
                "first": stretch.first,
                "last": stretch.last,
                "loads": loads_text(answer, answer.regimes[stretch.regime]),
                "shape": tile_texts(answer, stretch.region),
            }
            for stretch in varied.stretches
        ],
    }


def proved_lines(answer: Regimes) -> list[str]:
    """What the bounds take for granted, and where they hold."""
    assign = answer.workload.semantics is Semantics.ASSIGN
    lines = [
        "loads >= holds for every schedule, every M and all extents, its constant factor included; the regime is "
        "where it is the largest up to that factor",
        "whatever the regime, every touched word is loaded once",
        COLD_START,
        OUTPUTS_CREATED if assign else OUTPUTS_LOADED,
    ]
    if any(regime.proof is None and not regime.fits for regime in answer.regimes):
        lines.append("a regime without a loads line has no proof here: its place in the order of growth is asymptotic")
    return lines


def asymptotic_lines(answer: Regimes) -> list[str]:
    """What holds up to a constant factor only."""
    tensors = len({row.access for row in answer.tiling.rows})
    lines = [
        "a shape is the tile, in real numbers, that maximises the operations per tile where each tensor alone fits "
        f"into M; all together take up to {tensors}*M words, more than M holds: --memory gives a tile of whole "
        "numbers, of which all fit together, with the loads of its mapping",
    ]
    if any(len(axis.terms) > 1 for tensor in answer.workload.tensors for axis in tensor.axes):
        lines.append(
            "each summand of a window's subscript is bounded by M alone: up to a factor 2 per window in its words"
        )
    if any(digit.factor > 1 and not digit.low for digit in answer.tiling.digits):
        lines.append(
            "high digits are rounded up, as proofs need them: where a stride or dilation does not divide, a tile has "
            "up to twice the values of its dim"
        )
    return lines


def regimes_table(answer: Regimes) -> str:
    """The closed form for people."""
    cones = sum(len(regime.tiles) for regime in answer.regimes)
    lines = [
        pairs(
            [
                *workload_lines(answer.workload),
                ("parameters", "; ".join(_parameter_texts(answer))),
                ("covers", ", ".join(_domain_texts(answer))),
                ("regimes", f"{len(answer.regimes)}, with {cones} shapes of tiles; they share borders only"),
            ]
        ),
        "",
        *(line for i, regime in enumerate(answer.regimes) for line in _regime_lines(answer, i, regime)),
        "proved:",
        *(f"  {text}" for text in proved_lines(answer)),
        "asymptotic:",
        *(f"  {text}" for text in asymptotic_lines(answer)),
    ]
    if answer.at is not None:
        lines += ["", *_at_lines(answer, answer.at)]
    if answer.varied is not None:
        lines += ["", *_varied_lines(answer, answer.varied)]
    return "\n".join(lines)


def _parameter_texts(answer: Regimes) -> Iterator[str]:
    plain = [p.name for p in answer.tiling.parameters if p.digit is not None and p.digit.factor == 1]
    yield f"{answer.names[0]} words of fast memory"
    if plain:
        yield f"extents {', '.join(plain)}"
    for p in answer.tiling.parameters[1:]:
        if p.digit is not None and p.digit.factor > 1:
            yield f"{p.name} = {p.text}"


def _domain_texts(answer: Regimes) -> list[str]:
    return [text.replace("1 <= ", "") + " >= 1" if text.startswith("1 <= ") else text for text in _domain(answer)]


def _domain(answer: Regimes) -> list[str]:
    numbers = {p.name for p in answer.tiling.parameters if p.number is not None}
    return [text for text in conditions(answer, answer.domain.facets) if text.removeprefix("1 <= ") not in numbers]


def _regime_lines(answer: Regimes, index: int, regime: Regime) -> Iterator[str]:
    where = conditions(answer, regime.cone.facets, ())
    yield f"{index + 1:>2}  {regime_name(answer, regime)}{_where(where)}"
    loads = loads_text(answer, regime)
    yield f"    loads >= {loads}" if loads else "    loads: every touched word once"
    for region in regime.tiles:
        own = conditions(answer, region.cone.facets, regime.cone.facets)
        yield f"    shape {cut_text(answer, region)}{_where(own)}"
    yield ""


def _where(texts: Sequence[str]) -> str:
    return f", where {', '.join(texts)}" if texts else ""


def _at_lines(answer: Regimes, at: RegimeAt) -> list[str]:
    regime = answer.regimes[at.regime]
    return [
        f"With {several(at.memory_words, 'word')} of fast memory",
        pairs(
            [
                ("regime", f"{at.regime + 1}, {regime_name(answer, regime)}"),
                ("loads", f"{several(at.loads_words, 'word')} at least, by all regimes and every touched word once"),
                ("shape", f"{_sizes(at.shape)} (real numbers; each tensor alone fits)"),
                *_tile_lines(at),
            ]
        ),
    ]


def _tile_lines(at: RegimeAt) -> Iterator[tuple[str, str]]:
    """The tile that fits and what it moves, or that none does."""
    if at.tile is None:
        yield "tile", f"none: one element of every tensor takes more than {several(at.memory_words, 'word')}"
        return
    tile, loops = at.tile, " ".join(at.tile.permutation)
    yield "tile", f"{_sizes(tile.sizes)} (whole numbers; all tensors fit together, in {several(tile.words, 'word')})"
    above = f", {100 * (tile.loads_words / at.loads_words - 1):.1f} % above" if at.loads_words else ""
    yield (
        "  loads",
        f"{several(tile.loads_words, 'word')}{above}, of this tile with loops over tiles {loops} (outer ... inner)",
    )


def _sizes(sizes: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={number(size)}" for name, size in sizes.items())


def _varied_lines(answer: Regimes, varied: Varied) -> list[str]:
    fixed = ", ".join(f"{name}={size}" for name, size in varied.fixed.items())
    rows = [
        (
            product_text(powers_of(answer.names, stretch.low)),
            number(stretch.low_value),
            _whole(stretch),
            f"{stretch.regime + 1}",
            regime_name(answer, answer.regimes[stretch.regime]),
            cut_text(answer, stretch.region),
        )
        for stretch in varied.stretches
    ]
    return [
        f"Along {varied.name}, with {fixed}",
        grid((f"{varied.name} from", "=", "whole", "", "regime", "shape"), "<>><<<", rows),
    ]


def _whole(stretch: ConeStretch) -> str:
    if stretch.last is None:
        return f"{stretch.first:,} on"
    if stretch.last < stretch.first:
        return "none"
    return f"{stretch.first:,}" if stretch.first == stretch.last else f"{stretch.first:,} to {stretch.last:,}"
