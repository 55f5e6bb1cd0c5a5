"""No schedule moves fewer words than a bound, and the product inequality behind it holds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import bounds_attack
import numpy as np
import pytest
from bounds_oracles import element, exact_loads, found_loads, least_memory, points, random_workload, template_workload
from cases import cases, some

from optmap.bounds import (
    DimDigit,
    LinearMap,
    MapSystem,
    bounds,
    compulsory_loads,
    map_system,
    output_count,
    polytopes,
    ranked_proofs,
    tensor_counts,
)
from optmap.solvers import VertexFinder
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

CHUNKS = 8
INSTANCES = cases(30, 250)


def bound(workload: Workload, memory: int) -> int:
    """The larger of compulsory loads and the segment argument, which must hold on its own, too."""
    return max(compulsory_loads(workload), argued_loads(workload, memory))


def argued_loads(workload: Workload, memory: int) -> int:
    """Loads of the strongest segment argument; 0 without one."""
    return max((proof.loads_words for proof in ranked_proofs(workload, memory, beat=0)), default=0)


@pytest.mark.parametrize("seed", some(2, range(CHUNKS)))
def test_no_simulated_schedule_beats_the_bound(seed):
    rng = random.Random(seed)
    done = argued = 0
    while done < INSTANCES:
        workload = random_workload(rng) if rng.random() < 0.1 else template_workload(rng)
        least = least_memory(workload)
        for memory in (least, *(least + rng.randint(1, top) for top in (4, 8, 12, 20, 30))):
            proved, forced = argued_loads(workload, memory), compulsory_loads(workload)
            claimed = max(forced, proved)
            argued += proved > forced
            steps = 40 if done % 10 == 0 else 0
            found = found_loads(workload, memory, rng, tries=3, steps=steps)
            assert claimed <= found, (workload.expression, workload.extents, memory, claimed)
            done += 1
    assert argued > INSTANCES // 20  # the segment argument was at work, not only compulsory traffic


@pytest.mark.parametrize("seed", some(1, range(4)))
def test_the_exact_optimum_of_tiny_instances_is_never_below_the_bound(seed):
    rng = random.Random(100 + seed)
    met = 0
    for _ in range(30):
        workload = _tiny(rng)
        least = least_memory(workload)
        for memory in (least, least + 1):
            optimum, claimed = exact_loads(workload, memory), bound(workload, memory)
            assert claimed <= optimum, (workload.expression, workload.extents, memory)
            met += claimed == optimum
    assert met >= 20  # most tiny instances are tight


def _tiny(rng: random.Random) -> Workload:
    """At most six operations on at most eight elements, so that every cache content can be visited."""
    while True:
        make = template_workload if rng.random() < 0.7 else random_workload
        workload = make(rng, longest=3, most=6)
        if sum(count.elements for count in tensor_counts(workload).values()) <= 8:
            return workload


def _lifted(system: MapSystem, point: dict[str, int]) -> list[int]:
    values = {DimDigit(d): x for d, x in point.items()}
    for lift in system.space.lifts:
        value = values.pop(lift.digit)
        values[lift.high], values[lift.low] = divmod(value, lift.modulus)
    return [values[d] for d in system.dims]


def _labels(system: MapSystem, linear: LinearMap, domain: list[dict[str, int]]) -> list[int]:
    """A number per point, equal where the map's values are."""
    images = [tuple(np.dot(row, _lifted(system, p)) for row in linear.matrix) for p in domain]
    names = {image: i for i, image in enumerate(sorted(set(images)))}
    return [names[image] for image in images]


def _image_sizes(labels: list[int]) -> np.ndarray:
    """Image points of every subset of the domain; bit i of the subset's number is point i."""
    union = np.zeros(1, dtype=np.uint64)
    for label in labels:
        union = np.concatenate([union, union | np.uint64(1 << label)])
    return np.bitwise_count(union)


def _small_domains() -> Iterator[Workload]:
    rng = random.Random(7)
    for _ in range(70):
        yield template_workload(rng, longest=5, most=14)
    for _ in range(30):
        yield random_workload(rng, longest=5, most=14)


def test_the_product_inequality_holds_on_every_subset_of_small_domains():
    rng = random.Random(3)
    checked = 0
    for workload in _small_domains():
        system = map_system(workload)
        if not system.dims:
            continue
        domain = points(workload)
        logs = np.array([np.log(np.maximum(_image_sizes(_labels(system, m, domain)), 1)) for m in system.maps])
        volume = np.log(np.maximum(_image_sizes(list(range(len(domain)))), 1))
        for polytope in polytopes(system):
            finder = VertexFinder(rows=polytope.rows, columns=len(polytope.allowed))
            for _ in range(3):
                cost = np.array([rng.random() + 0.05 for _ in polytope.allowed])
                exponents = finder.vertex(cost)
                right = exponents @ logs[list(polytope.allowed)]
                assert np.all(volume[1:] <= right[1:] + 1e-9), (workload.expression, workload.extents)
                checked += 1
    assert checked > 300


def test_lifted_images_are_the_touched_elements_and_sizes_are_exact():
    for workload in _small_domains():
        system = map_system(workload)
        domain = points(workload)
        for linear in system.maps if system.dims else ():
            labels = _labels(system, linear, domain)
            if linear.tensor is None:
                assert len(set(labels)) <= linear.size
            else:
                access = workload.tensors[linear.access]
                elements = [element(access, p) for p in domain]
                pairs = set(zip(labels, elements, strict=True))
                assert len(pairs) == len(set(labels)) == len(set(elements))


def test_counts_of_touched_elements_are_exact_where_enumerated():
    rng = random.Random(11)
    for _ in range(300):
        workload = random_workload(rng)
        domain = points(workload)
        for name, count in tensor_counts(workload).items():
            touched = {element(t, p) for t in workload.tensors if t.name == name for p in domain}
            assert count.elements == len(touched)
        assert output_count(workload).elements == len({element(workload.output, p) for p in domain})


def test_large_unions_are_never_overstated():
    separate = parse_workload("O[i] += A[2*i] * A[2*i+1]", {"i": 10**6})
    assert tensor_counts(separate)["A"].elements == 2 * 10**6
    overlapping = parse_workload("O[i] += A[i] * A[i+1]", {"i": 10**6})
    assert tensor_counts(overlapping)["A"].elements == 10**6
    apart = parse_workload("O[i] += A[i] * A[i+1000000]", {"i": 10**6})
    assert tensor_counts(apart)["A"].elements == 2 * 10**6
    diagonal = parse_workload("O[i] += A[i,i]", {"i": 10**6})
    assert tensor_counts(diagonal)["A"].elements == 10**6
    skewed = parse_workload("O[i,j] += A[i,i+j]", {"i": 1000, "j": 1000})
    assert tensor_counts(skewed)["A"].elements == 10**6


NESTED = [
    ("O[b] += A[2*b+c,4*b+c]", {"b": 3, "c": 7}, 9, 24),  # 24 words are touched, each is loaded once
    ("O[4*b+8*a] += A[8*b,6*a+8*b] * B[4*a+b]", {"a": 2, "b": 7}, 4, 34),  # the exact optimum
]


@pytest.mark.parametrize(("text", "extents", "memory", "optimum"), NESTED)
def test_no_method_exceeds_the_optimum_where_a_digit_is_cut_again(text, extents, memory, optimum):
    workload = parse_workload(text, extents)
    assert {bound.method: bound.loads_words for bound in bounds(workload, memory) if bound.loads_words > optimum} == {}


def test_digits_cut_again_lift_the_bound_above_compulsory_traffic():
    nested = parse_workload("O[k,x] += I[c,2*x+r] * J[c,4*x+r] * K[k,c,r]", {"c": 30, "k": 30, "r": 8, "x": 30})
    assert [str(lift.digit) for lift in map_system(nested).space.lifts] == ["r", "r'"]
    assert bound(nested, 64) >= 3.39 * compulsory_loads(nested)
    small = parse_workload("O[b,k] += A[2*b+c,4*b+c] * K[c,k]", {"b": 4, "c": 5, "k": 5})
    rng = random.Random(2)
    for memory in (3, 4, 6, 8):
        assert compulsory_loads(small) < bound(small, memory) <= found_loads(small, memory, rng, tries=30, steps=0)


def test_no_schedule_beats_any_method_at_any_memory_and_no_busiest_memory_its_share(monkeypatch):
    monkeypatch.setattr(bounds_attack, "PRINTED", 0.4)
    total = bounds_attack.Trials()
    for i in range(cases(6, 8)):
        rng = random.Random(f"unit/{i}")
        make = template_workload if i % 2 else bounds_attack.attacked_workload
        total += bounds_attack.attack(make(rng, most=48), rng)
    assert total.count > 200
    assert total.printed > 5
    assert total.met > total.count // 2


def test_the_attack_sees_a_bound_that_is_one_word_too_large(monkeypatch):
    real = bounds_attack.strongest_segments
    monkeypatch.setattr(bounds_attack, "strongest_segments", lambda *given: real(*given) + 1)
    with pytest.raises(bounds_attack.BeatenError, match="claimed by best"):
        _attack_templates(40)


def _attack_templates(count: int) -> None:
    for i in range(count):
        rng = random.Random(i)
        bounds_attack.attack(template_workload(rng, most=48), rng)


def test_repeated_tensors_share_one_exponent_sum():
    workload = parse_workload("C[i,j] += A[i,k] * A[j,k]", {"i": 2, "j": 3, "k": 2})
    assert bound(workload, 8) <= 12
    proof, *_ = ranked_proofs(workload, 4, beat=0)
    sums = [s for s in proof.exponents.values() if s > 0]
    assert all(isinstance(s, Fraction) for s in sums)
    assert proof.loads_words <= 12
