"""Divisors and prime factors, against trial division and at numbers for which that takes too long."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from optmap.symbolic.numbers import FEW, divisors_of, prime_factors


@given(st.integers(1, 5000))
def test_divisors_divide_and_primes_multiply(number):
    assert divisors_of(number) == tuple(d for d in range(1, number + 1) if number % d == 0)
    primes = prime_factors(number)
    assert prod(primes) == number
    assert primes == sorted(primes)
    assert all(divisors_of(prime) == (1, prime) for prime in primes)


def test_numbers_beyond_trial_division():
    large = 2**3 * 1_000_000_007
    assert large > FEW
    assert prime_factors(large) == [2, 2, 2, 1_000_000_007]
    assert divisors_of(large) == (1, 2, 4, 8, *(k * 1_000_000_007 for k in (1, 2, 4, 8)))
