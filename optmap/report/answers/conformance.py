"""Records of another model against optmap's counts: table and JSON."""

from __future__ import annotations

from dataclasses import asdict

from optmap.answers.side_by_side.conformance import Conformance
from optmap.base.texts import several
from optmap.questions.policy import Footprint

SCHEMA = "optmap.conformance/1"
"""Name and version of the document."""
FOREIGN = (
    "the records are another model's than the one that counted, so numbers differ without a fault: theirs counts "
    "{home}; {counting} {counted}"
)
"""Why records of one model differ from the counts of another."""
MOST_NAMES = 12
"""Records that a line names."""


def conformance_document(found: Conformance) -> dict[str, object]:
    """The JSON document of `conformance`."""
    return {
        "schema": SCHEMA,
        "counting": found.counting.name,
        "foreign": found.foreign,
        "records": found.records,
        "compared": found.compared,
        "agree": found.agree,
        "mismatches": [asdict(mismatch) for mismatch in found.mismatches],
        "marked": list(found.marked),
        "not_compared": list(found.left_out),
        "quirks": list(found.quirks),
        "gaps": list(found.gaps),
    }


def conformance_table(found: Conformance) -> str:
    """Every mismatch on a line, then a summary."""
    lines = [str(mismatch) for mismatch in found.mismatches]
    records = len({mismatch.record for mismatch in found.mismatches})
    verdict = "all agree" if found.agree else f"{len(found.mismatches):,} differ, in {_many(records)}"
    lines.append(
        f"{_many(found.records)}, counting {found.counting}: {several(found.compared, 'number')} compared, {verdict}"
    )
    if found.foreign:
        told = FOREIGN.format(home=found.home.description, counting=found.counting, counted=found.counting.description)
        lines.append(f"note: {told}")
    if found.left_out:
        lines.append(
            f"note: of {_names(found.left_out)} the records give a walk's numbers where it counts differently; these "
            "were expected, and energy and cycles that follow from them not compared"
        )
    if found.quirks:
        lines.append(
            f"note: in {_names(found.quirks)} wires lead to a level that passes a tensor by, or carry an output of the "
            f"outermost memory; Timeloop has a way of its own there, which {found.counting} counting leaves out: their "
            "energies "
            "were not compared"
        )
    if found.counting.walked and found.counting.footprint is Footprint.TOUCHED and found.gaps:
        lines.append(
            f"note: tiles of {_names(found.gaps)} have gaps; they were counted as hulls, as the records have them: "
            f"elsewhere {found.counting} counting leaves gaps out"
        )
    return "\n".join(lines)


def _many(records: int) -> str:
    return f"{records:,} record{'' if records == 1 else 's'}"


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
