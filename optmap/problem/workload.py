"""Workloads: perfect, fully permutable loop nests around one multiply-accumulate statement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import gcd, prod

from optmap.errors import InputError
from optmap.problem.footprint import distinct_values

LARGEST_EXTENT = 2**63 - 1


class Semantics(StrEnum):
    """What the first touch of an output element costs."""

    ACCUMULATE = "accumulate"
    """`+=`: the output starts in slow memory, so its first touch is a load."""
    ASSIGN = "assign"
    """`=`: the first touch of each output element is not loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One subscript of a tensor: the affine index `sum(coefficient * dim) + offset`."""

    terms: tuple[tuple[str, int], ...]
    """(dim, positive coefficient) pairs in the order written; every dim at most once."""
    offset: int = 0
    """Constant added to the index; it moves the accessed words but never their number."""

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of this subscript, in the order written."""
        return tuple(dim for dim, _ in self.terms)

    def count(self, tile: Mapping[str, int]) -> int:
        """Number of distinct index values over a tile (DESIGN: footprint, exactly).

        Args:
            tile: extent per dim, in iterations.
        """
        coefficients = tuple(c for _, c in self.terms)
        return distinct_values(coefficients, tuple(tile[d] for d in self.dims))

    def __str__(self) -> str:
        parts = [dim if c == 1 else f"{c}*{dim}" for dim, c in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return "+".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorAccess:
    """An affine projection of the iteration space onto one tensor."""

    name: str
    axes: tuple[Axis, ...]
    bytes: int = 4
    """Size of one element, in bytes."""

    @property
    def dims(self) -> frozenset[str]:
        """Every dim that occurs in a subscript."""
        return frozenset(dim for axis in self.axes for dim in axis.dims)

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Elements of the tensor that a tile touches (a product over the axes)."""
        return prod(axis.count(tile) for axis in self.axes)

    def __str__(self) -> str:
        return f"{self.name}[{','.join(str(axis) for axis in self.axes)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A tensor computation: one output, one or more inputs, an extent per dim.

    Build one with `optmap.problem.parse_workload`, a builder such as `conv2d`, or by name from
    the model library; validated once on construction.

    Raises:
        InputError: for a dim without extent, an extent that is not a whole number in
            1 … 2^63-1, a dim in no tensor, a non-positive coefficient or element size, a dim or tensor whose
            name is no identifier.
    """

    name: str
    output: TensorAccess
    inputs: tuple[TensorAccess, ...]
    sizes: tuple[tuple[str, int], ...]
    """(dim, extent) pairs; their order is the canonical order of dims."""
    semantics: Semantics = Semantics.ACCUMULATE
    count: int = 1
    """How often the workload occurs (in a network)."""

    def __post_init__(self) -> None:
        _validate(self)

    @property
    def title(self) -> str:
        """The name, or the statement if it has none: what messages call the workload."""
        return self.name or self.expression

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
        """Points of the iteration space (multiply-accumulates)."""
        return prod(extent for _, extent in self.sizes)

    @property
    def word_bytes(self) -> int:
        """Bytes of one word: the greatest common divisor of the tensors' element sizes."""
        return gcd(*(t.bytes for t in self.tensors))

    def weight(self, tensor: TensorAccess) -> int:
        """Words per element of a tensor (1 unless element sizes differ)."""
        return tensor.bytes // self.word_bytes

    @property
    def expression(self) -> str:
        """The statement in optmap notation; parsing it with `extents` gives this workload."""
        operator = "+=" if self.semantics is Semantics.ACCUMULATE else "="
        return f"{self.output} {operator} {' * '.join(str(t) for t in self.inputs)}"

    def with_extents(self, **extents: int) -> Workload:
        """The same statement with some extents replaced."""
        unknown = set(extents) - set(self.dims)
        if unknown:
            raise InputError(f"{self.title}: no dim {sorted(unknown)}; dims are {list(self.dims)}")
        return replace(self, sizes=tuple((d, extents.get(d, n)) for d, n in self.sizes))

    def with_semantics(self, semantics: Semantics) -> Workload:
        """The same computation with the other meaning of its first touch."""
        return replace(self, semantics=semantics)


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


def _validate(workload: Workload) -> None:
    where = workload.title
    names = [d for d, _ in workload.sizes]
    for kind, texts in (("dim", names), ("tensor", [t.name for t in workload.tensors])):
        odd = [text for text in texts if not text.isidentifier()]
        if odd:
            raise InputError(f"{where}: {kind} {json.dumps(odd[0])} is no name; use letters, digits and _")
    if len(set(names)) != len(names):
        raise InputError(f"{where}: a dim is listed twice in {names}")
    if not workload.inputs:
        raise InputError(f"{where}: at least one input tensor is needed")
    used = set().union(*(t.dims for t in workload.tensors))
    extents_in_order([d for d in names if d in used] or sorted(used), workload.extents)
    extents_in_order(sorted(used), workload.extents)
    for dim, extent in workload.sizes:
        if isinstance(extent, bool) or not isinstance(extent, int) or not 1 <= extent <= LARGEST_EXTENT:
            raise InputError(f"{where}: extent of {dim} is {extent!r}; it must be a whole number from 1 to 2^63-1")
    for tensor in workload.tensors:
        if tensor.bytes < 1:
            raise InputError(f"{where}: element size of {tensor.name} is {tensor.bytes} bytes; use 1 or more")
        for axis in tensor.axes:
            if any(c < 1 for _, c in axis.terms) or axis.offset < 0:
                raise InputError(f"{where}: {tensor} needs positive coefficients and an offset >= 0")
            if len(set(axis.dims)) != len(axis.dims):
                raise InputError(f"{where}: {tensor} repeats a dim inside one subscript; add its coefficients up")
