"""Numbers of tiles that the checker looks at: what they prove is the least cost of all whole tiles, never more."""

from __future__ import annotations

import json
import random
import tracemalloc
from fractions import Fraction
from typing import Any

import pytest
from cases import some
from proof_attack import WIDE, Case, look_at_every_tile

from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.checker import RefusedError
from optmap.checker.core.nest import TiledNest
from optmap.checker.core.statement import StatedWork
from optmap.checker.core.units import rate_of
from optmap.checker.cover.cover import model_of, walk
from optmap.checker.cover.dataflows import best_flows
from optmap.checker.cover.every import nothing_left
from optmap.checker.cover.rows import Model
from optmap.machines.machine import Level, Machine
from optmap.programs import TileSpace
from optmap.workloads.amounts import Capacity

STATEMENTS = (
    "C[i,j] += A[i,k]*B[k,j]",
    "C[i,j] = A[i,k]*B[k,j]",
    "O[i,j] += A[i,k,l]*B[k,j]*D[l,j]",
    "O[f,x] += I[c,x+w]*F[f,c,w]",
    "O[f,x] = I[c,2*x+w]*F[f,c,w]",
    "O[k,x,y] += I[x+r,3*y+s]*F[k,r,s]",
    "O[k,x] += I[x+2*r]*F[k,r]",
)
GAPS = ("3*y", "2*r")
"""Subscripts whose values have gaps: what tiles move is more than any row of the checker says."""


def competing(rng: random.Random, words: int) -> Machine:
    """One to three levels that cost about the same."""
    depth = rng.choice((1, 2, 2, 3))
    levels = []
    for number in range(depth):
        capacity = Capacity(amount=words, unit="words")
        levels.append(Level(name=f"L{number + 1}", capacity=capacity, bandwidth=rng.choice((5, 7, 8)) / 2**number))
        words = words * rng.choice((2, 3, 5)) // 2 + 1
    return Machine(name="competing", levels=tuple(levels))


def problem(seed: int) -> tuple[dict[str, Any], float, str]:
    """A document, the least cost of all its whole tiles by looking at each of them, and the statement."""
    rng = random.Random(seed)
    text = STATEMENTS[seed % len(STATEMENTS)]
    dims = dict.fromkeys(letter for letter in text if letter.islower())
    extents = {d: rng.choice((2, 3)) if d in "rsw" else rng.choice((2, 3, 4, 5, 7)) for d in dims}
    machine = competing(rng, rng.randint(14, 26))
    tiles = rng.choice(("any", "any", "divisors"))
    result = api.solve(text, extents=extents, machine=machine, tiles=tiles)
    assert result.proved
    document = json.loads(json.dumps(solution_document(result)))
    branch = list(TileSpace(result.workload).branch)
    document["proof"] = {"fixed": branch, "given": [], "relaxation": None, "integers": None}
    return document, result.cost, text


def accepts(document: dict[str, Any], value: Fraction, step: str = "every") -> bool:
    """Whether looking at every tile proves that none costs less than a value."""
    work, levels = StatedWork(document["workload"]), document["machine"]["levels"]
    rates = [rate_of(level, work.word_bits) for level in levels]
    model = model_of(document, TiledNest(work, document["mapping"]["levels"], levels), rates, whole=True)
    try:
        walk(model, list(range(model.depth)), value, [step], whole=True)
    except RefusedError as error:
        if "does not refute" not in str(error):
            raise
        return False
    return True


def test_the_least_cost_of_all_whole_tiles_is_proved_and_nothing_above_it() -> None:
    proved = 0
    for seed in range(14):
        document, least, text = problem(seed)
        exact = accepts(document, Fraction(least) * (1 - Fraction(1, 10**12)))
        assert exact or any(gap in text for gap in GAPS), (seed, text)
        assert not accepts(document, Fraction(least) * (1 + Fraction(1, 10**6))), (seed, text)
        proved += exact
    assert proved >= 11


@pytest.mark.parametrize("seed", some(3, range(6)))
def test_tiles_that_keep_their_limits_are_found(seed: int) -> None:
    found = [look_at_every_tile(random.Random(f"{seed} {number}")) for number in range(25)]
    assert sum(one is not None for one in found) > 10
    assert any(found)


def test_too_many_tiles_are_refused() -> None:
    case = Case(random.Random(3))
    limits = dict.fromkeys(range(case.depth), WIDE)
    with pytest.raises(RefusedError, match="too many numbers of tiles"):
        nothing_left(case.model, case.node, limits, 100)
    assert not nothing_left(case.model, case.node, limits, 10**5)


def test_a_step_that_looks_at_every_tile_stands_alone() -> None:
    document, least, _ = problem(0)
    with pytest.raises(RefusedError, match="step of its own"):
        accepts(document, Fraction(least), "every 1")


def test_tiles_inside_are_not_copied_per_tile_outside() -> None:
    """Of 1,728 choices at either level: one list of those inside, not 1,728 of them."""
    text = "C[i,j] += A[i,k] * B[k,j]"
    sizes = {"extents": dict.fromkeys("ijk", 42), "bytes": dict.fromkeys("ABC", 4)}
    work = StatedWork({"expression": text, "semantics": "accumulate", **sizes})
    model = Model(
        work=work,
        rooms=[[([0, 1, 2], int(WIDE))]] * 2,
        rates=[Fraction(1)] * 2,
        flows=[best_flows(work)] * 2,
        fixed=set(),
        snapped=lambda _level, _dim, sizes, _whole: sizes,
    )
    root = model.root()
    assert root is not None
    tracemalloc.start()
    try:
        with pytest.raises(RefusedError, match="too many numbers of tiles"):
            nothing_left(model, root, dict.fromkeys(range(2), WIDE), 20_000)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
