"""Method `quickflow`: classes of loop orders, the choice in one shot, adjacency, and where the search ends."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from cases import some
from hypothesis import given
from hypothesis import strategies as st
from spatial_brute_force import all_mappings, best_of_all, tiny_fabric
from spatial_strategies import COUNTINGS, spatial_cases

import optmap
from optmap.base.errors import InputError
from optmap.base.rows import concatenated
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.operands import Operand
from optmap.machines.relations import Relation
from optmap.mappings.nest import Loop, MemoryNest, Nest
from optmap.mappings.nest_batch import NestBatch, batch_of
from optmap.questions.options import Merit
from optmap.search import Answer, Brief, Scores, Trace, drive
from optmap.search.explore.protocol import PruneTally
from optmap.search.quickflow import (
    STRATEGY,
    AdjacentMoves,
    OneShot,
    Places,
    QuickFlowSettings,
    Weight,
    dataflow_classes,
    follows,
    reuse_classes,
    reuse_of,
    start,
)
from optmap.search.quickflow.search import Search
from optmap.workloads.parser import parse_workload

CONVOLUTION = "O[k,p,q] += I[c,p+r,q+s]*W[k,c,r,s]"


def explored(fabric: Any, merit: Merit = Merit.EDP, counting: NestPolicy = NEST_EXACT, **settings: Any) -> Trace:
    trace = Trace()
    brief = Brief(
        fabric=fabric,
        merit=merit,
        counting=counting,
        settings=QuickFlowSettings(**settings),
        rng=np.random.default_rng(0),
    )
    list(drive(STRATEGY, brief, trace))
    return trace


@cache
def convolution() -> tuple[Operand, ...]:
    """Operands of a convolution of six dims."""
    workload = optmap.workload(CONVOLUTION, extents=dict.fromkeys("kcpqrs", 2), semantics="assign")
    return fabric_of(workload, optmap.machine("eyeriss_like")).operands


def test_a_convolution_of_six_dims_has_21_classes_of_720_orders() -> None:
    operands = convolution()
    orders = list(permutations(range(6)))
    kinds = {tuple(reuse_of(order, operand) for operand in operands) for order in orders}
    found = reuse_classes(operands, tuple(range(6)))
    assert len(orders) == factorial(6)
    assert len(kinds) == 21
    assert {tuple(reuse_of(order, operand) for operand in operands) for order in found} == kinds
    assert len(found) == 21


@pytest.mark.parametrize("pattern", [(), ((2,), None), (None, (0, 3)), ((1,), None, (4,), None), ((5, 2), (0,))])
def test_a_pattern_leaves_the_classes_of_the_orders_that_keep_to_it(
    pattern: tuple[tuple[int, ...] | None, ...],
) -> None:
    operands = convolution()
    orders = [order for order in permutations(range(6)) if follows(order, pattern)]
    found = reuse_classes(operands, tuple(range(6)), pattern)
    kinds = {tuple(reuse_of(order, operand) for operand in operands) for order in orders}
    assert {tuple(reuse_of(order, operand) for operand in operands) for order in found} == kinds
    assert set(found) <= set(orders)


def test_follows_is_what_the_rules_of_the_machine_say() -> None:
    fabric = fabric_of(optmap.workload("quickflow/XVIII"), optmap.machine("tpuv1"))
    first = start(AdjacentMoves(Places(fabric, NEST_EXACT), PruneTally()), np.random.default_rng(0))
    trips = first.trips.reshape(-1, len(fabric.memories), 3, len(fabric.dims))
    chance = np.random.default_rng(0)
    orders = [tuple(chance.permutation(7).tolist()) for _ in range(200)] + [
        tuple(dim for entry in fabric.memories[-1].order for dim in entry or ())
    ]
    every = np.repeat(np.array(orders)[:, None], len(fabric.memories), axis=1)
    x, y, temporal = (np.repeat(trips[:, :, kind], len(orders), axis=0) for kind in range(3))
    keeps = np.repeat(first.keeps, len(orders), axis=0)
    valid = evaluate_batch(NestBatch(x=x, y=y, temporal=temporal, order=every, keeps=keeps), fabric).valid
    own = [tuple(dim for dim in order if fabric.extents[dim] > 1) for order in orders]
    assert valid.tolist() == [follows(order, fabric.memories[-1].order) for order in own]
    assert valid.any()


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_the_order_kept_of_a_class_reuses_no_less_where_few_dims_turn(order: list[int], turning: set[int]) -> None:
    """Two equi-reuse orders may differ once only some dims turn; one that is kept is then as good as any."""
    operands = convolution()
    own = [reuse_of(tuple(dim for dim in order if dim in turning), operand) for operand in operands]
    kept, reuses = dataflow_classes(reuse_classes(operands, tuple(range(6))), operands, frozenset(turning))
    assert len(kept) == len(set(reuses))
    assert any(
        all(
            mine[0] > other[0] or mine == other or (mine[0] == other[0] and other[1] is None)
            for mine, other in zip(reuse, own, strict=True)
        )
        for reuse in reuses
    )


def counts(fabric: Fabric, nest: Nest, memory: int, loops: tuple[Loop, ...]) -> list[tuple[object, ...]]:
    """All counts of a nest with other temporal loops of one memory."""
    memories = [replace(own, temporal=loops) if own is nest.memories[memory] else own for own in nest.memories]
    cost = count_nest(Nest(memories=tuple(memories)), fabric)
    return [(a.operand, a.reads, a.fills, a.updates) for own in cost.memories for a in own.accesses]


def windows_moved(fabric: Fabric, loops: tuple[Loop, ...]) -> int:
    """The most of some loops that move one window."""
    windows = [dict(axis) for operand in fabric.operands for axis in operand.axes if len(axis) > 1]
    return max((sum(dim in window for dim, _ in loops) for window in windows), default=0)


@given(spatial_cases(), st.data())
def test_orders_of_one_class_have_equal_counts_where_one_loop_moves_a_window(
    case: tuple[Fabric, Nest], data: st.DataObject
) -> None:
    fabric, nest = case
    trips = [prod(own.trips(dim) for own in nest.memories[1:]) for dim in range(len(fabric.dims))]
    loops = tuple((dim, n) for dim, n in enumerate(trips) if n > 1)[:4]
    memory = data.draw(st.integers(1, len(nest.memories) - 1))
    nest = Nest(memories=(nest.memories[0], *(replace(own, temporal=()) for own in nest.memories[1:])))
    if windows_moved(fabric, loops) > 1:
        loops = loops[:1]
    kinds: dict[object, list[tuple[Loop, ...]]] = {}
    for order in permutations(loops):
        own = tuple(dim for dim, _ in order)
        kinds.setdefault(tuple(reuse_of(own, operand) for operand in fabric.operands), []).append(order)
    orders = data.draw(st.sampled_from(sorted(kinds.values(), key=len)[-2:]))
    assert counts(fabric, nest, memory, orders[0]) == counts(fabric, nest, memory, orders[-1])


def test_where_two_loops_move_a_window_orders_of_one_class_differ() -> None:
    """The paper has identical performance for a class; here a step of r takes back what p moved, if k is outside."""
    workload = parse_workload("O[k,p] = I[c,2*p+r] * W[k,c,r]", {"c": 3, "k": 2, "p": 2, "r": 6})
    fabric = fabric_of(workload, optmap.machine("eyeriss_like"))
    c, k, p, r = (fabric.dims.index(dim) for dim in "ckpr")
    memories = len(fabric.memories)
    ones = [1] * 4
    spread = list(ones)
    spread[c], spread[r] = 3, 2
    inner = tuple(
        MemoryNest(
            x=tuple(spread if number == 0 else ones),
            y=tuple(ones),
            temporal=(),
            keeps=tuple(number == 0 for _ in fabric.operands),
        )
        for number in range(memories - 1)
    )
    outer = MemoryNest(x=tuple(ones), y=tuple(ones), temporal=(), keeps=(True,) * 3)
    nest = Nest(memories=(*inner, outer))
    one, other = ((k, 2), (r, 3), (p, 2)), ((r, 3), (k, 2), (p, 2))
    for operand in fabric.operands:
        assert len({reuse_of(tuple(dim for dim, _ in loops), operand) for loops in (one, other)}) == 1
    first, second = ({a[0]: a[2] for a in counts(fabric, nest, memories - 1, o)[:3]} for o in (one, other))
    assert (first["I"], second["I"]) == (48, 60)
    assert first["W"] == second["W"]


def eyeriss_layer() -> tuple[Fabric, Nest]:
    """Mapping of a layer on `eyeriss`, weights bypassing the buffer."""
    fabric = fabric_of(optmap.workload("quickflow/III"), optmap.machine("eyeriss"))
    _, k, c, r, s, h, w = range(7)

    def memory(temporal: dict[int, int], keeps: str, x: dict[int, int] = {}, y: dict[int, int] = {}) -> MemoryNest:  # noqa: B006
        return MemoryNest(
            x=tuple(x.get(dim, 1) for dim in range(7)),
            y=tuple(y.get(dim, 1) for dim in range(7)),
            temporal=tuple(temporal.items()),
            keeps=tuple(operand.name[0] in keeps for operand in fabric.operands),
        )

    names = "".join(operand.name[0] for operand in fabric.operands)
    out, image, weight = names
    return fabric, Nest(
        memories=(
            memory({k: 2}, out),
            memory({}, weight),
            memory({}, image),
            memory({h: 14, w: 28, k: 2, s: 7}, out + image, {k: 2, w: 2}, {k: 4, c: 3}),
            memory({h: 8, w: 2, k: 2, r: 7}, names),
        )
    )


def test_accesses_that_all_count_alike_choose_a_bad_order() -> None:
    """The paper found no order better than the one chosen in one shot; here one has a 22nd of the EDP."""
    fabric, nest = eyeriss_layer()
    batch = batch_of([nest], fabric)
    trips = np.stack([batch.x, batch.y, batch.temporal], axis=2)
    places = Places(fabric, NEST_EXACT)
    found = {}
    for weight in (Weight.ACCESSES, Weight.ENERGY):
        order = OneShot(fabric, NEST_EXACT, places.orderable, PruneTally(), weight).choose(trips, batch.keeps)
        cost = evaluate_batch(replace(batch, order=order), fabric)
        assert cost.valid[0]
        found[weight] = cost.edp[0]
    loops = [[*permutations(memory.temporal)] for memory in nest.memories[3:]]
    every = [
        Nest(
            memories=(
                *nest.memories[:3],
                *(replace(m, temporal=t) for m, t in zip(nest.memories[3:], pair, strict=True)),
            )
        )
        for pair in ((first, second) for first in loops[0] for second in loops[1])
    ]
    best = evaluate_batch(batch_of(every, fabric), fabric).edp.min()
    assert found[Weight.ACCESSES] / best == pytest.approx(22.15, abs=0.01)
    assert found[Weight.ENERGY] == pytest.approx(best, rel=1e-9)


def plain(seed: int) -> Fabric:
    """A tiny fabric without demands for factors inside and patterns."""
    while True:
        fabric = tiny_fabric(seed, most=3000)
        memories = fabric.memories
        rules = [rule for m in memories for rule in (*m.rules, *m.x.rules, *m.y.rules)]
        if all(rule.relation is Relation.AT_MOST for rule in rules) and not any(m.order for m in memories):
            return fabric
        seed += 1000


@pytest.mark.parametrize("seed", some(4, range(8)))
def test_moves_lead_from_the_start_to_every_valid_mapping(seed: int) -> None:
    fabric = plain(seed)
    places = Places(fabric, NEST_EXACT)
    moves = AdjacentMoves(places, PruneTally())
    front = start(moves, np.random.default_rng(0))
    table = moves.table(np.ones(places.count, bool), several=False)
    seen, reached = set(front.keys.tolist()), set()
    while len(front):
        reached |= {(t.tobytes(), k.tobytes()) for t, k in zip(front.trips, front.keeps, strict=True)}
        front = concatenated(list(moves.adjacent(front, table, seen, chained=False, flips=True)))
    valid = set()
    for batch in all_mappings(fabric):
        rows = evaluate_batch(batch, fabric).valid
        trips = np.stack([batch.x, batch.y, batch.temporal], axis=2)[rows].reshape(
            int(rows.sum()), places.count, len(fabric.dims)
        )
        valid |= {
            (np.ascontiguousarray(t).tobytes(), k.tobytes()) for t, k in zip(trips, batch.keeps[rows], strict=True)
        }
    assert reached == valid


@pytest.mark.parametrize("settings", some(1, [{}, {"chained": False, "eager": False}]))
def test_the_clock_is_looked_at_between_parts_of_a_hop_which_change_nothing(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hop from a whole beam makes tens of thousands of mappings, for seconds if they came together."""
    fabric = tiny_fabric(3, most=20_000)

    def proposed() -> tuple[list[int], list[float]]:
        """Sizes of the batches, what their mappings cost one after the other."""
        brief = Brief(
            fabric=fabric,
            merit=Merit.EDP,
            counting=NEST_EXACT,
            settings=QuickFlowSettings(**settings),
            rng=np.random.default_rng(0),
        )
        judged = list(drive(STRATEGY, brief, Trace(), rows=10**6))
        return [len(each.batch) for each in judged], np.concatenate([each.scores.value for each in judged]).tolist()

    together, values = proposed()
    monkeypatch.setattr("optmap.search.quickflow.moves.PAIRS", 7)
    parts, same = proposed()
    assert same == values
    assert len(parts) > 3 * len(together)
    moves = max(
        len(AdjacentMoves(Places(fabric, NEST_EXACT), PruneTally()).table(np.ones(9, bool), several=True).dim), 7
    )
    assert max(parts) <= moves < max(together)


@pytest.mark.parametrize("settings", [{}, {"chained": False, "eager": False, "paths": False}, {"beam": 0}])
@pytest.mark.parametrize("seed", some(3, range(6)))
def test_no_single_move_betters_where_the_search_ends(seed: int, settings: dict[str, Any]) -> None:
    fabric = tiny_fabric(seed, most=20_000)
    trace = explored(fabric, Merit.ENERGY, **settings)
    if trace.best is None:
        return
    places = Places(fabric, NEST_EXACT)
    end = batch_of([trace.best], fabric)
    trips = np.stack([end.x, end.y, end.temporal], axis=2)[0]
    found = []
    for dim, prime, _ in places.primes:
        for source in np.argwhere(trips[:, :, dim] % prime == 0):
            for target in np.argwhere(trips[:, :, dim] > 0):
                moved = trips.copy()
                moved[*source, dim] //= prime
                moved[*target, dim] *= prime
                found.append(moved)
    batch = np.array([trips, *found])
    keeps = np.repeat(end.keeps, len(batch), axis=0)
    order = OneShot(fabric, NEST_EXACT, places.orderable, PruneTally()).choose(batch, keeps)
    cost = evaluate_batch(
        NestBatch(x=batch[:, :, 0], y=batch[:, :, 1], temporal=batch[:, :, 2], order=order, keeps=keeps), fabric
    )
    assert trace.value == pytest.approx(cost.energy_pj[0], rel=1e-12)
    assert cost.energy_pj[cost.valid].min() >= trace.value * (1 - 1e-12)


def test_the_start_meets_demands_for_factors_inside() -> None:
    tried = 0
    for seed in range(400):
        fabric = tiny_fabric(seed, most=1500)
        memories = fabric.memories
        rules = [rule for m in memories for rule in (*m.rules, *m.x.rules, *m.y.rules)]
        if not any(rule.relation is not Relation.AT_MOST and rule.value > 1 for rule in rules):
            continue
        tried += 1
        first = start(AdjacentMoves(Places(fabric, NEST_EXACT), PruneTally()), np.random.default_rng(0))
        if len(first):
            assert Places(fabric, NEST_EXACT).admitted(first.trips).all()
        else:
            assert not best_of_all(fabric, NEST_EXACT)
        if tried == 5:
            break
    assert tried == 5


@pytest.mark.parametrize(("merit", "utilisation", "times"), [("edp", True, 42), ("edp", False, 1), ("energy", True, 1)])
def test_edp_is_divided_by_the_share_of_units_in_use(merit: str, utilisation: bool, times: int) -> None:
    brief = Brief(
        fabric=fabric_of(optmap.workload("quickflow/IV"), optmap.machine("eyeriss")),
        merit=Merit(merit),
        counting=NEST_EXACT,
        settings=QuickFlowSettings(utilisation=utilisation),
        rng=np.random.default_rng(0),
    )
    search = Search(brief)
    first = start(search.moves, brief.rng)
    first.trips[0, -1, 1] //= 4
    first.trips[0, 9, 1] *= 4
    judged = search.judged(first)
    batch = next(judged)
    assert batch.x.prod() == 4
    cost = evaluate_batch(batch, brief.fabric)
    scores = Scores(valid=cost.valid, value=np.array([7.0]), energy_pj=cost.energy_pj, cycles=cost.cycles)
    with pytest.raises(StopIteration) as end:
        judged.send(scores)
    assert end.value.value.worth == pytest.approx([7.0 * times])


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="hops"):
        QuickFlowSettings(hops=0)
    with pytest.raises(InputError, match="beam"):
        QuickFlowSettings(beam=-1)


@pytest.mark.parametrize("seed", some(15, range(60)))
def test_never_below_the_best_of_all_mappings(seed: int) -> None:
    fabric = tiny_fabric(seed, most=1500)
    merit, counting = list(Merit)[seed // 2 % 4], COUNTINGS[seed % 2]
    best, trace = best_of_all(fabric, counting), explored(fabric, merit, counting)
    assert (trace.best is not None) == bool(best)
    if best:
        assert trace.value >= float(best[merit].value) * (1 - 1e-12)
        assert trace.valid == trace.evaluations <= 1500


@pytest.mark.parametrize(("machine", "optimum"), [("gemmini", 66.144e12), ("tpuv1", 36.4005e12)])
def test_reaches_the_optimum_of_a_layer(machine: str, optimum: float) -> None:
    first, again = (
        optmap.solve("quickflow/IV", machine=machine, method="quickflow", tiles="divisors") for _ in range(2)
    )
    assert isinstance(first, Answer)
    assert first.cost <= optimum
    assert first.nest == again.nest
    assert first.found.trace is not None
    assert {cut.rule for cut in first.found.trace.cuts} >= {"equi-reuse", "equi-dataflow", "one shot", "capacity"}


@pytest.mark.parametrize("method", ["quickflow", "sunstone", "random"])
def test_a_subscript_without_dims_has_one_value(method: str) -> None:
    found = optmap.solve("C[i] = A[i,0]*B[i]", extents={"i": 64}, machine="eyeriss", method=method, evaluations=200)
    same = optmap.solve("C[i] = A[i]*B[i]", extents={"i": 64}, machine="eyeriss", method=method, evaluations=200)
    assert found.cost == same.cost
