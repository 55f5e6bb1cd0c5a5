"""Symbolic expressions of a workload as answers: one loop order, or all dataflow classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.files.workloads import workload_document
from optmap.report.answers.classes import classes_table
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation(Shown):
    """Footprint, occupancy and traffic of one loop order."""

    shown_as: ClassVar[str] = "derivation"
    workload: Workload
    permutation: tuple[str, ...]
    """Outermost first."""
    levels: int
    """Bounded memory levels."""
    text: str
    latex: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes(Shown):
    """The dataflow classes of a workload."""

    shown_as: ClassVar[str] = "classes"
    workload: Workload
    found: Mapping[str, Any]
    """`permutations`, `equivalence_classes`, `classes` with traffic, `dominated` with proofs."""


def derivation(workload: Workload, permutation: tuple[str, ...], levels: int) -> Derivation:
    """Derive one loop order.

    Raises:
        InputError: for less than one level or more than eight.
    """
    from optmap.symbolic.render import derive_latex, derive_text

    if not 1 <= levels <= 8:
        raise InputError(f"levels is {levels}; use 1 to 8")
    return Derivation(
        workload=workload,
        permutation=permutation,
        levels=levels,
        text=derive_text(workload, permutation, levels=levels),
        latex=derive_latex(workload, permutation, levels=levels),
    )


def derived_classes(workload: Workload) -> Classes:
    """Derive all classes."""
    from optmap.symbolic.render import classes_document

    return Classes(workload=workload, found=classes_document(workload))


def derivation_text(answer: Derivation) -> str:
    """The expressions for people."""
    return answer.text


def derivation_document(answer: Derivation) -> dict[str, object]:
    """The JSON document of `derive`."""
    return {
        "schema": "optmap.derivation/1",
        "workload": workload_document(answer.workload),
        "permutation": list(answer.permutation),
        "levels": answer.levels,
        "text": answer.text,
        "latex": answer.latex,
    }


def classes_text(answer: Classes) -> str:
    """The classes for people."""
    return classes_table(answer.found)


def classes_read(answer: Classes) -> dict[str, object]:
    """The JSON document of `derive --classes`."""
    return {"schema": "optmap.classes/1", "workload": workload_document(answer.workload), **answer.found}
