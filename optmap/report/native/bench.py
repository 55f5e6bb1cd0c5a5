"""A comparison with libraries: table and JSON."""

from __future__ import annotations

from optmap.base.texts import several
from optmap.files.codes import options_document
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.native.bench.results import Bench, BenchMean, LayerBench, WaySamples
from optmap.native.bench.statistics import COVERED, Ratio
from optmap.native.run.verdict import MOST_OPERATIONS, MOST_OUTPUTS, MOST_STEPS
from optmap.report.tables import grid, notes_text, pairs

SCHEMA = "optmap.bench/1"
"""Name and version of the document."""
NOTES = (
    "ratio is time of the faster library over time of ours, above 1 ours is faster: the median of ratios of rounds, "
    f"with its {COVERED:.0%} interval by the bootstrap over rounds; of minima is the same from shortest samples alone; "
    "GFLOPS are of median samples, of peak is the median of shares of rounds",
    "all ways are timed in turns in one process by one clock in C, with weights packed ahead and operands in the "
    "formats that each likes best, on buffers that begin at cache lines, on as many processors as threads",
    "which candidate of ours and which way of a library is reported was chosen by other samples than the reported ones",
    "every output of every way was compared with the sum in float64, within the bound of rounding; a seeded sample of "
    f"outputs where there are more than {MOST_OUTPUTS:,} of them or more than {MOST_OPERATIONS:,} multiply-adds "
    f"({MOST_STEPS:,} where they are no matrix product)",
    "peak is that of multiply-adds on registers alone, timed in the same rounds; operations on padding count as "
    "everybody counts them, so that code which leaves them out may be above the peak",
)
ONEDNN = (
    "onednn is asked through its C interface with every format of images, with memory for its work given, by the "
    "direct algorithm (Winograd's is other arithmetic); layers of single taps also as products"
)
TORCH = (
    "torch has what Python and its dispatcher take in its time, microseconds a call; its allocator keeps freed pages, "
    "or every call would meet its output's pages anew; every format is tried, with weights as they are and packed "
    "ahead, as it reorders weights in each call or goes past oneDNN (single taps at one thread) in some"
)
TVM = (
    "tvm is as fast as what its MetaSchedule found in that many trials per form (channels last, in blocks), timed by "
    "the same clock on as many processors; more trials may find more, so a ratio to it is one to tuning of that length"
)
STREAMING = (
    "streaming: outputs written past the caches; whoever reads them next fetches them from memory, so it is in no mean "
    "of the others"
)
WARM = "warm: a call finds what the call before it left in the caches; one call that is not timed goes before"
COLD = "cold: every line of the operands is thrown out of all caches before each call"


def bench_document(bench: Bench) -> dict[str, object]:
    """The JSON document of `bench`: per layer every sample, ratios and what was left out; means; surroundings."""
    around = bench.surroundings
    return {
        "schema": SCHEMA,
        "machine": machine_document(bench.machine),
        "processor": around.processor,
        "processors": around.processors,
        "cores": around.cores,
        "compiler": around.compiler,
        "libraries": dict(around.libraries),
        "absent": dict(around.absent),
        "layouts": [layout.value for layout in bench.layouts],
        "rounds": bench.rounds,
        "candidates": bench.candidates,
        "given": list(bench.given),
        "seed": bench.seed,
        "layers": [_layer(layer) for layer in bench.layers],
        "means": [_mean(mean) for mean in bench.means],
        "notes": list(_notes(bench)),
    }


def _layer(layer: LayerBench) -> dict[str, object]:
    return {
        "workload": workload_document(layer.workload),
        "threads": layer.threads,
        "caches": layer.caches.value,
        "kernel": layer.kernel.value,
        "mapping": mapping_document(layer.mapping),
        "layout": layer.layout.value,
        "options": options_document(layer.options),
        "candidates": layer.tried,
        "chosen": layer.number,
        "predicted_s": layer.predicted,
        "floor_s": layer.floor,
        "ours": _timing(layer, layer.ours),
        "first": _timing(layer, layer.first),
        "streaming": None if layer.streaming is None else _timing(layer, layer.streaming),
        "libraries": [{**_timing(layer, each), "ways": layer.ways[each.library]} for each in layer.theirs],
        "peak_gflops": layer.peak_gigaflops,
        "peak_share": layer.share,
        "best_library": None if layer.best is None else layer.best.library,
        "ratio": _ratio(layer.ratio),
        "first_ratio": _ratio(layer.first_ratio),
        "streaming_ratio": _ratio(layer.streaming_ratio),
        "left_out": dict(layer.left_out),
    }


def _timing(layer: LayerBench, timing: WaySamples) -> dict[str, object]:
    return {
        "library": timing.library,
        "variant": timing.variant,
        "time_s": timing.shortest,
        "median_s": timing.median,
        "gflops": layer.gigaflops(timing),
        "samples_s": list(timing.samples),
    }


def _ratio(ratio: Ratio | None) -> dict[str, float] | None:
    return None if ratio is None else {name: getattr(ratio, name) for name in Ratio.__dataclass_fields__}


def _mean(mean: BenchMean) -> dict[str, object]:
    row = {name: getattr(mean, name) for name in BenchMean.__dataclass_fields__}
    return {**row, "caches": mean.caches.value, "libraries": dict(mean.libraries)}


def _candidates(bench: Bench) -> str:
    """Among what the best of ours was chosen, in words."""
    layouts = f"with activations {' and with '.join(bench.layouts)}"
    searched = f"best of the model's first {bench.candidates} {layouts}"
    if not bench.given:
        return searched
    given = f"best of the solutions given, {layouts.replace(' and ', ' or ')}"
    others = {layer.workload.title for layer in bench.layers}.difference(bench.given)
    return f"{given}; of others {searched}" if others else given


def bench_table(bench: Bench) -> str:
    """Per threads and caches a line per layer, the geometric means, and what has to be known of such numbers."""
    around = bench.surroundings
    head = [
        ("processor", around.processor),
        ("machine", bench.machine.name),
        (
            "processors",
            f"{around.processors} that may be used, of {several(around.cores, 'core')} by the system's tables",
        ),
        ("compiler", around.compiler),
        *((name, f"version {version}") for name, version in around.libraries.items()),
        *((name, f"not compared: {why}") for name, why in around.absent.items()),
        ("ours", _candidates(bench)),
        ("samples", f"{bench.rounds} {'round' if bench.rounds == 1 else 'rounds'}, in turns"),
    ]
    parts = [pairs(head)]
    parts += [_layers_table(bench, group) for group in bench.groups.values()]
    if len(bench.layers) > 1 and bench.means:
        parts.append(_means_table(bench))
    parts.append(notes_text(_notes(bench)))
    return "\n\n".join(parts)


def _layers_table(bench: Bench, layers: list[LayerBench]) -> str:
    names = list(bench.surroundings.libraries)
    threads, caches = layers[0].threads, layers[0].caches
    title = f"{threads} {'thread' if threads == 1 else 'threads'}, {caches} caches: GFLOPS"
    header = (
        *("layer", "ours", "of peak", "layout", "candidate", "first", *names, "ratio", "interval", "of minima"),
        *("first's ratio", "streaming", "its ratio", "predicted"),
    )
    rows = [
        (
            layer.workload.title,
            f"{layer.gigaflops(layer.ours):.1f}",
            f"{100 * layer.share:.0f} %",
            layer.layout.value,
            f"{layer.number} of {layer.tried}",
            f"{layer.gigaflops(layer.first):.1f}",
            *(_speed(layer, next((x for x in layer.theirs if x.library == name), None)) for name in names),
            *_ratio_cells(layer.ratio),
            "-" if layer.first_ratio is None else f"{layer.first_ratio.median:.3f}",
            _speed(layer, layer.streaming),
            "-" if layer.streaming_ratio is None else f"{layer.streaming_ratio.median:.3f}",
            _rate(layer, layer.predicted),
        )
        for layer in layers
    ]
    left_out = dict.fromkeys(f"{layer.workload.title}: {k}: {v}" for layer in layers for k, v in layer.left_out.items())
    return "\n".join(
        [title, grid(header, "<>><" + ">" * (len(header) - 4), rows), *(f"left out: {x}" for x in left_out)]
    )


def _ratio_cells(ratio: Ratio | None) -> tuple[str, str, str]:
    if ratio is None:
        return "-", "-", "-"
    return f"{ratio.median:.3f}", f"{ratio.low:.3f}-{ratio.high:.3f}", f"{ratio.minima:.3f}"


def _speed(layer: LayerBench, timing: WaySamples | None) -> str:
    return "-" if timing is None else f"{layer.gigaflops(timing):.1f}"


def _rate(layer: LayerBench, seconds: float | None) -> str:
    return "-" if seconds is None else f"{2 * layer.workload.operations / seconds / 1e9:.1f}"


def _means_table(bench: Bench) -> str:
    names = list(bench.surroundings.libraries)
    header = (
        *(
            "geometric means",
            "layers",
            "threads",
            "caches",
            "ratio",
            "of minima",
            "first's ratio",
            "streaming",
            "least",
        ),
        *(f"over {name}" for name in names),
    )
    rows = [
        (
            mean.layers,
            f"{mean.count}",
            f"{mean.threads}",
            mean.caches.value,
            f"{mean.ratio:.3f}",
            f"{mean.minima:.3f}",
            f"{mean.first:.3f}",
            "-" if mean.streaming is None else f"{mean.streaming:.3f}",
            f"{mean.least:.3f}",
            *(f"{mean.libraries[name]:.3f}" if name in mean.libraries else "-" for name in names),
        )
        for mean in bench.means
    ]
    return grid(header, "<>><" + ">" * (len(header) - 4), rows)


def _notes(bench: Bench) -> tuple[str, ...]:
    about = {"onednn": ONEDNN, "torch": TORCH, "tvm": TVM}
    notes = [*NOTES, *(about[name] for name in bench.surroundings.libraries if name in about)]
    if any(layer.streaming for layer in bench.layers):
        notes.append(STREAMING)
    states = {layer.caches.value for layer in bench.layers}
    return (*notes, *(text for name, text in (("warm", WARM), ("cold", COLD)) if name in states))
