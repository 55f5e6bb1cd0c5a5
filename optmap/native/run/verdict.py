"""Whether what came out is right: as exactly as arithmetic in floating point can be, and exactly where it must be."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from optmap.base.errors import CheckError, LimitError
from optmap.base.texts import number
from optmap.native.code import Buffer
from optmap.native.run.layouts import Array, dtype_of
from optmap.native.run.reference import Double, Places, element_places, looped_dims, placed, sums, terms, whole_region
from optmap.workloads.workload import Semantics, Workload

MOST_OUTPUTS = 2**24
"""Outputs that are checked at most."""
MOST_OPERATIONS = 10**10
"""Multiply-adds of one reference as a matrix product, about a second: every layer of Table 1 is checked as a whole."""
MOST_STEPS = 10**8
"""The same where it is no matrix product."""
LEAST_VALUES = 8
"""Values per dim that a sample keeps."""
LARGEST_WHOLE = 3
"""Largest of the whole numbers; none of them is 0, so that no product is without weight."""
SHOWN = 4
"""Wrong outputs that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """An output that is not what it must be."""

    index: tuple[int, ...]
    """Element under the statement's subscripts."""
    got: float
    expected: float
    tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a comparison with the reference found."""

    outputs: int
    """Elements of the output."""
    checked: int
    """Elements that were compared; the rest were not."""
    terms: int
    """Products added up in one element, at most."""
    largest_error: float
    """Largest distance from the reference, on real numbers."""
    share: float
    """Largest distance as a share of what is tolerated at its place, on real numbers."""
    exact: bool
    """Whether whole numbers were multiplied as well, on which every sum is exact: nothing at all is tolerated."""
    wrong: int
    """Elements that are off by more than is tolerated."""
    places: tuple[Wrong, ...]
    """The first of them."""

    @property
    def text(self) -> str:
        """`all 802,816 outputs right` or how many of which were compared and how many are wrong."""
        which = f"all {self.checked:,} outputs"
        if self.checked < self.outputs:
            which = f"{self.checked:,} of {self.outputs:,} outputs (a seeded sample)"
        if self.wrong:
            return f"{self.wrong:,} wrong of {which} compared"
        return f"{which} right{', exactly on whole numbers' if self.exact else ''}"

    def explain(self, title: str) -> str:
        """What is wrong: how many, and the first of them."""
        lines = [
            f"  [{','.join(map(str, each.index))}] is {each.got:.9g}, must be {each.expected:.9g} "
            + (f"within {each.tolerance:.3g}" if each.tolerance else "exactly")
            for each in self.places
        ]
        return "\n".join([f"{title}: {self.text}; the first of them:", *lines])

    def demand(self, title: str) -> None:
        """Refuse a wrong result.

        Raises:
            CheckError: if an output is wrong: how many, and the first of them.
        """
        if self.wrong:
            raise CheckError(self.explain(title))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Inputs, and what the output must be at some places."""

    inputs: dict[str, Array]
    """By name of tensor, under the statement's subscripts."""
    start: Array | None
    """What the output holds before, with semantics `accumulate`."""
    places: tuple[Places, ...]
    """Elements per subscript; their grid is compared."""
    expected: Double
    tolerance: Double
    """What is tolerated, element by element; 0 on whole numbers."""

    def wrong(self, got: Array) -> tuple[Double, Double]:
        """Distances and what is tolerated, of the output under the statement's subscripts."""
        whole = all(len(own) == size for own, size in zip(self.places, got.shape, strict=True))
        distance = np.subtract(got if whole else got[np.ix_(*self.places)], self.expected, dtype=np.float64)
        np.abs(distance, out=distance)
        distance[np.isnan(distance)] = np.inf
        return distance, self.tolerance


def judge(trials: tuple[Trial, ...], outputs: tuple[Array, ...], count: int) -> Verdict:
    """Compare outputs with what they must be.

    Args:
        trials: as `trials_of` makes them.
        outputs: what came out of each, under the statement's subscripts.
        count: products added up in one element, at most.
    """
    wrong, places, error, share = 0, list[Wrong](), 0.0, 0.0
    for trial, got in zip(trials, outputs, strict=True):
        distance, tolerance = trial.wrong(got)
        over = distance > tolerance
        if tolerance.any() or not over.size:
            error = max(error, float(distance.max(initial=0.0)))
            ratio = np.divide(distance, tolerance, out=np.where(over, np.inf, 0.0), where=tolerance > 0)
            share = max(share, float(ratio.max(initial=0.0)))
        if not over.any():
            continue
        wrong = max(wrong, int(over.sum()))
        for at in np.argwhere(over)[: SHOWN - len(places)]:
            index = tuple(int(own[each]) for own, each in zip(trial.places, at, strict=True))
            where = tuple(at)
            places.append(
                Wrong(
                    index=index,
                    got=float(got[index]),
                    expected=float(trial.expected[where]),
                    tolerance=float(tolerance[where]),
                )
            )
    first = trials[0]
    return Verdict(
        outputs=prod(outputs[0].shape),
        checked=prod(len(own) for own in first.places),
        terms=count,
        largest_error=error,
        share=share,
        exact=len(trials) > 1,
        wrong=wrong,
        places=tuple(places),
    )


def tolerated(count: int, operands: int, bits: int, size: Double) -> Double:
    r"""Largest distance of a sum of products in floating point from the same sum in float64, in any order of adding.

    |computed - exact| <= gamma_n * sum |a||b| with gamma_n = n u / (1 - n u), u = 2^-24 of float and 2^-53 of double:
    each of the products is rounded at most n times on its way into the sum, n = terms + operands - 2 (one less of each
    where multiply and add are one operation). The reference is off by the same with the u of float64, its sum of
    |a||b| as well; products that underflow are off by the smallest normal number at most.

    Args:
        count: products added up, and what was there before.
        operands: factors of a product.
        bits: size of the output's elements.
        size: sum of |a||b|, in float64.

    Raises:
        LimitError: for so many terms that nothing could be said.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, chapter 3 (Lemma 3.1, equation 3.5).
    """
    roundings = count + operands
    unit, small = (2.0**-24, 2.0**-126) if bits == 32 else (2.0**-53, 2.0**-1022)
    if roundings * unit >= 1 / 2:
        raise LimitError(f"{number(count)} terms in one sum are too many to tell its rounding from an error")
    ours, theirs = (roundings * u / (1 - roundings * u) for u in (unit, 2.0**-53))
    found: Double = (ours + theirs) * (1 + theirs) * size + roundings * small
    return found


def trials_of(
    workload: Workload, buffers: tuple[Buffer, ...], seed: int = 0, *, most: int = MOST_OUTPUTS, exact: bool = True
) -> tuple[Trial, ...]:
    """Inputs that are drawn, and what the output must be: real numbers, and whole ones where sums of them are exact.

    Args:
        workload: the statement.
        buffers: one per access, output first; layouts do not matter.
        seed: of the numbers, and of the sample where the output is too large to be compared as a whole.
        most: outputs that are compared, at most.
        exact: whether there may be whole numbers.

    Raises:
        LimitError: for sums of so many terms that nothing could be said.
    """
    draw = np.random.default_rng(seed)
    region = _region(workload, draw, most)
    count = terms(workload) + (workload.semantics is Semantics.ACCUMULATE)
    operands = len(workload.inputs)
    found = [_trial(workload, buffers, region, draw, real=True)]
    least = min(buffer.bits for buffer in buffers)
    if exact and count * LARGEST_WHOLE**operands < 2 ** (24 if least == 32 else 53):
        found.append(_trial(workload, buffers, region, draw, real=False))
    return tuple(found)


def _trial(
    workload: Workload,
    buffers: tuple[Buffer, ...],
    region: dict[str, Places],
    draw: np.random.Generator,
    *,
    real: bool,
) -> Trial:
    def drawn(buffer: Buffer) -> Array:
        if real:
            return draw.uniform(-1, 1, buffer.shape).astype(dtype_of(buffer))
        size = draw.integers(1, LARGEST_WHOLE + 1, buffer.shape) * draw.choice((-1, 1), buffer.shape)
        return np.asarray(size, dtype_of(buffer))

    inputs = {buffer.tensor: drawn(buffer) for buffer in buffers[1:]}
    start = drawn(buffers[0]) if workload.semantics is Semantics.ACCUMULATE else None
    doubles = {name: array.astype(np.float64) for name, array in inputs.items()}
    places, expected = _at(workload, buffers, doubles, region)
    before = np.zeros(()) if start is None else start[np.ix_(*places)].astype(np.float64)
    expected = expected + before
    tolerance = np.broadcast_to(np.zeros(()), expected.shape)
    if real:
        _, size = _at(workload, buffers, {name: np.abs(array) for name, array in doubles.items()}, region)
        count = terms(workload) + (start is not None)
        bits = min(buffer.bits for buffer in buffers)
        tolerance = tolerated(count, len(workload.inputs), bits, size + np.abs(before))
    return Trial(inputs=inputs, start=start, places=places, expected=expected, tolerance=tolerance)


def _at(
    workload: Workload, buffers: tuple[Buffer, ...], arrays: dict[str, Double], region: dict[str, Places]
) -> tuple[tuple[Places, ...], Double]:
    """Sums at the output's elements of a region, and where these are."""
    found, target = sums(workload, buffers, arrays, region), buffers[0]
    if _is_whole(workload, region):
        return tuple(np.arange(size) for size in target.shape), placed(workload, target, found, region)
    places, inside, order = [], [], []
    for axis, origin, size in zip(workload.output.axes, target.origin, target.shape, strict=True):
        at = np.atleast_1d(element_places(axis, origin, region, {}))
        real = (at >= 0) & (at < size)
        places.append(at[real])
        if axis.dims:
            inside.append(real)
            order.append(list(region).index(axis.dims[0]))
    return tuple(places), found.transpose(order)[np.ix_(*inside)].reshape([len(each) for each in places])


def _is_whole(workload: Workload, region: dict[str, Places]) -> bool:
    return all(len(values) == workload.extents[dim] for dim, values in region.items())


def _region(workload: Workload, draw: np.random.Generator, most: int) -> dict[str, Places]:
    """All iterations of the output's dims, or a sample with first and last ones where there are too many."""
    region = whole_region(workload)
    axes = workload.output.axes
    seen = [dim for axis in axes for dim in axis.dims]
    if len(set(seen)) < len(seen) or any(len(axis.dims) > 1 for axis in axes):
        return region  # elements are sums over several iterations of these dims: only the whole is right
    steps = prod(workload.extents[dim] for dim in workload.reduction_dims)
    free = [dim for dim in workload.dims if dim not in looped_dims(workload)]
    product = len(workload.inputs) == 2 and not any(all(dim in t.dims for t in workload.tensors) for dim in free)
    most = min(most, (MOST_OPERATIONS if product else MOST_STEPS) // steps)
    sizes = {dim: len(values) for dim, values in region.items()}
    while prod(sizes.values()) > most and max(sizes.values()) > LEAST_VALUES:
        longest = max(sizes, key=lambda dim: sizes[dim])
        sizes[longest] = max(sizes[longest] // 2, LEAST_VALUES)
    return {dim: _sampled(values, sizes[dim], draw) for dim, values in region.items()}


def _sampled(values: Places, size: int, draw: np.random.Generator) -> Places:
    if size == len(values):
        return values
    middle = draw.choice(values[1:-1], size - 2, replace=False)
    return np.sort(np.concatenate((values[:1], middle, values[-1:])))
