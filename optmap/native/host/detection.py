"""The machine at hand as a machine: tables, instruction set and measurements put together."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from optmap.base.errors import CheckError, InputError, SolverUnavailableError
from optmap.base.share import Tell, unheard
from optmap.base.shown import Shown
from optmap.machines.core import Core
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.native.host.figures import Figure, Job, Measured, Spread, jobs_of, measure
from optmap.native.host.probes import Probes
from optmap.native.host.processor import CPUINFO, Processor, Vectors, read_processor
from optmap.native.host.shape import microkernel_of
from optmap.native.host.tables import SYSTEM, Cache, Topology, read_topology
from optmap.native.toolchain.compiler import find_compiler
from optmap.workloads.amounts import Bandwidth, Capacity

ROUNDS = {True: (2, 0.04), False: (6, 0.1)}
"""Rounds, and seconds per job in each, of a quick detection and of a full one."""
PART_OF_MEMORY = 8
"""Buffers take one of so many parts of the main memory at most."""
UNSURE = 0.25
"""So far from a whole number of ports the measurement is doubted."""
MEASURED = "clock, core, bandwidths, microkernel"
"""What no table says."""
CROWDED = 0.8
"""Of what a core gets alone: less than this, with all at work, is said."""
MEMORY = "DRAM"
CONTROL_GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much memory a container may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host(Shown):
    """The machine at hand: the machine itself, and where its numbers are from."""

    shown_as: ClassVar[str] = "host"

    machine: Machine
    processor: Processor
    topology: Topology
    figures: tuple[Figure, ...]
    """Measured; empty without a compiler."""
    missing: tuple[str, ...]
    """What is not known, and why."""
    notes: tuple[str, ...]
    """What a reader should know of the numbers."""
    compiler: str
    """That compiled the probes; empty for none."""
    quick: bool
    measured_at: str
    """Date and time in UTC."""
    seconds: float
    """That the detection took."""

    def figure(self, quantity: Measured, threads: int = 1, place: int = -1) -> Figure | None:
        """What was measured of something, or None."""
        return figure_for(self.figures, quantity, threads, place)


def figure_for(figures: tuple[Figure, ...], quantity: Measured, threads: int = 1, place: int = -1) -> Figure | None:
    """The figure of a quantity, number of threads and cache; None if it was not measured."""
    wanted = (quantity, threads, place)
    return next((f for f in figures if (f.job.quantity, f.job.threads, f.job.place) == wanted), None)


def detect_host(
    *,
    name: str = "host",
    quick: bool = False,
    progress: Tell = unheard,
    system: Path = SYSTEM,
    cpuinfo: Path = CPUINFO,
    usable: tuple[int, ...] | None = None,
) -> Host:
    """Read the system's tables, and measure what they do not say.

    Args:
        name: of the machine.
        quick: about three seconds instead of about twenty: fewer repetitions, and no stores.
        progress: told what is being measured.
        system: the tables of Linux.
        cpuinfo: its description of the processors.
        usable: numbers of processors; those that this process may run on if left out.

    Raises:
        InputError: if neither a cache nor a vector register is known: there is nothing to describe.
    """
    begin = time.monotonic()
    topology, processor = read_topology(system, usable), read_processor(cpuinfo)
    missing = [*topology.missing]
    if processor.vectors is None:
        missing.append("vector registers: neither the processor's flags nor a compiler tell them")
    if processor.vectors is None and not topology.caches:
        raise InputError(f"nothing is known of this machine ({'; '.join(missing)}); write a machine file by hand")
    figures, compiler, why = _measured(topology, processor.vectors, quick=quick, progress=progress)
    machine = host_machine(name, topology, processor.vectors, figures)
    missing += [f"{MEASURED}: {why}"] if why else _unmeasured(machine, topology, figures)
    return Host(
        machine=machine,
        processor=processor,
        topology=topology,
        figures=figures,
        missing=tuple(missing),
        notes=(*topology.notes, *host_notes(machine, topology, processor, figures)),
        compiler=compiler,
        quick=quick,
        measured_at=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        seconds=time.monotonic() - begin,
    )


def _measured(
    topology: Topology, vectors: Vectors | None, *, quick: bool, progress: Tell
) -> tuple[tuple[Figure, ...], str, str]:
    """Figures, the compiler, and why there are none."""
    if vectors is None:
        return (), "", "not measured without vector registers"
    try:
        compiler = find_compiler()
        probes = Probes(vectors.vector_bytes, vectors.registers)
    except (SolverUnavailableError, CheckError) as error:
        return (), "", f"not measured: {str(error).splitlines()[0]}"
    rounds, seconds = ROUNDS[quick]
    jobs = jobs_of(topology, memory_bytes=_memory_bytes() // PART_OF_MEMORY, quick=quick)
    return measure(probes, topology, jobs, rounds=rounds, seconds=seconds, progress=progress), compiler.version, ""


def _memory_bytes() -> int:
    """Of the main memory, as far as this process may use it; where the system does not say, enough for buffers."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (ValueError, OSError, AttributeError):
        found = [2**32]
    for file in CONTROL_GROUP:
        with contextlib.suppress(OSError, ValueError):
            found.append(int(file.read_text()))
    return min(found)


def host_machine(name: str, topology: Topology, vectors: Vectors | None, figures: tuple[Figure, ...]) -> Machine:
    """The machine that tables and figures describe.

    Registers are a scratchpad, caches are caches. No table says that a cache holds what the memories inside it hold, so
    none is taken to: bounds then count their capacities together, which is true of every kind. A link that was not
    measured has one word per cycle, as in every machine file without bandwidths; without figures there is no core.

    Args:
        name: of the machine.
        topology: cores and caches.
        vectors: registers, if known.
        figures: what was measured; may be empty.
    """
    core = core_of(vectors, figures)
    levels = [] if vectors is None else [_registers(vectors, core, near=bool(topology.caches))]
    first = len(levels)
    levels += [_cache(cache, len(topology.cpus)) for cache in topology.caches]
    split = next((place for place, level in enumerate(levels) if level.shared), None)
    if split is not None:
        levels[split] = replace(levels[split], fanout=len(topology.cpus))
    for place, level in enumerate(levels[first:], first):
        levels[place] = _linked(level, place - first + 1, topology, figures)
    peak = figure_for(figures, Measured.PEAK)
    clock = None if peak is None else round(peak.clock_hz.median / 1e6) * 10**6
    return Machine(name=name, levels=tuple(levels), memory=MEMORY, clock_hz=clock, core=core)


def core_of(vectors: Vectors | None, figures: tuple[Figure, ...]) -> Core | None:
    """Latency and ports as whole numbers from what was measured; None without measurements.

    Ports are what the best slice in a hundred shows, rounded to the nearest whole number.
    """
    latency, peak = figure_for(figures, Measured.LATENCY), figure_for(figures, Measured.PEAK)
    loads = figure_for(figures, Measured.LOADS)
    if vectors is None or latency is None or peak is None or loads is None:
        return None
    return Core(
        vector_bytes=vectors.vector_bytes,
        registers=vectors.registers,
        fma_ports=max(round(peak.per_cycle.best), 1),
        fma_latency=max(round(1 / latency.per_cycle.high), 1),
        load_ports=max(round(loads.per_cycle.best / vectors.vector_bytes), 1),
    )


def _registers(vectors: Vectors, core: Core | None, *, near: bool) -> Level:
    """Where a cache is near, their link is what the load ports carry: whole vectors, whoever disturbed the stream."""
    level = Level(name="Reg", capacity=Capacity(amount=vectors.registers * vectors.vector_bytes))
    if core is None:
        return level
    level = replace(level, microkernel=microkernel_of(core))
    return replace(level, bandwidth=Bandwidth(amount=core.load_ports * core.vector_bytes)) if near else level


def _cache(cache: Cache, cores: int) -> Level:
    """A level of its own for every core, or one for all; of a cache that some share, each has its part."""
    shared = cores > 1 and len(cache.cpus) == cores
    part = 1 if shared else max(len(cache.cpus), 1)
    return Level(
        name=f"L{cache.level}",
        capacity=Capacity(amount=cache.size // part),
        kind=LevelKind.CACHE,
        shared=shared,
        inclusive=False,
        line_bytes=cache.line_bytes,
        ways=cache.ways,
    )


def _linked(level: Level, place: int, topology: Topology, figures: tuple[Figure, ...]) -> Level:
    """The level with the bandwidth of its link outwards, as a stream out of memory `place` measured it."""
    alone = link_rate(place, 1, topology, figures)
    together = link_rate(place, len(topology.cpus), topology, figures)
    if alone is None:
        return level
    if not level.shared or together is None or together.high <= alone.high:
        return replace(level, bandwidth=_bandwidth(alone))
    return replace(level, bandwidth=_bandwidth(together), core_bandwidth=_bandwidth(alone))


def _bandwidth(rate: Spread) -> Bandwidth:
    return Bandwidth(amount=round(rate.high, 2))


def link_rate(place: int, threads: int, topology: Topology, figures: tuple[Figure, ...]) -> Spread | None:
    """Bytes per cycle that all threads together take out of a memory; None if that was not measured.

    The cycles are those of a core that multiplies and adds. A private cache keeps pace with its core, whatever its
    clock is; what is shared has a clock of its own, so its bytes per second are what stays.

    Args:
        place: number of the cache, inner first; one more for the memory.
        threads: that take part.
        topology: cores and caches.
        figures: what was measured.
    """
    found, peak = figure_for(figures, Measured.READ, threads, place), figure_for(figures, Measured.PEAK)
    if found is None or peak is None:
        return None
    private = place < len(topology.caches) and not topology.caches[place].common
    return found.per_cycle if private else found.per_second.scaled(1 / peak.clock_hz.median)


def _unmeasured(machine: Machine, topology: Topology, figures: tuple[Figure, ...]) -> list[str]:
    """Links whose memory is no larger than what is inside it, as this process sees it."""
    first = len(machine.levels) - len(topology.caches)
    return [
        f"bandwidth {inner} - {outer}: a stream out of {outer} alone is not possible here"
        for place, (inner, outer) in enumerate(machine.boundaries)
        if place >= first - 1 and link_rate(place - first + 1, 1, topology, figures) is None
    ]


def host_notes(
    machine: Machine, topology: Topology, processor: Processor, figures: tuple[Figure, ...]
) -> tuple[str, ...]:
    """Where measurements contradict the tables or one another."""
    found = [
        f"L{cache.level} is shared by {len(cache.cpus)} of {len(topology.cpus)} cores: each is given its part"
        for cache in topology.caches
        if 1 < len(cache.cpus) < len(topology.cpus)
    ]
    if processor.vectors is not None and not processor.vectors.fused:
        found.append(f"{processor.vectors.isa} has no fused multiply-add: ports and latency are of the pair")
    crowded = _crowding_notes(machine, topology, figures)
    return (*found, *_port_notes(machine.core, figures), *crowded, *_depth_notes(topology, figures))


def _crowding_notes(machine: Machine, topology: Topology, figures: tuple[Figure, ...]) -> list[str]:
    """Links of private levels have the number of one core alone; all together may get less each."""
    found, cores = [], len(topology.cpus)
    for place, (inner, outer) in enumerate(machine.boundaries[1:], 1):
        alone, together = (link_rate(place, threads, topology, figures) for threads in (1, cores))
        if machine.levels[place].shared or alone is None or together is None:
            continue
        if together.high < CROWDED * cores * alone.high:
            found.append(
                f"{inner} - {outer}: {together.high / cores:.3g} B/cycle for each of {cores} cores at work, "
                f"{alone.high:.3g} B/cycle for one alone, which the file has"
            )
    return found


def _port_notes(core: Core | None, figures: tuple[Figure, ...]) -> list[str]:
    """Ports are whole; what was measured may be far from that."""
    peak, loads = figure_for(figures, Measured.PEAK), figure_for(figures, Measured.LOADS)
    if core is None or peak is None or loads is None:
        return []
    found = []
    if peak.per_cycle.median < 0.9 * core.fma_ports:
        found.append(
            f"half of the time a core did {peak.per_cycle.median:.2f} multiply-adds a cycle or fewer, at best "
            f"{peak.per_cycle.best:.2f}: others use the same core; measure again when they are quiet"
        )
    whole = loads.per_cycle.best / core.vector_bytes
    for what, seen, taken in (
        ("multiply-adds", peak.per_cycle.best, core.fma_ports),
        ("loads", whole, core.load_ports),
    ):
        if abs(seen - taken) > UNSURE:
            found.append(f"{seen:.2f} {what} a cycle at best are taken as {taken}; measure again to be sure")
    return found


def _depth_notes(topology: Topology, figures: tuple[Figure, ...]) -> list[str]:
    """The outermost cache may be smaller for this process than its table says."""
    last = len(topology.caches)
    near, far = (figure_for(figures, Measured.READ, place=place) for place in (last - 1, last))
    if near is None or far is None or last < 2:
        return []
    cache, memory = topology.caches[-1], far.per_second.median
    name, size = f"L{cache.level}", f"{cache.size / 2**20:g} MiB"
    if near.per_second.median < 1.2 * memory:
        return [f"{name} of {size} is in the tables, but streams out of it are no faster than out of the memory"]
    between = (near.per_second.median * memory) ** 0.5
    slow: list[Job] = [f.job for f in figures if f.job.quantity is Measured.DEPTH and f.per_second.median < between]
    if not slow:
        return []
    least = min(job.size for job in slow)
    return [
        f"the tables have {size} of {name}, but streams over {least / 2**20:.3g} MiB run at about the memory's speed: "
        "this process gets less of it; lower the capacity in the file if others use the machine all the time"
    ]
