"""Execute notebooks and write pages with their figures: `python notebooks/render.py [NAME …] [-o FOLDER]`.

The notebooks in the repository hold no outputs. The pages do: a Markdown file each with the pictures
beside it, in `notebooks/pages` unless said otherwise, which is not kept in the repository.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 240
"""Of one cell."""


class ThisInterpreter(AsyncKernelManager):
    """A kernel of the interpreter that runs, whatever kernels are registered."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """The command of the kernel."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="this interpreter", language="python")


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of all its cells, run in a folder; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_manager_class=ThisInterpreter, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def write_page(notebook: nbformat.NotebookNode, name: str, folder: Path) -> Path:
    """Write an executed notebook as a Markdown page, its pictures as files beside it."""
    parts: list[str] = []
    pictures = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(fenced(cell.source, "python"))
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                file = folder / f"{name}_{pictures}.png"
                file.write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"![figure {pictures}]({file.name})")
            elif "text/html" in data:
                parts.append(data["text/html"])
            else:
                parts.append(fenced(data.get("text/plain", output.get("text", "")), "text"))
    page = folder / f"{name}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def fenced(text: str, language: str) -> str:
    """A text as a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def main() -> None:
    """Render the notebooks named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 01_solve_a_layer; all if left out")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "pages", metavar="FOLDER")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    for name in chosen.names or sorted(path.stem for path in HERE.glob("*.ipynb")):
        with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
            print(write_page(execute(HERE / f"{name}.ipynb", Path(folder)), name, chosen.output))


if __name__ == "__main__":
    main()
