"""A run in pieces: boxes of iterations, each with a tile, a loop order and holds of its own.

A piece has of some dims every so many iterations from a first one on, and of the others all. No two pieces have an
operation in common: of some dim their steps never meet, as the distance is no multiple of the steps' greatest common
divisor, or meet first (Chinese remainders) where one of both has ended. If their numbers of operations add up to all,
every operation runs once. A piece starts from an empty memory, so that its traffic is that of a workload of its own;
of an output every element that is touched is touched first once, whatever the number of pieces that touch it.
"""

from __future__ import annotations

from copy import copy
from itertools import combinations
from math import gcd, prod
from typing import Any

from ..core.nest import TiledNest
from ..core.statement import StatedWork
from ..core.tools import need, spelled
from .held import HeldLevel


class LevelPieces:
    """All pieces of one level, the first of which has the tiles of the mapping."""

    def __init__(self, nest: TiledNest, doc: Any) -> None:
        need(nest.depth == 1, "pieces belong to one level")
        need("corner" not in doc, "tiles leave out a corner or a mapping is cut into pieces, not both")
        first = {"of": doc["of"], "held": {key: doc[key] for key in ("positions", "streams", "inner")}}
        listed = [{**first, "tile": nest.tiles[0], "permutation": nest.orders[0]}, *doc["pieces"]]
        need(all(n == 1 for n in nest.ways[0].values()), "a held tile runs in one order and cannot be split")
        self.nest, self.cuts = nest, [ranges(nest.work, piece["of"]) for piece in listed]
        for one, other in combinations(self.cuts, 2):
            need(any(apart(one[d], other[d]) for d in one.keys() & other.keys()), "two pieces run the same operations")
        works = [part(nest.work, cut) for cut in self.cuts]
        ran, every = sum(prod(w.extents.values()) for w in works), prod(nest.work.extents.values())
        need(ran == every, f"the pieces run {ran} of {every} operations")
        self.rest = [held(work, piece) for work, piece in zip(works, listed, strict=True)]

    def lines(self) -> list[str]:
        """That every operation runs once, and from what memory."""
        count = len(self.rest)
        return [
            spelled(f"{count:,} pieces run one after the other from an empty memory, every operation in one of them")
        ]

    def traffic(self) -> list[tuple[int, int]]:
        """(loads, stores) in words per access."""
        runs, nest = [run.traffic() for run in self.rest], self.nest
        totals = [(sum(a for a, _ in rows), sum(b for _, b in rows)) for rows in zip(*runs, strict=True)]
        made = nest.work.weights[nest.work.tensors[0][0]] * nest.created(0)
        return [(totals[0][0] - made, totals[0][1]), *totals[1:]]

    def occupancies(self) -> list[list[int]]:
        """Most words per access held at the same time, piece by piece."""
        return [shares for run in self.rest for shares in run.occupancies()]


def held(work: StatedWork, piece: Any) -> HeldLevel:
    """The run of one piece."""
    level = {"level": "piece", "tile": piece["tile"], "permutation": piece["permutation"], "spatial": {}}
    return HeldLevel(TiledNest(work, [level], [{"name": "piece", "fanout": 1}]), piece["held"])


def ranges(work: StatedWork, of: Any) -> dict[str, range]:
    """The iterations of a piece, of the dims of which it has not all."""
    found = {}
    for d, each in of.items():
        need(d in work.extents, f"a piece is cut along {d}, which is no dim")
        last = each["first"] + each["step"] * (each["size"] - 1)
        need(last < work.extents[d], f"a piece has iteration {last} of {work.extents[d]} of {d}")
        found[d] = range(each["first"], last + 1, each["step"])
        for (_, axes), limits in zip(work.tensors, work.ranges, strict=True):
            mine = [real for (terms, _), real in zip(axes, limits, strict=True) if d in dict(terms)]
            need(all(real is None for real in mine), f"a piece is cut along {d}, which has padding")
    return found


def apart(one: range, other: range) -> bool:
    """Whether two sets of iterations have none in common."""
    shared = gcd(one.step, other.step)
    if (other[0] - one[0]) % shared:
        return True
    every = other.step // shared  # of one's iterations, how many further on the next one in the other's steps is
    number = (other[0] - one[0]) // shared * pow(one.step // shared, -1, every) % every
    least = -((one[0] - other[0]) // one.step)  # number of one's first iteration that is not before the other's
    number += max(0, -((number - least) // every)) * every
    return one[0] + one.step * number > min(one[-1], other[-1])


def part(work: StatedWork, cut: dict[str, range]) -> StatedWork:
    """The workload of some iterations: of c*x runs c*step*x + c*first, and every touch of an output loads it."""
    mine = copy(work)
    mine.extents = {d: len(cut[d]) if d in cut else n for d, n in work.extents.items()}
    mine.tensors = [
        (
            name,
            [
                (
                    tuple((d, c * cut[d].step if d in cut else c) for d, c in terms),
                    offset + sum(c * cut[d].start for d, c in terms if d in cut),
                )
                for terms, offset in axes
            ],
        )
        for name, axes in work.tensors
    ]
    mine.assign = False
    return mine
