"""The notebooks as pages, with the outputs that they have when `notebooks/render.py` runs them."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def write(target: Path, run: bool, jobs: int) -> None:
    """Write a page for every notebook, and one that lists them.

    Args:
        target: folder of the pages.
        run: whether they are executed; otherwise pages have text and code only.
        jobs: that are executed at a time.
    """
    target.mkdir(parents=True, exist_ok=True)
    render = load_render()
    entries = []
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    with ThreadPoolExecutor(jobs) as pool:
        read = pool.map(lambda path: render.execute(path, target) if run else plain(path), paths)
    for path, notebook in zip(paths, read, strict=True):
        page = render.write_page(notebook, path.stem, target)
        title = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
        entries.append(f"- [{title[2:]}]({page.name}) (`notebooks/{path.name}`)")
    listed = "\n".join(path.stem for path in paths)
    text = [
        "# Notebooks\n",
        "`python notebooks/render.py` executes them and writes pages with their figures; the tests run them all.\n",
        *entries,
        f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    ]
    (target / "index.md").write_text("\n".join(text), encoding="utf-8")


def plain(path: Path) -> nbformat.NotebookNode:
    """A notebook as it is kept, without outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell["outputs"] = []
    return notebook


def load_render() -> ModuleType:
    """The script that executes notebooks."""
    spec = importlib.util.spec_from_file_location("render", NOTEBOOKS / "render.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
