"""What of a product must come again when the first of its rows and columns is nearly done.

The product is that of `joined.py` for one h, G[m,l] += X[m,j] * Y[j,l] with J values of j: what is proved holds for
each h, whose words are its own. Every element is one unit, M of which fit; u, v and s are loads of Y, X and G,
creations counted, as in the lemma of `groups.py`. A *pair* is an element of G: J operations, one for each j, with J
words of X of its row and J of Y of its column. It is *begun* once one of them is done, *done* once all are.

Symbols, theorem and proof: `docs/chain-floors.md`, Finishing: the first row or column that is nearly done.
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
