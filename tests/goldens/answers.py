"""The answers that are kept, a file per group: readable, a question with what was said to it."""

from __future__ import annotations

import json
from typing import Any

from goldens.asking import HERE

WIDTH = 120
"""Characters of a line, where a value can be broken."""
FOLDER = HERE / "answers"
Answers = dict[str, list[dict[str, Any]]]
"""Per question what its commands said."""


def kept(group: str) -> Answers:
    """The answers of a group; none if it has no file."""
    file = FOLDER / f"{group}.json"
    answers: Answers = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return answers


def keep(group: str, answers: Answers) -> None:
    """Write the answers of a group."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{group}.json").write_text(f"{readable(answers)}\n", encoding="utf-8")


def readable(value: Any, indent: int = 0, taken: int = 0) -> str:
    """A JSON value with what fits on a line on one line, keys in order.

    Args:
        value: the value.
        indent: spaces before the lines after the first.
        taken: characters that stand before the first on its line.
    """
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(line) + indent + taken <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, list):
        items = [readable(item, indent + 1) for item in value]
        opened, closed = "[]"
    else:
        names = [(f"{json.dumps(key, ensure_ascii=False)}: ", value[key]) for key in sorted(value)]
        items = [name + readable(item, indent + 1, len(name)) for name, item in names]
        opened, closed = "{}"
    return f"{opened}\n{inner}" + f",\n{inner}".join(items) + f"\n{' ' * indent}{closed}"
