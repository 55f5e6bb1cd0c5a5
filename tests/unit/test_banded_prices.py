"""Prices of mappings of two products under a band: exact counts of their trees, and the best of a whole family."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import cases, some

import optmap
from optmap.api import question_of
from optmap.base.errors import InfeasibleError, InputError
from optmap.checker import check_document
from optmap.count.trees import count_boxes, walk_tree
from optmap.mappings.nodes import Loop
from optmap.mappings.tree import MappingTree
from optmap.search import Answer, Question
from optmap.search.chains import banded_apart, masked
from optmap.search.chains.banded import BandedWay, _first_members
from optmap.search.chains.banded_sizes import sizes_of
from optmap.search.chains.family import Fused
from optmap.search.chains.least import STAYS
from optmap.search.chains.pair import ProductPair, pair_of, steps_of
from optmap.search.chains.runs import Part, Run, best_run
from optmap.search.chains.solve import family_of
from optmap.search.chains.trees import run_tree
from optmap.sweeps.capacities import Capacities, CapacityTask
from optmap.workloads.band import IndexBand, band_of_statements
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

CONDITIONS = ("l <= m", "l < m + 2", "m <= l", "l <= m and m <= l + 2", "m <= l + 3 and l <= m + 1", "l <= m + 40")
PRODUCTS = "S[h,m,l] = 0.5*Q[h,m,k]*K[h,l,k] if ?; {}O[h,m,n] = {}[h,m,l]*V[h,l,n] if ?"
CHAINS = (
    PRODUCTS.format("", "S"),
    PRODUCTS.format("P[h,m,l] = relu(S[h,m,l]) if ?; ", "P"),
    PRODUCTS.format("P[h,m,l] = softmax(S[h,m,l], l) if ?; ", "P"),
)


def asked(rng: random.Random, most: int = 8, **options: Any) -> Question:
    text = rng.choice(CHAINS).replace("?", rng.choice(CONDITIONS))
    sizes = {"m": rng.randint(2, most), "l": rng.randint(2, most), "h": rng.randint(1, 2)}
    workload = parse_workload(text, {**sizes, "k": rng.randint(1, 3), "n": rng.randint(1, 3)})
    return question_of(workload, memory=f"{rng.randint(8, 70)}w", **options)


def banded(question: Question) -> tuple[ProductPair, IndexBand]:
    plain = question.workload.without_conditions
    band = band_of_statements(question.workload.statements, question.workload.extents)
    assert band is not None
    return pair_of(plain, *steps_of(plain), stores=question.objective.stores), band


def tree_of(question: Question, run: Run) -> MappingTree:
    plain = question.workload.without_conditions
    (level,) = question.machine.levels
    nodes = run_tree(plain, steps_of(plain), run, level.name, question.machine.memory)
    return MappingTree(workload=question.workload, machine=question.machine, nodes=nodes)


@pytest.mark.parametrize("together", [True, False])
def test_a_price_is_what_the_tree_moves_when_it_is_walked(together: bool) -> None:
    exact, found = 0, 0
    for seed in range(cases(25, 1000)):
        rng = random.Random(f"prices {seed}")
        question = asked(rng, objective=rng.choice(("traffic", "loads")))
        _, band = banded(question)
        plain = question.workload.without_conditions
        (level,) = question.machine.levels
        memory = level.most_words(question.workload.word_bits)
        stores = question.objective.stores
        run = best_run(plain, steps_of(plain), memory, stores=stores, apart=not together, band=band)
        if run is None:
            continue
        tree = tree_of(question, run)
        walk, count = walk_tree(tree), count_boxes(tree)
        assert count is not None
        assert count.moved == walk.moved
        assert [r.occupancy_words for r in count.rooms] == [r.occupancy_words for r in walk.rooms]
        assert not walk.broken
        moved = walk.value_of(question.objective, question.workload, question.machine)
        assert moved <= run.words
        found, exact = found + 1, exact + (moved == run.words)
    assert found > 20
    assert exact > 0.8 * found


def members(pair: ProductPair, band: IndexBand, memory: int) -> list[Fused]:
    """Every member that the declared room lets fit, with its price."""
    found = []
    for outer, stays in product((0, 1), STAYS):
        out, inn = pair.sides[outer], pair.sides[1 - outer]
        mine = pair.rows is not None and pair.rows.side == outer
        for rows_stay in (True, False) if mine else (False,):
            way = BandedWay(pair, band, outer, stays, rows_stay=rows_stay)
            for tile, inner in product(range(1, out.extent + 1), range(1, inn.extent + 1)):
                for block in range(1, tile + 1):
                    sizes = sizes_of(way.meeting, *(np.array([each]) for each in (tile, inner, block)))
                    left = memory - int(way.room(sizes)[0])
                    for pinned in product(range(inn.extent + 1), repeat=2) if left >= 0 else ():
                        costs = inn.first.words * pair.depth, inn.second.words * pair.width
                        if sum(c * p for c, p in zip(costs, pinned, strict=True)) <= left:
                            found += [
                                Fused(
                                    outer=outer,
                                    tile=tile,
                                    block=block,
                                    inner=inner,
                                    stays=stays,
                                    pinned=pinned,
                                    words=0,
                                    rows_stay=rows_stay,
                                    last=last,
                                )
                                for last in ((False, True) if any(pinned) else (False,))
                            ]
    return found


@pytest.mark.parametrize("seed", some(1, range(3)))
def test_no_fused_member_moves_fewer_words_than_the_best(seed: int) -> None:
    rng = random.Random(f"members {seed}")
    question = asked(rng, most=4)
    pair, band = banded(question)
    (level,) = question.machine.levels
    memory = min(level.most_words(question.workload.word_bits), 24)
    question = question_of(question.workload, memory=f"{memory}w")
    every = members(pair, band, memory)
    plain = question.workload.without_conditions
    best = best_run(plain, steps_of(plain), memory, band=band)
    assert best is not None
    assert every
    for member in rng.sample(every, min(len(every), cases(30, 5000))):
        firsts = rng.choice(((0, 0), (rng.randrange(member.tile), rng.randrange(member.inner))))
        part = Part(first=0, member=replace(member, firsts=firsts))
        run = Run(strip=plain.extents["m"], resident=(), parts=(part,), ways=(), words=0)
        count = count_boxes(tree_of(question, run))
        assert count is not None
        assert not count.broken, member
        assert count.value_of(question.objective, question.workload, question.machine) >= best.words, member


@pytest.mark.parametrize(("tokens", "head", "memory"), [(30, 4, 90), (41, 3, 70), (200, 16, 1024)])
def test_of_strips_of_causal_attention_the_first_one_is_short(tokens: int, head: int, memory: int) -> None:
    strip = (memory - 1) // (2 * head + 3)  # its queries, outputs, statistics, and a word of each row and of a key
    ends = range(tokens, 0, -strip)  # it meets the keys up to its end
    words = 2 * head * (tokens + sum(ends))
    found = []
    for condition in ("l <= m", "m <= l"):
        extents = {"h": 1, "m": tokens, "l": tokens, "k": head, "n": head}
        workload = parse_workload(CHAINS[2].replace("?", condition), extents, semantics=Semantics.ASSIGN)
        found.append(masked.best_priced(question_of(workload, memory=f"{memory}w"), together=True))
    one, mirrored = (next(loop for loop in each.nodes if isinstance(loop, Loop)) for each in found if each is not None)
    assert (one.dim, one.first, mirrored.first) == ("m", ends[-1], 0)
    assert one.tile == mirrored.tile == strip
    for tree in found:
        count = None if tree is None else count_boxes(tree)
        assert count is not None
        assert sum(row.loads_words + row.stores_words for row in count.moved) <= words  # less with what is pinned


def test_a_mapping_of_long_rows_has_blocks_that_are_counted() -> None:
    extents = {"h": 1, "m": 4096, "l": 4096, "k": 64, "n": 64}
    workload = parse_workload(CHAINS[2].replace("?", "l <= m"), extents)
    assert masked.best_priced(question_of(workload, memory="65536w"), together=True) is not None


def test_mappings_of_very_long_rows_have_blocks_that_are_counted() -> None:
    """Rows that are too long to be priced under the condition: a mapping without it, in blocks of several indices."""
    tokens, head = 40_000, 64
    extents = {"h": 1, "m": tokens, "l": tokens, "k": head, "n": head}
    workload = parse_workload(CHAINS[0].replace("?", "l <= m"), extents)
    question, plain = question_of(workload, memory="400000w"), workload.without_conditions
    found = family_of(plain)(question_of(plain, memory="300000w"), together=True)
    assert not isinstance(found, int)
    nodes = masked.best_masked(question, lambda _: found.nodes)
    count = count_boxes(MappingTree(workload=workload, machine=question.machine, nodes=nodes))
    assert count is not None
    strip = 300_000 // (2 * head)
    ends = range(tokens, 0, -strip)  # each strip of rows meets the keys up to its end
    words = 2 * head * (2 * tokens + sum(ends))
    assert sum(row.loads_words + row.stores_words for row in count.moved) <= words * 11 // 10


def test_nothing_is_worse_than_mappings_without_the_conditions() -> None:
    better = 0
    for seed in range(cases(8, 300)):
        rng = random.Random(f"not worse {seed}")
        question = asked(rng, most=12)
        plain = question.workload.without_conditions
        find = family_of(plain)

        def tried(other: Question, find: Any = find) -> Any:
            found = find(other, together=True)
            return None if isinstance(found, int) else found.nodes

        def words(nodes: Any, question: Question = question) -> Fraction:
            tree = MappingTree(workload=question.workload, machine=question.machine, nodes=nodes)
            count = count_boxes(tree)
            assert count is not None
            return Fraction(count.value_of(question.objective, question.workload, question.machine))

        try:
            answer = optmap.solve(
                question.workload, memory=f"{question.machine.levels[0].most_words(question.workload.word_bits)}w"
            )
            before = masked.best_masked(question, tried)
        except InfeasibleError:
            continue
        assert answer.cost <= words(before), seed
        better += answer.cost < words(before)
    assert better


@pytest.mark.parametrize(
    ("condition", "memory", "error", "reason"),
    [
        ("l <= m", "1w", InfeasibleError, "use more memory"),
        ("l <= m", "2w", InfeasibleError, "use more memory"),
        ("2*l <= m", "1w", InfeasibleError, "use more memory"),
        ("l + 5 <= m", "40w", InputError, "conditions that no point meets: nothing is done of S"),
        ("2*l <= m", "40w", InputError, "every statement needs the same conditions"),
    ],
)
def test_why_there_is_no_mapping_under_conditions(
    condition: str, memory: str, error: type[Exception], reason: str
) -> None:
    text = f"S[m,l] = A[m,k]*B[k,l] if {condition}; C[m,n] = S[m,l]*D[l,n] if {condition}"
    with pytest.raises(error, match=reason):
        _ = optmap.solve(text, extents={"m": 5, "l": 4, "k": 2, "n": 2}, memory=memory)


GATE = (
    "G[m,f] = X[m,d]*W1[d,f] if ?; U[m,f] = X[m,d]*W3[d,f] if ?; A[m,f] = silu(G[m,f])*U[m,f] if ?; "
    "Y[m,n] = A[m,f]*W2[f,n] if ?"
)


@pytest.mark.longer
def test_more_memory_never_moves_more_words() -> None:
    text = GATE.replace("?", "f < m + 1 and m >= f + 3")
    before: int | None = None
    for words in range(8, 60):
        try:
            answer = optmap.solve(text, extents="m=6,f=3,d=2,n=2", memory=f"{words}w")
        except InfeasibleError:
            assert before is None
            continue
        assert before is None or answer.cost <= before
        before = int(answer.cost)
    assert before is not None


def test_where_nothing_fits_the_memory_is_what_is_wrong() -> None:
    with pytest.raises(InfeasibleError):
        optmap.solve(GATE.replace("?", "f <= m"), extents="m=6,f=3,d=2,n=2", memory="2w")


def test_a_curve_under_conditions_has_the_answers_at_single_capacities(monkeypatch: pytest.MonkeyPatch) -> None:
    text, extents = CHAINS[2].replace("?", "l <= m"), {"h": 2, "m": 24, "l": 24, "k": 4, "n": 4}
    found, answer = dict[tuple[int, str], Fraction](), Capacities.answer

    def noted(self: Capacities, task: CapacityTask) -> Any:
        made = answer(self, task)
        if isinstance(made, Answer):
            found[task.words, task.method] = Fraction(made.exact)
        return made

    monkeypatch.setattr(Capacities, "answer", noted)
    curve = optmap.curve(text, extents=extents, within=40, jobs=1)
    assert curve.complete
    assert len(curve.points) > 5
    for words, method in random.Random(1).sample(sorted(found, key=str), 8):
        for kept in (banded_apart.best_apart_banded, banded_apart._kept, _first_members):
            kept.cache_clear()  # as if nothing had been asked before
        assert (
            optmap.solve(text, extents=extents, memory=f"{words}w", method=method or None).cost == found[words, method]
        )


@pytest.mark.longer
@pytest.mark.parametrize("queries", [2**14, 2**15])
def test_mappings_of_long_causal_attention_come_near_its_floor(queries: int) -> None:
    text, extents = CHAINS[0].replace("?", "l <= m"), {"h": 1, "m": queries, "l": queries, "k": 64, "n": 64}
    answer = optmap.solve(text, extents=extents, memory="32768w")
    assert answer.bound is not None
    assert answer.cost <= 1.06 * answer.bound.value  # what is counted without being priced is a fifth above
    assert check_document(answer.to_dict()).verified
