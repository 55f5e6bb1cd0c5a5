"""The relaxation is a lower bound on every integer mapping, and the optimum of its own program."""

import random
from dataclasses import replace
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from brute_force import best_nest
from cases import cases, some

from optmap import api
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.per_level import LevelModel
from optmap.files import library
from optmap.machines.core import Microkernel
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow, safe_working_set
from optmap.programs import minmax_program
from optmap.programs.tile import TileLevel
from optmap.search import TOLERANCE, Setting, cross_check, integer_search
from optmap.search.relax.tree import relax
from optmap.search.whole import integers
from optmap.solvers import solve
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

STATEMENTS = (
    "Out[n,k,h,w] += In[n,c,h+r,w+s] * Ker[k,c,r,s]",
    "Out[k,h,w] += In[c,2*h+r,2*w+s] * Ker[k,c,r,s]",
    "Out[k,h,w] += In[c,h+2*r,3*w+s] * Ker[k,c,r,s]",
    "Out[c,h,w] = In[c,2*h+3*r,w+s] * Ker[c,r,s]",
    "Out[f,x] = Image[c,2*x+w] * Filter[f,c,w]",
    "Out[f,x] += Image[c,3*x+2*w] * Filter[f,c,w]",
    "C[i,j] += A[i,k] * B[k,j]",
    "C[i,j] = A[i,k] * B[k,j]",
    "O[a,b,c] += A[b,d,a] * B[d,c]",
    "Out[i,j] = A[i,k,l] * B[k,j] * C[l,j]",
    "Y[x] += A[x+y+z] * B[y,z]",
    "Y[x] += A[2*x+y+3*z] * B[y,z]",
    "Y[x,y] += A[x+y] * B[x+z] * C[y+z]",
    "Y[x,y] += A[x+y,x] * B[y,z]",
)


def problem(rng, statement, most):
    inside = "".join(part.split("]")[0] + "," for part in statement.split("[")[1:])
    dims = list(dict.fromkeys(ch for ch in inside if ch.isalpha()))
    return parse_workload(statement, {d: rng.randint(1, most) for d in dims})


def machine_for(rng, workload, depth, kind, *, shared=False):
    model = LevelModel(workload)
    least = 2 * int(model.occupancy(np.ones((1, len(workload.dims)), dtype=np.int64))[0])
    most = max(4 * least, int(model.occupancy(np.array([[n for _, n in workload.sizes]]))[0]))
    words = sorted(round(least * (most / least) ** rng.random()) for _ in range(depth))
    levels = [
        Level(
            name=f"L{i}",
            capacity=Capacity(amount=w, unit="words"),
            bandwidth=rng.choice([1.0, 2.0, 3.5]) * 2 ** (depth - i),
            kind=kind,
            shared=shared and i == depth - 1,
            fanout=12 if shared and i == depth - 1 else 1,
        )
        for i, w in enumerate(words)
    ]
    return Machine(name="random", levels=tuple(levels))


def random_chains(rng, workload, depth, count, split=None):
    """(B, L, D) nested tiles, skewed to both ends of the ranges; inside `split` they fit one core's part."""
    extents = np.array([n for _, n in workload.sizes])
    chains = np.empty((count, depth, len(extents)), dtype=np.int64)
    outer = np.repeat(extents[None], count, axis=0)
    for level in range(depth - 1, -1, -1):
        part = rng.random(outer.shape) ** rng.choice([0.2, 1.0, 3.0], size=outer.shape)
        chains[:, level] = np.clip(np.ceil(part * outer), 1, outer)
        outer = chains[:, level]
        if split is not None and level == split[0]:
            outer = np.maximum(1, -(-outer // split[1]))
    return chains


def cheapest(workload, machine, rule, chains, order, *, ways=None):
    model = LevelModel(workload)
    worst = np.zeros(len(chains))
    for level, part in enumerate(machine.levels):
        permutation = order[level]
        safe = part.rule(rule) is CapacityRule.SAFE
        held = (
            model.safe_occupancy(chains[:, level], safe_working_set(workload, permutation))
            if safe
            else model.occupancy(chains[:, level])
        )
        words = model.traffic(chains, level, dataflow(workload, permutation), ways).astype(float)
        words[held > part.capacity.words(workload.word_bits)] = inf
        worst = np.maximum(worst, words / float(part.bandwidth.words(workload.word_bits)))
    return worst.min()


@pytest.mark.parametrize("rule", list(CapacityRule))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_mapping_is_below_the_bound(depth, rule):
    """Some 90,000 random mappings per case of depth and rule."""
    compared = 0
    for number, statement in enumerate(STATEMENTS):
        rng = random.Random(100 * depth + number)
        # With more levels the same programs branch as well in smaller boxes, in a tenth of the time.
        workload = problem(rng, statement, {1: 9, 2: 6, 3: 4}[depth])
        kind = LevelKind.CACHE if rule is CapacityRule.SAFE else LevelKind.SCRATCHPAD
        machine = machine_for(rng, workload, depth, kind)
        bound = relax(Setting(workload=workload, machine=machine, rule=rule)).bound
        generator = np.random.default_rng(number)
        for _ in range(cases(3, 8)):
            chains = random_chains(generator, workload, depth, 800)
            order = [tuple(rng.sample(workload.dims, len(workload.dims))) for _ in range(depth)]
            least = cheapest(workload, machine, rule, chains, order)
            assert least >= bound * (1 - 1e-9), (statement, workload.sizes, order)
            compared += least < inf
    assert compared > 20


@pytest.mark.parametrize("cores", [2, 3, 4, 6])
def test_no_split_mapping_is_below_the_bound(cores):
    compared = 0
    for number, statement in enumerate(STATEMENTS):
        rng = random.Random(number)
        workload = problem(rng, statement, 9)
        reduction = set(workload.reduction_dims)
        machine = machine_for(rng, workload, 2, LevelKind.SCRATCHPAD, shared=True)
        setting = Setting(workload=workload, machine=machine, rule=CapacityRule.TILE, cores=cores)
        bound = relax(setting).bound
        generator = np.random.default_rng(number)
        limits = [1 if d in reduction else n for d, n in workload.sizes]
        splits = [w for w in product(*(range(1, min(n, cores) + 1) for n in limits)) if np.prod(w) == cores]
        for split in rng.sample(splits, min(4, len(splits))):
            ways = np.ones((1500, 2, len(split)), dtype=np.int64)
            ways[:, 1] = split
            chains = random_chains(generator, workload, 2, 1500, (1, np.array(split)))
            valid = (chains[:, 1] >= split).all(axis=1)
            order = [tuple(rng.sample(workload.dims, len(workload.dims))) for _ in range(2)]
            least = (
                cheapest(workload, machine, CapacityRule.TILE, chains[valid], order, ways=ways[valid])
                if valid.any()
                else inf
            )
            assert least >= bound * (1 - 1e-9), (statement, workload.sizes, split, order)
            compared += least < inf
    assert compared > 10


def epigraph_optimum(setting):
    """Ipopt on the epigraph program, over every combination of classes and of integer filter extents."""
    workload, levels = setting.workload, setting.machine.levels
    boxed = setting.space.branch
    best = inf
    for orders in product(setting.orders, repeat=len(levels)):
        for sizes in product(*(range(1, workload.extents[d] + 1) for d in boxed for _ in levels)):
            chosen = [dict(zip(boxed, sizes[i :: len(levels)], strict=True)) for i in range(len(levels))]
            if any(a[d] > b[d] for a, b in pairwise(chosen) for d in boxed):
                continue
            parts = [
                TileLevel(name=level.name, capacity=c, bandwidth=b, permutation=order.permutation, fixed=fixed)
                for level, c, b, order, fixed in zip(
                    levels, setting.capacities, setting.bandwidths, orders, chosen, strict=True
                )
            ]
            try:
                found = solve(minmax_program(workload, parts))
            except Exception as error:
                if "short by" not in str(error):
                    raise
                continue
            if found.objective is not None:
                best = min(best, found.objective)
    return best


SMALL = (
    (matmul(i=40, j=30, k=50), ((60, 4), (400, 1))),
    (matmul(i=7, j=64, k=3), ((40, 3), (90, 1))),
    (parse_workload("Out[f,x] += Image[c,x+w] * Filter[f,c,w]", {"f": 12, "x": 20, "c": 6, "w": 2}), ((80, 1),)),
    (parse_workload("Out[f,x] += Image[c,2*x+w] * Filter[f,c,w]", {"f": 9, "x": 14, "c": 5, "w": 3}), ((70, 1),)),
    (parse_workload("O[a,b,c] += A[b,d,a] * B[d,c]", {"a": 6, "b": 9, "c": 12, "d": 10}), ((50, 2), (300, 1))),
    (conv2d(c=8, k=16, h=12, w=10, r=2, s=2), ((200, 1),)),
)


@pytest.mark.parametrize("case", range(len(SMALL)))
def test_value_is_the_best_epigraph_over_all_classes(case):
    workload, sizes = SMALL[case]
    machine = Machine(
        name="small",
        levels=tuple(
            Level(name=f"L{i}", capacity=Capacity(amount=c, unit="words"), bandwidth=b)
            for i, (c, b) in enumerate(sizes)
        ),
    )
    setting = Setting(workload=workload, machine=machine, rule=CapacityRule.TILE)
    result = relax(setting)
    assert result.proved
    assert result.best.value == pytest.approx(epigraph_optimum(setting), rel=2e-6)
    assert result.bound <= result.best.value


@pytest.mark.parametrize("seed", some(7, range(14)))
def test_ipopt_agrees_on_the_winning_program(seed):
    rng = random.Random(seed)
    workload = problem(rng, STATEMENTS[seed], 40)
    machine = machine_for(rng, workload, 1 + seed % 3, LevelKind.SCRATCHPAD)
    setting = Setting(workload=workload, machine=machine, rule=CapacityRule.TILE)
    result = relax(setting)
    assert result.proved
    assert cross_check(setting, result.best) == pytest.approx(result.best.value, rel=1e-6)
    small = tuple(dict.fromkeys(tile, 1.0) for tile in result.best.tiles)
    wrong = replace(result.best, tiles=small, value=rng.choice((0.5, 3.0)) * result.best.value)
    assert cross_check(setting, wrong) == pytest.approx(result.best.value, rel=1e-6)  # from any start


def test_tiles_of_the_relaxed_point_have_its_value_and_fit():
    """The point is re-evaluated in its own tile program, rounding it up where it is a whole number."""
    workload = matmul(i=64, j=64, k=64)
    machine = Machine(name="m", levels=(Level(name="L", capacity=Capacity(amount=3 * 16 * 16, unit="words")),))
    result = relax(Setting(workload=workload, machine=machine, rule=CapacityRule.TILE))
    tile = {d: round(t) for d, t in result.best.tiles[0].items()}
    mapping = Mapping(levels=(LevelMapping(level="L", tile=tile, permutation=result.best.permutations[0], spatial={}),))
    report = evaluate_cost(workload, machine, mapping)
    assert report.value >= result.bound * (1 - TOLERANCE)


def reference(rule=CapacityRule.TILE):
    workload = conv2d(c=64, k=128, h=136, w=136, r=3, s=3)
    machine = Machine(name="m", levels=(Level(name="L", capacity=Capacity(amount=8192, unit="words")),))
    return Setting(workload=workload, machine=machine, rule=rule)


def test_one_level_reference_of_yolo_y4(monkeypatch):
    """MOpt Eq. 5 at 8192 words, class <{k,c,r,s},{n,h},w>: the relaxed optimum is 17,342,953 words."""
    setting = reference()
    whole = relax(setting)
    found = integer_search(setting, whole)
    order = setting.order(("k", "c", "r", "s", "n", "h", "w"))
    monkeypatch.setattr(type(setting), "orders", (order,))
    alone = reference()
    relaxed = relax(alone)
    assert relaxed.best.value == pytest.approx(17_342_953, rel=2e-7)
    assert relaxed.proved
    single = integer_search(alone, relaxed)
    assert single.exhaustive
    chain = np.array(single.point.chain)[None]
    assert single.point.value == LevelModel(alone.workload).traffic(chain, 0, order.flow)[0]
    # Ragged tiles cost more than the formula with N/T tiles says: exact is the larger number.
    assert mopt_formula() == 17_372_849 < single.point.value
    mopts = np.array([[[1, 22, 34, 3, 3, 10, 1]]])
    assert single.point.value <= LevelModel(alone.workload).traffic(mopts, 0, order.flow)[0]
    assert whole.bound <= relaxed.bound * (1 + TOLERANCE)
    assert found.point.value <= single.point.value


def mopt_formula():
    """Least traffic of that class over whole tiles by MOpt's formula, whose numbers of tiles N/T are real."""
    k, c, h = np.meshgrid(*(np.arange(1.0, n + 1) for n in (128, 64, 136)), indexing="ij")
    held = k * h + 3 * c * (h + 2) + 9 * k * c  # r = s = 3, w = 1: a larger w moves no less
    out, ker = 2 * 128 * 136 * 136 * (64 / c), 128 * 64 * 9
    image = 64 * (h + 2) * (136 + 2) * (128 / k) * (136 / h)
    return round(float(np.where(held <= 8192, out + ker + image, inf).min()))


WINDOW = "Out[f,x] += Image[x+2*w] * Filter[f,w]"


@pytest.mark.parametrize(
    ("constraints", "x", "demand"),
    [
        (("L1.x=3",), 3, lambda at: at.level != "L1" or at.tile["x"] == 3),
        (("L1.x=2", "L2.x=2"), 5, lambda at: at.tile["x"] == 2),
        (("L1.x>=3", "L2.x<=3"), 5, lambda at: at.tile["x"] == 3),
        (("L1.x>=2", "L2.x<=4"), 5, lambda at: 2 <= at.tile["x"] <= 4),
    ],
    ids=["extent", "bend", "beyond the bend", "around the bend"],
)
def test_tiles_of_one_size_at_two_levels_nest_wherever_a_window_bends(constraints, x, demand):
    window = parse_workload(WINDOW, {"f": 2, "x": x, "w": 2})
    levels = tuple(Level(name=name, capacity=Capacity(amount=n, unit="words")) for name, n in (("L1", 11), ("L2", 24)))
    machine = Machine(name="two", levels=levels)
    best = best_nest(window, machine, "bottleneck", CapacityRule.TILE, divisors=False, cores=1, demands=(demand,))
    found = api.solve(window, machine=machine, constraints=constraints)
    assert found.cost == best
    assert found.relaxation.value <= best


@pytest.mark.parametrize("rows", [2, 3])
def test_an_imposed_tile_as_large_as_its_window_nests_in_the_next_one(rows):
    window = parse_workload(WINDOW, {"f": 3, "x": 3, "w": 2})
    kernel = Microkernel(vector=rows, broadcast=3)
    inner = Level(name="L1", capacity=Capacity(amount=17, unit="words"), microkernel=kernel)
    machine = Machine(name="two", levels=(inner, Level(name="L2", capacity=Capacity(amount=38, unit="words"))))
    imposed = {"f": rows, "x": 3, "w": 1}
    best = best_nest(
        window,
        machine,
        "bottleneck",
        CapacityRule.TILE,
        divisors=False,
        cores=1,
        demands=(lambda at: at.level != "L1" or (at.tile == imposed and at.permutation == ("f", "x", "w")),),
    )
    found = api.solve(window, machine=machine)
    assert found.cost == best
    assert found.relaxation.value <= best


@pytest.mark.parametrize(("x", "w"), [(2, 3), (3, 2), (2, 4)])
def test_the_neighbour_that_a_cache_holds_may_reach_beyond_the_extent(x, w):
    """A window of stride 4 is linear up to its extent, but not up to twice that."""
    window = parse_workload("Out[f,x] = Image[4*x+w] * Filter[f,w]", {"f": 5, "x": x, "w": w})
    for words in (15, 21):
        level = Level(name="L1", capacity=Capacity(amount=words, unit="words"), kind=LevelKind.CACHE)
        machine = Machine(name="one", levels=(level,))
        best = best_nest(window, machine, "bottleneck", CapacityRule.SAFE, divisors=False, cores=1)
        found = api.solve(window, machine=machine, capacity="safe")
        assert found.cost == best
        assert found.relaxation.value <= best


def test_same_setting_same_answer(monkeypatch):
    monkeypatch.setattr(integers, "EXHAUSTIVE", 0)
    points = []
    for _ in range(2):
        setting = reference()
        points.append(integer_search(setting, relax(setting)).point)
    assert points[0] == points[1]


def test_levels_that_cannot_matter_change_nothing():
    """With every level solved to its optimum the relaxation is the same, and no level's bound is above its optimum."""
    machine = library.machine("i7-9700k")
    for name, rule in product(("mobilenet/M9", "resnet18/R8"), CapacityRule):
        setting = Setting(workload=library.workload(name), machine=machine, rule=rule)
        found, whole = relax(setting), relax(setting, negligible=0.0)
        assert found.proved
        assert whole.proved
        assert found.programs < whole.programs, "no level was passed over"
        assert found.bound == pytest.approx(whole.bound, rel=2 * TOLERANCE)
        for low, optimum in zip(found.level_bounds, whole.level_bounds, strict=True):
            assert low <= optimum * (1 + TOLERANCE)


def test_a_bound_of_every_word_once_is_not_contradicted_by_a_program_that_knows_less() -> None:
    """Overlapping windows: the program counts fewer words than there are, and Ipopt reaches what it counts."""
    machine = Machine(
        name="two",
        levels=(
            Level(name="L0", capacity=Capacity(amount=32, unit="words"), bandwidth=Bandwidth(amount=2, unit="words")),
            Level(name="L1", capacity=Capacity(amount=160, unit="words"), bandwidth=Bandwidth(amount=16)),
        ),
    )
    workload = parse_workload(
        "O[a] += A[a+b+5,2*b+a+1,3*b] * B[b+5,b,a+b]", {"a": 4, "b": 5}, bytes={"O": 4, "A": 2, "B": 1}
    )
    answer = api.solve(workload, machine=machine, method="mopt", tiles="divisors")
    assert answer.relaxation.proved
    assert answer.relaxation.cross_check is None
    assert answer.relaxation.value <= answer.cost
