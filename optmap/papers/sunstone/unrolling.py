"""Sunstone, section III-B and the appendix: accesses with loops spread over units, and which dims are not unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from optmap.files import library
from optmap.machines.fabric import fabric_of
from optmap.papers.buffers import buffers, outer_words
from optmap.papers.counting import Sizes, entering
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, refuted
from optmap.papers.sunstone.evaluation import LAYERS
from optmap.papers.sunstone.principles import CONV1D
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.parser import parse_workload

UNROLLING = Collected()
UNITS = (14, 12)
"""Of the array in section III-B."""
WHOLE = {"k": 12, "p": 20, "c": 6, "r": 3}
INNER = {"k": 2, "p": 5, "c": 1, "r": 3}
"""An L1 tile of Algorithm 5."""
ONCE = {"k": 1, "p": 1, "c": 1, "r": 1}
SPREAD = {"k": 3, "p": 2, "c": 2, "r": 1}
"""Ways over the units."""


def l2_words(ways: Sizes) -> Sizes:
    """Words that L2 hands to all units and takes from them, per tensor, counted on a mesh; loops p, k, c outside."""
    fabric = fabric_of(parse_workload(CONV1D, WHOLE), buffers((1000,), (1, 1), 16))
    return outer_words(fabric, INNER, ways, ["rpkc"])[0]


@UNROLLING.item("Formulas (5) to (7)", "Accesses with loops spread over units", where="section III-B")
def spread_accesses() -> Rows:
    """Weights and outputs are counted on a mesh; of the inputs, whose halos units share, the union of their tiles."""
    outer = {dim: WHOLE[dim] // (INNER[dim] * SPREAD[dim]) for dim in WHOLE}
    together = {dim: INNER[dim] * SPREAD[dim] for dim in WHOLE}
    union = entering(parse_workload(CONV1D, WHOLE), together, ("r", "p", "k", "c"), {"O": 1, "I": 1, "W": 1})
    counted = l2_words(SPREAD)
    steps = outer["k"] * outer["p"] * outer["c"]
    passes = steps * (together["p"] + WHOLE["r"] - 1) * together["c"]
    printed = outer["k"] * WHOLE["c"] * outer["p"] * (INNER["p"] + WHOLE["r"] - 1)
    yield held("(5) ifmap, passes x tiles of all units: L2 accesses", passes, union["I"])
    yield refuted(
        "(5) ifmap, after the second equals sign",
        printed,
        union["I"],
        counterexample="P_spatial is lost from P_spatial P_L1 + R - 1; counted with P_spatial = 2, P_L1 = 5, R = 3",
        false=printed < union["I"],
    )
    yield held("(6) weight: L2 accesses", WHOLE["c"] * WHOLE["k"] * WHOLE["r"] * outer["p"], counted["W"])
    yield held("(7) ofmap: L2 accesses", WHOLE["p"] * WHOLE["k"], counted["O"])
    alone = l2_words(ONCE)
    indexed = {"O": "kp", "I": "cpr", "W": "ckr"}
    names = {"I": "ifmap", "W": "weight", "O": "ofmap"}
    for tensor, dims in indexed.items():
        fewer = "".join(dim for dim in "kp" if l2_words({**ONCE, dim: 2})[tensor] < alone[tensor])
        yield claimed(
            f"{names[tensor]}: of K and P, those that unrolled two ways lessen its L2 accesses",
            "those that do not index it",
            fewer or "none",
            holds=set(fewer) == ({"k", "p"} - set(dims)),
        )
    unrolled = l2_words({**ONCE, "c": 3})
    yield held("C unrolled three ways, ofmap reused across C: L2 accesses", sum(alone.values()), sum(unrolled.values()))


@UNROLLING.item("Unrolling principle", "Candidates that are not unrolled", where="section III-B")
def unrolling_principle() -> Rows:
    """All ways to unroll ResNet-18's layers on 14 x 12 units, outputs reused over time: those along c, r or s."""
    found = {name: _candidates(f"resnet18/{name}") for name in LAYERS}
    shares = {name: pruned / seen for name, (seen, pruned, _) in found.items()}
    seen, pruned, full = (sum(own[place] for own in found.values()) for place in range(3))
    low = [name for name, share in shares.items() if share <= 0.9]
    square = [name for name in LAYERS if library.workload(f"resnet18/{name}").extents["r"] == 3]
    yield claimed(
        "share that is pruned over all twelve layers",
        "more than 90 %",
        round(pruned / seen, 4),
        holds=pruned > 0.9 * seen,
        because=Reason(
            text=f"{', '.join(low)} are at 90 % or below, among them all without 3 x 3 taps; where only unrollings "
            f"that use the most units stay, too, the high throughput of Table I, {full / seen:.4f} of all go",
            tested=set(LAYERS) - set(square) <= set(low) and full > 0.9 * seen,
        ),
    )
    best = max(shares, key=lambda name: shares[name])
    yield claimed(
        f"share that is pruned, at most ({best})",
        "more than 90 %",
        round(shares[best], 4),
        holds=shares[best] > 0.9,
    )
    for name, share in shares.items():
        yield claimed(
            f"{name}: share that is pruned, by the principle; with high throughput",
            "more than 90 %",
            f"{share:.4f}; {found[name][2] / found[name][0]:.4f}",
            holds=share > 0.9,
            because=Reason(
                text="by the principle alone it is less; with high throughput more",
                tested=found[name][2] > 0.9 * found[name][0],
            ),
        )


def _candidates(name: str) -> tuple[int, int, int]:
    """Unrollings of a layer; those that unroll a dim which the output lacks; these and those that use fewer units."""
    workload = library.workload(name)
    dims = [dim for dim, size in workload.extents.items() if size > 1]
    sizes = [workload.extents[dim] for dim in dims]
    others = [place for place, dim in enumerate(dims) if dim not in workload.only.output.dims]
    kept, seen = list[int](), 0
    for x, y in product(_factors(sizes, UNITS[0]), _factors(sizes, UNITS[1])):
        ways = [a * b for a, b in zip(x, y, strict=True)]
        if all(size % n == 0 for size, n in zip(sizes, ways, strict=True)):
            seen += 1
            if all(ways[place] == 1 for place in others):
                kept.append(prod(ways))
    return seen, seen - len(kept), seen - kept.count(max(kept))


def _factors(sizes: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Divisors of sizes whose product is at most so much."""
    found: list[tuple[int, ...]] = [()]
    for size in sizes:
        found = [(*each, n) for each in found for n in divisors_of(size) if prod(each) * n <= most]
    return found


@UNROLLING.item("Formulas (8) and (9)", "Accesses of two operands without a common dim", where="appendix")
def appendix() -> Rows:
    """OP1 = Y[k,l] is reused by the loops i, j inside, OP2 = X[i,j] is not; every tile of a small product."""
    tiles = [dict(zip(PAIR, sizes, strict=True)) for sizes in product(*(divisors_of(n) for n in PAIR.values()))]
    first = sum(_pair(tile)[0] != PAIR["k"] * PAIR["l"] for tile in tiles)
    moving = [tile for tile in tiles if tile["j"] < PAIR["j"]]
    second = sum(
        _pair(tile)[1] != (PAIR["k"] // tile["k"]) * (PAIR["l"] // tile["l"]) * PAIR["i"] * PAIR["j"] for tile in moving
    )
    worse = sum(
        sum(_pair({**tile, dim: size})) > sum(_pair(tile))
        for tile in tiles
        for dim in "kl"
        for size in divisors_of(PAIR[dim])
        if size > tile[dim]
    )
    yield claimed(f"(8) the reused operand: tiles of {len(tiles)} with another count", 0, first, holds=not first)
    yield claimed(f"(9) the other operand: tiles of {len(moving)} with another count", 0, second, holds=not second)
    yield claimed("tiles that access more once they grow along a dim of the reused operand", 0, worse, holds=not worse)


PAIR = {"i": 4, "j": 6, "k": 6, "l": 4}


def _pair(tile: Sizes) -> tuple[int, int]:
    """Words of Y and of X that enter, loops k, l, i, j."""
    workload = parse_workload("Z[i,j,k,l] += X[i,j]*Y[k,l]", PAIR)
    words = entering(workload, dict(tile), ("k", "l", "i", "j"), {"Z": 1, "X": 1, "Y": 3})
    return words["Y"], words["X"]
