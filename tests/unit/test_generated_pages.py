"""Pages that are made from the code have everything that there is; `python docs/build.py` makes a site of them."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import optmap
from optmap.base.errors import OptmapError
from optmap.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from making import commands, docstrings, documents, files, names, proofs, prose  # noqa: E402
from making.stage import for_site, pages, to_run  # noqa: E402


def test_every_command_and_option_is_on_its_page() -> None:
    (page,) = commands.pages().values()
    assert re.findall(r"^### (.*)$", page, flags=re.MULTILINE) == list(COMMANDS)
    solve = page.split("### solve\n")[1].split("\n### ")[0]
    assert "`--constraint TEXT`" in solve
    assert "optmap solve yolo9000/Y4" in solve


def test_every_public_name_is_on_its_page() -> None:
    page = names.pages()["reference/python.md"]
    shown = re.findall(r"^### optmap\.(\w+)$", page, flags=re.MULTILINE)
    assert sorted(shown) == sorted(set(optmap.__all__) - {"__version__", "METHODS"})
    assert ".. autofunction:: optmap.solve\n" in page
    assert ".. autoclass:: optmap.Answer\n" in page
    assert ".. autoexception:: optmap.InputError\n" in page


def test_every_error_and_exit_code_is_on_its_page() -> None:
    page = names.pages()["reference/errors.md"]
    waiting, every = [OptmapError], set()
    while waiting:
        every.add(found := waiting.pop())
        waiting += found.__subclasses__()
    assert {each.__name__ for each in every if each.__module__.startswith("optmap.")} <= set(
        re.findall(r"`(\w+)`", page)
    )
    assert '"kind": "UnknownNameError"' in page


def test_every_schema_of_documents_is_on_their_page_with_its_keys() -> None:
    made = documents.pages()
    page = made["reference/documents.md"]
    assert set(re.findall(r"^## (.*)$", page, flags=re.MULTILINE)) == {*documents.known(), "Parts"}
    assert "| `traffic_words` | int or nothing | Exact loads and stores" in page
    solution = page.split("## optmap.solution/2\n")[1].split("\n## ")[0]
    assert "| `cost` | amount | The objective" in solution
    assert "| `others[].mapping` |" in solution
    assert "| `gap` | number or null |" in solution
    assert json.loads(made["reference/schemas/solution-2.json"])["title"] == "optmap.solution/2"


def test_every_key_of_the_schemas_of_files_is_on_the_page() -> None:
    page = files.pages()["reference/schemas.md"]
    for key in ("levels", "capacity", "expression", "conv2d", "machine_numbers", "fanout"):
        assert f"`{key}`" in page, key


def test_proofs_are_the_documentation_of_their_modules() -> None:
    (page,) = proofs.pages().values()
    assert page.count("\n## ") == len(proofs.PROOFS)


def test_docstrings_are_read_as_they_are_meant() -> None:
    said = ["`Opt` of **options, a*b and name_.", "a | b `c", "d` e", ">>> 2*3", "6", "", "f*g"]
    made = ["``Opt`` of \\*\\*options, a\\*b and name\\_.", "a \\| b ``c", "d`` e", ">>> 2*3", "6", "", "f\\*g"]
    assert docstrings.as_literals(said) == made


def test_links_into_the_repository_are_links_into_the_site() -> None:
    text = "[a](../../notebooks/01_solve_a_layer.ipynb) [b](../../models/README.md#machines)\n\n"
    text += "```yaml file=a.yaml\nb: 1\n```\n"
    assert for_site(text) == (
        "[a](/notebooks/01_solve_a_layer.md) [b](/reference/files.md#machines)\n\n"
        "```{code-block} yaml\n:caption: a.yaml\n\nb: 1\n```\n"
    )


def test_tutorials_gallery_and_readme_are_run_when_the_site_is_built(tmp_path: Path) -> None:
    run = {page.name for page in to_run(pages(tmp_path))}
    assert {"README.md", "docs/gallery.md"} < run
    tutorials = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert len(tutorials) == 4
    assert {f"docs/tutorials/{name}.md" for name in tutorials} < run


def test_every_page_is_in_a_list_of_pages() -> None:
    """One that is in none would fail the site."""
    docs = ROOT / "docs"
    every = {path for path in docs.rglob("*.md") if not {"_build", "papers"} & set(path.relative_to(docs).parts)}
    listed = {docs / "index.md"}
    for index in docs.rglob("index.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), flags=re.DOTALL):
            names = [line for line in block.split() if not line.startswith(":")]
            listed |= {(index.parent / f"{name}.md").resolve() for name in names}
    assert {path.resolve() for path in every} <= {path.resolve() for path in listed}


def test_documentation_of_modules_is_rendered_and_formulas_stay_as_they_are() -> None:
    said = (
        "**Window.** Of a*b and c_i (as `x*y_z`) it *holds* that |V| <= 1:\n\n    sum   w*(a_i)\n\n      deeper\n"
        "with this. Two cases:\n- *one*: f(a_1) is\n      x < y_1\n  at most;\n- two."
    )
    made = (
        "**Window.** Of a\\*b and c\\_i (as `x*y_z`) it *holds* that \\|V\\| \\<= 1:\n\n"
        "```text\nsum   w*(a_i)\n\n  deeper\n```\n"
        "with this. Two cases:\n- *one*: f(a\\_1) is\n  ```text\n  x < y_1\n  ```\n  at most;\n- two."
    )
    assert prose.rendered(said) == made


def test_lines_of_proofs_that_begin_a_list_are_meant_to() -> None:
    """A minus sign at the beginning of a line would be one in Markdown."""
    for module in (*proofs.PROOFS, *documents.FORMATS.values()):
        for line in (getdoc(import_module(module)) or "").splitlines():
            assert re.match(r" *(?:\d+[.)]|[+>#]) ", line) is None, (module, line)
            assert re.match(r" *- \d+\)", line) is None, (module, line)
