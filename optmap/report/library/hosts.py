"""The machine at hand as a table, a document and a machine file."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

from optmap.base.texts import several
from optmap.files.machines import machine_document
from optmap.files.yaml12 import dump_yaml
from optmap.native.host.detection import Host, link_rate
from optmap.native.host.figures import Figure, Measured, Spread
from optmap.report.library.machines import machine_table
from optmap.report.library.showing import machine_yaml
from optmap.report.tables import grid, pairs
from optmap.version import __version__

BITS = 32
"""Elements whose operations are counted in GFLOPS."""


def host_table(host: Host) -> str:
    """Everything about the machine at hand, each measured figure with its spread."""
    head = [(label, text) for label, text in _head(host) if text]
    parts = [pairs(head), machine_table(host.machine)]
    if host.figures:
        rows = [row for figure in host.figures for row in _rows(host, figure)]
        title = "Measured: median, and the deciles between which eight of ten lie; the machine has the upper ones\n"
        parts.append(title + grid(("figure", "cores", "low", "median", "high", "unit", "times"), "<>>>><>", rows))
    said = [f"missing: {text}" for text in host.missing] + [f"note: {text}" for text in host.notes]
    return "\n\n".join([*parts, *(["\n".join(said)] if said else [])])


def _head(host: Host) -> list[tuple[str, str]]:
    vectors, core, machine = host.processor.vectors, host.machine.core, host.machine
    kernel = machine.levels[0].microkernel
    registers = "" if vectors is None else f"{vectors.registers} of {vectors.vector_bytes} bytes ({vectors.isa})"
    units = (
        ""
        if core is None
        else f"{several(core.fma_ports, 'multiply-add')} and {several(core.load_ports, 'load')} of a vector per "
        f"cycle, latency {core.fma_latency}"
    )
    lanes = 0 if core is None else core.lanes(BITS)
    return [
        ("processor", host.processor.name + (" (below a hypervisor)" if host.processor.virtual else "")),
        ("registers", registers),
        ("clock", "" if machine.clock_hz is None else f"{machine.clock_hz / 1e9:.2f} GHz while it multiplies"),
        ("core", units),
        (
            "microkernel",
            ""
            if kernel is None
            else f"{several(kernel.vector // lanes, 'vector')} of {lanes} x {kernel.broadcast} points",
        ),
        ("compiler", host.compiler),
        ("detected", f"{host.measured_at}, {'quick, ' if host.quick else ''}{host.seconds:.1f} s"),
    ]


def _rows(host: Host, figure: Figure) -> list[tuple[str, ...]]:
    """One figure in the units that people compare."""
    job, machine = figure.job, host.machine
    cores = str(job.threads)
    if job.quantity is Measured.LATENCY:
        each = figure.per_cycle
        cycles = Spread(
            median=1 / each.median, low=1 / each.high, high=1 / each.low, best=1 / each.best, count=each.count
        )
        return [_row("latency of multiply-add", cores, cycles, "cycles")]
    if job.quantity is Measured.PEAK:
        lanes = 0 if machine.core is None else machine.core.lanes(BITS)
        flops = figure.per_second.scaled(2e-9 * lanes)
        rows = [
            _row("multiply-adds", cores, figure.per_cycle, "vectors/cycle"),
            _row("peak, 4-byte elements", cores, flops, "GFLOPS"),
        ]
        return rows if job.threads > 1 else [_row("clock", cores, figure.clock_hz.scaled(1e-9), "GHz"), *rows]
    if job.quantity is Measured.LOADS:
        width = 1 if machine.core is None else machine.core.vector_bytes
        return [_row("loads, nearby", cores, figure.per_cycle.scaled(1 / width), "vectors/cycle")]
    caches = host.topology.caches
    names = [f"L{cache.level}" for cache in caches] + [machine.memory]
    size = f"{job.size / 1024:,.0f} KiB"
    if job.quantity is Measured.READ:
        rate = link_rate(job.place, job.threads, host.topology, host.figures) or figure.per_cycle
        inner = (["Reg", *names])[job.place]
        label = f"{inner} - {names[job.place]}, {size}"
        return [_row(label, cores, rate, "B/cycle"), _row("", "", figure.per_second.scaled(1e-9), "GB/s")]
    what = "stores to" if job.quantity is Measured.WRITE else "part of"
    return [_row(f"{what} {names[job.place]}, {size}", cores, figure.per_second.scaled(1e-9), "GB/s")]


def _row(label: str, cores: str, spread: Spread, unit: str) -> tuple[str, ...]:
    return (
        label,
        cores,
        *(f"{value:.4g}" for value in (spread.low, spread.median, spread.high)),
        unit,
        str(spread.count),
    )


def host_document(host: Host) -> dict[str, object]:
    """The JSON document of `detect`."""
    vectors = host.processor.vectors
    return {
        "schema": "optmap.host/1",
        "machine": machine_document(host.machine),
        "processor": {
            "name": host.processor.name,
            "virtual": host.processor.virtual,
            "isa": None if vectors is None else vectors.isa,
        },
        "cpus": list(host.topology.cpus),
        "caches": [asdict(cache) for cache in host.topology.caches],
        "figures": [
            {
                "quantity": figure.job.quantity.value,
                "threads": figure.job.threads,
                "place": None if figure.job.place < 0 else _place(host, figure.job.place),
                "bytes_per_thread": figure.job.size or None,
                "per_cycle": asdict(figure.per_cycle),
                "clock_hz": asdict(figure.clock_hz),
            }
            for figure in host.figures
        ],
        "missing": list(host.missing),
        "notes": list(host.notes),
        "compiler": host.compiler or None,
        "quick": host.quick,
        "measured_at": host.measured_at,
        "seconds": host.seconds,
    }


def _place(host: Host, place: int) -> str:
    caches = host.topology.caches
    return f"L{caches[place].level}" if place < len(caches) else host.machine.memory


def host_yaml(host: Host) -> str:
    """The machine as a file that loads back equal, with when and how it was measured in its description."""
    described = {"description": description(host), "source": f"optmap detect {__version__}, {host.measured_at}"}
    return dump_yaml(described) + machine_yaml(host.machine)


def description(host: Host) -> str:
    """When and how the numbers of the machine were found, with their spreads."""
    vectors = host.processor.vectors
    texts = [
        f"{host.processor.name or 'unknown processor'}{', virtual' if host.processor.virtual else ''}"
        f"{'' if vectors is None else f', {vectors.isa}'}.",
        "Capacities, lines and ways are those of the system's tables.",
    ]
    if host.figures:
        texts.append(
            f"Measured {host.measured_at}{' (quick)' if host.quick else ''} with {host.compiler}; upper deciles of "
            "streams of loads, in cycles of a core that multiplies and adds; from L1 whole vectors per port "
            "(low, median, high):"
        )
        rows = [row for figure in host.figures for row in _rows(host, figure)]
        texts += [
            f"{label} ({cores} core{'s' if cores != '1' else ''}): {low}, {middle}, {high} {unit};"
            for label, cores, low, middle, high, unit, _ in rows
            if label
        ]
    else:
        texts.append("Nothing is measured: bandwidths of 1w, one word per cycle, stand for unknown ones.")
    texts += [f"Missing: {text}." for text in host.missing] + [f"Note: {text}." for text in host.notes]
    return textwrap.fill(" ".join(texts), 10**6)
