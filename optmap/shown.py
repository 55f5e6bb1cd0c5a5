"""Answers that print as their table, render in a notebook, and go to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from html import escape
from pathlib import Path, PurePath
from textwrap import wrap
from typing import Any, ClassVar

from optmap.errors import InputError
from optmap.lazy import named


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Where the forms of a kind of answer are made: `module:function` under `optmap`, of the answer."""

    table: str
    """Plain text."""
    document: str
    """JSON-able data, as the command prints it with `--json`."""
    file: str = ""
    """Text of a saved file; the document as JSON if empty."""
    yaml: str = ""
    """Text of a file whose name ends in .yaml or .yml, of what such files describe; as any other file if empty."""
    plot: str = ""
    """Function of the answer and matplotlib axes (None for new ones) that returns the axes; empty for none."""
    numbers: tuple[str, ...] = ()
    """Attributes, dotted for those of attributes, that the repr has first, such as `outermost.best.total_words`."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Of an answer with several pictures, each one's name and function as in `plot`; the first is drawn unasked."""

    def drawing(self, picture: str = "") -> str:
        """The function of a picture; of the first one if no name is given; empty for none.

        Raises:
            UnknownNameError: for a name that no picture of the answer has.
        """
        if picture:
            return self.pictures[named("names:choose")("picture", picture, tuple(self.pictures))]
        return self.plot or next(iter(self.pictures.values()), "")


MOST_LINES = 10
"""Of a repr, at most."""
COLUMNS = 100
"""Of a line of it."""
GLUE = "\xa0"
"""A space at which no line ends."""
MOST_SHOWN = 60
"""Characters of one value in a repr."""


def brief(value: Any, numbers: tuple[str, ...] = ()) -> str:
    """The repr of a dataclass: its numbers and names, and of all else how much there is, in at most ten lines.

    Args:
        value: an instance of a dataclass.
        numbers: attributes that come first, dotted for those of attributes.
    """
    parts = [f"{name}={_short(_attribute(value, name))}" for name in numbers]
    parts += [
        f"{each.name}={_short(getattr(value, each.name))}"
        for each in fields(value)
        if each.repr and not each.name.startswith("_") and getattr(value, each.name) not in (None, "", (), {})
    ]
    text = ", ".join(part.replace(" ", GLUE) for part in parts)  # no line ends within a value
    lines = wrap(f"{type(value).__name__}({text})", COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    lines = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "  ...)"]
    return "\n".join(lines).replace(GLUE, " ")


def _attribute(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = None if value is None else getattr(value, part)
    return value


def _short(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, Enum):
        text = str(value.value)
    elif isinstance(value, float | Fraction):
        text = f"{float(value):.8g}"
    elif value is None or isinstance(value, bool | int | str | PurePath):
        text = repr(value) if isinstance(value, str) else str(value)
    elif is_dataclass(value):
        inside = next(
            (own for key in ("title", "name", "value") if (own := getattr(value, key, None)) is not None), None
        )
        text = f"<{type(value).__name__}>" if inside is None or is_dataclass(inside) else _short(inside)
    elif isinstance(value, Sized):
        items = value if isinstance(value, tuple | list) else (value,)
        text = f"[{', '.join(map(_short, items))}]" if all(isinstance(item, str | int) for item in items) else ""
        text = text if text and len(text) <= MOST_SHOWN else f"<{len(value)}>"
    else:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


class Shown:
    """An answer with a table, a document, a file and perhaps a picture."""

    __slots__ = ()
    shown_as: ClassVar[Form]
    """Where they are made."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the short repr: a dataclass would make one of all fields, which is pages of an answer."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Shown.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return brief(self, self.shown_as.numbers)

    def __str__(self) -> str:
        return str(named(self.shown_as.table)(self))

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The document that the command of the same name prints with `--json`."""
        return dict(named(self.shown_as.document)(self))

    def save(self, path: str | Path) -> Path:
        """Write the answer to a file, as `-o` does; `optmap.load` says what it reads back.

        What YAML files describe, a workload or a machine, is written as one under a name that ends in .yaml or .yml.

        Returns:
            The path.

        Raises:
            InputError: if it cannot be written, or there is nothing to write.
        """
        file: Path = named("problem.values:file_path")(path)
        form = self.shown_as
        make = form.yaml if form.yaml and file.suffix in (".yaml", ".yml") else form.file
        text = named(make)(self) if make else named("problem.io.files:to_json")(self.to_dict()) + "\n"
        named("problem.io.files:write_text")(file, text)
        return file

    def plot(self, path: str | Path | None = None, *, picture: str = "") -> Any:
        """Draw the answer.

        Args:
            path: write a picture (.png, .svg or .pdf) there; None leaves the figure open, as a
                notebook wants it.
            picture: which one, of an answer with several (`shown_as.pictures`); the first if left out.

        Returns:
            The matplotlib axes, or the path that was written.

        Raises:
            InputError: if there is nothing to draw, matplotlib is not installed, or the file cannot
                be written.
            UnknownNameError: for a name that no picture of the answer has.
        """
        make = self.shown_as.drawing(picture)
        if not make:
            raise InputError(f"{type(self).__name__} has no picture; print it, or use its numbers")
        if path is None:
            return named(make)(self, None)
        file: Path = named("problem.values:file_path")(path)
        named("problem.io.files:check_picture")(file)
        named("report.compare_plot:save_figure")(named(make)(self, None), file)
        return file
