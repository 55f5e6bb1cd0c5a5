"""Method `sunstone`: from memory to memory, orders, tiles and unrollings that its principles leave."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optmap.base.arrays import Flags, Floats
from optmap.base.rows import Rows, concatenated
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search.explore.protocol import Brief, Proposals, Scores, Strategy
from optmap.search.sunstone.estimate import optimistic
from optmap.search.sunstone.settings import SunstoneSettings
from optmap.search.sunstone.step import Continued, Step

CHUNK = 32
"""Partial mappings that are continued between two looks at the best one."""
NARROW = 4
"""Partial mappings that a first pass hands on, so that alpha-beta has something to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Front(Rows):
    """Partial mappings with their memories chosen up to one."""

    batch: NestBatch
    estimate: Floats
    """Of each, in its own order."""
    least: Floats
    """The least over all orders that were tried with the same choices: what alpha-beta compares."""


class _SunstoneSearch:
    """The state of one search."""

    def __init__(self, brief: Brief[SunstoneSettings]) -> None:
        self.brief = brief
        self.settings = brief.settings
        self.step = Step(brief)
        self.best = float("inf")
        self.ways = 1
        """Children that the best mapping uses, over all meshes."""

    @property
    def starved(self) -> bool:
        """Whether cycles count and the best mapping leaves idle what the meshes could use of the extents."""
        fabric, part = self.brief.fabric, self.settings.starved
        if not part or self.brief.merit is Merit.ENERGY or self.best == float("inf"):
            return False
        return self.ways < part * self.step.ways_left.most(0, tuple(fabric.extents))

    def run(self) -> Generator[NestBatch, Scores, None]:
        """All passes over the memories."""
        if self.step.impossible:
            return
        width = self.settings.width
        for handed in (NARROW, width) if self.settings.alpha_beta and width != NARROW else (width,):
            front = _Front(batch=self.step.start(), estimate=np.zeros(1), least=np.zeros(1))
            for memory in self.step.memories:
                front = self._narrowed((yield from self._continued(front, memory)), handed)

    def _continued(self, front: _Front, memory: int) -> Generator[NestBatch, Scores, _Front]:
        """Everything that may still beat the best, by one more memory."""
        found = front[:0]
        for first in range(0, len(front.batch), CHUNK):
            chunk = front[np.arange(first, min(first + CHUNK, len(front.batch)))]
            chunk = chunk[self._open(chunk.least)]
            parts = [self.step.continuations(chunk.batch, row, memory) for row in range(len(chunk.batch))]
            parts = [part for part in parts if len(part.batch)]
            if parts:
                batch = concatenated([part.batch for part in parts])
                scores = yield batch
                self._remember(batch, scores)
                found = concatenated([found, self._front(batch, parts, memory)])
        return found

    def _remember(self, batch: NestBatch, scores: Scores) -> None:
        first = int(np.argmin(scores.value))
        if scores.value[first] < self.best:
            self.best = float(scores.value[first])
            self.ways = int((batch.x[first] * batch.y[first]).prod())

    def _open(self, least: Floats) -> Flags:
        """Alpha-beta: optimistic value < best objective known."""
        if not self.settings.alpha_beta:
            return np.ones(len(least), bool)
        found: Flags = least < self.best
        self.brief.tally.add("alpha-beta", seen=len(least), cut=int((~found).sum()))
        return found

    def _front(self, batch: NestBatch, parts: Sequence[Continued], memory: int) -> _Front:
        inwards = self.step.inwards
        own, estimate = optimistic(
            batch,
            self.brief.fabric,
            self.brief.merit,
            self.brief.counting,
            memory=memory,
            inwards=inwards,
            settled=self.step.settled(memory),
        )
        if inwards:
            return _Front(batch=batch, estimate=estimate, least=own)
        ends = np.cumsum([0] + [part.group.max() + 1 for part in parts[:-1]])
        group = np.concatenate([part.group + end for part, end in zip(parts, ends, strict=True)])
        least = np.full(int(group.max()) + 1, np.inf)
        np.minimum.at(least, group, own)
        return _Front(batch=batch, estimate=estimate, least=least[group])

    def _narrowed(self, front: _Front, width: int) -> _Front:
        """Best estimate first, and no more than may be handed on."""
        front = front[np.argsort(front.estimate, kind="stable")]
        kept = front[:width] if width else front
        if width:
            self.brief.tally.add("width", seen=len(front.batch), cut=len(front.batch) - len(kept.batch))
        return kept


def propose(brief: Brief[SunstoneSettings]) -> Proposals:
    """The mappings that Sunstone looks at, partial ones completed; ends by itself.

    Where none is valid the demand on the use of meshes gives way, and the search is repeated without it. Where the best
    leaves most of the meshes idle, as tiles inside took the factors that they could have spread, it is repeated with
    tiles that leave them.
    """
    search = _SunstoneSearch(brief)
    yield from search.run()
    if search.starved and not brief.settings.leave_ways:
        yield from _SunstoneSearch(replace(brief, settings=replace(brief.settings, leave_ways=True))).run()
    if search.best == float("inf") and brief.settings.utilisation > 0:
        yield from _SunstoneSearch(replace(brief, settings=replace(brief.settings, utilisation=0.0))).run()
    return None


SUNSTONE_STRATEGY = Strategy(propose=propose, settings=SunstoneSettings)
