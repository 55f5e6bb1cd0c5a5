"""Which of several ways is the fastest: slow ones are called twice, near ones as often as there is time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from optmap.count.timing.results import Caches
from optmap.native import Contender, best_way


def ways_of(count: int) -> list[Contender]:
    return [
        Contender(library="field", variant=str(number), function=0, context=0, operands=(), result=None)
        for number in range(count)
    ]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Counter[int]]]:
    """The choice among ways of some lengths on a clock that drifts, with a factor per way and sample of it."""
    from optmap.native.bench import pairing

    def choose(lengths: Sequence[float], disturbed: dict[tuple[int, int], float]) -> tuple[int, Counter[int]]:
        calls, now, draw = Counter[int](), 0.0, random.Random(0)

        def sampler_of(way: Contender, caches: Caches) -> Callable[[], float]:
            number = int(way.variant)

            def sample() -> float:
                nonlocal now
                calls[number] += 1
                speed = 1 + 0.3 * np.sin(now / max(lengths) / 50) + draw.uniform(0, 0.01)
                took = float(lengths[number] * speed * disturbed.get((number, calls[number]), 1.0))
                now += took
                return took

            return sample

        monkeypatch.setattr(pairing, "sampler_of", sampler_of)
        monkeypatch.setattr(pairing, "monotonic", lambda: now)
        return best_way(ways_of(len(lengths)), Caches.WARM), calls

    return choose


def test_near_ways_have_all_rounds_and_slow_ones_two(timed: Callable[..., tuple[int, Counter[int]]]) -> None:
    best, calls = timed([3e-3, 1.05e-3, 1e-3, 1.25e-3, 2e-3], {})
    assert best == 2
    assert calls[1] == calls[2] == 15
    assert calls[0] == calls[4] == 2
    assert 4 <= calls[3] <= 6


def test_a_disturbed_sample_puts_no_way_out(timed: Callable[..., tuple[int, Counter[int]]]) -> None:
    disturbed = {(0, 1): 5.0, (0, 4): 5.0, (1, 2): 3.0}
    best, calls = timed([1e-3, 1.06e-3, 1.07e-3], disturbed)
    assert best == 0
    assert calls[0] == 15


def test_one_that_is_left_is_not_called_again(timed: Callable[..., tuple[int, Counter[int]]]) -> None:
    assert timed([1e-3], {}) == (0, Counter())
    assert timed([1e-3, 9e-3], {}) == (0, Counter({0: 2, 1: 2}))


def test_long_calls_have_fewer_rounds(timed: Callable[..., tuple[int, Counter[int]]]) -> None:
    best, calls = timed([1.0, 1.05, 1.06, 1.07], {})
    assert best == 0
    assert set(calls.values()) == {4}
    best, calls = timed([50.0, 51.0], {})
    assert best == 0
    assert set(calls.values()) == {3}
