r"""How often words come when another tensor fits only in parts: passes over the other two.

A, B and W with their places, J, C and R are those of `roles`; words of A, B and W weigh a, b, w. At a place every one
of the J words of A (*rows*) meets every one of D = C*R words of B (*columns*), each pair with an element of W of its
own; W has J*D elements. A word of B is a column of at most n places: n is the product over the windows
s*p + d*t (s and d coprime) of min(ceil(extent(p)/d), ceil(extent(t)/s)).

**Theorem.** Under `accumulate`, with M < |W| words of fast memory and 1 <= slack < |W| - M, every schedule loads
    touched + min(max(k*slack, |W| - k*M), (k+1)*slack) words at least, k = max(1, ceil(|W| / (M+slack+w-1)) - 1),
    touched = (sum over places of the larger of `least` + e and `crossed`) / n.
A word of B is worth n*b, in even shares for the places of which it is a column, so that no share is less than b. The
columns of a place are worth b*D + e: e is 0 but where words have fewer places, as on the rim of an image. (Where it
would be long to count, all e are 0, and n*|B| - places*b*D, what is left over, is added once.)
`least` is the largest of three numbers. Let m = floor((M+slack+w-1) / w) elements, f = floor(J*D / m) *full*
segments, S = n*a*J, T = b*D, and for U > 0
    phi(z, U) = 2*sqrt(n*a*b*z) if n*a*b*z <= U^2, else U + n*a*b*z/U,
the least n*a*x + b*y with x*y >= z and n*a*x <= U (or b*y <= U, instead), and
    even(S, T) = f * phi(m, min(S, T)) + phi(J*D - f*m, min(S, T)), n*a*b being what S and T make it.
The three are
    the least of even(S, T) + T + S*m/(J*D) - phi(m, min(S, T)) and, for any 0 <= v < 1, 2*v*S + even((1-v)*S, T),
        or the same with S and T exchanged,
    T + min over h = 0 ... f of h*S + phi(J*D - h*m, T); or T + (f+1)*S,
    S + min over h = 0 ... f of h*T + phi(J*D - h*m, S); or S + (f+1)*T, the latter ones if less.
`crossed`, which knows that rows and columns must both be crossed, is the least of
    2*S + 2*(T+e);    S + T+e + even(S, T) - phi(m, min(S, T));
    S + T+e + again(S);    T+e + min over h = 2 ... f of h*S + phi(J*D - h*m, T);    T+e + (f+1)*S;
    S + T+2*e + again(T);    S + min over h = 2 ... f of h*(T+e) + phi(J*D - h*m, S);    S + (f+1)*(T+e),
again(u) being the least v + n*a*b*(J*D - m)/v over v >= u.

**Proof.** Cut the schedule by loads of W: with r words of A and B in the memory at the last cut (r = 0 and no word of
W at the beginning), cut again right after the load with which r + slack words of W or more have come (M + slack in the
first segment). What a segment touches of W was there, at most M - r words, or came: at most M + slack + w - 1 words in
all, m elements. A word of A or B that is touched in i segments is loaded i times but for the cuts over which it stays.
So all loads are at least (words of A and B, each as often as there are segments that touch it) - (sum over the
cuts of r) + (loads of W). The first is `touched` at least, as is shown below.

*Loads of W.* Let i cuts be made. i >= 1, as |W| > M + slack words come; and i + 1 segments load M + slack + w - 1 words
of W at most, each, so that i >= k. The segments before the cuts load M + slack, r_1 + slack, ..., r_(i-1) + slack words
of W or more: all loads are at least touched + M + i*slack - r_i >= touched + i*slack, as r_i <= M. They are at least
touched + |W| - i*M, too. With i = k this is the first of the two above, with more the second.

*Touched.* At one place let x_i rows and y_i columns be touched in segment i. Each pair is done in one segment
that touches both, and its element of W: segment i does at most min(m, x_i*y_i) of the J*D pairs. Let the place pay
n*a for every x_i, and for every touch of a column its share. All places together pay n*a for a touch of a word of A,
and at most n*b for a touch of a word of B: n*touched or less. Every column is touched and no share is less than b, so a
place pays e more, at least, than if every touch of a column cost b. With that price it pays `least` or more:

*1.* phi(z, min(S, T)) is what z pairs of one segment cost at least: without bounds the least n*a*x + b*y is at
n*a*x = b*y = sqrt(n*a*b*z); if that is above U = min(S, T), then the factor of which U is all is full, as the
sum rises from there. phi is concave in z with phi(0) = 0: a root, and beyond U^2 its tangent there. So the sum of
phi over shares of at most m that add up to J*D is least if all of them but one are 0 or m: even(S, T). If a segment
touches all columns, it pays T + S*o/(J*D) at least for its o pairs, and more than phi(o, min(S, T)) by what falls
with o (it is (sqrt(T) - sqrt(S*o/(J*D)))^2 below min(S, T)^2, and beyond a line that ends at 0 or is 0), so by
T + S*m/(J*D) - phi(m, min(S, T)) or more. If none does, every row is touched twice at least, to meet all columns:
for a share v of their price rows pay 2*v*S, and with the rest the place pays as if S were (1-v)*S.

*2.* Let h segments touch all rows (x_i = J). A column that is touched in one of the others, has there a row that is
not touched, and meets it in another segment: it is touched twice at least. With Y such columns the y_i add up to D + Y
or more. The other segments have x_i that add up to X, and do at most the sum of x_i*y_i <= X*Y pairs; the h do h*m
at most: X*Y >= J*D - h*m, and Y <= D. The place pays h*S + T + n*a*X + b*Y >= h*S + T + phi(J*D - h*m, T), if
h <= f, and h*S + T otherwise. *3* is the same with rows and columns exchanged.

*Crossed.* If a segment touches all rows and all columns, it pays S + T+e; for the pairs that it leaves, J*D - m or
more, the others pay even(S, T) - phi(m, min(S, T)) or more, as in 1. Let no segment do so. Then a segment with all
rows lacks a column, which every row meets in another segment: all rows are touched twice; and so they are if no
segment has all columns, as in 1. The same of columns. So if there are segments of both kinds, or of neither, the
place pays 2*S + 2*(T+e). If h >= 1 segments have all rows and none all columns, the place pays
h*S + T+e + n*a*X + b*Y as in 2, and, for h = 1, X >= J, since every row is touched in one of the others: again(S), v
being n*a*X. If h >= 1 segments have all columns and none all rows, they pay h*(T+e), and with 3 the place pays
h*(T+e) + S + n*a*X + (what the others' columns pay), X rows being touched in the others. With h = 1 every column is
touched in one of the others, e more than b for each touch in all: e + again(T), v being b times these touches. QED

Under `assign` output words may be created instead of loaded, once each: the same less their number.

For a matrix product that W is far too large for, the first is 2*J*D/sqrt(m) per place, the constant of
Smith et al. 2019; if W is a few times the memory, whole numbers of passes count, and the others see that
passes cannot all be square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from optmap.bounds.compulsory import compulsory_loads, created_words, tensor_words
from optmap.bounds.passing.places import PARTS, Rim, least_of_places, rim_of_places, shared_columns
from optmap.bounds.passing.roles import TensorRoles, every_roles
from optmap.workloads.workload import Workload

SLACKS = 32
"""Slacks that are tried, besides those with which a whole number of segments just holds the kept tensor."""
WHOLE = 9
"""Such numbers of segments, below this."""
NEAR = 8
"""Slacks that are tried on each side of the best."""
MOST = 2**16
"""Memories that the kept tensor fills, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassesProof:
    """A proved bound with everything a certificate needs."""

    kept: str
    """W, the tensor whose loads cut the schedule."""
    sliding: str
    """B."""
    slack: int
    """Words."""
    touched_words: int
    """Words of A and B, each as often as segments touch it."""
    loads_words: int
    """What the argument proves for loads."""


def passes_proofs(workload: Workload, memory_words: int, *, beat: int | None = None) -> list[PassesProof]:
    """The best proof per choice of the three roles, the strongest first, of choices that no choice before them beats.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        beat: loads that a proof must exceed; compulsory loads if None.

    Returns:
        Proofs of more than `beat` loads; none for statements of another form or with implicit padding.
    """
    least = compulsory_loads(workload) if beat is None else beat
    words = tensor_words(workload)
    found: list[PassesProof] = []
    for roles in every_roles(workload):
        passes = _passes(workload, roles, words, memory_words)
        if passes.short > 1 and passes.kept <= MOST * memory_words:
            best = passes.best(least)
            if best.loads_words > least:
                found.append(passes.proof(best.slack, range(PARTS)))
                least = max(least, found[-1].loads_words - 1)  # what is weaker is not sought
    return sorted(found, key=lambda p: -p.loads_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passes:
    """What the theorem needs of a statement and a memory."""

    roles: TensorRoles
    """Which tensor is which."""
    memory: int
    """M."""
    kept: int
    """|W|, in words."""
    rim: Rim
    """e -> places."""
    created: int
    """Words that may be created instead of loaded."""
    once: int
    """What words of B are worth beyond what is counted at places."""
    unit: int
    """w."""
    shared: int
    """n."""
    pair: int
    """n*a*b."""
    rows: int
    """S."""
    columns: int
    """T."""

    @property
    def short(self) -> int:
        """Words of W that do not fit."""
        return self.kept - self.memory

    def best(self, least: int) -> PassesProof:
        """The strongest of some slacks and of some around it, unless none of these proves more than `least` loads."""
        even = {1 + self.short * i // SLACKS for i in range(SLACKS)}
        whole = {self.unit * (self.kept // self.unit // n) - self.memory for n in range(2, WHOLE)}
        best = self._strongest(self._inside(even | whole), least)
        step = self.short // SLACKS
        near = {best.slack + step * i // NEAR for i in range(-NEAR, NEAR + 1)}
        return self._strongest(self._inside(near), least)

    def _inside(self, slacks: set[int]) -> list[int]:
        return sorted(slack for slack in slacks if 1 <= slack < self.short)

    def _strongest(self, slacks: Sequence[int], least: int) -> PassesProof:
        """The first of the strongest of increasing slacks, the least one if none proves more than `least` loads.

        Longer segments touch no more words, so that few are looked at.
        """
        best, loaded = self.proof(slacks[0]), [self.loaded(slack) for slack in slacks]
        if best.touched_words + max(loaded) - self.created <= least:
            return best
        left = [(1, len(slacks), best.touched_words)]
        while left:
            low, high, touched = left.pop()
            if low == high or touched + max(loaded[low:high]) - self.created < best.loads_words:
                continue
            middle = (low + high) // 2
            found = self.proof(slacks[middle])
            best = max(best, found, key=lambda p: (p.loads_words, -p.slack))
            left += [(middle + 1, high, found.touched_words), (low, middle, touched)]
        return best

    def loaded(self, slack: int) -> int:
        """Loads of the kept tensor with a slack, less what stays of the others."""
        cuts = max(1, -(-self.kept // self.segment(slack)) - 1)
        return min(max(cuts * slack, self.kept - cuts * self.memory), (cuts + 1) * slack)

    def segment(self, slack: int) -> int:
        """Words of the kept tensor that a segment touches, at most."""
        return self.memory + slack + self.unit - 1

    def proof(self, slack: int, parts: Sequence[int] = ()) -> PassesProof:
        """What one slack proves, with some parts of prices besides those that look best."""
        segment = self.pair * (self.segment(slack) // self.unit)
        least = least_of_places(self.rim, self.rows, self.columns, segment, parts)
        touched = -(-(least + self.once) // self.shared)
        return PassesProof(
            kept=self.roles.kept,
            sliding=self.roles.sliding,
            slack=slack,
            touched_words=touched,
            loads_words=touched + self.loaded(slack) - self.created,
        )


def _passes(workload: Workload, roles: TensorRoles, words: Mapping[str, int], memory: int) -> _Passes:
    weights = {t.name: workload.weight(t) for t in workload.tensors}
    a, b, w = (weights[name] for name in (roles.still, roles.sliding, roles.kept))
    n = prod(shared_columns(v.positions, v.taps, v.stride, v.dilation) for v in roles.windows)
    columns = b * roles.channels * roles.taps
    rim = rim_of_places(roles, b * roles.channels)
    return _Passes(
        roles=roles,
        memory=memory,
        kept=w * roles.features * roles.channels * roles.taps,
        rim=rim,
        created=created_words(workload),
        once=max(0, n * words[roles.sliding] - int(sum((columns + e) * times for e, times in rim.items()))),
        unit=w,
        shared=n,
        pair=n * a * b,
        rows=n * a * roles.features,
        columns=columns,
    )
