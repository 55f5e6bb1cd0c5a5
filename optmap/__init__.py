"""optmap: optimization modelling of data movement in tensor computations.

The verbs of the command line are functions here; they are loaded when first used, so that
importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optmap.api import bound as bound
    from optmap.api import check as check
    from optmap.api import compare as compare
    from optmap.api import solve as solve
    from optmap.sweeps.reading import read_sweep as read_sweep
    from optmap.sweeps.reading import sweep_document as sweep_document
    from optmap.sweeps.run import sweep as sweep

__version__ = "0.1.0"

_VERBS = {
    "solve": "optmap.api",
    "bound": "optmap.api",
    "check": "optmap.api",
    "compare": "optmap.api",
    "sweep": "optmap.sweeps.run",
    "read_sweep": "optmap.sweeps.reading",
    "sweep_document": "optmap.sweeps.reading",
}
"""Module that each verb lives in."""


def __getattr__(name: str) -> object:
    """Load a verb of the Python interface when it is first used."""
    if name in _VERBS:
        return getattr(import_module(_VERBS[name]), name)
    raise AttributeError(f"module 'optmap' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, verbs included."""
    return sorted([*globals(), *_VERBS])
