"""What is said of the time that is left is what is known of it."""

from __future__ import annotations

import random
from math import inf

import pytest

from optmap.base.share import Share, part_of
from optmap.base.texts import duration
from optmap.cli import progress
from optmap.search import Question
from optmap.sweeps import Tally
from optmap.workloads.builders import matmul


class Heard:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []

    def __call__(self, text: str, share: float) -> None:
        self.told.append((text, share))

    @property
    def last(self) -> Share:
        share = self.told[-1][1]
        assert isinstance(share, Share)
        return share


def test_a_share_is_a_float_that_says_what_it_rests_on() -> None:
    assert Share.counted(3, 12) == 0.25
    assert Share.counted(0, 0) == 0.0
    assert Share.limited(7.0, 5.0) == 1.0
    assert Share.limited(0.5, inf).most_s is None
    assert (Share(0.5).items, Share(0.5).most_s) == (0, None)
    tally = Tally(points=10, reused=4, answered=2)
    assert (tally.share.done, tally.share.items, tally.share.kept) == (6, 10, 4)


def test_parts_are_counted_or_the_items_of_all_of_them() -> None:
    heard = Heard()
    whole = part_of(heard, 1, 4, " at 64KiB", even=True)
    apart = part_of(heard, 1, 4)
    alone = part_of(heard, 0, 1, " at 64KiB")
    assert part_of(None, 1, 4) is None
    assert whole is not None
    assert apart is not None
    assert alone is not None
    whole("mopt", Share.counted(2, 3))
    assert heard.told[-1][0] == "mopt at 64KiB"
    assert (heard.last.done, heard.last.items) == (5, 12)
    apart("mopt", Share.counted(2, 3))
    assert (heard.last.done, heard.last.items) == (1, 4)
    apart("mopt", 0.5)
    assert (heard.last.done, heard.last.items) == (1, 4)
    alone("mopt", 0.5)
    assert heard.told[-1] == ("mopt", 0.5)


def test_a_search_says_when_its_time_ends_and_no_share_of_its_own() -> None:
    from optmap.machines.machine import two_level
    from optmap.workloads.amounts import Capacity

    heard = Heard()
    question = Question(
        workload=matmul(i=4, j=4, k=4),
        machine=two_level(Capacity(amount=64, unit="words")),
        time_limit=50.0,
        progress=heard,
    )
    question.tell("branching")
    assert heard.last.items == 0
    assert 0 < (heard.last.most_s or 0) <= 50.0
    question.tell("judging", 5, 20)
    assert (heard.last.done, heard.last.items) == (5, 20)
    assert heard.last.most_s is not None


def test_nothing_is_said_before_items_are_measured() -> None:
    pace = progress.Pace()
    for done in range(progress.MEASURED):
        pace.see(Share.counted(done, 10), 2.0 * done)
        assert pace.left(10 - done, 2.0 * done) is None
    pace.see(Share.counted(progress.MEASURED, 10), 2.0 * progress.MEASURED)
    between = pace.left(7, 2.0 * progress.MEASURED)
    assert between is not None
    assert between[0] < 14.0 < between[1]
    later = pace.left(7, 2.0 * progress.MEASURED + 1.0)
    assert later is not None
    assert later[0] < 13.0 < later[1]
    assert later[1] < between[1]


def test_what_was_there_is_not_measured_and_other_work_is_measured_anew() -> None:
    pace = progress.Pace()
    pace.see(Share.counted(50, 60, kept=50), 0.1)
    assert pace.left(10, 0.1) is None
    for number in range(1, 6):
        pace.see(Share.counted(50 + number, 60, kept=50), 0.1 + 4.0 * number)
    between = pace.left(5, 20.1)
    assert between is not None
    assert between[0] < 20.0 < between[1]
    pace.see(Share.counted(0, 60), 21.0)
    assert pace.left(60, 21.0) is None


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_the_end_lies_in_the_range_that_is_said(spread: float) -> None:
    """Of items drawn alike at least nine of ten ranges hold the end, if they are of one order of magnitude."""
    source = random.Random(7)
    held = said = 0
    for _ in range(60):
        times = [source.lognormvariate(0.0, spread) for _ in range(40)]
        pace, now = progress.Pace(), 0.0
        for done, spent in enumerate(times[:-1], 1):
            now += spent
            pace.see(Share.counted(done, len(times)), now)
            between = pace.left(len(times) - done, now)
            if between is not None and done >= 10:
                said += 1
                held += between[0] <= sum(times[done:]) <= between[1]
    assert held >= 0.9 * said > 0


def test_times_are_read_as_people_say_them() -> None:
    assert duration(89.4) == "89 s"
    assert duration(600.0) == "10 min"
    assert duration(9000.0) == "2.5 h"
    assert progress.span(20.0, 40.0) == "20 to 40 s"
    assert progress.span(60.0, 300.0) == "60 s to 5 min"
    assert progress.span(119.0, 121.0) == "about 2 min"


def test_the_line_says_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    line = progress.Progress("solving")
    assert line._state() == "solving (0 s)"
    line("branching", Share.limited(0.1, 54.0))
    now[0] = 6.0
    assert line._state() == "branching (6 s; at most 48 s more)"
    now[0] = 100.0
    assert line._state() == "branching (2 min)"
    for done in range(6):
        now[0] += 1.0
        line("layers", Share.counted(done, 25))
    assert line._state() == "layers: 5 of 25 (2 min; 16 to 24 s more)"
    line("layers", Share.counted(5, 25, most_s=18.0))
    assert line._state() == "layers: 5 of 25 (2 min; 16 to 18 s more)"
    assert line._state(38) == "lay…: 5 of 25 (2 min; 16 to 18 s more)"
    line("finding out", Share())
    assert line._state() == "finding out (2 min)"
