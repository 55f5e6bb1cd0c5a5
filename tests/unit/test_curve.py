"""Words over capacity: the answers of single capacities, wherever one looks."""

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import pytest
from cases import some
from typer.testing import CliRunner

import optmap
from optmap.answers.over_capacity.capacity_curve import Tracer
from optmap.base import clock
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.bounds import bounds
from optmap.cli.app import app
from optmap.files.inputs import workload_of
from optmap.search.iooub.grid import _kept_grid
from optmap.sweeps import Slot
from optmap.sweeps.capacities import Capacities, CapacityTask, answer_line
from optmap.sweeps.engines import beside

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SMALL = {"m": 6, "l": 5, "k": 3, "n": 2}


@pytest.mark.parametrize("objective", some(["traffic"], ["traffic", "loads"]))
def test_every_step_of_a_pair_is_the_answer_at_its_capacity(objective):
    curve = optmap.curve(PAIR, extents=SMALL, semantics="assign", within=0, objective=objective)
    assert curve.complete
    for words in range(2, 60, 3):
        point = curve.at(words)
        try:
            answer = optmap.solve(PAIR, extents=SMALL, semantics="assign", memory=f"{words}w", objective=objective)
        except InfeasibleError:
            assert point is None
            continue
        assert point is not None
        assert point.words == answer.cost
        assert point.bound_words <= point.words


def test_lines_lie_near_each_other_above_floors_and_below_statements_by_themselves():
    extents = {"m": 8, "l": 8, "k": 4, "n": 4}
    curve = optmap.curve(PAIR, extents=extents, semantics="assign", within=20)
    for point, following in zip(curve.points, curve.points[1:], strict=False):
        near = (
            point.words <= 1.2 * following.words
            or optmap.solve(
                PAIR,
                extents=extents,
                semantics="assign",
                memory=f"{following.room_words - 1}w",
            ).cost
            == point.words
        )
        assert near
        assert point.room_words < following.room_words
    for point in curve.points:
        floor = bounds(curve.workload, point.room_words, ["best"])[0]
        assert floor.total_words == point.bound_words <= point.words <= point.apart
    assert curve.points[-1].words == curve.compulsory_words == 4 * 8 * 4


def test_the_knee_is_the_least_capacity_near_what_is_compulsory_and_fusing_pays_between_two():
    extents = {"m": 16, "l": 16, "k": 4, "n": 4}
    curve = optmap.curve(PAIR, extents=extents, semantics="assign")
    limit = int(1.05 * curve.compulsory_words)
    assert curve.knee.words <= limit
    smaller = optmap.solve(PAIR, extents=extents, semantics="assign", memory=f"{curve.knee.room_words - 1}w")
    assert smaller.cost > limit
    better = [point.room_words for point in curve.points if point.words < point.apart]
    assert curve.pays == (better[0], better[-1])


def test_the_knee_is_a_line_however_far_neighbours_may_be():
    extents = {"i": 12, "j": 20, "k": 6}
    curve = optmap.curve("C[i,j] = A[i,k]*B[k,j]", extents=extents, semantics="assign", within=100)
    assert (curve.knee.room_words, curve.knee.words) == (79, curve.compulsory_words)
    assert curve.points[-1] is curve.knee is curve.at(200)


def test_no_capacity_is_asked_for_twice(monkeypatch):
    asked, answer = [], Capacities.answer

    def noted(self, task):
        asked.append(task)
        return answer(self, task)

    monkeypatch.setattr(Capacities, "answer", noted)
    optmap.curve(PAIR, extents=SMALL, semantics="assign", within=0, jobs=1)
    assert len(asked) == len(set(asked)) > 30
    assert {task.method for task in asked} == {"", "apart", "floor"}


def test_every_step_of_a_product_in_loads_is_the_answer_at_its_capacity():
    product = {"workload": "C[i,j] = A[i,k]*B[k,j]", "extents": {"i": 4, "j": 3, "k": 5}, "objective": "loads"}
    curve = optmap.curve(**product, within=0)
    for words in range(3, 48, 5):
        assert curve.at(words).words == optmap.solve(**product, memory=f"{words}w").cost
    assert curve.points[-1].words == 4 * 5 + 5 * 3


def test_of_one_statement_nothing_is_fused():
    curve = optmap.curve("C[i,j] = A[i,k]*B[k,j]", extents={"i": 6, "j": 5, "k": 4}, semantics="assign", within=0)
    assert curve.pays is None
    assert {point.apart for point in curve.points} == {None}
    assert curve.points[-1].words == 6 * 5 + 6 * 4 + 4 * 5
    assert curve.at(2) is None


def test_every_step_of_a_product_is_what_solving_with_nothing_kept_finds():
    """Tables are kept for other capacities: an answer is the same one without them."""
    text, extents = "C[i,j] = A[i,k]*B[k,j]", {"i": 4, "j": 3, "k": 5}
    curve = optmap.curve(text, extents=extents, within=100)
    assert curve.complete
    for point in curve.points:
        _kept_grid.cache_clear()
        answer = optmap.solve(text, extents=extents, memory=f"{point.room_words}w", objective="traffic")
        assert (point.words, point.answer.point) == (answer.cost, answer.point)


def test_a_curve_without_time_has_its_ends():
    product = {"workload": "C[i,j] = A[i,k]*B[k,j]", "extents": {"i": 8, "j": 8, "k": 8}, "memory": "16w:300w"}
    curve = optmap.curve(**product, time_limit=1e-6)
    assert not curve.complete
    assert curve.points[-1].words == optmap.curve(**product, within=200).points[-1].words
    pair = optmap.curve(PAIR, extents=SMALL, time_limit=1e-6)
    assert not pair.complete
    assert all(point.apart is not None for point in pair.points if point.room_words > 20)


@pytest.mark.parametrize("text", ["C[i,j] = A[i,k]*B[k,j]", PAIR])
def test_what_was_traced_is_there_where_somebody_stops(text, monkeypatch):
    monkeypatch.setattr(clock, "_ASKED", threading.Event())
    told = []

    def tell(text, share):
        told.append(text)
        if len(told) == 9:
            clock.stop()

    extents = {"i": 9, "j": 8, "k": 7} if text != PAIR else SMALL
    curve = optmap.curve(text, extents=extents, within=0, jobs=1, progress=tell)
    assert not curve.complete
    assert len(curve.points) > 2
    assert all(0 < point.bound_words <= point.words for point in curve.points)


def test_the_least_distance_of_neighbours_is_every_step():
    product = {"workload": "C[i,j] = A[i,k]*B[k,j]", "extents": {"i": 3, "j": 3, "k": 2}}
    tiny, none = (optmap.curve(**product, within=within) for within in (1e-310, 0))
    assert [point.words for point in tiny.points] == [point.words for point in none.points]


def test_the_capacities_in_which_nothing_fits_are_few_and_the_first_that_fits_is_found():
    asked = []

    def ask(capacities):
        asked.extend(capacities)
        return [
            None
            if words < 300
            else SimpleNamespace(count=SimpleNamespace(levels=[level(words)]), exact=2 * 10**6 - words)
            for words in capacities
        ]

    def level(words):
        return SimpleNamespace(occupancy_words=words)

    tracer = Tracer(ask=ask, within=1e9, clock=NO_LIMIT)
    found = tracer.trace(1, 10**6)
    assert [answer.exact for answer in found] == [2 * 10**6 - 300, 10**6]
    assert len(asked) < 20
    asked.clear()
    assert tracer.knee(found, 1_123_456).exact == 1_123_456
    assert len(asked) < 20


def test_lines_are_both_ends_of_a_step_and_few_of_a_slope():
    def mapping(room, words):
        return SimpleNamespace(count=SimpleNamespace(levels=[SimpleNamespace(occupancy_words=room)]), exact=words)

    words = [200, 199, 195, 120, 119, 115, 111, 110, 100]
    front = [mapping(room, moved) for room, moved in enumerate(words)]
    lines = {
        within: [each.exact for each in Tracer(ask=list, within=within, clock=NO_LIMIT).thinned(front)]
        for within in (0, 0.1, 0.2, 9)
    }
    kept = Tracer(ask=list, within=9, clock=NO_LIMIT).thinned(front, front[5])
    assert [each.exact for each in kept] == [200, 115, 100]
    assert lines == {0: words, 0.1: [200, 195, 120, 110, 100], 0.2: [200, 195, 120, 100], 9: [200, 100]}
    assert Tracer(ask=list, within=0.1, clock=NO_LIMIT).thinned(front[:1]) == tuple(front[:1])


def test_a_step_is_found_at_its_end():
    """Words that fall in one step only: few capacities are asked for before it is known that nothing lies between."""
    asked = []

    def ask(capacities):
        asked.extend(capacities)
        return [
            SimpleNamespace(
                count=SimpleNamespace(levels=[SimpleNamespace(occupancy_words=900_001 if words > 900_000 else 300)]),
                exact=500 if words > 900_000 else 10**6,
            )
            for words in capacities
        ]

    found = Tracer(ask=ask, within=0.1, clock=NO_LIMIT).trace(300, 10**6)
    assert [answer.exact for answer in found] == [10**6, 500]
    assert len(asked) < 12


@pytest.fixture
def shared():
    """Makes capacities with another process that is ready; both are ended afterwards."""
    with ExitStack() as stack:

        def make(text, extents):
            made = Capacities(workload_of(text, extents, None, None), "traffic", NO_LIMIT, jobs=2, tell=str)
            stack.enter_context(made.session())
            made._beside._start()
            (slot,) = made._beside._slots
            while not slot.ready:
                made._beside._wait()
                slot.receive()
            return made

        yield make


@pytest.mark.parametrize(
    ("text", "extents", "capacities"),
    [
        ("C[i,j] = A[i,k]*B[k,j]", {"i": 40, "j": 36, "k": 30}, [2, 60, 99, 160, 400, 1300]),
        (PAIR, {"m": 24, "l": 20, "k": 6, "n": 5}, [2, 30, 60, 100, 200, 400]),
    ],
)
def test_another_process_finds_what_this_one_finds(text, extents, capacities, shared, monkeypatch):
    read, received = Capacities._read, []

    def noted(self, task, line):
        received.append(task)
        return read(self, task, line)

    monkeypatch.setattr(Capacities, "_read", noted)
    both = shared(text, extents)
    alone = Capacities(both._workload, "traffic", NO_LIMIT, jobs=1, tell=str)
    for mine, theirs in zip(alone.mappings(capacities), both.mappings(capacities), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            found = [replace(each.found, seconds=0) for each in (mine, theirs)]
            assert found[0] == found[1]
            same = [replace(each, seconds=0, question=None, found=None) for each in (mine, theirs)]
            assert same[0] == same[1]
    assert alone.floors(capacities) == both.floors(capacities)
    assert {task.method for task in received} == {"", "floor"}


def test_where_no_process_can_be_started_all_is_answered_here(monkeypatch):
    def refused(self):
        raise OSError("no more processes")

    monkeypatch.setattr(Slot, "start", refused)
    both = Capacities(workload_of(PAIR, SMALL, None, None), "traffic", NO_LIMIT, jobs=2, tell=str)
    with both.session():
        both._beside._start()
        assert [each is not None for each in both.mappings([1, 9, 20, 40])] == [False, True, True, True]
    assert both._beside._slots == []


def test_no_more_processes_are_started_than_have_something_to_do(monkeypatch):
    class Started(SimpleNamespace):
        def start(self):
            started.append(self)

        def stop(self):
            started.remove(self)

    started, now = [], iter(range(100))
    idle = {"ready": False, "receive": lambda: ((), False), "seconds_left": 1}
    monkeypatch.setattr(beside, "Slot", lambda _: Started(**idle))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    many = beside.Beside("", here=str, text=str, read=str, others=10**6)
    with many.session():
        assert dict(many.run([1], lambda: False)) == {1: "1"}
        assert len(started) == 1
        assert len(dict(many.run([2, 3, 4, 5], lambda: False, [6]))) == 4
        assert len(started) == 5
    assert not started


def test_a_process_that_is_stuck_is_ended(shared, monkeypatch):
    both = shared("C[i,j] = A[i,k]*B[k,j]", {"i": 6, "j": 5, "k": 4})
    (slot,) = both._beside._slots
    monkeypatch.setattr(beside, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr(slot, "receive", lambda: ([], False))
    assert None not in both.mappings([3, 5, 9, 20, 40])
    assert both._beside._slots == []


def test_a_process_that_is_late_says_so_and_goes_on(monkeypatch):
    def late(self, task):
        raise LimitError("the time was over")

    monkeypatch.setattr(Capacities, "answer", late)
    made = Capacities(workload_of(PAIR, SMALL, None, None), "traffic", NO_LIMIT, jobs=1, tell=str)
    task = CapacityTask(20, "")
    assert made._read(task, answer_line(made._text(task))) is None


def test_what_a_process_had_that_ends_is_answered_here(shared, monkeypatch):
    both = shared("C[i,j] = A[i,k]*B[k,j]", {"i": 6, "j": 5, "k": 4})
    (slot,) = both._beside._slots
    send = Slot.send

    def sent(self, task):
        send(self, task)
        self._process.kill()

    monkeypatch.setattr(Slot, "send", sent)
    found = both.mappings([3, 5, 9, 20, 40])
    assert [each is not None for each in found] == [True] * 5
    assert both._beside._slots == []
    assert slot.waiting == 0
    assert both.mappings([50, 60, 70, 80])[0] is not None
    assert both._beside._slots == []


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"memory": "64w"}, InputError, "range of capacities"),
        ({"memory": "64w:32w"}, InputError, "range|order|largest|smaller"),
        ({"memory": "1w:2w"}, InfeasibleError, "nothing fits"),
        ({"objective": "time"}, InputError, "traffic or loads"),
        ({"within": -1}, InputError, "within"),
        ({"within": "near"}, InputError, "within"),
        ({"within": float("nan")}, InputError, "within"),
        ({"within": True}, InputError, "within"),
    ],
)
def test_what_is_no_curve_is_refused(options, error, reason):
    with pytest.raises(error, match=reason):
        optmap.curve(PAIR, extents=SMALL, **options)


def test_where_the_time_is_over_the_curve_says_so():
    curve = optmap.curve(PAIR, extents={"m": 64, "l": 64, "k": 16, "n": 16}, within=0, time_limit=0.2)
    assert not curve.complete
    assert curve.points[0].room_words >= 3


def test_the_command_prints_writes_and_draws(tmp_path):
    extents = ",".join(f"{d}={n}" for d, n in SMALL.items())
    shell = ["curve", PAIR, "--extents", extents, "--memory", "4w:80w", "--within", "32.5"]
    out = CliRunner().invoke(app, [*shell, "-o", str(tmp_path / "it.json"), "--plot", str(tmp_path / "it.png")])
    assert out.exit_code == 0, out.output
    assert "by themselves" in out.output
    document = json.loads(CliRunner().invoke(app, [*shell, "--json"]).output)
    assert document == json.loads((tmp_path / "it.json").read_text())
    assert (tmp_path / "it.png").stat().st_size > 1000
    assert [*document["points"][0]] == [
        *("room_words", "words", "bound_words", "gap", "words_apart", "proved", "method", "mapping")
    ]
    assert document["points"][-1]["mapping"]["tree"]
