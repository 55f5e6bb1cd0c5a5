"""What a solution document has beside the others where a mapping is counted level by level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from optmap.answers.documents.amounts import finite
from optmap.answers.documents.relaxed import relaxed_parts
from optmap.answers.documents.rows import boundary_documents, certificate_documents, level_documents
from optmap.count.results import BoundaryTraffic, CostReport
from optmap.files.codes import options_document
from optmap.kernels.code_options import CodeOptions
from optmap.search.result import TileAnswer

if TYPE_CHECKING:
    from optmap.count.timing import Prediction


def tile_counts(count: CostReport, boundaries: Iterable[BoundaryTraffic]) -> dict[str, object]:
    """What a mapping holds and moves, as `solve` and `evaluate` say it.

    Args:
        count: level by level.
        boundaries: words that cross them, as they are said.
    """
    return {
        "boundaries": boundary_documents(boundaries),
        "levels": level_documents(count.levels),
        "bottleneck": count.bottleneck,
    }


def tile_parts(answer: TileAnswer) -> dict[str, object]:
    """What counting it found, and what else is said of an answer."""
    return {
        **relaxed_parts(answer),
        **tile_counts(answer.count, answer.boundaries),
        "word_bits": answer.workload.word_bits,
        "capacity_rule": str(answer.capacity),
        "integer_bound": {"value": finite(answer.integer_bound), "unit": answer.cost_unit},
        "held": None if answer.held is None else answer.held.document(),
        **({} if answer.prediction is None else {"prediction": prediction_document(answer.prediction, answer.options)}),
        "certificates": certificate_documents(answer.certificates),
    }


def prediction_document(prediction: Prediction, options: CodeOptions | None) -> dict[str, object]:
    """The predicted time with all its parts, and of what code it is.

    Args:
        prediction: of a mapping's code.
        options: of the code; None for the usual ones.
    """
    code = options or CodeOptions()
    return {
        "cycles": finite(prediction.cycles),
        "seconds": finite(prediction.seconds),
        "kernel": prediction.kernel,
        "bound_by": prediction.bound_by,
        "threads": prediction.threads,
        "caches": prediction.caches.value,
        "registers": prediction.registers,
        "compute_cycles": prediction.compute_cycles,
        "packing_cycles": prediction.packing_cycles,
        "boundaries": [
            {
                "between": list(row.between),
                "moved_bytes": row.moved_bytes,
                "cycles": row.cycles,
                "waited_cycles": row.waited_cycles,
            }
            for row in prediction.boundaries
        ],
        **options_document(code),
    }
