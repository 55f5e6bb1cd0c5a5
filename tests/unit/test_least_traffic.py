"""Who asks for the traffic of one memory and names no method gets the least that any family of mappings has."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import workloads

from optmap import check, solve
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InputError
from optmap.count.levels.held import held_traffic
from optmap.machines.machine import CapacityRule
from optmap.search import Answer, Question, best_tiling
from optmap.search.chains.pair import PairOperand
from optmap.search.chains.streaming import Alone, best_apart
from optmap.search.iooub import one_memory
from optmap.search.iooub.one_tile import one_tile_each
from optmap.search.iooub.tiling import Tiling
from optmap.solvers import Stop
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

PRODUCT = "C[i,j] = A[i,k] * B[k,j]"
CUBE = {"i": 64, "j": 64, "k": 64}
OTHERS = ("mopt", "gemmini", "tiling-lp")


def least(workload: Workload | str, memory: int, **options: object) -> Answer:
    return solve(workload, memory=f"{memory}w", objective="traffic", **options)  # type: ignore[arg-type]


def moved(answer: Answer) -> int:
    return sum(row.loads_words + row.stores_words for row in answer.boundaries)


def one_kept(workload: Workload, memory: int) -> int:
    """Of a product: a tile of one tensor stays, the others stream past it as a line and a word, or are pinned."""
    out, *inputs = workload.tensors
    free = int(workload.semantics.value == "assign")
    c, a, b = (
        PairOperand(name=t.name, words=workload.weight(t), moves=2 if t is out else 1, free=free if t is out else 0)
        for t in (out, *inputs)
    )
    extents = tuple(workload.extents[d] for d in "ijk")
    alone = Alone(tensors=((c, 0, 1), (a, 0, 2), (b, 1, 2)), groups=(("i",), ("j",), ("k",)), extents=extents, cut=())
    found = best_apart(alone, memory)
    assert found is not None
    return found.words


@pytest.mark.parametrize(
    ("memory", "words"),
    [(50, 85_888), (100, 60_224), (200, 43_648), (500, 29_376), (1000, 22_528), (2000, 18_048), (4000, 13_952)],
)
def test_a_product_moves_no_more_than_pieces_streams_and_corners_need(memory: int, words: int, tmp_path: Path) -> None:
    answer = least(PRODUCT, memory, extents=CUBE)
    assert answer.method == "iooub"
    assert answer.cost == answer.exact == moved(answer) <= words
    assert answer.bound is not None
    assert 3 * 64**2 <= answer.bound.value <= answer.exact
    assert answer.gap == pytest.approx(answer.exact / answer.bound.value - 1)
    assert answer.stop is not Stop.OPTIMAL
    answer.save(tmp_path / "answer.json")
    check(tmp_path / "answer.json")
    summed = least(PRODUCT, memory, extents=CUBE, semantics="accumulate")
    assert summed.exact == answer.exact + 64**2  # every word of the output is loaded once more


@given(st.data())
@settings(max_examples=8)
def test_no_other_family_moves_less(data: st.DataObject) -> None:
    extents = {d: data.draw(st.integers(2, 24)) for d in "ijk"}
    sizes = {t: data.draw(st.sampled_from([4, 8])) for t in "CAB"}
    sign = data.draw(st.sampled_from(["=", "+="]))
    workload = parse_workload(PRODUCT.replace("=", sign), extents, bytes=sizes)
    memory = data.draw(st.integers(sum(map(workload.weight, workload.tensors)), 400))
    answer = least(workload, memory)
    assert answer.method == "iooub"
    assert answer.bound is not None
    assert answer.bound.value <= answer.exact == moved(answer)
    assert all(answer.exact <= moved(least(workload, memory, method=method)) for method in OTHERS)
    assert answer.exact <= one_kept(workload, memory)


@given(workloads(max_extent=6, max_operations=600), st.data())
@settings(max_examples=cases(10, 25))
def test_one_tile_of_each_is_held_as_it_is_counted(workload: Workload, data: st.DataObject) -> None:
    memory = data.draw(st.integers(sum(map(workload.weight, workload.tensors)), 80))
    mopt = least(workload, memory, method="mopt")
    question = Question(workload=workload, machine=mopt.machine)
    held, mapping = one_tile_each(question, NO_LIMIT)
    held.check(workload, mopt.machine, mapping, CapacityRule.TILE)
    rows = held_traffic(workload, mapping, held, mopt.machine.boundaries[0])
    assert sum(row.loads_words + row.stores_words for row in rows) == mopt.exact
    assert least(workload, memory).exact <= mopt.exact


def test_out_of_time_it_moves_no_more_than_one_tile_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the one flow that is looked at all the same moves more than twice as much."""
    mopt, seen, now = least("quickflow/I", 8192, method="mopt"), [], [0.0]

    def first_flow(*asked: object, clock: Clock, **more: object) -> Tiling | None:
        found = best_tiling(*asked, clock=Clock(-1.0), **more)  # type: ignore[arg-type]
        seen.append(found)
        now[0] = clock.deadline + 0.01
        return found

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(one_memory, "best_tiling", first_flow)
    for name in ("best_in_pieces", "best_cornered"):
        monkeypatch.setattr(one_memory, name, lambda *_, **__: None)
    answer = least("quickflow/I", 8192)
    assert answer.stop is Stop.TIME_LIMIT
    assert one_memory.LATE in answer.notes
    assert seen[0].value > 2 * mopt.exact
    assert answer.exact == moved(answer) == mopt.exact


@pytest.mark.parametrize(
    "asked",
    [
        {"capacity": "safe"},
        {"constraints": ["Fast.i=8"]},
        {"certificate": "full"},
        {"solver": "batch"},
        {"integers": "floor"},
    ],
)
def test_what_it_does_not_know_another_method_answers(asked: dict[str, object]) -> None:
    assert least(PRODUCT, 1000, extents=CUBE, **asked).method == "mopt"


def test_partitions_are_for_gemmini() -> None:
    asked = {"machine": "gemmini-buffers", "objective": "traffic"}
    assert solve("resnet50/conv2", **asked).method == "gemmini"
    with pytest.raises(InputError, match=r"mopt does not know the partitions"):
        solve("resnet50/conv2", constraints=["Buffers.k=1"], **asked)


@pytest.mark.parametrize("objective", [None, "bottleneck", "sum"])
def test_other_objectives_are_minimised_by_mopt(objective: str | None) -> None:
    small = {"extents": {"i": 6, "j": 5, "k": 4}, "memory": "40w"}
    assert solve(PRODUCT, objective=objective, **small).method == "mopt"


def test_loads_are_minimised_by_the_method_that_knows_them() -> None:
    small = {"extents": {"i": 6, "j": 5, "k": 4}, "memory": "40w", "objective": "loads"}
    found, asked = solve(PRODUCT, **small), solve(PRODUCT, method="iooub", **small)
    assert found.method == "iooub"
    assert found.exact == asked.exact


def test_layers_with_implicit_padding_are_for_mopt() -> None:
    """A rim that is never stored does not move, and iooub counts it."""
    asked = {"memory": "8192w", "objective": "traffic", "padding": "implicit"}
    found, other = solve("mobilenet/M9", **asked), solve("mobilenet/M9", method="iooub", **asked)
    assert found.method == "mopt"
    assert found.exact <= other.exact
    assert not other.proved


def test_traffic_is_of_one_memory() -> None:
    with pytest.raises(InputError, match=r"does not minimise traffic on 3 levels"):
        solve(PRODUCT, objective="traffic", extents=CUBE, machine="balanced")
