"""Curves from rows, their sums, and the cheapest capacity that reaches a target."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_frames import frame_of, rows_of

from optmap.answers.over_capacity.curves import panels, summed
from optmap.answers.over_capacity.sizing import saturation, sizing
from optmap.base.errors import InputError
from optmap.base.texts import natural, size_text
from optmap.report import sizing_table

CURVE = [(256, 4000, 2500), (512, 2300, 1500), (1024, 1090, 1040), (2048, 1000, 1000)]


def test_panels_hold_what_the_rows_hold() -> None:
    (panel,) = panels(frame_of(rows_of("w", CURVE, compulsory=1000)))
    assert panel.bounds == tuple((4 * held, bound) for held, _, bound in CURVE)
    (series,) = panel.series
    assert series.label == "mopt"
    assert [(s.capacity_bytes // 4, s.traffic_words) for s in series.samples] == [(held, t) for held, t, _ in CURVE]
    assert series.samples[0].gap == pytest.approx(0.6)


def test_points_without_an_answer_are_left_out() -> None:
    (panel,) = panels(frame_of(rows_of("w", [(256, None, 2500), *CURVE[1:]], compulsory=1000)))
    assert [s.capacity_bytes for s in panel.series[0].samples] == [2048, 4096, 8192]
    assert len(panel.bounds) == 4


def test_rows_that_hold_nothing_are_an_error() -> None:
    frame = frame_of(rows_of("w", [(256, None, None)], compulsory=1000))
    frame["compulsory_words"] = None
    with pytest.raises(InputError, match="no row of the sweep holds an answer"):
        panels(frame)
    with pytest.raises(InputError, match="column capacity_bytes is missing"):
        panels(frame.drop(columns=["capacity_bytes"]))


def test_labels_name_only_what_differs() -> None:
    same = rows_of("w", CURVE, compulsory=1000)
    other = rows_of("w", [(held, t and t + 5, b) for held, t, b in CURVE], compulsory=1000, tiles="divisors")
    (panel,) = panels(frame_of(same, [row for row in other if row.method != "bound"]))
    assert [series.label for series in panel.series] == ["mopt, tiles any", "mopt, tiles divisors"]


def test_sums_never_mix_objectives() -> None:
    """One layer solved for its bottleneck and another for its loads have no sum."""
    one = rows_of("a", [(64, 100, 80)], compulsory=50)
    other = rows_of("b", [(64, 90, 80)], compulsory=50, objective="loads")
    first, second = panels(frame_of(one, other))
    assert [series.label for panel in (first, second) for series in panel.series] == [
        "mopt, bottleneck",
        "mopt, minimises loads",
    ]
    total = summed([(first, 1), (second, 1)], "both")
    assert total is not None
    assert total.series == ()


def test_two_gaps_of_two_things() -> None:
    """Words across one boundary beside cycles of the slowest: each keeps its own gap, alone and added up."""
    rows = rows_of("a", [(64, 100, 50)], compulsory=50)
    slow = [replace(each, exact=300.0, bound=240.0, gap=0.25) if each.method != "bound" else each for each in rows]
    (panel,) = panels(frame_of(slow))
    total = summed([(panel, 3)], "three")
    assert total is not None
    for shown in (panel, total):
        (sample,) = shown.series[0].samples
        assert (sample.gap, sample.traffic_gap) == (0.25, 1.0)


def test_a_point_answered_twice_keeps_the_better_mapping() -> None:
    worse = rows_of("w", [(256, 5000, 2500)], compulsory=1000, seed=7)
    (panel,) = panels(frame_of(rows_of("w", CURVE, compulsory=1000), worse))
    assert panel.series[0].samples[0].traffic_words == 4000


def test_natural_order() -> None:
    assert sorted(["r/R10", "r/R2", "r/R8a", "r/R8"], key=natural) == ["r/R2", "r/R8", "r/R8a", "r/R10"]


def test_cheapest_capacity() -> None:
    found = panels(frame_of(rows_of("w", CURVE, compulsory=1000)))
    two, near, exact = sizing(found, targets=(2.0, 1.1, 1.0))
    assert (two.reached_bytes, two.missed_bytes, two.refuted_bytes) == (4096, 2048, 1024)
    assert (near.reached_bytes, near.missed_bytes, near.refuted_bytes) == (4096, 2048, 2048)
    assert (exact.reached_bytes, exact.missed_bytes, exact.refuted_bytes) == (8192, 4096, 4096)
    assert near.text == (
        "w reaches 1.1x of compulsory traffic from 4 KiB on, not yet at 2 KiB; proved out of reach up to 2 KiB"
    )


def test_a_target_that_nothing_reaches() -> None:
    (answer,) = sizing(panels(frame_of(rows_of("w", CURVE[:2], compulsory=1000))), targets=(1.5,))
    assert answer.reached_bytes is None
    assert answer.missed_bytes == 2048
    assert "does not reach 1.5x" in answer.text
    assert "2.3x" in answer.text
    assert " - " in sizing_table([answer]).splitlines()[-1]


@pytest.mark.parametrize("target", [0.99, math.nan, math.inf])
def test_impossible_targets(target: float) -> None:
    with pytest.raises(InputError, match="1 or more"):
        sizing([], targets=(target,))


def test_where_a_larger_cache_stops_paying() -> None:
    curve = [(256, 4000, 900), (512, 1005, 900), (1024, 1001, 900), (2048, 1000, 900)]
    (panel,) = panels(frame_of(rows_of("w", curve, compulsory=800)))
    found = saturation(panel, panel.series[0])
    assert found is not None
    assert (found.capacity_bytes, found.at_end) == (2048, False)
    assert found.left == pytest.approx(800 / 1005)
    (rising,) = panels(frame_of(rows_of("w", CURVE[:3], compulsory=800)))
    end = saturation(rising, rising.series[0])
    assert end is not None
    assert end.at_end
    assert "larger caches pay up to 4 KiB" in end.text


def test_sums_of_different_grids_are_sound() -> None:
    first = rows_of("a", [(100, 90, 50), (300, 60, 40), (500, 30, 30)], compulsory=30)
    second = rows_of("b", [(200, 9, 5), (400, 8, 4)], compulsory=3)
    a, b = panels(frame_of(first, second))
    total = summed([(a, 1), (b, 10)], "net")
    assert total is not None
    # Below 200 words b has no mapping; at 200 the mapping of a for 100 words is used.
    assert [(s.capacity_bytes // 4, s.traffic_words) for s in total.series[0].samples] == [
        (200, 90 + 90),
        (300, 60 + 90),
        (400, 60 + 80),
        (500, 30 + 80),
    ]
    # At 100 words the bound of b for 200 words holds; above its last bound only the compulsory words do.
    assert [(held // 4, words) for held, words in total.bounds] == [
        (100, 50 + 50),
        (200, 40 + 50),
        (300, 40 + 40),
        (400, 30 + 40),
        (500, 30 + 30),
    ]
    assert total.compulsory_words == 30 + 30


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(50, 99), st.integers(10, 50)), min_size=1, max_size=6),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
def test_sums_never_promise_too_much(curves: list[list[tuple[int, int, int]]], counts: list[int]) -> None:
    """Every sample is a sum of mappings that fit; every bound a sum of bounds for at least as much memory."""
    named = {f"w{number}": curve for number, curve in enumerate(curves)}
    frame = frame_of(*(rows_of(name, curve, compulsory=5) for name, curve in named.items()))
    parts = [(panel, counts[number]) for number, panel in enumerate(panels(frame))]
    total = summed(parts, "net")
    assert total is not None
    for sample in total.series[0].samples:
        held = sample.capacity_bytes // 4
        least = [min(t for size, t, _ in curve if size <= held) for curve in named.values()]
        assert sample.traffic_words == sum(t * count for t, count in zip(least, counts, strict=False))
        proved = [max([5] + [b for size, _, b in curve if size >= held]) for curve in named.values()]
        bound = sum(b * count for b, count in zip(proved, counts, strict=False))
        assert total.bound_at(sample.capacity_bytes) == bound
        assert sample.traffic_gap == pytest.approx(sample.traffic_words / bound - 1)
        assert sample.gap is None or sample.gap >= sample.traffic_gap - 1e-9


def test_different_places_are_not_added() -> None:
    here = rows_of("a", CURVE, compulsory=1000)
    there = rows_of("a", CURVE, compulsory=1000, machine="other")
    both = panels(frame_of(here, there))
    with pytest.raises(InputError, match="cannot be added"):
        summed([(panel, 1) for panel in both], "net")
    assert summed([], "net") is None


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 B"), (512, "512 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1363148, "1.3 MiB"), (12 * 2**20, "12 MiB")],
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text
