"""All pictures of one answer, written to a folder."""

from __future__ import annotations

from pathlib import Path

from optmap.base.names import choose
from optmap.base.shown import Shown
from optmap.base.writing import made_folder

FORMATS = ("png", "svg", "pdf")
"""Forms of pictures, as files end."""


def write_pictures(answer: Shown, folder: str | Path, *, form: str = "png") -> tuple[Path, ...]:
    """Write every picture that there is of an answer, each named for what it shows.

    Args:
        answer: anything that `plot` draws.
        folder: made if it is not there.
        form: `png`, `svg` or `pdf`.

    Returns:
        The files.

    Raises:
        InputError: if there is nothing to draw, matplotlib is not installed, or a file cannot be written.
        UnknownNameError: for a form that is none.
    """
    choose("format", form, FORMATS)
    place = made_folder(folder)
    pictures = answer.presentation.pictures
    if not pictures:
        return (answer.plot(place / f"traffic.{form}"),)
    return tuple(answer.plot(place / f"{name}.{form}", picture=name) for name in pictures)
