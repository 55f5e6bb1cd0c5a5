"""Held and streamed mappings: one meaning, counted three times, and forgeries that claim too little."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from held_documents import (
    held_document,
    held_machine,
    in_pieces,
    random_corner,
    random_held,
    random_mapping,
    random_pieces,
    random_workload,
    signed,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.answers.documents.recount import disagreements, evaluate_solution, run_simulations
from optmap.answers.documents.solution import read_solution
from optmap.base.errors import InputError
from optmap.bounds.best import best
from optmap.checker import RefusedError, check_document
from optmap.count.levels.held import held_occupancy
from optmap.count.reference.simulate import corner_iterations, simulate
from optmap.count.reference.walk_held import run_held, walk_held
from optmap.machines.machine import CapacityRule
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.pieces import Piece
from optmap.programs import tensor_labels
from optmap.symbolic import tensor_text
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload, access_names


def one_level(tile: dict[str, int], order: str) -> Mapping:
    return Mapping(levels=(LevelMapping(level="Fast", tile=tile, permutation=tuple(order), spatial={}),))


def refusal(document: Any) -> str:
    """Why the checker refuses a document; empty if it does not."""
    try:
        check_document(json.loads(json.dumps(document)))
    except RefusedError as error:
        return str(error)
    return ""


def written(document: Any, folder: Path) -> Path:
    file = folder / "solution.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


MATMUL = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 16, "j": 16, "k": 16})
WINDOW = parse_workload("O[x,k] += I[x+r,c]*K[k,c,r]", {"x": 8, "k": 1, "c": 4, "r": 4})
FORGERIES: dict[str, tuple[Workload, Mapping, Held]] = {
    # C stays while k runs and A while j runs, although only one word of either is held.
    "streamed with a reuse position": (
        MATMUL,
        one_level({"i": 16, "j": 1, "k": 16}, "ikj"),
        Held(positions={"C": 0, "A": 1, "B": 0}, streams={"A": ("i", "k"), "C": ("i",)}, inner=("i", "k", "j")),
    ),
    # The loop over x is outside the slices along c, which come back for every x.
    "slices that come back": (
        WINDOW,
        one_level({"x": 8, "k": 1, "c": 4, "r": 4}, "xkcr"),
        Held(positions={"O": 1, "I": 0, "K": 5}, streams={"I": ("c",)}, inner=("x", "c")),
    ),
    "slices in no order": (
        MATMUL,
        one_level({"i": 16, "j": 16, "k": 16}, "kji"),
        Held(positions={"C": 4, "A": 0, "B": 4}, streams={"A": ("i",)}, inner=()),
    ),
    "an absent dim outside the slices": (
        MATMUL,
        one_level({"i": 16, "j": 16, "k": 16}, "ikj"),
        Held(positions={"C": 4, "A": 0, "B": 4}, streams={"A": ("i",)}, inner=("j", "i")),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused_by_checker_reader_and_walk(name: str, tmp_path: Path) -> None:
    workload, mapping, held = FORGERIES[name]
    document = held_document(workload, mapping, held)
    assert "streamed" in refusal(document) or "slices" in refusal(document)
    with pytest.raises(InputError, match=r"solution.json: held: \w cannot be streamed|is streamed, so nothing"):
        read_solution(written(document, tmp_path))
    machine = held_machine(document["levels"][0]["occupancy_words"])
    with pytest.raises(InputError, match="stream"):
        walk_held(workload, machine, mapping, held)
    # What is refused would really move more than it claims, or take more room.
    walk = run_held(workload, ("Fast", "Memory"), mapping, held)
    moved = sum(row.loads_words for row in walk.moved)
    assert moved > document["cost"]["value"] or walk.peak_words > document["levels"][0]["occupancy_words"]


def test_the_forgeries_claimed_less_than_is_possible() -> None:
    workload, mapping, held = FORGERIES["streamed with a reuse position"]
    document = held_document(workload, mapping, held)
    assert document["levels"][0]["occupancy_words"] == 18
    assert document["cost"]["value"] == 768 < best(workload, 18).loads_words == 1966


def test_streams_are_counted_alike(tmp_path: Path) -> None:
    """Slices along c and along windows, moved apart, with gaps, with two dims beside: every word of a tile once."""
    for workload, inner in (
        (WINDOW, ("x", "c")),
        (parse_workload("O[x,k] += I[2*x+3*r,c]*K[k,c,r]", {"x": 9, "k": 2, "c": 2, "r": 4}), ("x", "c")),
        (parse_workload("O[x,k] += I[2*x+r+2*c]*K[k,c,r]", {"x": 9, "k": 1, "c": 4, "r": 2}), ("x",)),
        (WINDOW, ("c", "x")),
        (parse_workload("O[x,k] += I[2*x+r,c]*K[k,c,r]", {"x": 8, "k": 3, "c": 4, "r": 4}), ("c", "x")),
        (parse_workload("O[x,k] += I[2*x+2*r,c]*K[k,c,r]", {"x": 8, "k": 3, "c": 4, "r": 4}), ("c", "x")),
    ):
        held = Held(positions={"O": 2, "I": 0, "K": 5}, streams={"I": inner}, inner=inner)
        document = held_document(workload, one_level({**workload.extents, "x": 5}, "xkcr"), held)
        assert refusal(document) == ""
        read = read_solution(written(document, tmp_path))
        assert disagreements(evaluate_solution(read)) == []
        walk, *_ = run_simulations(read, 100_000)
        claims = [(row["tensor"], row["loads_words"], row["stores_words"]) for row in document["boundaries"]]
        assert [(row.tensor, row.loads_words, row.stores_words) for row in walk.moved] == claims


IMAGE = "O[k,h,w] += I[c,{h}*h+{r}*r,{w}*w+{s}*s]*K[k,c,r,s]"


def rolling(shape: dict[str, int], tile: dict[str, int], inner: str, **steps: int) -> tuple[int, int]:
    """Words of the input held and loaded by the closed form, which walk and checker confirm."""
    workload = parse_workload(IMAGE.format(**({"h": 1, "r": 1, "w": 1, "s": 1} | steps)), shape)
    streams = {"I": tuple(inner)} | ({} if inner[0] == "c" else {"O": tuple(inner.split("c", maxsplit=1)[0])})
    held = Held(positions={"O": 0, "I": 0, "K": 7}, streams=streams, inner=tuple(inner))
    mapping = one_level(shape | tile, "kcwhrs")
    document = held_document(workload, mapping, held)
    assert refusal(document) == ""
    machine = held_machine(document["levels"][0]["occupancy_words"])
    walk = walk_held(workload, machine, mapping, held)
    assert walk.peak_words == document["levels"][0]["occupancy_words"]
    claims = [(row["tensor"], row["loads_words"], row["stores_words"]) for row in document["boundaries"]]
    assert [(row.tensor, row.loads_words, row.stores_words) for row in walk.moved] == claims
    optimal = simulate(workload, machine, mapping, policy="belady", held=held)
    assert sum(row.loads_words for row in optimal) <= document["cost"]["value"]
    whole = held_occupancy(workload, mapping, held, accesses=[1])
    return whole, next(loads for name, loads, _ in claims if name == "I")


def test_a_window_rolls_over_a_strip_with_all_but_one_of_its_rows() -> None:
    shape = {"k": 2, "c": 2, "h": 6, "w": 7, "r": 3, "s": 3}
    strips = 2 * 8 * (6 + 5)  # channels, rows and the columns of strips of 4 and 3
    assert rolling(shape, {"w": 4}, "hw") == (2 * (2 * 6 + 3), strips)
    assert rolling(shape, {"w": 4}, "wh") == (2 * (2 * 8 + 3), strips)
    assert rolling(shape, {"w": 4}, "h") == (2 * 3 * 6, strips)
    # Channel after channel at every place: the oldest word of each leaves before the next one's newest comes.
    assert rolling(shape, {"w": 4}, "hwc") == (2 * (2 * 6 + 2) + 1, strips)
    assert rolling(shape, {"w": 4}, "chw") == (2 * 6 + 3, strips)


@pytest.mark.parametrize("inner", ["hw", "wh", "hwc", "hcw"])
def test_strides_and_dilations_roll_too(inner: str) -> None:
    shape = {"k": 1, "c": 2, "h": 4, "w": 5, "r": 3, "s": 2}
    for steps in ({"h": 2}, {"h": 2, "w": 2}, {"r": 2, "s": 2}, {"h": 3, "r": 2}, {"w": 2, "s": 3}):
        for tile in ({}, {"w": 3}, {"h": 3, "r": 2}, {"w": 2, "c": 1}, {"h": 1}):
            rolling(shape, tile, inner, **steps)


def test_two_streamed_dims_in_one_subscript_are_not_counted() -> None:
    held = Held(positions={"O": 5, "I": 0, "K": 5}, streams={"I": ("x", "r")}, inner=("x", "r"))
    mapping = one_level(dict(WINDOW.sizes), "xkcr")
    document = held_document(WINDOW, mapping, held)
    assert "in a subscript with others" in refusal(document)
    with pytest.raises(InputError, match="r and x move in one subscript"):
        held.check(WINDOW, held_machine(99), mapping, CapacityRule.TILE)


def edit(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["held"].update(changes)


def spatial(document: dict[str, Any]) -> None:
    document["machine"]["levels"][0]["fanout"] = document["machine"]["cores"] = 2
    document["mapping"]["levels"][0]["spatial"] = {"i": 2}


def lru(document: dict[str, Any]) -> None:
    document["machine"]["levels"][0]["kind"] = "cache"
    document["capacity_rule"] = "safe"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (edit(positions={"C": 1, "A": 1}), "position"),
        (edit(positions={"C": 1, "A": 1, "B": 1, "D": 1}), "position"),
        (edit(positions={"C": 5, "A": 1, "B": 1}), "position"),
        (edit(positions={"C": -1, "A": 1, "B": 1}), "position"),
        (edit(positions={"C": True, "A": 1, "B": 1}), "position"),
        (edit(positions=[1, 1, 1]), "position"),
        (edit(streams={"D": ["i"]}), "stream"),
        (edit(streams={"A": []}), "along no dim"),
        (edit(streams={"A": ["i", "i"]}), "once"),
        (edit(streams={"A": ["z"]}), "dims"),
        (edit(streams={"A": "i"}), "list|dims"),
        (edit(inner=["i", "i"]), "once"),
        (edit(inner=["z"]), "dims"),
        (edit(more=1), "keys|unknown key"),
        (spatial, "split"),
        (lru, "cache"),
        (lambda document: document.update(held={}), "keys|missing"),
        (lambda document: document.update(held=False), "object|needed"),
    ],
)
def test_what_is_no_held_mapping_is_refused(change: Callable[[dict[str, Any]], None], why: str, tmp_path: Path) -> None:
    workload = MATMUL.with_extents(i=4, j=4, k=4)
    held = Held(positions={"C": 1, "A": 1, "B": 1}, streams={}, inner=())
    document = held_document(workload, one_level({"i": 2, "j": 2, "k": 2}, "ijk"), held)
    assert refusal(document) == ""
    change(document)
    reason = refusal(signed(document))
    assert any(word in reason for word in why.split("|")), reason
    with pytest.raises(InputError, match=why):
        read_solution(written(document, tmp_path))


def test_a_mapping_held_on_several_levels_is_refused() -> None:
    workload = MATMUL.with_extents(i=4, j=4, k=4)
    held = Held(positions={"C": 1, "A": 1, "B": 1}, streams={}, inner=())
    document = held_document(workload, one_level({"i": 2, "j": 2, "k": 2}, "ijk"), held)
    for key, listed in (("machine", document["machine"]["levels"]), ("mapping", document["mapping"]["levels"])):
        listed.append({**listed[0], "name" if key == "machine" else "level": "L2"})
    assert "one level" in refusal(signed(document))


def test_checker_closed_form_walk_and_optimal_replacement_agree() -> None:
    rng = random.Random(5)
    seen = Counter(attack(rng) for _ in range(cases(60, 120)))
    assert set(seen) <= {"held", "streamed", "refused", "first touches are not defined"}
    assert min(seen["held"], seen["streamed"], seen["refused"]) > cases(5, 10)


def test_checker_closed_form_walk_and_optimal_replacement_agree_about_corners() -> None:
    rng = random.Random(6)
    seen = Counter(attack(rng, 200, corners=True, bounded=False) for _ in range(cases(100, 250)))
    assert set(seen) <= {"held", "streamed", "refused", "corner", "L-shaped", "first touches are not defined"}
    assert min(seen["L-shaped"], seen["refused"]) > cases(10, 25)


@given(st.randoms(use_true_random=False))
@settings(max_examples=cases(12, 60))
def test_a_corner_never_costs_less_than_the_literal_walk(rng: random.Random) -> None:
    attack(rng, 150, corners=True, bounded=False)


SQUARE = parse_workload("C[k,n] += W[k,c]*X[c,n]", {"k": 5, "c": 4, "n": 6})
L_SHAPE = Held(
    positions={"C": 0, "W": 4, "X": 0},
    streams={"C": ("n", "k"), "X": ("n",)},
    inner=("n", "k"),
    corner=Corner(
        sizes={"k": 2, "c": 1},
        mapping=one_level({"k": 2, "c": 1, "n": 1}, "kcn"),
        held=Held(positions={"C": 1, "W": 4, "X": 1}, streams={}, inner=()),
    ),
)


@pytest.mark.parametrize(("text", "created"), [("+=", 0), ("=", 5 * 6)])
def test_an_l_shape_by_hand(text: str, created: int) -> None:
    """A 5 x 4 filter without a corner of 2 x 1, 18 words, beside 4 of an input and 1 of an output per pixel."""
    workload = parse_workload(SQUARE.expression.replace("+=", text), SQUARE.extents)
    mapping = one_level(dict(SQUARE.sizes), "kcn")
    document = held_document(workload, mapping, L_SHAPE)
    assert refusal(document) == ""
    assert document["levels"][0]["occupancy_words"] == 18 + 4 + 1
    loads = {row["tensor"]: row["loads_words"] for row in document["boundaries"]}
    assert loads == {"C": 5 * 6 - created + 2 * 6, "W": 20, "X": 4 * 6 + 6}
    assert next(row["stores_words"] for row in document["boundaries"]) == 5 * 6 + 2 * 6
    assert walk_held(workload, held_machine(23), mapping, L_SHAPE).peak_words == 23


def test_a_corner_of_ragged_tiles_is_what_a_whole_tile_leaves_out() -> None:
    """Tiles of 3 of 8: the corner's last 2 of 3 are 1, 2, 4, 5 and 7; of 3 of 4 the last 1 of 3 is 2."""
    workload = SQUARE.with_extents(k=8, c=4)
    mapping = one_level({"k": 3, "c": 3, "n": 6}, "kcn")
    assert L_SHAPE.corner is not None
    corner = replace(L_SHAPE.corner, mapping=one_level({"k": 5, "c": 1, "n": 1}, "kcn"))
    assert corner.cut(workload, mapping) == {"k": 5, "c": 1}
    assert corner_iterations(workload, mapping, corner) == {"k": [1, 2, 4, 5, 7], "c": [2]}
    document = held_document(workload, mapping, replace(L_SHAPE, corner=corner))
    assert refusal(document) == ""
    walk = walk_held(workload, held_machine(32), mapping, replace(L_SHAPE, corner=corner))
    assert [row.loads_words for row in walk.moved] == [row["loads_words"] for row in document["boundaries"]]


def cornered(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["held"]["corner"].update(changes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (cornered(sizes={"k": 2}), "two"),
        (cornered(sizes={"k": 2, "c": 1, "n": 1}), "two"),
        (cornered(sizes={"k": 2, "z": 1}), "dims"),
        (cornered(sizes={"k": 5, "c": 1}), "iterations"),
        (cornered(sizes={"k": 0, "c": 1}), "whole number|at least"),
        (cornered(sizes={"n": 2, "c": 1}), "streamed"),
        (cornered(tile={"k": 3, "c": 1, "n": 1}), "tile"),
        (cornered(tile={"k": 2, "c": 1}), "dims"),
        (cornered(permutation=["k", "c"]), "permutation|loops"),
        (cornered(held={"positions": {"C": 1, "W": 4}, "streams": {}, "inner": []}), "position"),
        (cornered(held={**L_SHAPE.document()}), "keys|unknown key"),
        (cornered(more=1), "keys|unknown key"),
        (lambda document: document["held"].update(corner=None), "object|needed"),
    ],
)
def test_what_is_no_corner_is_refused(change: Callable[[dict[str, Any]], None], why: str, tmp_path: Path) -> None:
    document = held_document(SQUARE, one_level(dict(SQUARE.sizes), "kcn"), L_SHAPE)
    change(document)
    reason = refusal(signed(document))
    assert any(word in reason for word in why.split("|")), reason
    with pytest.raises(InputError, match=why):
        read_solution(written(document, tmp_path))


def test_nothing_is_demanded_of_tiles_without_a_corner(tmp_path: Path) -> None:
    document = held_document(SQUARE, one_level(dict(SQUARE.sizes), "kcn"), L_SHAPE)
    divided = signed({**document, "tiles": "divisors"})
    assert "demanded" in refusal(divided)
    with pytest.raises(InputError, match="demanded"):
        read_solution(written(divided, tmp_path))
    document["constraints"] = [{"level": "Fast", "dim": "k", "relation": "=", "value": 5}]
    assert "demanded" in refusal(signed(document))
    with pytest.raises(InputError, match="demanded"):
        read_solution(written(document, tmp_path))


def test_what_is_held_fits_whatever_the_objective(tmp_path: Path) -> None:
    """Of a predicted time tiles may be larger than a cache, which then keeps less than what is held."""
    plain = Held(positions=dict.fromkeys("CWX", 4), streams={}, inner=())
    document = held_document(SQUARE, one_level(dict(SQUARE.sizes), "kcn"), plain, words=8)
    assert "needs" in refusal(document)
    prediction = {"value": document["cost"]["value"], "unit": "cycles"}
    timed = {**document, "objective": "time", "cost": prediction, "exact": prediction}
    assert "no time is predicted of what is held" in refusal(signed(timed))
    with pytest.raises(InputError, match="no time is predicted"):
        read_solution(written(timed, tmp_path))


@pytest.mark.parametrize("text", ["O[x] += I[x+r]*K[r]", "O[i,j] += A[i,i]*B[j]"])
def test_corners_are_cut_of_dims_that_move_alone(text: str) -> None:
    dims = sorted({c for c in text if c.islower()})
    workload = parse_workload(text, dict.fromkeys(dims, 4))
    corner = Corner(
        sizes=dict.fromkeys(dims[:2], 1),
        mapping=one_level(dict.fromkeys(dims, 1), "".join(dims)),
        held=Held(positions=dict.fromkeys(access_names(workload), 0), streams={}, inner=()),
    )
    document = held_document(
        workload, one_level(dict.fromkeys(dims, 4), "".join(dims)), replace(corner.held, corner=corner)
    )
    assert "a corner is cut along" in refusal(document)
    with pytest.raises(InputError, match="no corner is cut of it"):
        replace(corner.held, corner=corner).check(
            workload, held_machine(99), one_level(dict.fromkeys(dims, 4), "".join(dims)), CapacityRule.TILE
        )


def test_checker_closed_form_walk_and_optimal_replacement_agree_about_pieces() -> None:
    rng = random.Random(20261122)
    seen = Counter(attack(rng, 100, pieces=True, bounded=False) for _ in range(cases(60, 150)))
    assert set(seen) <= {"held", "streamed", "refused", "pieces", "first touches are not defined"}
    assert seen["pieces"] > cases(40, 100)
    assert seen["refused"]


@given(st.randoms(use_true_random=False))
@settings(max_examples=cases(12, 60))
def test_pieces_never_cost_less_than_the_literal_walk_and_the_bound(rng: random.Random) -> None:
    attack(rng, 60, pieces=True)


FILTER = parse_workload("O[k,x] += I[2*x+r]*K[k,r]", {"k": 5, "x": 6, "r": 4})
EVERY_OTHER = Held(
    positions={"O": 0, "I": 0, "K": 4},
    streams={"I": ("x",), "O": ("x", "k")},
    inner=("x", "k"),
    of={"r": range(0, 4, 2), "k": range(0, 3)},
    pieces=(
        Piece(
            of={"r": range(1, 4, 2), "k": range(0, 3)},
            mapping=one_level({"k": 3, "x": 6, "r": 2}, "krx"),
            held=Held(positions={"O": 0, "I": 0, "K": 4}, streams={"I": ("x",), "O": ("x", "k")}, inner=("x", "k")),
        ),
        Piece(
            of={"k": range(3, 5)},
            mapping=one_level({"k": 2, "x": 1, "r": 4}, "krx"),
            held=Held(positions={"O": 1, "I": 1, "K": 4}, streams={}, inner=()),
        ),
    ),
)
"""A filter's even rows, its odd rows, both for three outputs k, and the two others."""


@pytest.mark.parametrize(("text", "created"), [("+=", 0), ("=", 5 * 6)])
def test_pieces_by_hand(text: str, created: int) -> None:
    """Even rows of r need I[0], I[2], ... I[12], odd ones I[1], ... I[13]: each once, and of 16 outputs 18 twice."""
    workload = parse_workload(FILTER.expression.replace("+=", text), FILTER.extents)
    mapping = one_level({"k": 3, "x": 6, "r": 2}, "krx")
    document = held_document(workload, mapping, EVERY_OTHER)
    assert refusal(document) == ""
    loads = {row["tensor"]: row["loads_words"] for row in document["boundaries"]}
    assert loads == {"O": 2 * 3 * 6 + 2 * 6 - created, "K": 20, "I": 7 + 7 + 14}
    assert next(row["stores_words"] for row in document["boundaries"]) == 2 * 3 * 6 + 2 * 6
    assert document["levels"][0]["occupancy_words"] == max(6 + 2 + 1, 8 + 4 + 2)
    walk = walk_held(workload, held_machine(14), mapping, EVERY_OTHER)
    assert walk.peak_words == 14
    assert {row.tensor: row.loads_words for row in walk.moved} == loads


def recut(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["held"]["pieces"][1].update(changes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (recut(of={"k": {"first": 2, "step": 1, "size": 3}}), "same operations"),
        (recut(of={"k": {"first": 4, "step": 1, "size": 1}}, tile={"k": 1, "x": 1, "r": 4}), "pieces run"),
        (recut(of={"k": {"first": 3, "step": 2, "size": 2}}), "iteration"),
        (recut(of={"k": {"first": 3, "step": 2, "size": 2**63}}), "iteration"),
        (recut(of={"z": {"first": 0, "step": 1, "size": 1}}), "cut along z"),
        (recut(of={}), "same operations"),
        (recut(of={"k": {"first": -1, "step": 1, "size": 2}}), "whole number|at least"),
        (recut(of={"k": {"first": 3, "step": 0, "size": 2}}), "whole number|at least|positive"),
        (recut(of={"k": {"first": 3, "step": 1, "size": 0}}), "whole number|at least|positive"),
        (recut(of={"k": {"first": 3, "step": 1}}), "keys|missing"),
        (recut(tile={"k": 3, "x": 1, "r": 4}), "tile"),
        (recut(permutation=["k", "x"]), "permutation|loops"),
        (recut(held={"positions": {"O": 1, "K": 4}, "streams": {}, "inner": []}), "position"),
        (recut(held=EVERY_OTHER.document()), "keys|unknown key"),
        (lambda document: document["held"].pop("of"), "keys|of is missing"),
        (lambda document: document["held"].pop("pieces"), "keys|pieces is missing"),
        (lambda document: document["held"].update(pieces=[]), "1 entries|at least one"),
        (lambda document: document["held"]["pieces"].pop(), "pieces run"),
        (lambda document: document["held"].update(corner=L_SHAPE.document()["corner"]), "keys|not both"),
    ],
)
def test_what_are_no_pieces_is_refused(change: Callable[[dict[str, Any]], None], why: str, tmp_path: Path) -> None:
    document = held_document(FILTER, one_level({"k": 3, "x": 6, "r": 2}, "krx"), EVERY_OTHER)
    change(document)
    reason = refusal(signed(document))
    assert any(word in reason for word in why.split("|")), reason
    with pytest.raises(InputError, match=why):
        read_solution(written(document, tmp_path))


def test_nothing_is_demanded_of_pieces(tmp_path: Path) -> None:
    document = held_document(FILTER, one_level({"k": 3, "x": 6, "r": 2}, "krx"), EVERY_OTHER)
    divided = signed({**document, "tiles": "divisors"})
    assert "demanded" in refusal(divided)
    with pytest.raises(InputError, match="demanded"):
        read_solution(written(divided, tmp_path))


def test_pieces_are_not_cut_where_there_is_padding() -> None:
    workload = parse_workload("O[x,k] += I[x+r in 1..4]*K[k,r]", {"x": 4, "k": 2, "r": 3})
    held = Held(positions=dict.fromkeys("OIK", 1), streams={}, inner=())
    for dim, fine in (("x", False), ("k", True)):
        halves = [{dim: range(0, 1)}, {dim: range(1, workload.extents[dim])}]
        parts = (Piece(of=of, mapping=one_level(dict.fromkeys("xkr", 1), "xkr"), held=held) for of in halves)
        mapping, cut = in_pieces(tuple(parts))
        document = held_document(workload, mapping, cut)
        assert (refusal(document) == "") is fine
        if fine:
            cut.check(workload, held_machine(99), mapping, CapacityRule.TILE)
            continue
        with pytest.raises(InputError, match="cut along x"):
            cut.check(workload, held_machine(99), mapping, CapacityRule.TILE)


def attack(
    rng: random.Random, most: int = 120, *, bounded: bool = True, corners: bool = False, pieces: bool = False
) -> str:
    """One random held document: who accepts it, what it moves, and (`bounded`) what must move at least."""
    workload = random_workload(rng, most)
    mapping, held = random_mapping(rng, workload), random_held(rng, workload)
    if pieces:
        listed = random_pieces(rng, workload)
        if rng.random() < 0.7:
            listed = tuple(replace(piece, held=replace(piece.held, streams={})) for piece in listed)
        mapping, held = in_pieces(listed)
    if corners:
        plain, corner = rng.random() < 0.7, random_corner(rng, workload, mapping)
        if corner is not None and plain:
            corner = replace(corner, held=replace(corner.held, streams={}))
        held = replace(held, corner=corner, streams={} if plain else held.streams)
    try:
        document = held_document(workload, mapping, held)
    except InputError:
        return "first touches are not defined"
    machine = held_machine(document["levels"][0]["occupancy_words"])
    refused = refusal(document)
    try:
        held.check(workload, machine, mapping, CapacityRule.TILE)
    except InputError:
        return "refused" if refused else f"refused by the reader alone: {document}"
    assert refused == "", document
    walk = walk_held(workload, machine, mapping, held)
    claims = [(row["tensor"], row["loads_words"], row["stores_words"]) for row in document["boundaries"]]
    assert [(row.tensor, row.loads_words, row.stores_words) for row in walk.moved] == claims, document
    assert walk.peak_words == document["levels"][0]["occupancy_words"], document
    if len({workload.weight(tensor) for tensor in workload.tensors}) == 1:  # else optimal replacement is none
        optimal = simulate(workload, machine, mapping, policy="belady", held=held)
        assert sum(row.loads_words for row in optimal) <= document["cost"]["value"], document
    if bounded:
        assert best(workload, walk.peak_words).loads_words <= document["cost"]["value"], document
    if held.pieces:
        return "pieces"
    if held.corner is not None:
        return "L-shaped" if any(set(held.corner.sizes) <= t.dims for t in workload.tensors) else "corner"
    return "streamed" if held.streams else "held"


def test_an_access_has_one_name_in_answers_and_one_in_files_of_programs():
    square = parse_workload("C[i,j] += A[i,k]*A[k,j]*A_2[i]", {"i": 2, "j": 3, "k": 4})
    assert access_names(square) == ("C", "A", "A#2", "A_2")
    assert access_names(square, "_") == ("C", "A", "A_3", "A_2")
    assert list(tensor_text(square, ("i", "j", "k"))) == list(access_names(square))
    assert [label for label, _ in tensor_labels(square)] == list(access_names(square, "_"))
