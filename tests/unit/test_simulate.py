"""The reference simulator: caches against hand counts, brute force and the stationary model."""

from functools import cache

import pytest
from cases import cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from levels_walk import walk_levels
from strategies import loop_orders, machines, mappings, tiles, workloads

from optmap.base.errors import InputError, LimitError
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.reference.simulate import simulate, walk_nest
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine, two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Semantics, Workload


def access(name, dims):
    return TensorAccess(name=name, axes=tuple(Subscript(terms=((d, 1),)) for d in dims))


def matmul(n, semantics=Semantics.ACCUMULATE):
    return Workload.product(
        name="matmul",
        output=access("C", "ij"),
        inputs=(access("A", "ik"), access("B", "kj")),
        sizes=(("i", n), ("j", n), ("k", n)),
        semantics=semantics,
    )


def fast(words):
    return two_level(Capacity(amount=words, unit="words"))


def one_level(tile, order):
    return Mapping(levels=(LevelMapping(level="Fast", tile=tile, permutation=tuple(order), spatial={}),))


def total(traffic):
    return sum(t.loads_words + t.stores_words for t in traffic)


def loads(traffic):
    return sum(t.loads_words for t in traffic)


def counts(traffic):
    return [(t.between, t.tensor, t.loads_words, t.stores_words) for t in traffic]


@st.composite
def small_cases(draw, max_levels=1):
    """A workload of at most 300 iterations with a mapping; '=' only where first touches are defined."""
    workload = draw(workloads(max_extent=6, max_operations=300))
    dims = [d for axis in workload.output.axes for d in axis.dims]
    assume(workload.semantics is Semantics.ACCUMULATE or len(set(dims)) == len(dims))
    machine = draw(machines(max_levels=max_levels, max_fanout=3 if max_levels > 1 else 1))
    return workload, machine, draw(mappings(workload, machine))


def with_capacity(machine, words):
    level = machine.levels[0]
    return Machine(
        name="sized",
        levels=(Level(name=level.name, capacity=Capacity(amount=words, unit="words"), kind=LevelKind.CACHE),),
    )


def largest_union(workload, mapping):
    """Words of the largest union of two consecutive tiles, by walking the loops."""
    level = mapping.levels[0]
    boxes = [{}]
    for dim in level.permutation:
        steps = range(0, workload.extents[dim], level.tile[dim])
        parts = [range(s, min(s + level.tile[dim], workload.extents[dim])) for s in steps]
        boxes = [{**box, dim: part} for box in boxes for part in parts]

    def words(box):
        found = set()
        for tensor in workload.tensors:
            elements = {()}
            for axis in tensor.axes:
                values = {axis.offset}
                for d, c in axis.terms:
                    values = {v + c * i for v in values for i in box[d]}
                elements = {(*e, v) for e in elements for v in values}
            found |= {(tensor.name, *e, copy) for e in elements for copy in range(workload.weight(tensor))}
        return found

    sets = [words(box) for box in boxes]
    return max(len(a | b) for a, b in zip(sets, sets[1:] or sets, strict=False))


@given(small_cases())
def test_lru_moves_at_most_the_exact_traffic_if_consecutive_tiles_fit(case):
    workload, machine, mapping = case
    machine = with_capacity(machine, largest_union(workload, mapping))
    assert total(simulate(workload, machine, mapping)) <= total(exact_traffic(workload, machine, mapping))


@given(small_cases())
def test_lru_moves_at_most_the_cost_if_the_safe_working_set_fits(case):
    workload, machine, mapping = case
    cache = with_capacity(machine, 1)
    safe = evaluate_cost(workload, cache, mapping, CapacityRule.SAFE).levels[0].occupancy_words
    machine = with_capacity(machine, safe)
    cost = evaluate_cost(workload, machine, mapping, CapacityRule.SAFE)
    assert cost.fits
    assert total(simulate(workload, machine, mapping)) <= cost.levels[0].traffic_words


def test_lru_can_exceed_the_model_at_one_tile():
    mapping = one_level({"i": 3, "j": 3, "k": 1}, "ijk")
    workload, machine = matmul(6), fast(15)
    report = evaluate_cost(workload, machine, mapping)
    assert report.fits
    assert total(simulate(workload, machine, mapping)) > report.levels[0].traffic_words


@given(small_cases(), st.integers(4, 40))
def test_belady_never_loads_more_than_lru(case, words):
    workload, machine, mapping = case
    machine = with_capacity(machine, words)
    lru = simulate(workload, machine, mapping)
    assert loads(simulate(workload, machine, mapping, policy="belady")) <= loads(lru)


@given(small_cases(max_levels=3))
@settings(max_examples=cases(30, 150))
def test_closed_forms_equal_the_walks_on_shared_strategies(case):
    workload, machine, mapping = case
    assert counts(exact_traffic(workload, machine, mapping)) == counts(walk_nest(workload, machine, mapping))
    cost = evaluate_cost(workload, machine, mapping)
    assert counts(cost.boundaries) == counts(walk_levels(workload, machine, mapping))


@given(small_cases())
def test_an_ample_cache_moves_every_touched_word_once(case):
    workload, machine, mapping = case
    machine = with_capacity(machine, 10_000)
    points = [{}]
    for dim, extent in workload.sizes:
        points = [{**p, dim: i} for p in points for i in range(extent)]
    for policy in ("lru", "belady"):
        for tensor, moved in zip(workload.tensors, simulate(workload, machine, mapping, policy=policy), strict=True):
            touched = {
                tuple(axis.offset + sum(c * p[d] for d, c in axis.terms) for axis in tensor.axes) for p in points
            }
            is_output = tensor is workload.output
            created = is_output and workload.semantics is Semantics.ASSIGN
            assert moved.loads_words == (0 if created else len(touched) * workload.weight(tensor))
            assert moved.stores_words == (len(touched) * workload.weight(tensor) if is_output else 0)


@pytest.mark.parametrize(("words", "order"), [(3, "ij"), (3, "ji"), (4, "ij"), (5, "ji")])
def test_belady_loads_the_least_that_any_policy_can(words, order):
    workload = Workload.product(
        name="outer",
        output=access("C", "j"),
        inputs=(access("A", "i"), access("B", "ij")),
        sizes=(("i", 3), ("j", 3)),
    )
    steps = []
    for x in range(3):
        for y in range(3):
            i, j = (x, y) if order == "ij" else (y, x)
            steps += [("A", i), ("B", i, j), ("C", j)]

    @cache
    def least(at, held):
        if at == len(steps):
            return 0
        if steps[at] in held:
            return least(at + 1, held)
        if len(held) < words:
            return 1 + least(at + 1, held | {steps[at]})
        return 1 + min(least(at + 1, held - {victim} | {steps[at]}) for victim in held)

    mapping = one_level({"i": 3, "j": 3}, order)
    assert loads(simulate(workload, fast(words), mapping, policy="belady")) == least(0, frozenset())


@pytest.mark.parametrize("semantics", list(Semantics))
def test_smallest_cache_by_hand(semantics):
    """C[i,j] += A[i,k]*B[k,j], 2x2x2, order ijk, 3 words, LRU.

    A and B change at every iteration, and each new one evicts its predecessor, the oldest word.
    C[i,j] is used twice in a row and stays in between. Nothing lives on to the next (i, j).
    """
    c, a, b = simulate(matmul(2, semantics), fast(3), one_level({"i": 2, "j": 2, "k": 2}, "ijk"))
    assert (a.loads_words, b.loads_words) == (8, 8)
    assert c.loads_words == (4 if semantics is Semantics.ACCUMULATE else 0)
    assert c.stores_words == 4


def test_evicted_partial_sums_come_back_under_assign():
    """Order kij with 3 words: C leaves after every use and is loaded again, except at first touch."""
    c, _, _ = simulate(matmul(2, Semantics.ASSIGN), fast(3), one_level({"i": 2, "j": 2, "k": 2}, "kij"))
    assert (c.loads_words, c.stores_words) == (4, 8)


def machine_of(*words, fanout=1):
    return Machine(
        name="m",
        levels=tuple(
            Level(name=f"L{i}", capacity=Capacity(amount=w, unit="words"), fanout=fanout if i else 1, inclusive=False)
            for i, w in enumerate(words)
        ),
    )


def two_levels(inner, outer, spatial):
    return Mapping(
        levels=(
            LevelMapping(level="L0", tile=inner, permutation=("k", "i", "j"), spatial={}),
            LevelMapping(level="L1", tile=outer, permutation=("j", "k", "i"), spatial=spatial),
        )
    )


def test_every_boundary_is_a_cache_of_its_own():
    inner, outer = {"i": 2, "j": 1, "k": 3}, {"i": 4, "j": 2, "k": 3}
    mapping = two_levels(inner, outer, {})
    both = simulate(matmul(4), machine_of(7, 20), mapping)
    swapped = simulate(matmul(4), machine_of(20, 7), mapping)
    assert [m.loads_words for m in both[:3]] == [m.loads_words for m in swapped[3:]]
    assert [m.loads_words for m in both[3:]] == [m.loads_words for m in swapped[:3]]
    assert loads(both[:3]) > loads(both[3:])


def test_splits_give_the_inner_boundary_one_child_and_the_outer_all():
    inner, outer = {"i": 2, "j": 2, "k": 2}, {"i": 4, "j": 4, "k": 4}
    ample = machine_of(1000, 1000, fanout=2)
    c0, a0, b0, c1, a1, b1 = simulate(matmul(4), ample, two_levels(inner, outer, {"i": 2}))
    assert (c0.stores_words, a0.loads_words, b0.loads_words) == (8, 8, 16)
    assert (c1.stores_words, a1.loads_words, b1.loads_words) == (16, 16, 16)


@given(st.data())
@settings(max_examples=cases(10, 30))
def test_tiling_only_reorders(data):
    workload = data.draw(workloads(max_extent=4, max_operations=100))
    tile = data.draw(tiles(workload.extents))
    mapping = one_level(tile, data.draw(loop_orders(workload)))
    plain = one_level(workload.extents, workload.dims)
    ample = fast(10_000)
    assert simulate(workload, ample, mapping) == simulate(workload, ample, plain)


def test_limits_and_bad_input_are_typed():
    mapping = one_level({"i": 2, "j": 2, "k": 2}, "ijk")
    with pytest.raises(LimitError, match=r"3,000,000 accesses, the limit is 5,000;"):
        simulate(matmul(100), fast(64), mapping, limit=5000)
    with pytest.raises(LimitError, match="accesses"):
        simulate(matmul(10**12), fast(64), mapping)
    with pytest.raises(LimitError, match="more than 5,000,000"):
        walk_nest(matmul(10**12), fast(64), mapping)
    with pytest.raises(InputError, match="'lru' or 'belady'"):
        simulate(matmul(4), fast(64), mapping, policy="fifo")
    with pytest.raises(InputError, match="holds 2 words; one element per tensor needs 3"):
        simulate(matmul(4), fast(2), mapping)
