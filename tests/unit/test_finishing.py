"""What must come again when the first row or column is nearly done: against counted orders, one of them made to
get by with little; its certificate is refused when it says more."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import product
from math import inf
from typing import Any

import pytest
from cases import cases

from optmap.bounds import bounds
from optmap.bounds.chains.finishing import largest_charge, least_loads, left_when_ripe
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
Point = tuple[int, int, int]
"""Values of m, l and j."""


def attention(tokens: int, head: int, **more: Any) -> Workload:
    extents = {"m": tokens, "l": tokens, "k": head, "n": head}
    return parse_workload(PAIR, extents, semantics=Semantics.ASSIGN, **more)


def comings(order: list[Point], room: int) -> int:
    """Loads and creations of a product whose operations come in an order, the farthest next use being dropped."""
    words = [(("G", m, n), ("X", m, j), ("Y", n, j)) for m, n, j in order]
    following: dict[tuple[str, int, int], float] = {}
    later: list[tuple[float, ...]] = [()] * len(order)
    for now in range(len(order) - 1, -1, -1):
        later[now] = tuple(following.get(word, inf) for word in words[now])
        following.update((word, now) for word in words[now])
    held: dict[tuple[str, int, int], float] = {}
    farthest: list[tuple[float, tuple[str, int, int]]] = []
    count = 0
    for touched, uses in zip(words, later, strict=True):
        count += sum(word not in held for word in touched)
        for word in touched:
            held.pop(word, None)
        while len(held) + 3 > room:
            use, word = heappop(farthest)
            if held.get(word) == -use:
                del held[word]
        for word, use in zip(touched, uses, strict=True):
            if use < inf:
                held[word] = use
                heappush(farthest, (-use, word))
    return count


def tiled(sizes: dict[str, int], draw: random.Random) -> list[Point]:
    """All operations tile by tile, every other time back again."""
    order = draw.sample("mlj", 3)
    steps = {d: draw.choice((1, 1, sizes[d], draw.randint(1, sizes[d]))) for d in order}
    snakes = draw.random() < 0.5

    def key(point: Point) -> list[int]:
        at, turns, found = dict(zip("mlj", point, strict=True)), 0, []
        for d in order:
            tile = at[d] // steps[d]
            found.append((sizes[d] - 1) // steps[d] - tile if snakes and turns % 2 else tile)
            turns += tile
        return found + [at[d] for d in order]

    points = list(product(*(range(sizes[d]) for d in "mlj")))
    return sorted(points, key=key)


def games(draw: random.Random, number: int) -> Iterator[tuple[dict[str, int], int]]:
    """Sizes and memories for which the theorem proves more than that everything comes once."""
    while number:
        sizes = {"h": 1, "m": draw.randint(2, 9), "l": draw.randint(2, 9), "j": draw.randint(1, 6)}
        room = draw.randint(3, max(3, sizes["j"] * min(sizes["m"], sizes["l"])))
        charge = largest_charge(sizes, room)
        once = sizes["j"] * (sizes["m"] + sizes["l"]) + sizes["m"] * sizes["l"]
        if charge and least_loads(sizes, room, charge) > once:
            number -= 1
            yield sizes, room


def test_no_counted_order_comes_with_less() -> None:
    draw, least = random.Random(5), 9.0
    for sizes, room in games(draw, cases(60, 1500)):
        count = min(comings(tiled(sizes, draw), room) for _ in range(6))
        for charge in range(1, largest_charge(sizes, room) + 1):
            proved = least_loads(sizes, room, charge)
            assert count >= proved, (sizes, room, charge)
            least = min(least, count / proved)
    assert least < 1.1  # near enough to see a bound that is much too high


def loops(rows: int, columns: int, depth: int, strip: int) -> list[Point]:
    """The fused loop over strips of rows, columns back again in every other one, each pair done at once."""
    found: list[Point] = []
    for number, first in enumerate(range(0, rows, strip)):
        turned = range(columns)[:: -1 if number % 2 else 1]
        strips = range(first, min(first + strip, rows))
        found += [(m, n, j) for n in turned for m in strips for j in range(depth)]
    return found


def test_the_loop_over_rows_is_nearly_as_good_as_any() -> None:
    """Two strips: three halves of what is loaded once, up to terms that vanish as rows and columns become more."""
    sizes = {"h": 1, "m": 64, "l": 64, "j": 4}
    room = 32 * 4 + 4 + 1
    count = comings(loops(64, 64, 4, 32), room)
    proved = least_loads(sizes, room, largest_charge(sizes, room))
    assert proved <= count <= proved + 16
    assert count - 64 * 64 > 1.48 * 4 * (64 + 64)


def test_what_may_be_left_of_a_row_is_really_left() -> None:
    """All columns but for some words stay, one row after the other passes, and what it lacks is done at the end: less
    comes than whole rows and columns would need, so the condition and the terms of O cannot be left out."""
    sizes = {"h": 1, "m": 30, "l": 30, "j": 25}
    room = 25 * 30
    order = list(product(range(30), range(30), range(25)))
    count = comings([each for each in order if not _left(each)] + [each for each in order if _left(each)], room)
    once = 25 * (30 + 30) + 30 * 30
    assert count < once + 25 * (30 + 30 + 30) // 2 - room
    assert largest_charge(sizes, room) == 1
    assert least_loads(sizes, room, 1) <= count


def _left(point: Point) -> bool:
    """Whether an operation needs a word of Y that is not there before the end."""
    return point[1] < 6 and point[2] < 5


def test_operations_left_pay_the_charge() -> None:
    """However many words of the row are on however many pairs, more operations than are left need that much."""
    for charge in range(1, 40):
        left = left_when_ripe(charge)
        cheapest = min(2 * n - (-(left + 1) // n) for n in range(1, left + 2))
        assert cheapest >= 2 * charge
        assert left == 0 or min(2 * n - (-left // n) for n in range(1, left + 1)) < 2 * charge + 2


@pytest.mark.parametrize(
    ("tokens", "head", "memory", "others", "least"),
    [(512, 64, 32768, 171839, 184322), (4096, 64, 262144, 1395327, 1560578), (1024, 128, 131072, 687359, 737282)],
)
def test_attention_with_room_for_half_of_the_rows(tokens: int, head: int, memory: int, others: int, least: int) -> None:
    found = {bound.method: bound for bound in bounds(attention(tokens, head), memory)}
    assert max(bound.total_words for name, bound in found.items() if name not in ("finishing", "best")) == others
    assert found["best"].total_words == found["finishing"].total_words == least
    document = found["best"].certificate
    assert document is not None
    check_document(document)
    for change in (-1, 1):
        forged = copy.deepcopy(document)
        forged["groups"][0]["charge"] += change
        forged["digest"] = digest({key: value for key, value in forged.items() if key != "digest"})
        with pytest.raises(RefusedError):
            check_document(forged)


def test_a_charge_that_the_memory_is_too_large_for_is_refused() -> None:
    (found,) = bounds(attention(64, 8), 600, ["finishing"])
    forged: Any = copy.deepcopy(found.certificate)
    (group,) = forged["groups"]
    for charge, why in ((17, "more than a row"), (0, "whole number")):
        group["charge"] = charge
        forged["digest"] = digest({key: value for key, value in forged.items() if key != "digest"})
        with pytest.raises(RefusedError, match=why):
            check_document(forged)
    group["charge"] = 16
    forged["memory_words"] = 1000
    forged["digest"] = digest({key: value for key, value in forged.items() if key != "digest"})
    with pytest.raises(RefusedError, match="too large for the charge"):
        check_document(forged)


def test_every_head_is_by_itself() -> None:
    text = "S[h,m,l] = A[h,m,k]*B[h,k,l]; C[h,m,n] = S[h,m,l]*D[h,l,n]"
    sizes = {"m": 64, "l": 64, "k": 4, "n": 4}
    several = parse_workload(text, {"h": 3, **sizes})
    one = parse_workload(PAIR, sizes)
    loads = [bounds(workload, 260, ["finishing"])[0].loads_words for workload in (several, one)]
    assert loads[0] == 3 * loads[1]
    assert bounds(one, 260, ["compulsory"])[0].loads_words < loads[1]
