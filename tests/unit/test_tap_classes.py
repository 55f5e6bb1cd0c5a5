"""Strided windows by classes of taps: every subset of small computations, counts, schedules, optima, certificates."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest
from bounds_attack import loads_of_orders, some_orders, with_ranges
from bounds_oracles import (
    element,
    exact_loads,
    exact_loads_of_one_operation,
    found_loads,
    least_memory,
    operations,
    points,
)
from cases import cases

from optmap.bounds import (
    accounting,
    bounds,
    class_operations,
    class_proofs,
    digest,
    halo_proofs,
    ranked_proofs,
    root_above,
    tensor_counts,
    weight_bound,
    weighted_classes,
    why_no_classes,
)
from optmap.bounds.best import best, certified
from optmap.checker import RefusedError, check_document
from optmap.files import library
from optmap.workloads.builders import conv2d
from optmap.workloads.forms import convolution_form
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

FORMS = (
    "O[k,x] += I[c,{}*x+{}*r] * F[k,c,r]",
    "O[x,y] += I[{}*x+{}*r,{}*y+{}*s] * F[r,s]",
    "O[k,x,y] += I[c,{}*x+{}*r,{}*y+{}*s] * F[k,c,r,s]",
    "O[n,g,x] += I[n,g,{}*x+{}*r] * F[g,r]",
    "O[g,k,x] += I[g,c,{}*x+{}*r] * F[g,k,c,r]",
)
Shape = tuple[int, ...]
Chosen = tuple[dict[Shape, tuple[Fraction, Fraction, Fraction]], dict[Shape, int]]


def strided_workload(rng: random.Random, *, most: int, least: int = 6, text: str = "") -> Workload:
    """A small convolution with classes of several shapes, some of several words an element, some padded."""
    while True:
        form = text or rng.choice(FORMS)
        steps = itertools.chain.from_iterable(
            rng.choice([(2, 1), (2, 1), (3, 1), (2, 3), (4, 2), (1, 1), (1, 2), (3, 2)]) for _ in range(4)
        )
        written = form.format(*steps)
        sizes = {d: rng.choice([1, 1, 2, 2, 3, 4]) for d in "kcgn"} | {d: rng.randint(1, 5) for d in "xy"}
        sizes |= {d: rng.choice([2, 3, 3, 4, 5, 7]) for d in "rs"}
        extents = {d: n for d, n in sizes.items() if f"{d}," in written or f"{d}]" in written or f"{d}+" in written}
        elements = {c: rng.choice([1, 1, 2, 4]) for c in "OIF"} if rng.random() < 0.3 else 4
        workload = parse_workload(written, extents, bytes=elements).with_semantics(rng.choice(list(Semantics)))
        if least <= workload.operations <= most and why_no_classes(workload) is None:
            return (with_ranges(workload, rng, share=0.4) or workload) if rng.random() < 0.3 else workload


def shape_of(workload: Workload, point: dict[str, int]) -> Shape:
    """Numbers of taps that share the residues of an operation's taps."""
    form = convolution_form(workload)
    return tuple(
        sorted(
            n for w in form.windows if (n := len(range(point[w.tap] % w.stride, workload.extents[w.tap], w.stride))) > 1
        )
    )


def some_choice(rng: random.Random, shapes: set[Shape]) -> Chosen:
    """Exponents and weights per shape, most of them where proofs are."""

    def powers() -> tuple[Fraction, Fraction, Fraction]:
        while True:
            q = rng.choice([6, 12, 30, 47])
            x, z = (Fraction(rng.randint(q // 4, q), q) for _ in range(2))
            y = rng.choice([1 - x, 1 - z, Fraction(rng.randint(1, q), q)])
            if 0 < y <= 1 <= x + y + z:
                return x, y, z

    same = powers()
    chosen = {shape: same if rng.random() < 0.3 else powers() for shape in shapes}
    return chosen, {shape: rng.choice([1, 5, rng.randint(500, 1000)]) for shape in shapes}


class Sets:
    """Sets of operations of a small computation: what they touch, and what they weigh."""

    def __init__(self, workload: Workload) -> None:
        self.workload, self.ops = workload, points(workload)
        self.shapes = [shape_of(workload, point) for point in self.ops]
        words = sorted({(t.name, element(t, p)) for t in workload.tensors for p in self.ops})
        place = {word: i for i, word in enumerate(words)}
        self.touched = np.zeros((len(self.ops), len(words)), dtype=np.int64)
        for row, point in zip(self.touched, self.ops, strict=True):
            row[[place[t.name, element(t, point)] for t in workload.tensors]] = 1
        weights = accounting(workload, 1).weights
        self.units = np.array([weights[name] for name, _ in words])

    def every(self) -> tuple[np.ndarray, np.ndarray]:
        """Membership of all subsets that are not empty, and the units that each touches."""
        inside = (np.arange(1, 1 << len(self.ops))[:, None] >> np.arange(len(self.ops))) & 1
        return inside, (inside @ self.touched > 0) @ self.units

    def allowed(self, choice: Chosen) -> np.ndarray:
        """The weight that 0, 1, ... units allow."""
        classes, _ = weighted_classes(self.workload, accounting(self.workload, 1), *choice)
        bound = weight_bound(classes)
        return np.array([bound(k) for k in range(int(self.units.sum()) + 1)])

    def walk(self, choice: Chosen, rng: random.Random, steps: int) -> float:
        """Sets that grow and shrink towards more weight than is allowed; how near they came."""
        allowed, weights = self.allowed(choice), [choice[1][shape] for shape in self.shapes]
        count, weight, inside, nearest, last = np.zeros_like(self.units), 0, set[int](), 0.0, 0.0
        for _ in range(steps):
            i = rng.randrange(len(self.ops))
            sign = -1 if i in inside else 1
            count, weight, inside = count + sign * self.touched[i], weight + sign * weights[i], inside ^ {i}
            units = int((count > 0) @ self.units)
            assert weight <= allowed[units], (self.workload.expression, self.workload.extents, choice, inside)
            near = weight / max(int(allowed[units]), 1)
            if inside and near < last - rng.expovariate(20):
                count, weight, inside = count - sign * self.touched[i], weight - sign * weights[i], inside ^ {i}
            else:
                last = near
            nearest = max(nearest, near)
        return nearest


def test_no_set_of_operations_weighs_more_than_its_words_allow() -> None:
    rng, tight, tried = random.Random(4), 0, 0
    for _ in range(24):
        sets = Sets(strided_workload(rng, most=12))
        inside, units = sets.every()
        for _ in range(6):
            choice = some_choice(rng, set(sets.shapes))
            weight = inside @ np.array([choice[1][shape] for shape in sets.shapes])
            slack = sets.allowed(choice)[units] - weight
            assert slack.min() >= 0, (sets.workload.expression, sets.workload.extents, choice)
            tight, tried = tight + int((slack == 0).sum()), tried + len(slack)
    assert tried > 50_000
    assert tight > 100  # sets that weigh all that is allowed


def test_the_sets_see_a_weight_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = Sets(parse_workload("O[x] += I[2*x+r] * F[r]", {"x": 3, "r": 3}))
    inside, units = sets.every()
    half = Fraction(1, 2)
    chosen = {(): (half, half, half), (2,): (Fraction(2, 3), Fraction(1, 3), Fraction(2, 3))}
    weights = {(): 100, (2,): 100}
    weight = inside @ np.array([weights[shape] for shape in sets.shapes])
    assert (weight <= sets.allowed((chosen, weights))[units]).all()
    monkeypatch.setattr("optmap.bounds.windows.tap_classes.class_kappa", lambda *_: Fraction(9, 10))
    assert (weight > sets.allowed((chosen, weights))[units]).any()


def test_sets_that_grow_towards_more_weight_stay_below() -> None:
    rng = random.Random(9)
    near = []
    for _ in range(8):
        sets = Sets(strided_workload(rng, least=40, most=120))
        near.append(sets.walk(some_choice(rng, set(sets.shapes)), rng, 400))
    assert max(near) > 0.6


def test_operations_of_classes_are_counted_as_they_are_done() -> None:
    rng, padded = random.Random(2), 0
    for _ in range(40):
        workload = strided_workload(rng, most=200)
        counted = Counter(shape_of(workload, point) for point in points(workload))
        found = class_operations(workload, convolution_form(workload))
        assert {shape: n for shape, n in found.items() if n} == counted
        padded += sum(counted.values()) < workload.operations
    assert padded > 3
    padded_layer = conv2d(c=2, h=9, w=8, r=3, s=3, k=3, stride=2, padding="same").with_padding("implicit")
    assert class_operations(padded_layer, convolution_form(padded_layer)) == Counter(
        shape_of(padded_layer, point) for point in points(padded_layer)
    )


def test_exact_optima_are_never_below() -> None:
    rng, tight = random.Random(6), 0
    for _ in range(8):
        workload = strided_workload(rng, most=8, least=4)
        if sum(t.footprint(workload.extents) for t in workload.tensors) > 10:
            continue
        for memory in range(least_memory(workload), least_memory(workload) + 2):
            optimum = exact_loads(workload, memory)
            for proof in class_proofs(workload, memory, beat=0):
                assert proof.loads_words <= optimum, (workload.expression, workload.extents, memory)
                tight += proof.loads_words >= optimum - 2
    assert tight


@pytest.mark.parametrize(
    ("text", "shape", "compulsory", "proved", "optimum"),
    [
        ("O[k,x] += I[c,2*x+r] * F[k,c,r]", (2, 2, 1, 3), 15, 16, 25),
        ("O[k,x] += I[c,2*x+r] * F[k,c,r]", (2, 3, 1, 3), 19, 22, 37),
        ("O[k,x] += I[c,3*x+r] * F[k,c,r]", (2, 2, 1, 4), 19, 21, 33),
        ("O[x,y] += I[2*x+r,2*y+s] * F[r,s]", (3, 1, 5, 1), 17, 18, 31),
    ],
)
def test_exact_optima_beyond_compulsory_loads_are_never_below(
    text: str, shape: tuple[int, ...], compulsory: int, proved: int, optimum: int
) -> None:
    """Where the bound is more than that every word is loaded: all orders of the operations, in the least memory."""
    dims = list(dict.fromkeys(re.findall(r"[kxycrs]", text)))
    workload = parse_workload(text, dict(zip(dims, shape, strict=True)))
    words = {word for op in operations(workload, points(workload)) for word in op}
    assert len(words) == compulsory
    assert exact_loads_of_one_operation(workload) == optimum
    assert proved <= max(proof.loads_words for proof in class_proofs(workload, 3, beat=0)) <= optimum


def test_all_orders_in_the_least_memory_are_all_schedules() -> None:
    for text, shape in (("O[k,x] += I[2*x+r] * F[k,r]", (1, 2, 3)), ("C[i,j] += A[i,k] * B[k,j]", (2, 2, 1))):
        dims = list(dict.fromkeys(re.findall(r"[kxrij]", text)))
        workload = parse_workload(text, dict(zip(dims, shape, strict=True)))
        assert exact_loads_of_one_operation(workload) == exact_loads(workload, 3)


def test_no_schedule_loads_less() -> None:
    rng = random.Random(7)
    assert sum(attack(strided_workload(rng, least=24, most=72), rng, 18) for _ in range(cases(2, 5))) > cases(240, 600)


def attack(workload: Workload, rng: random.Random, count: int = 24) -> int:
    """Trials: a bound against a schedule with optimal replacement, at many memories."""
    first = least_memory(workload)
    largest = sum(workload.weight(t) * t.footprint(workload.extents) for t in workload.tensors)
    memories = sorted({min(largest, first + i) for i in (*range(8), 12, 16, 24, 32)})
    loads = loads_of_orders(workload, some_orders(workload, rng, count), memories)
    trials = 0
    for at, memory in enumerate(memories):
        proofs = class_proofs(workload, memory, beat=0)
        assert all(proof.loads_words <= loads[:, at].min() for proof in proofs), (workload.expression, workload.extents)
        trials += count * len(proofs)
    return trials


def test_no_improved_schedule_loads_less() -> None:
    rng = random.Random(3)
    workload = parse_workload("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 3, "c": 2, "x": 5, "r": 3})
    gaps = []
    for memory in (6, 9, 12):
        found = found_loads(workload, memory, rng, 40, 150)
        proved = class_proofs(workload, memory, beat=0)[0].loads_words
        assert proved <= found
        gaps.append(found / proved)
    assert min(gaps) < 1.6


@pytest.mark.parametrize(
    ("layer", "memory", "least", "found"),
    [
        ("resnet18/R4", 1024, 2_424_000, 2_773_760),
        ("resnet18/R4", 4096, 1_202_000, 1_432_832),
        ("resnet18/R7", 4096, 1_202_000, 1_419_520),
        ("resnet18/R10", 4096, 1_479_000, 1_607_936),
        ("resnet18/R1", 1024, 2_392_000, 3_079_627),
        ("resnet18/R1", 4096, 1_142_000, 1_325_413),
        ("mobilenet/M6d", 4096, 2_400_000, 2_788_864),
    ],
)
def test_strided_layers_gain(layer: str, memory: int, least: int, found: int) -> None:
    workload = library.workload(layer)
    bound = best(workload, memory)
    assert least <= bound.loads_words <= found
    assert bound.certificate is not None
    assert check_document(bound.certificate).verified
    before = [*ranked_proofs(workload, memory), *halo_proofs(workload, memory)]
    assert all(proof.loads_words < bound.loads_words for proof in before)


def test_a_method_that_promises_less_does_not_hide_classes_kept_apart() -> None:
    workload, memory = library.workload("quickflow/IX"), 400
    every = max(proof.loads_words for proof in class_proofs(workload, memory))
    assert best(workload, memory).loads_words >= every


def test_the_halo_method_knows_them_and_says_how() -> None:
    workload = parse_workload("O[k,x] += I[c,2*x+3*r] * F[k,c,r]", {"k": 40, "c": 40, "x": 60, "r": 9})
    bound = bounds(workload, 200, ["halo"])[0]
    assert "by weight" in bound.expression
    assert "4 taps: " in bound.expression
    assert all(f"of {shape} taps" in "".join(bound.exponents) for shape in (4, 5))
    assert bound.certificate is not None
    for entry in bound.certificate["classes"]:
        assert f"(weight {entry['weight']})" in bound.expression
    assert bound.loads_words > ranked_proofs(workload, 200)[0].loads_words
    for text, sizes in (
        ("O[x] += I[x+r] * F[r]", {"x": 9, "r": 3}),
        ("O[x] += I[2*x+r] * F[r]", {"x": 9, "r": 4}),
        ("O[x] += I[3*x+r] * F[r]", {"x": 9, "r": 2}),
    ):
        assert "one shape" in str(why_no_classes(parse_workload(text, sizes)))
    assert "dims" in str(why_no_classes(parse_workload("C[i,j] += A[i,k] * B[k,j]", dict.fromkeys("ijk", 3))))


def made(semantics: str = "accumulate", *, padded: bool = False) -> dict[str, Any]:
    workload = conv2d(c=12, h=20, w=20, r=3, s=3, k=14, stride=2).with_semantics(semantics)
    workload = workload.with_padding("implicit") if padded else workload
    document = certified("best", workload, 60, class_proofs(workload, 60)).certificate
    assert document is not None
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]


def refusal(document: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> str:
    forged = copy.deepcopy(document)
    change(forged)
    forged["digest"] = digest({key: value for key, value in forged.items() if key != "digest"})
    try:
        check_document(forged)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("semantics", list(Semantics))
def test_forged_classes_are_refused(semantics: Semantics, *, padded: bool) -> None:
    document = made(semantics, padded=padded)
    assert "classes" in document
    assert refusal(document, lambda _: None) == ""
    for at, entry in enumerate(document["classes"]):
        kappa, x, y = (Fraction(entry[key]) for key in ("kappa", "outputs", "taps"))
        changes = [
            {"weight": entry["weight"] + 1},
            {"weight": entry["weight"] - 1},
            {"weight": 0},
            {"kappa": str(Fraction(kappa * Fraction(99, 100)))},
            {"kappa": "0/1"},
            {"outputs": "1/1000", "inputs": "1/1000"},
            {"outputs": str(x - Fraction(1, 200))},
            {"taps": str(y - Fraction(1, 200))},
            {"inputs": "3/2"},
            {"inputs": "12345/23456"},
            {"shape": [5]},
            {"shape": [*entry["shape"], 1]},
            {"more": 1},
        ]
        for change in changes:
            assert refusal(document, lambda d, at=at, change=change: d["classes"][at].update(change)), change
        assert refusal(document, lambda d, at=at: d["classes"].pop(at))
        assert refusal(document, lambda d, at=at: d["classes"].append(d["classes"][at]))
    for key in ("operations", "U_full", "U_last", "n", "t", "cost_units", "loads_words"):
        for by in (1, -1):
            assert refusal(document, lambda d, key=key, by=by: d["segment"].update({key: d["segment"][key] + by})), key
    assert refusal(document, lambda d: d.pop("classes"))
    assert refusal(document, lambda d: d.update(segment=None))
    assert refusal(document, lambda d: d.update(classes=[]))


def test_other_statements_have_no_classes() -> None:
    document = made()
    matmul = json.loads(
        json.dumps(best(parse_workload("C[i,j] += A[i,k]*B[k,j]", dict.fromkeys("ijk", 50)), 64).certificate)
    )
    reason = refusal(matmul, lambda d: d.update(classes=document["classes"], maps=[], families=[]))
    assert "slides under a window" in reason
    assert "beside classes" in refusal(document, lambda d: d.update(families=matmul["families"]))


def test_roots_are_rounded_up() -> None:
    for n, q in itertools.product([1, 2, 7, 8, 9, 10**30, 10**30 + 1], [1, 2, 3, 10]):
        r = root_above(n, q)
        assert (r - 1) ** q < n <= r**q


def test_many_classes_and_huge_extents_are_bounded() -> None:
    wide = parse_workload("O[k,x] += I[c,1000*x+r] * F[k,c,r]", {"k": 64, "c": 64, "x": 500, "r": 2001})
    assert class_proofs(wide, 1024)[0].loads_words > 0
    huge = parse_workload("O[k,x] += I[c,3*x+r] * F[k,c,r]", {"k": 2**40, "c": 2**40, "x": 2**41, "r": 2**20 + 1})
    proof = class_proofs(huge, 2**30)[0]
    assert proof.loads_words > prod((2**40, 2**40))
    assert sum(count.elements for count in tensor_counts(huge).values()) < proof.loads_words
