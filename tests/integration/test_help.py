"""Help: on one screen, in whole sentences; its examples are commands that work."""

from __future__ import annotations

import re

import pytest

from optmap.cli.app import COMMANDS, GROUPS

from .conftest import Command

ROWS, COLUMNS = 50, 80


@pytest.fixture(scope="module")
def screen(optmap: Command) -> str:
    """The help of the program on a terminal of 80 columns."""
    with pytest.MonkeyPatch.context() as terminal:
        terminal.setenv("COLUMNS", str(COLUMNS))
        return optmap("--help").out


def test_help_fits_a_screen_with_the_prompt_beneath(screen: str) -> None:
    lines = screen.splitlines()
    assert len(lines) < ROWS
    assert max(map(len, lines)) <= COLUMNS


def test_every_summary_is_a_whole_sentence_on_one_line(screen: str) -> None:
    said = dict(re.findall(r"^  (\w\S*) +([A-Z].*)$", screen.split("Commands:")[1], re.MULTILINE))
    assert list(said) == list(COMMANDS)
    for sentence in said.values():
        assert sentence.endswith(".")
        assert "…" not in sentence
        assert "..." not in sentence


def test_commands_stand_under_the_question_that_they_answer(screen: str) -> None:
    under, question = dict[str, list[str]](), ""
    for line in screen.split("Commands:\n")[1].split("\n\n", maxsplit=1)[0].splitlines():
        if line.startswith("  "):
            under[question].append(line.split()[0])
        else:
            question = line.strip().rstrip(":")
            under[question] = []
    assert under == {question: list(names) for question, names in GROUPS.items()}


@pytest.mark.parametrize("columns", ["40", "60"])
def test_a_narrow_terminal_wraps_summaries(optmap: Command, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = optmap("--help").out
    assert "..." not in said.split("Commands:")[1]
    assert "Find the best integer mapping" in " ".join(said.split())
