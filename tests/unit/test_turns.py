"""The loop that times everything: who is measured how often and in which order, and on which processors."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from optmap.base.errors import InputError
from optmap.native import in_turns, pinned


def test_every_round_measures_all_once_and_not_always_in_the_same_order() -> None:
    asked: list[str] = []
    heard: list[int] = []

    def sampler(name: str) -> float:
        asked.append(name)
        return float(len(asked))

    found = in_turns([lambda name=name: sampler(name) for name in "abc"], rounds=8, told=heard.append)
    turns = ["".join(asked[start : start + 3]) for start in range(0, 24, 3)]
    assert heard == list(range(8))
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 1
    for name, samples in zip("abc", found, strict=True):
        assert samples == tuple(float(place + 1) for place, each in enumerate(asked) if each == name)


def test_a_time_says_how_many_rounds_between_the_least_and_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.run import turns

    now = 0.0

    def sample() -> float:
        nonlocal now
        now += 0.5
        return 0.5

    monkeypatch.setattr(turns, "monotonic", lambda: now)
    assert len(in_turns([sample, sample], seconds=0.0)[0]) == 5
    assert len(in_turns([sample, sample], seconds=12.0)[0]) == 12
    assert len(in_turns([sample], seconds=1e9)[0]) == 1000
    with pytest.raises(InputError, match="at least one"):
        in_turns([sample], rounds=0)


@pytest.mark.parametrize(("threads", "wanted"), [(1, {1}), (2, {0, 1}), (3, {0, 1, 3}), (4, {0, 1, 2, 3})])
def test_threads_are_on_different_cores_first(monkeypatch: pytest.MonkeyPatch, threads: int, wanted: set[int]) -> None:
    """Processors 2 and 3 are siblings of 0 and 1."""
    from optmap.native.run import turns

    moved: list[set[int]] = []
    monkeypatch.setattr(turns, "read_topology", lambda usable: SimpleNamespace(cpus=(0, 1)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda task: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda task, chosen: moved.append(set(chosen)), raising=False)
    with pinned(threads) as chosen:
        assert set(chosen) == wanted
        assert moved
        assert all(each == wanted for each in moved)
    assert moved[-1] == {0, 1, 2, 3}
    with pytest.raises(InputError, match="5 threads on 4 processors"), pinned(5):
        pass
    with pinned(5, fewer=True) as chosen:
        assert chosen == (0, 1, 2, 3)
