"""Shared objects in this process."""

from __future__ import annotations

import ctypes
from pathlib import Path

from optmap.base.errors import CheckError


def load_library(path: Path) -> ctypes.CDLL:
    """A shared object; calls into it release the interpreter lock.

    Raises:
        CheckError: if the system cannot load it.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CheckError(f"{path}: cannot be loaded: {error}; remove it, it is built again") from error
