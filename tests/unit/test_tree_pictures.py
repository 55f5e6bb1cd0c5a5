"""Pictures of mapping trees: bars where tensors are kept, and words that add up to the counts."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib.patches import Rectangle

import optmap
from optmap.base.errors import InputError
from optmap.report.answers.trees import tree_lines

FUSED = {
    "workload": {
        "statements": ["S[m,l] = A[m,k]*B[k,l]", "C[m,n] = S[m,l]*D[l,n]"],
        "extents": {"m": 8, "l": 11, "k": 4, "n": 3},
        "semantics": "assign",
    },
    "machine": {"name": "pad", "levels": [{"name": "buffer", "capacity": "50w"}]},
    "mapping": {
        "tree": [
            {"loop": "m", "tile": 3},
            {"keep": "buffer", "tensors": ["A", "C"]},
            {"keep": "buffer", "tensors": ["B", "D"], "of": {"l": [0, 2]}},
            {"loop": "l", "tile": 1},
            {"keep": "buffer", "tensors": ["S"]},
            {
                "sequence": [
                    [{"keep": "buffer", "tensors": ["B"]}, {"compute": "S"}],
                    [{"keep": "buffer", "tensors": ["D"]}, {"compute": "C"}],
                ]
            },
        ]
    },
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trees") / "fused.json"
    path.write_text(json.dumps(FUSED))
    return path


def test_a_bar_goes_from_its_keep_to_the_last_line_inside(file: Path) -> None:
    saved = optmap.load(file)
    axes = saved.plot()
    lines = list(tree_lines(saved.tree))
    assert [text.get_text() for text in axes.texts][: len(lines)] == lines
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    spans = sorted((round(bar.get_y(), 1), round(bar.get_y() + bar.get_height(), 1)) for bar in bars)
    ends = {lines.index("  /* buffer keeps A, C */"): 2, lines.index("    /* buffer keeps S */"): 1}
    for first, number in ends.items():
        assert spans.count((first + 0.1, len(lines) - 0.1)) == number
    own = lines.index("      /* buffer keeps B */")
    assert spans.count((own + 0.1, own + 1.9)) == 1  # with its statement, in one branch
    assert sum(bool(bar.get_hatch()) for bar in bars) == 2


def test_the_words_of_all_bars_are_those_counted(file: Path) -> None:
    evaluation = optmap.evaluate(file)
    axes = evaluation.plot(picture="words")
    drawn = sum(round(bar.get_width()) for bar in axes.patches)
    assert drawn == sum(row.loads_words + row.stores_words for row in evaluation.count.moved)
    stored = sum(round(bar.get_width()) for bar in axes.patches if bar.get_facecolor()[:3] == (1, 1, 1))
    assert stored == sum(row.stores_words for row in evaluation.count.moved) > 0


def test_pictures_are_written_by_name(file: Path, tmp_path: Path) -> None:
    evaluation = optmap.evaluate(file)
    assert evaluation.plot(tmp_path / "tree.svg").read_text().count("buffer") > 0
    with pytest.raises(InputError, match="unknown picture 'energy'"):
        evaluation.plot(picture="energy")
