"""Every example of the help is a command: all are parsed, and those that end soon are run, on small files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from contextvars import copy_context
from pathlib import Path
from typing import Any

import onnx
import pytest
import typer
from cases import some
from onnx import helper
from onnx_models import model, tensor, weights

from optmap.cli.app import COMMANDS, app

from .conftest import Command

DATA = Path(__file__).parents[1] / "data"
GROUP: Any = typer.main.get_command(app)
CONTEXT = GROUP.make_context("optmap", ["list"], resilient_parsing=True)
MEASURING = {"detect", "bench", "validate", "run"}
LONG = re.compile(
    r"emit .*(--fastest|run\.json|mobilenet).*"  # measures, too; needs what run wrote
    r"|.*--scheduler.*|.*--solver ipopt.*"  # a cluster; a solver that is not everywhere
    r"|race (?!C).*|reproduce .*--quick.*|network resnet.*--.*|compare .*(--plot|--objective).*"
    r"|solve .*(--certificate|--plot|--constraint|--method q|--tiles|eyeriss .*).*"
    r"|curve .*(--within|--plot).*|sensitivity .*(R9|seen\.json).*|closed-form .*--over.*|algorithms .*--plot.*"
    r"|plot results .*--(format|target).*|network .*--fuse.*|score .*--plot.*"
)
"""Examples that are only parsed: they take long even with the `LIMITS`, or need what is not everywhere."""
LIMITS = {
    re.compile("(solve|curve|compare) (?!r9).*"): ("--time-limit", "0.3"),
    re.compile("network .*--memory.*"): ("--time-limit", "0.3"),
    re.compile("network .*model.yaml.*"): ("--jobs", "1"),
    re.compile("sweep .*--jobs.*"): ("--jobs", "1"),
    re.compile("race .*"): ("--budget", "0.1"),
    re.compile(".*--evaluations.*"): ("--evaluations", "20"),
    re.compile(".*--points.*"): ("--points", "2"),
}
"""What is said after an example, so that it ends soon; an incumbent is an answer then."""
LIMIT_REACHED = 4
NO_PAGES = {"emit", "export", "--format", "--json", "--latex", "--yaml"}
"""What programs read."""
SWEEP = 'workloads: ["C[i,j] += A[i,k]*B[k,j]"]\nextents: {i: 24, j: 20, k: 16}\nmethods: [bound]\n' + (
    "capacities: {values: [40w]}\n"
)
NETWORK = "workloads:\n  first: {matmul: {i: 10, j: 12, k: 32}}\n  last: {matmul: {i: 8, j: 6, k: 4}, count: 2}\n"
NEST = "C[i,j] = A[i,k]*B[k,j]", "--extents", "i=8,j=6,k=4"


def _examples() -> list[tuple[str, ...]]:
    """What follows `optmap`, of every command of every line, in the order of the help."""
    found: dict[tuple[str, ...], None] = {}
    for name in COMMANDS:
        for line in re.findall(r"^  (optmap .*?)(?: +# .*)?$", GROUP.get_command(CONTEXT, name).help, re.MULTILINE):
            for command in line.split(" && "):
                program, *words = shlex.split(command)
                if program == "optmap":
                    found[tuple(words)] = None
    return list(found)


EXAMPLES = _examples()
RUN = [words for words in EXAMPLES if words[0] not in MEASURING and not LONG.fullmatch(" ".join(words))]


def test_there_are_examples_and_most_of_them_are_run() -> None:
    assert {words[0] for words in EXAMPLES} == set(COMMANDS)
    assert len(RUN) > 0.6 * len(EXAMPLES)


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_has_arguments_and_options_of_its_command(words: tuple[str, ...]) -> None:
    name, *arguments = words
    command = GROUP.get_command(CONTEXT, name)
    copy_context().run(command.make_context, name, arguments, parent=CONTEXT)  # plug-ins are noted, and not for others


@pytest.fixture(scope="module")
def folder(optmap: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name, small."""
    made = tmp_path_factory.mktemp("examples")
    for name, source in {
        "host.yaml": DATA / "hosts" / "detected.yaml",
        "solution.json": DATA / "documents" / "mopt.json",
        "my_machine.yaml": DATA / "hosts" / "detected.yaml",
    }.items():
        shutil.copy(source, made / name)
    (made / "my_sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (made / "model.yaml").write_text(NETWORK, encoding="utf-8")
    records = json.loads((DATA / "timeloop_conformance.json").read_text(encoding="utf-8"))
    (made / "records.json").write_text(json.dumps(records[:2]), encoding="utf-8")
    optmap("solve", *NEST, "--machine", "eyeriss_like", "--tiles", "divisors", "-o", "SOLUTION.json", cwd=made)
    optmap("solve", *NEST, "--memory", "40w", "-o", "small.json", cwd=made)
    optmap(
        "solve", "resnet18/R9", "--machine", "host.yaml", "--time-limit", "0.3", "-o", "r9.json", cwd=made, code=None
    )
    shutil.copy(made / "r9.json", made / "r9-2.json")
    optmap("bound", *NEST, "--memory", "40w", "-o", "y4.json", cwd=made)
    optmap("solve", "chains/attention", "--memory", "64KiB", "-o", "attention.json", cwd=made)
    optmap("sweep", "my_sweep.yaml", "-o", "results", "--jobs", "1", cwd=made)
    optmap("export", "SOLUTION.json", "--format", "timeloop", "-o", "files", cwd=made)
    for name in ("problem.yaml", "arch.yaml", "map.yaml"):
        shutil.copy(made / "files" / name, made / name)
    (made / "ERT.yaml").write_text("{}\n", encoding="utf-8")
    nodes = [helper.make_node("MatMul", ["tokens", "W"], ["h"]), helper.make_node("MatMul", ["h", "V"], ["y"])]
    constants = [weights("W", (16, 24)), weights("V", (24, 8))]
    for name, shape in {"model": (2, 128, 16), "dynamic": ("batch", None, 16), "bert": ("batch", 128, 16)}.items():
        onnx.save(model(nodes, [tensor("tokens", shape)], constants), made / f"{name}.onnx")
    return made


def _small(words: tuple[str, ...]) -> list[str]:
    """An example with what makes it small."""
    more = [word for which, limit in LIMITS.items() if which.fullmatch(" ".join(words)) for word in limit]
    dynamic = "dynamic.onnx" if "--dim" in words and "--fuse" not in words else "model.onnx"
    return [dynamic if word == "model.onnx" else word for word in words] + more


@pytest.mark.parametrize("words", some(len(RUN) // 3, [(words,) for words in RUN]), ids=" ".join)
def test_an_example_works(
    optmap: Command, folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPTMAP_COLUMNS")
    run = optmap(*_small(words), cwd=folder, code=None)
    assert run.code == 0 or (run.code == LIMIT_REACHED and "--time-limit" in _small(words)), run.err
    if not NO_PAGES.intersection(words):
        assert [line for line in run.out.splitlines() if len(line) > 80 and " " in line.strip()] == []
