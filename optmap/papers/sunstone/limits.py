"""Sunstone, sections I and III-A: what the tiling principle leaves of the tiles, and where it leaves good ones out."""

from __future__ import annotations

from typing import Any

import numpy as np

from optmap.api import solve
from optmap.base.arrays import Flags, Ints
from optmap.base.errors import LimitError
from optmap.files import library
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Machine
from optmap.papers.buffers import buffers
from optmap.papers.counting import PRODUCT
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, held, refuted
from optmap.papers.sunstone.evaluation import LAYERS
from optmap.questions.policy import Footprint
from optmap.search.accelerators.fitting import Fitting
from optmap.search.sunstone.tiling_tree import grown_dims, tile_grid, tiles_of

LIMITS = Collected()
CUBE = {"i": 16, "j": 16, "k": 16}
LARGE = {"i": 512, "j": 1024, "k": 256}
PRICES = (1, 6, 200)
INNER = (48, 96, 192)
"""Words of a unit's buffer, four units below 256 words."""
ALONE: Any = {"look-outside": "off"}
"""Tiles grow without a look at the room outside, as the principle is stated: `fitting in the respective memory`."""


@LIMITS.item("Tiling principle, share", "L1 tiles of ResNet-18 that are pruned", where="section III-A")
def share() -> Rows:
    """All tiles of divisors that fit into 512 bytes; those that grow along the dims of the ofmap, which is reused."""
    machine = library.machine("sunstone-conventional")
    found = {layer: _left(machine, f"resnet18/{layer}") for layer in LAYERS}
    pruned = {name: 1 - kept / grown for name, (_, grown, kept) in found.items()}
    best = max(pruned, key=lambda name: pruned[name])
    yield held(
        f"of the tiles along indexing dims, those pruned, at most ({best})", 0.8, round(pruned[best], 4), within=0.04
    )
    every = {name: 1 - kept / fit for name, (fit, _, kept) in found.items()}
    most = max(every, key=lambda name: every[name])
    yield held(
        f"of all tiles that fit, those pruned, at most ({most})",
        0.8,
        round(every[most], 4),
        within=0.04,
        because=Reason(text="tiles along other dims are left out as well", tested=every[most] > pruned[best]),
    )


def _left(machine: Machine, name: str) -> tuple[int, int, int]:
    """Tiles that fit; of these along the dims of the output; of these those that no larger one replaces."""
    fabric = fabric_of(library.workload(name), machine)
    fitting, kept = Fitting(fabric, Footprint.TOUCHED), np.ones(len(fabric.operands), bool)

    def fits(tiles: Ints) -> Flags:
        return fitting.fit(0, tiles, kept)

    every = frozenset(range(len(fabric.dims)))
    along = grown_dims(fabric.operands, frozenset({0}), len(fabric.dims))
    whole, grown = (int(fits(tile_grid(fabric.extents, dims)[0]).sum()) for dims in (every, along))
    return whole, grown, len(tiles_of(fabric.extents, along, fits, principle=True, count=lambda *_: None))


@LIMITS.item("Tiling principle, limits", "Without rejecting good solutions", where="sections I and III-A")
def limits() -> Rows:
    """Products on buffers of two levels, the principle as stated and with a look at the room outside."""
    optimum = {words: _edp(buffers((words, 256), PRICES, 2), CUBE, "exact") for words in INNER}
    stated = {words: _edp(buffers((words, 256), PRICES, 2), CUBE, "sunstone", **ALONE) for words in INNER}
    looking = [_edp(buffers((words, 256), PRICES, 2), CUBE, "sunstone") for words in INNER]
    worst = max(INNER, key=lambda words: _over(stated, optimum, words))
    yield refuted(
        "16 x 16 x 16 product, four units below 256 words: EDP over the optimum, at most",
        1,
        round(_over(stated, optimum, worst), 4),
        counterexample=f"{worst} words per unit: the largest tile of a unit leaves no room for four of them outside; "
        "every mapping was searched, and with a look outside the method ends at the optimum",
        false=_over(stated, optimum, worst) > 1.5 and looking == list(optimum.values()),
    )
    yield refuted(
        "EDP with " + ", ".join(map(str, INNER)) + " words per unit, over that with the fewest",
        "no more with more words",
        ", ".join(f"{_over(stated, stated, words, INNER[0]):.3f}" for words in INNER),
        counterexample="the principle alone is not monotone in the size of L1; the optimum does not rise",
        false=_over(stated, stated, INNER[-1], INNER[0]) > 1 and optimum[INNER[-1]] == optimum[INNER[0]],
    )
    tight = buffers((768, 512), PRICES, 1)
    alone, better = _edp(tight, LARGE, "sunstone", **ALONE), _edp(tight, LARGE, "sunstone")
    yield refuted(
        "512 x 1024 x 256 product, L1 of 768 words below 512: mappings that are found",
        "one or more",
        "none" if alone is None else "some",
        counterexample="every tile that no larger one replaces in L1 is too large for the memory outside, though "
        "others fit: a look outside finds them",
        false=alone is None and better is not None,
    )


def _edp(machine: Machine, extents: dict[str, int], method: str, **settings: Any) -> float | None:
    """Of a product; None if the method finds no mapping."""
    try:
        answer = solve(
            PRODUCT,
            machine=machine,
            extents=extents,
            method=method,
            semantics="assign",
            tiles="divisors",
            settings=settings,
        )
    except LimitError:
        return None
    return float(answer.cost)


def _over(found: dict[int, float | None], least: dict[int, float | None], words: int, of: int | None = None) -> float:
    """A ratio of two costs; infinite where nothing was found."""
    above, below = found[words], least[words if of is None else of]
    return float("inf") if above is None or below is None else above / below
