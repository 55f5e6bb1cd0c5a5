"""Verify a bound in time: certificates of the words of every link, and the arithmetic from words to cycles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.form import TIME_BOUND
from ..core.report import Report, level_lines, statement_lines
from ..core.shapes import check_form
from ..core.statement import StatedWork
from ..core.tools import equal, need, plain
from .crossings import boundary_of, check_entry, check_setting
from .timing import FloorPart, StatedRunning, check_seconds, instances_used, link, roof, time_line


def check_time_bound(doc: Any) -> Report:
    """Verify the file of a bound in time of one product.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    check_form(doc, TIME_BOUND)
    work, machine = StatedWork(doc["workload"]), doc["machine"]
    check_setting(doc, work)
    running = StatedRunning(machine, doc["threads"], doc["caches"])

    def words_of(entry: Any, q: int) -> int:
        return check_entry(doc, work, entry, q, instances_used(running, q), loads=True)

    parts = check_parts(doc, running, roof(work, running), work.word_bits, words_of)
    verified = [
        *statement_lines(work, doc["workload"]),
        *level_lines(machine, work),
        time_line(parts, running, doc["certificates"]),
    ]
    return Report(verified=tuple(verified), not_verified=hearsay(doc))


def check_parts(
    doc: Any, running: StatedRunning, first: FloorPart, word_bits: int, words_of: Callable[[Any, int], int]
) -> list[FloorPart]:
    """The parts are what multiply-adds and verified certificates say, and the bound is the largest of them.

    Args:
        doc: the file.
        running: how code runs.
        first: multiply-adds.
        word_bits: size of one word.
        words_of: of a certificate's entry and the number of its level, words that its busiest instance loads if cold.
    """
    machine = doc["machine"]
    need(doc["threads"] <= machine["cores"], f"the machine has {machine['cores']} cores")
    parts, known = [first], dict[int, int]()
    for entry in doc["certificates"]:
        q = boundary_of(entry, machine, known)
        known[q] = words_of(entry, q)
        parts.append(link(running, q, known[q], word_bits))
    need(list(known) == sorted(known) and len(doc["parts"]) == len(parts), f"there are {len(parts)} parts")
    for claimed, part in zip(doc["parts"], parts, strict=True):
        rate = part.per_cycle
        values = {
            "part": part.name,
            "amount": part.amount,
            "held": part.held,
            "per_cycle": f"{rate.numerator}/{rate.denominator}",
        }
        need(all(claimed[key] == value for key, value in values.items()), f"{part.name} is {values}")
        need(equal(claimed["cycles"], part.cycles), f"{part.name} takes {float(part.cycles)} cycles")
        check_seconds(claimed["seconds"], part.cycles, machine["clock_hz"])
    value, bound = max(part.cycles for part in parts), doc["bound"]
    need(bound["unit"] == "cycles" and equal(bound["value"], value), f"the bound is {float(value)} cycles")
    largest = next(part.name for part in parts if part.cycles == value)
    need(bound["part"] == largest, f"the largest part is {largest}")
    return parts


def hearsay(doc: Any) -> tuple[str, ...]:
    """What the file says beside its claims."""
    names = f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file"
    said = (
        f"{names}, proved by method {doc['bound']['method']!r}",
        "how often the workload occurs, which levels are shared, energies, microkernels, parts of memories, registers, "
        "latency of multiply-adds and load ports of the core, ways and lines of caches, notes",
    )
    return tuple(plain(line) for line in said)
