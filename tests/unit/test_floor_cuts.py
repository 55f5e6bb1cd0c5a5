"""Groups of statements that others leave no use for: floors without them are those with all of them."""

from __future__ import annotations

import pytest
from cases import cases

from optmap.bounds.best import best, best_above
from optmap.bounds.chains.floors import ARGUMENTS, SLOW, floor_by
from optmap.bounds.chains.groups import best_groups, loads_of
from optmap.workloads.parser import parse_workload

BEST = ("joined", "lines", "finishing", "shared", "barrier", "alone")
CHAINS = (
    ("S[m,l] = Q[m,d]*K[l,d]; O[m,e] = S[m,l]*V[l,e]", {"m": 60, "l": 70, "d": 8, "e": 8}),
    ("H[m,f] = X[m,d]*W[d,f]; A[m,f] = relu(H[m,f]); Y[m,n] = A[m,f]*U[f,n]", {"m": 20, "d": 64, "f": 96, "n": 64}),
    ("B[m,l] = A[m,k]*D[k,l]; C[m,n] = B[m,l]*E[l,n]; G[m,p] = C[m,n]*F[n,p]", dict.fromkeys("mlknp", 30)),
    ("G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]; Y[m,n] = G[m,f]*U[m,f]*Z[f,n]", dict.fromkeys("mfdn", 24)),
)


@pytest.mark.parametrize(("text", "sizes"), CHAINS[: cases(2, len(CHAINS))])
@pytest.mark.parametrize("memory", [5, 90, 1400])
def test_a_floor_is_that_of_all_groups(text: str, sizes: dict[str, int], memory: int) -> None:
    chain = parse_workload(text, sizes)
    every = [group for argument in ARGUMENTS.values() for group in argument(chain, memory)]
    every += [group for slow in SLOW.values() for group in slow(chain, memory, ())]
    assert floor_by("best", BEST, chain, memory).loads_words == loads_of(chain, best_groups(chain, every))


@pytest.mark.parametrize("memory", [4, 50, 400, 10_000])
def test_a_bound_is_found_where_it_is_above(memory: int) -> None:
    product = parse_workload("C[i,j] += A[i,k]*B[k,j]", dict.fromkeys("ijk", 30))
    loads = best(product, memory).loads_words
    found = best_above(product, memory, loads - 1)
    assert found is not None
    assert found.loads_words == loads
    assert best_above(product, memory, loads) is None
    assert best_above(product, memory, 2 * loads) is None
