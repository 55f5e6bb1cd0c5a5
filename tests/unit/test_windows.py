"""What ranges leave of tiles, added up over grids of places: equal to looking at every place, and much less work."""

from __future__ import annotations

from itertools import product

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.count.levels import windows
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.levels.windows import SharedWindow, windowed
from optmap.machines.machine import Level, Machine
from optmap.mappings.grid import Grid
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.access import Subscript
from optmap.workloads.halo import shared_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_capacity

ROWS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 5)), max_size=4)
SMALL = st.integers(1, 6)


def literal(axis: Subscript, tile: tuple[tuple[int, ...], ...], starts: tuple[int, ...]) -> int:
    """Values in common at one place."""
    coefficients = tuple(c for _, c in axis.terms)
    real = None
    if axis.real is not None:
        origin = axis.offset + sum(c * s for c, s in zip(coefficients, starts, strict=True))
        real = (axis.real[0] - origin, axis.real[1] - origin)
    return shared_values(coefficients, *tile, real)


@given(st.integers(0, 9), ROWS)
def test_a_grid_is_its_starts(first: int, rows: list[tuple[int, int]]) -> None:
    made, starts = Grid(first), [first]
    for step, times in rows:
        made = made.repeated(step, times)
        starts = [start + step * i for start in starts for i in range(times)]
    assert list(made) == starts
    assert made.count == len(starts)
    assert list(made.moved(3)) == [start + 3 for start in starts]


def test_tiles_that_follow_on_one_another_are_one_row() -> None:
    assert Grid().repeated(12, 5).repeated(4, 3) == Grid(rows=((4, 15),))


@given(st.integers(-3, 80), ROWS)
def test_ramps_add_up(y: int, rows: list[tuple[int, int]]) -> None:
    places = [sum(place) for place in product(*(range(0, step * times, step) for step, times in rows))]
    assert windows._ramps(y, tuple(rows)) == sum(max(0, y - place) for place in places)


@given(*(st.integers(0, n) for n in (15, 20, 20)), st.integers(1, 9))
def test_floors_add_up(n: int, a: int, b: int, c: int) -> None:
    values = [(a * i + b) // c for i in range(n + 1)]
    expected = sum(values), sum(i * v for i, v in enumerate(values)), sum(v * v for v in values)
    assert windows._floors(n, a, b, c) == expected


@settings(max_examples=cases(100, 300))
@given(st.data())
def test_windows_over_a_grid_are_the_sum_over_its_places(data: st.DataObject) -> None:
    """Of several subscripts that share dims, dense or with gaps, with a range or without."""
    dims = "ab"[: data.draw(st.integers(1, 2))]
    axes, tiles = [], []
    sizes, olds = (data.draw(st.tuples(*(SMALL,) * len(dims))) for _ in range(2))
    shifts = data.draw(st.tuples(*(st.integers(-4, 8),) * len(dims)))
    for _ in range(data.draw(st.integers(1, 2))):
        terms = tuple((d, data.draw(st.integers(1, 4))) for d in dims)
        low = data.draw(st.integers(0, 40))
        real = data.draw(st.sampled_from([None, (low, low + data.draw(st.integers(0, 40)))]))
        axes.append(Subscript(terms=terms, offset=data.draw(st.integers(0, 5)), real=real))
        tiles.append((sizes, olds, shifts))
    firsts = tuple(data.draw(st.integers(0, 9)) for _ in dims)
    rows = [(data.draw(st.sampled_from(range(len(dims)))), *row) for row in data.draw(ROWS)]
    steps = [tuple(step if at == d else 0 for d in range(len(dims))) for at, step, _ in rows]
    counts = tuple(times for *_, times in rows)
    made = [SharedWindow.of(axis, tile, firsts, steps) for axis, tile in zip(axes, tiles, strict=True)]
    expected = 0
    for taken in product(*(range(times) for times in counts)):
        moved = [sum(n * step[d] for n, step in zip(taken, steps, strict=True)) for d in range(len(dims))]
        starts = tuple(first + by for first, by in zip(firsts, moved, strict=True))
        values = [literal(axis, tile, starts) for axis, tile in zip(axes, tiles, strict=True)]
        product_of_all = 1
        for value in values:
            product_of_all *= value
        expected += product_of_all
    assert windowed(made, counts) == expected


@pytest.mark.parametrize(
    ("statement", "inside"),
    [
        ("O[x] += I[x+r in 3..{last}]*K[r]", 7),
        ("O[x] += I[5*x+2*r in 6..{last}]*K[r]", 4),
        ("O[x,r] += I[x+r in 3..{last},x+1 in 2..{last}]*K[r]", 5),
    ],
)
def test_the_work_of_padding_does_not_grow_with_the_extent(
    statement: str, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles were looked at one by one: minutes at a million."""
    looked: list[int] = []
    usual = SharedWindow.value
    monkeypatch.setattr(SharedWindow, "value", lambda window: looked.append(1) or usual(window))
    levels = tuple(Level(name=f"L{i}", capacity=parse_capacity(f"{10 ** (i + 6)}w")) for i in range(3))
    machine = Machine(name="m", levels=levels, memory="M")
    spent = []
    for extent in (10**5, 10**9):
        workload = parse_workload(statement.format(last=extent - 3), {"x": extent, "r": inside})
        mapping = Mapping(
            levels=tuple(
                LevelMapping(
                    level=level.name, tile={"x": size, "r": min(size, inside)}, permutation=("x", "r"), spatial={}
                )
                for level, size in zip(levels, (2, 32, 997), strict=True)
            )
        )
        looked.clear()
        assert exact_traffic(workload, machine, mapping)
        spent.append(len(looked))
    assert spent[1] <= spent[0] + 100
