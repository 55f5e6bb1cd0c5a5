r"""Words that must come again because another tensor does not fit: compulsory and segment arguments joined.

A, B and W with their J, C and R are those of `roles`, s and d coprime, words of A, B and W weigh a, b, w. A place has
J words of A and C words of B at one tap t0; W has J*C*R elements, R the number of taps.

**Theorem.** Under `accumulate`, with M < |W| words of fast memory and 1 <= slack < |W| - M, every schedule loads
    |A| + |B| + again + min(|W| - M, 2*slack) words at least,
again = sum over places of the least a*x + b*y such that one of three holds: x = J; y = C; or x < J, y < C and
    x * (R*y + m*(C-y)) >= E = ceil((|W| - (M + slack + w - 1)) / w),
m being the taps that miss at the place: there B(s*p + d*t0) meets with a tap t0 + s*j the word of A at p - d*j, if
there are both, and with other taps none.

**Proof.** Cut the schedule where W has been loaded often enough: with r words of A and B in the memory at the last
cut (r = 0 and no word of W at the beginning), cut again right after the load with which r + slack words of W
or more have come (M + slack in the first segment). What a segment touches of W was there, at most M - r words, or
came: at most M + slack + w - 1 words in all, in the first segment too. So every segment misses E elements of W or more.

*Again.* A word of A or B that is touched in k segments is loaded at least k times but for the cuts over which it
stays. Call it simple if k = 1. So loads of A and B >= |A| + |B| + (words that are not simple) - (sum over the cuts
of r). At one place let x of the J words of A and y of the C words of B at tap t0 be not simple. If x < J and
y < C, then each simple word of A meets each simple one of B (with the tap t0), in the one segment of both: they
all belong to the same one. In it every simple word of A meets all that it meets at all: its own J-value with all
channels and taps; every simple word of B meets all features with the taps that do not miss. So an element of W that is
not touched in this segment has its feature among x, and its channel among y or its tap among the m that miss:
E <= x * (R*y + m*(C-y)). Different places have different words, so the words that are not simple are `again` at least.

*Loads of W.* Let n cuts be made, r_1 ... r_n words of A and B staying. n >= 1, since |W| > M + slack words come. The
segments before the cuts load M + slack, then r_1 + slack, ..., r_(n-1) + slack words of W or more: all loads are at
least |A| + |B| + again - (r_1 + ... + r_n) + M + n*slack + (r_1 + ... + r_(n-1)) >= |A| + |B| + again + n*slack,
as r_n <= M. With n = 1 they are at least |A| + |B| + again - r_1 + |W|, too. QED

Under `assign` output words may be created instead of loaded, once each: the same less their number.

Nothing is asked of the order of operations, and |A|, |B| may be too small. Where W is a filter that does not fit by
little, this says that nearly all of the outputs or of the inputs come twice; no segment argument alone can, as
it may split the excess evenly over time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from optmap.bounds.compulsory import compulsory_loads, created_words, tensor_words
from optmap.bounds.passing.roles import TensorRoles, every_roles
from optmap.workloads.workload import Workload

SLACKS = 16
"""Slacks that are tried."""
LARGEST = 2**12
"""Features or channels, whichever are fewer, up to which the least words of a place are sought."""
LONGEST = 2**18
"""Positions times taps squared of a window, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitsProof:
    """A proved bound with everything a certificate needs."""

    kept: str
    """W, the tensor whose loads cut the schedule."""
    sliding: str
    """B."""
    slack: int
    """Words."""
    taps: dict[str, int]
    """t0: a tap per window."""
    again_words: int
    """Words of A and B that come again."""
    loads_words: int
    """What the argument proves for loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """A statement in the words of the theorem."""

    roles: TensorRoles
    """A, B, W, J and C."""
    chosen: dict[str, int]
    """t0."""
    missing: dict[int, int]
    """Places by the number of taps that miss there."""


def visits_proofs(workload: Workload, memory_words: int, *, beat: int | None = None) -> list[VisitsProof]:
    """The best proof per choice of the three roles, the strongest first.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        beat: loads that a proof must exceed; compulsory loads if None.

    Returns:
        Proofs of more than `beat` loads; none for statements of another form or with implicit padding.
    """
    least = compulsory_loads(workload) if beat is None else beat
    words, weights = tensor_words(workload), {t.name: workload.weight(t) for t in workload.tensors}
    found = []
    for roles in every_roles(workload):
        short = words[roles.kept] - memory_words
        places = _places(roles) if short > 1 else None
        most = words[roles.still] + words[roles.sliding] + short - created_words(workload)
        if places is None or most + _most(places, weights) <= least:
            continue
        slacks = {max(1, min(short - 1, short * i // SLACKS)) for i in range(SLACKS + 1)}
        proofs = (_proof(workload, places, words, weights, short=short, slack=slack) for slack in slacks)
        found.append(max(proofs, key=lambda p: p.loads_words))
    return sorted((p for p in found if p.loads_words > least), key=lambda p: -p.loads_words)


def _proof(
    workload: Workload, places: _Places, words: dict[str, int], weights: dict[str, int], *, short: int, slack: int
) -> VisitsProof:
    roles = places.roles
    w = weights[roles.kept]
    elements = -(-(short - slack - w + 1) // w)
    pair = weights[roles.still], weights[roles.sliding]
    again = sum(times * _again(roles, missing, elements, pair) for missing, times in places.missing.items())
    return VisitsProof(
        kept=roles.kept,
        sliding=roles.sliding,
        slack=slack,
        taps=places.chosen,
        again_words=again,
        loads_words=words[roles.still] + words[roles.sliding] + again + min(short, 2 * slack) - created_words(workload),
    )


def _again(roles: TensorRoles, missing: int, elements: int, weights: tuple[int, int]) -> int:
    """Words that come again at a place where so many taps miss."""
    a, b = weights
    J, C, R = roles.features, roles.channels, roles.taps
    if elements <= 0:
        return 0
    least = min(a * J, b * C)
    if C <= J:
        for y in range(min(C, least // b + 1)):
            room = R * y + missing * (C - y)
            x = -(-elements // room) if room else J
            if x < J:
                least = min(least, a * x + b * y)
        return least
    for x in range(1, min(J, least // a + 1)):
        y = max(0, -((missing * C - (-(-elements // x))) // (R - missing)))
        if y < C:
            least = min(least, a * x + b * y)
    return least


def _most(places: _Places, weights: dict[str, int]) -> int:
    """Words that can come again at most, by this argument."""
    roles = places.roles
    each = min(weights[roles.still] * roles.features, weights[roles.sliding] * roles.channels)
    return sum(places.missing.values()) * each


def _places(roles: TensorRoles) -> _Places | None:
    """The places of a statement by what misses there; None if there is too much to count."""
    if min(roles.features, roles.channels) > LARGEST:
        return None
    chosen: dict[str, int] = {}
    meeting = Counter({1: roles.apart})
    for window in roles.windows:
        if window.positions * window.taps**2 > LONGEST:
            return None
        chosen[window.tap], met = _most_met(window.positions, window.taps, window.stride, window.dilation)
        meeting = _products(meeting, met)
    return _Places(roles=roles, chosen=chosen, missing={roles.taps - n: times for n, times in meeting.items()})


@lru_cache(maxsize=256)
def _most_met(positions: int, taps: int, stride: int, dilation: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The tap whose words meet the most others, and how many positions have how many taps there (`taps_met`)."""
    met = [taps_met(positions, taps, stride, dilation, at) for at in range(taps)]
    most = max(range(taps), key=lambda at: sum(n * times for n, times in met[at].items()))
    return most, tuple(met[most].items())


def _products(left: Counter[int], right: Iterable[tuple[int, int]]) -> Counter[int]:
    """How often the product of two numbers has which value."""
    found: Counter[int] = Counter()
    for (n, times), (more, again) in product(left.items(), right):
        found[n * more] += times * again
    return found


def taps_met(positions: int, taps: int, stride: int, dilation: int, at: int) -> Counter[int]:
    """How many positions p have how many taps t for which stride*p + dilation*at is a word of another position.

    Args:
        positions: extent of p.
        taps: extent of t.
        stride: coefficient of p, coprime to the dilation.
        dilation: coefficient of t.
        at: the tap with which a word belongs to p.
    """
    first, last = -(at // stride), (taps - 1 - at) // stride  # the j with a tap at + stride*j
    inner = range(dilation * last, positions + dilation * first)  # where all of them have a position
    rim = (*range(inner.start), *range(inner.stop, positions)) if inner else range(positions)

    def met(p: int) -> int:
        return min(last, p // dilation) - max(first, -((positions - 1 - p) // dilation)) + 1

    return Counter(met(p) for p in rim) + Counter({last - first + 1: len(inner)})
