"""What the document of an answer to a chain says beside what all documents say."""

from __future__ import annotations

from math import prod
from typing import Any

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.rows import boundary_documents, certificate_documents, room_documents
from optmap.bounds.chains.floors import statements_alone
from optmap.files.trees import tree_document
from optmap.search.result import Answer


def tree_parts(answer: Answer[Any, Any]) -> dict[str, object]:
    """Words per boundary and tensor, occupancy per level, and what the statements move by themselves at least."""
    level = answer.machine.levels[-1]
    alone = statements_alone(answer.workload, level.most_words(answer.workload.word_bits))
    return {
        "mapping": tree_document(answer.mapping),
        "boundaries": boundary_documents(answer.boundaries),
        "levels": room_documents(answer.count.rooms),
        "statements": [
            {
                "name": each.name,
                "operations": prod(answer.workload.extents[d] for d in each.dims),
                "bound_alone": alone[each.name],
            }
            for each in answer.workload.statements
        ],
        "word_bits": answer.workload.word_bits,
        "capacity_rule": answer.capacity.value,
        "integer_bound": amount(answer.integer_bound, answer.cost_unit),
        "certificates": certificate_documents(answer.certificates),
    }
