"""Every notebook runs from top to bottom, and none is committed with outputs."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from cases import some

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def load_render() -> ModuleType:
    """The script that executes notebooks and writes pages with their figures."""
    spec = importlib.util.spec_from_file_location("render", ROOT / "notebooks" / "render.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


render = load_render()


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_stored_outputs(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_imports_is_there_under_its_own_roof(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code").replace("%matplotlib", "# matplotlib")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("optmap"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                home = getattr(getattr(module, alias.name), "__module__", node.module)
                assert home.startswith(node.module), f"{node.module} has {alias.name} from {home}"


@pytest.mark.parametrize("path", some(NOTEBOOKS[:1], NOTEBOOKS), ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    notebook = render.execute(path, tmp_path)
    executed = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in executed)
    page = render.write_page(notebook, path.stem, tmp_path)
    figures = sorted(tmp_path.glob(f"{path.stem}_*.png"))
    assert figures
    text = page.read_text(encoding="utf-8")
    assert all(f"]({figure.name})" in text for figure in figures)


def test_the_first_notebook_needs_one_import_and_pyomo_for_a_constraint_of_ones_own() -> None:
    cells = nbformat.read(ROOT / "notebooks" / "01_solve_a_layer.ipynb", as_version=4).cells
    lines = [line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert imports == ["import optmap", "import pyomo.environ as pyo"]
