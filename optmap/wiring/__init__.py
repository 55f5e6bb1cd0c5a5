"""Who makes what: the one place that knows every room, imported with the package, so in every worker as well.

Lower rooms ask a registry by key; what is registered here imports the modules of upper rooms when it is first asked
for, inside functions, so that nothing is loaded before it is used and type checkers and import-linter see every import.

Outputs are in the file named after the folder of `optmap/report` that makes them: `answer_outputs` for `answers`.
"""

from __future__ import annotations

from optmap.wiring import (
    answer_outputs,
    closed_form_outputs,
    file_formats,
    library_outputs,
    native_outputs,
    papers,
    sweeps,
)

__all__ = [
    "answer_outputs",
    "closed_form_outputs",
    "file_formats",
    "library_outputs",
    "native_outputs",
    "papers",
    "sweeps",
]
