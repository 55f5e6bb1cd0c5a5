"""Dinh, chapters 5 and 6: random matrices that are generated, allocation as a program, encodings of mappings."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt, sqrt
from random import Random

from optmap.api import solve
from optmap.baselines.randomized import RandomizedProduct, randomized_bound, randomized_tiling
from optmap.papers.counting import PRODUCT
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, refuted, unreachable
from optmap.workloads.workload import Semantics

LATER = Collected()
SIZES = (20000, 2000, 20000)
COSTS = (Fraction(1, 10000), Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(4))


def _problem(cost: Fraction, memory: int = 4096) -> RandomizedProduct:
    d, m, n = SIZES
    return RandomizedProduct(d=d, m=m, n=n, memory_words=memory, cost=cost, semantics=Semantics.ACCUMULATE)


@LATER.item("Lemma 21", "Load cost of a random matrix product", where="section 5.1")
def lemma_21() -> Rows:
    """The printed number beside the one proved for an empty memory, results loaded."""
    d, m, n = SIZES
    for cost in COSTS:
        problem = _problem(cost)
        printed = 2 * d * m * n * sqrt(float(min(cost, Fraction(1))) / problem.memory_words)
        own = float(randomized_bound(problem).cost)
        touched = d * n + m * n + float(cost) * d * m
        dearer = own - float(randomized_bound(_problem(Fraction(1))).cost)
        yield held(
            f"loads, h = {cost}, M = 4,096",
            round(printed),
            round(own),
            within=0.001,
            because=Reason(
                text=f"every element of S is generated once before it is loaded: {dearer:,.0f} more than with h = 1"
                if cost > 1
                else f"results and A are loaded once and S is generated once, {touched:,.0f} in all, which is more",
                tested=dearer == float(cost - 1) * d * m if cost > 1 else own == touched > printed,
            ),
        )


@LATER.item("Formulas (5.1.1) to (5.1.7)", "Operations of a segment, and what they cost", where="section 5.1")
def segments_of_cost() -> Rows:
    """With M = x = 8: points that meet the constraints beside the largest number that is printed."""
    memory, x = 8, 8
    s, h = 4.0, 1.0
    reached, printed = (2 * memory + x - h * s) / 2 * sqrt(s), (2 * memory - h * s) / 2 * sqrt(s)
    yield refuted(
        "(5.1.5), first line: most operations of a segment, h = 1, s = s_r = 4",
        printed,
        reached,
        counterexample=f"10 elements of each matrix and 4 of S cost no more than M + x: {reached:g} operations; x is "
        "lost in the line",
        false=reached > printed,
    )
    h, s = 4.0, (2 * memory + x) / 3
    reached, printed = (2 * memory + x - s) / 2 * sqrt(s), sqrt((2 * memory + x) ** 3 / (27 * h))
    yield refuted(
        "upper bound on the operations of a segment, h = 4",
        round(printed, 3),
        round(reached, 3),
        counterexample="8 elements of S loaded, none generated, and 8 of each matrix; h' = min(h, 1) is meant",
        false=reached > printed,
    )
    costs = [(memory + each) * sqrt(27 / (2 * memory + each) ** 3) for each in range(1, 200)]
    yield claimed(
        "(5.1.7): x that maximizes it, M = 8",
        str(memory),
        costs.index(max(costs)) + 1,
        holds=max(costs) == costs[memory - 1],
    )
    yield held("(5.1.7) at x = M over dmn: 2*sqrt(h'/M)", 2 / sqrt(memory), costs[memory - 1], within=1e-12)


@LATER.item("Algorithm 9", "A product that pays nothing for S", where="section 5.1")
def algorithm_9() -> Rows:
    """Bipartite operations: a segment of 2M words has M^2 of them at most."""
    memory = 64
    most = max(a * (2 * memory - a) for a in range(2 * memory + 1))
    yield held("most operations of a segment of 2M words, M = 64", memory**2, most)
    yield unreachable(
        "rho of rho*dmn/M", None, why="rho is not defined; segments of M words give 1, each of M^2 operations", ours=1
    )


@LATER.item("Theorem 22", "Order of the load cost", where="section 5.1")
def theorem_22() -> Rows:
    """The proved bound over the printed order, from h = 1/10,000 to 4."""
    d, m, n = SIZES
    for cost in COSTS:
        problem = _problem(cost)
        order = d * m * n * max(sqrt(float(min(cost, Fraction(1))) / problem.memory_words), 1 / problem.memory_words)
        ratio = float(randomized_bound(problem).cost) / order
        yield claimed(f"bound over the order, h = {cost}", "a constant", round(ratio, 4), holds=ratio >= 1)


@LATER.item("Algorithm 10", "Rank-1 updates attain the bound", where="section 5.2")
def algorithm_10() -> Rows:
    """Tiles of whole numbers over the bound, and their store cost."""
    d, _, n = SIZES
    for cost in COSTS[:4]:
        problem = _problem(cost)
        tiling, floor = randomized_tiling(problem), randomized_bound(problem)
        ratio = float(tiling.cost / floor.cost)
        most, said = (2.0, "within 2") if problem.cheap else (1.25, "about 1")
        yield claimed(f"cost over the bound, h = {cost}", said, round(ratio, 4), holds=1 <= ratio <= most)
        yield held(f"words stored, h = {cost}", d * n, tiling.stores_words)
    ideal = isqrt(4096 * 100), isqrt(4096 // 100)
    yield claimed(
        "footprint of the tile (sqrt(M/h) - 1) x sqrt(M*h), h = 1/100, M = 4,096",
        "at most M",
        (ideal[0] - 1) * ideal[1] + ideal[1],
        holds=(ideal[0] - 1) * ideal[1] + ideal[1] <= 4096,
    )
    problem = _problem(Fraction(1, 10**6))
    tiling = randomized_tiling(problem)
    yield held(
        "h < 1/M: columns of the tile",
        1,
        tiling.columns,
        because=Reason(
            text="whole tiles of fewer rows cost no more where the rows do not fill the memory",
            tested=float(tiling.cost) <= 1.0001 * _narrow(problem),
        ),
    )


def _narrow(problem: RandomizedProduct) -> float:
    """Cost with tiles of one column, as in the text."""
    rows = min(problem.d, problem.memory_words - 2)
    tiles = -(-problem.d // rows)
    loads = tiles * problem.n * problem.m + problem.d * problem.n
    return loads + float(problem.cost) * problem.operations


@LATER.item("Constraint after (6.1.3)", "Each subloop is assigned once", where="section 6.1.2")
def assignment() -> Rows:
    """The mapping of Figure 6.1.1: R = 3 temporal, K = 2*2 spatial, N = 3 temporal; (loop, factor, level, s or t)."""
    slots = {"R": ("O_Z", 1), "K1": ("O_2", 0), "K2": ("Input Buffer", 0), "N": ("O_1", 1)}
    levels = ("Register", "Input Buffer", "O_0", "O_1", "O_2", "O_Z")
    sums = [sum(slots[loop] == (level, kind) for kind in (0, 1)) for loop, level in product(slots, levels)]
    over_levels = [sum(slots[loop] == (level, kind) for level in levels for kind in (0, 1)) for loop in slots]
    yield refuted(
        "sum over k of X = 1 for every subloop and every i",
        "all 1",
        f"{sums.count(0)} of {len(sums)} are 0",
        counterexample="the mapping of Figure 6.1.1 breaks it: a subloop is on one level only",
        false=0 in sums,
    )
    yield claimed(
        "sum over i and k of X = 1 for every subloop", "all 1", str(over_levels), holds=set(over_levels) == {1}
    )


@LATER.item("Spatial communication L_v", "Who is sent the same words", where="section 6.1.3")
def spatial() -> Rows:
    """A product with i along the units of a row, which B[k,j] does not have: children that one read of B serves."""
    answer = solve(
        PRODUCT,
        extents={"i": 4, "j": 4, "k": 4},
        machine="eyeriss_like",
        method="exact",
        semantics="assign",
        tiles="divisors",
        objective="energy",
        constraints=["GlobalBuffer.x.i=4"],
    )
    served = max(
        int(access.multicast) for memory in answer.count.memories for access in memory.accesses if access.operand == "B"
    )
    yield refuted(
        "a tensor that the unrolled dim does not index (A = 0) is",
        "unicast",
        "multicast" if served > 1 else "unicast",
        counterexample=f"i along 4 units: one read of B[k,j] serves {served} of them; L_v rightly has no factor for it",
        false=served > 1,
    )


@LATER.item("Formula (6.2.1)", "Every point of the cube is a valid mapping", where="section 6.2.1")
def every_point() -> Rows:
    """The scaled and rounded tile of a point of (0, 1]^7."""
    memory, point = 1024, {"b": Fraction(1, 1000)} | dict.fromkeys("ckrswh", Fraction(1))
    footprint = _footprint(point)
    scale = float(memory / footprint) ** 0.25
    tile = {dim: Fraction(max(1, int(scale * part))) for dim, part in point.items()}
    words = int(_footprint(tile))
    yield refuted(
        "words of the tile of f_b = 1/1000, all other f = 1, M = 1,024",
        f"<= {memory}",
        words,
        counterexample=f"scale {scale:.4g}; t_b is rounded up to 1: {words:,} words",
        false=words > memory,
    )


@LATER.item("Formulas (6.2.2) and (6.2.3)", "One multiplier for all tile sizes", where="section 6.2.1")
def multiplier() -> Rows:
    """The left side of (6.2.1) at a multiple of a point, over that at the point: the fourth power, in fractions."""
    rng, wrong = Random(7), 0
    for _ in range(200):
        point = {dim: Fraction(rng.randint(1, 100), 100) for dim in "bckrswh"}
        times = Fraction(rng.randint(1, 50), 7)
        scaled = _footprint({dim: times * part for dim, part in point.items()})
        wrong += scaled != times**4 * _footprint(point)
    yield claimed("points of 200 at which alpha^4 does not come out", 0, wrong, holds=not wrong)


def _footprint(t: dict[str, Fraction]) -> Fraction:
    """The left side of (6.2.1)."""
    return t["c"] * t["k"] * t["r"] * t["s"] + t["b"] * t["c"] * (t["w"] + t["r"]) * (t["h"] + t["s"])
