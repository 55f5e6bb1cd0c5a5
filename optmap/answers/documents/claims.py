"""What a solution document claims beside its mapping, held against the recount."""

from __future__ import annotations

from math import isclose

from optmap.answers.documents.solution import SavedSolution
from optmap.base.texts import several
from optmap.bounds.certificate import digest
from optmap.checker import RefusedError, check_document
from optmap.count.results import CostReport
from optmap.files.fields import Fields

CLAIMS = ("boundaries", "levels", "bottleneck", "cost", "exact", "relaxation", "integer_gap", "bound", "gap")
"""What `solve` writes; a document with all of it, and with its certificates, is shown to the independent checker."""
UNSIGNED = ("digest", "seconds", "others")
"""Keys that the digest of a document leaves out; other mappings are documents of their own, each with a digest."""
TOLERANCE = 1e-9
"""Relative difference at which a claimed float still agrees with the recount."""


def claim_disagreements(solution: SavedSolution, report: CostReport, cost: float, exact: float) -> list[str]:
    """Claims about levels, bound and gaps that do not hold.

    A complete document is shown to the independent checker, signed anew so that the reason is the
    claim and not the signature; of a document written by hand, what is there is recounted.

    Args:
        solution: the document.
        report: the recount, level by level.
        cost: the recounted objective in per-level form.
        exact: that of the whole nest.

    Returns:
        One sentence each.

    Raises:
        InputError: for a claim that has not the form of one.
    """
    fields = Fields.of(solution.document, solution.source)
    if all(fields.has(key) for key in (*CLAIMS, "certificates")):
        return _refusals(solution.document)
    found = [*_levels(fields, report), *_bottleneck(fields, report)]
    found += _gap(fields, "gap", exact, "bound")
    return found + _gap(fields, "integer_gap", cost, "relaxation")


def _refusals(document: dict[str, object]) -> list[str]:
    signed = {key: value for key, value in document.items() if key not in UNSIGNED}
    mark = digest(signed)
    changed = ["digest is not that of the document: it was changed"] if document.get("digest", mark) != mark else []
    try:
        check_document({**document, "digest": mark})
    except RefusedError as error:
        return [f"the checker refuses it: {error}", *changed]
    return changed


def _levels(fields: Fields, report: CostReport) -> list[str]:
    if not fields.has("levels"):
        return []
    claims = fields.items("levels")
    if len(claims) != len(report.levels):
        return [f"levels has {several(len(claims), 'row')}, the machine has {len(report.levels)}"]
    found = []
    for claim, counted in zip(claims, report.levels, strict=True):
        for key in ("occupancy_words", "traffic_words"):
            value = getattr(counted, key)
            if claim.has(key) and claim.integer(key, least=0) != value:
                found.append(f"levels says {key} {claim.get(key)} of {counted.level}, counted {value}")
        if claim.has("cycles") and not isclose(claim.number("cycles"), counted.cycles, rel_tol=TOLERANCE):
            found.append(f"levels says {claim.get('cycles')} cycles of {counted.level}, counted {counted.cycles:.10g}")
    return found


def _bottleneck(fields: Fields, report: CostReport) -> list[str]:
    counted = report.bottleneck
    if not fields.has("bottleneck") or fields.text("bottleneck") == counted:
        return []
    return [f"bottleneck says {fields.get('bottleneck')!r}, counted {counted}"]


def _gap(fields: Fields, key: str, counted: float, base: str) -> list[str]:
    """A gap is what was counted over its base, minus one; the base, a lower bound, is not above it."""
    if fields.values.get(base) is None:
        return [f"{key} says {fields.number(key):.6g}, but there is no {base}"] if fields.values.get(key) else []
    inside = fields.fields(base)
    below = 0.0 if inside.values.get("value") is None else inside.number("value")
    found = []
    if below > counted * (1 + TOLERANCE) and base == "bound":
        found.append(f"bound says {below:.10g}, but {counted:.10g} are moved: a contradiction")
    if fields.values.get(key) is not None and below > 0:
        gap = counted / below - 1
        if not isclose(1 + fields.number(key), 1 + gap, rel_tol=TOLERANCE):
            found.append(f"{key} says {fields.number(key):.6g}, {counted:.10g} over {below:.10g} makes {gap:.6g}")
    return found
