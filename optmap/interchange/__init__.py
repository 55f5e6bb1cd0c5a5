"""Files of other tools: problems, architectures and mappings of Timeloop, and records of what a model counted."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "exporting": "timeloop_files",
        "factorflow_records": "FlowLevel FlowRecord FlowTensor",
        "records": "ExpectedTensor Record read_records",
        "timeloop": "TimeloopModel read_timeloop",
    },
)
