"""Bounds do not depend on names and order."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from bounds_attack import attacked_workload
from bounds_oracles import least_memory, template_workload
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.bounds.canonical import canonical_form
from optmap.bounds.compulsory import tensor_counts
from optmap.bounds.methods import bounds
from optmap.checker import check_document
from optmap.problem import Axis, TensorAccess, Workload, parse_workload


def shuffled(workload: Workload, rng: random.Random) -> Workload:
    """The same computation with other names, and inputs, dims, subscripts and terms in another order."""
    pool = [f"{c}{n}" for c in "qzA" for n in range(9)]
    dims = dict(zip(workload.dims, rng.sample(pool, len(workload.dims)), strict=True))
    ranks = {t.name: len(t.axes) for t in workload.tensors}
    names = dict(zip(ranks, rng.sample(pool, len(ranks)), strict=True))
    places = {name: rng.sample(range(n), n) for name, n in ranks.items()}

    def axis(given_axis: Axis) -> Axis:
        return replace(
            given_axis, terms=tuple((dims[d], c) for d, c in rng.sample(given_axis.terms, len(given_axis.terms)))
        )

    def access(t: TensorAccess) -> TensorAccess:
        return replace(t, name=names[t.name], axes=tuple(axis(t.axes[x]) for x in places[t.name]))

    inputs = [access(t) for t in rng.sample(workload.inputs, len(workload.inputs))]
    sizes = rng.sample([(dims[d], n) for d, n in workload.sizes], len(workload.sizes))
    return replace(workload, output=access(workload.output), inputs=tuple(inputs), sizes=tuple(sizes))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_renaming_and_reordering_change_no_bound(seed, template):
    rng = random.Random(seed)
    workload = (template_workload if template else attacked_workload)(rng, most=60)
    other = shuffled(workload, rng)
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
