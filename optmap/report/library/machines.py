"""Machines as tables: levels of processors, and of accelerators what memories keep, cost and feed, and their rules."""

from __future__ import annotations

from fractions import Fraction

from optmap.base.texts import several
from optmap.machines.accelerator import FactorRule, KeepRule, MeshAxis, Ports, Prices, Store
from optmap.machines.form import FormName
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.report.tables import grid, machine_line, pairs

MEMORIES = ("memory", "capacity", "keeps", "pJ read/fill/update", "words/cycle", "block", "feeds")
"""Columns of the table of an accelerator."""


def _capacity_text(level: Level) -> str:
    """The capacity with its parts, the size of an entry and the buffers."""
    parts = [f"{part.name} {part.capacity.amount:,} for {', '.join(part.tensors)}" for part in level.partitions]
    if level.store is not None and level.store.word_bits is not None:
        parts.append(several(level.store.word_bits, "bit") + " each" + (", packed" if level.store.pack else ""))
    if level.buffering > 1:
        parts.append(f"{level.buffering} buffers")
    return f"{level.capacity} ({'; '.join(parts)})" if parts else str(level.capacity)


def machine_table(machine: Machine) -> str:
    """Everything about a machine, inner level first."""
    core = f"\n\ncore  {core_text(machine)}" if machine.core is not None else ""
    return f"machine  {machine_line(machine)}{core}\n\n{_TABLES[machine.form](machine)}"


def levels_table(machine: Machine) -> str:
    """Levels inner to outer, with what else is known of each below."""
    header = ("level", "capacity", "bandwidth", "kind", "sharing", "fanout", "inclusive", "pJ/word", "microkernel")
    table = grid(header, "<>><<><><", [_level_row(level) for level in machine.levels])
    lines = [f"{level.name}: {text}" for level in machine.levels for text in [_line_text(level)] if text]
    return "\n\n".join([table, *(["\n".join(lines)] if lines else [])])


def core_text(machine: Machine) -> str:
    """What a core computes with, on one line; empty if unknown."""
    core = machine.core
    if core is None:
        return ""
    clock = "" if machine.clock_hz is None else f", {machine.clock_hz / 1e9:g} GHz"
    return (
        f"{several(core.registers, 'register')} of {several(core.vector_bytes, 'byte')}; per cycle "
        f"{several(core.fma_ports, 'multiply-add')} (latency {core.fma_latency}) and "
        f"{several(core.load_ports, 'load')}{clock}"
    )


def _line_text(level: Level) -> str:
    """Lines and ways of a cache, what one core gets, and traits of one's own; empty if unknown."""
    texts = [] if level.line_bytes is None else [f"lines of {several(level.line_bytes, 'byte')}"]
    texts += [] if level.ways is None else [several(level.ways, "way")]
    texts += [] if level.core_bandwidth is None else [f"{level.core_bandwidth} for one core alone"]
    texts += [f"{name} {value}" for name, value in level.traits]
    return ", ".join(texts)


def _level_row(level: Level) -> tuple[str, ...]:
    kernel = level.microkernel
    return (
        level.name,
        _capacity_text(level),
        str(level.bandwidth),
        level.kind.value,
        "shared" if level.shared else "private",
        str(level.fanout),
        "yes" if level.inclusive else "no",
        "-" if level.energy_pj is None else f"{level.energy_pj:g}",
        "-" if kernel is None else f"{kernel.vector} x {kernel.broadcast}",
    )


def stores_table(machine: Machine) -> str:
    """Memories inner to outer, the outermost last, with the rules of each below."""
    outermost = machine.stores[-1]
    packed = f" (packed in {several(outermost.word_bits, 'bit')})" if outermost.word_bits and outermost.pack else ""
    capacities = [*(_capacity_text(level) for level in machine.levels), f"unbounded{packed}"]
    stores = list(zip(machine.mapped, machine.stores, capacities, strict=True))
    names = ["arithmetic", *(level.name for level in machine.levels)]
    rows = [
        (
            name,
            capacity,
            _keeps(store),
            _energies(store),
            _ports(store.ports),
            " x ".join(str(size) for size in (store.block, store.cluster) if size > 1) or "-",
            _feeds(store, names[place]),
        )
        for place, (name, store, capacity) in enumerate(stores)
    ]
    lines = [
        ("arithmetic", f"{machine.units:,} units, {_decimal(machine.arithmetic.energy_pj)} pJ per multiply-accumulate"),
        *((level.name, text) for level in machine.levels for text in [_kind_text(level)] if text),
        *((name, text) for name, store, _ in stores for text in [_rules(store)] if text),
    ]
    return grid(MEMORIES, "<><>>><", rows) + "\n\n" + pairs(lines)


_TABLES = {FormName.TILES: levels_table, FormName.NEST: stores_table}


def _kind_text(level: Level) -> str:
    """That it is a cache, with its lines, and its traits of one's own; empty for a scratchpad without any."""
    texts = ["cache"] if level.kind is LevelKind.CACHE else []
    return ", ".join([*texts, *([text] if (text := _line_text(level)) else [])])


def _keeps(store: Store) -> str:
    if not store.keeps:
        return "all"
    kept = [name for name, keep in store.keeps if keep is KeepRule.KEPT]
    free = [name for name, keep in store.keeps if keep is KeepRule.FREE]
    texts = [", ".join(kept)] if kept else []
    return "; ".join([*texts, *([f"{', '.join(free)} if wanted"] if free else [])]) or "none"


def _energies(store: Store) -> str:
    """Prices of accesses, of bits, or of both."""
    per_bit = store.energy_pj_per_bit
    if per_bit == Prices():
        return _prices(store.energy_pj)
    own = [] if store.energy_pj == Prices() else [_prices(store.energy_pj)]
    return " + ".join([*own, f"{_prices(per_bit)} per bit"])


def _prices(prices: Prices) -> str:
    values = [_decimal(price) for price in (prices.read, prices.fill, prices.update)]
    return values[0] if len(set(values)) == 1 else " / ".join(values)


def _ports(ports: Ports) -> str:
    named = {"read": ports.read, "write": ports.write, "shared": ports.shared}
    unit = "B" if ports.unit == "bytes" else ""
    texts = [f"{_decimal(rate)}{unit} {name}" for name, rate in named.items() if rate is not None]
    if ports.read is not None and ports.read == ports.write and ports.shared is None:
        return f"{_decimal(ports.read)}{unit} each way"
    return ", ".join(texts) or "no limit"


def _feeds(store: Store, inner: str) -> str:
    mesh = store.mesh
    if mesh.size == 1:
        return f"1 {inner}"
    size = f"{mesh.x.size} x {mesh.y.size}" if mesh.y.size > 1 else str(mesh.x.size)
    missing = [name for name, there in (("multicast", mesh.multicast), ("reduction", mesh.reduction)) if not there]
    return f"{size} {inner}" + (f" (no {', no '.join(missing)})" if missing else "")


def _rules(store: Store) -> str:
    """What mappings must obey at a memory; empty for nothing."""
    texts = [_axis(name, axis) for name, axis in (("along x", store.mesh.x), ("along y", store.mesh.y))]
    texts.append(_factors("loops", store.factors))
    if store.order:
        texts.append(f"loops in order {', '.join(store.order)} (outermost first)")
    for what, price in (("hop", store.hop_pj), ("router", store.router_pj)):
        if price:
            texts.append(f"{_decimal(price)} pJ per {what}")
    return "; ".join(text for text in texts if text)


def _axis(name: str, axis: MeshAxis) -> str:
    texts = [] if axis.dims is None else [f"{name} {', '.join(axis.dims) or 'nothing'}"]
    return "; ".join([*texts, *([_factors(name, axis.factors)] if axis.factors else [])])


def _factors(name: str, factors: tuple[FactorRule, ...]) -> str:
    return f"{name} {' '.join(rule.text for rule in factors)}" if factors else ""


def _decimal(value: Fraction | float) -> str:
    return f"{float(value):,.10g}"
