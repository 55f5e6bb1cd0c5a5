"""Who is at work in a directory: many share it and its points, one may have it alone.

All locks are the system's: it releases them when a process ends, however it ends, so none is ever stale.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optmap.sweeps.records.files import store_error

try:
    import fcntl
except ImportError:  # Windows: parts are then never put together, and every reader merges them
    fcntl = None  # type: ignore[assignment]

CLAIM_DIGITS = 15
"""Hexadecimal digits of a hash that say which byte of the file of claims stands for it: offsets have 63 bits."""


@contextmanager
def lock_whole(descriptor: int, *, shared: bool) -> Iterator[None]:
    """Hold an open file, alone or with others who share it; waits for it."""
    if fcntl is None:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def at_work(path: Path) -> bool:
    """Whether somebody has the lock file of a directory."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class DirectoryLock:
    """An advisory lock on a file; the system releases it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def share(self) -> bool:
        """Join those at work; waits while one has the directory alone (a moment).

        Returns:
            Whether others are at work.

        Raises:
            StoreError: if the lock file cannot be opened.
        """
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            others = fcntl is not None and not self.try_alone()
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_SH)
        except OSError as error:
            raise store_error(self._path, error) from error
        return others

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


class Claims:
    """Who works on which point: a byte of a file per point, locked by the process that answers it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def open(self) -> None:
        """Take part.

        Raises:
            StoreError: if the file cannot be opened.
        """
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise store_error(self._path, error) from error

    def take(self, name: str) -> bool:
        """Claim a point by its hash; False if another process has it."""
        if fcntl is None or self._file < 0:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)  # where nothing can be locked, all may work
        return True

    def give_back(self, name: str) -> None:
        """Let others have a point."""
        if fcntl is not None and self._file >= 0:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    def close(self) -> None:
        """Give all back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _byte(name: str) -> int:
    return int(name[:CLAIM_DIGITS], 16)
