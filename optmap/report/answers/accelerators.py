"""Mappings on accelerators as text: memories, accesses, the loop nest, and what is proved."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optmap.base.texts import energy_text, number, percent
from optmap.base.values import nearest_float
from optmap.count.meshes.results import SpatialCost
from optmap.machines.machine import Machine
from optmap.report.answers.spatial_nest import nest_text
from optmap.report.tables import constraint_lines, grid, notes_text, pairs, strongest, workload_lines
from optmap.search.explore.driver import End
from optmap.search.explore.settings import setting_text
from optmap.search.floors import Number

LARGE = 10**12
"""From here on an objective is written as a power of ten."""

if TYPE_CHECKING:
    from optmap.answers.documents.solution import SavedSolution
    from optmap.search.found import Found
    from optmap.search.result import Answer, NestAnswer


def accelerator_line(machine: Machine, cost: SpatialCost | None = None) -> str:
    """Name and memories of an accelerator, inner to outer, and its units."""
    names = [level.name for level in machine.levels] + [machine.memory]
    used = "" if cost is None else f", {cost.operations // cost.compute_cycles:,} in use"
    return f"{machine.name} ({' < '.join(names)}; {machine.units:,} arithmetic units{used})"


def result_table(result: NestAnswer) -> str:
    """The whole answer of `solve` on an accelerator for people."""
    head = pairs(
        [
            *workload_lines(result.workload),
            ("machine", accelerator_line(result.machine, result.count)),
            (
                "method",
                f"{result.method}, objective {result.objective}, counting {result.counting}, tiles {result.tiles}",
            ),
            ("status", answer_status(result)),
            ("space", result.space),
            *constraint_lines(result.constraints),
        ]
    )
    nest = nest_text(result.nest, result.fabric, result.count).rstrip()
    parts = [head, *cost_parts(result.count), nest, pairs(_summary(result))]
    if result.notes:
        parts.append(notes_text(result.notes))
    return "\n\n".join(parts)


def cost_parts(cost: SpatialCost) -> list[str]:
    """The tables of a count: memories, and what each tensor does in them."""
    return [memory_table(cost), access_table(cost)]


def memory_table(cost: SpatialCost) -> str:
    """Per memory, inner first, what it holds, what it costs and how long its ports are busy."""
    slowest = cost.bottleneck
    rows: list[tuple[str, ...]] = [
        (
            memory.name,
            f"{memory.instances:,}",
            f"{memory.occupancy_words:,}",
            "-" if memory.capacity_words is None else f"{memory.capacity_words:,}",
            "-" if memory.capacity_words is None else percent(memory.occupancy_words, memory.capacity_words),
            percent(*_parts(memory.utilisation)),
            number(float(memory.energy_pj)),
            percent(*_parts(memory.energy_pj / cost.energy_pj if cost.energy_pj else Fraction(0))),
            number(memory.cycles) if memory.ports else "-",
            "<- bottleneck" if memory.name == slowest else "",
        )
        for memory in cost.memories
    ]
    rows.insert(0, _arithmetic(cost, slowest))
    header = ("memory", "instances", "occupancy", "capacity", "used", "in use", "energy (pJ)", "share", "cycles", "")
    return "Memories, inner first: words of one instance, energy of all\n" + grid(header, "<>>>>>>>><", rows)


def _arithmetic(cost: SpatialCost, slowest: str) -> tuple[str, ...]:
    share = percent(*_parts(cost.arithmetic_pj / cost.energy_pj if cost.energy_pj else Fraction(0)))
    return (
        "arithmetic",
        f"{cost.operations // cost.compute_cycles:,}",
        *("-",) * 4,
        number(float(cost.arithmetic_pj)),
        share,
        number(cost.compute_cycles),
        "<- bottleneck" if slowest == "arithmetic" else "",
    )


def access_table(cost: SpatialCost) -> str:
    """Reads, fills and updates per memory and tensor that it keeps."""
    rows = [
        (
            memory.name,
            found.operand,
            f"{found.tile_words:,}",
            f"{found.reads:,}",
            f"{found.fills:,}",
            f"{found.updates:,}",
            f"{float(found.multicast):g}",
            number(float(found.energy_pj)),
        )
        for memory in cost.memories
        for found in memory.accesses
    ]
    header = ("memory", "tensor", "tile", "reads", "fills", "updates", "shared by", "energy (pJ)")
    title = "Accesses of all instances together, in words; one read (or update) is shared by so many children\n"
    return title + grid(header, "<<>>>>>>", rows)


def _parts(share: Fraction) -> tuple[float, float]:
    return float(share), 1.0


def merit_text(value: Number) -> str:
    """An objective or a bound on it."""
    return number(float(value)) if value < LARGE else f"{float(value):.9g}"


def amounts(cost: SpatialCost) -> list[tuple[str, str]]:
    """Energy, cycles and their product, as lines."""
    return [
        ("energy", energy_text(cost.energy_pj)),
        ("cycles", f"{cost.cycles:,} (decided by {cost.bottleneck})"),
        ("EDP", f"{float(cost.edp):.6g} pJ*cycles"),
        ("utilisation", f"{percent(*_parts(cost.utilisation))} of all arithmetic units"),
    ]


def answer_status(result: Answer[Any, Any]) -> str:
    """Whether it is proved or how near to what is, and what does not fit."""
    if not result.fits:
        only = "" if result.count.broken else f" but as {result.counting} takes capacities, {result.counting.room.text}"
        return f"does not fit the machine{only}: {'; '.join(result.broken)}"
    if result.proved:
        return "optimal, proved"
    stop = result.stop.value.replace("_", " ")
    what, gap = result.objective, result.gap
    near = strongest(
        (result.within, what, "its bound"),
        (None if gap is None else float(gap), what + _counted(result), "the floor"),
        digits=2,
    )
    return f"{stop}, {near}"


def gap_lines(result: Answer[Any, Any]) -> list[tuple[str, str]]:
    """How far above the floor it is, if there is one."""
    if result.gap is None:
        return []
    return [("gap", f"{100 * float(result.gap):.2f} % of {result.objective}{_counted(result)} above the floor")]


def _counted(result: Answer[Any, Any]) -> str:
    """What the objective of a gap is beside that of the answer."""
    return "" if result.counting.bounded else " (counted exactly)"


def _summary(result: NestAnswer) -> list[tuple[str, str]]:
    found, unit = result.found, result.cost_unit
    rows = amounts(result.count)
    if result.integer_bound:
        rows += [
            ("bound", f"{merit_text(result.integer_bound)} {unit}, of every mapping of the space"),
            ("  proof", found.proof),
        ]
    rows += _search_lines(found, result.seconds)
    floor = result.floor
    if floor is not None:
        rows.append(
            (
                "floor",
                f"{merit_text(floor.merit(result.merit))} {unit}, of every schedule: "
                f"energy {energy_text(floor.energy_pj)}, cycles {floor.cycles:,}",
            )
        )
    return [*rows, *gap_lines(result)]


ENDS = {
    End.STRATEGY: "it had nothing more to propose",
    End.EVALUATIONS: "it had as many evaluations as it may",
    End.TIME: "the time was over",
}


def _search_lines(found: Found, seconds: float) -> list[tuple[str, str]]:
    """How much was looked at, when the best was found, and what rules cut."""
    trace = found.trace
    share = "" if trace is None or not trace.evaluations else f", {percent(trace.valid, trace.evaluations)} valid"
    rows = [("evaluations", f"{found.evaluations:,} in {seconds:.3f} s{share}")]
    if found.curve:
        last = found.curve[-1]
        rows.append(("  best", f"after {last.evaluations:,} in {last.seconds:.3f} s"))
    if trace is None:
        return rows
    if trace.end is not None:
        rows.append(("  end", ENDS[trace.end]))
    if trace.settings:
        rows.append(("  settings", ", ".join(f"{name}={setting_text(own)}" for name, own in trace.settings.items())))
    for cut in trace.cuts:
        share = f" ({percent(cut.cut, cut.seen)})" if cut.seen else ""
        rows.append(("  rule", f"{cut.rule}: cut {cut.cut:,} of {cut.seen:,}{share}"))
    return rows


def saved_table(solution: SavedSolution) -> str:
    """What a solution file of an accelerator says; nothing in it is recounted."""
    rows = [
        *workload_lines(solution.workload),
        ("machine", accelerator_line(solution.machine)),
        ("objective", f"{solution.objective}, counting {solution.counting}"),
        *[
            (name, f"{_claim(solution, name)} (as the file says)")
            for name in ("cost", "bound")
            if _claim(solution, name)
        ],
    ]
    return pairs(rows) + "\n\n" + nest_text(solution.nest, solution.fabric).rstrip()


def _claim(solution: SavedSolution, name: str) -> str:
    found = solution.document.get(name)
    if not isinstance(found, dict) or not isinstance(found.get("value"), int | float):
        return ""
    return f"{nearest_float(found['value']):.9g} {found.get('unit', '')}"
