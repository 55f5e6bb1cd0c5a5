"""What the columns of a row have to be, told from the documents behind it and from nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optmap.bounds.compulsory import compulsory
from optmap.files.fields import Fields
from optmap.files.machines import machine_from
from optmap.files.workloads import read_workload
from optmap.machines.machine import Machine
from optmap.workloads.workload import Workload

Document = Mapping[str, Any]
Columns = dict[str, object]

TINY = 1e-12
"""Absolute difference of two that are nothing."""
CLOSE = 1e-9
"""Relative difference of two floats that are the same number, computed in another order."""
OF_CACHES = dict.fromkeys(("compulsory_words", "traffic_words", "bound_words", "traffic_gap", "integer_gap"))
"""Columns that are empty on accelerators."""
OF_NESTS = dict.fromkeys(
    ("energy_pj", "cycles", "edp", "utilisation", "search_bound", "evaluations", "valid_share", "seconds_to_best")
)
"""Columns that are empty elsewhere."""
NOTHING = {**OF_CACHES, **OF_NESTS, **dict.fromkeys(("cost", "exact", "bound", "gap", "proved", "within"))}
"""Columns that are empty without a document."""
ELSEWHERE = "names of workloads and machines, counts, cores, constraints and times"
"""Columns that no document of a row proves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What is behind a row."""

    document: Document
    """Solution, or what was proved of a bound."""
    certificate: Document | None
    """Of the bound at the level of the row; None without one."""
    level: str
    cores: int
    """In use: with several, a bound is on one core's share."""

    @property
    def workload(self) -> Workload:
        """The computation."""
        return read_workload(Fields.of(self.document["workload"], "workload"))

    @property
    def machine(self) -> Machine:
        """Its levels."""
        return machine_from(Fields.of(self.document["machine"], "machine"))


def differences(row: Mapping[str, object], behind: Behind | None) -> list[str]:
    """Columns that are not what the documents say, in words.

    Args:
        row: its columns.
        behind: its documents; None for a row without any.
    """
    if behind is None:
        return [f"{name} is {row[name]} without any document" for name in NOTHING if row[name] is not None]
    schema = str(behind.document["schema"])
    kind = next((made for start, made in KINDS.items() if schema.startswith(start)), None)
    if kind is None:
        return [f"its document is of schema {schema!r}"]
    said = {**_question(behind), **kind(behind)}
    return [
        f"{name} is {row[name]}, its document says {value}"
        for name, value in said.items()
        if not _same(row[name], value)
    ]


def _same(found: object, said: object) -> bool:
    if isinstance(found, float) and isinstance(said, int | float):
        return math.isclose(found, said, rel_tol=CLOSE, abs_tol=TINY)
    return found == said


def _question(behind: Behind) -> Columns:
    """What was asked for."""
    workload = behind.workload
    columns: Columns = {
        "semantics": workload.semantics.value,
        "word_bits": workload.word_bits,
        "operations": workload.operations,
    }
    capacity = next((level.room for level in behind.machine.levels if level.name == behind.level), None)
    if capacity is not None:
        columns["capacity_words"] = capacity.words(workload.word_bits)
        columns["capacity_bytes"] = float(capacity.bytes(workload.word_bits))
    return columns


def _solved(behind: Behind) -> Columns:
    """Columns that all mappings have."""
    document = behind.document
    bound = document["bound"]
    return {
        "method": document["method"],
        "objective": document["objective"],
        "tiles": document["tiles"],
        "stop": document["status"]["stop"],
        "cost": float(document["cost"]["value"]),
        "cost_unit": document["cost"]["unit"],
        "exact": float(document["exact"]["value"]),
        "bound": None if bound is None else float(bound["value"]),
        "gap": document["gap"],
        "seed": document["seed"],
        "version": document["versions"]["optmap"],
        "mapping": json.dumps(document["mapping"]["levels"]),
    }


def _solution(behind: Behind) -> Columns:
    """Of a mapping onto caches."""
    document = behind.document
    rows = [row for row in document["boundaries"] if row["between"][0] == behind.level]
    traffic = sum(row["loads_words"] + row["stores_words"] for row in rows) if rows else None
    bound = document["bound"]
    proofs = [proof for proof in document["certificates"] if proof["between"][0] == behind.level]
    return {
        **OF_NESTS,
        **_solved(behind),
        **_proved(behind, proofs[0]["words"] if proofs else None, traffic),
        "capacity_rule": document["capacity_rule"],
        "bound_unit": (document["exact"] if bound is None else bound)["unit"],
        "integer_gap": document["integer_gap"],
        "traffic_words": traffic,
        "proved": document["status"]["proved"],
        "within": document["status"]["within"],
        "point": document["status"]["point"],
    }


def _proved(behind: Behind, words: int | None, traffic: int | None) -> Columns:
    """What is proved at the level of a row: what its certificate says, but on the share of one core of several."""
    if behind.certificate is not None and behind.cores == 1:
        words = behind.certificate["claims"]["total_words"]
    least = compulsory(behind.workload, 1).total_words
    columns: Columns = {"compulsory_words": least, "bound_words": words, "traffic_gap": None}
    if words and traffic is not None:
        columns["traffic_gap"] = float(Fraction(traffic, words) - 1)
    if behind.certificate is not None:
        columns["bound_method"] = behind.certificate["method"]
    return columns


def _bound(behind: Behind) -> Columns:
    """Of bounds without a mapping."""
    machine, bits = behind.machine, behind.workload.word_bits
    words = {entry["level"]: entry["total_words"] for entry in behind.document["bounds"]}
    rates = {level.name: level.bandwidth.words(bits) for level in machine.levels}
    return {
        **NOTHING,
        **_proved(behind, words.get(behind.level), None),
        "method": "bound",
        "bound": max(float(Fraction(moved) / Fraction(rates[level])) for level, moved in words.items()),
        "bound_unit": machine.cost_unit,
        "stop": behind.document.get("stop", "optimal"),
        "point": "bound",
    }


def _nest(behind: Behind) -> Columns:
    """Of a mapping onto an accelerator."""
    document = behind.document
    search, cost = document["search"], Fraction(str(document["cost"]["exact"]))
    least = Fraction(str(search["bound"]))
    return {
        **OF_CACHES,
        **_solved(behind),
        "bound_unit": document["cost"]["unit"],
        "bound_method": "" if document["bound"] is None else "floor",
        "counting": document["counting"],
        "energy_pj": float(document["energy"]["value"]),
        "cycles": document["cycles"]["value"],
        "edp": float(document["edp"]["value"]),
        "utilisation": float(document["utilisation"]),
        "search_bound": float(least),
        "evaluations": search["evaluations"],
        "valid_share": search.get("valid_share"),
        "seconds_to_best": search.get("seconds_to_best"),
        "proved": search["proved"],
        "within": float(cost / least - 1) if least else None,
    }


KINDS: dict[str, Callable[[Behind], Columns]] = {
    "optmap.solution/": _solution,
    "optmap.accelerator-solution/": _nest,
    "optmap.sweep-bound/": _bound,
}
"""How a row is told from its document, by the beginning of the schema."""
