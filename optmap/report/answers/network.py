"""A whole network at one capacity: table and JSON."""

from __future__ import annotations

from optmap.answers.over_capacity.curves import MethodCurve
from optmap.answers.over_capacity.networks import NetworkView, dominant, layer_shares, traffic_gap
from optmap.answers.over_capacity.sizing import saturation
from optmap.base.texts import percent, size_text
from optmap.report.tables import grid, merged_block, word_text
from optmap.workloads.workload import bytes_of


def network_table(view: NetworkView, series: MethodCurve, capacity_bytes: int) -> str:
    """Layers, totals and conclusions at one capacity, as text.

    Args:
        view: the network on a machine.
        series: the curve of the total to report.
        capacity_bytes: capacity at which the layers are listed.

    Raises:
        InputError: if a layer has no mapping for so little memory.
    """
    shares = layer_shares(view, series.label, capacity_bytes)
    traffic = sum(share.traffic_words for share in shares)
    bound = sum(share.bound_words for share in shares)
    rows = [
        (
            share.workload,
            f"{share.count}",
            f"{share.operations:,.0f}",
            f"{share.traffic_words:,}",
            f"{share.bound_words:,}",
            _gap_text(share.traffic_gap),
            f"{100 * share.share:.1f} %",
        )
        for share in shares
    ]
    counts = sum(share.count for share in shares)
    total = (view.network.name, f"{counts}", f"{view.total.operations:,.0f}", f"{traffic:,}", f"{bound:,}")
    rows.append((*total, _gap_text(traffic_gap(traffic, bound)), "100.0 %"))
    header = ("layer", "count", "operations", "traffic (words)", "bound (words)", "traffic gap", "share")
    head = f"{view.network.name} on {view.total.place} of {size_text(capacity_bytes)}, mappings by {series.label}\n"
    saved = percent(traffic - view.total.compulsory_words, traffic)
    lines = [
        f"sums hold {view.coverage}",
        f"half of the traffic: {', '.join(dominant(shares))}",
        f"compulsory: {view.total.compulsory_words:,} words, so no larger cache can save more than {saved}",
        f"a word has {word_text(view.total.word_bits)}; all layers together move "
        f"{size_text(bytes_of(traffic * view.total.word_bits))}",
    ]
    stop = saturation(view.total, series)
    if stop is not None:
        lines.append(stop.text)
    names = merged_block(view.network.layers)
    return "\n\n".join([head + grid(header, "<>>>>>>", rows), *names, "\n".join(lines)])


def network_document(view: NetworkView, series: MethodCurve, capacity_bytes: int) -> dict[str, object]:
    """The same as a JSON document.

    Raises:
        InputError: if a layer has no mapping for so little memory.
    """
    shares = layer_shares(view, series.label, capacity_bytes)
    traffic = sum(share.traffic_words for share in shares)
    bound = sum(share.bound_words for share in shares)
    stop = saturation(view.total, series)
    names = {layer.title: list(layer.layer_names) for layer in view.network.layers}
    return {
        "network": view.network.name,
        "machine": view.total.machine,
        "level": view.total.level,
        "capacity_bytes": capacity_bytes,
        "method": series.label,
        "missing": list(view.missing),
        "operations": view.total.operations,
        "word_bits": view.total.word_bits,
        "compulsory_words": view.total.compulsory_words,
        "traffic_words": traffic,
        "bound_words": bound,
        "compulsory_bytes": bytes_of(view.total.compulsory_words * view.total.word_bits),
        "traffic_bytes": bytes_of(traffic * view.total.word_bits),
        "bound_bytes": bytes_of(bound * view.total.word_bits),
        "traffic_gap": traffic_gap(traffic, bound),
        "dominant": list(dominant(shares)),
        "stops_paying_bytes": None if stop is None or stop.at_end else stop.capacity_bytes,
        "layers": [
            {
                "workload": share.workload,
                "names": names[share.workload],
                "count": share.count,
                "operations": share.operations,
                "compulsory_words": share.compulsory_words,
                "traffic_words": share.traffic_words,
                "bound_words": share.bound_words,
                "traffic_gap": share.traffic_gap,
                "share": share.share,
            }
            for share in shares
        ],
    }


def _gap_text(gap: float | None) -> str:
    return "-" if gap is None else f"{100 * gap:.2f} %"
