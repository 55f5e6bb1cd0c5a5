"""A journal of a search: whenever it was ended, it goes on to the same answer without judging anything twice."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optmap
from optmap.base.errors import InputError
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import fabric_of
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search import (
    METHODS,
    Brief,
    End,
    Judge,
    NoSettings,
    Proposals,
    Scores,
    Strategy,
    Trace,
    drive,
    model,
    random_nests,
)
from optmap.search.explore.journal import Journal
from optmap.search.methods import LIBRARY

ASKED: dict[str, Any] = {
    "workload": "C[i,j] += A[i,k]*B[k,j]",
    "machine": "gemmini",
    "extents": {"i": 16, "j": 16, "k": 16},
    "method": "random",
    "settings": {"victory": 300},
}
SEARCH = {"method": "mine", "seed": 0}


def said(found: Any) -> tuple[Any, ...]:
    """What must be the same however often a search was interrupted."""
    document = found.to_dict()
    search = document["search"]
    curve = [(evaluations, value) for evaluations, _, value in search["curve"]]
    return document["digest"], search["evaluations"], search["valid"], search["ended"], curve


def test_whenever_it_was_ended_it_goes_on_to_the_same_answer(tmp_path: Path) -> None:
    whole = said(optmap.solve(**ASKED))
    assert whole[1] > 520
    for budgets in ((1,), (100, 101, 500), (511, 512, 513), (whole[1] - 1, whole[1]), (whole[1] + 99,)):
        file = tmp_path / f"{budgets[0]}.journal"
        for budget in budgets:
            optmap.solve(**ASKED, evaluations=budget, journal=file)
        assert said(optmap.solve(**ASKED, journal=file)) == whole
        assert said(optmap.solve(**ASKED, journal=str(file))) == whole
    short = said(optmap.solve(**ASKED, evaluations=77))
    assert said(optmap.solve(**ASKED, evaluations=77, journal=file)) == short


QUICK = [name for name in LIBRARY if METHODS[name].explorer is not None and name != "bayesian"]
"""Searches of the library but the one whose every step takes long."""


@pytest.mark.parametrize("method", QUICK)
def test_methods_of_the_library_are_deterministic_and_go_on(tmp_path: Path, method: str) -> None:
    asked = {**ASKED, "method": method, "settings": None, "seed": 2}
    whole = said(optmap.solve(**asked, evaluations=600))
    assert said(optmap.solve(**asked, evaluations=600)) == whole
    for budget in (3, 150):
        optmap.solve(**asked, evaluations=budget, journal=tmp_path / "j")
    assert said(optmap.solve(**asked, evaluations=600, journal=tmp_path / "j")) == whole


def test_cut_off_at_any_byte_it_goes_on_to_the_same_answer(tmp_path: Path) -> None:
    whole, file = said(optmap.solve(**ASKED)), tmp_path / "cut.journal"
    optmap.solve(**ASKED, journal=file)
    written = file.read_bytes()
    first = written.index(b"\n") + 1
    draw = random.Random(0)
    for size in (
        0,
        1,
        first - 1,
        first,
        first + 1,
        len(written) - 1,
        *(draw.randrange(len(written)) for _ in range(8)),
    ):
        file.write_bytes(written[:size])
        assert said(optmap.solve(**ASKED, journal=file)) == whole
        assert [json.loads(line).keys() for line in file.read_bytes().splitlines()]


def nests(asked: Brief[NoSettings]) -> Proposals:
    while True:
        yield random_nests(asked.fabric, 50, asked.rng)


def brief(seed: int = 0) -> Brief[Any]:
    workload = optmap.workload(ASKED["workload"], extents=ASKED["extents"], semantics="assign")
    return Brief(
        fabric=fabric_of(workload, optmap.machine("gemmini")),
        merit=Merit.EDP,
        counting=NEST_EXACT,
        settings=NoSettings(),
        rng=np.random.default_rng(seed),
    )


def counting_judge(calls: list[int]) -> Judge:
    """The model, and how many nests it was asked about."""
    asked = brief()
    inner = model(asked.fabric, asked.merit, asked.counting)

    def judge(batch: NestBatch) -> Scores:
        calls.append(len(batch))
        return inner(batch)

    return judge


def explored(file: Path, budget: int, calls: list[int], *, seed: int = 0, rows: int = 4096) -> Trace:
    trace = Trace()
    with Journal(file, SEARCH) as journal:
        judge = counting_judge(calls)
        strategy = Strategy(propose=nests)
        list(drive(strategy, brief(seed), trace, judge=judge, evaluations=budget, rows=rows, journal=journal))
    return trace


def test_nothing_is_judged_twice(tmp_path: Path) -> None:
    file, calls = tmp_path / "j", list[int]()
    first = explored(file, 120, calls, rows=7)
    assert sum(calls) == 120
    second = explored(file, 200, calls)
    assert sum(calls) == 200
    alone = explored(tmp_path / "other", 200, [])
    assert (second.best, second.value, second.valid) == (alone.best, alone.value, alone.valid)
    assert second.seconds >= first.seconds
    assert [point.seconds for point in second.curve if point.evaluations <= 120] == [p.seconds for p in first.curve]
    again = explored(file, 60, calls)
    assert (sum(calls), again.evaluations, again.end) == (200, 60, End.EVALUATIONS)


def test_a_search_that_proposes_other_mappings_is_no_continuation(tmp_path: Path) -> None:
    explored(tmp_path / "j", 100, [])
    with pytest.raises(InputError, match="line 2: the search proposes other mappings than it did"):
        explored(tmp_path / "j", 200, [], seed=1)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 1}, "its seed is 0, not 1"),
        ({"settings": {"victory": 301}}, "its settings is .*300.*, not .*301"),
        ({"method": "exhaustive", "settings": {}}, "its method is random, not exhaustive"),
        ({"objective": "energy"}, "its objective is edp, not energy"),
        ({"counting": "timeloop"}, "its counting is exact, not timeloop"),
        ({"machine": "tpuv1"}, "its machine is another"),
        ({"extents": {"i": 16, "j": 16, "k": 8}}, "its workload is another"),
    ],
)
def test_a_file_of_another_search_is_refused_with_the_reason(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    optmap.solve(**ASKED, evaluations=10, journal=tmp_path / "j")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(InputError, match=said):
        optmap.solve(**ASKED | other, journal=tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == before


@pytest.mark.parametrize("text", ["not mine\n", "no line end", "{}\n", '{"search": 3}\n', '{"schema"'])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "j").write_text(text)
    if text == '{"schema"':  # the beginning of a first line: nothing is lost
        optmap.solve(**ASKED, evaluations=10, journal=tmp_path / "j")
        return
    with pytest.raises(InputError, match="is no journal of a search"):
        optmap.solve(**ASKED, journal=tmp_path / "j")
    assert (tmp_path / "j").read_text() == text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("first", 1),
        ("mappings", 0),
        ("mappings", 3),
        ("scores", "!"),
        ("scores", ""),
        ("seconds", "x"),
        ("proposed", 1),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, key: str, value: object) -> None:
    explored(tmp_path / "j", 100, [])
    lines = (tmp_path / "j").read_text().splitlines()
    entry = {**json.loads(lines[1]), key: value}
    del entry["line"]
    lines[1] = json.dumps({**entry, "line": f"{zlib.crc32(json.dumps(entry).encode()):08x}"})
    (tmp_path / "j").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged"):
        explored(tmp_path / "j", 200, [])


def test_a_changed_score_is_seen(tmp_path: Path) -> None:
    """A mapping that is no longer valid would go unnoticed: nothing is said of it in the answer."""
    explored(tmp_path / "j", 100, [])
    lines = (tmp_path / "j").read_text().splitlines()
    entry = json.loads(lines[1])
    scores = np.frombuffer(base64.b64decode(entry["scores"]), "<f8").copy()
    scores[scores[: entry["mappings"]].argmin()] = np.inf
    lines[1] = json.dumps({**entry, "scores": base64.b64encode(scores.tobytes()).decode()})
    (tmp_path / "j").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged"):
        explored(tmp_path / "j", 200, [])


def test_a_device_or_a_pipe_is_refused_unread(tmp_path: Path) -> None:
    """Some of them never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, Path("/dev/null")):
        with pytest.raises(InputError, match="a device or a pipe"):
            Journal(file, SEARCH)


def test_two_searches_do_not_write_one_journal(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with Journal(tmp_path / "j", SEARCH), pytest.raises(InputError, match="another search is writing it"):
        Journal(tmp_path / "j", SEARCH)


def test_only_searches_that_have_mappings_judged_have_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out --journal"):
        optmap.solve(**ASKED | {"method": "exact", "settings": None}, journal=tmp_path / "j")
    with pytest.raises(InputError, match="--journal is for searches on accelerators"):
        optmap.solve("resnet18/R12", memory="8192w", journal=tmp_path / "j")
    with pytest.raises(InputError, match="cannot be used as a journal"):
        optmap.solve(**ASKED, journal=tmp_path / "none" / "j")


def test_a_process_that_is_killed_leaves_a_journal_to_go_on_from(tmp_path: Path) -> None:
    file = tmp_path / "killed.journal"
    asked = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=16,j=16,k=16", "--machine", "gemmini", "--method", "random")
    command = [sys.executable, "-m", "optmap", "solve", *asked, "--set", "victory=0", "--journal", str(file)]
    with subprocess.Popen([*command, "--evaluations", "100000000"], stdout=-3, stderr=-3) as process:
        while process.poll() is None and (not file.exists() or file.stat().st_size < 100_000):
            time.sleep(0.01)
        process.kill()
    assert process.returncode < 0
    budget = 3000
    settings = {"victory": 0}
    alone = said(optmap.solve(**ASKED | {"settings": settings}, evaluations=budget))
    assert said(optmap.solve(**ASKED | {"settings": settings}, evaluations=budget, journal=file)) == alone
