"""What was read from files of other tools, as text, document and files."""

from __future__ import annotations

from pathlib import Path

from optmap.answers.documents.solution import SCHEMAS
from optmap.base.writing import to_json, write_folder
from optmap.count.meshes.results import SpatialCost
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.interchange.timeloop import TimeloopModel
from optmap.mappings.nest import mapping_of
from optmap.report.answers.spatial_nest import nest_text
from optmap.report.library.machines import machine_table
from optmap.report.library.showing import machine_yaml, workload_yaml
from optmap.report.library.workloads import workload_table
from optmap.report.tables import notes_text


def model_table(model: TimeloopModel) -> str:
    """Workload, machine and loops, for people."""
    parts = []
    if model.workload is not None:
        parts.append(workload_table(model.workload))
    if model.machine is not None:
        parts.append(machine_table(model.machine))
    if model.nest is not None:
        parts.append("mapping\n" + nest_text(model.nest, model.fabric).rstrip())
    if model.notes:
        parts.append(notes_text(model.notes))
    return "\n\n".join(parts)


def model_document(model: TimeloopModel) -> dict[str, object]:
    """What was read, as JSON; parts that the files do not have are null."""
    return {
        "schema": "optmap.timeloop/1",
        "workload": None if model.workload is None else workload_document(model.workload),
        "machine": None if model.machine is None else machine_document(model.machine),
        "mapping": None if model.nest is None else mapping_document(mapping_of(model.nest, model.fabric)),
        "notes": list(model.notes),
    }


def write_model(model: TimeloopModel, folder: str | Path) -> tuple[Path, ...]:
    """Write files of optmap: `workload.yaml`, `machine.yaml`, and `mapping.json`, which `evaluate` counts."""
    found = {}
    if model.workload is not None:
        found["workload.yaml"] = workload_yaml(model.workload)
    if model.machine is not None:
        found["machine.yaml"] = machine_yaml(model.machine)
    if model.nest is not None:
        document = model_document(model)
        kept = {key: document[key] for key in ("workload", "machine", "mapping")}
        found["mapping.json"] = to_json({"schema": SCHEMAS[SpatialCost.kind], **kept}) + "\n"
    return write_folder(folder, found)
