"""`network --fuse`: sums against chains and layers solved one by one, the choice of chains, and what is refused."""

from __future__ import annotations

import json
from itertools import chain, combinations
from math import prod
from pathlib import Path

import onnx
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_blocks import Graph, bert, mobilenet
from onnx_models import tensor
from typer.testing import CliRunner

import optmap
from optmap.answers.over_capacity.fused import FusedNetwork
from optmap.base.errors import InputError
from optmap.cli.app import app
from optmap.sweeps.networks.fusing import heaviest_matching

MEMORY = "100w"


def run(*args: str | Path) -> Result:
    """`optmap ARGS…`, in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def fused(path: Path, memory: str = MEMORY) -> FusedNetwork:
    found = optmap.network(path, fuse=True, memory=memory, jobs=1)
    assert isinstance(found, FusedNetwork)
    return found


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fused") / "encoder.onnx"
    onnx.save(bert(2, 16, 2, 4), str(path))
    return path


@pytest.fixture(scope="module")
def found(encoder: Path) -> FusedNetwork:
    return fused(encoder)


def test_words_are_those_of_chains_and_layers_solved_alone(found: FusedNetwork) -> None:
    layers = {each.title: each for each in found.linked.model.workloads}
    assert {each.chain.layers for each in found.chains} == {
        ("layer.0.q", "layer.0.scores"),
        ("layer.0.q", "layer.0.values"),
        ("layer.0.scores", "layer.0.values"),
        ("layer.0.up", "layer.0.down"),
    }
    for each in found.chains:
        answer = optmap.solve(each.chain.workload, memory=MEMORY)
        assert each.fused_words == answer.exact
        elements = prod(each.chain.workload.extents[d] for d in each.chain.workload.statements[0].output.dims)
        moved = sum(one.words for one in answer.boundaries if one.tensor == "S")
        assert each.stays is (moved < 2 * elements), "all of the intermediate is stored once and loaded once"
        assert each.floor_words == optmap.bound(each.chain.workload, memory=MEMORY).outermost.best.total_words
        alone = [optmap.solve(layers[name], memory=MEMORY, objective="traffic") for name in each.chain.layers]
        assert each.apart_words == sum(one.exact for one in alone)


def test_sums_are_those_of_fused_chains_and_remaining_layers(found: FusedNetwork) -> None:
    assert found.apart_words == sum(
        optmap.solve(layer, memory=MEMORY, objective="traffic").exact * layer.count
        for layer in found.linked.model.workloads
    )
    words = {share.workload: share.traffic_words // share.count for share in found.shares}
    together = sum(len(each.fused) * each.fused_words for each in found.chains)
    assert found.fused_words == together + sum(words[name] * count for name, count in found.remaining.items())
    bounds = {
        layer.title: optmap.bound(layer, memory=MEMORY).outermost.best.total_words
        for layer in found.linked.model.workloads
    }
    together = sum(len(each.fused) * each.floor_words for each in found.chains)
    assert found.floor_words == together + sum(bounds[name] * count for name, count in found.remaining.items())
    assert found.floor_words <= found.fused_words < found.apart_words
    attention = next(each for each in found.chains if each.chain.layers[0] == "layer.0.scores")
    assert attention.fused == attention.chain.pairs
    assert found.remaining["layer.0.scores"] == found.remaining["layer.0.values"] == 0


def test_every_product_is_in_a_chain_or_named_with_its_reason(found: FusedNetwork) -> None:
    firsts = [first for each in found.chains for first, _ in each.chain.pairs]
    left = [number for each in found.left for number in each.products]
    assert sorted((*firsts, *left)) == list(range(16))


def test_three_products_in_a_row_are_two_at_most(tmp_path: Path) -> None:
    """Of 1-2 and 2-3 the one that saves more: here the second one has the larger intermediate."""
    graph, x = Graph(), "x"
    for name, inner, outer in (("one", 4, 8), ("two", 8, 48), ("three", 48, 4)):
        x = graph.add("Relu", graph.linear(x, name, inner, outer))
    onnx.save(graph.finished(tensor("x", (32, 4))), str(tmp_path / "row.onnx"))
    found = fused(tmp_path / "row.onnx", "600w")
    saved = {each.chain.layers: each.saved_words for each in found.chains}
    assert 0 < saved["one", "two"] < saved["two", "three"]
    assert {each.chain.layers: len(each.fused) for each in found.chains} == {("one", "two"): 0, ("two", "three"): 1}
    assert "pays, 0 of them fused: others that share a product save more" in str(found)


@given(
    given=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 9)), min_size=1, max_size=8),
)
def test_the_choice_saves_most(given: list[tuple[int, int]]) -> None:
    """Against all choices: product n is read by a later one."""
    links = [(number, number + step, saved) for number, (step, saved) in enumerate(given)]
    every = chain.from_iterable(combinations(links, count) for count in range(len(links) + 1))
    apart = [own for own in every if len({end for link in own for end in link[:2]}) == 2 * len(own)]
    taken = heaviest_matching(links)
    chosen = [link for link in links if link[0] in taken]
    assert chosen in [list(own) for own in apart]
    assert sum(saved for *_, saved in chosen) == max(sum(saved for *_, saved in own) for own in apart)


def test_the_text_says_what_pays_and_what_the_floor_is_of(found: FusedNetwork) -> None:
    text = str(found)
    row = next(line for line in text.splitlines() if line.startswith("layer.0.scores > layer.0.values"))
    attention = next(each for each in found.chains if each.chain.layers[0] == "layer.0.scores")
    words = attention.apart_words, attention.fused_words, attention.floor_words
    assert row.split()[3:7] == ["2", *(f"{number:,}" for number in words)]
    assert row.endswith("%  pays")
    assert "S[b,m,l] = A[b,m,k] * B[b,l,k]; C[b,m,n] = S[b,m,l] * D[b,l,n]" in text
    assert "in place: Div, Add, Softmax" in text
    assert "layer.{0,1}.out, layer.{0,1}.down" in text
    assert "note: floor of each chain by itself: " in text
    assert "note: a softmax in place is an online one" in text
    assert "note: functions in place cost no words" in text


def test_the_document_adds_one_key(encoder: Path) -> None:
    """What `network` says of the same layers without the graph, asked for the same words, stays as it is."""
    layers = encoder.with_suffix(".yaml")
    assert run("import", encoder, "-o", layers).exit_code == 0
    ran = run("network", layers, "--memory", MEMORY, "--objective", "traffic", "--jobs", "1", "--json")
    plain = json.loads(ran.stdout.replace("encoder/", ""))
    ran = run("network", encoder, "--fuse", "--memory", MEMORY, "--jobs", "1", "--json")
    assert ran.exit_code == 0
    document = json.loads(ran.stdout)
    fusion = document.pop("fusion")
    assert document == plain
    assert fusion["apart_words"] == plain["traffic_words"]
    assert fusion["saved_words"] == fusion["apart_words"] - fusion["fused_words"]
    chains = {each["chain"]: each for each in fusion["chains"]}
    attention = chains["layer.0.scores > layer.0.values"]
    assert attention["names"] == [[f"layer.{n}.scores", f"layer.{n}.values"] for n in (0, 1)]
    assert attention["fused"] == attention["names"]
    assert (attention["pays"], attention["intermediate_stays"]) == (True, True)
    again = optmap.solve("; ".join(attention["statements"]), extents=attention["extents"], memory=MEMORY)
    assert again.exact == attention["fused_words"]


def test_words_are_as_large_as_those_of_the_network(tmp_path: Path) -> None:
    """A chain of 4-byte elements beside a layer of 2-byte ones, whose words the sums have."""
    graph = Graph()
    graph.linear(graph.linear("x", "one", 4, 32, bias=False), "two", 32, 4, bias=False)
    graph.add("MatMul", "half", "half_weights", name="halves")
    half = tensor("half_weights", (8, 8), TensorProto.FLOAT16), tensor("half", (8, 8), TensorProto.FLOAT16)
    made = graph.finished(tensor("x", (32, 4)), *half, outputs=[node.output[0] for node in graph.nodes[1:]])
    onnx.save(made, str(tmp_path / "net.onnx"))
    found = fused(tmp_path / "net.onnx", "1KiB")
    (one,) = found.chains
    answer = optmap.solve(one.chain.workload, memory="1KiB")
    assert found.sums.view.total.word_bits == 16
    assert answer.workload.word_bits == 32
    assert one.fused_words == 2 * answer.exact
    layers = {each.title: each for each in found.linked.model.workloads}
    assert one.apart_words == 2 * sum(optmap.solve(layers[name], memory="1KiB").exact for name in ("one", "two"))


@pytest.mark.longer
def test_a_curve_is_one_network_after_another(encoder: Path, found: FusedNetwork, tmp_path: Path) -> None:
    command = ("network", encoder, "--fuse", "--curve", "--memory", "400B:4KiB", "--points", "2", "--jobs", "1")
    ran = run(*command, "--json", "--plot", tmp_path)
    assert ran.exit_code == 0
    document = json.loads(ran.stdout)
    few, many = document["curve"]
    assert (few["capacity_bytes"], many["capacity_bytes"]) == (400, 4096)
    assert (few["apart_words"], few["fused_words"]) == (found.apart_words, found.fused_words)
    assert many["floor_words"] <= many["fused_words"] <= few["fused_words"]
    assert list(tmp_path.glob("*.png"))
    curve = optmap.network(encoder, fuse=True, curve=True, memory="400B:4KiB", points=2, jobs=1)
    assert f"{found.fused_words:,}" in str(curve)
    assert "layer.0.scores > layer.0.values  400 B: " in str(curve)


def test_a_network_without_chains_says_so(tmp_path: Path) -> None:
    onnx.save(mobilenet(8, 4), str(tmp_path / "m.onnx"))
    found = fused(tmp_path / "m.onnx")
    assert found.fused_words == found.apart_words
    assert "no chain of two products was solved" in str(found)
    roomy = fused(tmp_path / "m.onnx", "1MiB")
    assert roomy.apart_words == roomy.floor_words, "padding that is not there is moved"
    assert "windows, strides or groups" in str(found)


def test_dynamic_dims_are_given(tmp_path: Path) -> None:
    graph = Graph()
    graph.linear(graph.linear("x", "one", 4, 8), "two", 8, 4)
    onnx.save(graph.finished(tensor("x", ("tokens", 4))), str(tmp_path / "net.onnx"))
    ran = run("network", tmp_path / "net.onnx", "--fuse", "--memory", MEMORY, "--dim", "tokens=16", "--json")
    assert json.loads(ran.stdout)["fusion"]["chains"][0]["extents"]["m"] == 16
    assert run("network", tmp_path / "net.onnx", "--fuse", "--memory", MEMORY).exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fuse": True, "memory": MEMORY}, "resnet18 is a list of layers, without the graph"),
        ({"fuse": True}, "add --memory, such as --memory 1MiB"),
        (
            {"fuse": True, "memory": MEMORY, "machine": "simba"},
            "one memory, with any tiles: leave out --machine",
        ),
        ({"fuse": True, "memory": MEMORY, "objective": "loads"}, "leave out --objective"),
        ({"fuse": True, "memory": MEMORY, "tiles": "divisors"}, "leave out --tiles"),
        ({"fuse": True, "memory": MEMORY, "semantics": "accumulate"}, "use --semantics assign"),
        ({"dims": {"batch": 1}}, "--dim is for the ONNX file of --fuse"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        optmap.network("resnet18", **options)  # type: ignore[arg-type]
