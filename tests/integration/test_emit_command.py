"""Code from the command line and from Python: files, what is said, what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from host_machines import AVX512

import optmap as toolkit
from optmap.base.writing import to_json
from optmap.files.machines import machine_document

MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=40,j=30,k=20")


@pytest.fixture
def host(tmp_path: Path) -> str:
    """A machine file; whatever is JSON is YAML."""
    (tmp_path / "host.yaml").write_text(to_json({**machine_document(AVX512)}))
    return "host.yaml"


def test_what_is_written_builds_runs_and_is_right(optmap, host: str, tmp_path: Path) -> None:
    run = optmap("emit", *MATMUL, "--machine", host, "-o", "code", cwd=tmp_path)
    assert "threads    1" in run.out
    names = ["Makefile", "main.c", "mapping.json", "optmap_code.c", "optmap_code.h"]
    assert sorted(path.name for path in (tmp_path / "code").iterdir()) == names
    made = subprocess.run(["make", "-C", str(tmp_path / "code"), "run"], capture_output=True, text=True, check=True)
    assert "1200 outputs are right" in made.stdout
    assert "warning" not in made.stderr
    again = optmap("emit", *MATMUL, "--mapping", "code/mapping.json", "--json", cwd=tmp_path).document()
    assert again["schema"] == "optmap.code/1"
    written = (tmp_path / "code" / "optmap_code.c").read_text()
    assert written.endswith(again["source"])
    assert again["mapping"] == json.loads((tmp_path / "code" / "mapping.json").read_text())["mapping"]


def test_a_mapping_of_ones_own(optmap, host: str, tmp_path: Path) -> None:
    levels = [
        {"level": level.name, "tile": {"i": i, "j": 30, "k": k}, "permutation": ["j", "k", "i"], "spatial": {}}
        for level, i, k in zip(AVX512.levels, (3, 9, 20, 40), (1, 7, 20, 20), strict=True)
    ]
    (tmp_path / "mapping.json").write_text(json.dumps({"levels": levels}))
    arguments = ("emit", *MATMUL, "--mapping", "mapping.json", "--layout", "nchw")
    run = optmap(*arguments, "--machine", host, cwd=tmp_path)
    assert "i_1 += 9" in run.out
    assert "k_1 += 7" in run.out
    assert "does not say its machine" in optmap(*arguments, cwd=tmp_path, code=2).err
    two = optmap(*arguments, "--machine", host, "--threads", "2", cwd=tmp_path, code=2)
    assert "split among 1 thread, not 2" in two.err
    levels[3]["spatial"] = {"k": 2}
    levels[2]["tile"]["k"] = 10
    (tmp_path / "mapping.json").write_text(json.dumps({"levels": levels}))
    refused = optmap(*arguments, "--machine", host, cwd=tmp_path, code=2)
    assert "level L3: k is split 2 ways, but it is a reduction dim" in refused.err


def test_threads_are_solved_for(optmap, host: str, tmp_path: Path) -> None:
    document = optmap("emit", *MATMUL, "--machine", host, "--threads", "2", "--json", cwd=tmp_path).document()
    assert document["threads"] == 2
    assert "#pragma omp parallel for" in document["source"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*MATMUL,), ["--machine"]),
        ((*MATMUL, "--machine", "eyeriss"), ["units in meshes", "optmap detect"]),
        ((*MATMUL, "--machine", "balanced", "--layout", "chwn"), ["--layout", "chwn"]),
        ((*MATMUL, "--machine", "balanced", "--layout", "blocked"), ["blocks of one vector"]),
        ((*MATMUL, "--machine", "balanced", "--mapping", "nosuch.json"), ["nosuch.json"]),
        ((*MATMUL, "--machine", "balanced", "--threads", "0"), ["--threads"]),
    ],
)
def test_bad_input_is_said(optmap, arguments: tuple[str, ...], words: list[str]) -> None:
    run = optmap("emit", *arguments, code=2)
    assert all(word in run.err for word in words)
    assert "Traceback" not in run.err


def test_files_of_others_are_kept(optmap, host: str, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.c").write_text("int main(void) { return 0; }\n")
    run = optmap("emit", *MATMUL, "--machine", host, "-o", "code", cwd=tmp_path, code=2)
    assert "was not written by optmap" in run.err
    assert [path.name for path in (tmp_path / "code").iterdir()] == ["main.c"]


def test_python_has_the_same_verb(tmp_path: Path) -> None:
    result = toolkit.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=12,j=9,k=7", machine=AVX512)
    code = toolkit.emit(result.workload, machine=AVX512, mapping=result)
    assert code.mapping == result.mapping
    assert code.threads == 1
    assert str(code).startswith("code ")
    assert code.to_dict()["kernel"] == str(code.kernel)
    assert len(code.write(tmp_path)) == 5
    assert len(code.write(tmp_path)) == 5  # its own files may be written again


PAIR = ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "--extents", "m=20,l=30,k=8,n=9")


def test_a_mapping_tree_stands_for_its_code(optmap, tmp_path: Path) -> None:
    optmap("solve", *PAIR, "--memory", "300w", "-o", "pair.json", cwd=tmp_path)
    run = optmap("emit", "pair.json", "-o", "code", cwd=tmp_path)
    assert "note: S: a block of" in run.out
    names = ["mapping.json", "optmap_code.c", "optmap_code.h"]
    assert sorted(path.name for path in (tmp_path / "code").iterdir()) == names
    source = optmap("emit", "pair.json", cwd=tmp_path).out
    assert (tmp_path / "code" / "optmap_code.c").read_text().endswith(source)
    again = optmap("emit", "code/mapping.json", "--json", cwd=tmp_path).document()
    assert again["mapping"] == json.loads((tmp_path / "code" / "mapping.json").read_text())["mapping"]
    beside = optmap("emit", *PAIR, "--mapping", "pair.json", "--json", cwd=tmp_path).document()
    assert (beside["mapping"], beside["source"]) == (again["mapping"], source)
    assert "Fast - Memory  A" in optmap("evaluate", "code/mapping.json", cwd=tmp_path, code=None).out
    added = optmap("emit", *PAIR, "--mapping", "pair.json", "--semantics", "accumulate", cwd=tmp_path).out
    assert added.count("] = 0;") == source.count("] = 0;") - 1  # C, which is added to
    (tmp_path / "alone.json").write_text(json.dumps(json.loads((tmp_path / "pair.json").read_text())["mapping"]))
    alone = ("emit", *PAIR, "--mapping", "alone.json")
    assert "does not say its machine" in optmap(*alone, cwd=tmp_path, code=2).err
    (tmp_path / "one.yaml").write_text("name: one\nlevels: [{name: Fast, capacity: 300w}]\n")
    assert optmap(*alone, "--machine", "one.yaml", cwd=tmp_path).out == source


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pair.json", "--semantics", "accumulate"), "leave out --semantics"),
        (("pair.json", "--threads", "2"), "with 2 threads"),
        (("pair.json", "--machine", "balanced"), "keep at Fast, which is no level"),
        ((*PAIR, "--mapping", "pair.json", "--threads", "2"), "split among 1 thread, not 2"),
        ((*PAIR, "--mapping", "pair.json", "--layout", "nchw"), "are of code for one statement"),
        (("C[m,n] = A[m,k]*B[k,n]", "--extents", "m=9,n=9,k=9", "--mapping", "pair.json"), "compute S, which is no"),
    ],
)
def test_what_means_nothing_for_a_tree_is_said(optmap, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    toolkit.solve(PAIR[0], extents=PAIR[2], memory="300w").save(tmp_path / "pair.json")
    assert words in optmap("emit", *arguments, cwd=tmp_path, code=2).err


def test_python_writes_and_compiles_trees(tmp_path: Path) -> None:
    answer = toolkit.solve(PAIR[0], extents=PAIR[2], memory="300w")
    answer.save(tmp_path / "pair.json")
    code = toolkit.emit(answer.workload, mapping=answer)
    assert code.source == toolkit.emit(answer.workload, machine=answer.machine, mapping=answer.mapping).source
    assert code.to_dict()["mapping"] == toolkit.emit(tmp_path / "pair.json").to_dict()["mapping"]
    built = [
        toolkit.compile(each, folder=tmp_path)
        for each in (answer, code, tmp_path / "pair.json", toolkit.load(tmp_path / "pair.json"))
    ]
    assert len({kernel.library for kernel in built}) == 1
    assert built[0].inputs == ("A", "B", "D")
