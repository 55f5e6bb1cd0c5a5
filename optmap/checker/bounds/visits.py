"""Words that come again because one tensor does not fit (theorem and proof: `optmap/bounds/passing/visits.py`).

With so many words of the kept tensor missing in every segment, at every place x words of the still tensor and y of
the sliding one are touched in several segments; this module counts again how few of them are enough.
"""

from __future__ import annotations

from collections import Counter
from math import gcd, prod
from typing import Any

from ..core.padding import Done
from ..core.tools import SPAN, need


def check_visits(doc: dict[str, Any], weights: dict[str, int], words: dict[str, int], created: int, done: Done) -> int:
    """Loads that the visits of a certificate prove.

    Args:
        doc: the certificate, of the right form.
        weights: words per element of every tensor.
        words: touched words of every tensor, at least.
        created: words that may be created instead of loaded, at most.
        done: the points that are done.
    """
    part, memory = doc["visits"], doc["memory_words"]
    roles, still = roles_of(doc, "visits", weights, done)
    kept, sliding, slack = part["kept"], part["sliding"], part["slack"]
    size = weights[kept] * roles.features * roles.channels * roles.taps
    need(words[kept] <= size, "the kept tensor has fewer words than are counted")
    short = words[kept] - memory
    need(1 <= slack < short, "the slack must be less than what does not fit")
    lacking = -(-(short - slack - weights[kept] + 1) // weights[kept])
    again = 0
    for met, places in roles.places(part["taps"]).items():
        again += places * roles.least(lacking, roles.taps - met, weights[still], weights[sliding])
    need(part["again_words"] == again, f"{again} words come again")
    loads: int = words[still] + words[sliding] + again + min(short, 2 * slack) - created
    need(part["loads_words"] == loads, f"the visits prove {loads} loads")
    return loads


def roles_of(doc: dict[str, Any], argument: str, weights: dict[str, int], done: Done) -> tuple[VisitRoles, str]:
    """The statement as an argument about what comes again reads it, and its still tensor.

    Args:
        doc: the certificate.
        argument: key of its part that names the kept and the sliding tensor.
        weights: words per element of every tensor.
        done: the points that are done.
    """
    need(doc["segment"] is None and not doc["maps"] and not doc["families"], f"a segment or maps beside {argument}")
    need(not done.ranged, f"{argument} are without padding")
    need(len(doc["accesses"]) == len(weights) == 3, f"{argument} are of three tensors")
    kept, sliding = doc[argument]["kept"], doc[argument]["sliding"]
    others = set(weights) - {kept, sliding}
    need(len(others) == 1, "kept and sliding are two of the tensors")
    (still,) = others
    return VisitRoles(doc["accesses"], done.extents, still, sliding, kept), still


class VisitRoles:
    """A statement as a still, a sliding and a kept tensor."""

    def __init__(self, accesses: list[Any], extents: dict[str, int], still: str, sliding: str, kept: str) -> None:
        live = {
            access["tensor"]: [[(d, c) for d, c in axis["terms"] if extents[d] > 1] for axis in access["axes"]]
            for access in accesses
        }
        dims = {name: [d for axis in axes for d, _ in axis] for name, axes in live.items()}
        need(all(len(own) == len(set(own)) for own in dims.values()), "a dim stands in two subscripts of a tensor")
        need(all(len(axis) < 2 for name in (still, kept) for axis in live[name]), "one tensor alone slides")
        self.extents = extents
        self.windows: list[tuple[str, str, int, int]] = []
        for axis in live[sliding]:
            if len(axis) > 1:
                place = [(d, c) for d, c in axis if d in dims[still] and d not in dims[kept]]
                tap = [(d, c) for d, c in axis if d in dims[kept] and d not in dims[still]]
                need(len(axis) == 2 and len(place) == len(tap) == 1, "a window is a place plus a tap")
                g = gcd(place[0][1], tap[0][1])
                self.windows.append((place[0][0], tap[0][0], place[0][1] // g, tap[0][1] // g))
        slid = {d for window in self.windows for d in window[:2]}
        rest = {d for d, n in extents.items() if n > 1} - slid
        need(all(sum(d in own for own in dims.values()) == 2 for d in rest), "a dim is not in two tensors")
        self.features = prod(extents[d] for d in rest if d not in dims[sliding])
        self.channels = prod(extents[d] for d in rest if d not in dims[still])
        self.taps = prod(extents[tap] for _, tap, _, _ in self.windows)
        self.apart = prod(extents[d] for d in rest if d not in dims[kept])

    def places(self, chosen: dict[str, int]) -> Counter[int]:
        """How many places have a word of the sliding tensor that meets so many taps."""
        need(set(chosen) == {tap for _, tap, _, _ in self.windows}, "one tap per window is needed")
        found = Counter({1: self.apart})
        for place, tap, stride, dilation in self.windows:
            need(chosen[tap] < self.extents[tap], "a tap is outside its window")
            need(self.extents[place] * self.extents[tap] <= SPAN // 16, "too long a window to recount")
            along: Counter[int] = Counter()
            for p in range(self.extents[place]):
                # The taps t with stride*p + dilation*chosen = stride*p' + dilation*t for a place p'.
                values = (stride * p + dilation * (chosen[tap] - t) for t in range(self.extents[tap]))
                along[sum(v >= 0 and v % stride == 0 and v // stride < self.extents[place] for v in values)] += 1
            joined: Counter[int] = Counter()
            for met, n in found.items():
                for more, times in along.items():
                    joined[met * more] += n * times
            found = joined
        return found

    def least(self, lacking: int, missed: int, a: int, b: int) -> int:
        """The fewest words touched in several segments at a place where the sliding word misses so many taps."""
        if lacking <= 0:
            return 0
        best = min(a * self.features, b * self.channels)
        need(best <= SPAN // 16, "too many features and channels to recount")
        for x in range(1, self.features):
            if a * x >= best:
                break
            # x * (taps*y + missed*(channels - y)) >= lacking
            rest = -(-lacking // x) - missed * self.channels
            step = self.taps - missed
            y = 0 if rest <= 0 else -(-rest // step)
            if y < self.channels:
                best = min(best, a * x + b * y)
        return best
