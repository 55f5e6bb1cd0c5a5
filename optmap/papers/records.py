"""What a folder keeps of items: a document for each, written whenever one of its points is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optmap.base.errors import InputError
from optmap.base.writing import made_folder, to_json, write_text
from optmap.papers.answer import ItemRun
from optmap.papers.items import Paper, PaperItem
from optmap.papers.tasks import PointRows
from optmap.version import __version__

SCHEMA = "optmap.reproduction/1"


def item_document(run: ItemRun) -> dict[str, Any]:
    """An item with its rows as JSON-able data."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "paper": run.paper.key,
        "item": run.item.name,
        "title": run.item.title,
        "where": run.item.where,
        "verdicts": run.verdicts,
        "points": {point: found.to_dict() for point, found in run.points.items()},
    }


def record_path(folder: Path, paper: Paper, item: PaperItem) -> Path:
    """Where the document of an item is."""
    return folder / paper.key / f"{item.slug}.json"


def write_record(folder: Path, run: ItemRun) -> Path:
    """Write the document of an item.

    Raises:
        InputError: if it cannot be written.
    """
    path = record_path(folder, run.paper, run.item)
    made_folder(path.parent)
    write_text(path, to_json(item_document(run)) + "\n")
    return path


def read_record(folder: Path, paper: Paper, item: PaperItem) -> dict[str, PointRows]:
    """What a folder has of an item, by point: nothing that another version wrote.

    Raises:
        InputError: for a file that is no such document.
    """
    path = record_path(folder, paper, item)
    if not path.exists():
        return {}
    try:
        document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA or document["version"] != __version__:
            return {}
        return {point: PointRows.read(found) for point, found in document["points"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: is no record of an item of a paper ({error}); remove it, or name another folder"
        ) from error
