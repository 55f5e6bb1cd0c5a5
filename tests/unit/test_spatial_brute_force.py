"""The enumeration of small mapspaces misses no mapping, makes none twice, and finds the least of every merit."""

from itertools import permutations, product
from math import prod

import numpy as np
import pytest
from cases import some
from spatial_brute_force import all_mappings, best_of_all, mapspace_size, tiny_fabric
from spatial_strategies import COUNTINGS

from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import count_nest
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.options import Merit
from optmap.search import random_nests


def every_nest(fabric):
    """Every valid mapping, made loop by loop: slots of one dim are chosen apart from those of the others."""
    memories, dims = len(fabric.memories), len(fabric.dims)
    per_dim = [
        [trips for trips in product(range(1, extent + 1), repeat=3 * memories) if prod(trips) == extent]
        for extent in fabric.extents
    ]
    for chosen in product(*per_dim):
        temporal = [[(dim, own[3 * m + 2]) for dim, own in enumerate(chosen)] for m in range(memories)]
        loops = [[loop for loop in own if loop[1] > 1] for own in temporal]
        for orders in product(*map(permutations, loops)):
            for keeps in product(product((False, True), repeat=len(fabric.operands)), repeat=memories):
                yield Nest(
                    memories=tuple(
                        MemoryNest(
                            x=tuple(chosen[dim][3 * m] for dim in range(dims)),
                            y=tuple(chosen[dim][3 * m + 1] for dim in range(dims)),
                            temporal=tuple(orders[m]),
                            keeps=keeps[m],
                        )
                        for m in range(memories)
                    )
                )


@pytest.mark.parametrize("seed", [44, 55, 94])
def test_enumeration_is_whole(seed):
    fabric = tiny_fabric(seed, 60)
    found = []
    for batch in all_mappings(fabric):
        found += [batch.nest(row) for row in np.flatnonzero(evaluate_batch(batch, fabric).valid)]
    assert len(set(found)) == len(found)
    expected = [nest for nest in every_nest(fabric) if not count_nest(nest, fabric).broken]
    # The loops inside the innermost memory are in one order only, which costs what the others do.
    assert {one_inside(nest) for nest in found} == {one_inside(nest) for nest in expected}
    for counting in COUNTINGS:
        best = best_of_all(fabric, counting)
        costs = [count_nest(nest, fabric, counting) for nest in expected]
        for merit in Merit:
            assert best[merit].value == min(cost.merit(merit) for cost in costs if not cost.broken)


def one_inside(nest):
    """A nest with the innermost memory's loops in order of dims."""
    first = nest.memories[0]
    ordered = MemoryNest(x=first.x, y=first.y, temporal=tuple(sorted(first.temporal)), keeps=first.keeps)
    return Nest(memories=(ordered, *nest.memories[1:]))


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_no_random_mapping_beats_it(seed):
    fabric = tiny_fabric(seed, 3000)
    assert sum(map(len, all_mappings(fabric))) == mapspace_size(fabric, 3000)
    batch = random_nests(fabric, 500, np.random.default_rng(seed))
    for counting in COUNTINGS:
        best = best_of_all(fabric, counting)
        cost = evaluate_batch(batch, fabric, counting)
        for merit in Merit:
            values = cost.merit(merit)[cost.valid]
            assert not len(values) or values.min() >= float(best[merit].value) * (1 - 1e-12)


def test_too_many_are_not_enumerated():
    fabric = tiny_fabric(14)
    assert mapspace_size(fabric, 100_000) == 14_264
    assert mapspace_size(fabric, 14_263) is None
