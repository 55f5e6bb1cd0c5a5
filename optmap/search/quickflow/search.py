"""The search of method `quickflow`: greedy steps over N hops, then a beam, in three rounds (section IV-C)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from optmap.base.arrays import Flags, Floats
from optmap.base.errors import InputError
from optmap.base.rows import Rows, concatenated
from optmap.mappings.nest_batch import KINDS, TIME, NestBatch
from optmap.questions.options import Merit
from optmap.search.explore.protocol import Brief, Proposals, Scores, Strategy
from optmap.search.explore.settings import setting
from optmap.search.quickflow.levels import Weight
from optmap.search.quickflow.moves import AdjacentMoves, Allocations, Table
from optmap.search.quickflow.oneshot import OneShot
from optmap.search.quickflow.places import Places
from optmap.search.quickflow.start import start

TIMED = (Merit.EDP, Merit.CYCLES)
"""Merits that units at work improve: these are divided by the share of units in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFlowSettings:
    """How far the search looks. Defaults are the paper's where it prints them."""

    spatial_hops: int = setting(4, "N of the first round, which moves factors between meshes and the outermost memory")
    memory_hops: int = setting(2, "N of the second round, which moves them between memories")
    hops: int = setting(4, "N of the third round, which moves them everywhere")
    beam: int = setting(1024, "K: mappings from which a search that is stuck goes on; 0 for none")
    chain: int = setting(8, "moves that the beam goes away from a local optimum at most: M is this over N, less one")
    chained: bool = setting(True, "beyond the first, moves of rounds two and three fill the place last taken from")
    eager: bool = setting(True, "rounds two and three step after the first hop that improves, not only after N")
    paths: bool = setting(True, "the beam goes on from the best behind each first move, not from all that was met")
    accesses: bool = setting(False, "orders spare accesses, as in the paper; else their energy, or time for cycles")
    utilisation: bool = setting(True, "EDP and cycles are divided by the share of units in use while searching")
    bypass: bool = setting(True, "rounds two and three also change what the machine leaves open to be kept")

    def __post_init__(self) -> None:
        for name in ("spatial_hops", "memory_hops", "hops"):
            if getattr(self, name) < 1:
                raise InputError(f"--set {name.replace('_', '-')}={getattr(self, name)}: give a number from 1 on")
        for name in ("beam", "chain"):
            if getattr(self, name) < 0:
                raise InputError(f"--set {name}={getattr(self, name)}: give 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached(Rows):
    """Mappings with what they are worth."""

    who: Allocations
    worth: Floats

    def best(self, count: int) -> Reached:
        """Those that are worth least, in that order."""
        return self[np.argsort(self.worth, kind="stable")[:count]]

    def best_of_roots(self) -> Reached:
        """The best of every root."""
        rows = np.lexsort((self.worth, self.who.root))
        first = np.ones(len(rows), bool)
        first[1:] = np.diff(self.who.root[rows]) > 0
        return self[rows[first]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One of the three rounds."""

    open_: Flags
    """(places,)"""
    hops: int
    several: bool
    chained: bool
    eager: bool
    flips: bool


def weight_of(brief: Brief[QuickFlowSettings]) -> Weight:
    """What spared accesses are worth to a merit."""
    if brief.settings.accesses:
        return Weight.ACCESSES
    return Weight.ENERGY if brief.merit in (Merit.EDP, Merit.ENERGY) else Weight.TIME


class Search:
    """The state of one search."""

    def __init__(self, brief: Brief[QuickFlowSettings]) -> None:
        self.brief = brief
        self.places = Places(brief.fabric, brief.counting)
        self.moves = AdjacentMoves(self.places, brief.tally)
        self.shot = OneShot(brief.fabric, brief.counting, self.places.orderable, brief.tally, weight_of(brief))
        self.seen: set[int] = set()

    def rounds(self) -> list[Round]:
        """Spatial, memory, all."""
        settings, spatial = self.brief.settings, self.places.spatial()
        outermost = np.arange(self.places.count) == self.places.outermost
        common = {"chained": settings.chained, "eager": settings.eager, "flips": settings.bypass}
        return [
            Round(
                open_=spatial | outermost,
                hops=settings.spatial_hops,
                several=True,
                chained=False,
                eager=False,
                flips=False,
            ),
            Round(open_=~spatial, hops=settings.memory_hops, several=False, **common),
            Round(open_=spatial | True, hops=settings.hops, several=False, **common),
        ]

    def run(self) -> Proposals:
        """From the first mapping to a local optimum of the last round."""
        first = start(self.moves, self.brief.rng)
        if not len(first):
            return None
        self.seen.update(first.keys.tolist())
        now = yield from self.judged(first)
        for round_ in self.rounds():
            now = yield from self.climb(now, round_)
        return None

    def judged(self, who: Allocations) -> Generator[NestBatch, Scores, Reached]:
        """Orders in one shot, then what the mappings are worth."""
        shape = (len(who), len(self.brief.fabric.memories), KINDS, len(self.brief.fabric.dims))
        trips = who.trips.reshape(shape)
        scores = yield NestBatch(
            x=trips[:, :, 0],
            y=trips[:, :, 1],
            temporal=trips[:, :, TIME],
            order=self.shot.choose(trips, who.keeps),
            keeps=who.keeps,
        )
        worth = scores.value
        if self.brief.settings.utilisation and self.brief.merit in TIMED:
            worth = worth * (self.brief.fabric.units / trips[:, :, :2].prod(axis=(1, 2, 3)))
        return Reached(who=who, worth=worth)

    def climb(self, now: Reached, round_: Round) -> Generator[NestBatch, Scores, Reached]:
        """Greedy steps, and the beam where none improves, until that does not either."""
        table = self.moves.table(round_.open_, several=round_.several)
        settings = self.brief.settings
        while True:
            reached = yield from self.around(now, round_, table, now.worth[0])
            best = reached.best(1)
            if settings.paths:
                reached = reached.best_of_roots()
            for _ in range(max(0, -(-settings.chain // round_.hops) - 1) if settings.beam else 0):
                if not len(reached.who) or (len(best.who) and best.worth[0] < now.worth[0]):
                    break
                beam = reached.best(settings.beam)
                reached = yield from self.around(beam, round_, table, now.worth[0])
                reached = reached.best_of_roots()
                best = reached.best(1)
            if not len(best.who) or best.worth[0] >= now.worth[0]:
                return now
            now = best

    def around(
        self, roots: Reached, round_: Round, table: Table, target: float
    ) -> Generator[NestBatch, Scores, Reached]:
        """All mappings within some hops of roots that were not seen before."""
        front = roots.who.rooted()
        found = [Reached(who=front[:0], worth=np.zeros(0))]
        for hop in range(round_.hops):
            parts = []
            for part in self.moves.adjacent(front, table, self.seen, chained=round_.chained, flips=round_.flips):
                parts.append((yield from self.judged(part)))
            reached = concatenated(parts)
            front = reached.who
            if not len(front):
                break
            if not hop and len(roots.who) == 1:
                front = replace(front, root=np.arange(len(front)))
            found.append(Reached(who=front, worth=reached.worth))
            if round_.eager and reached.worth.min() < target:
                break
        return concatenated(found)


def propose(brief: Brief[QuickFlowSettings]) -> Proposals:
    """The three rounds."""
    return (yield from Search(brief).run())


STRATEGY = Strategy(propose=propose, settings=QuickFlowSettings)
