"""Workloads: perfect, fully permutable loop nests around one multiply-accumulate statement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from math import gcd, prod
from typing import ClassVar

from optmap.errors import InputError
from optmap.names import choose
from optmap.problem.halo import distinct_values, span
from optmap.shown import Shown
from optmap.values import LARGEST, one_line

LARGEST_EXTENT = LARGEST
"""Largest extent, coefficient, offset and element size."""
ELEMENT_SIZE = "it must be a whole number of bits from 1 to 2^63-1"
"""What messages ask of an element size."""


class Semantics(StrEnum):
    """What the first touch of an output element costs."""

    ACCUMULATE = "accumulate"
    """`+=`: the output starts in slow memory, so its first touch is a load."""
    ASSIGN = "assign"
    """`=`: the first touch of each output element is not loaded."""


class Padding(StrEnum):
    """What the rim around a tensor is that index values beyond its real elements fall into."""

    STORED = "stored"
    """Every index value is an element: padding takes memory and moves like the rest."""
    IMPLICIT = "implicit"
    """Padding is known to be zero: it is never stored, and operations on it are not done.

    A workload without any padding is both, and called stored.
    """


Range = tuple[int, int]
"""First and last real value of a subscript, both included."""
Image = tuple[tuple[Range | None, ...], ...]
"""Per tensor (output first) and axis the range of real values; None where every value is real."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One subscript of a tensor: the affine index `sum(coefficient * dim) + offset`."""

    terms: tuple[tuple[str, int], ...]
    """(dim, positive coefficient) pairs in the order written; every dim at most once."""
    offset: int = 0
    """Constant added to the index; it moves the accessed words but never their number."""
    real: Range | None = None
    """Index values that are elements of the tensor, if the others are implicit padding."""

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of this subscript, in the order written."""
        return tuple(dim for dim, _ in self.terms)

    def count(self, tile: Mapping[str, int]) -> int:
        """Number of distinct index values over a tile, padding included.

        Args:
            tile: extent per dim, in iterations.
        """
        coefficients = tuple(c for _, c in self.terms)
        return distinct_values(coefficients, tuple(tile[d] for d in self.dims))

    def span(self, tile: Mapping[str, int]) -> int:
        """Index values from the first to the last over a tile, gaps included; `tile` as for `count`."""
        return span(tuple(c for _, c in self.terms), tuple(tile[d] for d in self.dims))

    def elements(self, extents: Mapping[str, int]) -> int:
        """Elements of the tensor along this subscript: the real ones, or all from the first index value to the last.

        Args:
            extents: iterations per dim.
        """
        return self.span(extents) if self.real is None else self.real[1] - self.real[0] + 1

    def is_padded(self, real: Range | None, extents: Mapping[str, int]) -> bool:
        """Whether some index value over all iterations may be outside a range of real ones."""
        top = self.offset + self.span(extents) - 1
        return real is not None and (real[0] > self.offset or real[1] < top)

    def __str__(self) -> str:
        parts = [dim if c == 1 else f"{c}*{dim}" for dim, c in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        text = "+".join(parts)
        return text if self.real is None else f"{text} in {self.real[0]}..{self.real[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorAccess:
    """An affine projection of the iteration space onto one tensor."""

    name: str
    axes: tuple[Axis, ...]
    bits: int = 32
    """Size of one element, in bits."""

    @property
    def bytes(self) -> int | float:
        """Size of one element, in bytes: a whole number or a multiple of 1/8."""
        return bytes_of(self.bits)

    @property
    def dims(self) -> frozenset[str]:
        """Every dim that occurs in a subscript."""
        return frozenset(dim for axis in self.axes for dim in axis.dims)

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Elements of the tensor that a tile touches, padding included (a product over the axes)."""
        return prod(axis.count(tile) for axis in self.axes)

    def __str__(self) -> str:
        return f"{self.name}[{','.join(str(axis) for axis in self.axes)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Shown):
    """A tensor computation: one output, one or more inputs, an extent per dim.

    Build one with `optmap.problem.parse_workload`, a builder such as `conv2d`, or by name from
    the model library; validated once on construction.

    An operation one of whose accesses is outside the range of its subscript (`Axis.real`) works on
    implicit padding: it is not done, and such elements do not exist.

    Raises:
        InputError: for a dim without extent, an extent that is not a whole number in
            1 … 2^63-1, a dim in no tensor, a non-positive coefficient or element size, a dim or tensor whose
            name is no identifier, an output that is read, a range of real values that no index meets.
    """

    shown_as: ClassVar[str] = "workload"

    name: str
    output: TensorAccess
    inputs: tuple[TensorAccess, ...]
    sizes: tuple[tuple[str, int], ...]
    """(dim, extent) pairs; their order is the canonical order of dims."""
    semantics: Semantics = Semantics.ACCUMULATE
    count: int = 1
    """How often the workload occurs (in a network)."""
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Of the layers of a model that it stands for, where equal ones were merged; no part of equality."""
    image: Image = field(default=(), compare=False, repr=False)
    """Ranges of the real values where the builder knows them but padding is stored; no part of equality."""

    def __post_init__(self) -> None:
        _validate(self)

    @property
    def title(self) -> str:
        """The name, or the statement if it has none: what messages call the workload."""
        return self.name or self.expression

    @property
    def layer_names(self) -> tuple[str, ...]:
        """The names of all layers that the workload stands for; its own if it has none of theirs."""
        return self.names or (self.title,)

    @property
    def dims(self) -> tuple[str, ...]:
        """Loop indices in canonical order."""
        return tuple(dim for dim, _ in self.sizes)

    @property
    def extents(self) -> dict[str, int]:
        """Extent per dim, in iterations."""
        return dict(self.sizes)

    @property
    def tensors(self) -> tuple[TensorAccess, ...]:
        """The output, then the inputs in the order written."""
        return (self.output, *self.inputs)

    @property
    def reduction_dims(self) -> tuple[str, ...]:
        """Dims absent from the output, in canonical order."""
        return tuple(d for d in self.dims if d not in self.output.dims)

    @property
    def operations(self) -> int:
        """Points of the iteration space (multiply-accumulates), those on implicit padding included."""
        return prod(extent for _, extent in self.sizes)

    @property
    def word_bits(self) -> int:
        """Bits of one word: the greatest common divisor of the tensors' element sizes.

        A word is what traffic and occupancy are counted in, so that both are whole numbers. It is
        no unit to compare workloads by; machines have bytes (see `Machine.rates`, `Capacity.words`).
        """
        return gcd(*(t.bits for t in self.tensors))

    def weight(self, tensor: TensorAccess) -> int:
        """Words per element of a tensor (1 unless element sizes differ)."""
        return tensor.bits // self.word_bits

    @property
    def expression(self) -> str:
        """The statement in optmap notation; parsing it with `extents` gives this workload."""
        operator = "+=" if self.semantics is Semantics.ACCUMULATE else "="
        return f"{self.output} {operator} {' * '.join(str(t) for t in self.inputs)}"

    def with_extents(self, **extents: int) -> Workload:
        """The same statement with some extents replaced.

        Raises:
            InputError: for an unknown dim, or one whose padding is implicit: its size would change.
        """
        unknown = set(extents) - set(self.dims)
        if unknown:
            raise InputError(f"{self.title}: no dim {sorted(unknown)}; dims are {list(self.dims)}")
        changed = {d for d, n in extents.items() if n != self.extents[d]}
        axes = [axis for tensor in self.tensors for axis in tensor.axes]
        moved = [a for a, r in zip(axes, chain(*self.real_ranges), strict=False) if r and changed & set(a.dims)]
        if moved and self.padding is Padding.IMPLICIT:
            raise InputError(
                f"{self.title}: the real values of {moved[0]} belong to the extents that it has; "
                "write a workload of the new sizes, or use padding stored"
            )
        sizes = tuple((d, extents.get(d, n)) for d, n in self.sizes)
        return replace(self, sizes=sizes, image=() if moved else self.image)

    @property
    def padding(self) -> Padding:
        """Whether some subscript has implicit padding."""
        return Padding.IMPLICIT if _has_ranges(self.tensors) else Padding.STORED

    @property
    def real_ranges(self) -> Image:
        """Range of the real values per tensor and axis, whether padding is stored or implicit; () if unknown."""
        if _has_ranges(self.tensors):
            return tuple(tuple(axis.real for axis in tensor.axes) for tensor in self.tensors)
        return self.image

    def with_padding(self, padding: Padding | str) -> Workload:
        """The same computation with its padding stored or implicit.

        Args:
            padding: `implicit` needs to know where padding is: from a builder such as `conv2d`, or
                from ranges in the statement (`In[c,h+r in 1..7]`). Without any subscript of
                several dims there is no padding, and nothing changes.

        Raises:
            InputError: for another word, or `implicit` where the padding is not known.
        """
        if padding not in list(Padding):
            raise InputError(f"{self.title}: padding is {padding!r}; use {' or '.join(Padding)}")
        known = self.real_ranges
        if not known:
            if padding == Padding.STORED or not any(len(axis.terms) > 1 for t in self.tensors for axis in t.axes):
                return self
            raise InputError(
                f"{self.title}: where its padding is is not known; give the real values of the subscripts in the "
                "statement, as in In[c,h+r in 1..7], or use a builder such as conv2d"
            )
        implicit, extents = padding == Padding.IMPLICIT, self.extents
        tensors = [
            replace(
                tensor,
                axes=tuple(
                    replace(axis, real=real if implicit and axis.is_padded(real, extents) else None)
                    for axis, real in zip(tensor.axes, ranges, strict=True)
                ),
            )
            for tensor, ranges in zip(self.tensors, known, strict=True)
        ]
        return replace(self, output=tensors[0], inputs=tuple(tensors[1:]), image=known)

    def with_semantics(self, semantics: Semantics | str) -> Workload:
        """The same computation with the other meaning of its first touch.

        Raises:
            InputError: for another word than `assign` or `accumulate`.
        """
        return replace(self, semantics=Semantics(choose("semantics", semantics, list(Semantics))))


def access_names(workload: Workload, mark: str = "#") -> tuple[str, ...]:
    """A name per access: the tensor's, or `name#2`, `name#3` … where a tensor is read again.

    Args:
        workload: gives the accesses, output first.
        mark: stands before the number; `_` where a name must be an identifier, as in the files of programs.
    """
    taken = {tensor.name for tensor in workload.tensors}
    names: list[str] = []
    for tensor in workload.tensors:
        name, number = tensor.name, 1
        while name in names or (number > 1 and name in taken):
            number += 1
            name = f"{tensor.name}{mark}{number}"
        names.append(name)
    return tuple(names)


def bytes_of(bits: int) -> int | float:
    """A number of bits in bytes: a whole number where it is one, else a multiple of 1/8."""
    return bits // 8 if bits % 8 == 0 else bits / 8


def extents_in_order(dims: Iterable[str], extents: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """(dim, extent) pairs in the order of `dims`.

    Raises:
        InputError: if a dim has no extent or an extent belongs to no dim.
    """
    ordered = tuple(dict.fromkeys(dims))
    missing = [d for d in ordered if d not in extents]
    if missing:
        raise InputError(f"no extent for dim {', '.join(missing)}; add {missing[0]}=<size>")
    extra = [d for d in extents if d not in ordered]
    if extra:
        raise InputError(f"extent for {', '.join(extra)}, which no tensor uses; the dims are {', '.join(ordered)}")
    return tuple((d, extents[d]) for d in ordered)


def _has_ranges(tensors: Iterable[TensorAccess]) -> bool:
    return any(axis.real is not None for tensor in tensors for axis in tensor.axes)


def _validate_range(axis: Axis, real: Range, extents: Mapping[str, int], where: str) -> None:
    first, last = real
    top = axis.offset + axis.span(extents) - 1
    if any(isinstance(n, bool) or not isinstance(n, int) for n in real) or not 0 <= first <= last:
        raise InputError(
            f"{where}: {first!r}..{last!r} is no range; write the first and the last real value, as in 1..7"
        )
    if not axis.terms or first > top or last < axis.offset:
        raise InputError(f"{where}: no value of the subscript {axis} is real; it goes from {axis.offset} to {top}")


def _validate(workload: Workload) -> None:
    one_line(workload.name, "a workload", empty=True)
    where = workload.title
    names = [d for d, _ in workload.sizes]
    for kind, texts in (("dim", names), ("tensor", [t.name for t in workload.tensors])):
        odd = [text for text in texts if not text.isidentifier()]
        if odd:
            raise InputError(f"{where}: {kind} {json.dumps(odd[0])} is no name; use letters, digits and _")
    if len(set(names)) != len(names):
        raise InputError(f"{where}: a dim is listed twice in {names}")
    if any(t.name == workload.output.name for t in workload.inputs):
        raise InputError(f"{where}: output {workload.output.name} is read on the right; name the input differently")
    if not workload.inputs:
        raise InputError(f"{where}: at least one input tensor is needed")
    used = set().union(*(t.dims for t in workload.tensors))
    extents_in_order([d for d in names if d in used] or sorted(used), workload.extents)
    extents_in_order(sorted(used), workload.extents)
    for dim, extent in workload.sizes:
        if isinstance(extent, bool) or not isinstance(extent, int) or not 1 <= extent <= LARGEST_EXTENT:
            raise InputError(f"{where}: extent of {dim} is {extent!r}; it must be a whole number from 1 to 2^63-1")
    if workload.image and [len(row) for row in workload.image] != [len(t.axes) for t in workload.tensors]:
        raise InputError(f"{where}: image needs one entry per tensor and subscript")
    for tensor in workload.tensors:
        if isinstance(tensor.bits, bool) or not isinstance(tensor.bits, int) or not 1 <= tensor.bits <= LARGEST_EXTENT:
            raise InputError(f"{where}: element size of {tensor.name} is {tensor.bits!r} bits; {ELEMENT_SIZE}")
        for axis in tensor.axes:
            if any(c < 1 for _, c in axis.terms) or axis.offset < 0:
                raise InputError(f"{where}: {tensor} needs positive coefficients and an offset >= 0")
            if axis.real is not None:
                _validate_range(axis, axis.real, workload.extents, f"{where}: {tensor}")
            if len(set(axis.dims)) != len(axis.dims):
                raise InputError(f"{where}: {tensor} repeats a dim inside one subscript; add its coefficients up")
