"""Exact least loads of tiny chains: shortest paths over what is done and what the fast memory holds; counted orders.

Stores are free here, so that what is least is a floor of the loads alone. Nothing is shared with what it is to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product
from random import Random

from optmap.workloads.workload import Workload

LARGEST = 400_000
"""States that are looked at before a chain is given up."""
Word = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Game:
    """Operations and words by number; sets are bits."""

    words: tuple[Word, ...]
    touched: tuple[int, ...]
    """Per operation its words."""
    after: tuple[int, ...]
    """Per operation those that come before it."""
    empty: int
    """Words that are created at their first touch."""
    sizes: tuple[int, ...]
    """Per word how many words of memory it is."""


def game(workload: Workload) -> Game:
    """The operations of a chain, in-place functions on the words that they change; whole rows come before their use."""
    held, roles = workload.stored_as, workload.roles
    numbers: dict[Word, int] = {}
    touched, after, writers = [], [], {}
    empty = 0
    for statement in workload.statements:
        dims, row = statement.dims, statement.row
        for point in product(*(range(workload.extents[d]) for d in dims)):
            at = dict(zip(dims, point, strict=True))
            if not all(_holds(condition, at) for condition in statement.domain):
                continue
            names = []
            for access in statement.accesses:
                index = tuple(axis.offset + sum(c * at[d] for d, c in axis.terms) for axis in access.axes)
                names.append((access.name, index))
            before = 0
            for name in names[1:]:
                before |= writers.get(name, 0)
                if row is not None and row.statistic.value == "whole":
                    axis = next(x for x, a in enumerate(statement.inputs[0].axes) if a.dims == (row.dim,))
                    rest = name[1][:axis] + name[1][axis + 1 :]
                    for other, done in writers.items():
                        if other[0] == name[0] and other[1][:axis] + other[1][axis + 1 :] == rest:
                            before |= done
            bits = 0
            for tensor, index in names:
                word = (held[tensor], index)
                bits |= 1 << numbers.setdefault(word, len(numbers))
                made = tensor in {each.name for each in workload.statements}
                if made and (roles[tensor].value == "intermediate" or workload.semantics.value == "assign"):
                    empty |= 1 << numbers[word]
            writers[names[0]] = writers.get(names[0], 0) | 1 << len(touched)
            touched.append(bits)
            after.append(before)
    weights = {held[access.name]: workload.weight(access) for access in workload.accesses}
    words = tuple(numbers)
    return Game(words, tuple(touched), tuple(after), empty, tuple(weights[tensor] for tensor, _ in words))


def _holds(condition, at) -> bool:
    left, right = (side.offset + sum(c * at[d] for d, c in side.terms) for side in (condition.left, condition.right))
    return {"<=": left <= right, "<": left < right, ">=": left >= right, ">": left > right, "==": left == right}[
        condition.relation.value
    ]


def least_loads(workload: Workload, memory: int, largest: int = LARGEST) -> int | None:
    """The least loads of any schedule; None if there is none or too much to look at."""
    board = game(workload)
    every = (1 << len(board.touched)) - 1
    of_word = [sum(1 << o for o, bits in enumerate(board.touched) if bits >> w & 1) for w in range(len(board.words))]

    def size(words: int) -> int:
        return sum(n for w, n in enumerate(board.sizes) if words >> w & 1)

    if max(map(size, board.touched)) > memory:
        return None

    def begun(word: int, done: int) -> bool:
        return bool(of_word[word] & done)

    def settled(done: int, fast: int) -> tuple[int, int]:
        """All that can be done without making room, and nothing of no more use."""
        changed = True
        while changed:
            changed = False
            for o, bits in enumerate(board.touched):
                if not done >> o & 1 and bits & fast == bits and board.after[o] & done == board.after[o]:
                    done |= 1 << o
                    changed = True
        for w, uses in enumerate(of_word):
            if fast >> w & 1 and uses & done == uses:
                fast ^= 1 << w
        return done, fast

    def short(done: int, fast: int) -> int:
        """Loads that must still come: words that are no creations, and are needed and not there."""
        return sum(
            board.sizes[w]
            for w, uses in enumerate(of_word)
            if not fast >> w & 1 and uses & ~done and not (board.empty >> w & 1 and not begun(w, done))
        )

    def rooms(fast: int, needed: int) -> list[int]:
        """What may stay when so many words are to come: as much as possible."""
        found, left, seen = [], [fast], {fast}
        while left:
            here = left.pop()
            if size(here) + needed <= memory:
                found.append(here)
                continue
            for w in range(len(board.words)):
                less = here & ~(1 << w)
                if less != here and less not in seen:
                    seen.add(less)
                    left.append(less)
        return found

    start = settled(0, 0)
    heap, best, looked = [(short(*start), 0, start)], {start: 0}, 0
    while heap:
        _, cost, state = heappop(heap)
        if best[state] < cost:
            continue
        done, fast = state
        if done == every:
            return cost
        looked += 1
        if looked > largest:
            return None
        for w, uses in enumerate(of_word):
            if fast >> w & 1 or not uses & ~done:
                continue
            created = bool(board.empty >> w & 1) and not begun(w, done)
            if created and not any(
                bits >> w & 1 and bits & ~fast == 1 << w and board.after[o] & done == board.after[o]
                for o, bits in enumerate(board.touched)
            ):
                continue
            for kept in rooms(fast, board.sizes[w]):
                if created and not any(
                    bits >> w & 1 and bits & ~kept == 1 << w and board.after[o] & done == board.after[o]
                    for o, bits in enumerate(board.touched)
                ):
                    continue
                after = settled(done, kept | 1 << w)
                price = cost + (0 if created else board.sizes[w])
                if price < best.get(after, price + 1):
                    best[after] = price
                    heappush(heap, (price + short(*after), price, after))
    return None


def local_order(board: Game, draw: Random) -> list[int]:
    """Operations in an order that may be, mostly one after another that touches the same words."""
    done, last, order = 0, 0, list[int]()
    left, rank, near = set(range(len(board.touched))), [draw.random() for _ in board.touched], draw.random() < 0.7
    while left:
        ready = [o for o in left if board.after[o] & done == board.after[o]]
        if near:
            shared = {o: (board.touched[o] & last).bit_count() for o in ready}
            most = max(shared.values()) - (draw.random() < 0.2)
            ready = [o for o in ready if shared[o] >= most]
        chosen = min(ready, key=rank.__getitem__)
        last = board.touched[chosen] if draw.random() < 0.8 else last | board.touched[chosen]
        order.append(chosen)
        left.discard(chosen)
        done |= 1 << chosen
    return order


def counted_comings(board: Game, order: list[int], memory: int) -> list[int]:
    """How often each word comes to a memory of so many words, creations counted; the farthest next use is dropped."""
    uses: list[list[int]] = [[] for _ in board.words]
    for time, o in enumerate(order):
        for w in range(len(board.words)):
            if board.touched[o] >> w & 1:
                uses[w].append(time)
    comings, fast = [0] * len(board.words), set[int]()
    for time, o in enumerate(order):
        needed = {w for w in range(len(board.words)) if board.touched[o] >> w & 1}
        for w in needed - fast:
            comings[w] += 1
        fast = {w for w in fast | needed if w in needed or uses[w][-1] > time}
        later = {w: next((t for t in uses[w] if t > time), len(order)) for w in fast - needed}
        while len(fast) > memory:
            furthest = max(sorted(later), key=later.__getitem__)
            fast.discard(furthest)
            del later[furthest]
    return comings
