"""HiGHS's own module, without the modelling layer: exact linear programs need nothing else."""

from __future__ import annotations

import importlib
from typing import Any

from optmap.errors import SolverUnavailableError

INSTALL = "pip install highspy"


def load_highs() -> Any:
    """The highspy module.

    Raises:
        SolverUnavailableError: if it cannot be imported; the message has the install command.
    """
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise SolverUnavailableError(f"HiGHS is not available ({error}); install it with: {INSTALL}") from error
