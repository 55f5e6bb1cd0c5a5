"""A race of searches: table and JSON."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from optmap.answers.documents.amounts import amount
from optmap.answers.side_by_side.race import SAME, LayerRace, Mean, MethodRun, Race
from optmap.base.texts import in_percent, several
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.report.answers.accelerators import accelerator_line
from optmap.report.tables import grid, notes_text, pairs
from optmap.search.curve import Improvement
from optmap.search.methods import ALLOCATION, EXACT

SCHEMA = "optmap.race/1"
"""Name and version of the document."""
CLOCKS = (
    "times are those of the computer that ran the searches; the first search of a method loads its libraries, too; on "
    "another computer other methods may be ahead"
)
LATE = 1.2
"""Multiples of the budget beyond which it is said that a search took longer."""
PARTIAL = "evaluations of exact and allocation are bounds of partial mappings, too"


def race_document(race: Race) -> dict[str, object]:
    """The JSON document of `race`: per layer a row per method with its curve, and the geometric means."""
    return {
        "schema": SCHEMA,
        "machine": machine_document(race.machine),
        "objective": race.objective,
        "unit": race.unit,
        "counting": race.counting.name,
        "methods": list(race.methods),
        "budget_seconds": race.budget,
        "proof_seconds": race.proof,
        "evaluations": race.evaluations,
        "seed": race.seed,
        "side_by_side": race.side_by_side,
        "reused": race.reused,
        "interrupted": race.interrupted,
        "layers": [_layer(race, layer) for layer in race.layers],
        "means": [_mean(mean) for mean in race.means],
        "notes": list(_notes(race)),
    }


def _layer(race: Race, layer: LayerRace) -> dict[str, object]:
    unit = race.unit
    return {
        "workload": workload_document(layer.workload),
        "bound": amount(layer.bound, unit) if layer.bound else None,
        "bound_by": layer.prover or None,
        "proved": layer.proved,
        "best": None if layer.best is None else amount(layer.best, unit),
        "rows": [_row(layer, run, unit) for run in layer.runs.values()],
        "left_out": dict(layer.left_out),
    }


def _row(layer: LayerRace, run: MethodRun, unit: str) -> dict[str, object]:
    over, near = layer.over(run.method), layer.near(run.method)
    return {
        "method": run.method,
        "value": amount(run.value, unit),
        "fits": run.fits,
        "over": None if over is None else float(over),
        "bound": amount(run.bound, unit) if run.bound else None,
        "proved": run.proved,
        "space": run.space,
        "evaluations": run.evaluations,
        "valid_share": run.valid_share,
        "seconds": run.seconds,
        "seconds_to_best": None if run.best_at is None else run.best_at.seconds,
        "near": None if near is None else _point(near),
        "ended": run.ended,
        "curve": [_point(point) for point in run.curve],
    }


def _point(point: Improvement) -> dict[str, object]:
    return {"evaluations": point.evaluations, "seconds": point.seconds, "value": point.value}


def _mean(mean: Mean) -> dict[str, object]:
    return {name: getattr(mean, name) for name in Mean.__dataclass_fields__}


def _notes(race: Race) -> tuple[str, ...]:
    notes = [CLOCKS]
    if any(name in layer.runs for layer in race.layers for name in (EXACT.name, ALLOCATION.name)):
        notes.append(PARTIAL)
    if race.proof is not None:
        notes.append(f"exact had {race.proof:g} s per layer, to prove the optimum that the others are held against")
    unproved = [f"{layer.workload.title} ({layer.prover})" for layer in race.layers if layer.bound and not layer.proved]
    if unproved:
        notes.append(f"the optimum was not proved, so held against a bound: {', '.join(unproved)}")
    unbounded = [layer.workload.title for layer in race.layers if not layer.bound]
    if unbounded:
        notes.append(f"without any bound: {', '.join(unbounded)}")
    late = {name: taken for name in race.methods if (taken := _longest(race, name)) > LATE * _limit(race, name)}
    if late:
        each = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in late.items())
        notes.append(f"longer than the budget, until a step was done: {each}")
    if race.reused:
        runs = several(race.reused, "run is that", "runs are those")
        notes.append(f"{runs} of an earlier race in the same folder, with its times")
    return tuple(notes)


def _limit(race: Race, method: str) -> float:
    """Seconds that a method had for each layer."""
    return race.proof if race.proof is not None and method == EXACT.name else race.budget


def _longest(race: Race, method: str) -> float:
    """Seconds that a method took for a layer, at most."""
    return max((layer.runs[method].seconds for layer in race.layers if method in layer.runs), default=0.0)


def race_table(race: Race) -> str:
    """Per layer a line per method, and the geometric means over layers, for people."""
    limit = (
        "" if race.evaluations is None else f" and {several(race.evaluations, 'evaluation')} of methods that explore"
    )
    if race.side_by_side is None:
        beside = "as many at a time as the workers of the cluster have threads"
    else:
        beside = "one at a time" if race.side_by_side == 1 else f"{race.side_by_side} side by side"
    head = [
        ("machine", accelerator_line(race.machine)),
        ("objective", f"{race.objective}, counting {race.counting}, tiles divisors"),
        ("budget", f"{race.budget:g} s{limit} per method and layer, {beside}"),
        ("seed", f"{race.seed}"),
    ]
    parts = [pairs(head), *(_layer_table(race, layer) for layer in race.layers)]
    if len(race.layers) > 1:
        parts.append(_means_table(race))
    parts.append(notes_text(_notes(race)))
    return "\n\n".join(parts)


def _layer_table(race: Race, layer: LayerRace) -> str:
    unit = race.unit
    known = "the proved optimum" if layer.proved else f"the bound by {layer.prover}"
    title = f"{layer.workload.title}: " + (f"{known} is {float(layer.bound):.6g} {unit}" if layer.bound else "no bound")
    header = (
        *("method", f"{race.objective} ({unit})", f"over {'optimum' if layer.proved else 'bound'}", "evaluations"),
        *("valid", "seconds", "best at (s)", "within 1 % at (s)", "ended"),
    )
    rows = [
        (
            run.method,
            f"{float(run.value):.6g}" if run.fits else "-",
            _times(layer.over(run.method)),
            f"{run.evaluations:,}",
            in_percent(run.valid_share),
            _seconds(run.seconds),
            _seconds(None if run.best_at is None else run.best_at.seconds),
            _seconds(None if (near := layer.near(run.method)) is None else near.seconds),
            run.ended,
        )
        for run in layer.runs.values()
    ]
    lines = [f"left out: {name}: {reason}" for name, reason in layer.left_out.items()]
    return "\n".join([title, grid(header, "<>>>>>>><", rows), *lines])


def _means_table(race: Race) -> str:
    count = len(race.layers)
    title = f"Geometric means over {several(count, 'layer')} (over those that have the number)"
    header = ("method", "layers", "over", "evaluations", "valid", "seconds", "best at (s)", "within 1 %", "at (s)")
    rows = [
        (
            mean.method,
            f"{mean.layers} of {count}",
            _times(mean.over),
            "-" if mean.evaluations is None else f"{mean.evaluations:,.0f}",
            in_percent(mean.valid_share),
            _seconds(mean.seconds),
            _seconds(mean.seconds_to_best),
            f"{mean.near} of {count}",
            _seconds(mean.seconds_to_near),
        )
        for mean in race.means
    ]
    return f"{title}\n" + grid(header, "<>>>>>>>>", rows)


def _times(over: Fraction | float | None) -> str:
    """A multiple of the optimum, rounded up: what is not the optimum does not look like it."""
    if over is None:
        return "-"
    return f"{ceil((float(over) - float(SAME)) * 10_000) / 10_000:.4f}x"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3g}"
