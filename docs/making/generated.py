"""Pages that are made from the code: names, commands, formats, errors, proofs, notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from making import commands, documents, files, names, notebook_pages, proofs

WRITERS: tuple[Callable[[], Mapping[str, str]], ...] = (
    commands.pages,
    names.pages,
    files.pages,
    documents.pages,
    proofs.pages,
)
"""What gives texts by their path in the site."""


def write_pages(source: Path, notebooks: bool, jobs: int) -> None:
    """Write all pages that are made from the code.

    Args:
        source: the folder that Sphinx reads.
        notebooks: whether notebooks are run for their outputs.
        jobs: that are run at a time.
    """
    for writer in WRITERS:
        for name, text in writer().items():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    notebook_pages.write(source / "notebooks", notebooks, jobs)
