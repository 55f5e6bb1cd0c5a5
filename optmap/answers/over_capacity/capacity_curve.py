"""What the best mapping of a workload moves over all capacities of one memory, as a step function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf, log, log1p, pow
from typing import Any, ClassVar

from optmap.base.clock import Clock
from optmap.base.shown import Concise, Shown
from optmap.bounds.result import LowerBound
from optmap.search.result import Answer
from optmap.workloads.workload import Workload

NEAR = 1.05
"""Within this of what moves at any capacity a curve is at its end."""
STEP = 0.95
"""Share of the distance that neighbours may have, by which words are to fall from one point to the next."""
MOST_STEPS = 2**20
"""Steps between two capacities: of more, half are on each side."""
STEEP = 0.75
"""Share of a fall that one of two parts has where the other one has almost nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(Concise):
    """The best mapping at a capacity that it takes wholly."""

    answer: Answer[Any, Any]
    """Of a capacity as large or larger, without a floor."""
    floor: LowerBound
    """Of the words that every schedule moves at `room_words`."""
    apart: int | None
    """Words there where every statement of a chain is done by itself; None where that does not fit, or for one
    statement."""

    @property
    def room_words(self) -> int:
        """Words that the mapping takes."""
        return room_of(self.answer)

    @property
    def words(self) -> int:
        """Words that it moves."""
        return words_of(self.answer)

    @property
    def bound_words(self) -> int:
        """Words of the objective that every schedule moves at least."""
        return self.floor.total_words if self.answer.question.objective.stores else self.floor.loads_words

    @property
    def gap(self) -> float | None:
        """How far the words are above the floor; None where that is 0."""
        return self.words / self.bound_words - 1 if self.bound_words else None


AnyAnswer = Answer[Any, Any]


def room_of(answer: AnyAnswer) -> int:
    """Words that a mapping takes of the one memory."""
    held: int = answer.count.levels[0].occupancy_words
    return held


def words_of(answer: AnyAnswer) -> int:
    """Words that a mapping moves, counted exactly."""
    return int(answer.exact)


def front_of(found: Iterable[AnyAnswer]) -> tuple[AnyAnswer, ...]:
    """The mappings that no other one beats, by increasing room, with ever fewer words.

    Args:
        found: in any order.
    """
    front: list[AnyAnswer] = []
    for answer in sorted(found, key=lambda each: (room_of(each), words_of(each))):
        if not front or words_of(answer) < words_of(front[-1]):
            front.append(answer)
    return tuple(front)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityCurve(Shown):
    """Words over capacity: never more at a larger one."""

    shown_as: ClassVar[str] = "curve"
    shown_first: ClassVar[tuple[str, ...]] = ("workload", "points")

    workload: Workload
    objective: str
    within: float
    """Neighbours have words within so much of each other, or nothing lies between them."""
    compulsory_words: int
    """That move at any capacity."""
    points: tuple[CurvePoint, ...]
    """By increasing room, with ever fewer words."""
    knee: CurvePoint | None
    """The least capacity where no more than 5 % above what is compulsory moves; None if the curve ends before."""
    complete: bool
    """Whether the time was enough to come as near as was asked for."""

    def at(self, capacity_words: int) -> CurvePoint | None:
        """The best of its mappings that fit; None if none does. At a capacity of its own that is the best one known."""
        return next((point for point in reversed(self.points) if point.room_words <= capacity_words), None)

    @property
    def pays(self) -> tuple[int, int] | None:
        """The first and the last room where fewer words move than by every statement by itself; None nowhere."""
        better = [point.room_words for point in self.points if point.apart is not None and point.words < point.apart]
        return (better[0], better[-1]) if better else None


Ask = Callable[[Sequence[int]], Sequence[AnyAnswer | None]]
"""The best mappings at capacities in words; None where none fits, or the time was over."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """What lies between two mappings."""

    low: AnyAnswer
    place: int
    """The capacity that the lower one was asked for: it is the best there, too."""
    high: AnyAnswer
    steep: bool
    """Whether its words likely fall in one step, at its end."""

    @property
    def fall(self) -> float:
        """How far words fall across it, on a logarithmic scale."""
        return log(max(words_of(self.low), 1) / max(words_of(self.high), 1))

    def cut(self, middle: int, answer: AnyAnswer) -> tuple[_Gap, _Gap]:
        """Both parts of it.

        Where one of them has almost all of the fall, that is likely one step.
        """
        parts = _Gap(self.low, self.place, answer, steep=False), _Gap(answer, middle, self.high, steep=False)
        if self.steep:
            return parts
        lower, upper = (replace(part, steep=part.fall > STEEP * self.fall) for part in parts)
        return lower, upper


@dataclass(slots=True)
class Tracer:
    """Asks for mappings at capacities until neighbours are near."""

    ask: Ask
    within: float
    """Share by which words of neighbours may differ."""
    clock: Clock

    def trace(self, least: int, most: int) -> tuple[AnyAnswer, ...]:
        """The mappings from one capacity to another one by increasing room, those that others beat left out."""
        last = self._one(most)
        if last is None:
            return ()
        first, place = self._first(least, last)
        return front_of([first, *self._between(_Gap(first, place, last, steep=False)), last])

    def thinned(self, front: Sequence[AnyAnswer], knee: AnyAnswer | None = None) -> tuple[AnyAnswer, ...]:
        """Those of traced mappings that are needed for neighbours to be near: both ends of a step, and few of a slope.

        Args:
            front: mappings by increasing room, with ever fewer words.
            knee: one of them that stays whatever is near.
        """
        kept = list(front[:1])
        for answer, following in pairwise(front[1:]):
            if answer is knee or words_of(kept[-1]) > words_of(following) * (1 + self.within):
                kept.append(answer)
        return (*kept, *front[1:][-1:])

    def _one(self, capacity: int) -> AnyAnswer | None:
        (answer,) = self.ask([capacity])
        return answer

    def _first(self, low: int, last: AnyAnswer) -> tuple[AnyAnswer, int]:
        """The mapping at the least capacity from one on at which anything fits, and the capacity.

        Steps grow from the least capacity on, where nothing fits soon or little is to be looked at.
        """
        found, high, step = last, room_of(last), 0
        while low < high:
            step = 2 * step + 1
            middle = min(low + step, high) - 1 if found is last else (low + high) // 2
            answer = self._one(middle)
            if answer is None:
                low = middle + 1
            else:
                found, high = answer, min(room_of(answer), middle)
        return found, high

    def _between(self, whole: _Gap) -> Iterator[AnyAnswer]:
        """Mappings in a gap, until words are near or nothing lies between: all gaps of a round are cut at once."""
        gaps = [whole]
        while gaps and not self.clock.late:
            wide = [g for g in gaps if g.fall > log1p(self.within) and room_of(g.high) - g.place > 1]
            middles = [room_of(g.high) - 1 if g.steep else self._middle(g) for g in wide]
            gaps = []
            for gap, middle, answer in zip(wide, middles, self.ask(middles), strict=True):
                if answer is not None:
                    yield answer
                    gaps += gap.cut(middle, answer)

    def _middle(self, gap: _Gap) -> int:
        """The capacity that leaves as many steps on both sides, as high as they may be, if words fall evenly."""
        end = room_of(gap.high)
        step = log1p(STEP * self.within)
        steps = ceil(min(gap.fall / step, MOST_STEPS)) if step else 2
        return min(max(round(gap.place * pow(end / gap.place, steps // 2 / steps)), gap.place + 1), end - 1)

    def knee(self, answers: tuple[AnyAnswer, ...], words: int) -> AnyAnswer | None:
        """The mapping of least room that moves so many words at most.

        Args:
            answers: what was traced.
            words: that may move.
        """
        place = next((place for place, answer in enumerate(answers) if words_of(answer) <= words), None)
        if place is None:
            return None
        found, high = answers[place], room_of(answers[place])
        low, above = (room_of(answers[place - 1]), words_of(answers[place - 1])) if place else (high, words)
        over, under = float(above - words), float(words - words_of(found))
        step, widths, moved = True, (inf, inf), 0
        while low < high and not self.clock.late:
            # Words fall about evenly between two capacities; where one of them stays twice, it counts half as much
            # (the Illinois rule), and where that does not halve the range in two turns, the middle is taken. Where
            # words fall in one step it ends at the room of what is found.
            width = high - low
            part = 0.5 if 2 * width > widths[0] else over / (over + under)
            middle = high - 1 if step else min(low + int(part * width), high - 1)
            widths = widths if step else (widths[1], width)
            answer = self._one(middle)
            if answer is None or words_of(answer) > words:
                low, over = middle + 1, over if answer is None else words_of(answer) - words
                under /= 2 if moved > 0 else 1
                step, moved = False, 1
            else:
                over /= 2 if moved < 0 and not step else 1
                step, moved = not step and words_of(answer) == words_of(found), -1
                found, high, under = answer, min(room_of(answer), middle), words - words_of(answer)
        return found
