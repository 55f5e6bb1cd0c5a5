"""What optmap answers to some 340 questions, kept, and compared with what it answers now.

`python tests/goldens check` asks all of them and prints where an answer is not the one that is kept: the question, the
place in the document, what it was and what it is. `write` keeps what is answered now, and prints the same differences
for review. `show` prints answers in full, times masked. `documents` writes the files of tests/data/documents anew.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from goldens.answers import keep, kept
from goldens.asking import Question, ask, questions
from goldens.differences import differences
from goldens.documents import write_documents
from goldens.normalised import normalised

MOST = 12
"""Differences that are printed of an answer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; 1 if an answer is not the one that is kept.

    Args:
        arguments: what is typed after `python tests/goldens`; `sys.argv[1:]` if left out.
    """
    chosen = _parser().parse_args(arguments)
    if chosen.verb == "documents":
        return 1 if write_documents(chosen.only) else 0
    asked = [each for each in questions(chosen.only) if each.sample or not chosen.sample]
    if chosen.shuffle is not None:
        random.Random(chosen.shuffle).shuffle(asked)
    return VERBS[chosen.verb](asked, chosen.jobs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python tests/goldens", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=[*VERBS, "documents"], nargs="?", default="check")
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression in 'GROUP: QUESTION'")
    parser.add_argument("--sample", action="store_true", help="the questions that the test suite asks")
    parser.add_argument("--jobs", type=int, default=2, help="processes of sweeps and races; no answer depends on it")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="ask in another order")
    return parser


def _check(asked: Sequence[Question], jobs: int) -> int:
    wrong = 0
    for question, lines, _ in _compared(asked, jobs):
        wrong += bool(lines)
        _tell(question, lines)
    return _total(len(asked), wrong, "answered otherwise")


def _write(asked: Sequence[Question], jobs: int) -> int:
    changed = 0
    for group in dict.fromkeys(question.group for question in asked):
        answers = kept(group)
        try:
            for question, lines, answer in _compared([each for each in asked if each.group == group], jobs):
                changed += bool(lines)
                _tell(question, lines)
                answers[question.text] = answer
        finally:  # what fails is kept as far as it went
            texts = [each.text for each in questions(f"^{group}: ")]
            keep(group, {text: answers[text] for text in texts if text in answers})
    _total(len(asked), changed, "changed")
    return 0


def _show(asked: Sequence[Question], jobs: int) -> int:
    for question in asked:
        said = normalised(ask(question, jobs), whole=True)
        sys.stdout.write(f"{question.text}\n{json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)}\n")
    return 0


VERBS = {"check": _check, "write": _write, "show": _show}


def _compared(asked: Sequence[Question], jobs: int) -> Iterator[tuple[Question, list[str], Any]]:
    """Every question with how its answer differs from the one that is kept, and the answer."""
    answers = {group: kept(group) for group in {question.group for question in asked}}
    for question in asked:
        now = normalised(ask(question, jobs))
        was = answers[question.group].get(question.text)
        lines = ["not asked before"] if was is None else list(differences(was, now, question.within))
        yield question, lines, now


def _tell(question: Question, lines: Sequence[str]) -> None:
    if not lines:
        return
    more = [f"... and {len(lines) - MOST} more"] if len(lines) > MOST else []
    told = "".join(f"    {line}\n" for line in [*lines[:MOST], *more])
    sys.stdout.write(f"{question.group}: {question.text}\n{told}")
    sys.stdout.flush()


def _total(asked: int, others: int, what: str) -> int:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = time.process_time() + children.ru_utime + children.ru_stime
    sys.stdout.write(f"{asked} questions, {others} {what}, {spent:.0f} s of processor time\n")
    return 1 if others else 0
