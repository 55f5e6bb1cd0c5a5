"""What a document says of the program behind an answer to one statement, and of its mapping."""

from __future__ import annotations

from typing import Any

from optmap.answers.documents.amounts import finite
from optmap.files.mappings import mapping_document
from optmap.search.result import Answer


def relaxed_parts(answer: Answer[Any, Any]) -> dict[str, object]:
    """The mapping, the relaxation, and how far the cost is above it."""
    return {
        "mapping": mapping_document(answer.mapping),
        "relaxation": _relaxation(answer),
        "integer_gap": finite(answer.integer_gap),
    }


def _relaxation(answer: Answer[Any, Any]) -> dict[str, object]:
    relaxation = answer.relaxation
    solved = {
        "method": relaxation.method,
        "classes": [list(permutation) for permutation in relaxation.classes],
        "tiles": [dict(tile) for tile in relaxation.tiles],
        "cross_check": finite(relaxation.cross_check),
    }
    return {
        "value": finite(relaxation.value),
        "unit": answer.cost_unit,
        "proved": relaxation.proved,
        "formulation": relaxation.formulation,
        "tolerance": relaxation.tolerance,
        **(solved if relaxation.method else {}),
    }
