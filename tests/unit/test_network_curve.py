"""A network over capacity: the sums against layers solved one by one, the knee against its definition."""

from __future__ import annotations

from math import log
from pathlib import Path

import matplotlib as mpl
import pytest

import optmap
from optmap.base.errors import InputError
from optmap.report.closed_forms.regime_texts import regime_name
from optmap.sweeps.networks.network_curves import CLOSE, NARROW, NetworkCurve

LAYERS = """workloads:
  one: {matmul: {i: 48, j: 40, k: 32}, count: 2}
  two: {conv2d: {k: 8, c: 8, h: 12, w: 12, r: 3, s: 3}, count: 1}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("curve")
    (place / "small.yaml").write_text(LAYERS)
    return place


@pytest.fixture(scope="module")
def curve(folder: Path) -> NetworkCurve:
    found = optmap.network(
        folder / "small.yaml", memory="1KiB:64KiB", curve=True, points=4, jobs=1, directory=folder / "kept"
    )
    assert isinstance(found, NetworkCurve)
    return found


def test_the_sums_are_those_of_layers_solved_alone(curve: NetworkCurve) -> None:
    for sample in curve.series.samples[:2]:
        memory = f"{sample.capacity_bytes}B"
        words = bound = 0
        for layer in curve.view.network.layers:
            alone = optmap.solve(layer, memory=memory)
            words += layer.count * sum(row.words for row in alone.boundaries)
            bound += layer.count * optmap.bound(layer, memory=memory).outermost.best.total_words
        assert sample.traffic_words <= words
        assert bound <= curve.view.total.bound_at(sample.capacity_bytes) <= sample.traffic_words
        if sample is curve.series.samples[0]:
            assert sample.traffic_words == words


def test_the_floor_of_an_unbounded_memory_is_every_word_once(curve: NetworkCurve) -> None:
    once = [
        sum(t.footprint(w.extents) for t in w.tensors) + w.output.footprint(w.extents)
        for w in curve.view.network.layers
    ]
    assert curve.floor_words == sum(words * w.count for words, w in zip(once, curve.view.network.layers, strict=True))
    assert curve.series.samples[-1].traffic_words == curve.floor_words


def test_the_knee_is_between_a_proof_and_a_mapping(curve: NetworkCurve) -> None:
    knee, total = curve.knee, curve.view.total
    assert knee.reached_bytes is not None
    assert knee.refuted_bytes is not None
    assert knee.refuted_bytes < knee.reached_bytes
    assert total.bound_at(knee.refuted_bytes) > CLOSE * curve.floor_words
    reached = curve.series.best_below(knee.reached_bytes)
    missed = curve.series.best_below(knee.missed_bytes or 0)
    assert reached is not None
    assert missed is not None
    assert reached.traffic_words <= CLOSE * curve.floor_words < missed.traffic_words
    assert knee.reached_bytes <= NARROW * (knee.missed_bytes or 0)  # looked for between the capacities of the range
    above = min(held for held, _ in total.bounds if held > knee.refuted_bytes)
    assert above <= NARROW * knee.refuted_bytes
    solved = [(w.count, optmap.solve(w, memory=f"{knee.refuted_bytes}B")) for w in curve.view.network.layers]
    assert sum(n * sum(row.words for row in found.boundaries) for n, found in solved) > CLOSE * curve.floor_words


def test_a_layer_is_in_the_regime_whose_conditions_hold(curve: NetworkCurve) -> None:
    sizes = [sample.capacity_bytes for sample in curve.series.samples]
    for layer, mine in zip(curve.view.network.layers, curve.regimes, strict=True):
        found = optmap.regimes(layer)
        for size, name in zip(sizes, mine.names, strict=True):
            values = [p.value(size // 4, layer.extents) for p in found.tiling.parameters]
            held = [
                regime_name(found, regime)
                for regime in found.regimes
                if all(
                    sum(float(x) * log(v) for x, v in zip(row, values, strict=True)) > -1e-9
                    for row in regime.cone.facets
                )
            ]
            assert name in held
    assert [mine.names[-1] for mine in curve.regimes] == ["each tensor fits"] * 2


def test_what_was_proved_is_kept_and_can_be_checked(curve: NetworkCurve, folder: Path) -> None:
    assert curve.directory == folder / "kept"
    certificates = sorted((folder / "kept" / "certificates").rglob("*.json"))
    assert len(certificates) >= len(curve.view.network.layers)
    assert optmap.check(certificates[0]).verified


def test_table_document_and_picture_say_the_same(curve: NetworkCurve, tmp_path: Path) -> None:
    document, text = curve.to_dict(), str(curve)
    assert document["schema"] == "optmap.network-curve/1"
    assert [row["capacity_bytes"] for row in document["curve"]] == [s.capacity_bytes for s in curve.series.samples]
    assert f"{document['knee']['reached_words']:,}" in text
    assert f"{document['knee']['refuted_words']:,}" in text
    assert "proved out of reach up to" in text
    mpl.use("Agg")
    assert curve.plot(tmp_path / "curve.png") == tmp_path / "curve.png"


@pytest.mark.longer
def test_a_level_of_a_machine_is_varied(folder: Path) -> None:
    found = optmap.network(
        folder / "small.yaml", machine="balanced", level="L1", memory="4KiB:16KiB", curve=True, points=2, jobs=1
    )
    assert isinstance(found, NetworkCurve)
    assert found.view.total.level == "L1"
    assert "-o DIR keeps the proofs" in str(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"memory": "64KiB"}, "two capacities"),
        ({"memory": "100w:200w"}, "in bytes"),
        ({}, "--memory"),
        ({"memory": "1KiB:4KiB", "machine": "eyeriss"}, "accelerator"),
        ({"memory": "1KiB:4KiB", "machine": "balanced", "level": "L9"}, "L9"),
        ({"memory": "1KiB:4KiB", "objective": "sum"}, "--objective"),
        ({"memory": "1KiB:4KiB", "method": "moptt"}, "mopt"),
    ],
)
def test_what_makes_no_curve_is_refused(folder: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        optmap.network(folder / "small.yaml", curve=True, **options)  # type: ignore[arg-type]


def test_a_level_without_a_curve_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="--curve"):
        optmap.network(folder / "small.yaml", memory="4KiB", level="L1")
