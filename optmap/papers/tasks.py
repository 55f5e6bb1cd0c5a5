"""A point of an item as a line of text, and its rows as another: what engines take and give back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from optmap.base.errors import OptmapError
from optmap.papers.items import PaperItem
from optmap.papers.library import PAPERS
from optmap.papers.rows import ClaimRow, PointAmount, failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRows:
    """The rows of a point, and the seconds that they took."""

    rows: tuple[ClaimRow, ...]
    seconds: float
    amounts: Mapping[str, int | float] = field(default_factory=dict)
    """By name, what a sum over points takes of it."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        amounts = {"amounts": dict(self.amounts)} if self.amounts else {}
        return {"seconds": round(self.seconds, 3), "rows": [row.to_dict() for row in self.rows], **amounts}

    @classmethod
    def read(cls, document: Any) -> PointRows:
        """From its data."""
        rows = tuple(map(ClaimRow.read, document["rows"]))
        return cls(rows=rows, seconds=document["seconds"], amounts=document.get("amounts", {}))


def task_of(paper: str, item: str, point: str) -> str:
    """The line that stands for a point."""
    return json.dumps([paper, item, point])


def rows_text(task: str) -> str:
    """The line that answers a point: its rows; of a computation that failed, a row that says so."""
    paper, item, point = json.loads(task)
    begun = time.monotonic()
    found: tuple[ClaimRow | PointAmount, ...]
    try:
        found = PAPERS[paper].item(item).computed(point)
    except OptmapError as error:
        found = (failed(f"{type(error).__name__}: {error}"),)
    rows = tuple(each for each in found if isinstance(each, ClaimRow))
    amounts = {each.name: each.value for each in found if isinstance(each, PointAmount)}
    return json.dumps(PointRows(rows=rows, seconds=time.monotonic() - begun, amounts=amounts).to_dict())


def rows_of(text: str | None, why: str) -> PointRows:
    """What a line says; without one, why there is none."""
    if text is None:
        return PointRows(rows=(failed(why),), seconds=0.0)
    return PointRows.read(json.loads(text))


def with_total(item: PaperItem, points: Mapping[str, PointRows]) -> dict[str, PointRows]:
    """Points of an item, and their sum if the item has one and all of them have their amounts.

    Args:
        item: whose points these are.
        points: those that are known, in the order of the item.
    """
    own = {point: points[point] for point in item.parts if point in points}
    if item.totals is None or len(own) < len(item.points) or not all(found.amounts for found in own.values()):
        return own
    begun = time.monotonic()
    rows = tuple(item.totals({point: found.amounts for point, found in own.items()}))
    return {**own, item.total: PointRows(rows=rows, seconds=time.monotonic() - begun)}
