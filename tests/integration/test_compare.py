"""`compare` through the command line and the Python interface."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import optmap as optmap_package
from optmap.answers.proofs import beside
from optmap.answers.side_by_side.comparison import ComparedWords
from optmap.base.errors import InputError, LimitError, UnknownNameError
from optmap.files.fields import Fields
from optmap.report import comparison_document, comparison_table, plot_comparison
from optmap.report.answers.compare import read_comparison
from optmap.report.pictures.axes import new_axes
from optmap.verbs import comparing
from optmap.workloads.amounts import Capacity
from optmap.workloads.sizes import capacities

from .conftest import Command

SMALL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=48,j=32,k=40")


def test_range(optmap, tmp_path: Path) -> None:
    picture = tmp_path / "plot.png"
    run = optmap(
        "compare",
        *SMALL,
        "--memory",
        "64w:4096w",
        "--points",
        "4",
        "--methods",
        "mopt,iooub",
        "--json",
        "--plot",
        picture,
    )
    document = run.document()
    rows = document["rows"]
    assert [row["memory_words"] for row in rows[::2]] == [64, 256, 1024, 4096]
    assert [row["method"] for row in rows[:2]] == ["mopt", "iooub"]
    for row in rows:
        assert row["compulsory_words"] <= row["bound_words"] <= row["found_words"]
        assert row["gap"] == float(Fraction(row["found_words"], row["bound_words"]) - 1)
        stores = row["method"] != "iooub"  # which minimises loads, and is held to the bound on loads
        assert row["counted"] == ("loads + stores" if stores else "loads")
        assert row["objective"] == ("bottleneck" if stores else "loads")
        assert row["found_words"] == row["loads_words"] + stores * row["stores_words"]
        assert row["bound_words"] == row["bound_loads_words"] + stores * row["bound_stores_words"]
        assert row["compulsory_words"] == row["compulsory_loads_words"] + stores * row["compulsory_stores_words"]
    found = [row["found_words"] for row in rows[::2]]
    assert found == sorted(found, reverse=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_machine(optmap) -> None:
    run = optmap("compare", "resnet18/R12", "--machine", "balanced", "--methods", "mopt")
    lines = [line for line in run.out.splitlines() if " - " in line]
    assert [line.split()[0] for line in lines] == ["L1", "L2", "L3"]
    assert all(line.endswith("mopt") for line in lines)


def test_methods_that_cannot_are_left_out_with_the_reason() -> None:
    found = comparing.compare(
        SMALL[0], extents={"i": 48, "j": 32, "k": 40}, memory=["2w", "512w"], methods=["mopt", "gemmini"]
    )
    assert found.rows[0].found == {}
    assert found.rows[0].best is None
    assert set(found.rows[1].found) == {"mopt", "gemmini"}
    assert set(found.left_out) == {"mopt", "gemmini"}
    table = comparison_table(found)
    assert "left out: mopt: 2 words: " in table
    document = comparison_document(found)
    assert isinstance(document["rows"], list)
    assert document["rows"][0]["method"] is None


def test_plot_has_bound_floor_gap_and_every_method() -> None:
    found = comparing.compare(
        SMALL[0], extents={"i": 48, "j": 32, "k": 40}, memory="64w:1024w", points=2, methods=["mopt"]
    )
    axes = plot_comparison(found)
    labels = {text.get_text() for text in axes.get_legend().get_texts()}
    assert labels == {"mopt", "proved bound", "compulsory", "gap: best mapping to bound"}
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "words" in axes.get_xlabel()
    assert "words" in axes.get_ylabel()
    with pytest.raises(InputError, match=r"no form of pictures is called \.nothing"):
        found.plot("plot.nothing")


@pytest.mark.parametrize(
    ("memory", "ticks", "label"),
    [("256B:4KiB", ["256 B", "4 KiB"], "fast memory"), ("64w:1024w", ["64", "1,024"], "(words)")],
)
def test_the_axis_of_capacities_has_the_unit_that_was_given(memory: str, ticks: list[str], label: str) -> None:
    found = comparing.compare(SMALL[0], extents={"i": 48, "j": 32, "k": 40}, memory=memory, points=2, methods=["mopt"])
    axes = plot_comparison(found)
    axes.figure.canvas.draw()
    shown = {text.get_text() for text in axes.get_xticklabels()}
    assert shown >= set(ticks)
    assert axes.get_xlabel().endswith(label)
    low, high = axes.get_lines()[0].get_xdata()
    assert (low, high) == ((256, 4096) if "KiB" in memory else (64, 1024))


@pytest.mark.parametrize("where", [{"machine": "balanced"}, {"memory": "1KiB"}])
def test_boundaries_and_one_capacity_are_bars(where: dict[str, str]) -> None:
    methods = ["mopt", "iooub"]
    found = comparing.compare(SMALL[0], extents={"i": 48, "j": 32, "k": 40}, methods=methods, **where)  # type: ignore[arg-type]
    axes = plot_comparison(found)
    drawn = [name for name in methods if any(name in row.found for row in found.rows)]
    cells = [(row, name) for name in drawn for row in found.rows if name in row.found]
    expected = [row.found[name].words / row.bound_on(row.found[name].counted) for row, name in cells]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(expected)
    centres = [bar.get_y() + bar.get_height() / 2 for bar in axes.patches]
    assert len({round(centre, 6) for centre in centres}) == len(centres)
    own = {"mopt": " (loads + stores)", "iooub": " (loads)"} if "memory" in where else {}
    legend = {text.get_text() for text in axes.get_legend().get_texts()}
    assert legend == {*(name + own.get(name, "") for name in drawn), "proved bound", "compulsory"}
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [name.partition("\n")[0] for name in names] == [" - ".join(row.between) for row in found.rows]
    assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
    assert "multiples of the proved bound" in axes.get_xlabel()


def test_what_minimises_loads_is_held_to_loads(tmp_path: Path) -> None:
    """In table, document and picture, beside what minimises loads and stores; and never one in place of the other."""
    extents = {"i": 48, "j": 32, "k": 40}
    found = comparing.compare(SMALL[0], extents=extents, memory="64w:1024w", points=2, methods=["mopt", "iooub"])
    for row in found.rows:
        ours = optmap_package.solve(SMALL[0], extents=extents, memory=f"{row.memory_words}w", method="iooub")
        assert row.gap("iooub") == ours.gap
        assert row.found["iooub"].words == ours.exact
        assert (row.best_of(ComparedWords.LOADS), row.best_of(ComparedWords.BOTH)) == ("iooub", "mopt")
    table = comparison_table(found)
    lines = [re.split(r"  +", line) for line in table.splitlines() if line.startswith("Fast")]
    assert [line[2] for line in lines] == ["loads", "loads + stores"] * 2
    for (_, _, _, _, bound, mopt, iooub, gap, best), row in zip(
        lines, [r for r in found.rows for _ in "12"], strict=True
    ):
        assert (mopt, iooub)[best == "mopt"] == "-"
        assert bound == f"{row.bound_on(row.found[best].counted):,}"
        assert gap == f"{100 * row.gap(best):.1f} %"
    assert "Words that each method minimises" in table
    axes = plot_comparison(found)
    labels = [each.get_ylabel().partition(" (")[0] for each in axes.figure.axes]
    assert labels == ["loads", "loads + stores"]
    for each, name in zip(axes.figure.axes, ("iooub", "mopt"), strict=True):
        drawn = {line.get_label(): list(line.get_ydata()) for line in each.get_lines()}
        assert set(drawn) == {name, "proved bound", "compulsory"}
        assert drawn[name] == [row.found[name].words for row in found.rows]
        assert drawn["proved bound"] == [row.bound_on(row.found[name].counted) for row in found.rows]
    alone = plot_comparison(found, new_axes())
    labels = [text.get_text() for text in alone.get_legend().get_texts()]
    assert all(label.endswith(("(loads)", "(loads + stores)")) for label in labels)
    again = optmap_package.load(found.save(tmp_path / "compared.json"))
    assert again == found


def test_a_comparison_of_an_older_file_is_of_loads_and_stores() -> None:
    extents = {"i": 48, "j": 32, "k": 40}
    found = comparing.compare(SMALL[0], extents=extents, memory="64w", methods=["mopt"])
    document = comparison_document(found)
    del document["notes"]
    new = ("counted", "objective", "compulsory_loads_words", "compulsory_stores_words")
    document["rows"] = [{key: own for key, own in row.items() if key not in new} for row in document["rows"]]
    assert read_comparison(Fields.of(document, "old.json")).rows == found.rows


def without_time(*_: object) -> None:
    raise LimitError("the time was over; raise the time limit")


def test_bounds_that_were_not_known_in_time_are_said(
    optmap: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(beside, "certified_bound", without_time)
    asked = ("compare", *SMALL, "--memory", "64w:512w", "--points", "2", "--methods", "tiling-lp")
    over = "compulsory traffic: the time was over; raise the time limit"
    said = [f"{where}: the bound at Fast - Memory is {over}" for where in ("64 words", "512 words")]
    run = optmap(*asked, "--json")
    document = run.document()
    assert document["notes"] == said
    assert all(row["bound_words"] == row["compulsory_words"] for row in document["rows"])
    shown = optmap(*asked).out
    assert all(f"note: {text}" in shown for text in said)
    (tmp_path / "compared.json").write_text(run.out, encoding="utf-8")
    assert optmap_package.load(tmp_path / "compared.json").notes == tuple(said)
    found = optmap("compare", *SMALL, "--machine", "balanced", "--methods", "mopt", "--json").document()
    assert found["notes"] == [f"the bound at {pair} is {over}" for pair in ("L1 - L2", "L2 - L3", "L3 - DRAM")]


def test_methods_that_agree_show_around_each_other() -> None:
    extents = {"i": 48, "j": 32, "k": 40}
    found = comparing.compare(SMALL[0], extents=extents, memory="64w:1024w", points=2, methods=["mopt", "gemmini"])
    lines = {line.get_label(): line for line in plot_comparison(found).get_lines()}
    assert lines["mopt"].get_linewidth() > lines["gemmini"].get_linewidth() + 1
    assert lines["mopt"].get_markersize() > lines["gemmini"].get_markersize() + 2
    assert lines["mopt"].get_zorder() < lines["gemmini"].get_zorder()
    assert lines["mopt"].get_marker() != lines["gemmini"].get_marker()


def test_capacities() -> None:
    assert capacities("4KiB:16KiB", 3) == tuple(Capacity(amount=n) for n in (4096, 8192, 16384))
    assert capacities("8w", 5) == (Capacity(amount=8, unit="words"),)
    assert len(capacities("1w:3w", 9)) == 3
    for text, why in (("4KiB:64w", "both in words"), ("8w:4w", "smaller"), ("4:8w", "unit"), ("4w:", "one end alone")):
        with pytest.raises(InputError, match=why):
            capacities(text, 3)


def test_where_nothing_has_to_move_there_is_no_gap() -> None:
    """Ranges that leave no operation: the bound is 0, and a mapping that fetches tiles has no ratio to it."""
    found = comparing.compare("O[i] += A[i]*B[2*k in 1..1]", extents={"i": 5, "k": 2}, memory="9w", methods=["mopt"])
    assert found.rows[0].bound_words == 0
    assert found.rows[0].gap("mopt") is None
    assert "mopt" in str(found)


def test_bad_input(optmap) -> None:
    assert "smaller" in optmap("compare", *SMALL, "--memory", "9w:3w", code=2).err
    assert "unknown method" in optmap("compare", *SMALL, "--memory", "64w", "--methods", "none", code=2).err
    assert "either" in optmap("compare", *SMALL, code=2).err
    assert "above 0" in optmap("compare", *SMALL, "--memory", "64w", "--time-limit", "0", code=2).err
    with pytest.raises(UnknownNameError):
        comparing.compare("resnet18/R9", memory="1KiB", methods=["none"])
