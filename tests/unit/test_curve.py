"""Words over capacity: the answers of single capacities, wherever one looks."""

import json
from types import SimpleNamespace

import pytest
from cases import some
from typer.testing import CliRunner

import optmap
from optmap.answers.over_capacity.capacity_curve import Tracer
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InfeasibleError, InputError
from optmap.bounds import bounds
from optmap.cli.app import app
from optmap.search.iooub.grid import _kept_grid
from optmap.verbs import curving

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


def test_no_capacity_is_asked_for_twice(monkeypatch):
    asked, answer = [], curving._answer

    def noted(workload, words, objective, clock, method=None):
        asked.append((words, method))
        return answer(workload, words, objective, clock, method)

    monkeypatch.setattr(curving, "_answer", noted)
    optmap.curve(PAIR, extents=SMALL, semantics="assign", within=0)
    asked = [words for words, method in asked if method is None]
    assert len(asked) == len(set(asked)) > 10


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


def test_the_capacities_in_which_nothing_fits_are_few_and_the_first_that_fits_is_found():
    asked = []

    def ask(words):
        asked.append(words)
        return (
            None
            if words < 300
            else SimpleNamespace(count=SimpleNamespace(levels=[level(words)]), exact=2 * 10**6 - words)
        )

    def level(words):
        return SimpleNamespace(occupancy_words=words)

    tracer = Tracer(ask=ask, within=1e9, clock=NO_LIMIT, tell=str)
    found = tracer.trace(1, 10**6)
    assert [answer.exact for answer in found] == [2 * 10**6 - 300, 10**6]
    assert len(asked) < 20
    asked.clear()
    assert tracer.knee(found, 1_123_456).exact == 1_123_456
    assert len(asked) < 20


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
