"""The folder that Sphinx reads: pages of the repository with links into the site, and pages that are written here."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from making.blocks import FENCE, Ran, block_of, run_page, shows_output

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINKS = (
    (re.compile(r"\]\((?:\.\./)+notebooks/(\w+)\.ipynb\)"), "](/notebooks/{0}.md)"),
    (re.compile(r"\]\((?:\.\./)+models/README\.md(#[\w-]*)?\)"), "](/reference/files.md{0})"),
)
"""Files that are pages of the site under another path."""
GIVEN = {"records.json": "tests/data/timeloop_conformance.json"}
"""Files that every page has in its folder: what examples read and nobody would type."""
START_OF_README = "## A worked example"
"""Before it stand the commands that install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the repository."""

    path: Path
    folder: Path
    """Where its blocks are run."""
    ran: list[Ran] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        """What it says."""
        return self.path.read_text(encoding="utf-8")

    def run(self, environment: Mapping[str, str]) -> None:
        """Run its blocks in a new folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, source in GIVEN.items():
            shutil.copy(ROOT / source, self.folder / name)
        text = self.text
        begin = max(text.find(START_OF_README), 0) if self.path.name == "README.md" else 0
        self.ran[:] = run_page(_blank(text[:begin]) + text[begin:], self.folder, environment, sys.executable)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def pages(folder: Path) -> list[Page]:
    """The README and every page of `docs`, with folders to run them in."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    kept = [path for path in found if "_build" not in path.parts]
    return [
        Page(path=path, folder=folder / path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "-"))
        for path in kept
    ]


def to_run(every: list[Page]) -> list[Page]:
    """The pages that show what their blocks print or draw."""
    return [page for page in every if shows_output(page.text)]


def environment(scratch: Path) -> dict[str, str]:
    """What commands of the pages find: `optmap`, this interpreter, caches of their own, nothing set for optmap."""
    programs = scratch / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, words in {"optmap": "-m optmap", "python": ""}.items():
        file = programs / name
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("OPTMAP_")},
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(scratch / "matplotlib"),
        "OPTMAP_BUILD_DIR": str(scratch / "built"),
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "120",
    }


def stage(every: list[Page], source: Path) -> None:
    """Copy the pages to where Sphinx reads them, with their files and the pictures that their commands drew."""
    for path in DOCS.rglob("*"):
        inside = path.relative_to(DOCS)
        if path.is_file() and not {"_build", "__pycache__"} & set(inside.parts) and path.suffix != ".md":
            (source / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, source / inside)
    for page in every:
        if page.path.parent == ROOT:
            continue
        target = source / page.path.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.text
        for picture in pictures(text):
            if (page.folder / picture).exists():
                (target.parent / target.stem / picture).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(page.folder / picture, target.parent / target.stem / picture)
                text = text.replace(f"]({picture})", f"]({target.stem}/{picture})")
        target.write_text(for_site(text), encoding="utf-8")


def pictures(text: str) -> Iterator[str]:
    """The files of the pictures of a page."""
    yield from re.findall(r"!\[[^\]]*\]\(((?!https?:)[^)]+)\)", text)


def for_site(text: str) -> str:
    """A page with links into the site, and its blocks as MyST reads them."""
    for pattern, target in LINKS:
        text = pattern.sub(lambda found, target=target: target.format(*(each or "" for each in found.groups())), text)
    return FENCE.sub(_fence, text)


def _fence(found: re.Match[str]) -> str:
    block = block_of(found)
    if block.language.startswith("{"):
        return found[0]
    if block.file:
        return f"{found[1]}{{code-block}} {block.language}\n:caption: {block.file}\n\n{block.code}{found[1]}"
    return f"{found[1]}{block.language}\n{block.code}{found[1]}"
