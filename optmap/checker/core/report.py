"""What a check says: what was verified, what was not, and texts from a file made safe to print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from .tools import plain, spelled
from .units import rate_of, words_of

LOADED = ("loads", "time")
"""Objectives of words that are loaded alone."""


@dataclass(frozen=True)
class Report:
    """The outcome of a check that refused nothing; every sentence is one line of printable text."""

    verified: tuple[str, ...]
    """What was proved from the file alone: the statement with its sizes, then the claims about it."""
    not_verified: tuple[str, ...]
    """What else the file says; nothing above depends on it."""

    def __str__(self) -> str:
        parts = ["Verified", *(f"  {line}" for line in self.verified)]
        parts += ["Not verified", *(f"  {line}" for line in self.not_verified)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"Report(verified=<{len(self.verified)} lines>, not_verified=<{len(self.not_verified)} lines>)"

    def _repr_html_(self) -> str:
        """The two lists in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The two lists as the document that `check --json` prints, which adds the file and a refusal."""
        return {
            "schema": "optmap.check/1",
            "verified": list(self.verified),
            "not_verified": list(self.not_verified),
        }


def listed(entries: Iterable[tuple[str, Any]]) -> str:
    """`i=20, j=15` with separators of thousands."""
    return ", ".join(f"{key}={value:,}" for key, value in entries)


def statement_lines(work: Any, doc: Any) -> list[str]:
    """The statement with everything that its claims depend on."""
    sizes = set(work.bytes.values())
    elements = (
        f"{sizes.pop():,}-byte elements" if len(sizes) == 1 else f"elements of {listed(work.bytes.items())} bytes"
    )
    padding = ", index values outside the ranges are padding: zero, never stored or moved" if work.padded else ""
    first = "an output word is created" if work.assign else "an output word is loaded at its first touch"
    return [
        spelled(f"for {doc['expression']} ({doc['semantics']}: {first}),"),
        spelled(
            f"extents {listed(work.extents.items())}, {elements}, words of {work.word_bits / 8:,.10g} bytes{padding}:"
        ),
    ]


def machine_lines(machine: Any, work: Any, rule: str, *, timed: bool = False) -> list[str]:
    """Every level with what the claims depend on, and what it holds."""
    held = "all that consecutive tiles with reuse touch in a cache" if rule == "safe" else "one tile of every tensor"
    if timed:
        held = "what a part of the loops touches"
    below = spelled(f"below {machine['memory']}, each level holding {held} (rule {rule}):")
    return [*level_lines(machine, work), below]


def level_lines(machine: Any, work: Any) -> list[str]:
    """Every level with what the claims depend on: capacity, rate, instances, what it holds a copy of."""
    lines = []
    for level in machine["levels"]:
        amount, unit = level["capacity"]["amount"], level["capacity"]["unit"]
        words = "" if unit == "words" else f" ({words_of(level, work.word_bits):,} words)"
        parts = [
            f"{part['name']} {part['capacity']['amount']:,} for {'+'.join(part['tensors'])}"
            for part in level["partitions"]
        ]
        text = f"on {level['name']}: {level['kind']} of {amount:,} {unit}{words}"
        text += f", parts {'; '.join(parts)}" if parts else ""
        text += f", {level['buffering']} working sets" if level["buffering"] > 1 else ""
        text += f", {level['bandwidth']['amount']} {level['bandwidth']['unit']} per cycle"
        if level["bandwidth"]["unit"] == "bytes":
            text += f" ({float(rate_of(level, work.word_bits)):,.10g} words)"
        alone = level.get("core_bandwidth")
        text += "" if alone is None else f", {alone['amount']} {alone['unit']} for one core alone"
        text += f", feeds {level['fanout']}" if level["fanout"] > 1 else ""
        text += "" if level["inclusive"] else ", not inclusive"
        lines.append(spelled(text))
    return lines


def fit_line(levels: Any, objective: str, divided: list[str]) -> str:
    """Tiles nest and fit."""
    used = [f"{row['level']} holds {row['occupancy_words']:,} of {row['capacity_words']:,} words" for row in levels]
    cut = f"; those of {', '.join(divided)} divide what they are cut from" if divided else ""
    timed = objective == "time"
    fit = "cover the problem, and of the loops every level keeps what fits" if timed else "cover the problem and fit"
    return spelled(f"tiles nest, {fit}: {', '.join(used)}{cut}; the objective is {objective}")


def bound_line(doc: Any, value: Fraction, gap: float | None) -> str:
    """The bound with the words that each certificate proves."""
    found = []
    for entry in doc["certificates"]:
        shared = f" (of the busiest of {entry['instances']:,} memories)" if entry["instances"] > 1 else ""
        found.append(f"{entry['words']:,} words between {' and '.join(entry['between'])}{shared}")
    ratio = "no gap" if gap is None else f"gap {100 * gap:,.4g} %"
    verb = "loads" if doc["objective"] in LOADED else "moves"
    return spelled(
        f"bound {float(value):,.10g} {doc['bound']['unit']} and {ratio} follow from re-proved certificates: "
        f"no schedule {verb} fewer than {', '.join(found)}"
    )


def hearsay(doc: Any, nest: Any, proved: Any) -> list[str]:
    """What a solution says beside its claims."""
    status, relaxation, least = doc["status"], doc["relaxation"], doc["integer_bound"]
    lines = [
        f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file",
        f"method {doc['method']!r}, stop {status['stop']!r}, point {status['point']!r}, "
        f"proved {status['proved']!r}, within {status['within']!r} of the best of {status['space']!r}, "
        f"tiles {doc['tiles']!r}: how the search went"
        + ("" if proved.integers else " and whether it could have found less"),
    ]
    gap = (
        "" if doc["integer_gap"] is None else f", of which the integer gap of {100 * doc['integer_gap']:,.4g} % is made"
    )
    told = [f"relaxation {_number(relaxation['value'])}"] * (not proved.relaxation)
    told += [f"integer bound {_number(least['value'])}"] * (not proved.integers)
    if told:
        lines.append(f"{' and '.join(told)} {least['unit']}" + ("" if proved.relaxation else gap))
    lines.append("how the relaxation was solved: formulation, method, tolerance, loop orders, sizes, cross-check")
    lines += kernel_lines(nest, doc["machine"]["levels"], outer=False)
    clock = "clock, " if doc.get("prediction", {}).get("seconds") is None else ""
    if "prediction" in doc:
        lines += _predicted_lines(doc["prediction"])
    rest = f"how often the workload occurs, which levels are shared, {clock}energies, notes, seconds, seed, versions"
    return [plain(line) for line in [*lines, rest]]


def _predicted_lines(said: Any) -> list[str]:
    """What a model of the machine says, and what it reads that no claim depends on."""
    return [
        f"cost and exact, {said['cycles']:,.10g} cycles predicted for a kernel {said['kernel']!r} with caches "
        f"{said['caches']}, bound by {said['bound_by']!r}, and the parts of that, registers, kernel, packing, bytes "
        "and cycles of boundaries, what is waited for: a model of the machine",
        f"that the code has layout {said['layout']!r}, weights packed {said['weights']!r}, stores {said['stores']!r}, "
        f"prefetch {said['prefetch']!r}",
        "what the model reads beside: registers, latency of multiply-adds and load ports of the core, ways and "
        "lines of caches",
    ]


def kernel_lines(nest: Any, levels: Any, *, outer: bool) -> list[str]:
    """Levels whose tile is the outer product of their microkernel (`outer`), or is something else."""
    lines = []
    for tile, level in zip(nest.tiles, levels, strict=True):
        kernel = level["microkernel"]
        if kernel is None:
            continue
        found = _outer_product(nest.work, tile, kernel)
        text = (
            f"the tile of {level['name']} is the microkernel's {kernel['vector']} x {kernel['broadcast']} outer product"
        )
        if outer and found:
            lines.append(spelled(f"{text}, cut at the extents, over {' and '.join(found)}"))
        elif not outer and not found:
            lines.append(spelled(f"that {text}: it is another tile"))
    return lines


def _outer_product(work: Any, tile: dict[str, int], kernel: dict[str, int]) -> list[str]:
    """Output dims of vector and broadcast: an input has each without the other, all other dims stand still."""
    inputs = [{d for terms, _ in axes for d, _ in terms} for _, axes in work.tensors[1:]]
    for vector in work.output:
        for other in work.output - {vector}:
            apart = any(vector in x and other not in x for x in inputs) and any(
                other in x and vector not in x for x in inputs
            )
            widths = {vector: min(kernel["vector"], work.extents[vector])}
            widths[other] = min(kernel["broadcast"], work.extents[other])
            if apart and tile == {d: widths.get(d, 1) for d in tile}:
                return [vector, other]
    return []


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g}"
