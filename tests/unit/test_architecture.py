"""The contributor's page: its examples run, and what it names is there."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import optmap
from optmap.base.shown import PRESENTATIONS
from optmap.bounds import BOUNDS

ROOT = Path(optmap.__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=lambda code: str(code.split()[1]))
def test_an_example_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PRESENTATIONS, "_makers", dict(PRESENTATIONS._makers))
    for name in BOUNDS:
        monkeypatch.setitem(BOUNDS, name, BOUNDS[name])
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # annotations are looked up in their module
    exec(compile(code, "docs/architecture.md", "exec"), module.__dict__)
    BOUNDS.pop("one-word", None)


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) == 3


def test_every_room_is_on_the_page() -> None:
    table = PAGE.split("## The rooms")[1].split("##")[0]
    places = [path for path in (ROOT / "optmap").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    rooms = {path.stem for path in places} - {"__init__", "__main__", "version"}
    assert set(re.findall(r"`(\w+)`", table.split("|---|---|")[1])) >= rooms


def test_every_name_on_the_page_is_there() -> None:
    for dotted in sorted(set(re.findall(r"`(optmap(?:\.\w+)+)`", PAGE))):
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            try:
                found = import_module(".".join(parts[:end]))
            except ModuleNotFoundError:
                continue
            for name in parts[end:]:
                found = getattr(found, name)
            break
    for file in re.findall(r"`((?:tests|optmap)/[\w/]+\.py)`", PAGE):
        assert (ROOT / file).exists(), file
