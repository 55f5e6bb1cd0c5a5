"""A whole network at one capacity, or on an accelerator: tables and JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optmap.answers.documents.amounts import amount
from optmap.answers.over_capacity.curves import MethodCurve
from optmap.answers.over_capacity.network_sums import MappedLayer, MappedNetwork, NetworkSums, Spent
from optmap.answers.over_capacity.networks import NetworkView, dominant, layer_shares, traffic_gap
from optmap.answers.over_capacity.sizing import saturation
from optmap.base.texts import in_percent, number, percent, several, size_text
from optmap.count.meshes.wires import wire_notes
from optmap.count.policies import nest_policy
from optmap.machines.fabric import fabric_of
from optmap.machines.fabric_notes import fabric_notes
from optmap.questions.options import Merit
from optmap.report.answers.accelerators import accelerator_line
from optmap.report.tables import grid, merged_block, notes_text, pairs, word_text
from optmap.workloads.workload import bytes_of

PRODUCT = "the network's EDP is its energy times its cycles, not the sum of those of its layers"
SINGLY = (
    "every layer is mapped for its own EDP; mappings that trade energy of one layer for cycles of another may do better"
)


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
            f"{share.operations:,}",
            f"{share.traffic_words:,}",
            f"{share.bound_words:,}",
            in_percent(share.traffic_gap, 2),
            in_percent(share.share),
        )
        for share in shares
    ]
    counts = sum(share.count for share in shares)
    total = (view.network.name, f"{counts}", f"{view.total.operations:,}", f"{traffic:,}", f"{bound:,}")
    rows.append((*total, in_percent(traffic_gap(traffic, bound), 2), "100.0 %"))
    header = ("layer", "count", "operations", "traffic (words)", "bound (words)", "traffic gap", "share")
    head = f"{view.network.name} on {view.total.place} of {size_text(capacity_bytes)}, mappings by {series.label}\n"
    saved = percent(traffic - view.total.compulsory_words, traffic)
    lines = [
        f"sums hold {view.coverage}",
        f"half of the traffic: {', '.join(dominant(shares))}",
        f"compulsory: {several(view.total.compulsory_words, 'word')}, so no larger cache can save more than {saved}",
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


def sums_document(sums: NetworkSums[NetworkView]) -> dict[str, object]:
    """The JSON document of `network` where words are added up: at the largest capacity."""
    series = sums.view.total.series[0]
    document = network_document(sums.view, series, series.samples[-1].capacity_bytes)
    return {"schema": "optmap.network/1", **document, "left_out": list(sums.left_out)}


def sums_table(sums: NetworkSums[NetworkView]) -> str:
    """The same for people."""
    series = sums.view.total.series[0]
    return network_table(sums.view, series, series.samples[-1].capacity_bytes) + _left_out(sums)


def _left_out(sums: NetworkSums[Any]) -> str:
    """What is said below sums over some of the layers."""
    return f"\ninterrupted: the sums leave out {', '.join(sums.left_out)}" if sums.left_out else ""


def mapped_document(sums: NetworkSums[MappedNetwork]) -> dict[str, object]:
    """The JSON document of `network` where energy and cycles are added up."""
    view, merit = sums.view, sums.view.merit
    spent, floor = view.spent, view.floor
    return {
        "schema": "optmap.accelerator-network/1",
        "network": view.network.name,
        "machine": view.machine.name,
        "method": view.method,
        "objective": view.objective,
        "counting": view.counting,
        "operations": view.network.operations,
        "energy": amount(spent.energy_pj, Merit.ENERGY.unit),
        "cycles": amount(Fraction(spent.cycles), Merit.CYCLES.unit),
        "edp": amount(spent.edp, Merit.EDP.unit),
        "cost": amount(view.cost, merit.unit),
        "search": {
            "bound": amount(view.bound, merit.unit),
            "proved_layers": sum(layer.proved for layer in view.layers),
        },
        "floor": {
            "energy": amount(floor.energy_pj, Merit.ENERGY.unit),
            "cycles": floor.cycles,
            "edp": amount(floor.edp, Merit.EDP.unit),
        },
        "limited": sums.limited,
        "left_out": list(sums.left_out),
        "unfit": {layer.workload.title: list(layer.broken) for layer in view.unfit},
        "layers": [_layer_document(layer, merit) for layer in view.layers],
        "notes": _notes(view),
    }


def _layer_document(layer: MappedLayer, merit: Merit) -> dict[str, object]:
    return {
        "workload": layer.workload.title,
        "names": list(layer.workload.layer_names),
        "count": layer.workload.count,
        "operations": layer.workload.operations,
        "energy": amount(layer.spent.energy_pj, Merit.ENERGY.unit),
        "cycles": layer.spent.cycles,
        "edp": amount(layer.spent.edp, Merit.EDP.unit),
        "search_bound": amount(layer.bound, merit.unit),
        "proved": layer.proved,
        "floor_energy": amount(layer.floor.energy_pj, Merit.ENERGY.unit),
        "floor_cycles": layer.floor.cycles,
        "seconds": layer.seconds,
    }


def _notes(view: MappedNetwork) -> list[str]:
    notes = [PRODUCT, SINGLY] if view.merit is Merit.EDP else [PRODUCT]
    if view.unfit:
        reasons = "; ".join(f"{layer.workload.title}: {', '.join(layer.broken)}" for layer in view.unfit)
        count = f"{len(view.unfit)} of {len(view.layers)} mappings do not fit {view.machine.name}"
        notes.append(f"{count}, and the sums hold what it cannot run: {reasons}")
    counting = nest_policy(view.counting)
    for layer in view.layers:
        fabric = fabric_of(layer.workload, view.machine)
        notes += [note for note in (*fabric_notes(fabric), *wire_notes(fabric, counting)) if note not in notes]
    return notes


def mapped_table(sums: NetworkSums[MappedNetwork]) -> str:
    """The layers and their sums for people."""
    view, network = sums.view, sums.view.network
    counts = f"{several(network.occurrences, 'layer')}, {len(view.layers)} of them different"
    method = f"{view.method}, objective {view.objective} of every layer, counting {view.counting}"
    head = [
        ("network", f"{network.name}: {counts}"),
        ("machine", accelerator_line(view.machine)),
        ("method", method),
    ]
    header = ("layer", "count", "operations", "energy (pJ)", "cycles", "EDP", "energy share", "status", "seconds")
    rows = [_mapped_line(layer, view.spent.energy_pj) for layer in view.layers]
    whole = (
        *_numbers(network.name, network.occurrences, network.operations, view.spent),
        "100.0 %",
        f"{sum(layer.proved for layer in view.layers)} of {len(view.layers)}",
        f"{sum(layer.seconds for layer in view.layers):.2f}",
    )
    layers = "Of one occurrence of each layer\n" + grid(header, "<>>>>>><>", [*rows, whole])
    names = merged_block(layer.workload for layer in view.layers)
    notes = notes_text(_notes(view))
    return "\n\n".join([pairs(head), layers, *names, pairs(_summary(view)), notes]) + _left_out(sums)


def _mapped_line(layer: MappedLayer, total: Fraction) -> tuple[str, ...]:
    workload, share = layer.workload, layer.workload.count * layer.spent.energy_pj
    status = "optimal" if layer.proved else "not proved"
    return (
        *_numbers(workload.title, workload.count, workload.operations, layer.spent),
        f"{100 * float(share / total):.1f} %" if total else "-",
        "does not fit" if layer.broken else status,
        f"{layer.seconds:.2f}",
    )


def _numbers(name: str, count: int, operations: int, spent: Spent) -> tuple[str, ...]:
    energy = number(float(spent.energy_pj))
    return name, f"{count:,}", f"{operations:,}", energy, f"{spent.cycles:,}", f"{float(spent.edp):.6g}"


def _summary(view: MappedNetwork) -> list[tuple[str, str]]:
    """The objective of the whole network, its bound and its floor."""
    value, bound, unit = view.cost, view.bound, view.merit.unit
    lines = [(view.objective, f"{float(value):.9g} {unit} of the whole network")]
    if bound:
        over = f"the sum is {100 * float(value / bound - 1):.3g} % above"
        lines.append(("bound", f"{float(bound):.9g} {unit} over all mappings of the layers; {over}"))
    floor = view.floor.merit(view.merit)
    return [*lines, ("floor", f"{float(floor):.9g} {unit}, of every schedule of the layers")]
