"""Pictures of one answer, drawn into a folder without a window system."""

from __future__ import annotations

import logging
from pathlib import Path

from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.base.shown import Shown


def without_screen() -> None:
    """Pictures go to files: no window system is needed.

    Raises:
        InputError: if matplotlib is not installed.
    """
    told = logging.getLogger("matplotlib")
    level = told.level
    told.setLevel(logging.ERROR)  # where there is no home it takes a folder that passes, and says so at length
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        mpl.get_cachedir()
    except ImportError as error:
        raise InputError(f"pictures need matplotlib, which is not installed; run: {install('matplotlib')}") from error
    finally:
        told.setLevel(level)


def prepare_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be written before any work is done for it; None is fine.

    Raises:
        InputError: if it cannot, or matplotlib is not installed.
    """
    if path is not None:
        from optmap.base.writing import check_picture

        check_picture(path)
        without_screen()


def prepare_pictures(folder: Path | None) -> None:
    """Refuse a folder that cannot be made before any work is done; None is fine.

    Raises:
        InputError: if it cannot, or matplotlib is not installed.
    """
    if folder is not None:
        from optmap.base.writing import made_folder

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
