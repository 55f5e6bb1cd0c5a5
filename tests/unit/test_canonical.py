"""Bounds and relaxations do not depend on names and order."""

from __future__ import annotations

import itertools
import random

import pytest
from bounds_attack import attacked_workload
from bounds_oracles import least_memory, template_workload
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import renamed

from optmap import api
from optmap.bounds import bounds, tensor_counts
from optmap.checker import check_document
from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.search import Setting
from optmap.search.relax.tree import relax
from optmap.workloads.amounts import Capacity
from optmap.workloads.canonical import canonical_form, in_common_order
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_bandwidth
from optmap.workloads.workload import access_names


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_renaming_and_reordering_change_no_bound(seed, template):
    rng = random.Random(seed)
    workload = (template_workload if template else attacked_workload)(rng, most=60)
    other = renamed(workload, rng)
    assert canonical_form(workload).workload == canonical_form(other).workload
    memory = least_memory(workload) + rng.randint(0, 12)
    ours, theirs = bounds(workload, memory), bounds(other, memory)
    assert [(b.method, b.loads_words, b.stores_words) for b in ours] == [
        (b.method, b.loads_words, b.stores_words) for b in theirs
    ]
    assert sorted(ours[-1].exponents.values()) == sorted(theirs[-1].exponents.values())
    for bound in (ours[-1], theirs[-1]):
        check_document(bound.certificate)


@pytest.mark.parametrize("order", list(itertools.permutations(["I[x+r]", "J[x+q]", "K[r,q]"])), ids=" ".join)
def test_every_order_of_inputs_has_the_stronger_bound(order):
    workload = parse_workload(f"O[x] += {' * '.join(order)}", {"x": 40, "r": 8, "q": 9})
    assert bounds(workload, 40, ["best"])[0].loads_words == 256


def test_interchangeable_dims_need_no_search():
    dims = "abcdefghijklmnopqrs"
    text = "C[a,b,c,d,e,f,g,h,i,j,k,l] += A[a,b,c,d,e,f,m,n,o,p,q,r,s] * B[m,n,o,p,q,r,s,g,h,i,j,k,l]"
    form = canonical_form(parse_workload(text, dict.fromkeys(dims, 4)))
    assert sorted(form.dims.values()) == list(dims)
    assert form.accesses[0] == 0


@settings(max_examples=cases(10, 20), deadline=None)
@given(st.integers(0, 2**32))
def test_common_order_is_that_of_every_renaming(seed):
    rng = random.Random(seed)
    workload = attacked_workload(rng, most=60)
    mine, theirs = in_common_order(workload), in_common_order(renamed(workload, rng))
    assert [n for _, n in mine.sizes] == [n for _, n in theirs.sizes]
    assert dict(mine.sizes) == workload.extents
    numbers = [{d: i for i, d in enumerate(each.dims)} for each in (mine, theirs)]
    forms = [
        [sorted(sorted((number[d], c) for d, c in axis.terms) for axis in t.axes) for t in each.tensors]
        for each, number in zip((mine, theirs), numbers, strict=True)
    ]
    assert sorted(forms[0][1:]) == sorted(forms[1][1:])
    assert forms[0][0] == forms[1][0]
    if len({t.name for t in workload.tensors}) == len(workload.tensors):
        assert forms[0] == forms[1]


def test_common_order_keeps_names_of_accesses_and_images():
    layer = library.workload("mobilenet/M3")
    swapped = layer.with_accesses([layer.output, *layer.inputs[::-1]], image=(layer.image[0], *layer.image[:0:-1]))
    assert in_common_order(layer) == in_common_order(swapped)
    assert in_common_order(layer).image == in_common_order(swapped).image
    assert in_common_order(swapped).with_padding("implicit") == in_common_order(layer.with_padding("implicit"))
    twice = parse_workload("C[i,j] += B[j,k]*A[k,i]*B[k,i]*A[j,k]", {"i": 3, "j": 3, "k": 3})
    names = dict(zip(access_names(twice), twice.tensors, strict=True))
    other = in_common_order(twice)
    assert dict(zip(access_names(other), other.tensors, strict=True)) == names


def test_symmetries_of_several_dims_at_once_meet_in_one_form():
    first = parse_workload("O[h,w] += I[h+r,w+s] * K[r,s]", {"h": 8, "w": 8, "r": 3, "s": 3})
    other = parse_workload("O[a,b] += K[d,c] * J[b+d,a+c]", {"c": 3, "b": 8, "a": 8, "d": 3})
    assert canonical_form(first).workload == canonical_form(other).workload
    swapped = parse_workload("O[h,w] += I[h+s,w+r] * K[r,s]", {"h": 8, "w": 8, "r": 3, "s": 3})
    assert canonical_form(first).workload == canonical_form(swapped).workload
    different = parse_workload("O[h,w] += I[h+r,w+s] * K[r,s]", {"h": 8, "w": 8, "r": 3, "s": 4})
    assert canonical_form(first).workload != canonical_form(different).workload


def test_parts_of_a_large_union_are_chosen_in_every_combination():
    # The middle one meets both others, which never meet: the order in which equal sizes come must not matter.
    accesses = ["A[i]", "A[i+60000]", "A[i+120000]"]
    for order in itertools.permutations(accesses):
        workload = parse_workload(f"O[i] += {' * '.join(order)}", {"i": 100_000})
        assert tensor_counts(workload)["A"].elements == 200_000


@pytest.mark.parametrize(
    ("statement", "extents", "words"),
    [
        # Equal extents: which of the two dims of a subscript is fixed.
        ("O[a+3*b] += B[2*a+b]", {"a": 5, "b": 5}, 9),
        # A dim in several subscripts: in which of them it counts.
        ("O[4*d+3*c] += A[3*b,a+d]*B[4*d,b]*C[3*b+2*d+4*a,a+3*b,c+3*b]", {"a": 3, "b": 2, "c": 3, "d": 3}, 20),
        ("O[b,a] += A[b+c,4*b,b]*B[b+a]*A[c+4*b,0,4*b]", {"a": 3, "b": 2, "c": 2}, 14),
    ],
)
def test_renaming_and_reordering_change_no_relaxation(statement, extents, words):
    workload = parse_workload(statement, extents)
    level = Level(name="L", capacity=Capacity(amount=words, unit="words"), bandwidth=parse_bandwidth("1w", None))
    machine = Machine(name="m", levels=(level,), memory="M")
    first, *others = (
        relax(Setting(workload=made, machine=machine, rule=CapacityRule.TILE)).bound
        for made in (workload, *(renamed(workload, random.Random(seed)) for seed in range(6)))
    )
    assert others == pytest.approx([first] * 6, rel=1e-5)


def test_a_sum_over_levels_counts_the_optimum_of_every_level():
    workload = parse_workload("O[] += A[b,b,2*b]*B[3*a]*A[3*c+3*a,c+b,4*b]", {"a": 2, "b": 2, "c": 2})
    sizes = {"L0": (5, "3/4w"), "L1": (25, "7w"), "L2": (50, "2w")}
    levels = (
        Level(name=name, capacity=Capacity(amount=words, unit="words"), bandwidth=parse_bandwidth(rate, None))
        for name, (words, rate) in sizes.items()
    )
    machine = Machine(name="m", levels=tuple(levels), memory="M")
    asked = (workload, *(renamed(workload, random.Random(seed)) for seed in range(3)))
    values = [api.solve(made, machine=machine, method="iooub").relaxation.value for made in asked]
    values.append(api.solve(workload, machine=machine, method="iooub", solver="ipopt").relaxation.value)
    assert values == pytest.approx([values[0]] * 5, rel=1e-5)
