"""Sobol' indices of the choices of a mapping: what is known matters, what is of no account does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.cli import main
from optmap.machines.fabric import fabric_of
from optmap.search import Observations, Sensitivity, Tiles, encoding_of

PRODUCT = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = "i=64,j=128,k=512"


def indices(**more: Any) -> Sensitivity:
    asked: dict[str, Any] = {"machine": "gemmini", "extents": EXTENTS, "samples": 64, **more}
    return optmap.sensitivity(PRODUCT, **asked)


def test_tiles_matter_and_loop_orders_of_inner_memories_hardly_do() -> None:
    """Dinh, section 6.2.5, on a machine like his: sizes at register and accumulator come first."""
    found = indices(objective="energy", samples=128)
    assert {each.axis for each in found.influences[:3]} <= {
        *("Register size i", "Accumulator size i", "Accumulator size k", "Scratchpad size i")
    }
    assert found.kind("size") > 5 * abs(found.kind("order"))
    for each in found.influences:
        if each.axis.startswith(("Accumulator order", "Scratchpad order")):
            assert each.total < 0.1 * found.influences[0].total
    assert found.evaluations == 128 * (len(found.influences) + 2)


def test_an_objective_of_one_axis_is_explained_by_it_alone() -> None:
    """A process through what a function of one's own cost."""
    fabric = fabric_of(optmap.workload(PRODUCT, extents=EXTENTS, semantics="assign"), optmap.machine("gemmini"))
    encoding = encoding_of(fabric, tiles=Tiles.FREE)
    points = encoding.encode_batch(encoding.decode_batch(np.random.default_rng(0).random((60, encoding.size))))
    one = encoding.names.index("Accumulator size k")
    seen = Observations(axes=encoding.names, points=points, values=np.exp(3 * points[:, one]))
    found = indices(observations=seen)
    assert found.surrogate
    assert found.evaluations == 60
    assert found.influences[0].axis == "Accumulator size k"
    assert found.influences[0].first > 0.6
    assert all(each.total < 0.2 for each in found.influences[3:])


def test_the_same_seed_is_the_same_answer_and_no_other_chance_is_used() -> None:
    before = str(np.random.get_state())
    assert indices(samples=16) == indices(samples=16)
    assert str(np.random.get_state()) == before


def test_where_every_mapping_costs_the_same_nothing_matters() -> None:
    assert all(each.total == 0 for each in indices(tiles="filled").influences)


def test_table_document_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bars = tmp_path / "bars.svg"
    call = ["sensitivity", PRODUCT, "--extents", EXTENTS, "--machine", "gemmini", "--samples", "8"]
    assert main([*call, "--plot", str(bars), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "optmap.sensitivity/1"
    totals = [axis["total"] for axis in document["axes"]]
    assert totals == sorted(totals, reverse=True)
    assert "Register size i" in bars.read_text()
    assert main(call) == 0
    text = capsys.readouterr().out
    assert "by kind" in text
    assert document["axes"][0]["axis"] in text


def test_a_saved_search_is_analysed_in_its_own_encoding(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    settings = {"save": str(file), "starts": 10}
    optmap.solve(
        PRODUCT,
        machine="eyeriss_like",
        extents=EXTENTS,
        method="bayesian",
        evaluations=30,
        settings=settings,
        tiles="divisors",
    )
    found = indices(machine="eyeriss_like", observations=file, samples=16)
    assert found.evaluations >= 20
    assert any(" tile " in each.axis for each in found.influences)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="power of two"):
        indices(samples=100)
    with pytest.raises(UnknownNameError, match="orders"):
        indices(orders="none")
    with pytest.raises(InputError, match="fanouts"):
        indices(machine="balanced")
    few = Observations(axes=("a",), points=np.zeros((1, 1)), values=np.ones(1))
    with pytest.raises(InputError, match="too few"):
        indices(observations=few)
