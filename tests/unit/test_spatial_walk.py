"""The closed form of counting on accelerators against a literal walk of every step and child."""

import itertools
import random
from math import prod

import pytest
from cases import cases
from hypothesis import given, settings
from spatial_strategies import dims_of, machine, spatial_cases, statement
from spatial_walk import walk_spatial

from optmap.base.errors import LimitError
from optmap.count.meshes.count import NEST_TIMELOOP, count_nest
from optmap.count.meshes.entering import arriving_words
from optmap.count.meshes.layout import layout_of
from optmap.machines.fabric import fabric_of
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.policy import Footprint


def counted(nest, fabric, **options):
    cost = count_nest(nest, fabric, **options)
    return {(m.name, a.operand): (a.reads, a.fills, a.updates) for m in cost.memories for a in m.accesses}


def walked(nest, fabric, **options):
    return {key: (w.reads, w.fills, w.updates) for key, w in walk_spatial(nest, fabric, **options).items()}


@settings(max_examples=cases(15, 80))
@given(spatial_cases(max_operations=150))
def test_the_closed_form_is_what_a_walk_counts(case):
    fabric, nest = case
    assert counted(nest, fabric) == walked(nest, fabric)


@settings(max_examples=cases(15, 40))
@given(spatial_cases(max_operations=100))
def test_drains_are_what_leaves(case):
    fabric, nest = case
    assert counted(nest, fabric, charge_drains=True) == walked(nest, fabric, charge_drains=True)


def sliding_nests():
    """Nests of one window along which up to five loops run: the moves that a walk can make, one after another."""
    rng = random.Random(5)
    while True:
        kind = rng.choice(("conv1d", "outer window", "three", "turned", "skewed", "diagonal", "twice", "twice"))
        dims = dims_of(kind)
        trips = [{d: rng.choice((1, 1, 2, 3)) for d in dims} for _ in range(4)]
        extents = {d: prod(row[d] for row in trips) for d in dims}
        if prod(extents.values()) > 600:
            continue
        workload = statement(kind, extents, stride=rng.randint(1, 3), dilation=rng.randint(1, 2))
        fabric = fabric_of(workload, machine([(1, 1), (extents[dims[0]], 1), (1, 1), (1, 1)]))
        place = workload.dims.index
        ones = (1,) * len(dims)
        ways = tuple(trips[1][d] if d == dims[0] else 1 for d in workload.dims)
        memories = []
        for number, row in enumerate(trips):
            loops = [d for d in rng.sample(dims, len(dims)) if row[d] > 1 and not (number == 1 and d == dims[0])]
            memories.append(
                MemoryNest(
                    x=ways if number == 1 else ones,
                    y=ones,
                    temporal=tuple((place(d), row[d]) for d in loops),
                    keeps=tuple(number in (0, 3) or rng.random() < 0.5 for _ in fabric.operands),
                )
            )
        yield fabric, Nest(memories=tuple(memories))


def test_windows_that_slide_jump_and_stay():
    for fabric, nest in itertools.islice(sliding_nests(), cases(100, 250)):
        assert counted(nest, fabric) == walked(nest, fabric), (fabric.workload.expression, nest)


def first_two_trips(operand, tile, turns):
    """Words that enter when every loop is taken at its first two trips, the second standing for all others."""
    spans = [sum(c * (tile[dim] - 1) for dim, c in axis) + 1 for axis in operand.axes]
    before, last, total = None, None, 0

    def step(at, weight):
        nonlocal before, last, total
        here = [sum(c * at[dim] for dim, c in axis) for axis in operand.axes]
        kept = 0
        if before is not None:
            move = [new - old for new, old in zip(here, before, strict=True)]
            if not any(move):
                kept = prod(spans)
            elif sum(n != 0 for n in move) == 1 and last in (None, move):
                kept, last = prod(max(0, span - abs(n)) for span, n in zip(spans, move, strict=True)), move
            else:
                last = None
        before = here
        total += weight * (prod(spans) - kept)

    def visit(left, at, weight):
        if not left:
            step(at, weight)
            return
        (dim, stride, trips), *rest = left
        visit(rest, at, weight)
        visit(rest, [n + stride * (own == dim) for own, n in enumerate(at)], weight * (trips - 1))

    visit(list(turns), [0] * len(tile), 1)
    return total


def test_timeloop_goes_on_from_the_first_two_trips_of_every_loop():
    for fabric, nest in itertools.islice(sliding_nests(), 200):
        layout = layout_of(nest, fabric, NEST_TIMELOOP)
        for operand, (tile, turns) in itertools.product(fabric.operands, zip(layout.tiles, layout.turns, strict=True)):
            found = arriving_words(operand, tile, turns, Footprint.HULL, extrapolate=True)
            assert found == first_two_trips(operand, tile, turns), (fabric.workload.expression, tile, turns)


def test_a_step_of_one_subscript_between_steps_of_two_is_the_first_after_a_reset():
    # A[i+j,i+j+l+m]: i moves both subscripts; where l goes on and i starts again, only the first one moves, by -2.
    workload = statement("twice", {"i": 3, "j": 4, "k": 1, "l": 4, "m": 3})
    fabric = fabric_of(workload, machine([(1, 1), (1, 1)]))
    at = workload.dims.index
    ones, all_kept = (1,) * 5, (True,) * 3
    inside = MemoryNest(x=ones, y=ones, temporal=((at("j"), 4), (at("l"), 2), (at("m"), 3)), keeps=all_kept)
    outside = MemoryNest(x=ones, y=ones, temporal=((at("l"), 2), (at("i"), 3)), keeps=all_kept)
    nest = Nest(memories=(inside, outside))
    found = counted(nest, fabric)
    assert found == walked(nest, fabric)
    tile, steps = 4 * 4, 6  # 4 values of the first subscript, 4 of l+m
    shared = 2 * 2  # of the first subscript, and of l+m
    assert found["L0", "A"][1] == tile * steps - shared


def test_a_walk_that_is_too_long_is_refused():
    fabric = fabric_of(statement("gemm", {"i": 200, "j": 200, "k": 200}), machine([(1, 1), (1, 1)]))
    whole = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((0, 200), (1, 200), (2, 200)), keeps=(True,) * 3)
    nest = Nest(memories=(MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=(), keeps=(True,) * 3), whole))
    with pytest.raises(LimitError, match="walking"):
        walk_spatial(nest, fabric)
