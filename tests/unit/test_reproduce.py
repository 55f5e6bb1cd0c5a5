"""`reproduce`: verdicts, items, folders, pages; and the pages in docs/papers are what the items say."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.cli.app import app
from optmap.papers import run as run_module
from optmap.papers import tasks
from optmap.papers.answer import ItemRun
from optmap.papers.items import Amounts, Collected, Paper, PaperItem
from optmap.papers.library import PAPERS
from optmap.papers.records import read_record, record_path
from optmap.papers.report import paper_page
from optmap.papers.rows import ClaimRow, PointAmount, Reason, RowVerdict, claimed, held, improved, refuted, unreachable
from optmap.papers.tasks import rows_text, with_total

DOCS = Path(optmap.__file__).parents[1] / "docs" / "papers"
AT_ONCE_S = 0.03
"""Points of the pages that took less are computed again."""
TOY = Collected()


@TOY.item("Table 1", "A sum", where="section 1")
def _sum() -> tuple[ClaimRow, ...]:
    return (held("1 + 1", 2, 1 + 1), unreachable("seconds", 3.5, why="on a machine of the authors'"))


@TOY.item("Figure 2", "Squares | roots", where="section 2", points=("2", "3"), quick=("2",))
def _squares(point: str) -> tuple[ClaimRow, ...]:
    if point == "3":
        raise InputError("three is too many")
    return (held(f"{point} squared", 4, int(point) ** 2),)


@TOY.item("Theorem 3", "Long", where="section 3", long=True)
def _long() -> tuple[ClaimRow, ...]:
    return (refuted("an odd prime is even", "even", 3, counterexample="3", false=3 % 2 == 1),)


def _both(every: Amounts) -> tuple[ClaimRow, ...]:
    return (held("both", 5, sum(own["side"] for own in every.values())),)


@TOY.item("Table 5", "Sides", where="section 5", points=("2", "3"), quick=("2",), total="all sides", totals=_both)
def _sides(point: str) -> tuple[ClaimRow | PointAmount, ...]:
    return (held(f"side {point}", int(point), int(point)), PointAmount(name="side", value=int(point)))


PAPER = Paper(key="toy", title="A toy", source="Nobody", items=tuple(TOY.items))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One paper, the toy."""
    monkeypatch.setattr(PAPERS, "_makers", {"toy": lambda: PAPER})
    monkeypatch.setattr(PAPERS, "_made", {})


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (held("words", 100, 100), RowVerdict.EQUAL),
        (held("words", 100, 104, within=0.05), RowVerdict.EQUAL),
        (held("words", 100, 106, within=0.05), RowVerdict.FAILED),
        (held("words", 100, 106, because=Reason(text="halos", tested=True)), RowVerdict.DIFFERS),
        (held("words", 100, 106, because=Reason(text="halos", tested=False)), RowVerdict.FAILED),
        (claimed("orders", "at most 26", 21, holds=True), RowVerdict.EQUAL),
        (claimed("orders", "at most 26", 27, holds=False), RowVerdict.FAILED),
        (improved("words", 100, 90, proved=True), RowVerdict.BETTER),
        (improved("words", 100, 90, proved=False), RowVerdict.FAILED),
        (improved("words", 100, 110, proved=True), RowVerdict.FAILED),
        (improved("a bound", 100, 110, proved=True, more=True), RowVerdict.BETTER),
        (refuted("at most", 10, 12, counterexample="twelve", false=True), RowVerdict.ERRATUM),
        (refuted("at most", 10, 9, counterexample="nine", false=False), RowVerdict.FAILED),
        (unreachable("cycles", 10, why="a chip"), RowVerdict.NOT_REPRODUCIBLE),
    ],
)
def test_a_verdict_follows_from_numbers_and_tests(row: ClaimRow, verdict: RowVerdict) -> None:
    assert row.verdict is verdict
    assert ClaimRow.read(row.to_dict()) == row


def test_numbers_are_kept_exactly() -> None:
    assert held("huge", 2**80, 2**80 + 1).verdict is RowVerdict.FAILED
    assert held("a half", Fraction(1, 2), 0.5).paper == 0.5
    assert held("a third of", 3, 1, because=Reason(text="r", tested=True)).ratio == pytest.approx(1 / 3)
    assert claimed("words", "few", 3, holds=True).ratio is None


@pytest.mark.usefixtures("toy")
def test_items_are_found_in_any_case_and_unknown_ones_are_listed() -> None:
    found = optmap.reproduce("toy", "table 1")
    assert [run.item.name for run in found.runs] == ["Table 1"]
    assert found.verdicts == {"equal": 1, "not reproducible": 1}
    with pytest.raises(UnknownNameError, match=r"unknown item of toy 'Table 9'.*Table 1, Figure 2, Theorem 3, Table 5"):
        optmap.reproduce("toy", "Table 9")
    with pytest.raises(UnknownNameError, match="unknown paper 'toyy'"):
        optmap.reproduce("toyy")
    with pytest.raises(InputError, match="of which paper"):
        optmap.reproduce(item="Table 1")


@pytest.mark.usefixtures("toy")
def test_a_quick_run_leaves_out_what_is_long_and_a_whole_one_tells_what_failed() -> None:
    quick = optmap.reproduce("toy", quick=True, jobs=1)
    assert [list(run.points) for run in quick.runs] == [[""], ["2"], [], ["2"]]
    assert not quick.failures
    whole = optmap.reproduce("toy", jobs=1)
    assert [list(run.points) for run in whole.runs] == [[""], ["2", "3"], [""], ["2", "3", "all sides"]]
    ((run, row),) = whole.failures
    assert run.item.name == "Figure 2"
    assert "three is too many" in row.reason
    assert whole.verdicts["erratum"] == 1


@pytest.mark.usefixtures("toy")
def test_a_list_has_what_a_quick_run_computes_and_the_time_that_a_folder_knows(tmp_path: Path) -> None:
    optmap.reproduce("toy", "Table 1", directory=tmp_path)
    lines = str(optmap.reproduce("toy", listing=True, directory=tmp_path)).splitlines()
    assert "1 equal, 1 not reproducible" in lines[2]
    assert "whole" in lines[2]
    assert "0.0 s" in lines[2]
    assert "in part" in lines[3]
    assert "left out" in lines[4]


@pytest.mark.usefixtures("toy")
def test_a_folder_keeps_documents_and_a_page_and_goes_on_from_them(tmp_path: Path) -> None:
    first = optmap.reproduce("toy", quick=True, jobs=1, directory=tmp_path)
    assert first.reused == 0
    path = tmp_path / "toy" / "figure-2.json"
    document = json.loads(path.read_text())
    assert document["schema"] == "optmap.reproduction/1"
    assert document["points"]["2"]["rows"][0]["verdict"] == "equal"
    page = (tmp_path / "toy.md").read_text()
    assert "| 1 + 1 | 2 | 2 | 1 | equal |" in page
    assert "Squares \\| roots" in page
    path.write_text(path.read_text().replace('"2 squared"', '"from the folder"'))
    again = optmap.reproduce("toy", jobs=1, directory=tmp_path)
    assert again.reused == 3
    assert again.runs[1].rows[0].quantity == "from the folder"
    fresh = optmap.reproduce("toy", quick=True, jobs=1, directory=tmp_path, fresh=True)
    assert [list(run.points) for run in fresh.runs] == [[""], ["2", "3"], [""], ["2", "3", "all sides"]]
    assert fresh.runs[1].rows[0].quantity == "2 squared"
    assert fresh.runs[1].points["3"] == again.runs[1].points["3"]


@pytest.mark.usefixtures("toy")
def test_a_sum_over_points_follows_from_what_the_folder_has_of_them(tmp_path: Path) -> None:
    quick = optmap.reproduce("toy", "Table 5", quick=True, jobs=1, directory=tmp_path)
    assert list(quick.runs[0].points) == ["2"]
    whole = optmap.reproduce("toy", "Table 5", jobs=1, directory=tmp_path)
    assert whole.reused == 1
    assert whole.runs[0].points["all sides"].rows[0].verdict is RowVerdict.EQUAL
    assert "| both | 5 | 5 | 1 | equal |" in (tmp_path / "toy.md").read_text()
    path = tmp_path / "toy" / "table-5.json"
    path.write_text(path.read_text().replace('"side": 3', '"side": 4'))
    again = optmap.reproduce("toy", "Table 5", jobs=1, directory=tmp_path)
    assert again.reused == 2
    assert again.runs[0].points["all sides"].rows[0].verdict is RowVerdict.FAILED


@pytest.mark.usefixtures("toy")
def test_what_was_interrupted_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = list[str]()
    monkeypatch.setattr(run_module, "stopping", lambda: bool(heard))
    monkeypatch.setattr(
        tasks.PointRows, "to_dict", lambda rows, real=tasks.PointRows.to_dict: heard.append("") or real(rows)
    )
    cut = optmap.reproduce("toy", quick=True, jobs=1, directory=tmp_path)
    assert cut.interrupted
    assert not any(run.points for run in cut.runs)
    assert not (tmp_path / "toy").exists()


@pytest.mark.usefixtures("toy")
def test_what_another_version_wrote_is_computed_again(tmp_path: Path) -> None:
    optmap.reproduce("toy", "Table 1", directory=tmp_path)
    path = record_path(tmp_path, PAPER, PAPER.items[0])
    path.write_text(path.read_text().replace(f'"version": "{optmap.__version__}"', '"version": "0"'))
    assert optmap.reproduce("toy", "Table 1", directory=tmp_path).reused == 0
    path.write_text("[1]")
    with pytest.raises(InputError, match=r"table-1\.json: is no record"):
        optmap.reproduce("toy", "Table 1", directory=tmp_path)


@pytest.mark.usefixtures("toy")
def test_the_command_prints_rows_and_ends_with_5_where_one_failed() -> None:
    runner = CliRunner()
    found = runner.invoke(app, ["reproduce", "toy", "Table 1", "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout)["items"][0]["points"][""]["rows"][0]["ours"] == 2
    found = runner.invoke(app, ["reproduce", "toy", "--jobs", "1"])
    assert found.exit_code == 5
    assert "three is too many" in found.stderr
    assert runner.invoke(app, ["reproduce", "toy", "Table 9"]).exit_code == 2


@pytest.mark.usefixtures("toy")
def test_a_picture_is_drawn(tmp_path: Path) -> None:
    assert optmap.reproduce("toy", "Table 1").plot(tmp_path / "toy.svg").exists()


@pytest.mark.parametrize("key", list(PAPERS))
def test_items_have_names_of_their_own(key: str) -> None:
    paper = PAPERS[key]
    assert paper.key == key
    assert len({item.slug for item in paper.items}) == len(paper.items)
    for item in paper.items:
        assert set(item.quick or ()) <= set(item.points)


def _known(paper: Paper) -> dict[str, ItemRun]:
    return {item.name: ItemRun(paper=paper, item=item, points=read_record(DOCS, paper, item)) for item in paper.items}


@pytest.mark.parametrize("key", list(PAPERS))
def test_a_page_is_what_its_documents_say(key: str) -> None:
    known = _known(PAPERS[key])
    assert (DOCS / f"{key}.md").read_text(encoding="utf-8") == paper_page(tuple(known.values()))
    assert not [row for run in known.values() for row in run.rows if row.verdict is RowVerdict.FAILED]
    for run in known.values():
        assert set(run.item.asked(quick=True)) <= set(run.points), run.item.name


def _again(at_once: bool) -> list[tuple[str, str, str]]:
    found = []
    for key in PAPERS:
        for name, run in _known(PAPERS[key]).items():
            found += [(key, name, point) for point, own in run.points.items() if (own.seconds < AT_ONCE_S) is at_once]
    return found


def _computed(paper: Paper, item: PaperItem, point: str) -> list[ClaimRow]:
    if item.totals is not None and point == item.total:
        return list(with_total(item, read_record(DOCS, paper, item))[point].rows)
    return [ClaimRow.read(row) for row in json.loads(rows_text(json.dumps([paper.key, item.name, point])))["rows"]]


def _compare(key: str, name: str, point: str) -> None:
    paper = PAPERS[key]
    rows, kept = _computed(paper, paper.item(name), point), read_record(DOCS, paper, paper.item(name))[point].rows
    assert [row for row in rows if not row.measured] == [row for row in kept if not row.measured]
    assert [(row.quantity, row.verdict) for row in rows] == [(row.quantity, row.verdict) for row in kept]


@pytest.mark.parametrize(("key", "name", "point"), _again(at_once=True))
def test_a_row_of_a_page_is_what_is_computed(key: str, name: str, point: str) -> None:
    _compare(key, name, point)


@pytest.mark.longer
@pytest.mark.parametrize(("key", "name", "point"), _again(at_once=False))
def test_a_row_of_a_page_that_takes_longer_is_what_is_computed(key: str, name: str, point: str) -> None:
    _compare(key, name, point)
