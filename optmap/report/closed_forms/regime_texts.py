"""What the forms of a closed form have in common: names, formulas and conditions as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from optmap.answers.closed_forms.regimes import Regime, Regimes
from optmap.report.closed_forms.products import number_powers, powers_of, product_text, sides
from optmap.solvers.cones import Row
from optmap.solvers.parametric import VertexRegion
from optmap.workloads.workload import Semantics


def regime_name(answer: Regimes, regime: Regime) -> str:
    """What limits a regime, in a few words."""
    if regime.fits:
        return "each tensor fits"
    if regime.moved:
        return f"{regime.moved} once"
    return f"tiles of {product_text(powers_of(answer.names, regime.volume))}"


def loads_text(answer: Regimes, regime: Regime) -> str | None:
    """The proved bound on loads as a formula; None if a regime proves none."""
    powers = answer.loads(regime)
    if regime.proof is None or powers is None:
        return None
    factor = number_powers(regime.proof.factor)
    text = product_text(factor | powers)
    return f"{text} - {created_text(answer)}" if answer.workload.semantics is Semantics.ASSIGN else text


def created(answer: Regimes) -> dict[str, Fraction]:
    """Words of the output, at most, as powers of its dims."""
    output, workload = answer.workload.output, answer.workload
    words = workload.weight(output)
    factor = {str(words): Fraction(1)} if words > 1 else {}
    dims = [d for axis in output.axes for d in axis.dims]
    return factor | {d: Fraction(dims.count(d)) for d in workload.dims if d in dims}


def created_text(answer: Regimes) -> str:
    """Words of the output, at most, as a formula."""
    return product_text(created(answer))


def conditions(answer: Regimes, rows: Sequence[Row], known: Sequence[Row] | None = None) -> list[str]:
    """Inequalities between products; those of the domain and other known ones are left out.

    Args:
        answer: gives the names.
        rows: inequalities.
        known: inequalities that are said elsewhere; None to leave nothing out.
    """
    return [inequality_text(answer, row) for row in needed(answer, rows, known)]


def needed(answer: Regimes, rows: Sequence[Row], known: Sequence[Row] | None) -> tuple[Row, ...]:
    """The inequalities of a cone that a larger one and the domain do not have."""
    said = () if known is None else (*known, *answer.domain.facets)
    return tuple(row for row in rows if row not in said)


def inequality_text(answer: Regimes, row: Row) -> str:
    """`i^2 <= M`."""
    less, more = sides(powers_of(answer.names, row))
    return f"{product_text(less)} <= {product_text(more)}"


def cut_text(answer: Regimes, region: VertexRegion) -> str:
    """A tile by what is cut: `k = M / n, h = 1, n and c whole`."""
    texts = tile_texts(answer, region)
    parts = [f"{name} = {text}" for name, text in texts.items() if text != name]
    whole = [name for name, text in texts.items() if text == name]
    if whole and parts:
        parts.append(f"{', '.join(whole)} whole")
    return ", ".join(parts) or "everything"


def tile_texts(answer: Regimes, region: VertexRegion) -> dict[str, str]:
    """Extent of the tile per dim or digit."""
    return {
        digit.name: product_text(powers_of(answer.names, powers))
        for digit, powers in zip(answer.tiling.digits, region.vertex, strict=True)
    }
