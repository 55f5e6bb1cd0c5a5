"""What was run on the machine at hand: table and JSON."""

from __future__ import annotations

from optmap.base.texts import in_percent
from optmap.count.timing import Prediction
from optmap.files.codes import options_document
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.mappings.levels import Mapping
from optmap.native.run.clocking import Timing
from optmap.native.run.results import LayerRun, Runs, Tried
from optmap.native.run.verdict import Verdict
from optmap.report.tables import grid, machine_line, pairs
from optmap.workloads.workload import Workload

SCHEMA = "optmap.run/1"
ALIKE = 0.02
"""Differences below are noise."""
RESTLESS = 0.5
"""A spread above says that something else was running."""


def runs_table(runs: Runs) -> str:
    """Speed beside peak, prediction and floor, per workload; checks; totals of several."""
    options = runs.options
    head = [
        ("machine", machine_line(runs.machine)),
        ("peak", _peak_line(runs)),
        ("code", f"{options.layout}, weights packed {_when(options.weights.value)}, {options.stores} stores"),
        ("compiler", runs.compiler),
    ]
    header = ("workload", "kernel", "GFLOPS", "of peak", "measured", "spread", "predicted", "floor", "error", "checked")
    rows = [_row(layer) for layer in runs.layers]
    if len(runs.layers) > 1:
        rows.append(_total_row(runs))
    parts = [
        pairs([(label, text) for label, text in head if text]),
        grid(header, "<<>>>>>>>>", rows),
        "Mappings that were kept: tiles from the registers outwards\n"
        + pairs(
            [(layer.workload.title, mapping_line(layer.workload, layer.chosen.code.mapping)) for layer in runs.layers]
        ),
    ]
    if any(len(layer.tried) > 1 for layer in runs.layers):
        parts.append(_candidates(runs))
    return "\n\n".join([*parts, "\n".join(_notes(runs))])


def _row(layer: LayerRun) -> tuple[str, ...]:
    verdict = layer.chosen.verdict
    timing = layer.timing
    count = f" x{layer.workload.count}" if layer.workload.count > 1 else ""
    return (
        layer.workload.title + count,
        str(layer.chosen.code.kernel),
        _rate(layer.gflops(timing)),
        in_percent(layer.share_of_peak, 0),
        seconds_text(layer.seconds),
        in_percent(None if timing is None else timing.spread, 0),
        seconds_text(layer.predicted_seconds),
        seconds_text(layer.floor_seconds),
        f"{verdict.share:.2g}",
        "WRONG" if not layer.right else f"{verdict.checked:,}" + (" all" if verdict.checked == verdict.outputs else ""),
    )


def _total_row(runs: Runs) -> tuple[str, ...]:
    measured, predicted, floor = (total(runs, which) for which in ("seconds", "predicted_seconds", "floor_seconds"))
    rate = None if measured is None else 2e-9 * _operations(runs) / measured
    at_peak = total(runs, "peak_seconds")
    share = None if measured is None or at_peak is None else at_peak / measured
    return (
        "all, with counts",
        "",
        _rate(rate),
        in_percent(share, 0),
        seconds_text(measured),
        "",
        seconds_text(predicted),
        seconds_text(floor),
        f"{max(layer.chosen.verdict.share for layer in runs.layers):.2g}",
        "",
    )


def _operations(runs: Runs) -> int:
    return sum(layer.workload.operations * layer.workload.count for layer in runs.layers)


def total(runs: Runs, which: str) -> float | None:
    """A time of all layers, each as often as it occurs; None unless every layer has it."""
    found = [(getattr(layer, which), layer.workload.count) for layer in runs.layers]
    return None if any(value is None for value, _ in found) else sum(value * count for value, count in found)


def _candidates(runs: Runs) -> str:
    rows = [
        (
            layer.workload.title,
            f"{len(layer.tried)}",
            _rate(layer.gflops(layer.first_timing)),
            _rate(layer.gflops(layer.timing)),
            "-" if layer.best is None else f"{layer.best + 1}",
        )
        for layer in runs.layers
    ]
    title = "Mappings that were run, in the order of the model, and the fastest of them (MOpt-1, MOpt-5)\n"
    return title + grid(("workload", "mappings", "first (GFLOPS)", "best (GFLOPS)", "place of the best"), "<>>>>", rows)


def _notes(runs: Runs) -> list[str]:
    lines = [
        "measured: median of calls with warm caches, timed in C; spread: between the first and the ninth decile",
        "floor: no code takes less, if peak and bandwidths are those of the machine file; error: largest distance "
        "from a float64 reference, as a share of what the rounding of so many terms explains",
    ]
    if any(layer.predicted_seconds is not None for layer in runs.layers):
        several = "; several threads are counted, not held against measurements" if runs.threads > 1 else ""
        lines.append(f"predicted: caches warm, lines that meet in few sets seen in the innermost cache only{several}")
    for layer in runs.layers:
        title, verdict = layer.workload.title, layer.chosen.verdict
        lines += [f"{title}: {note}" for note in layer.chosen.code.notes]
        if verdict.checked < verdict.outputs:
            lines.append(f"{title}: checked {verdict.checked:,} of {verdict.outputs:,} outputs, a seeded sample")
        timing = layer.timing
        if timing is not None and timing.spread > RESTLESS:
            lines.append(
                f"{title}: times spread by {100 * timing.spread:.0f} %, something else was running; the fastest call "
                f"took {seconds_text(timing.least)}"
            )
        floor = layer.floor_seconds
        if layer.timing is not None and floor is not None and layer.timing.median < floor * (1 - ALIKE):
            lines.append(
                f"{title}: faster than the floor, so the machine is faster than its file says: detect it again when "
                "nothing else runs"
            )
    if any(layer.peak_gflops is None for layer in runs.layers):
        lines.append("no peak, prediction or floor: the machine file has no core or clock; optmap detect measures them")
    return lines


def _peak_line(runs: Runs) -> str:
    layer = runs.layers[0]
    core, clock, peak = runs.machine.core, runs.machine.clock_hz, layer.peak_gflops
    if core is None or clock is None or peak is None:
        return ""
    bits, threads = layer.workload.output.bits, layer.chosen.code.threads
    return (
        f"{peak:.1f} GFLOPS: {core.peak(bits)} multiply-adds a cycle at {clock / 1e9:.2f} GHz (machine file), "
        f"{threads} thread{'s' if threads > 1 else ''}"
    )


def mapping_line(workload: Workload, mapping: Mapping) -> str:
    """A mapping on one line: per level the tile in those dims in which it is larger than the one inside it."""
    inside, parts = dict.fromkeys(workload.dims, 1), []
    for level in mapping.levels:
        grown = [f"{dim}={size}" for dim, size in level.tile.items() if size != inside[dim]]
        split = [f"{dim}/{ways}" for dim, ways in level.spatial.items() if ways > 1]
        parts.append(" ".join((level.level, *(grown or ["-"]), *split)))
        inside = level.tile
    return " < ".join(parts)


def seconds_text(seconds: float | None) -> str:
    """`1.23 ms`: three digits that count."""
    if seconds is None:
        return "-"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _rate(gflops: float | None) -> str:
    return "-" if gflops is None else f"{gflops:.1f}"


def _when(weights: str) -> str:
    return "ahead" if weights == "ahead" else "in every call"


def runs_document(runs: Runs) -> dict[str, object]:
    """The JSON document of `run`."""
    return {
        "schema": SCHEMA,
        "machine": machine_document(runs.machine),
        "compiler": runs.compiler,
        "options": options_document(runs.options),
        "threads": runs.threads,
        "layers": [_layer(runs, layer) for layer in runs.layers],
        "total": {
            "operations": _operations(runs),
            "seconds": total(runs, "seconds"),
            "predicted_seconds": total(runs, "predicted_seconds"),
            "floor_seconds": total(runs, "floor_seconds"),
        },
        "right": not runs.wrong,
    }


def _layer(runs: Runs, layer: LayerRun) -> dict[str, object]:
    other = {} if layer.machine == runs.machine else {"machine": machine_document(layer.machine)}
    return {
        "workload": workload_document(layer.workload),
        **other,
        "count": layer.workload.count,
        "operations": layer.workload.operations,
        "kernel": layer.chosen.code.kernel.value,
        "threads": layer.chosen.code.threads,
        "notes": list(layer.chosen.code.notes),
        "gflops": layer.gflops(layer.timing),
        "peak_gflops": layer.peak_gflops,
        "share_of_peak": layer.share_of_peak,
        "measured": _timing(layer.timing),
        "predicted_seconds": layer.predicted_seconds,
        "floor_seconds": layer.floor_seconds,
        "check": _verdict(layer.chosen.verdict),
        "mapping": mapping_document(layer.chosen.code.mapping),
        "first": {"gflops": layer.gflops(layer.first_timing), "measured": _timing(layer.first_timing)},
        "best": None if layer.best is None else layer.best + 1,
        "candidates": [_tried(layer, each) for each in layer.tried],
    }


def _tried(layer: LayerRun, tried: Tried) -> dict[str, object]:
    return {
        "mapping": mapping_document(tried.code.mapping),
        "kernel": tried.code.kernel.value,
        "gflops": layer.gflops(tried.timing),
        "measured": _timing(tried.timing),
        "predicted": _prediction(tried.mapped.prediction, layer),
        "check": _verdict(tried.verdict),
    }


def _timing(timing: Timing | None) -> dict[str, object] | None:
    if timing is None:
        return None
    return {
        "seconds": timing.median,
        "least_seconds": timing.least,
        "low_seconds": timing.low,
        "high_seconds": timing.high,
        "spread": timing.spread,
        "samples": timing.samples,
        "calls_per_sample": timing.calls,
    }


def _prediction(found: Prediction | None, layer: LayerRun) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "seconds": found.seconds,
        "cycles": found.cycles,
        "bound_by": found.bound_by,
        "floor_seconds": layer.floor_seconds,
    }


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "outputs": verdict.outputs,
        "checked": verdict.checked,
        "terms": verdict.terms,
        "largest_error": verdict.largest_error if verdict.largest_error < float("inf") else None,
        "share_of_tolerance": verdict.share if verdict.share < float("inf") else None,
        "exact_on_whole_numbers": verdict.exact and not verdict.wrong,
        "wrong": verdict.wrong,
        "places": [
            {
                "index": list(each.index),
                "got": _finite(each.got),
                "expected": each.expected,
                "tolerance": each.tolerance,
            }
            for each in verdict.places
        ],
    }


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
