"""Files that are written: JSON, text, pictures, folders; what cannot be written is said before work is done for it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optmap.base.errors import InputError
from optmap.base.values import file_path

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".eps", ".ps", ".svgz")
"""How the name of a picture ends; the first three are those of `plot`."""

DOTS_PER_INCH = 150
NO_DATES: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
"""Metadata of pictures that would differ between two runs with the same data."""


def to_json(document: Mapping[str, object]) -> str:
    """A document as indented JSON text, in the order of its keys, without a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written before any work is done for it; None is fine.

    Raises:
        InputError: if the folder does not exist or the path is a folder itself.
    """
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"{path}: cannot be written: {reason}; choose another file")


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be written before any work is done for it.

    Raises:
        InputError: as `check_target`, and for a name that ends in no form of pictures.
    """
    check_target(path)
    if path.suffix.lower() not in PICTURES:
        raise InputError(
            f"{path}: no form of pictures is called {path.suffix or 'so'}; "
            f"end the name in {', '.join(PICTURES[:2])} or {PICTURES[2]}"
        )


def made_folder(folder: str | Path) -> Path:
    """A folder to write into, made if it is not there.

    Raises:
        InputError: if it cannot be made.
    """
    place = file_path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{place}: cannot be made: {error.strerror}; choose another folder") from error
    return place


def write_folder(folder: str | Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write texts by name into a folder, which is made if need be; their paths.

    Raises:
        InputError: if they cannot be written.
    """
    place = made_folder(folder)
    for name, text in files.items():
        write_text(place / name, text)
    return tuple(place / name for name in files)


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        InputError: if it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; choose another file") from error


def figure_svg(axes: Any) -> str:
    """The figure of some axes as SVG, its letters as text; it is closed."""
    page = io.StringIO()
    _written(axes, page, "svg", {"svg.fonttype": "none"})
    return page.getvalue()


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of some axes to a file and close it.

    Raises:
        InputError: if the file cannot be written.
    """
    try:
        _written(axes, path, path.suffix.lower().removeprefix(".") or None, {})
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}; choose another file") from error
    except ValueError as error:
        raise InputError(f"{path}: cannot be written: {error}; use a name such as plot.png") from error


def _written(axes: Any, target: Path | io.StringIO, form: str | None, settings: Mapping[str, str]) -> None:
    """Write a figure and close it; from the same data come the same bytes."""
    from matplotlib import pyplot

    try:
        with pyplot.rc_context({"svg.hashsalt": "optmap", **settings}):
            axes.figure.savefig(target, format=form, dpi=DOTS_PER_INCH, metadata=NO_DATES.get(form or ""))
    finally:
        pyplot.close(axes.figure)
