"""Networks of the library against published totals, and their sums over the rows of a sweep."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_frames import frame_of, rows_of

import optmap
from optmap.answers.over_capacity.curves import panels
from optmap.answers.over_capacity.network_sums import MappedLayer, MappedNetwork, Spent
from optmap.answers.over_capacity.networks import dominant, layer_shares, network_views
from optmap.base.errors import InputError, UnknownNameError
from optmap.files import library
from optmap.files.library import list_networks, list_workloads
from optmap.files.network import Network, network
from optmap.questions.options import Merit
from optmap.report import network_document, network_table
from optmap.workloads.builders import matmul

POINTS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=4)
"""Energy and cycles of the mappings of one layer."""


def weights(found: Network) -> int:
    return sum(layer.inputs[1].footprint(layer.extents) * layer.count for layer in found.layers)


def test_the_library_lists_its_networks() -> None:
    assert list_networks() == ("mobilenet", "resnet18", "resnet50", "yolo9000")


@pytest.mark.parametrize(
    ("name", "layers", "operations", "parameters"),
    [
        # Parameters of the published models without biases and normalisation: 11,689,512 - 1,000 - 9,600,
        # 25,557,032 - 1,000 - 53,120 and 4,231,976 - 1,000 - 21,888.
        ("resnet18", 21, 1_814_073_344, 11_678_912),
        ("resnet50", 54, 4_089_184_256, 25_502_912),
        ("mobilenet", 28, 568_740_352, 4_209_088),
        ("yolo9000", 19, 24_531_022_848, 48_750_432),
    ],
)
def test_totals_are_the_published_ones(name: str, layers: int, operations: int, parameters: int) -> None:
    found = network(name)
    assert (found.occurrences, found.operations, weights(found)) == (layers, operations, parameters)
    assert "Left out are" in found.note


@pytest.mark.parametrize("name", list_networks())
def test_layers_are_those_of_the_library(name: str) -> None:
    shared = [layer for layer in network(name).layers if layer.title in list_workloads()]
    assert len(shared) >= 5
    for layer in shared:
        known = library.workload(layer.title)
        assert (layer.expression, layer.sizes) == (known.expression, known.sizes)


def test_unknown_network() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown network 'resnet'; did you mean resnet(18|50)"):
        network("resnet")
    assert network("ResNet18").name == "resnet18"


def test_a_network_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("workloads:\n  a: {matmul: {i: 2, j: 3, k: 4}, count: 5}\n", encoding="utf-8")
    found = network(path)
    assert (found.name, found.occurrences, found.operations) == ("mine", 5, 120)
    path.write_text("workloads: {}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml: network mine: at least one layer"):
        network(path)


@pytest.fixture(name="small")
def small_network(tmp_path: Path) -> Network:
    path = tmp_path / "net.yaml"
    text = "\n".join(f"  {key}: {{matmul: {{i: 10, j: 10, k: 10}}, count: {n}}}" for key, n in [("a", 1), ("b", 3)])
    path.write_text(f"workloads:\n{text}\n  c: {{matmul: {{i: 10, j: 10, k: 20}}, count: 2}}\n", encoding="utf-8")
    return network(path)


def test_sums_count_every_occurrence(small: Network) -> None:
    frame = frame_of(
        rows_of("net/a", [(64, 500, 400), (128, 300, 300)], compulsory=300),
        rows_of("net/b", [(64, 600, 500), (128, 310, 305)], compulsory=300),
        rows_of("net/c", [(64, 900, 800), (128, 700, 600)], compulsory=500, operations=2000.0),
        rows_of("else", [(64, 1, 1)], compulsory=1),
    )
    (view,) = network_views(panels(frame), small)
    assert not view.missing
    assert view.coverage == "all 6 layers of net"
    series = view.total.series[0]
    assert [s.traffic_words for s in series.samples] == [500 + 1800 + 1800, 300 + 930 + 1400]
    assert view.total.compulsory_words == 300 + 900 + 1000
    shares = layer_shares(view, "mopt", 512)
    assert [share.workload for share in shares] == ["net/c", "net/b", "net/a"]
    assert sum(share.share for share in shares) == pytest.approx(1)
    assert dominant(shares, 0.6) == ("net/c", "net/b")
    document = network_document(view, series, 256)
    assert (document["traffic_words"], document["bound_words"]) == (4100, 400 + 1500 + 1600)
    assert repr(document["operations"]) == "8000"  # whole, as of one layer
    text = network_table(view, series, 512)
    assert "no larger cache can save more than 16.3 %" in text
    assert "2,630" in text


def test_missing_layers_are_named_never_free(small: Network) -> None:
    frame = frame_of(rows_of("net/a", [(64, 500, 400)], compulsory=300), rows_of("net/b", [(64, 1, 1)], compulsory=1))
    (view,) = network_views(panels(frame), small)
    assert view.missing == ("net/c",)
    assert view.coverage == "4 of 6 layers of net (50.00 % of its operations); the sweep has no rows of net/c"
    with pytest.raises(InputError, match=r"net/a has no mapping by mopt for 128 B"):
        layer_shares(view, "mopt", 128)


def test_other_layers_of_the_same_name_are_refused(small: Network) -> None:
    frame = frame_of(rows_of("net/c", [(64, 500, 400)], compulsory=300))
    with pytest.raises(InputError, match="these are different layers"):
        network_views(panels(frame), small)
    with pytest.raises(InputError, match="no rows of net: its layers are net/a, net/b, net/c"):
        network_views(panels(frame_of(rows_of("x", [(64, 5, 4)], compulsory=3))), small)


@given(st.lists(st.tuples(st.integers(1, 2), POINTS), min_size=1, max_size=3), st.sampled_from(list(Merit)))
def test_no_choice_of_mappings_is_below_the_bound_of_a_network(
    drawn: list[tuple[int, list[tuple[int, int]]]], merit: Merit
) -> None:
    """Every occurrence of every layer chooses among all its mappings; a layer's bound is its own least objective."""

    def objective(energy: int, cycles: int) -> int:
        return {Merit.ENERGY: energy, Merit.EDP: energy * cycles}.get(merit, cycles)

    layers = tuple(
        MappedLayer(
            workload=replace(matmul(i=2, j=2, k=2), name=f"layer{number}", count=count),
            spent=Spent(energy_pj=Fraction(points[0][0]), cycles=points[0][1], port_cycles=points[0][1]),
            bound=Fraction(min(objective(*point) for point in points)),
            proved=True,
            floor=Spent(),
            seconds=0.0,
        )
        for number, (count, points) in enumerate(drawn)
    )
    sums = MappedNetwork(
        network=Network(name="drawn", layers=tuple(layer.workload for layer in layers)),
        machine=library.machine("gemmini"),
        method="exact",
        objective=merit.value,
        counting="exact",
        layers=layers,
    )
    occurrences = [points for count, points in drawn for _ in range(count)]
    chosen = ([sum(each) for each in zip(*choice, strict=True)] for choice in product(*occurrences))
    assert 0 < sums.bound <= min(objective(energy, cycles) for energy, cycles in chosen) <= sums.cost


@pytest.mark.longer
def test_semantics_of_a_network_are_those_of_all_its_layers(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text("workloads:\n  a: {matmul: {i: 6, j: 5, k: 4}, count: 2}\n", encoding="utf-8")
    kept, made = (optmap.network(path, memory="1000w", jobs=1, semantics=kind).to_dict() for kind in (None, "assign"))
    assert kept == optmap.network(path, memory="1000w", jobs=1, semantics="accumulate").to_dict()
    assert kept["traffic_words"] - made["traffic_words"] == kept["bound_words"] - made["bound_words"] == 2 * 30
    assert " = A" in str(optmap.network(path, semantics="assign"))
    curve = optmap.network(path, memory="1KiB:4KiB", curve=True, points=2, jobs=1, semantics="assign")
    assert curve.to_dict()["floor_words"] == made["compulsory_words"]
    with pytest.raises(InputError, match="on an accelerator outputs start empty"):
        optmap.network(path, machine="gemmini", semantics="accumulate")
    with pytest.raises(InputError, match="unknown semantics 'either'"):
        optmap.network(path, semantics="either")


def test_loads_of_both_kinds_are_not_added(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    text = "workloads:\n  a: {matmul: {i: 6, j: 5, k: 4}}\n  b: {matmul: {i: 6, j: 5, k: 4}, semantics: assign}\n"
    path.write_text(text, encoding="utf-8")
    for options in ({"memory": "1000w"}, {"memory": "1KiB:4KiB", "curve": True}):
        with pytest.raises(InputError, match=r"net/a has accumulate \(`\+=`\).*net/b has assign.*--semantics assign"):
            optmap.network(path, jobs=1, **options)
    assert optmap.network(path, memory="1000w", jobs=1, semantics="assign").to_dict()["missing"] == []
