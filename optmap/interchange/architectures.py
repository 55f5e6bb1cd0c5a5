"""Architectures of Timeloop as machines: memories, their meshes, prices and ports, and what constraints ask for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.base.values import LARGEST
from optmap.files.fields import Fields, located
from optmap.files.stores import exact_number
from optmap.interchange.energies import Energies, access_prices, arithmetic_price
from optmap.interchange.hierarchy import HierarchyPart, PartKind
from optmap.machines.accelerator import Arithmetic, FactorRule, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What constraints ask of the mappings at one memory."""

    keeps: tuple[tuple[str, KeepRule], ...] = ()
    """Of every tensor; empty to keep all."""
    factors: tuple[FactorRule, ...] = ()
    order: tuple[str, ...] = ()
    x_dims: tuple[str, ...] | None = None
    """Dims that may be unrolled along X; None for any."""
    y_dims: tuple[str, ...] | None = None
    x_factors: tuple[FactorRule, ...] = ()
    y_factors: tuple[FactorRule, ...] = ()
    shared: bool = True
    """Whether children share reads and add up on their way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """The memories of an architecture, the outermost first, and the directives' names for their meshes."""

    memories: tuple[HierarchyPart, ...]
    compute: HierarchyPart
    meshes: tuple[tuple[int, int], ...]
    """Children along X and Y of one instance of every memory."""
    owner: dict[str, int]
    """Number of the memory that a directive means, by the name of a memory or of a mesh below it."""
    single: dict[str, tuple[int, int]]
    """Children along X and Y of what a directive means, by name."""


def skeleton_of(parts: list[HierarchyPart], where: str) -> Skeleton:
    """Memories and meshes of an architecture.

    Args:
        parts: as `parts_of` finds them.
        where: file, for messages.

    Raises:
        InputError: for no memory or no arithmetic, or numbers of instances that are no multiples.
    """
    memories = [part for part in parts if part.kind is PartKind.MEMORY]
    compute = next((part for part in parts if part.kind is PartKind.COMPUTE), None)
    if compute is None or not memories:
        raise InputError(f"{where}: no {'arithmetic (such as intmac)' if compute is None else 'memory'} in it")
    names = [part.name for part in parts if part.kind is not PartKind.OTHER]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"{where}: two parts are called {double}; give each a name of its own")
    meshes, owner, single = [], {}, {}
    inner = [*memories[1:], compute]
    for number, (part, child) in enumerate(zip(memories, inner, strict=True)):
        meshes.append(_ratio(part, child, where))
        for name in (part.name, f"inter_{child.name}_spatial"):
            owner[name], single[name] = number, meshes[-1]
    stack = [part for part in parts if part.kind in (PartKind.MEMORY, PartKind.MESH)]
    for place, part in enumerate(stack):
        outside = next((own for own in reversed(stack[:place]) if own.kind is PartKind.MEMORY), None)
        if part.kind is PartKind.MEMORY or outside is None:
            continue
        own = _own_mesh(stack, place, compute, where)
        for name in (part.name, f"inter_{part.name}_spatial"):
            owner[name], single[name] = owner[outside.name], own
    return Skeleton(memories=tuple(memories), compute=compute, meshes=tuple(meshes), owner=owner, single=single)


def _own_mesh(stack: list[HierarchyPart], place: int, compute: HierarchyPart, where: str) -> tuple[int, int]:
    """Children of a mesh: of a container those it says, of a dummy storage those below it."""
    part = stack[place]
    if "dummy" in str(part.attributes.values.get("class", "")):
        return _ratio(part, (*stack, compute)[place + 1], where)
    return _ratio(stack[place - 1], part, where) if place else (part.x, part.y)


def _ratio(outer: HierarchyPart, inner: HierarchyPart, where: str) -> tuple[int, int]:
    if inner.x % outer.x or inner.y % outer.y:
        raise InputError(
            f"{where}: {inner.x} x {inner.y} of {inner.name} do not spread evenly over {outer.x} x {outer.y} of "
            f"{outer.name}"
        )
    return inner.x // outer.x, inner.y // outer.y


def machine_of(skeleton: Skeleton, energies: Energies | None, demands: dict[int, Demands], name: str) -> Machine:
    """The machine of an architecture.

    Args:
        skeleton: its memories.
        energies: of an energy reference table; None where only the architecture gives prices.
        demands: what constraints ask, by number of the memory, outermost first.
        name: of the machine.

    Raises:
        InputError: naming file and field.
    """
    free = Demands(keeps=(("output", KeepRule.FREE), ("inputs", KeepRule.FREE)))
    stores = [
        _store(part, mesh, energies, demands.get(number, free if number else Demands()))
        for number, (part, mesh) in enumerate(zip(skeleton.memories, skeleton.meshes, strict=True))
    ]
    levels = [
        Level(name=part.name, capacity=_capacity(part), buffering=_buffering(part), store=store)
        for part, store in zip(skeleton.memories[1:], stores[1:], strict=True)
    ]
    if not levels:
        raise InputError(
            f"{skeleton.memories[0].attributes.where}: a machine needs a bounded memory below the outermost"
        )
    actions = (energies or {}).get(skeleton.compute.name)
    compute = skeleton.compute.attributes
    price = exact_number(compute, "energy", Fraction(0)) if actions is None else arithmetic_price(actions)
    return Machine(
        name=name,
        memory=skeleton.memories[0].name,
        levels=tuple(reversed(levels)),
        outermost=stores[0],
        arithmetic=Arithmetic(energy_pj=price, word_bits=_word_bits(compute)),
    )


def _store(part: HierarchyPart, mesh: tuple[int, int], energies: Energies | None, demands: Demands) -> Store:
    own = part.attributes
    actions = (energies or {}).get(part.name)
    if actions is None:
        keys = {kind: f"energy_{kind}" for kind in ("read", "fill", "update")}
        prices = {kind: exact_number(own, key) for kind, key in keys.items() if own.given(key)}
        if own.given("vector_access_energy"):
            prices = dict.fromkeys(keys, exact_number(own, "vector_access_energy"))
    else:
        prices = access_prices(actions)
    try:
        return Store(
            keeps=demands.keeps,
            energy_pj=Prices(**prices),
            ports=ports_of(own),
            block=_block(own),
            cluster=own.integer("cluster_size", 1) if own.given("cluster_size") else 1,
            word_bits=_word_bits(own),
            mesh=Mesh(
                x=MeshAxis(size=mesh[0], dims=demands.x_dims, factors=demands.x_factors),
                y=MeshAxis(size=mesh[1], dims=demands.y_dims, factors=demands.y_factors),
                multicast=demands.shared,
                reduction=demands.shared,
            ),
            factors=demands.factors,
            order=demands.order,
            hop_pj=exact_number(own, "energy_per_hop", Fraction(0)),
            router_pj=exact_number(own, "router_energy", Fraction(0)),
        )
    except InputError as error:
        raise located(error, own.where) from error


def ports_of(own: Fields) -> Ports:
    """Words per cycle of one instance; `bandwidth` alone is half for each direction.

    Args:
        own: attributes of a memory.

    Raises:
        InputError: naming file and field.
    """
    rates = {
        key: exact_number(own, f"{key}_bandwidth")
        for key in ("read", "write", "shared")
        if own.given(f"{key}_bandwidth")
    }
    if not rates and own.given("bandwidth"):
        half = exact_number(own, "bandwidth") / 2
        rates = {"read": half, "write": half}
    return Ports(read=rates.get("read"), write=rates.get("write"), shared=rates.get("shared"))


def _word_bits(own: Fields) -> int | None:
    key = next((key for key in ("word_bits", "datawidth") if own.given(key)), None)
    return None if key is None else own.integer(key)


def _block(own: Fields) -> int:
    """Words of one access: what is said, or how many fit into the width."""
    if own.given("block_size"):
        return own.integer("block_size")
    width = next((key for key in ("width", "memory_width") if own.given(key)), None)
    bits = _word_bits(own)
    if width is None or bits is None:
        return 1
    return max(1, own.integer(width) // (bits * own.integer("cluster_size", 1)))


def _capacity(part: HierarchyPart) -> Capacity:
    """Entries of one instance, as Timeloop counts them: said, or rows times the words of a row."""
    own = part.attributes
    if part.unbounded:
        return Capacity(amount=LARGEST, unit="words")
    if own.given("entries"):
        return Capacity(amount=own.integer("entries"), unit="words")
    depth = next((key for key in ("depth", "memory_depth") if own.given(key)), None)
    if depth is not None:
        return Capacity(amount=own.integer(depth) * _block(own), unit="words")
    if own.given("sizeKB"):
        return Capacity(amount=int(exact_number(own, "sizeKB") * 1024), unit="bytes")
    raise InputError(f"{own.where}: {part.name} has no size; write entries, or depth and width")


def _buffering(part: HierarchyPart) -> int:
    own = part.attributes
    if not own.given("multiple_buffering"):
        return 1
    value = exact_number(own, "multiple_buffering")
    if value.denominator != 1 or value < 1:
        raise InputError(f"{own.at('multiple_buffering')} is {own.get('multiple_buffering')}; a whole number is needed")
    return int(value)
