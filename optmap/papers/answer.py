"""What `reproduce` answers: items with their rows, and how many stand how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.papers.items import Paper, PaperItem
from optmap.papers.rows import ClaimRow, RowVerdict
from optmap.papers.tasks import PointRows


@dataclass(frozen=True, kw_only=True)
class ItemRun:
    """An item of a paper and what was computed of it."""

    paper: Paper
    item: PaperItem
    points: Mapping[str, PointRows] = field(default_factory=dict)
    """By point, in their order; none of an item that was left out or is not built."""

    @property
    def rows(self) -> tuple[ClaimRow, ...]:
        """Of all points."""
        return tuple(row for point in self.points.values() for row in point.rows)

    @property
    def seconds(self) -> float | None:
        """Of all points together; None if none was computed."""
        return sum(point.seconds for point in self.points.values()) if self.points else None

    @property
    def verdicts(self) -> dict[str, int]:
        """How many rows have which verdict, of those that some have."""
        return _counted(self.rows)


def _counted(rows: Iterable[ClaimRow]) -> dict[str, int]:
    """How many rows have which verdict, in the order of the verdicts."""
    counted = Counter(row.verdict for row in rows)
    return {str(verdict): counted[verdict] for verdict in RowVerdict if counted[verdict]}


@dataclass(frozen=True, kw_only=True, repr=False)
class Reproduction(Shown):
    """Items of one paper or several, each with its rows."""

    shown_as: ClassVar[str] = "reproduction"
    shown_first: ClassVar[tuple[str, ...]] = ("verdicts",)
    runs: tuple[ItemRun, ...]
    listed: bool = False
    """Whether the items are only listed."""
    reused: int = 0
    """Points that the folder had."""
    interrupted: bool = False

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Whose items these are."""
        return tuple({run.paper.key: run.paper for run in self.runs}.values())

    @property
    def verdicts(self) -> dict[str, int]:
        """How many rows have which verdict."""
        return _counted(row for run in self.runs for row in run.rows)

    @property
    def failures(self) -> tuple[tuple[ItemRun, ClaimRow], ...]:
        """Rows that nothing explains, or errata that are none."""
        return tuple((run, row) for run in self.runs for row in run.rows if row.verdict is RowVerdict.FAILED)
