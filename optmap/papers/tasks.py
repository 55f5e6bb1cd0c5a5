"""A point of an item as a line of text, and its rows as another: what engines take and give back."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from optmap.base.errors import OptmapError
from optmap.papers.library import PAPERS
from optmap.papers.rows import ClaimRow, failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRows:
    """The rows of a point, and the seconds that they took."""

    rows: tuple[ClaimRow, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {"seconds": round(self.seconds, 3), "rows": [row.to_dict() for row in self.rows]}

    @classmethod
    def read(cls, document: Any) -> PointRows:
        """From its data."""
        return cls(rows=tuple(map(ClaimRow.read, document["rows"])), seconds=document["seconds"])


def task_of(paper: str, item: str, point: str) -> str:
    """The line that stands for a point."""
    return json.dumps([paper, item, point])


def rows_text(task: str) -> str:
    """The line that answers a point: its rows; of a computation that failed, a row that says so."""
    paper, item, point = json.loads(task)
    begun = time.monotonic()
    try:
        rows = PAPERS[paper].item(item).computed(point)
    except OptmapError as error:
        rows = (failed(f"{type(error).__name__}: {error}"),)
    return json.dumps(PointRows(rows=rows, seconds=time.monotonic() - begun).to_dict())


def rows_of(text: str | None, why: str) -> PointRows:
    """What a line says; without one, why there is none."""
    if text is None:
        return PointRows(rows=(failed(why),), seconds=0.0)
    return PointRows.read(json.loads(text))
