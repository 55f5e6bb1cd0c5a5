"""The search of method `quickflow`: greedy steps over N hops, then a beam, in three rounds (section IV-C)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.problem.nest_batch import Booleans, NestBatch
from optmap.problem.options import Merit
from optmap.search.explore.protocol import Proposals, Question, Scores, Strategy
from optmap.search.quickflow.moves import Allocations, Moves, Table, joined
from optmap.search.quickflow.oneshot import OneShot
from optmap.search.quickflow.places import KINDS, Places
from optmap.search.quickflow.start import start

Numbers = NDArray[np.float64]
TIMED = (Merit.EDP, Merit.CYCLES)
"""Merits that units at work improve: these are divided by the share of units in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFlowSettings:
    """How far the search looks. Defaults are the paper's where it prints them."""

    spatial_hops: int = 4
    """N of the first round, of meshes and the outermost memory."""
    memory_hops: int = 2
    """N of the second round, of memories alone."""
    hops: int = 4
    """N of the third round, of all places."""
    beam: int = 1024
    """K: mappings from which a search that is stuck goes on."""
    chain: int = 8
    """Moves that the beam may be away from a local optimum: M is this over N, less one."""
    chained: bool = True
    """In the second and third round, a move brings a factor to where the last one took one from."""
    eager: bool = True
    """In the second and third round, a step is taken after the first hop that improves."""
    utilisation: bool = True
    """EDP and cycles are divided by the share of arithmetic units in use while searching."""
    bypass: bool = True
    """Keepers that the machine leaves open are changed in the second and third round."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """Mappings with what they are worth."""

    who: Allocations
    worth: Numbers

    def best(self, count: int) -> Reached:
        """Those that are worth least, in that order."""
        rows = np.argsort(self.worth, kind="stable")[:count]
        return Reached(who=self.who[rows], worth=self.worth[rows])

    def best_of_roots(self) -> Reached:
        """The best of every root."""
        rows = np.lexsort((self.worth, self.who.root))
        first = np.ones(len(rows), bool)
        first[1:] = np.diff(self.who.root[rows]) > 0
        return Reached(who=self.who[rows[first]], worth=self.worth[rows[first]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One of the three rounds."""

    open_: Booleans
    """(places,)"""
    hops: int
    several: bool
    chained: bool
    eager: bool
    flips: bool


class Search:
    """The state of one search."""

    def __init__(self, question: Question[QuickFlowSettings]) -> None:
        self.question = question
        self.places = Places(question.fabric, question.counting)
        self.moves = Moves(self.places, question.tally)
        self.shot = OneShot(question.fabric, question.counting, self.places.orderable, question.tally)
        self.seen: set[int] = set()

    def rounds(self) -> list[Round]:
        """Spatial, memory, all."""
        settings, spatial = self.question.settings, self.places.spatial()
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
        first = start(self.moves, self.question.rng)
        if not len(first):
            return None
        self.seen.update(first.keys.tolist())
        now = yield from self.judged(first)
        for round_ in self.rounds():
            now = yield from self.climb(now, round_)
        return None

    def judged(self, who: Allocations) -> Generator[NestBatch, Scores, Reached]:
        """Orders in one shot, then what the mappings are worth."""
        shape = (len(who), len(self.question.fabric.memories), KINDS, len(self.question.fabric.dims))
        trips = who.trips.reshape(shape)
        scores = yield NestBatch(
            x=trips[:, :, 0],
            y=trips[:, :, 1],
            temporal=trips[:, :, 2],
            order=self.shot.choose(trips, who.keeps),
            keeps=who.keeps,
        )
        worth = scores.value
        if self.question.settings.utilisation and self.question.merit in TIMED:
            worth = worth * (self.question.fabric.units / trips[:, :, :2].prod(axis=(1, 2, 3)))
        return Reached(who=who, worth=worth)

    def climb(self, now: Reached, round_: Round) -> Generator[NestBatch, Scores, Reached]:
        """Greedy steps, and the beam where none improves, until that does not either."""
        table = self.moves.table(round_.open_, several=round_.several)
        settings = self.question.settings
        while True:
            reached = yield from self.around(now, round_, table, now.worth[0])
            best = reached.best(1)
            for _ in range(max(0, -(-settings.chain // round_.hops) - 1)):
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
        found: list[Reached] = []
        for _ in range(round_.hops):
            front = self.moves.adjacent(front, table, self.seen, chained=round_.chained, flips=round_.flips)
            if not len(front):
                break
            found.append((yield from self.judged(front)))
            if round_.eager and found[-1].worth.min() < target:
                break
        if not found:
            return Reached(who=front[:0], worth=np.zeros(0))
        return Reached(who=joined([each.who for each in found]), worth=np.concatenate([each.worth for each in found]))


def propose(question: Question[QuickFlowSettings]) -> Proposals:
    """The three rounds."""
    return (yield from Search(question).run())


STRATEGY = Strategy(propose=propose, settings=QuickFlowSettings)
