"""MOpt, sections 2, 3 and 11: what its model takes for granted of caches that evict, and of its own program."""

from __future__ import annotations

from math import prod, sqrt

from optmap.count.reference.simulate import simulate
from optmap.papers.counting import PRODUCT
from optmap.papers.items import Collected, Rows
from optmap.papers.mopt.forms import one_level, tile_words
from optmap.papers.rows import claimed, refuted
from optmap.workloads.parser import parse_workload

EVICTIONS, RELATED = Collected(), Collected()
EXTENT, SIDE = 24, 6
"""Of the product whose misses are counted, and of its tiles."""


@EVICTIONS.item("Section 2.2, eviction", "Tiles in a fully associative cache that evicts", where="sections 2.2 and 3")
def eviction() -> Rows:
    """Every access of Listing 1 replayed in a cache of C words, lines of one word, least recently used."""
    modelled = 2 * EXTENT**3 // SIDE + 2 * EXTENT**2
    exact, union = 3 * SIDE**2, 5 * SIDE**2
    tight, roomy = _moved(exact), _moved(union)
    yield refuted(
        f"(3): words of a product of {EXTENT} per side, tiles of {SIDE}, C = {exact:,} words by (2)",
        modelled,
        tight,
        counterexample=f"misses and write-backs of every access: {tight:,}; words of C that are to stay are evicted",
        false=tight > modelled,
    )
    yield claimed(
        f"the same with room for two adjacent tiles, C = {union:,}",
        f"<= {modelled:,}",
        roomy,
        holds=roomy <= modelled,
    )


def _moved(words: int) -> int:
    """Words in and out of a cache."""
    machine, mapping = one_level(words, dict.fromkeys("ijk", SIDE), ("i", "j", "k"))
    moved = simulate(parse_workload(PRODUCT, dict.fromkeys("ijk", EXTENT)), machine, mapping)
    return sum(each.loads_words + each.stores_words for each in moved)


@RELATED.item("Section 11", "The one-level program is said to be a posynomial", where="section 11")
def posynomial() -> Rows:
    """A posynomial at the geometric mean of two points is at most the geometric mean of its values."""
    ends = [tile_words("In", {**dict.fromkeys("nchr", 1), "w": side, "s": side}) for side in (1, 16)]
    middle, most = tile_words("In", {**dict.fromkeys("nchr", 1), "w": 4, "s": 4}), sqrt(prod(ends))
    yield refuted(
        "words of In by (4), T_w = T_s = 4, from those of T_w = T_s = 1 and 16, all else 1",
        f"<= {most:.4g}",
        middle,
        counterexample="T_w + T_s - 1 has a negative term, and is not convex in logarithms",
        false=middle > most * (1 + 1e-12),
    )
