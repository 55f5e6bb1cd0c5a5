"""What compiled libraries write to stdout is kept out of it: stdout is for documents.

Compiled code writes to file descriptor 1, where `sys.stdout` cannot stop it (HiGHS 1.16 names itself there before its
options can be set). So descriptor 1 leads elsewhere while such code runs. It belongs to the whole process: what other
threads write to stdout meanwhile goes the same way, which is why it leads to stderr wherever a call may take long.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STDOUT, STDERR = 1, 2


class _Turned:
    """Descriptor 1 while it leads elsewhere: the first to enter turns it, the last to leave turns it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.kept: int | None = None
        """A copy of the real descriptor 1; None while nobody is inside, or where the process has no stdout."""

    def enter(self, *, discard: bool) -> None:
        with self.lock:
            self.inside += 1
            if self.inside > 1:
                return
            _flush(None)
            try:
                self.kept = os.dup(STDOUT)
            except OSError:  # a process without stdout has nothing to keep clean
                return
            target = os.open(os.devnull, os.O_WRONLY) if discard or not _is_open(STDERR) else os.dup(STDERR)
            os.dup2(target, STDOUT)
            os.close(target)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.turn_back()

    def turn_back(self) -> None:
        if self.kept is not None:
            _flush(None)
            os.dup2(self.kept, STDOUT)
            os.close(self.kept)
            self.kept = None

    def forked(self) -> None:
        """In the child: the threads that were inside are not there."""
        self.inside = 0
        self.turn_back()
        self.lock.release()


_TURNED = _Turned()
if sys.platform != "win32":
    os.register_at_fork(
        before=_TURNED.lock.acquire, after_in_parent=_TURNED.lock.release, after_in_child=_TURNED.forked
    )


@contextmanager
def off_stdout(*, discard: bool = False) -> Iterator[None]:
    """Descriptor 1 leads to stderr while compiled code runs.

    Args:
        discard: it leads nowhere: for the moment in which a library only says its name.
    """
    _TURNED.enter(discard=discard)
    try:
        yield
    finally:
        _TURNED.leave()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _nothing(streams: None) -> None:
    """Where every library may have a C runtime of its own, none is flushed."""


# Writes out what C libraries hold back: it belongs to where descriptor 1 leads at that moment.
_flush = _nothing if sys.platform == "win32" else ctypes.CDLL(None).fflush
