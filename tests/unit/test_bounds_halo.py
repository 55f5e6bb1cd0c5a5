"""Bounds that see the halo of windows: the inequality on every set, kappa at every size, schedules and certificates."""

from __future__ import annotations

import copy
import itertools
import json
import random
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import prod

import bounds_attack
import numpy as np
import pytest
from bounds_oracles import exact_loads, least_memory

from optmap import api
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InputError
from optmap.bounds import bounds, compulsory_loads, kappa, ranked_proofs, why_no_halo
from optmap.bounds.best import best
from optmap.bounds.windows.halo import LOSSES, kappa_about
from optmap.bounds.windows.halo_proof import searched
from optmap.checker import RefusedError, check_document
from optmap.checker.bounds import window as checker
from optmap.checker.core.tools import digest
from optmap.files import library
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

CONV = "Out[n,k,h,w] += In[n,c,h+r,w+s] * Ker[k,c,r,s]"
SIZES = {"n": 1, "k": 64, "c": 64, "h": 56, "w": 56, "r": 3, "s": 3}
POWERS = [(8, 7, 8), (12, 3, 12), (9, 6, 9), (10, 5, 6), (7, 8, 9)]
"""Exponents of outputs, taps and inputs, in fifteenths."""


def pairs_left(shape: tuple[int, ...], b: int, a: int, c: int) -> int:
    """Most pairs of a outputs, b taps and c inputs that the checker's losses leave, in 1/ONE."""
    few, many = sorted((a, c))
    kinds = [
        n * (a + c) * checker.ONE // 2 - loss(few * checker.GRID, many * checker.GRID)
        for n, loss in checker.LOSSES[shape].items()
        if n >= b
    ]
    return min(b * few * checker.ONE, *kinds)


def most_pairs(grid: tuple[int, int], taps: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """For every nonempty set of outputs inside a grid: by (a, c) the most pairs that any c inputs have."""
    cells = list(itertools.product(*map(range, grid)))
    inputs = sorted({(i + r, j + s) for i, j in cells for r, s in taps})
    place = {p: k for k, p in enumerate(inputs)}
    hits = np.zeros((1 << len(cells), len(inputs)), dtype=np.int8)
    for k, (i, j) in enumerate(cells):
        one = np.zeros(len(inputs), dtype=np.int8)
        one[[place[i + r, j + s] for r, s in taps]] = 1
        hits[1 << k : 2 << k] = hits[: 1 << k] + one
    best = np.cumsum(-np.sort(-hits, axis=1), axis=1, dtype=np.int16)
    sizes = np.bitwise_count(np.arange(1 << len(cells)))
    found = {a: best[sizes == a].max(axis=0) for a in range(1, len(cells) + 1)}
    return {(a, c): int(found[a][c - 1]) for a in found for c in range(1, len(inputs) + 1)}


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((4,), (1, 9)),
        ((3,), (1, 9)),
        ((2,), (1, 9)),
        ((2, 2), (3, 3)),
        ((2, 3), (3, 3)),
        ((3, 2), (3, 3)),
        ((3, 3), (2, 4)),
    ],
)
def test_no_sets_have_more_pairs_than_the_losses_leave_for_any_taps(shape, grid):
    window = list(itertools.product(*map(range, (1, *shape)[-2:])))
    tight = 0
    for b in range(1, len(window) + 1):
        for taps in itertools.combinations(window, b):
            for (a, c), pairs in most_pairs(grid, list(taps)).items():
                left = pairs_left(tuple(sorted(shape)), b, a, c)
                assert pairs * checker.ONE <= left, (taps, a, c, pairs)
                tight += left < (pairs + 1) * checker.ONE
    assert tight > 50  # many are attained, up to rounding: the inequality could not be stronger there


@pytest.mark.parametrize("grid", [(4, 3), (4, 4)])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (3, 4), (4, 3), (4, 4)])
def test_no_sets_have_more_pairs_than_all_taps_leave(grid, shape):
    window = list(itertools.product(*map(range, shape)))
    for (a, c), pairs in most_pairs(grid, window).items():
        assert pairs * checker.ONE <= pairs_left(tuple(sorted(shape)), len(window), a, c)


@pytest.mark.parametrize(("shape", "missing"), [((2, 4), 1), ((3, 4), 2), ((4, 4), 2)])
def test_no_sets_have_more_pairs_than_nearly_all_taps_leave(shape, missing):
    window = list(itertools.product(*map(range, shape)))
    for without in itertools.combinations(window, missing):
        taps = [tap for tap in window if tap not in without]
        for fewer in (taps, [*taps, without[0]]):
            for (a, c), pairs in most_pairs((3, 3), fewer).items():
                assert pairs * checker.ONE <= pairs_left(shape, len(fewer), a, c), (without, a, c)


def test_octagons_nearly_attain_what_nine_taps_leave():
    cut, side = 8, 40
    octagon = {
        (i, j) for i in range(side) for j in range(side) if min(i, side - 1 - i) + min(j, side - 1 - j) >= cut // 2
    }
    window = itertools.product(range(-1, 2), repeat=2)
    pairs = sum((i + r, j + s) in octagon for r, s in window for i, j in octagon)
    lost = 9 * len(octagon) - pairs
    claimed = 9 * len(octagon) - pairs_left((3, 3), 9, len(octagon), len(octagon)) / checker.ONE
    assert claimed <= lost < 1.25 * claimed


@pytest.mark.parametrize("shape", LOSSES)
def test_no_inputs_meet_octagons_more_often_than_the_losses_leave(shape):
    """Boxes without corners, larger than any grid that is searched whole; beside them the inputs with most taps."""
    rng, window = random.Random(3), list(itertools.product(*map(range, (1, *shape)[-2:])))
    for _ in range(90):
        high, wide = rng.randint(1, 16), rng.randint(1, 16)
        i, j = np.indices((high if len(shape) > 1 else 1, wide))
        ends = ((i, j), (i, wide - 1 - j), (high - 1 - i, j), (high - 1 - i, wide - 1 - j))
        outputs = np.all([x + y >= rng.choice([0, 0, 1, 2, 3, 5]) for x, y in ends], axis=0)
        taps = rng.sample(window, max(1, len(window) - rng.choice([0, 0, 0, 1, 2, 3, 4])))
        met = np.zeros(np.add(outputs.shape, (1, *shape)[-2:]), dtype=int)
        for r, s in taps:
            met[r : r + outputs.shape[0], s : s + wide] += outputs
        most = np.cumsum(-np.sort(-met, axis=None))
        a, c = outputs.sum(), np.arange(1, len(most) + 1)
        few, many = np.minimum(a, c), np.maximum(a, c)
        for b, loss in LOSSES[shape].items():
            if a and b >= len(taps):
                assert (most <= b * (a + c) / 2 - loss(few, many) + 1e-6).all(), (taps, outputs)


def test_losses_are_the_same_here_and_in_the_checker():
    assert set(LOSSES) == set(checker.LOSSES)
    for shape, losses in LOSSES.items():
        assert set(losses) == set(checker.LOSSES[shape])
        for (b, loss), a, more in itertools.product(losses.items(), (1, 2, 9, 100), (0, 1, 7)):
            exact = checker.LOSSES[shape][b](a * checker.GRID, (a + more) * checker.GRID) / checker.ONE
            assert exact <= loss(a, a + more) <= exact + 1e-6


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (3, 4), (3,), (1, 5)])
@pytest.mark.parametrize("units", [30.0, 3e4])
def test_no_single_move_promises_more_than_the_exponents_found(shape, units):
    def left(points: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda kappas: -kappas - np.where(points.sum(axis=1) < 1, np.inf, points.sum(axis=1) * np.log(units))

    def promise(*powers: int) -> float:
        known = kappa_about(shape, *(n / 240 for n in powers))
        return float(left(np.array([powers]) / 240)(np.log([known]))[0])

    found, promised = searched(left, shape, NO_LIMIT)
    x, y, z = (int(n * 240) for n in found)
    assert promised == pytest.approx(promise(x, y, z))
    near = [(x + a, y + b, z + c) for a, b, c in itertools.product((-1, 0, 1), repeat=3) if abs(a + b + c) == 1]
    inside = [at for at in near if min(at) > 0 and max(at) <= 240 and at[0] + at[2] > 240]
    assert max(promise(*at) for at in inside) <= promised + 1e-12


def test_the_quotient_that_decides_is_the_least_one():
    rng, tried = random.Random(7), 0
    while tried < 40:
        x, y, z = (Fraction(rng.randint(1, 120), 120) for _ in range(3))
        power = checker.Power(x, y, z, Fraction(rng.randint(10, 90), 10), rng.randint(1, 9))
        if x + z > 1 and power.trivial(1, checker.WIDEST):
            tried, size = tried + 1, rng.choice([1, 2, 9, 300, 10**5])
            every = range(checker.GRID, checker.WIDEST + 1)
            assert power.narrowest(size) == every[bisect_left(every, True, key=lambda i: power.trivial(size, i))]


@pytest.mark.parametrize("shape", LOSSES)
@pytest.mark.parametrize("powers", POWERS)
def test_kappa_holds_at_every_size_and_hardly_less_is_proved(shape, powers):
    x, y, z = (Fraction(n, 15) for n in powers)
    constant = kappa(shape, x, y, z)
    for u, v in {(x, z), (z, x)}:
        checker.decide(shape, u, y, v, constant)
    few, many = _sizes()
    most = 0.0
    for b, (u, v) in itertools.product(range(1, prod(shape) + 1), {(x, z), (z, x)}):
        kinds = [n * (few + many) / 2 - _lost(shape, n) for n in LOSSES[shape] if n >= b]
        pairs = np.floor(np.minimum(np.minimum(b * few, few * many), np.min(kinds, axis=0)))
        most = max(most, float((pairs / (few ** float(u) * b ** float(y) * many ** float(v))).max()))
    assert most <= constant
    if constant > 1.01:
        assert most > 0.97 * constant
        sides = {(x, z), (z, x)}
        assert any(_refuses(shape, u, y, v, Fraction(most) * Fraction(99, 100)) for u, v in sides)


def _refuses(*given: object) -> bool:
    try:
        checker.decide(*given)
    except RefusedError:
        return True
    return False


@cache
def _sizes() -> tuple[np.ndarray, np.ndarray]:
    """Sizes of the smaller and the larger set, close to each other."""
    few, more = np.meshgrid(np.arange(1, 300), np.arange(24), indexing="ij")
    return few.ravel(), (few + np.where(more < 8, more, more * few // 16)).ravel()


@cache
def _lost(shape: tuple[int, ...], b: int) -> np.ndarray:
    return np.array([LOSSES[shape][b](int(a), int(c)) for a, c in zip(*_sizes(), strict=True)])


@pytest.mark.parametrize(
    ("layer", "memory", "least"),
    [
        ("yolo9000/Y2", 1024, 32_199_132),
        ("yolo9000/Y2", 4096, 15_503_130),
        ("yolo9000/Y4", 1024, 32_207_609),
        ("yolo9000/Y4", 4096, 15_507_970),
        ("yolo9000/Y4", 65536, 3_876_507),
        ("mobilenet/M2d", 1024, 3_930_000),
    ],
)
def test_three_by_three_layers_gain(layer, memory, least):
    found = best(library.workload(layer), memory)
    assert found.loads_words >= least
    assert found.certificate is not None
    assert check_document(found.certificate).verified
    without = ranked_proofs(library.workload(layer), memory)[0].loads_words
    assert found.loads_words > without


def test_a_bound_depends_neither_on_names_nor_on_order():
    usual = best(parse_workload(CONV, SIZES), 1024)
    text = "A[w,h,k,n] += Z[r,k,s,c] * B[s+w,c,r+h,n]"
    other = best(parse_workload(text, SIZES), 1024)
    assert usual.loads_words == other.loads_words > compulsory_loads(parse_workload(CONV, SIZES))
    assert usual.certificate["window"] == other.certificate["window"]


def test_strides_dilations_and_groups_are_unit_windows():
    assert why_no_halo(conv2d(k=8, c=8, h=12, w=12, r=3, s=3)) is None
    for text in (
        "O[k,h,w] += I[c,2*h+r,w+3*s]*F[k,c,r,s]",
        "O[g,h,w] += I[g,h+r,w+s]*F[g,r,s]",
        "O[k,w] += I[c,4*w+6*s]*F[k,c,s]",
    ):
        sizes = {"k": 40, "c": 40, "g": 9, "h": 40, "w": 40, "r": 3, "s": 3}
        used = parse_workload(text, {d: n for d, n in sizes.items() if d in text})
        found = bounds(used, 200, ["halo"])[0]
        assert check_document(found.certificate).verified
        assert found.loads_words <= best(used, 200).loads_words


REFUSED = {
    "O[k,h,w] += I[c,h+r,w+s]*F[k,c,r,s]": ("5x5 taps", {"r": 5, "s": 5}),
    "O[k,w] += I[c,w]*F[k,c]": ("subscripts with two dims", {}),
    "O[h,w] += I[h+r,w+r]*F[r]": ("two subscripts of I", {"r": 3}),
    "C[i] += A[i+j]*A[j]": ("three different tensors", {}),
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_windows_are_declined_with_the_reason(text):
    reason, sizes = REFUSED[text]
    used = parse_workload(text, {d: 4 for d in "khwcrsij" if d in text.replace("k,h", "kh")} | sizes)
    assert reason in str(why_no_halo(used))
    with pytest.raises(InputError, match="halo"):
        bounds(used, 64, ["halo"])


def test_exact_optima_of_tiny_windows_are_never_below_the_bound():
    rng = random.Random(5)
    for _ in range(8):
        workload = bounds_attack.window_workload(rng, most=8)
        least = least_memory(workload)
        for memory in (least, least + 1):
            claimed = bounds(workload, memory, ["halo", "best"])
            if sum(t.footprint(workload.extents) for t in workload.tensors) <= 9:
                optimum = exact_loads(workload, memory)
                assert all(bound.loads_words <= optimum for bound in claimed), (workload.expression, workload.extents)


def test_no_schedule_of_small_convolutions_beats_a_window():
    assert _attack_windows(12).count > 100


def test_the_attack_sees_a_kappa_that_is_too_small(monkeypatch):
    real = bounds_attack.kappa
    monkeypatch.setattr(bounds_attack, "kappa", lambda *given: real(*given) * Fraction(7, 10))
    with pytest.raises(bounds_attack.BeatenError, match="claimed by halo"):
        _attack_windows(60)


def _attack_windows(count: int) -> bounds_attack.Trials:
    total = bounds_attack.Trials()
    for i in range(count):
        rng = random.Random(f"window/{i}")
        total += bounds_attack.attack(bounds_attack.window_workload(rng, most=80), rng, variants=2)
    return total


@pytest.mark.parametrize("semantics", list(Semantics))
def test_forged_windows_are_refused(semantics):
    workload = parse_workload(CONV, SIZES).with_semantics(semantics)
    made = json.loads(json.dumps(best(workload, 1024).certificate))
    assert check_document(made).verified
    x, y, constant = (Fraction(made["window"][key]) for key in ("outputs", "taps", "kappa"))

    def text(value: Fraction) -> str:
        return f"{value.numerator}/{value.denominator}"

    forged = [
        {"kappa": text(constant * Fraction(999, 1000))},
        {"kappa": "1/1000"},
        {"kappa": "0/1"},
        {"taps": text(y - Fraction(1, 100))},
        {"taps": "0/1"},
        {"outputs": text(x - Fraction(1, 200))},
        {"outputs": "1/1000", "inputs": "1/1000"},
        {"outputs": "3/2"},
        {"inputs": text(1 - x)},
        {"inputs": "12345/23456"},
        {"inputs": made["window"]["inputs"] + "0"},
        {"pixels": "1/2"},
    ]
    for change in forged:
        _refused(made, lambda d, change=change: d["window"].update(change))
    for key in ("outputs", "taps", "inputs", "kappa"):
        _refused(made, lambda d, key=key: d["window"].pop(key))
    _refused(made, lambda d: d.pop("window"))
    _refused(made, lambda d: d["segment"].update(U_full=d["segment"]["U_full"] - 1))
    _refused(made, lambda d: d["segment"].update(n=d["segment"]["n"] + 1))
    _refused(made, lambda d: d["segment"].update(operations=d["segment"]["operations"] + 1))
    _refused(made, lambda d: d["claims"].update(loads_words=d["claims"]["loads_words"] + 1))
    _refused(made, lambda d: d.update(maps=[_size_map(d)]))
    _refused(made, lambda d: d["workload"]["extents"].update(r=5))
    other = json.loads(
        json.dumps(best(parse_workload("C[i,j] += A[i,k]*B[k,j]", dict.fromkeys("ijk", 50)), 64).certificate)
    )
    _refused(other, lambda d: d.update(window=made["window"], maps=[], families=[]))


def _size_map(document):
    width = len(document["dims"])
    row = [int(d == "k") for d in document["dims"]]
    assert len(row) == width
    return {"name": "z", "kind": "size", "matrix": [row], "exponent": "1/2", "size": 64, "of": {"dim": "k"}}


def _refused(document, change):
    forged = copy.deepcopy(document)
    change(forged)
    forged["digest"] = digest(forged)
    with pytest.raises(RefusedError):
        check_document(forged)


def test_the_bound_reaches_answers():
    report = api.bound(library.workload("resnet18/R2"), memory="1024w")
    methods = {bound.method: bound.total_words for bound in report.outermost.bounds}
    assert methods["halo"] == methods["best"] == max(methods.values())
    assert report.outermost.best.method == "best"
    assert "kappa" in json.dumps(report.certificate)
