"""The model held against samples: table and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.kernels.kernel_roles import KernelKind
from optmap.native.validate.ranks import TOPS
from optmap.native.validate.validation import (
    MEASURED,
    PREDICTIONS,
    LayerValidation,
    RankAgreement,
    ValidatedMapping,
    Validation,
)
from optmap.report.tables import grid, notes_text, pairs

SCHEMA = "optmap.validation/1"
"""Name and version of the document."""
SIMULATION = (
    "simulated caches have the machine's sets, ways and lines, are cold at first, and know no prefetching, no "
    "translation of addresses and no other cores"
)
CROSSED = (
    "crossed losses (after the stroke): the best, and the best of those predicted, are chosen by every other round and "
    "timed by the rounds in between, then the other way round; luck of the choice is not counted, so that they may be "
    "below zero"
)
ESTIMATED = "no microkernel applies: the arithmetic of plain loops is an estimate"


def validation_document(validation: Validation) -> dict[str, object]:
    """The JSON document of `validate`: per layer its samples and rankings, and the medians over layers.

    Of rankings `losses` and `crossed_losses` are shares of performance (`top_loss`, `crossed_loss`), empty where no
    time is ranked, the latter also with one round. Of samples `measured_seconds` is made of all `rounds_seconds`
    (`polished`).
    """
    return {
        "schema": SCHEMA,
        "machine": machine_document(validation.machine),
        "options": {name: getattr(validation.options, name) for name in validation.options.__dataclass_fields__},
        "samples": validation.wanted,
        "rounds": validation.rounds,
        "seed": validation.seed,
        "models": list(validation.models),
        "layers": [_layer(layer) for layer in validation.layers],
        "medians": [_ranking(row) for pair in validation.pairs if (row := validation.medians(*pair)) is not None],
        "notes": list(_notes(validation)),
    }


def _layer(layer: LayerValidation) -> dict[str, object]:
    return {
        "workload": workload_document(layer.workload),
        "rankings": [_ranking(row) for row in layer.rankings],
        "samples": [_sample(layer, sample) for sample in layer.samples],
    }


def _ranking(row: RankAgreement) -> dict[str, object]:
    return {
        "by": row.by,
        "of": row.of,
        "samples": row.samples,
        "spearman": row.spearman,
        "kendall": row.kendall,
        "losses": {f"top_{count}": loss for count, loss in zip(TOPS, row.losses, strict=False)},
        "crossed_losses": {f"top_{count}": loss for count, loss in zip(TOPS, row.crossed, strict=False)},
    }


def _sample(layer: LayerValidation, sample: ValidatedMapping) -> dict[str, object]:
    prediction, traffic = sample.prediction, sample.simulated
    return {
        "mapping": mapping_document(sample.mapping),
        "kernel": sample.kernel.value,
        "predicted_cycles": prediction.cycles if prediction.feasible else None,
        "predicted_seconds": prediction.seconds if prediction.feasible else None,
        "bound_by": prediction.bound_by,
        "compute_cycles": prediction.compute_cycles,
        "bottleneck": None
        if sample.bottleneck is None
        else {
            "cycles": sample.bottleneck.value,
            "level": sample.bottleneck.level,
            "words": dict(sample.bottleneck.words),
        },
        "boundaries": [
            {"between": list(row.between), "moved_bytes": row.moved_bytes, "cycles": row.cycles}
            for row in prediction.boundaries
        ],
        "simulated": None
        if traffic is None
        else {
            "register_loads_lines": traffic.loads,
            "register_stores_lines": traffic.stores,
            "boundaries": [
                {
                    "between": list(row.between),
                    "tensor": row.tensor,
                    "loads_words": row.loads_words,
                    "stores_words": row.stores_words,
                }
                for row in traffic.moved
            ],
        },
        "measured_seconds": sample.seconds,
        "rounds_seconds": list(sample.rounds),
        "gflops": layer.gflops(sample),
    }


def _notes(validation: Validation) -> tuple[str, ...]:
    notes = [
        f"measured times are of this machine, {validation.rounds} rounds in turns, caches warm, every sample checked "
        "before: a sample's median of its times over what its round was (median polish), in the quietest round; "
        "predicted ones are of warm caches, both of one thread",
        "losses are shares of the speed of the best measured sample, which is partly the luckiest",
    ]
    if validation.rounds > 1:
        notes.append(CROSSED)
    if any(sample.simulated is not None for layer in validation.layers for sample in layer.samples):
        notes.append(SIMULATION)
    for layer in validation.layers:
        if len(layer.samples) < validation.wanted:
            notes.append(f"{layer.workload.title}: only {len(layer.samples)} different tilings that fit were found")
        if any(sample.kernel is KernelKind.PLAIN for sample in layer.samples):
            notes.append(f"{layer.workload.title}: {ESTIMATED}")
    return tuple(notes)


def validation_table(validation: Validation) -> str:
    """Per layer how the prediction ranks the samples and what trusting it loses, for people."""
    head = [
        ("machine", validation.machine.name),
        ("samples", f"{validation.wanted} per layer, seed {validation.seed}"),
    ]
    predictions = [PREDICTIONS[model] for model in validation.models]
    parts = [pairs(head), *(_times(validation, by) for by in predictions)]
    simulated = [pair for pair in validation.pairs if pair not in {(by, MEASURED) for by in predictions}]
    if simulated:
        parts.append(_caches(validation, simulated))
    parts.append(notes_text(_notes(validation)))
    return "\n\n".join(parts)


def _times(validation: Validation, by: str) -> str:
    """What a model predicts against measured time."""
    loss = "loss / crossed" if validation.rounds > 1 else "loss"
    header = ("layer", "samples", "Spearman", "Kendall", *(f"top-{count} {loss}" for count in TOPS), "best", "worst")
    rows = []
    for layer in validation.layers:
        row = layer.ranking(by, MEASURED)
        speeds = [speed for sample in layer.samples if (speed := layer.gflops(sample)) is not None]
        if row is not None:
            rows.append((layer.workload.title, *_numbers(row), f"{max(speeds):.3g}", f"{min(speeds):.3g}"))
    medians = validation.medians(by, MEASURED)
    if medians is not None and len(rows) > 1:
        rows.append(("median", *_numbers(medians), "", ""))
    return "\n".join(
        [f"{by.capitalize()} against measured time (best and worst in GFLOPS)", grid(header, "<>>>>>>>>", rows)]
    )


def _numbers(row: RankAgreement) -> tuple[str, ...]:
    crossed = [f" / {100 * loss:.1f} %" for loss in row.crossed] or [""] * len(row.losses)
    losses = (f"{100 * loss:.1f} %{other}" for loss, other in zip(row.losses, crossed, strict=True))
    return (str(row.samples), _rank(row.spearman), _rank(row.kendall), *losses)


def _caches(validation: Validation, chosen: Sequence[tuple[str, str]]) -> str:
    """Spearman's coefficients with what is simulated: a column per boundary and pair."""
    header = ("layer", *(f"{by} : {of}" for by, of in chosen))
    rows = []
    for layer in validation.layers:
        found = (layer.ranking(*pair) for pair in chosen)
        rows.append((layer.workload.title, *("-" if row is None else _rank(row.spearman) for row in found)))
    if len(rows) > 1:
        medians = (validation.medians(*pair) for pair in chosen)
        rows.append(("median", *("-" if row is None else _rank(row.spearman) for row in medians)))
    by_row = list(zip(*((header), *rows), strict=True))
    titles, lines = by_row[0], by_row[1:]
    return "\n".join(["Spearman's coefficients with simulated caches", grid(titles, "<" + ">" * len(rows), lines)])


def _rank(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
