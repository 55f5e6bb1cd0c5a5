"""Files of other tools: problems, architectures and mappings of Timeloop, in both of its notations."""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "exporting": "timeloop_files",
        "timeloop": "TimeloopModel read_timeloop",
    },
)
