"""Lower bounds of a workload at every boundary of a machine: table, JSON, constraint table."""

from __future__ import annotations

from optmap.answers.proofs.boundaries import BoundaryBounds, BoundReport
from optmap.answers.proofs.time_floor import TimeFloor, part_documents
from optmap.base.errors import InputError
from optmap.base.texts import number, plain, ratio_text, several
from optmap.base.writing import to_json
from optmap.bounds.explain import Explanation
from optmap.bounds.printed import Printed
from optmap.bounds.result import LowerBound
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.report.tables import grid, machine_line, pairs, workload_lines

SCHEMA = "optmap.bound/1"
NO_FLOOR = "no floor of the chain"
"""What the floors of statements by themselves add up to."""


def bound_document(report: BoundReport) -> dict[str, object]:
    """The JSON document of `bound`: `bounds` and `best` of the outermost boundary, then every boundary."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "workload": workload_document(report.workload),
        "machine": machine_document(report.machine),
        **_boundary_document(report.outermost),
        "boundaries": [{"between": list(row.between), **_boundary_document(row)} for row in report.boundaries],
        "left_out": dict(report.left_out),
    }
    if report.alone is not None:
        document["statements_alone"] = {
            "total_words": sum(report.alone.values()),
            "statements": dict(report.alone),
            "note": NO_FLOOR,
        }
    if report.explanation is not None:
        document["explanation"] = _explanation_document(report.explanation)
    if report.time is not None:
        document |= {"objective": "time", "time": _time_document(report.time)}
    if report.merit is not None:
        from optmap.report.answers import turns

        document |= {"objective": report.merit.objective.name, "merit": turns.merit_document(report.merit)}
    return document


def _time_document(floor: TimeFloor) -> dict[str, object]:
    """The bound in time for documents."""
    instances = [1, *(proof.instances for proof in floor.proofs)]
    return {
        "value": plain(floor.cycles),
        "unit": "cycles",
        "seconds": floor.seconds(floor.cycles),
        "part": floor.largest.name,
        "threads": floor.running.threads,
        "caches": floor.running.caches.value,
        "parts": [{**part, "instances": n} for part, n in zip(part_documents(floor), instances, strict=True)],
        "assumptions": list(floor.assumptions),
        "notes": list(floor.notes),
    }


def certificate_text(report: BoundReport) -> str:
    """The certificate of the best certified bound at the outermost boundary, as the text of a file.

    Raises:
        InputError: if none of the methods makes certificates.
    """
    if report.certificate is None:
        raise InputError("none of the methods makes certificates; add best to the methods")
    return to_json(report.certificate) + "\n"


def _boundary_document(row: BoundaryBounds) -> dict[str, object]:
    best = row.best
    return {
        "memory_words": row.memory_words,
        "instances": row.instances,
        "assumptions": list(row.assumptions),
        "bounds": [_bound_document(bound) for bound in row.bounds],
        "best": {
            "method": best.method,
            "loads_words": best.loads_words,
            "stores_words": best.stores_words,
            "total_words": best.total_words,
            "busiest_instance_words": row.busiest_words,
        },
    }


def _bound_document(bound: LowerBound) -> dict[str, object]:
    return {
        "method": bound.method,
        "loads_words": bound.loads_words,
        "stores_words": bound.stores_words,
        "total_words": bound.total_words,
        "exponents": {name: ratio_text(value) for name, value in bound.exponents.items()},
        "expression": bound.expression,
        "assumptions": list(bound.assumptions),
        "certified": bound.certificate is not None,
    }


def _explanation_document(explanation: Explanation) -> dict[str, object]:
    return {
        "maps": {name: list(rows) for name, rows in explanation.maps.items()},
        "sizes": dict(explanation.sizes),
        "lifts": list(explanation.lifts),
        "families": [list(dims) for dims in explanation.families],
        "constraints": [
            {"family": list(row.family), "subspace": list(row.generators), "text": row.text, "tight": row.tight}
            for row in explanation.rows
        ],
        "exponents": {name: ratio_text(value) for name, value in explanation.exponents.items()},
        "printed": [
            {
                "source": found.source,
                "terms": [{"formula": t.formula, "words": t.words, "proved": t.proved} for t in found.terms],
                "notes": list(found.notes),
            }
            for found in explanation.printed
        ],
    }


def bound_table(report: BoundReport) -> str:
    """All methods side by side, boundary by boundary."""
    head = pairs([*workload_lines(report.workload), ("machine", machine_line(report.machine))])
    parts = [head, *(_boundary_table(row) for row in report.boundaries)]
    if report.alone is not None:
        parts.append(_alone_text(report.alone))
    if report.left_out:
        parts.append("\n".join(f"left out: {name}: {reason}" for name, reason in report.left_out.items()))
    if report.explanation is not None:
        parts.append(explanation_table(report.explanation))
    if report.time is not None:
        parts.append(time_table(report.time))
    if report.merit is not None:
        from optmap.report.answers import turns

        parts.append(turns.bound_table(report.merit))
    return "\n\n".join(parts)


def _alone_text(alone: dict[str, int]) -> str:
    each = ", ".join(f"{name} {number(words)}" for name, words in alone.items())
    return f"floors of the statements alone, added: {several(sum(alone.values()), 'word')} ({each}): {NO_FLOOR}"


def time_table(floor: TimeFloor) -> str:
    """The bound in time part by part, the largest marked."""
    rows = []
    for place, part in enumerate(floor.parts):
        unit = "words" if place else "operations"
        seconds = floor.seconds(part.cycles)
        rows.append(
            (
                part.name,
                f"{number(part.amount)} {unit}",
                number(part.held) if place else "",
                f"{float(part.per_cycle):.4g}",
                number(plain(part.cycles)),
                "-" if seconds is None else f"{1000 * seconds:.4g}",
                "<- largest" if part is floor.largest else "",
            )
        )
    threads = f", {floor.running.threads} threads" if floor.running.threads > 1 else ""
    title = f"No code takes fewer than {number(plain(floor.cycles))} cycles (caches {floor.running.caches}{threads})"
    header = ("part", "at least", "held (words)", "per cycle", "cycles", "ms", "")
    lines = [title, grid(header, "<>>>>><", rows), "assumed:", *(f"  {text}" for text in floor.assumptions)]
    return "\n".join([*lines, *floor.notes])


def _boundary_table(row: BoundaryBounds) -> str:
    cells = [
        (
            bound.method,
            number(bound.loads_words),
            number(bound.stores_words),
            number(bound.total_words),
            "yes" if bound.certificate is not None else "no",
            "<- best" if bound is row.best else "",
        )
        for bound in row.bounds
    ]
    header = ("method", "loads (words)", "stores (words)", "total", "certificate", "")
    between, held = " and ".join(row.between), several(row.memory_words, "word")
    title = f"At least so many words between {between}, with {held} of fast memory"
    if row.instances > 1:
        title += (
            f" in each of {row.instances:,} instances;\nall instances together, "
            f"the busiest moves at least {several(row.busiest_words, 'word')}"
        )
    assumed: dict[str, list[str]] = {text: ["all methods"] for text in row.assumptions}
    for bound in row.bounds:
        for text in bound.assumptions:
            assumed.setdefault(text, []).append(bound.method)
    formulas = [(f"  {bound.method}", bound.expression) for bound in row.bounds]
    taken = [f"  {text} ({', '.join(names)})" for text, names in assumed.items()]
    return "\n".join([title, grid(header, "<>>><<", cells), "formulas:", pairs(formulas), "assumed:", *taken])


def explanation_table(explanation: Explanation) -> str:
    """The maps, the constraints on their exponents, the exponents chosen, and the terms of the papers."""
    maps = [
        (
            name,
            ", ".join(rows) or "0",
            f"{explanation.sizes[name]:,}" if name in explanation.sizes else "-",
            str(explanation.exponents.get(name, 0)),
        )
        for name, rows in explanation.maps.items()
    ]
    rows = [
        (", ".join(row.family), ", ".join(row.generators) or "0", row.text, "tight" if row.tight else "")
        for row in explanation.rows
    ]
    lines = ["Maps: s of a tensor access, z of a known size; exponents of the strongest bound by maps alone"]
    lines.append(grid(("map", "rows", "size", "exponent"), "<<><", maps))
    lines += [f"lifted: {lift}" for lift in explanation.lifts]
    lines += ["", "Constraints: rank of a subspace <= ranks of its images, one line per subspace of every family"]
    lines.append(grid(("family", "subspace", "constraint", ""), "<<<<", rows))
    for found in explanation.printed:
        lines += ["", *_printed_lines(found)]
    return "\n".join(lines)


def _printed_lines(found: Printed) -> list[str]:
    """One paper's terms with their values, and how to read them."""
    lines = [f"As printed: {found.source}"]
    if found.terms:
        rows = [(term.formula, number(term.words), "yes" if term.proved else "no") for term in found.terms]
        lines.append(grid(("term", "words, rounded down", "proved here"), "<><", rows))
    return lines + [f"  {note}" for note in found.notes]
