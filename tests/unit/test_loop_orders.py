"""Dataflow classes: counts, sizes, proofs, and what dominance promises, against enumeration."""

import random
import subprocess
import sys
from itertools import pairwise, permutations
from math import factorial, prod

import pytest
import sympy
from cases import cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import workloads

from optmap.base.errors import CheckError
from optmap.loop_orders import DimMasks, dataflow_classes, equivalence_classes, prove, structure_of
from optmap.machines.machine import CapacityRule
from optmap.mappings.reuse import dataflow, rooms_at, safe_working_set
from optmap.symbolic import axis_values, extent, tensor_traffic, tile
from optmap.workloads.axes import overlaps
from optmap.workloads.builders import conv2d, matmul, mttkrp
from optmap.workloads.parser import parse_workload

CNN = conv2d(n=2, k=8, c=8, h=8, w=8, r=3, s=3)
STRIDED = conv2d(n=2, k=8, c=8, h=16, w=16, r=3, s=3, stride=2)
DILATED = conv2d(n=2, k=8, c=8, h=16, w=16, r=3, s=3, stride=3, dilation=2)
DEPTHWISE = conv2d(n=2, c=8, h=8, w=8, r=3, s=3, depthwise=True)
CONV1D = parse_workload("O[f,x] += I[c,x+w]*K[f,w,c]", {"f": 4, "x": 8, "w": 3, "c": 4})
NO_BATCH = parse_workload("O[k,h,w] += I[c,h+r,w+s]*F[k,c,r,s]", dict.fromkeys("kcrshw", 4))
GROUPED = conv2d(n=2, c=8, k=8, groups=2, h=8, w=8, r=3, s=3)
TEN_DIMS = parse_workload("O[a,b,c,d,e] += A[a,b,f,g,h,i]*B[c,d,e,f,g,j]*C[e,h,i,j]", dict.fromkeys("abcdefghij", 2))


@pytest.mark.parametrize(
    ("work", "kept", "equivalent"),
    [
        (CNN, 8, 29),
        (STRIDED, 8, 29),
        (DILATED, 8, 29),
        (NO_BATCH, 8, 21),
        (matmul(i=4, j=4, k=4), 3, 3),
        (DEPTHWISE, 4, None),
        (mttkrp(i=4, j=4, k=4, l=4), 7, None),
        (CONV1D, 4, None),
    ],
    ids=["cnn", "strided", "dilated", "no batch", "matmul", "depthwise", "mttkrp", "conv1d"],
)
def test_how_many_classes(work, kept, equivalent):
    found = dataflow_classes(work)
    assert len(found.classes) == kept
    assert len(found.classes) + len(found.dominated) == found.equivalence_classes
    assert equivalent in (None, found.equivalence_classes)
    assert found.permutations == factorial(len(work.dims))


def test_the_eight_classes_of_a_convolution_in_mopt_notation():
    found = {(frozenset(c.bands[0]), *c.bands[1:]): c.size for c in dataflow_classes(CNN).classes}
    assert found == {
        (frozenset("kcrs"), ("n", "h"), ("w",)): 48,
        (frozenset("kcrs"), ("n", "w"), ("h",)): 48,
        (frozenset("nkhw"), ("c", "r"), ("s",)): 48,
        (frozenset("nkhw"), ("c", "s"), ("r",)): 48,
        (frozenset("nchrs"), ("w",), ("k",)): 120,
        (frozenset("ncwrs"), ("h",), ("k",)): 120,
        (frozenset("nchwr"), ("s",), ("k",)): 120,
        (frozenset("nchws"), ("r",), ("k",)): 120,
    }
    assert dataflow_classes(CNN).classes[0].notation == "<{k,c,r,s},{n,h},w>"


@pytest.mark.parametrize("work", [GROUPED, TEN_DIMS], ids=["8 dims", "10 dims"])
def test_many_dims(work):
    found = dataflow_classes(work)
    assert found.permutations == factorial(len(work.dims))
    assert len(found.classes) + len(found.dominated) == found.equivalence_classes
    for member in found.classes:
        assert sorted(member.representative) == sorted(work.dims)


def signature(work, order):
    """The definition of equivalence, written down once more."""
    return tuple(
        (flow.free, flow.at if flow.at is not None and overlaps(tensor, flow.at) else None)
        for tensor, flow in zip(work.tensors, dataflow(work, order), strict=True)
    )


@settings(max_examples=cases(20, 60))
@given(workloads(max_extent=3))
def test_classes_partition_the_loop_orders(work):
    assume(len(work.dims) <= 6)
    counted = {}
    for order in permutations(work.dims):
        counted[signature(work, order)] = counted.get(signature(work, order), 0) + 1
    found = equivalence_classes(structure_of(work))
    assert {signature(work, c.representative): c.size for c in found} == counted


def covers(work, better, worse, rule):
    """The definition of dominance, written down once more."""
    (flows, held), (others, theirs) = better, worse
    if not all(y.free <= x.free and y.at in (None, x.at) for x, y in zip(flows, others, strict=True)):
        return False
    weight = {(1, False): 0, (1, True): 1, (2, False): 2}
    needs = [[weight[room.copies, room.along is not None] for room in rooms] for rooms in (held, theirs)]
    return rule is CapacityRule.TILE or all(
        a == b or (least < most and 0 in (least, 2 - most))
        for a, b, least, most in zip(held, theirs, *needs, strict=True)
    )


@settings(max_examples=cases(20, 60))
@given(workloads(max_extent=3), st.sampled_from(CapacityRule))
def test_exactly_the_undominated_classes_are_generated(work, rule):
    """Against every signature compared with every other one."""
    structure = structure_of(work)
    walk = DimMasks(structure)
    flows = [walk.reuses(signature) for signature in walk.all()]
    assume(len(flows) <= 400)
    whole = len(work.dims) + 1
    members = []
    for flow in flows:
        positions = tuple(len(f.free) + 1 if a.dims else whole for a, f in zip(structure.accesses, flow, strict=True))
        members.append((flow, rooms_at(positions, tuple(f.at for f in flow))))
    best = {
        worse[0]
        for worse in members
        if not any(covers(work, better, worse, rule) for better in members if better is not worse)
    }
    assert {c.signature for c in dataflow_classes(work, rule=rule).classes} == best


def chain(dims):
    """A product of matrices."""
    factors = "*".join(f"M{a}[{a},{b}]" for a, b in pairwise(dims))
    return parse_workload(f"O[{dims[0]},{dims[-1]}] += {factors}", dict.fromkeys(dims, 4))


def test_a_long_chain_of_matrices_has_its_classes_without_its_permutations():
    """40,320 loop orders in 9,824 classes, of which only those that no other dominates are made."""
    found = dataflow_classes(chain("abcdefgh"))
    assert len(found.classes) == 960
    assert found.complete
    assert found.permutations == factorial(8)
    assert sum(c.size for c in dataflow_classes(chain("abcde")).everything) == factorial(5)


def test_a_sample_of_the_classes():
    """What is asked for at most is a part of all of them, and says so."""
    everything = {c.signature for c in dataflow_classes(chain("abcdefg")).classes}
    some = dataflow_classes(chain("abcdefg"), most=20)
    assert not some.complete
    assert 0 < len(some.classes) <= 20
    assert {c.signature for c in some.classes} <= everything


@settings(max_examples=cases(13, 40))
@given(workloads(max_extent=3), st.randoms(use_true_random=False))
def test_every_order_inside_the_bands_is_a_member(work, rng):
    for member in dataflow_classes(work).classes:
        shuffled = tuple(d for band in member.bands for d in rng.sample(band, len(band)))
        assert signature(work, shuffled) == signature(work, member.representative)


def sample(work, rng, values=(1, 1, 2, 3, 4, 7), trips=(1, 1, 2, 3, 5)):
    """Tile sizes and extents that they divide, as plain integers and as a substitution."""
    size = {d: rng.choice(values) for d in work.dims}
    problem = {d: size[d] * rng.choice(trips) for d in work.dims}
    return size, problem, {tile(d): size[d] for d in size} | {extent(d): problem[d] for d in size}


def stores_and_loads(work, order):
    """Visits per tensor, in elements times weight: what a proof compares."""
    return [row.stores if row.stores != 0 else row.loads for row in tensor_traffic(work, order)]


def value(polynomial, variables):
    return sum(c * prod(variables[name] ** power for name, power in monomial) for monomial, c in polynomial)


def proof_value(work, difference, proof, size, problem):
    """The difference that a proof states, as an integer."""
    tensor = work.tensors[difference.tensor]
    axes = [axis for axis in tensor.axes if axis.terms]
    variables = {f"u_{d}": problem[d] // size[d] - 1 for d in size} | {f"v_{d}": size[d] - 1 for d in size}
    moved = [dataflow(work, order)[difference.tensor].at for order in (proof.dominating, proof.dominated)]
    for j, axis in enumerate(axes):
        dims = [d for d in moved if d in axis.dims and overlaps(tensor, d)]
        if dims:
            one, two = axis.count(size), axis.count({**size, dims[0]: 2 * size[dims[0]]})
            variables |= {f"shared_{j}": 2 * one - two, f"fresh_{j}": two - one}
    ratios = prod(problem[d] // size[d] for d in difference.ratios)
    footprints = prod(axes[j].count(size) for j in difference.axes)
    return work.weight(tensor) * ratios * footprints * value(difference.polynomial, variables)


@settings(max_examples=cases(20, 50))
@given(workloads(max_extent=3), st.randoms(use_true_random=False))
def test_proofs_state_the_difference_of_the_traffic_expressions(work, rng):
    for proof in dataflow_classes(work).dominated[:6]:
        better, worse = stores_and_loads(work, proof.dominating), stores_and_loads(work, proof.dominated)
        stated = {d.tensor: d for d in proof.differences}
        assert stated, "a class that differs nowhere should not have been split off"
        size, problem, point = sample(work, rng)
        for index in range(len(work.tensors)):
            actual = (worse[index] - better[index]).subs(point)
            expected = proof_value(work, stated[index], proof, size, problem) if index in stated else 0
            assert actual == expected >= 0


@pytest.mark.parametrize(
    ("work", "proofs"), [(CNN, 21), (DEPTHWISE, 13), (CONV1D, 4)], ids=["conv2d", "depthwise", "conv1d"]
)
def test_proof_polynomials_re_expanded_with_sympy(work, proofs):
    """Substitute N = T(1+u), T = 1+v into the printed traffic and compare every coefficient."""
    assert len(dataflow_classes(work).dominated) == proofs
    u = {d: sympy.Symbol(f"u_{d}") for d in work.dims}
    v = {d: sympy.Symbol(f"v_{d}") for d in work.dims}
    for proof in dataflow_classes(work).dominated:
        better, worse = stores_and_loads(work, proof.dominating), stores_and_loads(work, proof.dominated)
        for d in proof.differences:
            tensor = work.tensors[d.tensor]
            common = prod((extent(k) / tile(k) for k in d.ratios), start=sympy.Integer(1))
            for j in d.axes:
                common *= axis_values(tensor.axes[j], {k: tile(k) for k in work.dims})
            reduced = sympy.cancel(worse[d.tensor] / common) - sympy.cancel(better[d.tensor] / common)
            reduced = reduced.subs({extent(k): tile(k) * (1 + u[k]) for k in work.dims}, simultaneous=True)
            reduced = reduced.subs({tile(k): 1 + v[k] for k in work.dims}, simultaneous=True)
            names = [*u.values(), *v.values()]
            terms = sympy.Poly(sympy.cancel(reduced), *names).as_dict()
            expanded = {
                tuple(sorted((str(s), p) for s, p in zip(names, powers, strict=True) if p)): int(c)
                for powers, c in terms.items()
            }
            assert expanded == dict(d.polynomial)
            assert all(c > 0 for c in expanded.values())


@pytest.mark.parametrize("work", [STRIDED, DILATED], ids=["strided", "dilated"])
def test_proofs_of_strided_convolutions_at_random_points(work):
    rng = random.Random(5)
    found = dataflow_classes(work)
    assert found.dominated
    for proof in found.dominated:
        better, worse = stores_and_loads(work, proof.dominating), stores_and_loads(work, proof.dominated)
        stated = {d.tensor: d for d in proof.differences}
        for _ in range(cases(1, 4)):
            size, problem, point = sample(work, rng)
            for index, (b, w) in enumerate(zip(better, worse, strict=True)):
                expected = proof_value(work, stated[index], proof, size, problem) if index in stated else 0
                assert w.subs(point) - b.subs(point) == expected >= 0


def test_each_of_the_eight_classes_is_needed():
    """At some sizes every class is strictly the best one: no further pruning is possible."""
    rng = random.Random(1)
    totals = [sum(r.total for r in tensor_traffic(CNN, c.representative)) for c in dataflow_classes(CNN).classes]
    symbols = [tile(d) for d in CNN.dims] + [extent(d) for d in CNN.dims]
    fast = sympy.lambdify(symbols, totals, modules="math")
    winners = set()
    for _ in range(4000):
        size, problem, _ = sample(CNN, rng, (1, 2, 8, 40), (1, 2, 5, 20))
        costs = fast(*size.values(), *problem.values())
        order = sorted(range(8), key=lambda i: costs[i])
        if costs[order[0]] < costs[order[1]] * (1 - 1e-9):
            winners.add(order[0])
    assert winners == set(range(8))


def test_a_false_claim_has_a_negative_coefficient():
    structure = structure_of(CNN)
    first, second, *_ = dataflow_classes(CNN).classes
    with pytest.raises(CheckError, match="In"):
        prove(structure, first, second)


def test_dims_of_extent_one_merge_classes_on_request():
    work = conv2d(n=1, k=8, c=8, h=8, w=8, r=1, s=1)
    found = dataflow_classes(work, concrete=True)
    assert [c.bands for c in found.classes] == [
        (("n", "r", "s"), ("k", "c"), ("h", "w")),
        (("n", "r", "s"), ("k", "h", "w"), ("c",)),
        (("n", "r", "s"), ("c", "h", "w"), ("k",)),
    ]
    assert found.permutations == factorial(7)
    assert len(dataflow_classes(work).classes) == 8
    rng = random.Random(2)
    singles = {extent(d): 1 for d in "nrs"} | {tile(d): 1 for d in "nrs"}
    kept = [sum(r.total for r in tensor_traffic(work, c.representative)).subs(singles) for c in found.classes]
    for order in rng.sample(list(permutations(work.dims)), 40):
        other = sum(r.total for r in tensor_traffic(work, order)).subs(singles)
        _, _, point = sample(work, rng)
        assert min(e.subs(point) for e in kept) <= other.subs(point)


def test_all_extents_one():
    found = dataflow_classes(conv2d(n=1, k=1, c=1, h=1, w=1, r=1, s=1), concrete=True)
    assert [(c.representative, c.size) for c in found.classes] == [(tuple("nkcrshw"), factorial(7))]


@settings(max_examples=cases(13, 40))
@given(workloads(max_extent=3), st.randoms(use_true_random=False))
def test_under_the_safe_rule_no_loop_order_fits_and_costs_better(work, rng):
    kept = dataflow_classes(work, rule=CapacityRule.SAFE).classes
    rows = [[row.total for row in tensor_traffic(work, c.representative)] for c in kept]
    for _ in range(4):
        order = tuple(rng.sample(work.dims, len(work.dims)))
        size, _, point = sample(work, rng)

        def words(permutation, size=size):
            residents = safe_working_set(work, permutation)
            return sum(r.elements(t, size) for t, r in zip(work.tensors, residents, strict=True))

        cost = sum(row.total for row in tensor_traffic(work, order)).subs(point)
        assert any(
            sum(exprs).subs(point) <= cost and words(c.representative) <= words(order)
            for c, exprs in zip(kept, rows, strict=True)
        )


def test_structure_is_the_cache_key():
    assert dataflow_classes(CNN) is dataflow_classes(CNN.with_extents(h=99, w=98))
    assert dataflow_classes(CNN) is not dataflow_classes(STRIDED)


def test_the_classes_need_no_sympy():
    """The search asks for classes for every layer; importing SymPy would cost more than the answer."""
    code = "import sys, optmap.loop_orders.classes; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
