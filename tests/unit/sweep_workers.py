"""What tests put in place of a solver: functions that answer, hang, crash or print."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def answer(text: str) -> str:
    """Do what the text says, then answer with the text and the process id."""
    what, _, argument = text.partition(" ")
    if what == "hang":
        time.sleep(600)
    elif what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "exit":
        os._exit(3)
    elif what == "raise":
        raise ValueError(argument)
    elif what == "print":
        os.write(1, b"a line that a solver prints\n")
        sys.stdout.write("another\n")
    elif what == "once":  # crashes the first time only
        marker = Path(argument)
        if not marker.exists():
            marker.touch()
            os._exit(1)
    return f"{text}|{os.getpid()}"


def answer_slowly(text: str) -> str:
    """The real answer, a tenth of a second later."""
    from optmap.sweeps import answer_text

    time.sleep(0.1)
    return answer_text(text)
