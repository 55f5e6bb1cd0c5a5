"""A network with chains of two products fused: table and JSON, beside those of its layers one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optmap.answers.over_capacity.fused import FusedChain, FusedCurve, FusedNetwork
from optmap.base.texts import percent, several, size_text
from optmap.report.answers.network import sums_document, sums_table
from optmap.report.merged import names_text
from optmap.report.tables import grid, notes_text, pairs, sizes

SOFTMAX = "Softmax"
IN_PLACE = (
    "functions in place cost no words; what they read beside the intermediate, such as a mask or a bias, is counted "
    "neither apart nor fused"
)
ONLINE = "a softmax in place is an online one: sums are rescaled as its row goes on, and what that needs is not counted"
ALONE = (
    "floor of each chain by itself: chains and remaining layers that run one after another move this at least; what "
    "stays between them, or in more than two products fused together, is not in it"
)


def fused_table(found: FusedNetwork) -> str:
    """The layers one by one, then the chains, then both added up and what was left."""
    rows = [
        (
            _title(found, each),
            f"{len(each.chain.pairs)}",
            f"{each.apart_words:,}",
            f"{each.fused_words:,}",
            f"{each.floor_words:,}",
            percent(each.saved_words, each.apart_words),
            _verdict(each),
        )
        for each in found.chains
    ]
    header = ("chain", "count", "apart (words)", "fused (words)", "floor (words)", "saved", "fusion")
    chains = "Chains of two products, words of one occurrence\n" + grid(header, "<>>>>><", rows)
    parts = [sums_table(found.sums), chains if rows else "no chain of two products was solved"]
    if rows:
        parts.append(pairs(line for each in found.chains for line in _statements(found, each)))
    parts += [_sums(found), _left([found]), notes_text(_notes(found))]
    return "\n\n".join(part for part in parts if part)


def fused_document(found: FusedNetwork) -> dict[str, object]:
    """The document of the layers one by one, with the chains."""
    return {**sums_document(found.sums), "fusion": _fusion(found)}


def curve_table(curve: FusedCurve) -> str:
    """What fusion saves capacity by capacity, and which chains pay where."""
    rows = [
        (
            size_text(found.capacity_bytes),
            f"{found.apart_words:,}",
            f"{found.fused_words:,}",
            f"{found.floor_words:,}",
            percent(found.saved_words, found.apart_words),
            f"{sum(len(each.fused) for each in found.chains)}",
        )
        for found in curve.samples
    ]
    header = ("capacity", "layer by layer (words)", "fused (words)", "floor (words)", "saved", "chains fused")
    saved: dict[str, list[str]] = {}
    for found in curve.samples:
        for each in found.chains:
            paying = saved.setdefault(_title(found, each), [])
            if each.saved_words:
                paying.append(f"{size_text(found.capacity_bytes)}: {percent(each.saved_words, each.apart_words)}")
    last = curve.samples[-1]
    parts = [
        f"{last.linked.name} with chains of two products fused\n" + grid(header, ">>>>>>", rows),
        pairs([(title, "; ".join(paying) or "does not pay") for title, paying in saved.items()]),
        _left(curve.samples),
        notes_text(_notes(last)),
    ]
    return "\n\n".join(part for part in parts if part)


def curve_document(curve: FusedCurve) -> dict[str, object]:
    """The same as a JSON document."""
    return {
        "schema": "optmap.fused-curve/1",
        "network": curve.samples[-1].linked.name,
        "curve": [{"capacity_bytes": each.capacity_bytes, **_fusion(each)} for each in curve.samples],
        "left_out": list(curve.left_out),
        "limited": curve.limited,
    }


def _fusion(found: FusedNetwork) -> dict[str, object]:
    return {
        "apart_words": found.apart_words,
        "fused_words": found.fused_words,
        "saved_words": found.saved_words,
        "floor_words": found.floor_words,
        "chains": [_chain_document(found, each) for each in found.chains],
        "remaining": {name: count for name, count in found.remaining.items() if count},
        "left": [{"names": _names(found, each.products), "reason": each.reason} for each in found.left],
        "notes": _notes(found),
    }


def _chain_document(found: FusedNetwork, each: FusedChain) -> dict[str, object]:
    workload = each.chain.workload
    return {
        "chain": _title(found, each),
        "layers": list(each.chain.layers),
        "count": len(each.chain.pairs),
        "names": [_names(found, pair) for pair in each.chain.pairs],
        "statements": list(workload.texts),
        "extents": workload.extents,
        "bytes": {access.name: access.bytes for access in workload.accesses},
        "in_place": list(each.chain.passed),
        "apart_words": each.apart_words,
        "fused_words": each.fused_words,
        "floor_words": each.floor_words,
        "saved_words": each.saved_words,
        "intermediate_stays": each.stays,
        "pays": each.saved_words > 0,
        "fused": [_names(found, pair) for pair in each.fused],
    }


def _names(found: FusedNetwork, products: Iterable[int]) -> list[str]:
    return [found.linked.products[number] for number in products]


def _title(found: FusedNetwork, each: FusedChain) -> str:
    """The products of the first occurrence."""
    return " > ".join(_names(found, each.chain.pairs[0]))


def _verdict(each: FusedChain) -> str:
    if not each.saved_words:
        return "does not pay" if each.stays else "does not pay: the intermediate moves all the same"
    if len(each.fused) == len(each.chain.pairs):
        return "pays"
    return f"pays, {len(each.fused)} of them fused: others that share a product save more"


def _statements(found: FusedNetwork, each: FusedChain) -> list[tuple[str, str]]:
    workload = each.chain.workload
    in_place = f"; in place: {', '.join(each.chain.passed)}" if each.chain.passed else ""
    lines = [(_title(found, each), workload.expression), ("", sizes(workload.extents) + in_place)]
    if len(each.chain.pairs) > 1:
        firsts, seconds = (names_text(_names(found, own)) for own in zip(*each.chain.pairs, strict=True))
        lines.append(("", f"{firsts} > {seconds}"))
    return lines


def _sums(found: FusedNetwork) -> str:
    fused = sum(len(each.fused) for each in found.chains)
    saved = percent(found.saved_words, found.apart_words)
    most = percent(found.apart_words - found.floor_words, found.apart_words)
    return pairs(
        [
            ("layer by layer", several(found.apart_words, "word")),
            ("fused", f"{several(found.fused_words, 'word')} with {several(fused, 'chain')} fused: {saved} saved"),
            (
                "floor",
                f"{several(found.floor_words, 'word')}: these chains and layers, each by itself, "
                f"cannot save over {most}",
            ),
        ]
    )


def _left(samples: Sequence[FusedNetwork]) -> str:
    """What was left for any memory, once per reason."""
    reasons: dict[str, list[str]] = {}
    for found in samples:
        for each in found.left:
            reasons.setdefault(each.reason, _names(found, each.products))
    rows = [(names_text(names), reason) for reason, names in reasons.items()]
    return grid(("first of no solved chain", "reason"), "<<", rows) if rows else ""


def _notes(found: FusedNetwork) -> list[str]:
    passed = {operator for each in found.chains for operator in each.chain.passed}
    return [*([IN_PLACE] if passed else []), *([ONLINE] if SOFTMAX in passed else []), ALONE]
