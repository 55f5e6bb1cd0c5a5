"""Subspaces, lattices, lifting, maps and the fallbacks for lattices that do not close."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from optmap.base.errors import InputError
from optmap.bounds import (
    DimDigit,
    Place,
    canonical,
    closure,
    complete_flag,
    image_rank,
    intersection,
    kernel,
    lift_workload,
    map_system,
    polytopes,
    rank,
    restrict,
    space_sum,
    whole_space,
)
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload


def _random_matrix(rng, rows, width):
    return tuple(tuple(rng.randint(-3, 3) for _ in range(width)) for _ in range(rows))


def test_linear_algebra_against_numpy_ranks():
    rng = random.Random(0)
    for _ in range(400):
        width = rng.randint(1, 5)
        a, b = (_random_matrix(rng, rng.randint(1, 4), width) for _ in range(2))
        A, B = canonical(a), canonical(b)
        assert len(A) == np.linalg.matrix_rank(np.array(a))
        ker = kernel(a, width)
        assert len(ker) == width - len(A)
        assert not np.any(np.array(a) @ np.array(ker).T) if ker else True
        both, common = space_sum(A, B), intersection(A, B, width)
        assert len(both) == np.linalg.matrix_rank(np.array(a + b))
        assert len(both) + len(common) == len(A) + len(B)
        assert rank((*A, *common)) == len(A)
        assert rank((*B, *common)) == len(B)
        assert image_rank(a, B) == len(B) - len(intersection(ker, B, width))


def test_canonical_basis_does_not_depend_on_the_generators():
    rng = random.Random(1)
    for _ in range(200):
        width = rng.randint(1, 4)
        basis = canonical(_random_matrix(rng, rng.randint(1, 3), width))
        mixed = [
            tuple(sum(c * v[i] for c, v in zip(coefficients, basis, strict=True)) for i in range(width))
            for coefficients in itertools.product([1, -2, 3], repeat=len(basis))
        ]
        if basis:
            assert canonical([*mixed, *basis]) == basis


def test_closure_is_closed_and_generated():
    x, r, diagonal = ((1, 0),), ((0, 1),), ((1, -1),)
    members = closure(frozenset([x, r, diagonal]), 2)
    assert set(members) == {(), x, r, diagonal, whole_space(2)}
    assert closure(frozenset(), 3) == ((), whole_space(3))
    axes = frozenset(((*(int(i == j) for j in range(3)),),) for i in range(3))
    cube = closure(axes, 3)
    assert len(cube) == 8
    for a, b in itertools.combinations(cube, 2):
        assert space_sum(a, b) in cube
        assert intersection(a, b, 3) in cube


def test_four_generic_planes_do_not_close():
    planes = frozenset(kernel((row,), 3) for row in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    assert closure(planes, 3, cap=200) is None


def test_flags_pass_through_the_chain():
    plane = ((1, 0, -1), (0, 1, -1))
    flag = complete_flag([plane], 3)
    assert canonical(flag[:2]) == plane
    assert rank(flag) == len(flag) == 3


def _leaves(text, extents):
    space = lift_workload(parse_workload(text, extents))
    rows = [[[_named(leaf) for leaf in node.leaves()] for node in nodes] for nodes in space.derivations]
    return space, rows


def _named(table):
    return {str(digit): value for digit, value in table.items()}


def test_strided_window_lifts_to_two_rows():
    space, rows = _leaves("O[h] += I[2*h+r] * F[r]", {"h": 4, "r": 3})
    assert [(str(lift.digit), lift.modulus) for lift in space.lifts] == [("r", 2)]
    assert _named(space.extents) == {"h": 4, "r'": 2, "r''": 2}
    assert rows[1] == [[{"r''": 1}, {"h": 1, "r'": 1}]]
    assert [str(digit) for digit in space.digits(DimDigit("r"))] == ["r'", "r''"]


def test_filter_no_longer_than_the_stride_is_split_off_without_a_lift():
    space, rows = _leaves("O[h] += I[2*h+r] * F[r]", {"h": 4, "r": 2})
    assert space.lifts == ()
    assert rows[1] == [[{"r": 1}, {"h": 1}]]


def test_coprime_coefficients_lift_twice_and_unit_terms_do_not_lift():
    space, rows = _leaves("O[x] += A[2*x+3*y] * B[y]", {"x": 9, "y": 9})
    assert sorted(lift.modulus for lift in space.lifts) == [2, 3]
    assert rows[1] == [[{"x''": 1}, {"y''": 1}, {"x'": 1, "y'": 1}]]
    space, rows = _leaves("O[x] += A[4*x+2*r+t] * B[r,t]", {"x": 4, "r": 3, "t": 5})
    assert [lift.modulus for lift in space.lifts] == [2]
    assert rows[1] == [[{"t''": 1}, {"x": 2, "r": 1, "t'": 1}]]
    space, rows = _leaves("O[x] += A[2*x+r+t] * B[r,t]", {"x": 4, "r": 3, "t": 3})
    assert space.lifts == ()
    assert rows[1] == [[{"x": 2, "r": 1, "t": 1}]]


def test_a_digit_cut_again_keeps_a_name_of_its_own():
    space, rows = _leaves("O[b] += A[2*b+c,4*b+c]", {"b": 3, "c": 7})
    assert [str(lift.digit) for lift in space.lifts] == ["c", "c'"]
    assert _named(space.extents) == {"b": 3, "c'.'": 2, "c'.''": 2, "c''": 2}
    assert rows[1][1] == [{"c''": 1}, {"c'.''": 1}, {"b": 1, "c'.'": 1}]
    assert [str(digit) for digit in space.digits(DimDigit("c"))] == ["c'.'", "c'.''", "c''"]


def test_names_of_digits_are_injective_to_any_depth():
    paths = [path for n in range(6) for path in itertools.product(Place, repeat=n)]
    digits = [DimDigit(dim, tuple((2, place) for place in path)) for dim in ("r", "s") for path in paths]
    assert len({str(digit) for digit in digits}) == len(digits)
    with pytest.raises(InputError, match=r"dim \"r'\" is no name"):
        Workload.product(
            name="",
            output=TensorAccess(name="O", axes=(Subscript(terms=(("r'", 1),)),)),
            inputs=(TensorAccess(name="A", axes=(Subscript(terms=(("r'", 1),)),)),),
            sizes=(("r'", 3),),
        )


def test_common_divisors_and_short_dims_disappear():
    space, rows = _leaves("O[x] += A[4*x+6*r+t] * B[r,t]", {"x": 4, "r": 3, "t": 1})
    assert "t" not in _named(space.extents)
    assert [len(leaf) for leaf in rows[1][0]] == [1, 1, 2]  # x mod 3, r mod 2, and the carried sum


def test_a_repeated_access_is_one_map_and_offsets_do_not_matter():
    system = map_system(parse_workload("O[i] += A[i] * A[i+1]", {"i": 5}))
    assert [m.name for m in system.tensors] == ["s:O#0", "s:A#1"]


def test_families_are_independent():
    text = "O[n,k,h,w] += I[n,c,h+r,w+s] * F[k,c,r,s]"
    system = map_system(parse_workload(text, dict.fromkeys("nkhwcrs", 4)))
    names = {tuple(str(system.dims[c]) for c in columns) for columns in system.families}
    assert names == {("n",), ("k",), ("c",), ("h", "r"), ("w", "s")}
    for linear in system.maps:
        assert rank(linear.matrix) == sum(rank(restrict(linear.matrix, c)) for c in system.families)


NOT_CLOSING = [
    ("O[x] += I[x+r+t] * F[r,t]", {"x": 5, "r": 3, "t": 3}),
    ("O[x] += A[x+y] * B[x+z] * C[y+z]", {"x": 4, "y": 4, "z": 4}),
    ("O[x] += I[x+r] * J[x+q] * F[r,q]", {"x": 5, "r": 4, "q": 3}),
]


@pytest.mark.parametrize(("text", "extents"), NOT_CLOSING)
def test_lattices_that_do_not_close_fall_back_to_flags_and_fewer_maps(text, extents):
    system = map_system(parse_workload(text, extents))
    (columns,) = system.families
    kernels = frozenset(kernel(restrict(m.matrix, columns), len(columns)) for m in system.maps)
    assert closure(kernels, len(columns)) is None
    described = polytopes(system)
    assert len(described) > 1
    flags = [p for p in described if p.families[0].flag is not None]
    lattices = [p for p in described if p.families[0].lattice is not None]
    assert flags
    assert lattices
    assert all(len(p.allowed) < len(system.maps) for p in lattices)
    assert all(len(p.allowed) == len(system.maps) for p in flags)
    for polytope in lattices:
        (family,) = polytope.families
        assert whole_space(len(columns)) in family.lattice
        for i in polytope.allowed:
            assert kernel(restrict(system.maps[i].matrix, columns), len(columns)) in family.lattice


def test_families_of_two_dims_always_close():
    rng = random.Random(5)
    for _ in range(100):
        lines = frozenset(canonical(_random_matrix(rng, rng.randint(1, 2), 2)) for _ in range(8))
        members = closure(lines, 2)
        assert members is not None
        assert len(members) <= len(lines) + 2
