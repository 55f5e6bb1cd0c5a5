"""Who is at work in a directory: many share it, one may have it alone."""

from __future__ import annotations

import os
from pathlib import Path

from optmap.sweeps.files import store_error

try:
    import fcntl
except ImportError:  # Windows: parts are then never put together, and every reader merges them
    fcntl = None  # type: ignore[assignment]


class DirectoryLock:
    """An advisory lock on a file; the system releases it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def share(self) -> None:
        """Join those at work; waits while one has the directory alone (a moment).

        Raises:
            StoreError: if the lock file cannot be opened.
        """
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_SH)
        except OSError as error:
            raise store_error(self._path, error) from error

    def try_alone(self) -> bool:
        """Whether nobody else is at work; if so, others wait until `release`."""
        if fcntl is None or self._file < 0:
            return False
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release(self) -> None:
        """Leave."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
