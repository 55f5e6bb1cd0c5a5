"""Method `random`: valid-by-construction mappings drawn evenly, until it gives up as Timeloop's mapper does.

Timeloop's `victory-condition` (500 unless set) ends a search after that many valid mappings in a row none of which was
better than the best; one that differs from the mapping before only in what is kept (its bypass) does not count. Its
`timeout` (1000) ends it after that many invalid mappings since the last valid one; there, too, a change of the bypass
alone does not count, unless the mapping could not even be made. (NVlabs/timeloop, src/applications/mapper, files
mapper.cpp and mapper-thread.cpp, one thread.) Here nothing that is proposed cannot be made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optmap.base.arrays import Flags
from optmap.base.errors import InputError
from optmap.mappings.nest_batch import NestBatch
from optmap.search.accelerators.random_nests import random_nests
from optmap.search.explore.protocol import Brief, Proposals, Scores, Strategy
from optmap.search.explore.settings import setting

BATCH = 512
"""Nests that are drawn together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSettings:
    """When a random search gives up."""

    victory: int = setting(
        500, "ends after so many valid mappings in a row that are not better (Timeloop's victory condition); 0: never"
    )
    timeout: int = setting(1000, "ends after so many mappings since the last valid one (Timeloop's timeout); 0: never")

    def __post_init__(self) -> None:
        for name in ("victory", "timeout"):
            if getattr(self, name) < 0:
                raise InputError(f"--set {name}={getattr(self, name)}: give 0 or more")


@dataclass(slots=True, kw_only=True)
class _Patience:
    """How far a search is from giving up."""

    settings: RandomSettings
    best: float = float("inf")
    idle: int = 0
    """Valid mappings since the best became better."""
    lost: int = 0
    """Mappings since the last valid one."""
    before: NestBatch | None = field(default=None)
    """The mapping before, as a batch of one."""

    @property
    def left(self) -> int:
        """Mappings that may be judged before it can give up; 0 if it does."""
        counted = ((self.settings.victory, self.idle), (self.settings.timeout, self.lost))
        return max(0, min((limit - now for limit, now in counted if limit), default=BATCH))

    def see(self, batch: NestBatch, scores: Scores) -> None:
        """More mappings were judged."""
        for valid, value, bypass in zip(scores.valid, scores.value, self._bypass_alone(batch), strict=True):
            if valid:
                self.lost = 0
                self.idle = 0 if value < self.best else self.idle + (not bypass)
                self.best = min(self.best, float(value))
            else:
                self.lost += not bypass
        self.before = batch[-1:]

    def _bypass_alone(self, batch: NestBatch) -> Flags:
        """Which nests are those before them but for what is kept."""
        first = batch[:1] if self.before is None else self.before
        changed = np.zeros(len(batch), bool)
        for now, then in zip(_loops(batch), _loops(first), strict=True):
            row = np.concatenate([then, now])
            changed |= (row[1:] != row[:-1]).any(axis=(1, 2))
        if self.before is None:
            changed[:1] = True
        return ~changed


def _loops(batch: NestBatch) -> tuple[np.ndarray, ...]:
    """Trips along x, y and in time, order of loops of several trips: a nest but for what it keeps."""
    several = np.take_along_axis(batch.temporal, batch.order, axis=2) > 1
    shown = np.where(several, batch.order, -1)
    ranked = np.take_along_axis(shown, np.argsort(~several, axis=2, kind="stable"), axis=2)
    return batch.x, batch.y, batch.temporal, ranked


def propose(brief: Brief[RandomSettings]) -> Proposals:
    """Random mappings, until patience ends: no mapping is judged beyond that."""
    patience = _Patience(settings=brief.settings)
    while True:
        drawn, start = random_nests(brief.fabric, BATCH, brief.rng), 0
        while start < BATCH:
            if not patience.left:
                return None
            batch = drawn[start : start + patience.left]
            patience.see(batch, (yield batch))
            start += len(batch)


STRATEGY = Strategy(propose=propose, settings=RandomSettings)
