"""What mappings of pairs move at least, against all of them: no best one is left out, nor another one as good taken."""

import random
from itertools import product

import pytest
from cases import some

from optmap.search.chains.family import _fused, best_fused, smallest_tiles
from optmap.search.chains.least import STAYS, least_alone, least_words
from optmap.search.chains.pair import PairOperand, ProductPair, Side, pair_of, steps_of
from optmap.search.chains.streaming import _apart, best_apart, products_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


def random_pair(rng, most):
    def extent():
        return rng.choice([rng.randint(1, 5), rng.randint(1, most)])

    def operand(name):
        moves = rng.choice([1, 2])
        return PairOperand(name=name, words=rng.choice([0, 1, 1, 2, 3]), moves=moves, free=rng.choice([0, moves - 1]))

    return ProductPair(
        makes="S",
        functions=(),
        uses="C",
        shared=PairOperand(name="S", words=rng.choice([1, 2]), moves=2, free=1),
        batch=(),
        times=rng.choice([1, 3]),
        sides=tuple(Side(dim=d, extent=extent(), first=operand(d + "1"), second=operand(d + "2")) for d in "ml"),
        summed=("k",),
        depth=extent(),
        beyond=("n",),
        width=extent(),
    )


@pytest.mark.parametrize("seed", some(2, range(4)))
def test_the_best_is_the_first_best_of_all_and_none_is_below_its_least(seed):
    rng, fitting = random.Random(seed), 0
    for _ in range(8):
        pair = random_pair(rng, 16)
        for memory in (rng.randint(2, 60), rng.randint(2, 1000)):
            found = []
            for outer, (number, stays) in product((0, 1), enumerate(STAYS)):
                inner = smallest_tiles(pair.sides[1 - outer].extent)
                least = least_words(pair, memory, outer, inner)[number]
                for place, bound in enumerate(least):
                    for each in _fused(pair, memory, outer, stays, inner[place : place + 1]):
                        assert bound <= each.words // pair.times
                found += _fused(pair, memory, outer, stays, inner)
            fitting += bool(found)
            assert best_fused(pair, memory) == min(found, key=lambda each: each.words, default=None)
    assert fitting > 8


@pytest.mark.parametrize("seed", some(2, range(4)))
def test_so_it_is_of_a_product_by_itself(seed):
    rng, fitting = random.Random(seed), 0
    for _ in range(12):
        pair = random_pair(rng, 16)
        alone, memory = products_of(pair, whole=rng.random() < 0.5)[rng.randrange(2)], rng.randint(2, 400)
        once = rng.choice([(), ("S",), (alone.tensors[1][0].name,)])
        found = []
        for kept in range(6):
            *operands, groups = alone.roles(kept)
            tiles, extents = alone.tiles(groups[0]), [alone.extents[group] for group in groups]
            for place, bound in enumerate(least_alone(operands, extents, memory, tiles)):
                each = _apart(alone, memory, kept, once, tiles[place : place + 1])
                assert each is None or bound <= each.words
            each = _apart(alone, memory, kept, once, tiles)
            found += [] if each is None else [each]
        fitting += bool(found)
        assert best_apart(alone, memory, once) == min(found, key=lambda each: each.words, default=None)
    assert fitting > 5


def test_of_much_is_known_that_it_is_not_the_best():
    text, extents = "S[m,l] = A[m,k]*B[l,k]; C[m,n] = S[m,l]*D[l,n]", {"m": 300, "l": 300, "k": 16, "n": 16}
    workload = parse_workload(text, extents, semantics=Semantics.ASSIGN)
    pair, tiles = pair_of(workload, *steps_of(workload)), smallest_tiles(300)
    best = best_fused(pair, 1000)
    least = [least_words(pair, 1000, outer, tiles) for outer in (0, 1)]
    assert sum((each > best.words).mean() for each in least) > 1.8
