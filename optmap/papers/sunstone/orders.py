"""Sunstone, sections II-D and IV-A: the ordering principles, and the trie of loop orders."""

from __future__ import annotations

from collections.abc import Sequence

from optmap.machines.fabric import Fabric, fabric_of
from optmap.papers.buffers import all_orders, buffers, outer_words
from optmap.papers.counting import Sizes
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, held, refuted
from optmap.papers.sunstone.principles import CONV1D
from optmap.search.sunstone.inferred import left_orders
from optmap.search.sunstone.order_trie import InnerOrder, no_further_reuse, reuse_of
from optmap.workloads.parser import parse_workload

ORDERS = Collected()
PLAIN = "O[k,p] += I[p+r]*W[k,r]"
NAMES = {"O": "ofmap", "I": "ifmap", "W": "weight"}
EXTENTS = {"k": 4, "c": 6, "p": 8, "r": 3}
TILE = {"k": 2, "c": 2, "p": 2, "r": 3}
WINDOW = "O[p] += I[c,p+r]*W[c,r]"


def fabric(text: str, extents: Sizes) -> Fabric:
    """A workload on an L1 that holds all that is asked of it, below L2."""
    return fabric_of(parse_workload(text, extents), buffers((10**6,), (1, 200), 1))


def ones(extents: Sizes) -> Sizes:
    """No dim spread."""
    return dict.fromkeys(extents, 1)


@ORDERS.item("Algorithms 1 and 2", "A convolution, tiled, in two orders of its tiles", where="section II-C")
def tiles_in_order() -> Rows:
    """Words of L2 with tiles one after the other along p, as printed, and along k, lines 1 and 2 swapped."""
    extents, tile = {"k": 8, "p": 12, "r": 3}, {"k": 4, "p": 3, "r": 3}
    along_p, along_k = outer_words(fabric(PLAIN, extents), tile, ones(extents), ["rkp", "rpk"])
    passes = {dim: extents[dim] // tile[dim] for dim in extents}
    image = extents["p"] + extents["r"] - 1
    yield held("Algorithm 2: weight, W1 stays for tile 2", extents["k"] * extents["r"], along_p["W"])
    yield held("swapped: ifmap, I1 stays for tile 4, halos between tiles along p", image, along_k["I"])
    yield held("swapped: weight, loaded with every tile", passes["p"] * extents["k"] * extents["r"], along_k["W"])
    yield claimed(
        "Algorithm 2 over the order swapped: words of weight, of ifmap",
        "fewer, more",
        f"{along_p['W']} over {along_k['W']}, {along_p['I']} over {along_k['I']}",
        holds=along_p["W"] < along_k["W"] and along_p["I"] > along_k["I"],
    )


@ORDERS.item("Ordering principles", "Loops that reuse a tensor", where="section II-D")
def principles() -> Rows:
    """Algorithm 3 in all 24 orders, its L2 accesses counted on a machine of two memories."""
    whole = fabric(CONV1D, EXTENTS)
    orders = all_orders("kpcr")
    words = dict(zip(orders, outer_words(whole, TILE, ones(EXTENTS), orders), strict=True))
    yield held("1: ofmap with R and C innermost, L2 accesses", EXTENTS["p"] * EXTENTS["k"], words["kpcr"]["O"])
    absent = {"O": "cr", "I": "k", "W": "p"}
    depend = sum(_depends(tensor, dims, orders, words) for tensor, dims in absent.items())
    yield claimed(
        "1: orders, non-indexing dims of a tensor innermost, whose accesses to it depend on how often these run",
        0,
        depend,
        holds=not depend,
    )
    yield held(
        "2: ifmap, K outside the C loop, over K innermost: L2 accesses",
        EXTENTS["k"] // TILE["k"],
        words["kpcr"]["I"] / words["pcrk"]["I"],
    )
    changed = [name for tensor, name in NAMES.items() if words["kpcr"][tensor] != words["pkcr"][tensor]]
    yield claimed(
        "3: tensors whose accesses change if lines 1 and 2 of Algorithm 3 are swapped",
        "none",
        " ".join(changed) or "none",
        holds=not changed,
    )
    extents, tile = {"c": 8, "p": 16, "r": 3}, {"c": 4, "p": 2, "r": 1}
    small = fabric(WINDOW, extents)
    every = all_orders("cpr")
    moved = dict(zip(every, outer_words(small, tile, ones(extents), every), strict=True))
    totals = {order: sum(own.values()) for order, own in moved.items()}
    left = [_whole(one.inner, "cpr") for one in left_orders(parse_workload(WINDOW, extents)).left]
    best, kept = min(totals.values()), min(totals[order] for order in left)
    yield refuted(
        "L2 accesses of the orders that the principles leave over the least of all orders",
        1,
        round(kept / best, 4),
        counterexample=f"{WINDOW}, c=8 p=16 r=3, tile c=4 p=2 r=1: with windows a step of p after a sweep of r finds "
        f"elements of the sweep; {min(totals, key=lambda order: totals[order])} is not left",
        false=kept > best,
    )


def _depends(tensor: str, dims: str, orders: Sequence[str], words: dict[str, Sizes]) -> int:
    """Orders with some dims innermost that access a tensor more or less often than one pass of these loops does."""
    inside = [order for order in orders if set(order[-len(dims) :]) == set(dims)]
    once = fabric(CONV1D, {**EXTENTS, **{dim: TILE[dim] for dim in dims}})
    return sum(
        words[order][tensor] != own[tensor]
        for order, own in zip(inside, outer_words(once, TILE, ones(EXTENTS), inside), strict=True)
    )


def _whole(inner: tuple[str, ...], dims: str) -> str:
    """An order with what an inner part leaves open outside it."""
    return "".join([dim for dim in dims if dim not in inner] + list(inner))


@ORDERS.item("Figure 4", "The trie of loop orders of a 1D convolution", where="section IV-A")
def figure_4() -> Rows:
    """Nodes are written from the outermost loop, as printed; K = C = 4, P = 7, R = 3."""
    for node, printed in (
        ("C", "ofmap by C"),
        ("R", "ifmap partly by R, ofmap by R"),
        ("CR", "ifmap partly by R, ofmap by CR"),
        ("PR", "ifmap partly by R, ofmap by R"),
    ):
        found = _reuses(node)
        yield claimed(f"node {node.rjust(4, 'x')}: reuse", printed, found, holds=found == printed)
    for node, parent in (("CK", "K"), ("PR", "R")):
        cut = no_further_reuse(_node(node), _node(parent))
        yield claimed(
            f"node {node.rjust(4, 'x')}: further reuse", "none, pruned", "none" if cut else _reuses(node), holds=cut
        )
    left = left_orders(parse_workload(CONV1D, {"k": 4, "c": 4, "p": 7, "r": 3}))
    kept = {"".join(one.inner).upper() for one in left.left}
    yield claimed(
        "xxxC is pruned: xxCR reuses the same, and a part of ifmap",
        "xxCR stays",
        ", ".join(sorted(each.rjust(4, "x") for each in kept)),
        holds="C" not in kept and "CR" in kept,
    )
    yield claimed(
        "orders that stay",
        "a small set",
        f"{len(kept)} of {left.permutations}",
        holds=len(kept) < left.permutations,
    )


def _node(text: str) -> InnerOrder:
    """A node by its loops, outermost first."""
    whole = fabric(CONV1D, {"k": 4, "c": 4, "p": 7, "r": 3})
    order = tuple(whole.dims.index(dim) for dim in reversed(text.lower()))
    return InnerOrder(order, reuse_of(order, list(enumerate(whole.operands)), frozenset(range(len(whole.dims)))))


def _reuses(text: str) -> str:
    """What a node reuses, in words."""
    whole = fabric(CONV1D, {"k": 4, "c": 4, "p": 7, "r": 3})
    found: dict[tuple[str, bool], str] = {}
    for use in sorted(_node(text).reuse, key=lambda use: whole.dims[use.dim]):
        key = NAMES[whole.operands[use.operand].name], use.partly
        found[key] = found.get(key, "") + whole.dims[use.dim].upper()
    return ", ".join(f"{name} {'partly ' * partly}by {dims}" for (name, partly), dims in sorted(found.items()))
