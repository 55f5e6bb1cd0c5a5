"""Engines: every task comes back once, and a bad one costs itself only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from optmap.base.errors import OptmapError
from optmap.sweeps import MOST_AHEAD, PIPE_BYTES, EngineError, InlineEngine, LocalEngine, Outcome, PointTask, Slot

WORK = "sweep_workers:answer"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


def _tasks(texts: list[str], seconds: float = 60.0) -> list[PointTask]:
    return [PointTask(number=number, text=text, seconds=seconds) for number, text in enumerate(texts)]


def _run(engine: LocalEngine | InlineEngine, tasks: list[PointTask]) -> dict[int, Outcome]:
    found = [outcome for outcome in engine.run(tasks, lambda: False) if outcome is not None]
    assert len(found) == len({outcome.number for outcome in found})
    return {outcome.number: outcome for outcome in found}


def test_inline_answers_in_order() -> None:
    found = _run(InlineEngine(WORK), _tasks(["a", "b", "c"]))
    assert [outcome.text for outcome in found.values()] == [f"{text}|{os.getpid()}" for text in "abc"]


def test_two_processes_share_the_work() -> None:
    found = _run(LocalEngine(2, WORK), _tasks(["x"] * 500))
    assert sorted(found) == list(range(500))
    workers = {(outcome.text or "").rpartition("|")[2] for outcome in found.values()}
    assert len(workers) == 2
    assert str(os.getpid()) not in workers


def test_a_hang_a_crash_and_an_exit_cost_their_own_tasks_only() -> None:
    texts = ["x"] * 60
    texts[7], texts[20], texts[33], texts[44] = "hang", "crash", "exit", "raise no"
    found = _run(LocalEngine(2, WORK), _tasks(texts, seconds=0.7))
    assert sorted(found) == list(range(60))
    lost = {number: outcome for number, outcome in found.items() if outcome.text is None}
    assert {number: outcome.stop for number, outcome in lost.items()} == {
        7: "killed",
        20: "crash",
        33: "crash",
        44: "crash",
    }
    assert "limit" in lost[7].error
    assert lost[7].seconds >= 0.7
    assert "SIGSEGV" in lost[20].error
    assert "exit code 3" in lost[33].error


def test_what_a_solver_prints_does_not_get_between_answers() -> None:
    found = _run(LocalEngine(1, WORK), _tasks(["print", "x", "print"]))
    assert [(outcome.text or "").partition("|")[0] for outcome in found.values()] == ["print", "x", "print"]


def test_tasks_are_taken_only_as_fast_as_they_are_answered() -> None:
    taken, most, answered = 0, 0, 0

    def source() -> Iterator[PointTask]:
        nonlocal taken
        for number in range(3000):
            taken += 1
            yield PointTask(number=number, text="x" * 200, seconds=60)

    for outcome in LocalEngine(2, WORK).run(source(), lambda: False):
        answered += outcome is not None
        most = max(most, taken - answered)
    assert answered == 3000
    # What processes have, what they answered but was not handed out yet, and one in the hand.
    assert most <= 2 * 2 * (MOST_AHEAD + 1) + 1


def test_texts_larger_than_a_pipe_do_not_block() -> None:
    found = _run(LocalEngine(1, WORK), _tasks(["y" * (3 * PIPE_BYTES) for _ in range(8)]))
    assert {len(outcome.text or "") > 3 * PIPE_BYTES for outcome in found.values()} == {True}


def test_stopping_ends_the_processes() -> None:
    pids: list[int] = []
    tasks = _tasks(["x"] * 50 + ["hang"] * 4)
    for outcome in LocalEngine(2, WORK).run(tasks, lambda: len(pids) >= 20):
        if outcome is not None:
            pids.append(int((outcome.text or "").rpartition("|")[2]))
    assert 20 <= len(pids) < len(tasks)
    for pid in set(pids):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_kept_processes_serve_the_next_run() -> None:
    engine = LocalEngine(1, WORK, keep=True)
    first = _run(engine, _tasks(["x"]))[0].text
    second = _run(engine, _tasks(["x"]))[0].text
    assert first == second
    crashed = _run(engine, _tasks(["exit", "x"]))
    assert crashed[0].stop == "crash"
    assert crashed[1].text != second
    for slot in engine._slots:
        slot.stop()


def test_in_a_session_processes_serve_the_next_run_and_end_with_it() -> None:
    engine = LocalEngine(1, WORK)
    with engine.session():
        first = _run(engine, _tasks(["x"]))[0].text or ""
        with engine.session():
            assert _run(engine, _tasks(["x"]))[0].text == first
        assert _run(engine, _tasks(["x"]))[0].text == first
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.rpartition("|")[2]), 0)
    assert _run(engine, _tasks(["x"]))[0].text != first


def test_processes_that_never_start_are_an_error_not_a_loop() -> None:
    with pytest.raises(EngineError, match="before they start"):
        _run(LocalEngine(1, "no_such_module:answer"), _tasks(["x"]))


def test_a_slot_that_was_not_started_says_so() -> None:
    with pytest.raises(OptmapError, match="before it was started"):
        _ = Slot(WORK).output
