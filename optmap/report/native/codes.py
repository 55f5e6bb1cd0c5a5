"""Emitted code as a table and a document."""

from __future__ import annotations

from dataclasses import asdict

from optmap.files.codes import options_document
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.kernels.code_options import WeightPacking
from optmap.native.code import Buffer, Code
from optmap.report.tables import grid, pairs


def code_table(code: Code) -> str:
    """What was written, and what its functions take."""
    options = code.options
    packing = "packed ahead" if any(b.packed for b in code.buffers) else ""
    if options.weights is WeightPacking.CALL and code.workspace:
        packing = "packed in every call"
    head = [
        ("code", f"{code.entry} ({len(code.source.splitlines())} lines of C11)"),
        ("statement", code.workload.expression),
        ("kernel", str(code.kernel)),
        ("threads", str(code.threads)),
        ("layout", str(options.layout)),
        ("weights", packing),
        ("stores", str(options.stores)),
        ("workspace", f"{code.workspace:,} bytes" if code.workspace else ""),
        ("measured", code.ran.text if code.ran else ""),
    ]
    rows = [_row(buffer) for buffer in code.buffers]
    table = grid(("buffer", "shape", "first index", "bits", "order in memory", "packed"), "<<<><<", rows)
    said = [f"note: {note}" for note in code.notes]
    return "\n\n".join(
        [pairs([(label, text) for label, text in head if text]), table, *(["\n".join(said)] if said else [])]
    )


def _row(buffer: Buffer) -> tuple[str, ...]:
    order = " ".join(str(axis) if block == 1 else f"{axis}/{block}" for axis, block in buffer.layout.order)
    return (
        buffer.tensor,
        " x ".join(map(str, buffer.shape)) or "1",
        ", ".join(map(str, buffer.origin)),
        str(buffer.bits),
        order,
        "ahead" if buffer.packed else "",
    )


def code_document(code: Code) -> dict[str, object]:
    """The JSON document of `emit`."""
    return {
        "schema": "optmap.code/1",
        "workload": workload_document(code.workload),
        "machine": machine_document(code.machine),
        "mapping": mapping_document(code.mapping),
        "options": options_document(code.options),
        "kernel": code.kernel.value,
        "threads": code.threads,
        "entry": code.entry,
        "buffers": [
            {
                "tensor": buffer.tensor,
                "shape": list(buffer.shape),
                "origin": list(buffer.origin),
                "bits": buffer.bits,
                "layout": [list(piece) for piece in buffer.layout.order],
                "packed": buffer.packed,
            }
            for buffer in code.buffers
        ],
        "workspace_bytes": code.workspace,
        "measured": None if code.ran is None else asdict(code.ran),
        "notes": list(code.notes),
        "source": code.source,
        "main": code.main,
    }
