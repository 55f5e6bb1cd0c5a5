"""Floors of chains against exact optima and random mappings: python tests/benchmarks/chain_floor_attack.py 300 2000 7.

Arguments: games, trees, seed. A game is a tiny chain (products around one tensor, branches, conditions, windows,
functions in place, element sizes) of which the least loads of all schedules are found exactly; a tree is a random
valid mapping tree, counted by its walk in a memory of all that it holds. No floor may be above either. Prints each that
is as it is found, and how near the best came; how far it is goes to stderr. Exit code 1 if there is one.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path

from optmap.base.errors import InputError
from optmap.bounds import bounds
from optmap.count.trees import walk_tree
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

sys.path[:0] = [str(Path(__file__).parent.parent)]
least_loads = import_module("chain_pebbles").least_loads
random_tree = import_module("random_trees").random_tree

CHAINS = (
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]",
    "S[m,l] = 2*A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m",
    "S[m,l] = A[m,k]*B[k,l] if l <= m; P[m,l] = softmax(S[m,l], l) if l <= m; C[m,n] = P[m,l]*D[l,n] if l <= m",
    "S[m,l] = A[m,k]*B[k,l] if l < m + 1 and m <= l + 1; C[m,n] = S[m,l]*D[l,n] if l < m + 1 and m <= l + 1",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], m, whole); C[m,n] = P[m,l]*D[l,n]",
    "G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]",
    "G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]; A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*D[f,n]",
    "T[m,c] = X[m,d]*W[d,c]; Q[m,e] = T[m,c]*A[c,e]; K[m,f] = T[m,c]*B[c,f]",
    "T[m,c] = X[m,d]*W[d,c]; P[m,c] = relu(T[m,c]); Q[m,e] = P[m,c]*A[c,e]",
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; C[h,m,n] = S[h,m,l]*D[h,l,n]",
    "S[x] = I[x+r]*F[r]; C[k,x] = S[x]*G[k]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; E[m,p] = C[m,n]*F[n,p]",
    "S[m,l] = A[m]*B[l]; C[m,n] = S[m,l]*D[l,n]; Y[m,n] = C[m,n] + X[m,n]",
)
"""Statements of games."""
LARGEST = 60_000
"""States of a game before it is given up."""


def random_game(rng: random.Random) -> tuple[Workload, int]:
    """A tiny chain and a memory."""
    while True:
        text = rng.choice(CHAINS)
        dims = sorted({c for part in text.split("[")[1:] for c in part.split("]")[0] if c.isalpha()})
        extents = {d: rng.choice((1, 1, 2, 2, 3)) for d in dims}
        tensors = sorted({part[-1] for part in text.split("[")[:-1]})
        sizes = {t: rng.choice((1, 2)) for t in tensors} if rng.random() < 0.2 else 4
        try:
            workload = parse_workload(text, extents, bytes=sizes, semantics=rng.choice(list(Semantics)))
        except InputError:  # functions in place between tensors of two sizes are none
            continue
        if workload.operations <= 20:
            return workload, rng.randint(3, 7)


def play(rng: random.Random) -> tuple[float, list[str]] | None:
    """How near the strongest floor of a game came, and the floors above its optimum; None if it was given up."""
    workload, memory = random_game(rng)
    least = least_loads(workload, memory, LARGEST)
    if least is None:
        return None
    found = {bound.method: bound.loads_words for bound in bounds(workload, memory)}
    return max(found.values()) / max(least, 1), [
        f"{name} {words} above {least}: {workload.texts} {workload.extents} {workload.semantics} in {memory}"
        for name, words in found.items()
        if words > least
    ]


def climb(rng: random.Random) -> list[str] | None:
    """Floors above what a random mapping moves; None if the mapping is invalid."""
    tree = random_tree(rng)
    workload = tree.workload
    try:
        count = walk_tree(tree)
    except InputError:
        return None
    held = sum(room.occupancy_words for room in count.rooms)
    across = [row for row in count.moved if row.between[1] == tree.machine.memory]
    loads, stores = sum(row.loads_words for row in across), sum(row.stores_words for row in across)
    return [
        f"{bound.method} {bound.loads_words}+{bound.stores_words} above {loads}+{stores}: {tree} in {held}"
        for bound in (bounds(workload, held) if len(workload.statements) > 1 else ())
        if bound.loads_words > loads or bound.total_words > loads + stores
    ]


def _say(lines: list[str], done: int, every: int, what: str) -> int:
    """Write what was found and, now and then, how many are done; the number of lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
    if done % every == 0:
        sys.stderr.write(f"{done} {what}\n")
    return len(lines)


def main(games: int, trees: int, seed: int) -> int:
    """Play and climb; 1 if a floor is too high."""
    rng, wrong = random.Random(seed), 0
    ratios: list[float] = []
    while len(ratios) < games:
        played = play(rng)
        if played is not None:
            ratios.append(played[0])
            wrong += _say(played[1], len(ratios), 10, "games")
    counted = 0
    while counted < trees:
        climbed = climb(rng)
        if climbed is not None:
            counted += 1
            wrong += _say(climbed, counted, 1000, "trees")
    met = sum(ratio == 1 for ratio in ratios)
    mean = sum(ratios) / max(len(ratios), 1)
    sys.stdout.write(f"{len(ratios)} optima, {met} met, mean floor over optimum {mean:.3f}; {counted} trees; ")
    sys.stdout.write(f"{wrong} floors too high\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
