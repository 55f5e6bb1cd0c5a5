"""Answers that print as their table, render in a notebook, and go to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from optmap.base.errors import CheckError, InputError
from optmap.base.names import choose
from optmap.base.registry import Registry
from optmap.base.values import file_path
from optmap.base.writing import check_picture, figure_svg, save_figure, to_json, write_text

if TYPE_CHECKING:
    from optmap.checker import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How a kind of answer is shown: functions of the answer, each with its module imported when one is first used."""

    table: Callable[[Any], str]
    """Plain text."""
    document: Callable[[Any], Mapping[str, object]]
    """JSON-able data, as the command prints it with `--json`."""
    file: Callable[[Any], str] | None = None
    """Text of a saved file; the document as JSON if there is none."""
    yaml: Callable[[Any], str] | None = None
    """Text of a file whose name ends in .yaml or .yml, of what such files describe; as any other file without it."""
    folder: Callable[[Any, str | Path], tuple[Path, ...]] | None = None
    """Writes an answer that is several files into a folder; returns their paths."""
    nest: Callable[[Any], str] | None = None
    """C-like text of the loop nest, of an answer that is a mapping."""
    plot: Callable[[Any, Any], Any] | None = None
    """Of the answer and matplotlib axes (None for new ones); returns the axes."""
    pictures: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)
    """Of an answer with several pictures, each one's name and function as in `plot`; the first is drawn unasked."""

    def drawing(self, picture: str = "") -> Callable[[Any, Any], Any] | None:
        """The function of a picture; of the first one if no name is given; None if there is nothing to draw.

        Raises:
            UnknownNameError: for a name that no picture of the answer has.
        """
        if picture:
            return self.pictures[choose("picture", picture, self.pictures)]
        return self.plot or next(iter(self.pictures.values()), None)


PRESENTATIONS: Registry[Presentation] = Registry("kind of answer")
"""Per kind of answer, `Shown.shown_as`, how it is shown."""
MOST_LINES = 10
"""Of a repr, at most."""
COLUMNS = 100
"""Of a line of it."""
GLUE = "\xa0"
"""A space at which no line ends."""
MOST_SHOWN = 60
"""Characters of one value in a repr."""
Kept = TypeVar("Kept")


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
    return _lines(f"{type(value).__name__}({text})").replace(GLUE, " ")


def _lines(text: str) -> str:
    """A text in at most ten lines."""
    lines = wrap(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "  ...)"])


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
        if inside is not None and not is_dataclass(inside):
            text = _short(inside)
        elif type(value).__str__ in (object.__str__, Shown.__str__):
            text = f"<{type(value).__name__}>"
        else:
            text = str(value)
    elif isinstance(value, Mapping) and all(isinstance(own, str | int) for own in value.values()):
        text = f"{{{', '.join(f'{key}: {_short(own)}' for key, own in value.items())}}}"
        text = text if len(text) <= MOST_SHOWN else f"<{len(value)}>"
    elif isinstance(value, Sized):
        items = value if isinstance(value, tuple | list) else (value,)
        text = f"[{', '.join(map(_short, items))}]" if all(isinstance(item, str | int) for item in items) else ""
        text = text if text and len(text) <= MOST_SHOWN else f"<{len(value)}>"
    else:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


class Concise:
    """A dataclass with a short repr; its own would have all fields of all that it is made of in one line."""

    __slots__ = ()
    shown_first: ClassVar[tuple[str, ...]] = ()
    """Attributes, dotted for those of attributes, that the repr has first, such as `outermost.best.total_words`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the short repr, in place of which a dataclass would make its own."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Concise.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return brief(self, self._first_shown())

    def _first_shown(self) -> tuple[str, ...]:
        """Attributes that the repr has first."""
        return self.shown_first


class Names(dict[str, Kept]):
    """Things by name, whose repr has the names."""

    def __repr__(self) -> str:
        return _lines(f"{type(self).__name__}({', '.join(self)})")


class Shown(Concise):
    """An answer with a table, a document, a file and perhaps a picture."""

    __slots__ = ()
    shown_as: ClassVar[str]
    """Key of its kind in `PRESENTATIONS`; followed by `/` and the kind of count where it is shown by that."""

    @property
    def presentation(self) -> Presentation:
        """How answers of its kind are shown."""
        return PRESENTATIONS[self.shown_as]

    def __str__(self) -> str:
        return self.presentation.table(self)

    def _repr_html_(self) -> str:
        """The table in a notebook, and beside it the first picture of the answer where matplotlib is installed."""
        from optmap.base.page import as_html, beside

        return beside(as_html(lambda: str(self)), self._small_picture())

    def _small_picture(self) -> str:
        """The first picture as SVG; empty if there is none to draw or nothing to draw it with."""
        draw = self.presentation.drawing()
        try:
            return "" if draw is None else figure_svg(draw(self, None))
        except InputError:  # without matplotlib, or of an answer that has nothing to show
            return ""

    def to_dict(self) -> dict[str, Any]:
        """The document that the command of the same name prints with `--json`."""
        return dict(self.presentation.document(self))

    def to_frame(self, part: str = "") -> Any:
        """A table of the document as a data frame: rows per boundary, level, method, capacity or layer.

        Amounts are columns of their own, `cost.value` and `cost.unit`.

        Args:
            part: the key of the table, such as `boundaries` or `levels`; the first of the document if left out.

        Returns:
            A `pandas.DataFrame`.

        Raises:
            InputError: if the document has no table, or pandas is not installed.
            UnknownNameError: for a key that is no table of the document.
        """
        try:
            import pandas as pd
        except ImportError as error:
            from optmap.base.extras import install

            raise InputError(f"data frames need pandas, which is not installed; run: {install('pandas')}") from error
        tables = {
            key: rows
            for key, rows in self.to_dict().items()
            if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
        }
        if not tables:
            raise InputError(f"{type(self).__name__} has no rows; use to_dict()")
        return pd.json_normalize(tables[choose("part", part, tables) if part else next(iter(tables))])

    def save(self, path: str | Path) -> Path:
        """Write the answer to a file, as `-o` does; `optmap.load` says what it reads back.

        What YAML files describe, a workload or a machine, is written as one under a name that ends in .yaml or .yml.

        Returns:
            The path.

        Raises:
            InputError: if it cannot be written, or there is nothing to write.
        """
        file, way = file_path(path), self.presentation
        make = way.yaml if way.yaml and file.suffix in (".yaml", ".yml") else way.file
        write_text(file, make(self) if make else to_json(self.to_dict()) + "\n")
        return file

    def plot(self, path: str | Path | None = None, *, picture: str = "", axes: Any = None) -> Any:
        """Draw the answer.

        Args:
            path: write a picture (.png, .svg or .pdf) there; None leaves the figure open, as a
                notebook wants it.
            picture: which one, of an answer with several (`presentation.pictures`); the first if left out.
            axes: matplotlib axes to draw into; new ones if left out.

        Returns:
            The matplotlib axes, or the path that was written.

        Raises:
            InputError: if there is nothing to draw, matplotlib is not installed, or the file cannot
                be written.
            UnknownNameError: for a name that no picture of the answer has.
        """
        draw = self.presentation.drawing(picture)
        if draw is None:
            raise InputError(f"{type(self).__name__} has no picture; print it, or use its numbers")
        if path is None:
            return draw(self, axes)
        file = file_path(path)
        check_picture(file)
        save_figure(draw(self, axes), file)
        return file


class ShownMapping(Shown):
    """An answer that is a mapping."""

    __slots__ = ()

    def loop_nest(self) -> str:
        """The mapping as the tiled loop nest it stands for, as C-like text; on accelerators loops per memory.

        Raises:
            InputError: if nobody said how to write it.
        """
        make = self.presentation.nest
        if make is None:
            raise InputError(f"{type(self).__name__} has no loop nest to print")
        return make(self)

    def check(self) -> Report:
        """What the independent checker verifies of it, and what not; see `verified`."""
        return verified(self.to_dict())


def verified(document: dict[str, Any]) -> Report:
    """What the independent checker verifies of a document, and what not.

    Raises:
        CheckError: with the reason why a claim does not hold.
    """
    from optmap.checker import RefusedError, check_document

    try:
        return check_document(document)
    except RefusedError as error:
        raise CheckError(f"refused: {error}") from error
