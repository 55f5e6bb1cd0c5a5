"""A result as document, table and plot, without a search: every number in its place."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import optmap as package
from optmap.answers.documents.recount import disagreements, evaluate_solution, run_simulations
from optmap.answers.documents.solution import read_solution, solution_document
from optmap.answers.proofs.beside import with_bound
from optmap.api import check, solve
from optmap.base.errors import InputError
from optmap.count.both_forms import count_mapping
from optmap.files.machines import machine_document
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.report import evaluation_table, plot_traffic, solve_table
from optmap.search import Answer, Found, Question, Relaxation, TileAnswer
from optmap.solvers import PointKind, Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

WORKLOAD = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 9, "j": 7, "k": 5}, name="small")
MACHINE = Machine(
    name="toy",
    levels=(
        Level(name="L1", capacity=Capacity(amount=24, unit="words"), bandwidth=4.0),
        Level(name="L2", capacity=Capacity(amount=800), bandwidth=1.5),
    ),
)
MAPPING = Mapping(
    levels=(
        LevelMapping(level="L1", tile={"i": 2, "j": 4, "k": 1}, permutation=("i", "j", "k"), spatial={}),
        LevelMapping(level="L2", tile={"i": 9, "j": 4, "k": 5}, permutation=("k", "i", "j"), spatial={}),
    )
)


def first_level(**changes: object) -> Machine:
    return replace(MACHINE, levels=(replace(MACHINE.levels[0], **changes), MACHINE.levels[1]))


def result(relaxation: Relaxation | None = None, **changes: object) -> TileAnswer:
    count, exact = count_mapping(WORKLOAD, MACHINE, MAPPING, None, CapacityRule.TILE)
    cost = float(count.value)
    program = Relaxation(
        value=0.75 * cost,
        proved=True,
        formulation="epigraph",
        tolerance=1e-6,
        method="interior point",
        classes=(("i", "j", "k"), ("k", "i", "j")),
        tiles=({"i": 2.5, "j": 4.5, "k": 1.0}, {"i": 9.0, "j": 4.0, "k": 5.0}),
        cross_check=None,
    )
    made = Answer(
        question=Question(workload=WORKLOAD, machine=MACHINE, method="mopt", seed=7),
        found=Found(
            mapping=MAPPING, relaxation=relaxation or program, bound=0.9 * cost, point=PointKind.GLOBAL_OPTIMUM
        ),
        mapping=MAPPING,
        count=count,
        exact_count=exact,
        stop=Stop.SEARCH_ENDED,
        seconds=0.25,
        versions={"optmap": "0.1.0"},
        notes=("capacity is that of one tile",),
    )
    return replace(made, **changes)


def test_document_is_json_and_reads_back(tmp_path: Path) -> None:
    made = result()
    file = tmp_path / "s.json"
    made.save(file)
    assert json.loads(file.read_text()) == solution_document(made)
    read = read_solution(file)
    assert (read.workload, read.machine, read.mapping) == (WORKLOAD, MACHINE, MAPPING)
    assert read.capacity is CapacityRule.TILE
    assert disagreements(evaluate_solution(read)) == []


def test_simulation_agrees_with_the_closed_form(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    result().save(file)
    read = read_solution(file)
    evaluation = replace(evaluate_solution(read), simulations=run_simulations(read, 10_000))
    assert disagreements(evaluation) == []
    walk, lru, belady = evaluation.simulations
    assert belady.words <= lru.words
    assert walk.words == sum(row.words for row in evaluation.boundaries)


def on(machine: Machine) -> Callable[[Any], object]:
    """What says that a document is of another machine."""
    return lambda said: said.update(machine=machine_document(machine))


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (lambda said: said["cost"].update(value=1.0), "cost"),
        (lambda said: said["cost"].update(unit="words"), "cost"),
        (lambda said: said["exact"].update(value=1.0), "exact"),
        (lambda said: said["boundaries"].clear(), "boundaries"),
        (lambda said: said["boundaries"].pop(), "boundaries"),
        (on(first_level(capacity=Capacity(amount=2))), "L1 is short by 14 words"),
        (on(first_level(bandwidth=0.001)), "cost"),
    ],
)
def test_untrue_documents_are_found_out(tmp_path: Path, changed: Callable[[Any], object], word: str) -> None:
    document: Any = solution_document(result())
    changed(document)
    file = tmp_path / "s.json"
    file.write_text(json.dumps(document))
    if not document["boundaries"]:
        with pytest.raises(InputError, match=word):
            read_solution(file)
        return
    found = disagreements(evaluate_solution(read_solution(file)))
    assert any(word in sentence for sentence in found)


def test_infinite_values_become_null() -> None:
    relaxation = replace(result().relaxation, value=float("-inf"), proved=False, cross_check=float("nan"))
    document = solution_document(result(relaxation=relaxation))
    assert document["integer_gap"] is None
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text)["relaxation"]["cross_check"] is None


def test_table_shows_the_numbers() -> None:
    made = result()
    text = solve_table(made)
    lines = text.splitlines()
    (l2,) = (line for line in lines if line.startswith("L2 ") and "bottleneck" in line)
    assert "101" in l2
    assert "50.5 %" in l2
    assert "33.333 %" in text
    assert "proved, tolerance 1e-06" in text
    assert "note: capacity is that of one tile" in text
    assert "cross-check" not in text
    assert not [line for line in lines if line != line.rstrip()]
    checked = solve_table(result(relaxation=replace(made.relaxation, cross_check=1234567.5, proved=False)))
    assert "1,234,567.5 cycles (Ipopt, same loop orders)" in checked
    assert "(local, no bound)" in checked


def test_plot_shows_time_per_boundary_beside_the_bound() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    made = with_bound(result())
    axes = plot_traffic(made)
    rates = dict(zip(MACHINE.boundaries, MACHINE.rates(WORKLOAD.word_bits), strict=True))
    widths = sorted(bar.get_width() for bar in axes.patches)
    assert widths == pytest.approx(sorted(float(row.words / rates[row.between]) for row in made.boundaries))
    ends = [max(bar.get_x() + bar.get_width() for bar in axes.patches if round(bar.get_y() + 0.3) == n) for n in (0, 1)]
    assert ends == pytest.approx(
        [
            float(sum(row.words for row in made.boundaries if row.between == between) / rate)
            for between, rate in rates.items()
        ]
    )
    marks = [line.get_xdata()[0] for line in axes.get_lines()]
    assert marks == pytest.approx([float(proof.words / rates[proof.between]) for proof in made.certificates])
    assert all(mark <= end * (1 + 1e-12) for mark, end in zip(marks, ends, strict=True))
    assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
    assert axes.get_xlabel() == "time: loads + stores over bandwidth (cycles)"
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["L1 - L2\n4 w/cycle", "L2 - Memory\n1.5 w/cycle"]
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["proved bound", "C", "A", "B"]
    notes = [text.get_text() for text in axes.texts]
    assert [note.endswith("bottleneck") for note in notes] == [end == max(ends) for end in ends]
    axes.figure.canvas.draw()
    pyplot.close("all")


def test_plot_of_one_memory_is_in_words() -> None:
    made = solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 9, "j": 7, "k": 5}, memory="30w")
    axes = plot_traffic(made)
    assert axes.get_xlabel() == "loads + stores (words)"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Fast - Memory"]


def test_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"matplotlib, which is not installed; run: pip install 'matplotlib[<>=]"):
        plot_traffic(result())


def test_whole_numbers_beyond_floats_are_exact_in_every_line(tmp_path: Path) -> None:
    """3^34 = 2^53.9 words are loaded and stored: the table, the document and the levels agree to the last digit."""
    size = 3**17
    made = solve("O[a,b] += A[a]*B[b]", extents={"a": size, "b": size}, memory="64w")
    moved = sum(row.words for row in made.boundaries)
    assert moved > 2**53
    assert float(moved) != moved
    text = solve_table(made)
    assert f"exact          {moved:,} words" in text
    document = json.loads(json.dumps(solution_document(made)))
    assert document["exact"]["value"] == moved
    assert document["cost"]["value"] == made.levels[0].traffic_words
    bound = sum(proof.words for proof in made.certificates)
    assert document["bound"]["value"] == bound > 2**53
    assert f"{bound:,} words" in text
    made.save(tmp_path / "s.json")
    assert check(tmp_path / "s.json").verified
    assert disagreements(evaluate_solution(read_solution(tmp_path / "s.json"))) == []


def test_numbers_of_one_core_say_so(tmp_path: Path) -> None:
    made = solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 96, "j": 64, "k": 80}, machine="i7-9700k", cores=4)
    path = tmp_path / "s.json"
    made.save(path)
    inner, outer = made.machine.boundaries[0], made.machine.boundaries[-1]
    for text in (solve_table(made), evaluation_table(evaluate_solution(read_solution(path)))):
        assert "of one memory (the busiest) where several share the work" in text
        assert f"{' - '.join(inner)}, one of 4 " in text
        assert f"{' - '.join(outer)}, one of" not in text
    assert "one of" not in solve_table(result())


def test_a_mapping_is_timed_whatever_it_was_made_for(tmp_path: Path) -> None:
    """Where the machine has a core; what code of it would take is at least its operations at the peak."""
    asked = {"workload": "C[i,j] += A[i,k]*B[k,j]", "extents": "i=24,j=32,k=16"}
    timed = package.evaluate(package.solve(**asked, machine="i7-9700k"))
    assert timed.predicted.cycles >= timed.predicted.floor_cycles > 0
    assert "predicted" in str(timed)
    assert timed.to_dict()["prediction"]["cycles"] == timed.predicted.cycles
    plain = package.evaluate(package.solve(**asked, memory="300w"))
    assert plain.predicted is None
    assert "prediction" not in plain.to_dict()
