"""Floors of chains against counted orders of operations: python tests/benchmarks/chain_orders_attack.py 20000 7.

Arguments: orders, seed. An order is one of all operations of a small chain, mostly local; in a memory of so many words
the word is dropped whose next use is farthest, so that no schedule in that order loads less. Every floor on loads, in
several memories, is an inequality: prints those that do not hold as they are found, and per method how many were
tried and how near the nearest came. How far it is goes to stderr. Exit code 1 if one does not hold.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from optmap.base.errors import InputError
from optmap.bounds import bounds
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
pebbles = import_module("chain_pebbles")
CHAINS = import_module("chain_floor_attack").CHAINS
LARGEST = 400
"""Operations of a chain."""
OF_EACH = 50
"""Orders of one chain."""


def random_chain(rng: random.Random) -> Workload:
    """A small chain."""
    while True:
        text = rng.choice(CHAINS)
        dims = sorted({c for part in text.split("[")[1:] for c in part.split("]")[0] if c.isalpha()})
        extents = {d: rng.choice((1, 2, 3, 4, 6, 9)) for d in dims}
        try:
            workload = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
        except InputError:
            continue
        if workload.operations <= LARGEST:
            return workload


def loads(board: pebbles.Game, comings: list[int]) -> int:
    """Words that come and are not created by coming."""
    return sum(
        size * (times - (board.empty >> word & 1))
        for word, (times, size) in enumerate(zip(comings, board.sizes, strict=True))
    )


def inequalities(workload: Workload, rng: random.Random) -> Iterator[tuple[str, int, int, int]]:
    """Method, memory, floor and counted loads, for some orders of a chain in some memories."""
    board = pebbles.game(workload)
    least = max(bits.bit_count() for bits in board.touched)
    words = len(board.words)
    memories = sorted({rng.randint(least, max(least, words // share)) for share in (1, 2, 4, 8)})
    floors = {room: bounds(workload, room) for room in memories}
    for _ in range(OF_EACH):
        order = pebbles.local_order(board, rng)
        for room, found in floors.items():
            counted = loads(board, pebbles.counted_comings(board, order, room))
            for bound in found:
                yield bound.method, room, bound.loads_words, counted


def main(orders: int, seed: int) -> int:
    """Count so many orders; 1 if a floor is too high."""
    rng, wrong, done = random.Random(seed), 0, 0
    tried, nearest = Counter[str](), dict[str, float]()
    while done < orders:
        workload = random_chain(rng)
        for method, room, floor, counted in inequalities(workload, rng):
            tried[method] += 1
            if floor:
                nearest[method] = min(counted / floor, nearest.get(method, counted / floor))
            if floor > counted:
                wrong += 1
                sys.stdout.write(f"{method} {floor} above {counted}: {workload.texts} {workload.extents} in {room}\n")
        done += OF_EACH
        if done % (100 * OF_EACH) == 0:
            sys.stderr.write(f"{done} orders\n")
    for method, times in tried.items():
        sys.stdout.write(f"{method}: {times} tried, nearest {nearest.get(method, float('inf')):.4f}\n")
    sys.stdout.write(f"{sum(tried.values())} inequalities, {wrong} do not hold\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
