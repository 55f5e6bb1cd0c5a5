"""A sample of the goldens; all of them: `python tests/goldens check`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changed_fields import changed_fields
from goldens import answers
from goldens.answers import kept, readable
from goldens.asking import BESIDE, Question, Said, ask, questions
from goldens.differences import differences
from goldens.documents import commands
from goldens.normalised import MASKED, normalised
from goldens.script import main

import optmap

EVERY = questions()
SAMPLE = [question for question in EVERY if question.sample]
MEASURING = {"run", "bench", "validate", "detect", "doctor"}
"""What they say is of the machine at hand."""
WORDS = {
    "objective": ("edp", "energy", "cycles", "port-cycles", "traffic"),
    "counting": ("exact", "timeloop", "factorflow"),
}
"""What accelerators are asked for, and how they count."""


@pytest.mark.parametrize("question", SAMPLE, ids=lambda question: question.text)
def test_an_answer_is_the_one_that_is_kept(question) -> None:
    was, now = kept(question.group)[question.text], normalised(ask(question))
    assert list(differences(was, now, question.within)) == []


def test_every_question_has_an_answer_and_every_answer_a_question() -> None:
    asked = {question.text for question in EVERY}
    answered = [text for group in {question.group for question in EVERY} for text in kept(group)]
    assert sorted(answered) == sorted(asked)
    assert {file.stem for file in answers.FOLDER.glob("*")} == {question.group for question in EVERY}


def test_every_document_is_checked_and_every_solution_evaluated() -> None:
    kept_files = {file.name for file in BESIDE["documents"].iterdir()}
    assert kept_files == set(commands())
    for name in kept_files:
        said = kept("documents")
        assert said[f"check documents/{name} --json"][0]["exit"] == 0
        if not name.startswith("bound-") and name != "sweep":
            assert said[f"evaluate documents/{name} --json"][0]["exit"] == 0


def test_every_name_is_in_an_answer() -> None:
    """Machines, methods, bounds, objectives and countings in answers; commands in questions."""
    listed = optmap.list().to_dict()
    said = {pair for group in {question.group for question in EVERY} for pair in _said(kept(group))}
    assert {("name", name) for name in listed["machines"]} <= said
    assert {("method", row["name"]) for kind in ("methods", "bounds") for row in listed[kind]} <= said
    assert {("objective", row["name"]) for row in listed["objectives"]} <= said
    assert {(key, word) for key, words in WORDS.items() for word in words} <= said
    asked = {command.split()[0] for question in EVERY for command in question.text.split(" && ")}
    text = ask(Question(group="", text="--help"))[0].out.split("Commands:")[1].split("\n\n")[0]
    assert set(re.findall(r"^  (\w\S*)", text, re.MULTILINE)) - asked == MEASURING


def _said(value: Any) -> Iterator[tuple[str, str]]:
    """Every text of an answer with its key."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            yield from _said(item)
        elif isinstance(item, str):
            yield str(key), item


def test_whatever_changes_is_found() -> None:
    was = kept("solve_caches")[SAMPLE_SOLVE]
    fields = 0
    for path, value, now in changed_fields({"all": was}):
        fields += 1
        (line,) = differences({"all": was}, now, 1e-9)
        assert str(path[-1]) in line
        assert repr(value)[:40] in line
    assert fields > 50


SAMPLE_SOLVE = next(question.text for question in SAMPLE if question.group == "solve_caches")


@pytest.mark.parametrize(
    ("was", "now", "lines"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, []),
        ({"a": 1.0}, {"a": 1.0 + 1e-6}, ["a: was 1.0, is 1.000001"]),
        ({"a": 10**20}, {"a": 10**20 + 1}, ["a: was 100000000000000000000, is 100000000000000000001"]),
        ({"a": 1}, {"a": 1.0}, ["a: was 1, is 1.0"]),
        ({"a": 1}, {"a": True}, ["a: was 1, is True"]),
        ({"a": {"b": None}}, {"a": {}}, ["a.b: was None, is nothing"]),
        ({}, {"c": "new"}, ["c: was nothing, is 'new'"]),
        ([1, 2], [1, 3, 2], [" (length): was 2, is 3", "[1]: was 2, is 3"]),
        (["cost 1.50000000001 of 3"], ["cost 1.50000000002 of 3"], []),
        (["cost 1.5 of 3"], ["cost 1.5 of 4"], ["[0]: was 'cost 1.5 of 3', is 'cost 1.5 of 4'"]),
        (["of L.k=1"], ["at L.k=1"], ["[0]: was 'of L.k=1', is 'at L.k=1'"]),
        (["1,234.5 words"], ["1,234.6 words"], ["[0]: was '1,234.5 words', is '1,234.6 words'"]),
    ],
)
def test_differences_are_told(was: Any, now: Any, lines: list[str]) -> None:
    assert list(differences(was, now, 1e-9)) == lines


def test_what_is_other_the_next_time_is_masked_and_nothing_else() -> None:
    document = {
        "seconds": 0.25,
        "versions": {"numpy": "2"},
        "digest": "abc",
        "search": {"curve": [[3, 0.5, 7.0]], "seconds_to_best": None, "evaluations": 3},
        "prediction": {"seconds": 0.125},
        "levels": [{"seconds": 1, "words": 2}],
    }
    lines = (
        "time           0.25 s",
        "  answered    3 in 2.5 s (1.2 per second)",
        "k=3 s=3, 1.5 words",
        "  estimate    4 s",
    )
    text = "".join(f"{line}\n" for line in lines)
    said = [Said(code=0, out=json.dumps(document), err=""), Said(code=4, out=text, err="found in 3 s; 2 s h")]
    assert normalised(said) == [
        {
            "exit": 0,
            "out": {
                "seconds": MASKED,
                "versions": MASKED,
                "digest": MASKED,
                "search": {"curve": [[3, MASKED, 7.0]], "seconds_to_best": None, "evaluations": 3},
                "prediction": {"seconds": 0.125},
                "levels": [{"seconds": MASKED, "words": 2}],
            },
        },
        {
            "exit": 4,
            "out": [
                f"time           {MASKED}",
                f"  answered    3 in {MASKED} ({MASKED} per second)",
                "k=3 s=3, 1.5 words",
                f"  estimate    {MASKED}",
            ],
            "err": [f"found in {MASKED}; 2 s h"],
        },
    ]


def test_answers_are_written_on_lines_that_one_can_read() -> None:
    value = {"b": [{"words": n, "name": "x" * 30} for n in range(4)], "a": {"short": [1, 2.5, None]}, "c": []}
    text = readable(value)
    assert json.loads(text) == value
    assert all(len(line) <= answers.WIDTH for line in text.splitlines())
    assert text.splitlines()[1] == ' "a": {"short": [1, 2.5, null]},'


def test_the_script_says_where_an_answer_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answers, "FOLDER", tmp_path)
    one = ("--only", "^texts: show random$")
    assert main(["check", *one]) == 1
    assert main(["write", *one]) == 0
    assert main(["check", *one]) == 0
    file = tmp_path / "texts.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"exit": 0', '"exit": 4'), encoding="utf-8")
    capsys.readouterr()
    assert main(["check", *one]) == 1
    said = capsys.readouterr().out
    assert said.startswith("texts: show random\n    [0].exit: was 4, is 0\n1 questions, 1 answered otherwise")
