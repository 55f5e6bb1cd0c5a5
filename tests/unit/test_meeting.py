"""What indices of two dims meet under a band: all counts against those of points that are gone through."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from cases import cases

from optmap.search.chains.meeting import BandMeeting, meeting_of
from optmap.workloads.band import IndexBand

Points = list[set[int]]
"""What each index of the own dim meets."""


def drawn(rng: random.Random) -> tuple[BandMeeting, Points]:
    own, other = (rng.randint(1, 12) for _ in range(2))
    while True:
        low, high = sorted(rng.randint(-12, 12) for _ in range(2))
        band = IndexBand("m", "l", low, high).within({"m": own, "l": other})
        points = [{j for j in range(other) if band.low <= j - i <= band.high} for i in range(own)]
        if any(points):
            break
    if rng.random() < 0.5:
        return meeting_of(("m", own), ("l", other), band), points
    turned = [{i for i in range(own) if j in points[i]} for j in range(other)]
    return meeting_of(("l", other), ("m", own), band), turned


def tiles(extent: int, tile: int, first: int) -> list[range]:
    start = [0, *range(first, extent, tile)] if first else [*range(0, extent, tile)]
    return [range(a, b) for a, b in zip(start, [*start[1:], extent], strict=True)]


def met(points: Points, tile: range) -> set[int]:
    return set[int]().union(*(points[i] for i in tile))


def test_counts_are_those_of_the_points() -> None:
    for seed in range(cases(40, 2000)):
        rng = random.Random(f"meeting {seed}")
        meeting, points = drawn(rng)
        own, other = meeting.extents
        tile, inner = rng.randint(1, own), rng.randint(1, other)
        block = rng.randint(1, inner)
        sums = [sum(len(met(points, each)) for each in tiles(own, tile, first)) for first in (0, own % tile)]
        first, begin = meeting.first(tile), meeting.turned.first(inner)
        assert first == (own % tile if sums[1] < sums[0] else 0)
        cut = tiles(other, inner, begin)
        blocks = [b for t in cut for b in (range(c, min(c + block, t.stop)) for c in range(t.start, t.stop, block))]
        visits = [sum(not each.isdisjoint(part) for part in blocks) for each in points]
        assert meeting.visits(inner, block).tolist() == visits
        assert meeting.blocks_visited(np.array([inner]), np.array([block])).tolist() == [sum(visits)]
        plain = [sum(not each.isdisjoint(part) for part in cut) for each in points]
        assert meeting.visits(inner).tolist() == plain
        assert meeting.all_visits(np.array([inner])).tolist() == [sum(plain)]
        assert meeting.most_visits(np.array([inner])).tolist() == [max(plain)]
        strips = [strip for each in tiles(own, tile, first) if (strip := met(points, each))]
        assert meeting.longest(np.array([tile])).tolist() == [max(map(len, strips))]
        stays = np.array([sum(j in strip for strip in strips) for j in range(other)])
        for one, two in pairwise(strips):
            last, ahead = (next(each for each in cut if j in each) for j in (max(one), min(two)))
            stays[[*(one & two & {*last} & {*ahead})]] -= 1
        assert meeting.staying_each(tile, inner).tolist() == stays.tolist()
        assert meeting.staying(np.array([tile]), np.array([inner])).tolist() == [[stays.sum()]]


def test_several_sizes_are_those_one_by_one() -> None:
    for seed in range(cases(10, 200)):
        meeting, _ = drawn(random.Random(f"sizes {seed}"))
        own, other = (np.arange(1, extent + 1) for extent in meeting.extents)
        assert meeting.longest(own).tolist() == [int(meeting.longest(own[n : n + 1])[0]) for n in range(own.size)]
        singles = [
            [int(meeting.staying(own[n : n + 1], other[k : k + 1])[0, 0]) for k in range(other.size)]
            for n in range(own.size)
        ]
        assert meeting.staying(own, other).tolist() == singles
