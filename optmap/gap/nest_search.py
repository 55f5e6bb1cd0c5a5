"""What a search on an accelerator did, as the `search` of a solution document has it."""

from __future__ import annotations

from optmap.search.accelerators.result import MapspaceSearch
from optmap.texts import plain


def search_claims(search: MapspaceSearch) -> dict[str, object]:
    """What the digest of the document covers: bound and counts, no times.

    Of a method that has mappings judged one by one also how many were valid, its settings, why it ended, and per rule
    how many candidates it was asked about and left out.
    """
    claims: dict[str, object] = {
        "bound": plain(search.bound),
        "proved": search.proved,
        "proof": search.proof,
        "evaluations": search.evaluations,
    }
    trace = search.trace
    if trace is None:
        return claims
    return claims | {
        "valid": trace.valid,
        "valid_share": trace.valid_share,
        "ended": None if trace.end is None else trace.end.value,
        "settings": dict(trace.settings),
        "cuts": [{"rule": cut.rule, "seen": cut.seen, "cut": cut.cut} for cut in trace.cuts],
    }


def search_times(search: MapspaceSearch) -> dict[str, object]:
    """What is other the next time: seconds, and the curve of the best as [evaluations, seconds, value]."""
    return {
        "seconds": search.seconds,
        "seconds_to_best": search.seconds_to_best,
        "curve": [[point.evaluations, point.seconds, point.value] for point in search.curve],
    }
