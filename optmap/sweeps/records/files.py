"""Atomic files: either the old content or the new, whatever happens, and errors that say what to do."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from optmap.base.errors import OptmapError

TEMPORARY = ".tmp-"
"""Start of the names of files that are being written; nobody reads them."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreError(OptmapError):
    """The directory of a sweep cannot be used or written."""


class StoreFullError(StoreError):
    """There is no room left; what was written before is intact."""

    exit_code = 4


def write_atomic(path: Path, data: bytes, *, durable: bool = False, announce: Callable[[], None] | None = None) -> None:
    """Write a file beside its place, then move it there.

    Args:
        path: the file; its folder exists or is made.
        data: the whole content.
        durable: wait until the content is on the disk, so that a power cut cannot take it.
        announce: called when the content is written, before it has its place.

    Raises:
        StoreFullError: if the disk, the quota or the allowed file size is exhausted.
        StoreError: if it cannot be written for another reason.
    """
    temporary = path.parent / f"{TEMPORARY}{os.getpid()}-{uuid.uuid4().hex}"
    try:
        try:
            _write(temporary, data, durable)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(temporary, data, durable)
        if announce is not None:
            announce()
        temporary.replace(path)
    except OSError as error:
        raise store_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, data: bytes, durable: bool) -> None:
    with path.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def store_error(path: Path, error: OSError) -> StoreError:
    """The typed error of a failed write."""
    if error.errno in FULL:
        return StoreFullError(
            f"{path}: no room left to write ({error.strerror}); everything before is kept: "
            "free some space and run the same command again, it continues where it stopped"
        )
    return StoreError(f"{path}: cannot be written: {error.strerror}; choose another directory with -o")
