"""How far work is that takes more than two seconds, and how long it still takes as far as that is known."""

from __future__ import annotations

import sys
import threading
import time
from math import ceil, sqrt
from shutil import get_terminal_size
from types import TracebackType

from optmap.base.share import Share
from optmap.base.texts import duration
from optmap.cli.console import draws, tells

PATIENCE_S = 2.0
"""Work that takes longer than this reports progress, in seconds."""
REFRESH_S = 0.25
"""How often progress is redrawn, in seconds."""
MEASURED = 3
"""Items whose times are known before anything is said of the others."""
DEVIATIONS = 2.0
"""How many standard deviations of the time that is left its range goes to either side."""
LEAST_SPREAD = 0.2
"""Its least width to either side, as a part: items to come are not drawn like those that are done."""


class Pace:
    """How long items take, from when they were done."""

    def __init__(self) -> None:
        self._last, self._counting = 0.0, False
        self._done = self._kept = 0
        self._number, self._sum, self._squares = 0, 0.0, 0.0

    def see(self, share: Share, now: float) -> None:
        """Take note of how many are done; `now` is in seconds of any clock."""
        if not share.items:
            return
        done, kept = share.done - share.kept, share.kept
        if not self._counting or done < self._done or kept < self._kept:  # other work has begun
            self._number, self._sum, self._squares = 0, 0.0, 0.0
            self._last, self._counting = now, True
        elif done > self._done:
            number, spent = done - self._done, now - self._last
            self._number += number
            self._sum += spent
            self._squares += spent * spent / number
            self._last = now
        elif kept > self._kept:
            self._last = now
        self._done, self._kept = done, kept

    def left(self, items: int, now: float) -> tuple[float, float] | None:
        """Least and most seconds until so many items more are done; None if none is left, or too few were measured.

        The mean of n times and the sum of m more, drawn alike with deviation s, differ from their expectations by
        about s / sqrt(n) and s sqrt(m).
        """
        number = self._number
        if number < MEASURED or items <= 0:
            return None
        mean = self._sum / number
        variance = max(0.0, self._squares - number * mean * mean) / (number - 1)
        about = max(0.0, items * mean - (now - self._last))
        around = max(DEVIATIONS * sqrt(variance * items * (1 + items / number)), LEAST_SPREAD * about)
        return max(0.0, about - around), about + around


class Progress:
    """How far work is: a line that changes on a terminal; lines, if asked for; nothing before two seconds are over.

    Use as a context manager and as the `progress(text, share)` callback of anything. Of the time that is left is said
    what is known: of counted items a range, from the times of those that are done; of what a clock ends, when it does;
    of anything else nothing.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._share: float | None = None
        self._start = self._told = time.monotonic()
        self._pace = Pace()
        self._done = threading.Event()
        lines = tells()
        self._thread = threading.Thread(target=self._write if lines else self._draw, daemon=True)
        self._shown = lines or draws()

    def __call__(self, text: str, share: float) -> None:
        """Say what is being done and how much of it is done (0 to 1; a `Share` where more is known)."""
        now = time.monotonic()
        if isinstance(share, Share):
            self._pace.see(share, now)
        self._text, self._share, self._told = text, share, now

    def __enter__(self) -> Progress:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._shown:
            self._thread.join()

    def _draw(self) -> None:
        if self._done.wait(PATIENCE_S):
            return
        while not self._done.wait(REFRESH_S):
            sys.stderr.write(f"\r\x1b[K{self._state(get_terminal_size().columns - 1)}")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _write(self) -> None:
        while not self._done.wait(PATIENCE_S):
            sys.stderr.write(f"{self._state()}\n")
            sys.stderr.flush()

    def _state(self, columns: int | None = None) -> str:
        """What is done, how much of it, the time it took, and the time that is left; no longer than so many columns."""
        text, share, told = self._text, self._share, self._told
        now = time.monotonic()
        left = ""
        if not isinstance(share, Share):
            much = "" if share is None else f" {100 * share:3.0f} %"
        else:
            much = f": {share.done:,} of {share.items:,}" if share.items else ""
            left = _left(self._pace.left(share.items - share.done, now), share, now - told)
        rest = f"{much} ({duration(now - self._start)}{left})"
        room = len(text) if columns is None else max(0, columns - len(rest))
        return f"{text if len(text) <= room else f'{text[: max(0, room - 1)]}…'}{rest}"


def _left(between: tuple[float, float] | None, share: Share, since: float) -> str:
    """What is known of the time that is left, `since` seconds after the share was told."""
    ends = None if share.most_s is None else max(0.0, share.most_s - since)
    if between is not None:
        least, most = (each if ends is None else min(each, ends) for each in between)
        return f"; {span(least, most)} more"
    if ends:
        return f"; at most {duration(ceil(ends))} more"
    return ""


def span(least: float, most: float) -> str:
    """A range of seconds as text, such as `20 to 40 s`."""
    first, last = duration(least), duration(most)
    number, unit = first.rsplit(" ", 1)
    if first == last:
        return f"about {last}"
    return f"{number if last.endswith(f' {unit}') else first} to {last}"
