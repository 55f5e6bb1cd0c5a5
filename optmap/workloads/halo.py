"""Footprint and halo of one subscript over integers: values of a box, and values that two boxes share.

The one place where an affine index is counted for whole numbers; `count.levels.halo` counts the same for
arrays of tiles, `programs.expressions` and `symbolic.footprint` write it as formulas. The checker and
the reference simulator count on their own, on purpose.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod

from optmap.base.errors import LimitError

LARGEST_SPAN = 2**26
"""Bits of the widest index range that is counted by enumeration (three or more dims)."""
MOST_DIGITS = 4096
"""Low digits that are looped over in the sparse case of two dims; more are enumerated as bits."""


def pair_values(m: int, n: int, a: int, b: int) -> int:
    """Distinct values of `m*x + n*y`, 0 <= x < a, 0 <= y < b, for coprime m, n.

    Source: QuickFlow, section IV-A (closed form for distinct values).
    """
    if a > n and b > m:
        return m * (a - 1) + n * (b - 1) - (m - 1) * (n - 1) + 1
    return a * b


def span(coefficients: tuple[int, ...], box: tuple[int, ...]) -> int:
    """Values from the first to the last of an affine index over a box, gaps included."""
    return 1 + sum(c * (n - 1) for c, n in zip(coefficients, box, strict=True))


def value_mask(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """The values of an affine index over a box as the set bits of an integer.

    Raises:
        LimitError: if the index range exceeds `LARGEST_SPAN`.
    """
    wide = span(coefficients, extents)
    if wide > LARGEST_SPAN:
        raise LimitError(
            f"index range of {wide:,} values is too wide to enumerate (limit {LARGEST_SPAN:,}); "
            "use smaller extents or coefficients"
        )
    mask = 1
    for c, e in zip(coefficients, extents, strict=True):
        mask = repeated(mask, c, e)
    return mask


def repeated(mask: int, step: int, times: int) -> int:
    """The set bits of a mask together with its copies moved by `step`, `2*step`, … (`times` in all)."""
    covered = 1
    while covered < times:
        more = min(covered, times - covered)
        mask |= mask << (step * more)
        covered += more
    return mask


@lru_cache(maxsize=65536)
def distinct_values(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Number of distinct values of `sum(c_i * x_i)` over 0 <= x_i < e_i, exactly.

    Args:
        coefficients: positive integers.
        extents: positive integers, same length.

    Returns:
        1 for no dims; the extent for one; the closed form for two; for three or more the exact
        count by dynamic programming over the value set.

    Raises:
        LimitError: for three or more dims whose index range exceeds `LARGEST_SPAN`.
    """
    live = [(c, e) for c, e in zip(coefficients, extents, strict=True) if e > 1]
    if not live:
        return 1
    divisor = gcd(*(c for c, _ in live))
    live = sorted((c // divisor, e) for c, e in live)
    if len(live) == 1:
        return live[0][1]
    if len(live) == 2:
        (m, a), (n, b) = live
        return pair_values(m, n, a, b)
    # In increasing order of coefficients a dense prefix stays dense while the next step fits.
    covered = 1
    for c, e in live:
        if c > covered:
            break
        covered += c * (e - 1)
    else:
        return covered
    if all(c >= 1 + sum(d * (f - 1) for d, f in live[:i]) for i, (c, _) in enumerate(live)):
        return prod(e for _, e in live)
    return value_mask(tuple(c for c, _ in live), tuple(e for _, e in live)).bit_count()


def run_values(coefficients: tuple[int, ...], box: tuple[int, ...], along: int, extent: int) -> int:
    """Values that enter while a box moves along one dim, each box without what the one before it had.

    Args:
        coefficients: positive integers.
        box: extents of the first box.
        along: position of the dim.
        extent: of that dim; it is cut into tiles of the box's size and a remainder.
    """
    tile = box[along]

    def values(size: int) -> int:
        return distinct_values(coefficients, (*box[:along], size, *box[along + 1 :]))

    if tile >= extent:
        return values(extent)
    first = values(tile)
    trips, rest = divmod(extent, tile)
    entering = first + (trips - 1) * (values(2 * tile) - first)
    return entering + (values(tile + rest) - first if rest else 0)


def grid_values(coefficients: tuple[int, ...], extents: tuple[int, ...], tile: tuple[int, ...]) -> int:
    """Values of an affine index added up over all tiles of a box, what tiles share counted in each.

    Args:
        coefficients: positive integers.
        extents: of the box.
        tile: extents of a tile; ragged ones are counted as they are.
    """
    if len(extents) == 1:
        return extents[0]
    return sum(
        prod(times for _, times in chosen) * distinct_values(coefficients, tuple(size for size, _ in chosen))
        for chosen in product(*(ragged(n, t) for n, t in zip(extents, tile, strict=True)))
    )


def ragged(size: int, tile: int) -> tuple[tuple[int, int], ...]:
    """(size, how often) of the tiles that a size is cut into: whole ones, then the remainder."""
    whole, rest = divmod(size, tile)
    if not rest:
        return ((tile, whole),)
    return ((tile, whole), (rest, 1)) if whole else ((rest, 1),)


@lru_cache(maxsize=65536)
def shared_values(
    coefficients: tuple[int, ...],
    new: tuple[int, ...],
    old: tuple[int, ...],
    shifts: tuple[int, ...],
    real: tuple[int, int] | None = None,
) -> int:
    """Values of an affine index that two boxes share.

    Args:
        coefficients: positive integers c.
        new: extents of the new box, which starts at 0 in every dim.
        old: extents of the old box.
        shifts: where the new box starts relative to the old one, per dim.
        real: first and last value that counts, 0 being the first one of the new box; None for all.

    Returns:
        |{c·x : 0 <= x < new} ∩ {c·x : -shifts <= x < old - shifts}|. An intersection of
        intervals if both sets are intervals; a sum over low digits for two dims of which one
        coefficient divides the other (every convolution); else the common bits of two masks.

    Raises:
        LimitError: if bits would be needed over too wide a range.
    """
    divisor = gcd(*coefficients)
    terms = tuple(c // divisor for c in coefficients)
    start = -sum(c * s for c, s in zip(terms, shifts, strict=True))
    last_new, last_old = span(terms, new) - 1, span(terms, old) - 1
    if start > last_new or start + last_old < 0:
        return 0
    if real is not None:
        first, last = max(-(-real[0] // divisor), 0), min(real[1] // divisor, last_new)
        if first > last:
            return 0
        if (first, last) != (0, last_new):
            return _windowed(terms, (new, old), start, first, last)
    if start == 0 and new == old:
        return distinct_values(terms, new)
    if distinct_values(terms, new) == last_new + 1 and distinct_values(terms, old) == last_old + 1:
        return _common(0, last_new + 1, start, last_old + 1)
    if len(terms) == 2 and 1 in terms:
        low = terms.index(1)
        m = terms[1 - low]
        pair = ((new[1 - low], new[low]), (old[1 - low], old[low]))
        if min(m, pair[0][1]) <= MOST_DIGITS and min(m, pair[1][1]) <= MOST_DIGITS:
            return _digits(m, pair[0], pair[1], start)
    low_end = min(0, start)
    bits_new = value_mask(terms, new) << -low_end
    bits_old = value_mask(terms, old) << (start - low_end)
    return (bits_new & bits_old).bit_count()


def _windowed(
    terms: tuple[int, ...], boxes: tuple[tuple[int, ...], tuple[int, ...]], start: int, first: int, last: int
) -> int:
    """Common values from `first` to `last` of the new box and the old one, which begins at `start`."""
    if all(distinct_values(terms, box) == span(terms, box) for box in boxes):
        return max(0, min(last + 1, start + span(terms, boxes[1])) - max(first, start))
    bits = [value_mask(terms, box) for box in boxes]
    moved = bits[1] << start if start >= 0 else bits[1] >> -start
    return ((bits[0] & moved) >> first & ((1 << (last - first + 1)) - 1)).bit_count()


def _common(first: int, length: int, second: int, other: int) -> int:
    return max(0, min(first + length, second + other) - max(first, second))


def _residues(m: int, box: tuple[int, int], start: int) -> dict[int, tuple[int, int]]:
    """The values start + m*x + y as one run of quotients (first, length) per residue modulo m.

    With b >= m low digits the values of one residue still form one run, longer by the whole
    turns of the low digit.
    """
    a, b = box
    runs: dict[int, tuple[int, int]] = {}
    for y in range(min(m, b)):
        quotient, residue = divmod(start + y, m)
        runs[residue] = (quotient, a + (b - 1 - y) // m)
    return runs


def _digits(m: int, new: tuple[int, int], old: tuple[int, int], start: int) -> int:
    """Common values of m*x + y over two boxes (x extent, y extent), the old one moved by start."""
    ours, theirs = _residues(m, new, 0), _residues(m, old, start)
    return sum(_common(*ours[residue], *run) for residue, run in theirs.items() if residue in ours)
