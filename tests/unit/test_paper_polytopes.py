"""Algorithm 8 of Dinh's dissertation as the items run it: its pieces are a partition, each in one critical region."""

from __future__ import annotations

import random

import pytest

from optmap.answers.closed_forms.regimes import Regimes, regimes_of
from optmap.papers.dinh.polytopes import disjoint_polytopes, within_image
from optmap.solvers.cones import dot
from optmap.workloads.parser import parse_workload


def _product() -> Regimes:
    return regimes_of(parse_workload("C[i,j] += A[i,k]*B[k,j]", dict.fromkeys("ijk", 4)))


@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_a_product_are_a_partition_within_regions(seed: int) -> None:
    found = _product()
    cells = [tile.cone for regime in found.regimes for tile in regime.tiles]
    pieces = disjoint_polytopes(cells, found.domain, (), seed)
    assert len(pieces) >= len(cells)
    for piece in pieces:
        assert any(all(dot(facet, ray) >= 0 for facet in cell.facets for ray in piece.rays) for cell in cells)
    source = random.Random(seed)
    for _ in range(200):
        point = tuple(source.randrange(1, 10**9) for _ in found.names)
        assert sum(all(dot(facet, point) >= 0 for facet in piece.facets) for piece in pieces) == 1


def test_pieces_of_a_part_of_the_domain_stay_in_it() -> None:
    found = _product()
    cells = [tile.cone for regime in found.regimes for tile in regime.tiles]
    below = tuple(int(name == "j") - int(name == "i") for name in found.names)
    pieces = disjoint_polytopes(cells, found.domain, [below], 0)
    assert all(dot(below, ray) >= 0 for piece in pieces for ray in piece.rays)
    assert len(pieces) < len(disjoint_polytopes(cells, found.domain, (), 0))


def test_a_filter_within_the_image_has_at_most_as_many_steps_as_there_are_outputs() -> None:
    found = regimes_of(parse_workload("Out[n,k,h,w] += In[n,c,2*h+r,2*w+s]*Ker[k,c,r,s]", dict.fromkeys("nkchwrs", 4)))
    at = dict.fromkeys(found.names, 5)
    for own, other in (("h", "r_high"), ("w", "s_high")):
        values = [dot(form, [{**at, own: 3, other: 4}[name] for name in found.names]) for form in within_image(found)]
        assert sorted(values) == [-1, 0]
