"""Answers fit the page: words are broken, wide tables become several; nothing is lost and numbers stay whole."""

import re

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import run

import optmap
from optmap.base.errors import CheckError, UnknownNameError
from optmap.base.page import WIDTH, as_html, paragraphs
from optmap.base.shown import verified
from optmap.report import grid
from optmap.report.tables import pairs


@pytest.fixture(autouse=True)
def _page():
    token = WIDTH.set(40)
    yield
    WIDTH.reset(token)


def test_words_of_a_cell_are_broken_and_numbers_are_not():
    rows = [("L1", "what is kept of the loops there", "12,345,678"), ("L2", "everything", "9")]
    assert grid(("level", "keeps", "words per cycle"), "<<>", rows) == (
        "level  keeps             words per cycle\n"
        "-----  ----------------  ---------------\n"
        "L1     what is kept of        12,345,678\n"
        "       the loops there\n"
        "L2     everything                      9"
    )


def test_blanks_stay_behind_slashes_and_a_label_is_there_without_a_value():
    rows = [("L1", "loads / stores of a / b, and of c/d / e", "1")]
    lines = [line[4:].removesuffix("1").strip() for line in grid(("at", "words", "n"), "<<>", rows).splitlines()[2:]]
    assert len(lines) > 1
    assert " ".join(lines) == rows[0][1]
    assert pairs([("x" * 41, "")]) == "x" * 41


def test_a_table_that_is_too_wide_becomes_two_with_the_first_column_each():
    rows = [(name, *["1,000,000,000"] * 3) for name in ("one", "two")]
    first, second = grid(("name", "loads", "stores", "total"), "<>>>", rows).split("\n\n")
    assert first.splitlines()[0].split() == ["name", "loads", "stores"]
    assert second.splitlines()[0].split() == ["name", "total"]
    assert [line.split()[0] for line in second.splitlines()[2:]] == ["one", "two"]


def test_each_of_several_tables_has_what_tells_its_rows_apart():
    rows = [("L1", name, *["1,000,000,000"] * 3) for name in ("A", "B")]
    first, second = grid(("at", "of", "loads", "stores", "total"), "<<>>>", rows).split("\n\n")
    assert first.splitlines()[0].split() == ["at", "of", "loads", "stores"]
    assert [line.split() for line in second.splitlines()[2:]] == [["L1", name, "1,000,000,000"] for name in ("A", "B")]


def test_values_hang_below_themselves():
    assert pairs([("space", "whole tiles of any size and any loop order per level")]) == (
        "space  whole tiles of any size and any\n       loop order per level"
    )


def test_notes_and_sentences_are_broken_and_code_is_not():
    code = "        for (long l_2 = 0; l_2 < 1024; l_2 += 16) {"
    text = f"note: {'word ' * 10}end\n{'word ' * 10}end\n{code}"
    lines = paragraphs(text).splitlines()
    assert (lines[1][:7], lines[3][:3], lines[-1]) == ("      w", "  w", code)
    assert " ".join(" ".join(lines[:-1]).split()) == " ".join(text.replace(code, "").split())


WORDS = st.text("ab /,", max_size=30).map(str.strip)


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 10**12).map("{:,}".format), WORDS), min_size=1, max_size=4))
def test_every_word_is_there_and_no_line_is_wider_unless_a_word_is(rows):
    text = grid(("a name", "b/c", "n", "d"), "<<><", rows)
    for words in zip(*rows, strict=True):
        for cell in words:
            assert all(part in text for part in re.findall(r"[^ /]+", cell))
    longest = max(len(word) for row in rows for cell in row for word in cell.split() or [""])
    assert max(map(len, text.splitlines())) <= max(40, 6 + 2 + max(longest, 16))


def test_wide_leaves_tables_as_they_are(capsys, monkeypatch):
    monkeypatch.delenv("OPTMAP_COLUMNS")
    narrow, _ = run("show", "eyeriss", capsys=capsys)
    wide, _ = run("show", "eyeriss", "--wide", capsys=capsys)
    before, _ = run("--wide", "show", "eyeriss", capsys=capsys)
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))
    assert before == wide
    monkeypatch.setenv("OPTMAP_COLUMNS", "120")
    between, _ = run("show", "eyeriss", capsys=capsys)
    assert 80 < max(map(len, between.splitlines())) <= 120
    monkeypatch.setenv("OPTMAP_COLUMNS", "many")
    _, said = run("show", "eyeriss", capsys=capsys, code=2)
    assert "OPTMAP_COLUMNS is 'many'" in said


def test_on_a_page_of_html_tables_are_tables_and_all_else_is_as_it_is():
    WIDTH.set(0)
    html = as_html(lambda: f"title <1>\n{grid(('a', 'b'), '<>', [('x & y', '1')])}\n\nfor (i)\n  x;\n")
    assert html == (
        "<pre>title &lt;1&gt;</pre>\n"
        '<table><thead><tr><th style="text-align: left">a</th><th style="text-align: right">b</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">x &amp; y</td><td style="text-align: right">1</td></tr>'
        "</tbody></table>\n"
        "<pre>for (i)\n  x;</pre>"
    )
    assert "<table>" not in grid(("a",), "<", [("x",)])


def test_an_answer_is_framed_drawn_into_axes_and_checked():
    answer = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 48, "j": 40, "k": 32}, machine="balanced")
    frame = answer.to_frame()
    assert list(frame.columns) == ["between", "tensor", "loads_words", "stores_words"]
    assert frame.loads_words.sum() == sum(row.loads_words for row in answer.boundaries)
    assert list(answer.to_frame("levels").level) == ["L1", "L2", "L3"]
    with pytest.raises(UnknownNameError, match="unknown part 'level'"):
        answer.to_frame("level")
    assert answer.check().verified
    document = answer.to_dict()
    document["cost"]["value"] += 1
    with pytest.raises(CheckError, match="refused"):
        verified(document)
    figure, axes = plt.subplots()
    assert answer.plot(axes=axes) is axes
    plt.close(figure)
