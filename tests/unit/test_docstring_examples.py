"""The examples of docstrings, which stand in the reference, print what they say."""

from __future__ import annotations

import doctest
import inspect

import pytest

import optmap


def examples() -> dict[str, doctest.DocTest]:
    """Every public name with an example."""
    finder = doctest.DocTestFinder(recurse=False)
    found = {}
    for name in optmap.__all__:
        own = getattr(optmap, name)
        if inspect.isfunction(own) or inspect.isclass(own):
            for each in finder.find(own, name, globs={"optmap": optmap}):
                if each.examples:
                    found[name] = each
    return found


EXAMPLES = examples()


def test_the_main_verbs_have_examples() -> None:
    assert {"solve", "bound", "evaluate", "workload", "machine", "regimes"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_prints_what_it_says(name: str) -> None:
    said: list[str] = []
    assert doctest.DocTestRunner().run(EXAMPLES[name], out=said.append).failed == 0, "".join(said)
