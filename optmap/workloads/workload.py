"""Workloads: statements over perfect, fully permutable loop nests, with an extent per dim; most are one statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from math import gcd, prod
from typing import ClassVar

from optmap.base.errors import InputError, OneStatementError
from optmap.base.names import choose
from optmap.base.shown import Shown
from optmap.workloads.access import Image, Range, Subscript, TensorAccess, bytes_of
from optmap.workloads.chain import TensorRole, roles, stored_as
from optmap.workloads.meanings import Padding, Semantics
from optmap.workloads.statement import Statement, multiply
from optmap.workloads.workload_checks import (
    ELEMENT_SIZE,
    LARGEST_EXTENT,
    check_workload,
    extents_in_order,
    why_not_one,
)

__all__ = [
    "ELEMENT_SIZE",
    "LARGEST_EXTENT",
    "Image",
    "Padding",
    "Range",
    "Semantics",
    "Subscript",
    "TensorAccess",
    "Workload",
    "access_names",
    "bytes_of",
    "extents_in_order",
]

PROCESS = hash("optmap") or 1
"""What tells processes apart whose texts have different hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Shown):
    """A tensor computation: one statement or several, and an extent per dim.

    Build one with `optmap.workloads.parser.parse_workload`, a builder such as `conv2d`, by name from the model
    library, or with `Workload.product`; validated once on construction.

    An operation one of whose accesses is outside the range of its subscript (`Subscript.real`) works on
    implicit padding: it is not done, and such elements do not exist.

    What knows one statement that adds up a product of tensors, and no other, asks `only` for it; `output`, `inputs`,
    `tensors` and `reduction_dims` are of that one.

    Raises:
        InputError: for a dim without extent, an extent that is not a whole number in
            1 … 2^63-1, a dim in no tensor, a non-positive coefficient or element size, a dim or tensor whose
            name is no identifier, an output that is read, a range of real values that no index meets; for statements
            that do not agree (see `check_statements`).
    """

    shown_as: ClassVar[str] = "workload"

    name: str = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    """Producers first; each tensor is written by one of them at most."""
    sizes: tuple[tuple[str, int], ...]
    """(dim, extent) pairs; their order is the canonical order of dims."""
    semantics: Semantics = Semantics.ACCUMULATE
    """Of outputs; an intermediate starts empty."""
    outputs: tuple[str, ...] = ()
    """Tensors that are outputs although statements read them; one that none reads is an output anyway."""
    count: int = 1
    """How often the workload occurs (in a network)."""
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Of the layers of a model that it stands for, where equal ones were merged; no part of equality."""
    _hashed: tuple[int, int] = field(default=(0, 0), init=False, compare=False, repr=False)
    """The process and the hash there; texts have others elsewhere."""

    def __post_init__(self) -> None:
        check_workload(self)

    def __hash__(self) -> int:
        """Computed once: much of what is kept is kept by workload."""
        if self._hashed[0] != PROCESS:
            compared = tuple(getattr(self, each.name) for each in fields(self) if each.compare)
            object.__setattr__(self, "_hashed", (PROCESS, hash(compared)))
        return self._hashed[1]

    def _first_shown(self) -> tuple[str, ...]:
        """The name, and what a product of tensors writes and reads."""
        parts = ("output", "inputs") if self.is_product else ("statements",)
        return ("name", *parts) if self.name else parts

    @classmethod
    def product(
        cls,
        *,
        name: str,
        output: TensorAccess,
        inputs: tuple[TensorAccess, ...],
        sizes: tuple[tuple[str, int], ...],
        semantics: Semantics = Semantics.ACCUMULATE,
        count: int = 1,
        image: Image = (),
    ) -> Workload:
        """The workload of one statement that adds up the product of its inputs.

        Args:
            name: what reports call it.
            output: what is written.
            inputs: what is read, in the order written.
            sizes: (dim, extent) pairs in canonical order.
            semantics: what the first touch of an output element costs.
            count: how often it occurs.
            image: ranges of real values, see `Statement`.

        Raises:
            InputError: see the class.
        """
        statement = multiply(output, inputs, image=image)
        return cls(name=name, statements=(statement,), sizes=sizes, semantics=semantics, count=count)

    @property
    def title(self) -> str:
        """The name, or the statements if it has none: what messages call the workload."""
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
    def only(self) -> Statement:
        """The one statement, for what knows nothing but one that adds up a product of tensors.

        Raises:
            OneStatementError: if there are several, or it is of another kind.
        """
        if self.is_product:
            return self.statements[0]
        raise OneStatementError(why_not_one(self))

    @property
    def is_product(self) -> bool:
        """Whether it is one statement that adds up a product of tensors."""
        return len(self.statements) == 1 and self.statements[0].is_product

    @property
    def output(self) -> TensorAccess:
        """What the one statement writes."""
        return self.only.output

    @property
    def inputs(self) -> tuple[TensorAccess, ...]:
        """What the one statement reads, in the order written."""
        return self.only.inputs

    @property
    def tensors(self) -> tuple[TensorAccess, ...]:
        """The accesses of the one statement: the output, then the inputs in the order written."""
        return self.only.accesses

    @property
    def image(self) -> Image:
        """Ranges of the real values of the one statement where padding is stored but known."""
        return self.only.image

    @property
    def reduction_dims(self) -> tuple[str, ...]:
        """Dims absent from the one output, in canonical order."""
        return tuple(d for d in self.dims if d not in self.output.dims)

    @property
    def operations(self) -> int:
        """Points of all statements (of a product, multiply-accumulates), those on implicit padding included.

        Raises:
            LimitError: if conditions tie too many dims together to be counted.
        """
        if self.is_product:  # asked for often, and every dim is one of the statement's
            return prod(extent for _, extent in self.sizes)
        extents = self.extents
        return sum(each.points(extents) for each in self.statements)

    @property
    def accesses(self) -> tuple[TensorAccess, ...]:
        """All accesses, statement by statement, output first."""
        return tuple(access for statement in self.statements for access in statement.accesses)

    @property
    def roles(self) -> dict[str, TensorRole]:
        """What every tensor is, in the order in which the statements name them."""
        return roles(self.statements, self.outputs)

    @property
    def stored_as(self) -> dict[str, str]:
        """Per tensor the one whose elements hold its own: another where an elementwise function is done in place."""
        return stored_as(self.statements, self.roles, empty=self.semantics is Semantics.ASSIGN)

    @property
    def word_bits(self) -> int:
        """Bits of one word: the greatest common divisor of the tensors' element sizes.

        A word is what traffic and occupancy are counted in, so that both are whole numbers. It is
        no unit to compare workloads by; machines have bytes (see `Machine.rates`, `Capacity.words`).
        """
        return gcd(*(t.bits for t in self.accesses))

    def weight(self, tensor: TensorAccess) -> int:
        """Words per element of a tensor (1 unless element sizes differ)."""
        return tensor.bits // self.word_bits

    @property
    def texts(self) -> tuple[str, ...]:
        """Every statement in optmap notation; an intermediate starts empty, so that its sign is `=`."""
        sign = "+=" if self.semantics is Semantics.ACCUMULATE else "="
        inner = {name for name, role in self.roles.items() if role is TensorRole.INTERMEDIATE}
        return tuple(each.text("=" if each.name in inner else sign) for each in self.statements)

    @property
    def expression(self) -> str:
        """The statements in one text; parsing it with extents, semantics and outputs gives this workload."""
        return "; ".join(self.texts)

    def statement(self, name: str) -> Statement:
        """The statement that writes a tensor.

        Raises:
            UnknownNameError: if none does.
        """
        known = {each.name: each for each in self.statements}
        if name not in known:  # only then the title is made
            choose("statement", name, known, where=self.title)
        return known[name]

    def alone(self, name: str) -> Workload:
        """One of the statements as a workload of its own, called after its output where this one has a name.

        What is an intermediate here is an output there that starts empty.

        Raises:
            UnknownNameError: if no statement writes a tensor of that name.
        """
        statement = self.statement(name)
        inner = self.roles[statement.name] is TensorRole.INTERMEDIATE
        return Workload(
            name=f"{self.name}: {statement.name}" if self.name else "",
            statements=(statement,),
            sizes=tuple((d, n) for d, n in self.sizes if d in statement.dims),
            semantics=Semantics.ASSIGN if inner else self.semantics,
        )

    def touched_alone(self, name: str) -> Workload:
        """A statement as the product of what it reads at all points, for what is asked of its dims and tensors alone.

        Raises:
            UnknownNameError: if no statement writes a tensor of that name.
        """
        one = self.statement(name)
        return replace(self.alone(name), statements=(multiply(one.output, one.inputs, image=one.image),))

    def with_accesses(
        self,
        tensors: Sequence[TensorAccess],
        *,
        sizes: tuple[tuple[str, int], ...] | None = None,
        image: Image | None = None,
    ) -> Workload:
        """The same product of other accesses.

        Args:
            tensors: as many as there are, the output first.
            sizes: (dim, extent) pairs, if they change.
            image: ranges of real values, if they change; see `Statement`.

        Raises:
            OneStatementError: for several statements.
        """
        image = self.only.image if image is None else image
        statement = replace(self.only, output=tensors[0], inputs=tuple(tensors[1:]), image=image)
        return replace(self, statements=(statement,), sizes=self.sizes if sizes is None else sizes)

    def with_extents(self, **extents: int) -> Workload:
        """The same statements with some extents replaced.

        Raises:
            InputError: for an unknown dim, or one whose padding is implicit: its size would change.
        """
        unknown = set(extents) - set(self.dims)
        if unknown:
            raise InputError(f"{self.title}: no dim {sorted(unknown)}; dims are {list(self.dims)}")
        changed = {d for d, n in extents.items() if n != self.extents[d]}
        statements = []
        for statement in self.statements:
            axes = (axis for tensor in statement.accesses for axis in tensor.axes)
            ranges = chain(*statement.real_ranges)
            moved = [a for a, r in zip(axes, ranges, strict=False) if r and changed & set(a.dims)]
            if moved and statement.has_ranges:
                raise InputError(
                    f"{self.title}: the real values of {moved[0]} belong to the extents that it has; "
                    "write a workload of the new sizes, or use padding stored"
                )
            statements.append(replace(statement, image=()) if moved else statement)
        sizes = tuple((d, extents.get(d, n)) for d, n in self.sizes)
        return replace(self, statements=tuple(statements), sizes=sizes)

    @property
    def padding(self) -> Padding:
        """Whether some subscript has implicit padding."""
        return Padding.IMPLICIT if any(each.has_ranges for each in self.statements) else Padding.STORED

    @property
    def real_ranges(self) -> Image:
        """Range of the real values per tensor and axis, whether padding is stored or implicit; () if unknown."""
        return self.only.real_ranges

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
        implicit, made = padding == Padding.IMPLICIT, []
        for statement in self.statements:
            windows = any(len(axis.terms) > 1 for t in statement.accesses for axis in t.axes)
            if implicit and windows and not statement.real_ranges:
                raise InputError(
                    f"{self.title}: where its padding is is not known; give the real values of the subscripts in the "
                    "statement, as in In[c,h+r in 1..7], or use a builder such as conv2d"
                )
            made.append(statement.with_padding(self.extents, implicit=implicit))
        return replace(self, statements=tuple(made))

    @property
    def without_conditions(self) -> Workload:
        """The same with all points of its statements."""
        return replace(self, statements=tuple(replace(each, domain=()) for each in self.statements))

    def with_semantics(self, semantics: Semantics | str) -> Workload:
        """The same computation with the other meaning of its first touch.

        Raises:
            InputError: for another word than `assign` or `accumulate`.
        """
        return replace(self, semantics=Semantics(choose("semantics", semantics, list(Semantics))))

    def with_outputs(self, outputs: Iterable[str]) -> Workload:
        """The same statements with other outputs named beside those that no statement reads.

        Args:
            outputs: names of tensors that are written; one that no statement reads may be among them.

        Raises:
            InputError: for a name of no tensor, or of an input, or one that stands there twice.
        """
        known = roles(self.statements, ())
        place = {each.name: number for number, each in enumerate(self.statements)}
        named = [name for name in outputs if known.get(name) is not TensorRole.OUTPUT]
        return replace(self, outputs=tuple(sorted(named, key=lambda name: place.get(name, -1))))


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
