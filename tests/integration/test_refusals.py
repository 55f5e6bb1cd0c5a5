"""Refused for what is wrong, before any work is done, with the exit code that says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import optmap as package
from optmap import api
from optmap.answers.over_capacity.networks import LayerShare
from optmap.base.errors import InputError, UnknownNameError
from optmap.cli.app import app
from optmap.files.fields import Fields, located
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.report import comparison_document, comparison_table
from optmap.verbs import comparing
from optmap.workloads.amounts import Bandwidth
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_capacity


def run(*args: str | Path) -> Result:
    """`optmap ARGS…`, in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=12,j=10,k=8")
CONV = ("O[x,y,k] += I[x+r,y+s,c]*K[r,s,c,k]", "--extents", "x=8,y=8,k=4,c=4,r=3,s=3")


def test_a_network_that_a_method_cannot_solve_is_bad_input() -> None:
    found = run("network", "resnet18", "--machine", "gemmini-buffers")
    assert found.exit_code == 2
    assert "or --method iooub" in found.stderr


@pytest.mark.parametrize("name", ["x.xyz", "plain", "x.jpeg2"])
def test_pictures_are_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("computed first")

    monkeypatch.setattr(comparing, "compare", computed)
    monkeypatch.setattr(comparing, "algorithms", computed)
    for command, words in (("compare", MATMUL), ("algorithms", CONV)):
        found = run(command, *words, "--memory", "64w", "--plot", str(tmp_path / name))
        assert found.exit_code == 2
        assert ".png, .svg or .pdf" in found.stderr
    assert not list(tmp_path.iterdir())


def test_pictures_of_answers_are_refused_before_they_are_drawn(tmp_path: Path) -> None:
    result = api.solve(MATMUL[0], extents={"i": 12, "j": 10, "k": 8}, memory="64w")
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        result.plot(tmp_path / "x.xyz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("bound", *MATMUL, "--memory", "64w"), "-o"),
        (("solve", *MATMUL, "--memory", "64w"), "--output"),
        (("compare", *MATMUL, "--memory", "64w"), "--plot"),
        (("algorithms", *CONV, "--memory", "64w"), "--plot"),
        (("export", *MATMUL, "--memory", "64w"), "-o"),
        (("network", "resnet18", "--memory", "64KiB"), "-o"),
        (("plot", "somewhere"), "-o"),
        (("sweep", "spec.yaml"), "-o"),
    ],
)
def test_an_empty_path_is_called_empty(command: tuple[str, ...], option: str) -> None:
    found = run(*command, option, "")
    assert found.exit_code == 2
    assert "is empty" in found.stderr
    assert not found.stdout


def test_a_place_keeps_the_kind_of_an_error() -> None:
    unknown = located(UnknownNameError("unknown method 'mobt'; did you mean mopt?"), "spec.yaml: options")
    assert type(unknown) is UnknownNameError
    assert str(unknown) == "spec.yaml: options: unknown method 'mobt'; did you mean mopt?"
    assert located(unknown, "spec.yaml") is unknown
    with pytest.raises(UnknownNameError, match="did you mean"):
        raise located(unknown, Fields.of({}, "other").where)


def test_comparisons_say_what_their_gap_is_of() -> None:
    found = comparing.compare(MATMUL[0], extents={"i": 12, "j": 10, "k": 8}, memory="64w", methods="mopt")
    assert "traffic gap" in comparison_table(found)
    document = comparison_document(found)
    assert document["gap_of"] == "the words that the method minimises: counted"
    (row,) = document["rows"]  # type: ignore[misc]
    assert row["gap"] == found.rows[0].gap("mopt")


def test_algorithms_are_drawn_in_the_unit_that_was_asked() -> None:
    sizes = {"x": 8, "y": 8, "k": 4, "c": 4, "r": 3, "s": 3}
    for memory, label, largest in (("1KiB:4KiB", "fast memory", 4096), ("256w:1024w", "fast memory (words)", 1024)):
        axes = package.algorithms(CONV[0], extents=sizes, memory=memory, points=3).plot()
        assert axes.get_xlabel() == label
        assert max(max(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) > 2) == largest


def test_a_layer_that_moves_nothing_has_no_gap() -> None:
    share = LayerShare(
        workload="w", count=1, operations=0, compulsory_words=0, traffic_words=0, bound_words=0, share=0.0
    )
    assert share.traffic_gap is None


def inclusive(inner: str, outer: str) -> Machine:
    """Two levels, the outer one inclusive."""
    levels = [
        Level(
            name=name,
            capacity=parse_capacity(size),
            bandwidth=Bandwidth(amount=1, unit="words"),
            kind=LevelKind.CACHE,
        )
        for name, size in (("L1", inner), ("L2", outer))
    ]
    return Machine(name="mixed", levels=tuple(levels), memory="DRAM")


def test_inclusive_levels_in_different_units_are_compared_where_a_word_has_a_size() -> None:
    """512 words are 512 bytes of int8 and 2,048 of fp32: an inclusive L2 of 1 KiB holds the one, not the other."""
    machine = inclusive("512w", "1KiB")
    small = parse_workload(MATMUL[0], {"i": 12, "j": 10, "k": 8}, bytes=1)
    assert api.bound(small, machine=machine, methods="best").boundaries
    assert api.solve(small, machine=machine).mapping
    large = parse_workload(MATMUL[0], {"i": 12, "j": 10, "k": 8}, bytes=4)
    for verb in (api.bound, api.solve):
        with pytest.raises(InputError, match=r"L2 is inclusive.*256 words are fewer than 512"):
            verb(large, machine=machine)


@pytest.mark.longer
def test_a_network_in_a_folder_of_other_questions_adds_up_its_own_rows(tmp_path: Path) -> None:
    file, folder = tmp_path / "net.yaml", tmp_path / "kept"
    answers = []
    for sign in ("+=", "="):
        file.write_text(
            f'workloads:\n  a: {{expression: "C[i,j] {sign} A[i,k]*B[k,j]", extents: {{i: 6, j: 6, k: 6}}}}\n'
        )
        answers.append(package.network(file, memory="20w", directory=folder, jobs=1).to_dict())
        assert package.network(file, memory="20w", jobs=1).to_dict() == answers[-1]
    assert answers[0] != answers[1]
