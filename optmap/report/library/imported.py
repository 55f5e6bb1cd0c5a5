"""What was read from an ONNX file, as a document and as a table."""

from __future__ import annotations

from optmap.files.workloads import layer_document
from optmap.onnx_import.model import ImportedModel
from optmap.report.tables import grid, merged_block, sizes


def import_document(found: ImportedModel) -> dict[str, object]:
    """The JSON document of `import`."""
    return {
        "schema": "optmap.import/1",
        "source": found.source,
        "operations": found.operations,
        "workloads": [layer_document(workload) for workload in found.workloads],
        "skipped": [
            {"operator": entry.operator, "count": entry.count, "elements": entry.elements, "reason": entry.reason}
            for entry in found.skipped
        ],
    }


def import_table(found: ImportedModel) -> str:
    """The workloads of a model, and what was skipped."""
    parts = [f"{found.source}: {found.operations:,} multiply-accumulates"]
    if found.workloads:
        rows = [
            (w.name, f"{w.count:,}", f"{w.operations * w.count:,}", w.expression, sizes(w.extents))
            for w in found.workloads
        ]
        parts.append(grid(("workload", "count", "operations", "statement", "extents"), "<>><<", rows))
        parts += merged_block(found.workloads)
    if found.skipped:
        skipped = [
            (s.operator, f"{s.count:,}", "unknown" if s.elements is None else f"{s.elements:,}", s.reason)
            for s in found.skipped
        ]
        parts.append("Skipped\n" + grid(("operator", "count", "elements in and out", "reason"), "<>><", skipped))
    return "\n\n".join(parts)
