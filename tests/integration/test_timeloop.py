"""`import`, `export` and `score` on files of Timeloop, as a user runs them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import optmap
from optmap.answers.side_by_side.scoring import scored
from optmap.base.errors import ContradictionError, InputError
from optmap.cli.app import app
from optmap.mappings.nest import Nest

PRODUCT = ("C[i,j] = A[i,k]*B[k,j]", "--extents", "i=8,j=6,k=4")


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module", name="folder")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A solved product and its files."""
    folder = tmp_path_factory.mktemp("timeloop")
    code, _, said = run("solve", *PRODUCT, "--machine", "eyeriss_like", "--tiles", "divisors", "-o", folder / "s.json")
    assert code == 0, said
    code, out, said = run("export", folder / "s.json", "--format", "timeloop", "-o", folder / "files")
    assert (code, said) == (0, "")
    assert out.split() == [str(folder / "files" / name) for name in ("problem.yaml", "arch.yaml", "map.yaml")]
    return folder


def files(folder: Path) -> list[Path]:
    return sorted((folder / "files").iterdir())


def test_the_optimum_scores_as_the_optimum(folder: Path) -> None:
    code, out, said = run("score", *files(folder))
    assert (code, said) == (0, "")
    assert out.rstrip().endswith("yours is the proven optimum")
    solution = json.loads((folder / "s.json").read_text())
    code, out, _ = run("score", *files(folder), "--json")
    document = json.loads(out)
    assert document["ratio"] == 1
    assert document["yours"]["edp"] == document["best"]["edp"] == solution["cost"]


def test_a_worse_mapping_is_so_many_times_the_optimum(folder: Path, tmp_path: Path) -> None:
    lines = ["mapping:"]
    for name, factors in {"DRAM": "i=8 j=6 k=4", "GlobalBuffer": "i=1", "RegisterFile": "i=1"}.items():
        lines.append(f"  - {{target: {name}, type: temporal, factors: {factors}, permutation: ijk}}")
    (tmp_path / "map.yaml").write_text("\n".join(lines))
    mine = [tmp_path / "map.yaml", *(path for path in files(folder) if path.name != "map.yaml")]
    code, out, _ = run("score", *mine)
    assert code == 0
    score = optmap.score(mine)
    best = optmap.solve(PRODUCT[0], extents=PRODUCT[2], machine="eyeriss_like", tiles="divisors")
    assert score.best.cost == best.cost
    assert score.ratio == score.count.edp / best.cost
    assert score.ratio > 1
    assert out.rstrip().endswith(f"yours is {float(score.ratio):.2f}x of the proven optimum")


def test_what_is_not_proved_is_not_called_the_optimum(folder: Path) -> None:
    score = optmap.score(files(folder))
    best = score.best
    half = replace(best, found=replace(best.found, bound=best.cost / 2, proved=False, seconds=3.0))
    open_end = replace(score, best=half)
    assert open_end.verdict == "yours is as good as the best mapping found in 3 s, at most 2.00x of the optimum"
    nothing = replace(open_end, best=replace(half, found=replace(half.found, bound=best.cost * 0)))
    assert nothing.verdict == "yours is as good as the best mapping found in 3 s"
    wrong = replace(best, found=replace(best.found, bound=best.cost + 1))
    with pytest.raises(ContradictionError, match="proved to be the least"):
        scored(score.nest, score.fabric, wrong)
    memories = score.nest.memories
    padded = Nest(memories=(*memories[:-1], replace(memories[-1], temporal=((0, 2), *memories[-1].temporal))))
    assert scored(padded, score.fabric, replace(best, found=replace(best.found, bound=best.cost * 100))).ratio != 1


def test_an_invalid_mapping_is_said_to_be_one(folder: Path, tmp_path: Path) -> None:
    text = "mapping:\n  - {target: RegisterFile, type: temporal, factors: i=8 j=6 k=4}\n"
    (tmp_path / "map.yaml").write_text(text)
    small = (folder / "files" / "arch.yaml").read_text().replace("entries: 256", "entries: 16")
    (tmp_path / "arch.yaml").write_text(small)
    code, _, said = run("score", folder / "files" / "problem.yaml", tmp_path / "arch.yaml", tmp_path / "map.yaml")
    assert code == 5
    assert "yours is not valid on the machine: RegisterFile" in said


def test_imported_files_are_those_of_optmap(folder: Path, tmp_path: Path) -> None:
    code, out, _ = run("import", *files(folder), "-o", tmp_path / "imported")
    assert code == 0
    assert "<< Compute >>" in out
    made = tmp_path / "imported"
    assert optmap.workload(made / "workload.yaml").extents == {"i": 8, "j": 6, "k": 4}
    assert optmap.machine(made / "machine.yaml").cores == 168
    before, after = optmap.evaluate(folder / "s.json"), optmap.evaluate(made / "mapping.json")
    assert before.count.edp == after.count.edp
    code, out, _ = run("import", *files(folder), "--json")
    assert json.loads(out)["mapping"]["levels"][0]["level"] == "RegisterFile"


def test_one_file_may_hold_everything(folder: Path, tmp_path: Path) -> None:
    code, out, _ = run("export", folder / "s.json", "--format", "timeloop")
    assert code == 0
    (tmp_path / "all.yaml").write_text(out)
    code, _, said = run("import", tmp_path / "all.yaml")
    assert (code, said) == (0, "")
    model = optmap.import_timeloop(tmp_path / "all.yaml")
    assert model.nest == optmap.load(folder / "s.json").nest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "x.yaml"), "x.yaml: no such file"),
        (("import", "x.onnx", "y.onnx"), "one ONNX file at a time"),
        (("import", "x.yaml", "--dim", "a=1"), "is for ONNX files"),
        (("import", "x.yaml", "--format", "timelop"), "did you mean timeloop?"),
        (("export", "x.json", "--format", "timeloop"), "x.json: no such file"),
        (("score", "x.yaml"), "x.yaml: no such file"),
    ],
)
def test_what_cannot_be_is_refused(arguments: tuple[str, ...], said: str) -> None:
    code, _, message = run(*arguments)
    assert code == 2
    assert said in message


def test_only_mappings_on_accelerators_are_exported(folder: Path) -> None:
    result = optmap.solve(PRODUCT[0], extents=PRODUCT[2], memory="64w")
    with pytest.raises(InputError, match="two-level gives no energies and fanouts; use an accelerator"):
        optmap.export_timeloop(result)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the files have no mapping"):
        optmap.score([path for path in files(folder) if path.name != "map.yaml"])
    with pytest.raises(InputError, match="no file is given"):
        optmap.import_timeloop([])
