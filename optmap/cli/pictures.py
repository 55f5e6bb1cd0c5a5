"""Pictures of one answer, drawn into a folder without a window system."""

from __future__ import annotations

from pathlib import Path

from optmap.errors import InputError
from optmap.shown import Shown


def without_screen() -> None:
    """Pictures go to files: no window system is needed.

    Raises:
        InputError: if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise InputError("pictures need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    mpl.use("Agg")


def prepare_pictures(folder: Path | None) -> None:
    """Refuse a folder that cannot be made before any work is done; None is fine.

    Raises:
        InputError: if it cannot, or matplotlib is not installed.
    """
    if folder is not None:
        from optmap.problem.io.files import made_folder

        without_screen()
        made_folder(folder)


def draw_pictures(answer: Shown, folder: Path | None) -> None:
    """Draw everything that there is to draw of an answer; None draws nothing.

    Raises:
        InputError: if there is nothing to draw, or a file cannot be written.
    """
    if folder is not None:
        from optmap.report import write_pictures

        write_pictures(answer, folder)
