r"""What of a product must come again when the first of its rows and columns is nearly done.

The product is that of `joined.py` for one h, G[m,l] += X[m,j] * Y[j,l] with J values of j: what is proved holds for
each h, whose words are its own. Every element is one unit, M of which fit; u, v and s are loads of Y, X and G,
creations counted, as in the lemma of `groups.py`. A *pair* is an element of G: J operations, one for each j, with J
words of X of its row and J of Y of its column. It is *begun* once one of them is done, *done* once all are.

**Theorem.** Let c be the smaller of m and l. For a whole w, 1 <= w <= min(J, c/2), with O = ceil(w^2/2) - 1 and
J*c >= M + 3*O,
    u + v + s  >=  J*(m + l) + m*l + (w*(m + l + c) - 3*O)/2 - M.

**Charges.** An *instant* is right before an operation, its three words being there. At an instant a word is *due* if
it was used before, or is there for that operation, and will be used, that operation included. A due word is there, or
is loaded again: a load that is not its first. Words of X and Y count 1, of G 1/2.

(a) *A row with more than O operations done and more than O left has due words of X and of G that count w.* If a pair
of it is done and one not begun, its J words of X are due. If none is done and one not begun, n words of X were used,
on y pairs, and these n + y words are due, n*y > O. If none is done and all are begun, l words of G are due: l/2 >= w.
If one is done and all are begun, what is left needs n words of X on y pairs, and these are due, n*y > O. In the second
and the fourth case n + y/2 >= sqrt(2*n*y) >= sqrt(2*O + 2) >= w.

(b) *A column that is not ripe has due words of Y and of G that count w less the words of Y of it that were not used.*
If a pair of it is not begun, its J words of Y will be used. If all are begun, what is left needs n words of Y on y
pairs, n*y > O, n + y/2 >= w, and all y words of G are due. Likewise for a row that is not ripe, with X.

**Proof.** Call a row or a column *ripe* when O of its operations or fewer are left; none is at the beginning, as J*c >
2*O + 1. Let none of the columns be ripe before some row is; otherwise exchange rows and columns, which changes none of
what is asked for and proved. Let t be the first instant whose operation makes a column ripe. Let e(0) be the
beginning, when every row is *fresh*: O operations of it or fewer are done. Let e(i) be the first instant whose
operation makes a row ripe that was fresh at e(i-1); it is after e(i-1). So e(1) <= t. Let e(p) be the last one with
e(p) <= t, and f(i) the row that e(i) makes ripe. Let R(i) be the rows that are fresh at e(i-1) and not at e(i): f(i)
is one of them, as J*l > 2*O + 1, and none of them is ripe at e(i). Let them be b(i), x the sum of these over i = 1..p.
At e(i) let x_i, k_i and s_i words of X, Y and G be there, M in all at most.

By (a), w*b(i) <= x_i + s_i/2 + (X, again) + (G, again)/2, of words of rows R(i) that come again after e(i). So
    k_i  <=  M - s_i/2 - w*b(i) + (X, again) + (G, again)/2.        (1)
No row is in two R(i), so each word of X or G is counted once, at most, among those that come again in (1) for all i.

*First inequality:* u + v + s >= J*(m + l) + m*l + w*l - O + w*x - M. No column is ripe at e(p), and f(p) has used all
but O words of Y. By (b), due words of Y and G of columns count w*l - O or more: (Y, again) >= w*l - O - k_p - s_p/2 -
(G, again)/2. Before that, f(i) did J*l - 2*O operations or more from e(i-1) to e(i), J*l - O if i = 1, each with
another word of Y, of which k_(i-1) were there. So for p >= 2
    u >= (J*l - O) + sum over i = 2..p of (J*l - 2*O - k_(i-1)) + w*l - O - k_p - s_p/2 - (G, again)/2,
and with (1) for i = 1..p
    u + (v - J*m) + (s - m*l)  >=  J*l + w*l - O + w*x - M + (p - 1)*(J*l - 2*O - M) - O,
as a word of G that comes again is counted 1/2 as one of a row, and 1/2 as one of a column. The last two terms together
are 0 at least. For p = 1, u is J*l, for the first load of each word of Y, and (Y, again), which is no first load: the
same without the last two terms.

*Second inequality:* u + v + s >= J*(m + l) + m*l + w*(m - x + l) - 2*O - M. Look at t. No column is ripe, f(1) has
used all but O words of Y or is about to: due words of Y and G of columns count w*l - O. The column that t makes ripe
has used all but O words of X. Rows that are ripe at t are not fresh at e(p), or e(p+1) would be t or earlier: they are
x at most. The others have due words of X and G that count w*(m - x) - O, by (b). A word of G counts 1/2 twice at most.
M of all these are there at most, and the others are loaded again, which is no first load.

Half of the sum of both is the theorem, or more, with m + 2*l for m + l + c. QED

A whole row beside a whole column is what the fused loop over rows keeps: with J*l = 2*M, m = l and large, this is 3/2
of J*(m + l), what that loop loads, where lines (`lines.py`) give 4/3.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import isqrt

from optmap.bounds.chains.groups import StatementGroup, group_of
from optmap.bounds.chains.joined import join
from optmap.workloads.workload import Workload


def finishing(workload: Workload, memory_words: int) -> list[StatementGroup]:
    """Every two products that are one, with what comes again when the first row or column is nearly done."""
    found = []
    for first, second in combinations(workload.statements, 2):
        pair = join(workload, first, second)
        if pair is None:
            continue
        weight = min(pair.product.weight(access) for access in pair.product.tensors) * pair.unit
        sizes, room = pair.product.extents, memory_words // weight
        charge = largest_charge(sizes, room)
        if charge < 1:
            continue
        least = sizes["h"] * least_loads(sizes, room, charge)
        group = group_of(
            workload,
            "finishing",
            [first, second],
            loads_words=weight * (least - pair.free_elements),
            proof={"charge": charge},
            expression=f"{first.name} and {second.name} as one product, the first row or column of which is nearly "
            "done, proof: optmap/bounds/chains/finishing.py",
            less=pair.less,
        )
        found.append(group)
    return found


def largest_charge(sizes: Mapping[str, int], room: int) -> int:
    """The w that proves most; 0 if none proves anything.

    Args:
        sizes: extents of h, m, l and j.
        room: elements that fit.
    """
    few, many = sorted((sizes["m"], sizes["l"]))
    spare = sizes["j"] * few - room
    if spare < 0:
        return 0
    best = (2 * few + many) // 3  # beyond it 3*O grows faster
    return min(sizes["j"], few // 2, best, isqrt(2 * (spare // 3 + 1)))


def left_when_ripe(charge: int) -> int:
    """O of a w: operations that may be left."""
    return (charge * charge + 1) // 2 - 1


def least_loads(sizes: Mapping[str, int], room: int, charge: int) -> int:
    """Loads and creations for one h, at least.

    Args:
        sizes: extents of h, m, l and j.
        room: elements that fit.
        charge: w.
    """
    few, many = sorted((sizes["m"], sizes["l"]))
    twice = charge * (2 * few + many) - 3 * left_when_ripe(charge)
    return sizes["j"] * (few + many) + few * many - (-twice // 2) - room
