"""A worker process: lines of text in on stdin, one answer per line out on stdout."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from optmap.base.clock import stop

READY = "ready"
"""First line of a worker: everything is imported, clocks may start."""
STOP = signal.SIGUSR1
"""By which the parent asks for the best answer so far."""
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer lines until stdin ends: `python -m optmap.sweeps.engines.worker FUNCTION`."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the workers
    signal.signal(STOP, lambda *_: stop())
    # Answers own the real stdout; what a solver prints must not get between them.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    from optmap.sweeps.engines.engine import function_of

    answer = function_of(sys.argv[1])
    answers.write(READY + "\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(answer(line.rstrip("\n")) + "\n")
        answers.flush()


def _end_with_parent() -> None:
    """Ask Linux to end this process when its parent dies, even in the middle of a solve.

    Elsewhere a worker ends after its current point, when it finds its pipes closed.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
