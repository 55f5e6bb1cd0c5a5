"""Exact least loads of tiny chains: shortest paths over what is done and what the fast memory holds; counted orders.

Stores are free here, so that what is least is a floor of the loads alone. Nothing is shared with what it is to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
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


def bits_of(words: int) -> list[int]:
    """The numbers of a set."""
    return [place for place in range(words.bit_length()) if words >> place & 1]


def least_loads(workload: Workload, memory: int, largest: int = LARGEST) -> int | None:
    """The least loads of any schedule; None if there is none or too much to look at."""
    board = game(workload)
    every = (1 << len(board.touched)) - 1
    of_word = [sum(1 << o for o, bits in enumerate(board.touched) if bits >> w & 1) for w in range(len(board.words))]
    of_size = [(n, sum(1 << w for w, m in enumerate(board.sizes) if m == n)) for n in sorted({*board.sizes})]

    def size(words: int) -> int:
        return sum(n * (words & those).bit_count() for n, those in of_size)

    if max(map(size, board.touched)) > memory:
        return None

    @cache
    def needed(done: int) -> tuple[int, int]:
        """Words that have uses left, and those of them that are created at the next."""
        left = sum(1 << w for w, uses in enumerate(of_word) if uses & ~done)
        return left, left & board.empty & ~sum(1 << w for w, uses in enumerate(of_word) if uses & done)

    @cache
    def open_to(done: int) -> tuple[tuple[int, int], ...]:
        """Every operation that may be done next, and its words."""
        every = zip(board.touched, board.after, strict=True)
        return tuple(
            (1 << o, bits) for o, (bits, first) in enumerate(every) if not done >> o & 1 and first & done == first
        )

    def settled(done: int, fast: int) -> tuple[int, int]:
        """All that can be done without making room, and nothing of no more use."""
        before = -1
        while before != done:
            before = done
            done |= sum(operation for operation, bits in open_to(done) if bits & fast == bits)
        return done, fast & needed(done)[0]

    def short(done: int, fast: int) -> int:
        """Loads that must still come: words that are no creations, and are needed and not there."""
        left, created = needed(done)
        return size(left & ~fast & ~created)

    def rooms(fast: int, coming: int) -> list[int]:
        """What may stay when so many words are to come: as much as possible."""
        found, left, seen = [], [fast], {fast}
        while left:
            here = left.pop()
            if size(here) + coming <= memory:
                found.append(here)
                continue
            for w in bits_of(here):
                less = here & ~(1 << w)
                if less not in seen:
                    seen.add(less)
                    left.append(less)
        return found

    start = settled(0, 0)
    heap, best, looked = [(short(*start), 0, start)], {start: 0}, 0  # least loads first, of equals the most done
    while heap:
        _, less, state = heappop(heap)
        cost = -less
        if best[state] < cost:
            continue
        done, fast = state
        if done == every:
            return cost
        looked += 1
        if looked > largest:
            return None
        wanted, creations = needed(done)
        for w in bits_of(wanted & ~fast):
            created = bool(creations >> w & 1)
            for kept in rooms(fast, board.sizes[w]):
                if created and not any(bits & ~kept == 1 << w for _, bits in open_to(done)):
                    continue  # a word is created by the operation that touches it first, which is done at once
                after = settled(done, kept | 1 << w)
                price = cost + (0 if created else board.sizes[w])
                if price < best.get(after, price + 1):
                    best[after] = price
                    heappush(heap, (price + short(*after), -price, after))
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
    touched = [bits_of(board.touched[o]) for o in order]
    following, last = list[list[int]](), [len(order)] * len(board.words)
    for time in range(len(order) - 1, -1, -1):
        following.append([last[w] for w in touched[time]])
        for w in touched[time]:
            last[w] = time
    comings, fast = [0] * len(board.words), dict[int, int]()  # per word that is there its next use
    for words, uses in zip(touched, reversed(following), strict=True):
        for w, use in zip(words, uses, strict=True):
            if w not in fast:
                comings[w] += 1
            fast[w] = use
        fast = {w: use for w, use in fast.items() if use < len(order) or w in words}
        later = {w: use for w, use in fast.items() if w not in words}
        while len(fast) > memory:
            furthest = max(sorted(later), key=later.__getitem__)
            del fast[furthest], later[furthest]
    return comings
