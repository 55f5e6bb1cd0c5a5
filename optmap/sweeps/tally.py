"""What a sweep has done so far, and what it was all together."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from optmap.base.share import Share
from optmap.base.shown import brief
from optmap.base.texts import several
from optmap.sweeps.records.rows import FAILURES, Row

BAD_INPUT = 2
LIMIT_REACHED = 4
CHECK_FAILED = 5
CUT_SHORT = (*FAILURES, "time_limit")
"""Values of `stop` of rows that more time might change."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Running counts of a sweep."""

    points: int = 0
    """Points planned so far."""
    reused: int = 0
    """Points that the directory had, under this or another name."""
    answered: int = 0
    """Points worked on in this run, to their end."""
    infeasible: int = 0
    """Points of this run for which no mapping can exist."""
    failures: dict[str, int] = field(default_factory=dict)
    """Rows of the sweep without an answer, by what stopped them, stored ones included."""
    worst_gap: float | None = None
    """Largest gap, stored points included."""
    best_gap: float | None = None
    """Smallest gap, stored points included."""
    began: float = field(default_factory=time.monotonic)
    """`time.monotonic()` at the start."""
    last_error: str = ""
    """The latest failure, in words."""
    interrupted: bool = False

    def __repr__(self) -> str:
        return brief(self)

    def count(self, row: Row) -> None:
        """Count a row made in this run."""
        self.answered += row.stop != "interrupted"  # it will be worked on again
        self._judge(row)

    def count_copy(self, row: Row) -> None:
        """Count a row taken from another name."""
        self.reused += 1
        self._judge(row)

    def count_stored(self, stop: str, gap: float | None) -> None:
        """Count a point whose row was there."""
        self.reused += 1
        self._see_gap(gap)
        if stop in ("error", "check", *CUT_SHORT):
            self.failures[stop] = self.failures.get(stop, 0) + 1

    def _judge(self, row: Row) -> None:
        if row.stop == "infeasible":
            self.infeasible += 1
        elif row.error or row.stop in CUT_SHORT:
            self.failures[row.stop] = self.failures.get(row.stop, 0) + 1
            self.last_error = (
                f"{row.workload} {several(row.capacity_words, 'word')} {row.method}: {row.error or row.stop}"
            )
        self._see_gap(row.gap)

    def _see_gap(self, gap: float | None) -> None:
        if gap is not None:
            self.worst_gap = gap if self.worst_gap is None else max(self.worst_gap, gap)
            self.best_gap = gap if self.best_gap is None else min(self.best_gap, gap)

    @property
    def done(self) -> int:
        """Points that need no more work."""
        return self.reused + self.answered

    @property
    def share(self) -> Share:
        """The points done, of those planned so far."""
        return Share.counted(self.done, self.points, kept=self.reused)

    @property
    def failed(self) -> int:
        """Rows without an answer, or stopped at a limit."""
        return sum(self.failures.values())

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Points per second worked on."""
        return self.answered / max(self.seconds, 1e-9)

    @property
    def exit_code(self) -> int:
        """0; 5 with failed checks, 4 with limits, interrupts and crashes, 2 with refused points."""
        if self.failures.get("check"):
            return CHECK_FAILED
        if self.interrupted or any(self.failures.get(stop) for stop in CUT_SHORT):
            return LIMIT_REACHED
        return BAD_INPUT if self.failures.get("error") else 0
