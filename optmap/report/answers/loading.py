"""Saved answers, read back: solutions, certificates, comparisons, workloads, machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from optmap.answers.documents.saved_tree import SavedTree, is_tree, saved_tree_from
from optmap.answers.documents.solution import SavedSolution, solution_from
from optmap.base.errors import InputError
from optmap.base.shown import Shown, verified
from optmap.files.fields import Fields
from optmap.files.inputs import text_of
from optmap.files.kinds import expected
from optmap.files.machines import machine_from
from optmap.files.reading import read_json
from optmap.files.workloads import read_workload
from optmap.report.answers.compare import read_comparison, read_methods
from optmap.search.result import Answer

if TYPE_CHECKING:
    from optmap.checker import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Shown):
    """The proof of a bound, as a document; `optmap.check` of its file verifies it."""

    shown_as: ClassVar[str] = "certificate"
    document: dict[str, Any]

    def check(self) -> Report:
        """What the independent checker verifies of it, and what not; see `verified`."""
        return verified(self.document)


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """The document itself."""
    return certificate.document


def certificate_table(certificate: Certificate) -> str:
    """What the checker says of it."""
    return str(certificate.check())


def saved_mapping(
    solution: Answer[Any, Any] | SavedSolution | SavedTree | str | Path,
) -> SavedSolution | SavedTree:
    """A solution, or a mapping tree, as its file says it.

    Args:
        solution: what `solve` returned, or a file.

    Raises:
        InputError: if the file cannot be used.
    """
    if isinstance(solution, SavedSolution | SavedTree):
        return solution
    if isinstance(solution, Answer):
        return mapping_from(Fields.of(solution.to_dict(), "solution"))
    path = Path(text_of(solution, "solution", "a result of solve or a solution file"))
    with expected(path, "a solution", "solution"):
        return mapping_from(read_json(path))


def mapping_from(fields: Fields) -> SavedSolution | SavedTree:
    """A solution, or a mapping tree, from its document.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    return saved_tree_from(fields) if is_tree(fields) else solution_from(fields)


def load_file(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        InputError: if it cannot be read, or is none of the kinds.
    """
    with expected(path, "a document of optmap", "solution", "certificate", "comparison", "saved", "document"):
        fields = read_json(path)
    if is_tree(fields):
        return saved_tree_from(fields)
    schema = fields.text("schema", "")
    kind = schema.removeprefix("optmap.").partition("/")[0]
    if kind in ("solution", "accelerator-solution"):
        return solution_from(fields)
    if kind == "comparison":
        return read_comparison(fields)
    if kind == "accelerator-comparison":
        return read_methods(fields)
    if kind in ("workload", "machine"):
        values = {key: value for key, value in fields.values.items() if key not in ("schema", "note")}
        inside = Fields.of(values, str(path))
        return read_workload(inside) if kind == "workload" else machine_from(inside)
    if "certificate" in kind or kind == "time-bound":
        return Certificate(document=dict(fields.values))
    raise InputError(
        f"{path}: schema is {schema!r}; solutions, certificates, comparisons, workloads and machines can be loaded"
        if schema
        else f"{path}: no document of optmap: schema is missing"
    )
