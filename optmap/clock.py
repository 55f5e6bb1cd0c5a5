"""The one deadline of an answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import inf

from optmap.errors import LimitError


@dataclass(frozen=True, slots=True)
class Clock:
    """When to stop looking.

    A clock decides whether there is an answer, never which one. So all clocks are equal, and what was
    computed and kept under one of them is the answer under every other.
    """

    deadline: float = field(default=inf, compare=False)
    """`time.monotonic()` value, in seconds."""

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline

    def check(self) -> None:
        """Go on only if there is time.

        Raises:
            LimitError: if the time is over.
        """
        if self.late:
            raise LimitError("the time was over; raise the time limit")


NO_LIMIT = Clock()
"""The clock that never stops anything."""
