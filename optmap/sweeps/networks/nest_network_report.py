"""A network on an accelerator: table and JSON."""

from __future__ import annotations

from fractions import Fraction

from optmap.answers.documents.amounts import amount
from optmap.base.texts import number, several
from optmap.count.meshes.wires import wire_notes
from optmap.count.policies import nest_policy
from optmap.machines.fabric import fabric_of
from optmap.machines.fabric_notes import fabric_notes
from optmap.questions.options import Merit
from optmap.report.answers.accelerators import accelerator_line
from optmap.report.tables import grid, merged_block, pairs
from optmap.sweeps.networks.nest_networks import MappedLayer, NetworkNests, left_out_text

SCHEMA = "optmap.accelerator-network/1"
PRODUCT = "the network's EDP is its energy times its cycles, not the sum of those of its layers"
SINGLY = (
    "every layer is mapped for its own EDP; mappings that trade energy of one layer for cycles of another may do better"
)


def network_document(sums: NetworkNests) -> dict[str, object]:
    """The JSON document of `network` on an accelerator."""
    return {
        "schema": SCHEMA,
        "network": sums.network.name,
        "machine": sums.machine.name,
        "method": sums.method,
        "objective": sums.merit.value,
        "counting": sums.counting,
        "operations": sums.network.operations,
        "energy": amount(sums.energy_pj, "pJ"),
        "cycles": amount(Fraction(sums.cycles), "cycles"),
        "edp": amount(sums.edp, Merit.EDP.unit),
        "cost": amount(sums.value, sums.merit.unit),
        "search": {
            "bound": amount(sums.bound, sums.merit.unit),
            "proved_layers": sum(layer.proved for layer in sums.layers),
        },
        "floor": {
            "energy": amount(sums.floor_pj, "pJ"),
            "cycles": sums.floor_cycles,
            "edp": amount(sums.floor_pj * sums.floor_cycles, Merit.EDP.unit),
        },
        "limited": sums.limited,
        "left_out": list(sums.left_out),
        "unfit": {layer.workload.title: list(layer.broken) for layer in sums.unfit},
        "layers": [_layer(layer, sums.merit) for layer in sums.layers],
        "notes": _notes(sums),
    }


def _layer(layer: MappedLayer, merit: Merit) -> dict[str, object]:
    return {
        "workload": layer.workload.title,
        "names": list(layer.workload.layer_names),
        "count": layer.workload.count,
        "operations": layer.workload.operations,
        "energy": amount(layer.energy_pj, "pJ"),
        "cycles": layer.cycles,
        "edp": amount(layer.energy_pj * layer.cycles, Merit.EDP.unit),
        "search_bound": amount(layer.bound, merit.unit),
        "proved": layer.proved,
        "floor_energy": amount(layer.floor_pj, "pJ"),
        "floor_cycles": layer.floor_cycles,
        "seconds": layer.seconds,
    }


def _notes(sums: NetworkNests) -> list[str]:
    notes = [PRODUCT, SINGLY] if sums.merit is Merit.EDP else [PRODUCT]
    if sums.unfit:
        reasons = "; ".join(f"{layer.workload.title}: {', '.join(layer.broken)}" for layer in sums.unfit)
        count = f"{len(sums.unfit)} of {len(sums.layers)} mappings do not fit {sums.machine.name}"
        notes.append(f"{count}, and the sums hold what it cannot run: {reasons}")
    counting = nest_policy(sums.counting)
    for layer in sums.layers:
        fabric = fabric_of(layer.workload, sums.machine)
        notes += [note for note in (*fabric_notes(fabric), *wire_notes(fabric, counting)) if note not in notes]
    return notes


def _status(layer: MappedLayer) -> str:
    if layer.broken:
        return "does not fit"
    return "optimal" if layer.proved else "not proved"


def network_table(sums: NetworkNests) -> str:
    """The layers and their sums for people."""
    network = sums.network
    head = pairs(
        [
            (
                "network",
                f"{network.name}: {several(network.occurrences, 'layer')}, {len(sums.layers)} of them different",
            ),
            ("machine", accelerator_line(sums.machine)),
            ("method", f"{sums.method}, objective {sums.merit} of every layer, counting {sums.counting}"),
        ]
    )
    header = ("layer", "count", "operations", "energy (pJ)", "cycles", "EDP", "energy share", "status", "seconds")
    layers = "Of one occurrence of each layer\n" + grid(header, "<>>>>>><>", _rows(sums))
    notes = "\n".join(f"note: {note}" for note in _notes(sums))
    names = merged_block(layer.workload for layer in sums.layers)
    return "\n\n".join([head, layers, *names, pairs(_summary(sums)), notes]) + left_out_text(sums.left_out)


def _rows(sums: NetworkNests) -> list[tuple[str, ...]]:
    """A line per layer, and one of all together."""
    total = sums.energy_pj
    rows = [
        (
            layer.workload.title,
            f"{layer.workload.count:,}",
            f"{layer.workload.operations:,}",
            number(float(layer.energy_pj)),
            f"{layer.cycles:,}",
            f"{float(layer.energy_pj * layer.cycles):.6g}",
            f"{100 * float(layer.workload.count * layer.energy_pj / total):.1f} %" if total else "-",
            _status(layer),
            f"{layer.seconds:.2f}",
        )
        for layer in sums.layers
    ]
    whole = (
        sums.network.name,
        f"{sums.network.occurrences:,}",
        f"{sums.network.operations:,}",
        number(float(total)),
        f"{sums.cycles:,}",
        f"{float(sums.edp):.6g}",
        "100.0 %",
        f"{sum(layer.proved for layer in sums.layers)} of {len(sums.layers)}",
        f"{sum(layer.seconds for layer in sums.layers):.2f}",
    )
    return [*rows, whole]


def _summary(sums: NetworkNests) -> list[tuple[str, str]]:
    """The objective of the whole network, its bound and its floor."""
    unit = sums.merit.unit
    lines = [(str(sums.merit), f"{float(sums.value):.9g} {unit} of the whole network")]
    if sums.bound:
        over = 100 * float(sums.value / sums.bound - 1)
        lines.append(
            ("bound", f"{float(sums.bound):.9g} {unit} over all mappings of the layers; the sum is {over:.3g} % above")
        )
    return [*lines, ("floor", f"{float(sums.floor):.9g} {unit}, of every schedule of the layers")]
