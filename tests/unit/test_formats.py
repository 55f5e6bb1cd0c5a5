"""Formats of files of one's own: one registration, and `import` reads them, `export` writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import run
from toys import LINE

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.interchange import FORMATS, FileFormat, register_format
from optmap.verbs.exchange import export_files, import_files

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """A file of the toy, one size of which is open."""
    file = tmp_path / "product.line"
    file.write_text("C[i,j] += A[i,k]*B[k,j] | i=4, j=n, k=8\n", encoding="utf-8")
    return file


def test_a_plugin_brings_it_to_the_shell(
    toy: Path, line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "product.yaml"
    out, _ = run("--plugin", toy, "import", line, "--dim", "n=6", "-o", made, capsys=capsys)
    assert "C[i,j] += A[i,k] * B[k,j]" in out
    assert optmap.workload(made).extents == {"i": 4, "j": 6, "k": 8}
    out, _ = run("import", line, "--dim", "n=3", "--json", "--format", "line", capsys=capsys)
    assert json.loads(out)["extents"] == {"i": 4, "j": 3, "k": 8}
    solved = tmp_path / "solved.json"
    run("solve", made, "--memory", "40w", "-o", solved, capsys=capsys)
    out, _ = run("export", solved, "--format", "line", capsys=capsys)
    assert out.startswith("C[i,j] += A[i,k] * B[k,j] | Fast {'i': ")
    said, _ = run("export", solved, "--format", "line", "-o", tmp_path / "there", capsys=capsys)
    assert said == f"{tmp_path / 'there' / 'tiles.line'}\n"
    assert (tmp_path / "there" / "tiles.line").read_text(encoding="utf-8") == out
    document = json.loads(run("export", solved, "--format", "line", "--json", capsys=capsys)[0])
    assert document == {"schema": "optmap.line-files/1", "files": {"tiles.line": out}}


def test_without_it_the_names_that_there_are_are_said(line: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run("import", line, "--format", "line", capsys=capsys, code=2)
    assert "unknown format 'line'" in err
    assert "onnx, timeloop" in err
    _, err = run("import", line, capsys=capsys, code=2)
    assert "ONNX" in err
    _, err = run("export", line, "--format", "onnx", capsys=capsys, code=2)
    assert "unknown format 'onnx'" in err


def test_verbs_of_python_take_it(line: Path) -> None:
    register_format(LINE)
    workload = import_files(line, sizes={"n": 6})
    assert workload == optmap.workload("C[i,j] += A[i,k]*B[k,j]", "i=4,j=6,k=8")
    found = optmap.solve(workload, memory="40w")  # type: ignore[arg-type]
    (text,) = export_files(found, "line").values()
    assert text.count("|") == 1
    with pytest.raises(InputError, match="no solution; give what solve returned, or a solution file"):
        export_files(workload, "line")  # type: ignore[arg-type]


def test_one_that_is_only_read_or_only_written_is_offered_where_it_can_be_asked_for(line: Path) -> None:
    register_format(FileFormat(name="told", write=LINE.write))
    register_format(FileFormat(name="heard", read=LINE.read))
    with pytest.raises(UnknownNameError, match="unknown format 'told'"):
        import_files(line, "told")
    with pytest.raises(UnknownNameError, match="unknown format 'heard'"):
        export_files(line, "heard")


def test_a_name_is_given_once() -> None:
    assert list(FORMATS) == ["onnx", "timeloop"]
    with pytest.raises(InputError, match="format 'onnx' exists"):
        register_format(FileFormat(name="onnx"))
