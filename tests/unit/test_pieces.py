"""Pieces of the search: boxes cut in two against all ways to cut, and what a piece of every length costs."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from changed_fields import changed_fields
from held_documents import signed
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import renamed

from optmap import emit, run, solve
from optmap.answers.documents.solution import read_solution, solution_document
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InputError
from optmap.checker import RefusedError, check_document
from optmap.checker.tiles.pieces import apart
from optmap.count.reference.walk_held import walk_held
from optmap.machines.machine import CapacityRule
from optmap.mappings.pieces import _apart, piece_of
from optmap.report.answers.loopnest import nest_of
from optmap.search import best_tiling
from optmap.search.iooub import one_memory, pieces
from optmap.search.iooub.boxes import Boxes
from optmap.search.iooub.flows import flows_of
from optmap.search.iooub.grid import TileGrid
from optmap.search.iooub.pieces import DEEP, TiledPiece, _Cutter, best_in_pieces, value_of
from optmap.search.iooub.tiling import _UnitSearch
from optmap.search.iooub.units import units_of
from optmap.solvers import Stop
from optmap.verbs.emitting import compile_result
from optmap.workloads.parser import parse_workload


@given(st.data())
@settings(max_examples=cases(13, 40))
def test_boxes_cost_least_over_all_ways_to_cut_in_two(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    count = int(np.prod(shape))
    drawn = data.draw(st.lists(st.integers(1, 99) | st.just(inf), min_size=count, max_size=count))
    whole = np.array(drawn, dtype=np.float64).reshape(shape)
    boxes = Boxes(whole)

    @cache
    def least(*box: int) -> float:
        value = float(whole[tuple(n - 1 for n in box)])
        for d, size in enumerate(box):
            for n in range(1, size):
                value = min(value, sum(least(*box[:d], part, *box[d + 1 :]) for part in (n, size - n)))
        return value

    for at in np.ndindex(shape):
        box = tuple(i + 1 for i in at)
        assert boxes.least[box] == least(*box)
        halves = boxes.halves(box)
        if halves is None:
            assert boxes.least[box] == boxes.whole[box]
        else:
            one, other, d = halves
            assert one[d] + other[d] == box[d]
            assert boxes.least[one] + boxes.least[other] == boxes.least[box] < boxes.whole[box]


@pytest.mark.parametrize(
    ("text", "shape", "dims"),
    [
        ("O[k,h] += I[c,h+r]*K[k,c,r]", {"k": 4, "c": 3, "r": 2, "h": 5}, "kh"),
        ("O[k,h] += I[c,2*h+r]*K[k,c,r]", {"k": 3, "c": 3, "r": 3, "h": 4}, "ch"),
        ("C[i,j] += A[i,k]*B[k,j]", {"i": 4, "j": 3, "k": 5}, "ik"),
    ],
)
def test_a_piece_that_is_one_tile_costs_what_it_costs_on_its_own(text: str, shape: dict[str, int], dims: str) -> None:
    """One table over all lengths of pieces against a table for every piece."""
    workload, words = parse_workload(text, shape), 14
    groups = [(words, (0, 1, 2))]
    units, plain = units_of(workload), best_tiling(workload, [(words, (0, 1, 2))], [1.0] * 3)
    assert plain is not None
    along = {u: 1 for u, unit in enumerate(units) if unit.dims[0] in dims}
    flows = flows_of(workload, units)[:20] + plain.tried[:20]
    cutter = _Cutter(workload, words, [1.0] * 3, plain, NO_LIMIT)
    cutter.flows = list(flows)
    table = cutter._whole(workload, units, along)
    extents = [units[u].extent for u in along]
    seen = 0
    for at in np.ndindex(*extents):
        of = {units[u].dims[0]: range(size + 1) for u, size in zip(along, at, strict=True)}
        piece = piece_of(workload, of)
        mine = units_of(piece)
        if [unit.dims for unit in mine] != [unit.dims for unit in units]:
            continue
        grid, seen = TileGrid(piece, mine, groups, [1.0] * 3), seen + 1
        lists = [np.array([len(u.boxes) - 1]) if n in along else np.arange(len(u.boxes)) for n, u in enumerate(mine)]
        grid.last = next((n for n, u in enumerate(mine) if u.plain and n not in along), -1)
        found = (grid.search(flow, lists, inf) for flow in flows)
        assert table[at] == min((each.value for each in found if each is not None), default=inf)
    assert seen > 3


def test_which_iterations_two_pieces_share_is_seen_exactly() -> None:
    """Also where steps would meet, but not yet or no longer: 1 and 4 against 2, in whatever step one iteration is."""
    some = [range(first, first + step * size, step) for first in range(6) for step in range(1, 6) for size in (1, 2, 4)]
    for one, other in product(some, repeat=2):
        assert apart(one, other) is _apart(one, other) is not bool(set(one) & set(other)), (one, other)
    step = 10**9  # numbers of steps of 10^9 and of one more meet at 10^18
    for stop, met in ((step**2, False), (step**2 + 1, True)):
        one, other = range(0, stop, step), range(1, stop, step + 1)
        assert apart(one, other) is _apart(other, one) is not met


def test_no_box_is_tiled_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = parse_workload("O[k,h] += I[c,h+r]*K[k,c,r]", {"k": 9, "c": 10, "r": 3, "h": 10})
    plain = best_tiling(workload, [(26, (0, 1, 2))], [1.0] * 3)
    assert plain is not None
    whole = TiledPiece({}, workload, plain)
    cutter = _Cutter(workload, 26, [1.0] * 3, plain, Clock(0.5))
    now = [0.0]

    def slow(*asked: object) -> Boxes:
        now[0] = 1.0
        return Boxes(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert len(cutter.boxed(whole)) == 3
    monkeypatch.setattr(pieces, "Boxes", slow)  # the costs of all boxes take what time there is
    monkeypatch.setattr(TileGrid, "search", None)
    assert cutter.boxed(whole) == [whole]


def test_pieces_are_found_though_tiles_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles that are all alike have a part of the time limit, so that something is left for the others."""
    workload = parse_workload("O[k,h] += I[c,h+r]*K[k,c,r]", {"k": 9, "c": 10, "r": 3, "h": 10})
    now = [0.0]

    def slow(*asked: object, clock: Clock, **more: object) -> object:
        found = best_tiling(*asked, **more)  # type: ignore[arg-type]
        now[0] = clock.deadline + 0.01
        return found

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(one_memory, "best_tiling", slow)
    answer = solve(workload, memory="26w", method="iooub")
    assert answer.cost == 990
    assert answer.stop is Stop.TIME_LIMIT
    assert one_memory.LATE in answer.notes


def test_out_of_time_there_is_a_tiling_all_the_same() -> None:
    answer = solve("resnet18/R1", memory="1024w", method="iooub", time_limit=0.01)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.cost <= 5_662_048  # the best tiles of the one flow that is looked at all the same
    assert one_memory.LATE in answer.notes


def test_pieces_are_found_where_dims_are_tiled_one_by_one() -> None:
    """Dims that all tensors see alike, d and e, a and c, are not always best as one: pieces are as the whole is."""
    workload = parse_workload("C[a,b,c] += A[a,e,d,c]*B[d,e,b]", {"a": 3, "b": 7, "c": 2, "d": 7, "e": 4})
    groups, weights = [(15, (0, 1, 2))], [1.0] * 3
    plain = _UnitSearch(workload, units_of(workload, bundled=False), groups, weights, NO_LIMIT).run(streams=True)
    assert plain is not None
    assert plain.value == 910
    parts = best_in_pieces(workload, 15, weights, plain)
    assert parts is not None
    assert value_of(parts) == 826
    for part in parts:
        alone = best_tiling(part.workload, groups, weights)
        assert alone is not None
        assert part.tiling.value >= alone.value


def test_boxes_are_found_where_cuts_along_one_dim_are_not_enough() -> None:
    """Four channels, and the five others for 4 and for 6 of 10 columns."""
    workload = parse_workload("O[k,h] += I[c,h+r]*K[k,c,r]", {"k": 9, "c": 10, "r": 3, "h": 10})
    plain = best_tiling(workload, [(26, (0, 1, 2))], [1.0] * 3)
    answer = solve(workload, memory="26w", method="iooub")
    assert plain is not None
    assert plain.value == 1050
    cutter = _Cutter(workload, 26, [1.0] * 3, plain, NO_LIMIT)
    assert value_of(cutter.cut(TiledPiece({}, workload, plain), DEEP)) == 1050
    assert answer.cost == 990
    held = answer.held
    assert held is not None
    assert [piece.of for piece in held.every(answer.mapping)] == [
        {"k": range(4)},
        {"k": range(4, 9), "h": range(4)},
        {"k": range(4, 9), "h": range(4, 10)},
    ]
    walk = walk_held(workload, answer.machine, answer.mapping, held)
    assert sum(row.loads_words for row in walk.moved) == 990
    assert walk.peak_words <= 26
    assert any("3 pieces run" in line for line in check_document(solution_document(answer)).verified)
    nest = nest_of(answer)
    assert nest.count("/* a piece: ") == nest.count("O[k") == 3


@given(st.integers(0, 2**32))
@settings(max_examples=4, deadline=None)
def test_which_pieces_are_found_does_not_depend_on_names_and_order(seed: int) -> None:
    """82 flows have ways to cut of their own, and many of them are equally good for the whole."""
    workload = parse_workload("O[k,h] += I[c,h+r]*K[k,c,r]", {"k": 13, "c": 16, "r": 3, "h": 13})
    answer = solve(renamed(workload, random.Random(seed)), memory="50w", method="iooub")
    assert answer.cost == 2090
    assert answer.held is not None
    assert len(answer.held.pieces) == 1


def test_few_of_many_flows_do_not_depend_on_names_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SMALL", 0)
    extents = {"k": 13, "c": 16, "r": 3, "h": 13}
    text = "O[k,h] += I[c,h+r]*K[k,c,r]"
    ways = [parse_workload(text, dict(order)) for order in (extents.items(), reversed(extents.items()))]
    ways.append(parse_workload("O[k,h] += K[k,c,r]*I[c,r+h]", extents))
    assert len({solve(workload, memory="50w", method="iooub").cost for workload in ways}) == 1


def test_code_is_not_written_for_the_first_piece_alone(tmp_path: Path) -> None:
    workload = parse_workload("O[k,h] += I[c,2*h+r] * K[k,c,r]", {"k": 16, "c": 3, "r": 6, "h": 24})
    answer = solve(workload, memory="48w", method="iooub")
    file = tmp_path / "pieces.json"
    answer.save(file)
    assert answer.held is not None
    assert answer.held.pieces
    works: tuple[Callable[[], object], ...] = (
        lambda: emit(workload, mapping=answer),
        lambda: emit(workload, mapping=file),
        lambda: compile_result(answer),
        lambda: run(answer),
        lambda: run(file),
    )
    for work in works:
        with pytest.raises(InputError, match="which code cannot have"):
            work()


def test_iterations_of_a_first_piece_need_another_piece() -> None:
    workload = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 13, "j": 7, "k": 5})
    answer = solve(workload, memory="40w", method="iooub")
    assert answer.held is not None
    held = replace(answer.held, of={"i": range(13)}, pieces=())
    with pytest.raises(InputError, match="there is no other"):
        held.check(workload, answer.machine, answer.mapping, CapacityRule.TILE)


def test_what_is_claimed_of_changed_pieces_is_refused_or_true(tmp_path: Path) -> None:
    """Every field of what is held, changed: the file is refused, or the run moves and takes what it says."""
    workload = parse_workload("O[k,h] += I[c,2*h+r] * K[k,c,r]", {"k": 16, "c": 3, "r": 6, "h": 24})
    document = json.loads(json.dumps(solution_document(solve(workload, memory="48w", method="iooub"))))
    assert len(document["held"]["pieces"]) == 1
    refused = changed = 0
    for path, _, other in changed_fields(document):
        if path[0] != "held":
            continue
        changed += 1
        try:
            check_document(signed(other))
        except RefusedError:
            refused += 1
            continue
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(other), encoding="utf-8")
        read = read_solution(file)
        assert read.held is not None
        walk = walk_held(workload, read.machine, read.mapping, read.held)
        assert sum(row.loads_words for row in walk.moved) == other["cost"]["value"], path
        assert walk.peak_words == other["levels"][0]["occupancy_words"], path
    assert changed > 20
    assert refused > changed // 2
