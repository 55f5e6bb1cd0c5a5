"""Files of other tools: formats by name; what Timeloop reads and writes, and records of what a model counted."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "exporting": "timeloop_files",
        "factorflow_records": "FlowLevel FlowRecord FlowTensor",
        "formats": "FORMATS FileFormat register_format",
        "records": "ExpectedTensor Record read_records",
        "timeloop": "TimeloopModel read_timeloop",
    },
)
