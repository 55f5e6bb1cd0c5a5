"""The only place that makes SymPy symbols: equal names with other assumptions are other symbols."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sympy import Symbol

from optmap.base.errors import InputError


@lru_cache(maxsize=4096)
def tile(dim: str, level: int | None = None) -> Symbol:
    """The tile extent of a dim, in iterations: `T_w`, or `T2_w` at level 2.

    Args:
        dim: name of the dim.
        level: number of the memory level, 1 for the innermost; None if there is only one.
    """
    return Symbol(f"T_{dim}" if level is None else f"T{level}_{dim}", positive=True)


@lru_cache(maxsize=4096)
def extent(dim: str) -> Symbol:
    """The extent of a dim in the whole problem, in iterations: `N_w`."""
    return Symbol(f"N_{dim}", positive=True)


def tiles(dims: Iterable[str], level: int = 1, levels: int = 1) -> dict[str, Symbol]:
    """Tile symbols of one level; the level outside the last one is the problem itself.

    Args:
        dims: names of the dims.
        level: 1 for the innermost level; `levels + 1` gives the extents.
        levels: bounded memory levels; with one level the symbols carry no number.

    Raises:
        InputError: if there is no such level.
    """
    if not 1 <= level <= levels + 1:
        raise InputError(f"level {level} is not one of 1 … {levels + 1}; levels count from the innermost")
    if level == levels + 1:
        return {d: extent(d) for d in dims}
    return {d: tile(d, None if levels == 1 else level) for d in dims}


@lru_cache(maxsize=4096)
def latex_name(symbol: Symbol) -> str:
    """LaTeX of a tile or extent symbol: `T_{w}`, `T^{2}_{w}`, `N_{w}`."""
    head, _, dim = symbol.name.partition("_")
    body = dim if len(dim) == 1 else rf"\mathrm{{{dim}}}".replace("_", r"\_")
    return f"{head}_{{{body}}}" if len(head) == 1 else f"{head[0]}^{{{head[1:]}}}_{{{body}}}"
