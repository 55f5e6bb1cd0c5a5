"""What the memories of an accelerator are beside their capacity: who is kept, prices, ports, fanout, rules.

A machine whose levels carry a `Store` is an accelerator: a level feeds a mesh of children, tensors may
bypass it, and each kind of access has a price. Dims and tensors are named by what they do in a
workload (`ROLES`, `TENSOR_ROLES`), so that one machine serves convolutions and matrix products alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.base.shown import Concise
from optmap.base.values import LARGEST, quoted, whole_number
from optmap.machines.relations import GAP, Relation

ROLES = ("batch", "filters", "channels", "height", "width", "filter_height", "filter_width")
"""What a dim can be in a workload; `roles.roles_of` says which it is."""
TENSOR_ROLES = ("output", "inputs", "input", "weight")
"""What a tensor can be in a workload: `inputs` are all but the output, `input` is the image of a convolution (else the
first of them), `weight` the first of the others."""


class KeepRule(StrEnum):
    """Whether a memory holds a tensor."""

    KEPT = "kept"
    """It must."""
    REFUSED = "refused"
    """It must not: the tensor bypasses the memory."""
    FREE = "free"
    """The mapping decides."""


def amount(value: object, what: str) -> Fraction:
    """An exact number, 0 or more; a float is taken as the decimal number that was written.

    Raises:
        InputError: for anything else.
    """
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    try:
        found = value if isinstance(value, Fraction) else Fraction(str(value)) if number else Fraction(-1)
    except ValueError:
        found = Fraction(-1)
    if not 0 <= found <= LARGEST:
        raise InputError(f"{what} is {quoted(value)}; a finite number, 0 or more, is needed")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Energy of one access to a memory, in pJ (exact; decimal numbers are kept as written)."""

    read: Fraction | float = Fraction(0)
    """Of a read, for the level inside or for the drain."""
    fill: Fraction | float = Fraction(0)
    """Of a write of what comes from the level outside."""
    update: Fraction | float = Fraction(0)
    """Of a write of an output that comes from the level inside."""

    def __post_init__(self) -> None:
        for key in ("read", "fill", "update"):
            object.__setattr__(self, key, amount(getattr(self, key), f"energy_pj: {key}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What passes one instance of a memory per cycle; None where nothing limits it."""

    read: Fraction | float | None = None
    write: Fraction | float | None = None
    """Fills and updates together."""
    shared: Fraction | float | None = None
    """Reads and writes together."""
    unit: str = "words"
    """Of all three, per cycle: `words`, of any size (entries of a memory that packs), or `bytes` of the elements."""

    def __post_init__(self) -> None:
        if self.unit not in ("bytes", "words"):
            raise InputError(f"ports are in {quoted(self.unit)} per cycle; use bytes or words")
        for key in ("read", "write", "shared"):
            value = getattr(self, key)
            if value is not None:
                rate = amount(value, f"ports: {key}")
                if not rate:
                    raise InputError(f"ports: {key} is 0; leave it out where nothing limits it")
                object.__setattr__(self, key, rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorRule:
    """A demand of the machine on the trips of loops at one level (temporal, or along one axis of a mesh)."""

    dim: str
    """A role of `ROLES`, or the name of a dim of the workload; of a role with several dims their product counts."""
    relation: Relation
    """Equal, at most, or at least."""
    value: int

    def __post_init__(self) -> None:
        whole_number(self.value, f"factors: {self.dim}")
        if self.relation is Relation.MULTIPLE:
            raise InputError(f"factors: {self.dim}: a factor is =, <= or >= a number")

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.dim}{self.relation}{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshAxis:
    """One direction of a mesh of children."""

    size: int = 1
    """Children along it."""
    dims: tuple[str, ...] | None = None
    """Roles or names of the dims that may be unrolled along it; None for any."""
    factors: tuple[FactorRule, ...] = ()
    """What the ways along it must be."""

    def __post_init__(self) -> None:
        whole_number(self.size, "fanout: size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh(Concise):
    """The children that one instance of a memory feeds."""

    x: MeshAxis = MeshAxis()
    y: MeshAxis = MeshAxis()
    multicast: bool = True
    """Whether children that need the same words are served by one read."""
    reduction: bool = True
    """Whether partial sums of children are added up on their way to one update."""

    @property
    def size(self) -> int:
        """Children: the product of both directions."""
        return self.x.size * self.y.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Concise):
    """A memory of an accelerator beside its name and capacity."""

    keeps: tuple[tuple[str, KeepRule], ...] = ()
    """(role or name of a tensor, whether it is held). Without any every tensor is kept; with some, a tensor
    that is not named is refused, and the last of several that name one counts (`inputs`, then `weight`)."""
    energy_pj: Prices = Prices()
    """Of an access."""
    energy_pj_per_bit: Prices = Prices()
    """Of every bit of the elements accessed, beside that."""
    ports: Ports = Ports()
    block: int = 1
    """Words of one access (entries of a memory that packs): `ceil(words / block)` accesses are paid for."""
    cluster: int = 1
    """Instances that one access serves together."""
    word_bits: int | None = None
    """Size of an entry; a capacity in bytes holds that many entries. An element takes one entry, unless it packs."""
    pack: bool = False
    """Whether narrow elements share entries and wide ones take several (`elements.entries_of`)."""
    mesh: Mesh = Mesh()
    factors: tuple[FactorRule, ...] = ()
    """What the trips of its temporal loops must be."""
    order: tuple[str, ...] = ()
    """Order of its temporal loops, outermost first; `...` for any loops. Empty for any order."""
    hop_pj: Fraction | float = Fraction(0)
    """Energy of a word's hop to a neighbour on its mesh."""
    router_pj: Fraction | float = Fraction(0)
    """Energy of a word in a router of its mesh."""

    def __post_init__(self) -> None:
        for key in ("block", "cluster"):
            whole_number(getattr(self, key), key)
        if self.word_bits is not None:
            whole_number(self.word_bits, "word_bits")
        elif self.pack:
            raise InputError("pack needs the size of an entry; add for example `word_bits: 64`")
        for key in ("hop_pj", "router_pj"):
            object.__setattr__(self, key, amount(getattr(self, key), key))
        tensors = [tensor for tensor, _ in self.keeps]
        if len(set(tensors)) != len(tensors):
            raise InputError(f"keeps names a tensor twice: {','.join(tensors)}")
        named = [dim for dim in self.order if dim != GAP]
        if len(set(named)) != len(named):
            raise InputError(f"order names a dim twice: {','.join(self.order)}")

    @property
    def wired(self) -> bool:
        """Whether words pay for wires or routers of its mesh."""
        return bool(self.hop_pj or self.router_pj)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """The units at the leaves of an accelerator: one multiply-accumulate per cycle and unit."""

    energy_pj: Fraction | float = Fraction(0)
    """Of one multiply-accumulate."""
    word_bits: int | None = None
    """Size of an operand, for display and interchange."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "energy_pj", amount(self.energy_pj, "arithmetic: energy_pj"))
        if self.word_bits is not None:
            whole_number(self.word_bits, "arithmetic: word_bits")
