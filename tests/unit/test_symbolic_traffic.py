"""Traffic, footprint and occupancy expressions against closed forms and a literal walk of the tiles."""

from fractions import Fraction
from itertools import pairwise, product
from math import prod

import pytest
import sympy
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import loop_orders, workloads

from optmap.base.errors import InputError
from optmap.mappings.reuse import safe_working_set
from optmap.symbolic import (
    axis_run,
    axis_values,
    distinct,
    extent,
    occupancy,
    safe_occupancy,
    tensor_traffic,
    tile,
    tiles,
)
from optmap.symbolic.footprint import footprint
from optmap.symbolic.traffic import traffic
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.axes import overlaps
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

CNN = conv2d(n=2, k=8, c=8, h=8, w=8, r=3, s=3)
N = {d: extent(d) for d in "nkcrshwij"}
T = {d: tile(d) for d in "nkcrshwij"}


def ratios(dims):
    return prod((N[d] / T[d] for d in dims), start=sympy.Integer(1))


def same(left, right):
    """Equal at points of exact arithmetic, and after expansion."""
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    for seed in range(3):
        point = {s: sympy.Rational((7 * i + 5 * seed) % 11 + 2, seed + 1) for i, s in enumerate(symbols)}
        assert left.subs(point) == right.subs(point)
    return sympy.expand(left - right) == 0


# --- closed forms of MOpt, derived here and typed in -------------------------------------------

IN_TILE = T["n"] * T["c"]
OUT = T["n"] * T["k"] * T["h"] * T["w"]
KER = T["k"] * T["c"] * T["r"] * T["s"]
H_TILE, W_TILE = T["h"] + T["r"] - 1, T["w"] + T["s"] - 1
RUN = {  # what the subscript pair brings in while the loop over one of its dims runs
    "w": H_TILE * (N["w"] + T["s"] - 1),
    "s": H_TILE * (T["w"] + N["s"] - 1),
    "h": (N["h"] + T["r"] - 1) * W_TILE,
    "r": (T["h"] + N["r"] - 1) * W_TILE,
}
ALL = "nkcrshw"


def closed_form(innermost, at):
    """The total of the eight classes by their innermost loop and the loop that moves In."""
    if innermost == "k":
        return (
            2 * ratios(ALL) * OUT + ratios(ALL) * KER + ratios(d for d in ALL if d not in ("k", at)) * IN_TILE * RUN[at]
        )
    moved_in = ratios(d for d in ALL if d != at) * IN_TILE * RUN[at]
    if at in "wh":
        return 2 * ratios(ALL) * OUT + ratios("kcrs") * KER + moved_in
    return 2 * ratios("nkhw") * OUT + ratios(ALL) * KER + moved_in


@pytest.mark.parametrize(
    ("order", "innermost", "at"),
    [
        ("kcrsnhw", "w", "w"),
        ("kcrsnwh", "h", "h"),
        ("nkhwcrs", "s", "s"),
        ("nkhwcsr", "r", "r"),
        ("nchrswk", "k", "w"),
        ("ncwrshk", "k", "h"),
        ("nchwrsk", "k", "s"),
        ("nchwsrk", "k", "r"),
    ],
)
def test_the_eight_closed_forms_of_a_convolution(order, innermost, at):
    assert same(traffic(CNN, tuple(order)), closed_form(innermost, at))


def test_mopt_equation_5():
    inner = ratios("nh") * (2 * N["w"] / T["w"] * OUT + IN_TILE * H_TILE * (N["w"] + T["s"] - 1))
    assert same(traffic(CNN, tuple("kcrsnhw")), ratios("kcrs") * (KER + inner))


def test_mopt_equation_4():
    assert same(occupancy(CNN), IN_TILE * H_TILE * W_TILE + KER + OUT)


def test_mopt_equation_3():
    expected = N["i"] * N["j"] * N["k"] * (1 / T["i"] + 1 / T["j"] + 2 / N["k"])
    work = matmul(i=8, j=8, k=8)
    assert same(traffic(work, ("i", "j", "k")), expected)
    assert same(occupancy(work), T["i"] * T["j"] + T["i"] * T["k"] + T["k"] * T["j"])


def test_levels_chain():
    work = matmul(i=8, j=8, k=8)
    order = ("j", "k", "i")
    one = traffic(work, order)
    for level in (1, 2, 3):
        inner, outer = tiles("ijk", level, 3), tiles("ijk", level + 1, 3)
        renamed = one.subs({T[d]: inner[d] for d in "ijk"} | {N[d]: outer[d] for d in "ijk"}, simultaneous=True)
        repeats = prod((N[d] / outer[d] for d in "ijk"), start=sympy.Integer(1))
        assert same(traffic(work, order, level, 3), renamed * repeats)


def test_element_sizes_weigh_and_assign_saves_the_first_touch():
    work = parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 4, "j": 4, "k": 4}, bytes={"C": 4, "A": 2, "B": 2})
    out, left, _ = tensor_traffic(work, ("k", "i", "j"))
    assert same(out.stores, 2 * N["i"] * N["j"] * N["k"] / T["k"])
    assert same(out.loads, out.stores - 2 * N["i"] * N["j"])
    assert same(left.loads, N["i"] * N["k"])
    assert left.stores == 0


@pytest.mark.parametrize("order", [("i", "j"), ("i", "j", "k", "k"), ("i", "j", "x")])
def test_a_wrong_loop_order_is_refused(order):
    with pytest.raises(InputError, match="name every dim of i,j,k once"):
        traffic(matmul(i=2, j=2, k=2), order)


def test_a_level_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="level 4"):
        occupancy(CNN, 4, 2)


# --- footprints ---------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 7)), min_size=1, max_size=4),
    st.data(),
)
def test_footprint_expressions_count_the_values(terms, data):
    axis = Subscript(terms=tuple((f"d{i}", c) for i, (c, _) in enumerate(terms)), offset=data.draw(st.integers(0, 3)))
    tile_of = {f"d{i}": n for i, (_, n) in enumerate(terms)}
    values = {
        sum(c * x for (c, _), x in zip(terms, point, strict=True)) for point in product(*(range(n) for _, n in terms))
    }
    symbolic = axis_values(axis, {d: tile(d) for d in tile_of})
    assert symbolic.subs({tile(d): n for d, n in tile_of.items()}) == len(values)
    assert axis_values(axis, {d: sympy.Integer(n) for d, n in tile_of.items()}) == len(values)


def test_the_minimum_of_product_and_dense_count_is_not_the_footprint():
    axis = Subscript(terms=(("x", 2), ("y", 3)))
    at = {"x": sympy.Integer(2), "y": sympy.Integer(1)}
    assert axis_values(axis, at) == 2
    assert 2 * (2 - 1) + 3 * (1 - 1) - (2 - 1) * (3 - 1) + 1 == 1


def test_three_dims_stay_exact():
    axis = Subscript(terms=(("x", 2), ("y", 1), ("z", 3)))
    value = axis_values(axis, {d: tile(d) for d in "xyz"})
    assert isinstance(value, distinct)
    assert value.subs({tile("x"): 2, tile("y"): 1, tile("z"): 2}) == 4


# --- a literal walk of the tile loops -------------------------------------------------------------


def tile_values(tensor, origin, size):
    """Per subscript the set of index values of the tile at `origin`."""
    sets = []
    for axis in tensor.axes:
        spans = [range(origin[d], origin[d] + size[d]) for d, _ in axis.terms]
        sets.append({sum(c * x for (_, c), x in zip(axis.terms, point, strict=True)) for point in product(*spans)})
    return sets


def walk(tensor, order, problem, size):
    """Elements that enter while every tile is visited in order.

    A step of a loop outside the reuse position brings in the whole tile, a step of the loop at it
    what the previous tile did not hold, and a step of a loop inside it nothing.
    """
    present = [i for i, d in enumerate(order) if d in tensor.dims]
    at = present[-1] if present else -1
    trips = [range(0, problem[d], size[d]) for d in order]
    total, before, previous = 0, None, None
    for point in product(*trips):
        sets = tile_values(tensor, dict(zip(order, point, strict=True)), size)
        changed = None if before is None else next(i for i in range(len(order)) if point[i] != before[i])
        whole = prod(len(s) for s in sets)
        if changed is None or changed < at:
            total += whole
        elif changed == at:
            total += whole - prod(len(s & p) for s, p in zip(sets, previous, strict=True))
        before, previous = point, sets
    return total


@settings(max_examples=cases(30, 150))
@given(st.data())
def test_traffic_equals_a_literal_walk_of_divisible_tiles(data):
    work = data.draw(workloads(max_extent=4, max_operations=500))
    order = data.draw(loop_orders(work))
    size, trips = {}, {}
    budget = 48
    for d in work.dims:
        size[d] = data.draw(st.integers(1, 4))
        trips[d] = data.draw(st.integers(1, min(4, budget)))
        budget //= trips[d]
    problem = {d: size[d] * trips[d] for d in work.dims}
    point = {tile(d): size[d] for d in work.dims} | {extent(d): problem[d] for d in work.dims}
    rows = tensor_traffic(work, order)
    for tensor, row in zip(work.tensors, rows, strict=True):
        expected = work.weight(tensor) * walk(tensor, order, problem, size)
        if tensor is not work.output:
            assert (row.loads.subs(point), row.stores) == (expected, 0)
            continue
        first = work.weight(tensor) * tensor.footprint(problem) if work.semantics is Semantics.ASSIGN else 0
        assert (row.loads.subs(point), row.stores.subs(point)) == (expected - first, expected)


def test_one_run_of_a_loop_counts_neighbours_not_the_union():
    gaps = 0
    for m, n, a, b, trips in product(range(1, 5), range(1, 5), range(1, 5), range(1, 5), (1, 2, 4)):
        axis = Subscript(terms=(("x", m), ("y", n)))
        counted = axis_run(axis, "x", {"x": sympy.Integer(a), "y": sympy.Integer(b)}, sympy.Integer(trips))
        problem, size = {"x": a * trips, "y": b}, {"x": a, "y": b}
        assert counted == walk(TensorAccess(name="A", axes=(axis,)), ("y", "x"), problem, size)
        gaps += int(counted) != axis.count(problem)
    assert gaps > 20  # the domain holds the cases in which the union would be wrong


def test_a_dim_in_two_subscripts_shares_only_what_both_share():
    work = parse_workload("O[z] += A[x+y,2*x+z]*B[x,y]", {"x": 4, "y": 4, "z": 4})
    order, (_, row, _) = ("y", "z", "x"), tensor_traffic(work, ("y", "z", "x"))
    partial = 0
    for x, y, z, trips in product((1, 2, 3), (1, 2, 3), (1, 3, 5), (1, 3)):
        size = {"x": x, "y": y, "z": z}
        problem = {"x": x * trips, "y": y, "z": 2 * z}
        point = {tile(d): size[d] for d in "xyz"} | {extent(d): problem[d] for d in "xyz"}
        counted = row.loads.subs(point)
        assert counted == walk(work.inputs[0], order, problem, size)
        partial += int(counted) < 2 * trips * work.inputs[0].footprint(size)
    assert partial > 5


def test_gaps_make_the_union_too_small():
    axis = Subscript(terms=(("p", 3), ("q", 1)))
    tile_of = {"p": sympy.Integer(4), "q": sympy.Integer(1)}
    union = axis_values(axis, {**tile_of, "q": sympy.Integer(6)})
    assert union == 15
    assert axis_run(axis, "q", tile_of, sympy.Integer(6)) == 24


# --- the safe working set -----------------------------------------------------------------------


def stack_union(work, order, problem, size):
    """The largest union of two consecutive tiles between which a tensor claims to keep data."""
    trips = [range(0, problem[d], size[d]) for d in order]
    points = list(product(*trips))
    positions = [max((i for i, d in enumerate(order) if d in t.dims), default=-1) for t in work.tensors]
    largest = 0
    for before, point in pairwise(points):
        changed = next(i for i in range(len(order)) if point[i] != before[i])
        claims = any(
            changed > at or (changed == at and overlaps(t, order[at]))
            for t, at in zip(work.tensors, positions, strict=True)
        )
        if not claims:
            continue
        union = 0
        for t in work.tensors:
            old = tile_values(t, dict(zip(order, before, strict=True)), size)
            new = tile_values(t, dict(zip(order, point, strict=True)), size)
            shared = prod(len(a & b) for a, b in zip(old, new, strict=True))
            union += work.weight(t) * (2 * prod(len(a) for a in old) - shared)
        largest = max(largest, union)
    return largest


@settings(max_examples=cases(12, 60))
@given(st.data())
def test_the_safe_working_set_covers_every_pair_of_tiles_with_reuse(data):
    work = data.draw(workloads(max_extent=3, max_operations=200))
    order = data.draw(loop_orders(work))
    size = {d: data.draw(st.integers(1, 3)) for d in work.dims}
    budget, problem = 64, {}
    for d in work.dims:
        trips = data.draw(st.integers(1, min(3, budget)))
        budget //= trips
        problem[d] = size[d] * trips
    safe = sum(
        work.weight(t) * room.elements(t, size)
        for t, room in zip(work.tensors, safe_working_set(work, order), strict=True)
    )
    assert safe >= stack_union(work, order, problem, size)
    assert safe_occupancy(work, order).subs({tile(d): n for d, n in size.items()}) == safe
    assert safe >= sum(work.weight(t) * t.footprint(size) for t in work.tensors)


def test_the_safe_working_set_of_a_convolution():
    names = [(room.copies, room.along) for room in safe_working_set(CNN, tuple("nchrswk"))]
    # k is innermost and In keeps its overlap along w, the next loop: Out and Ker need two tiles.
    assert names == [(2, None), (1, "w"), (2, None)]
    # Innermost w: Ker rests while n, h and w run, so the other two need two tiles.
    names = [(room.copies, room.along) for room in safe_working_set(CNN, tuple("kcrsnhw"))]
    assert names == [(2, None), (2, None), (1, None)]


def test_footprints_are_products_over_subscripts():
    assert same(footprint(CNN.inputs[0], T), IN_TILE * H_TILE * W_TILE)
    assert Fraction(int(footprint(CNN.inputs[0], dict.fromkeys("nkcrshw", sympy.Integer(3))))) == 9 * 25
