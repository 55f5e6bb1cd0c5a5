"""Inferred reuse, order trie and size of the space: Tables I and III and Figure 4 of Sunstone."""

from __future__ import annotations

import json

import pytest

import optmap
from optmap.cli import main
from optmap.machines.operands import operands_of
from optmap.search import Inferred, inferred_reuse, left_orders, trie_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

CONVOLUTION = "ofmap[k,p] += ifmap[c,p+r] * weight[k,c,r]"
EXTENTS = {"k": 4, "c": 4, "p": 7, "r": 3}


def convolution(**extents: int) -> Workload:
    return parse_workload(CONVOLUTION, {**EXTENTS, **extents})


def test_table_3() -> None:
    ofmap, ifmap, weight = inferred_reuse(convolution())
    assert ofmap == Inferred(tensor="ofmap", indexed_by=("k", "p"), reused_by=("c", "r"), partly_reused_by=())
    assert (set(ifmap.indexed_by), ifmap.reused_by) == ({"c", "p", "r"}, ("k",))
    assert set(ifmap.partly_reused_by) == {"p", "r"}
    assert (set(weight.indexed_by), weight.reused_by, weight.partly_reused_by) == ({"c", "k", "r"}, ("p",), ())


def test_a_window_of_one_reuses_nothing_in_part() -> None:
    assert inferred_reuse(convolution(r=1))[1].partly_reused_by == ()


def test_figure_4_cuts_what_the_text_says() -> None:
    """xxxC goes for xxCR, which also slides; xxCK goes as K broke the reuse of C."""
    workload = convolution()
    left = {own.inner for own in left_orders(workload).left}
    assert ("c", "r") in left
    assert ("c",) not in left
    assert not any(order[-2:] == ("c", "k") for order in left)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("C[i,j] += A[i,k]*B[k,j]", {("i",), ("j",), ("k",)}),
        (
            "M[i,j] += A[i,k,l]*B[k,j]*C[l,j]",
            {("j",), ("i", "l"), ("k", "l"), ("i", "k"), ("l", "k"), ("k", "i"), ("l", "i")},
        ),
        ("C[i] += A[i]*B[i]", {()}),
    ],
)
def test_the_orders_that_are_left(text: str, inner: set[tuple[str, ...]]) -> None:
    dims = sorted({letter for letter in text if letter.islower()})
    orders = left_orders(parse_workload(text, dict.fromkeys(dims, 4)))
    assert {own.inner for own in orders.left} == inner
    assert len(orders.left) == orders.grown + 1 - orders.no_further - orders.dominated


def test_without_rules_the_trie_has_every_order() -> None:
    operands = list(enumerate(operands_of(convolution())))
    trie = trie_of(range(4), operands, frozenset(range(4)), further_reuse=False, dominated_orders=False)
    assert len({node.order for node in trie.nodes if len(node.order) == 4}) == 24
    assert (trie.grown, trie.no_further, trie.dominated) == (4 + 12 + 24 + 24, 0, 0)


def test_the_space_of_reuse_dims_is_smaller(capsys: pytest.CaptureFixture[str]) -> None:
    """ResNet-18 on one array: every dim against those that index an operand that stays."""
    found = optmap.inferred_reuse("resnet18/R9", machine="eyeriss_like")
    assert found.sizes is not None
    every, reuse = found.sizes
    assert (every.tile_dims, every.unrolled_dims) == (6, 6)
    assert reuse.tile_dims < every.tile_dims
    assert reuse.size < every.size / 10
    assert main(["derive", "resnet18/R9", "--reuse", "--machine", "eyeriss_like", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps(found.to_dict()))
    assert main(["derive", "resnet18/R9", "--machine", "eyeriss_like"]) == 2
    assert main(["derive", "resnet18/R9", "--reuse", "--classes"]) == 2
