"""Workload, machine and mapping as files of Timeloop (version 0.4)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from optmap.base.errors import InputError
from optmap.interchange.energies import energies_document
from optmap.interchange.problems import problem_document
from optmap.interchange.yaml_files import TAG, Tagged, dump
from optmap.machines.accelerator import KeepRule, Prices, Store
from optmap.machines.fabric import Direction, Fabric, Memory, Rule
from optmap.machines.machine import Level
from optmap.machines.relations import Relation
from optmap.mappings.nest import Nest
from optmap.workloads.workload import access_names


def timeloop_files(fabric: Fabric, nest: Nest | None) -> dict[str, str]:
    """The text of `problem.yaml`, `arch.yaml` (with the energies) and, for a mapping, `map.yaml`.

    A memory's mesh becomes a container per axis, so that a dim can be unrolled along both. Read again by
    `read_timeloop`, they give a mapping that counts the same, and is as valid. Of the machine's rules those are left
    out that Timeloop cannot say: products of several dims, and orders with a gap anywhere but outside, or of dims that
    share a role.

    Args:
        fabric: workload and machine.
        nest: the mapping; where it pads dims, the problem has the padded sizes.

    Raises:
        InputError: for what Timeloop has not: parts of a memory for some tensors, multicast without reduction or the
            other way round, and prices, ports and entries by the size of elements.
    """
    fabric = _settled(fabric, nest)
    extents = fabric.extents if nest is None else nest.tiles()[-1]
    problem = problem_document(fabric.workload, dict(zip(fabric.dims, extents, strict=True)))
    found = {"problem.yaml": dump({"problem": problem}), "arch.yaml": dump(_architecture(fabric))}
    if nest is not None:
        found["map.yaml"] = dump({"mapping": _directives(nest, fabric)})
    return found


def _settled(fabric: Fabric, nest: Nest | None) -> Fabric:
    """Timeloop's outermost memory leaves nothing open: it has what the mapping keeps there (all without one)."""
    *inner, outermost = fabric.memories
    held = (True,) * len(outermost.keeps) if nest is None else nest.memories[-1].keeps
    keeps = tuple(
        keep if keep is not KeepRule.FREE else KeepRule.KEPT if own else KeepRule.REFUSED
        for keep, own in zip(outermost.keeps, held, strict=True)
    )
    return replace(fabric, memories=(*inner, replace(outermost, keeps=keeps)))


def _architecture(fabric: Fabric) -> dict[str, object]:
    machine = fabric.machine
    nodes: list[object] = [Tagged({TAG: "Container", "name": "System"})]
    tables: dict[str, dict[str, int | float]] = {}
    levels = (None, *reversed(machine.levels))  # None is the unbounded memory
    for memory, level, store in zip(reversed(fabric.memories), levels, reversed(machine.stores), strict=True):
        nodes.append(
            Tagged(
                {
                    TAG: "Component",
                    "name": memory.name,
                    "class": "DRAM" if level is None else "SRAM",
                    "attributes": _attributes(memory, level, store),
                    "constraints": _constraints(memory, fabric),
                }
            )
        )
        nodes += [
            _container(memory, axis, direction, fabric) for axis, direction in _axes(memory) if direction.size > 1
        ]
        prices = {"read": store.energy_pj.read, "write": store.energy_pj.fill, "update": store.energy_pj.update}
        tables[memory.name] = {action: _decimal(price) for action, price in prices.items()}
    name = _arithmetic_name(fabric)
    bits = machine.arithmetic.word_bits or 16
    nodes.append(Tagged({TAG: "Component", "name": name, "class": "intmac", "attributes": {"datawidth": bits}}))
    tables[name] = {"compute": _decimal(fabric.arithmetic_pj)}
    return {"architecture": {"version": "0.4", "nodes": nodes}, "ERT": energies_document(tables)}


def _arithmetic_name(fabric: Fabric) -> str:
    name, taken = "mac", {memory.name for memory in fabric.memories}
    while name in taken:
        name += "_"
    return name


def _axes(memory: Memory) -> tuple[tuple[str, Direction], ...]:
    return ("X", memory.x), ("Y", memory.y)


def _mesh_name(memory: Memory, axis: str) -> str:
    """What a container of a mesh is called."""
    return f"{memory.name}_mesh{axis}"


def _attributes(memory: Memory, level: Level | None, store: Store) -> dict[str, object]:
    """Of a memory; a width is as many words as one access has."""
    by_size = {
        "pack": store.pack,
        "energy_pj_per_bit": store.energy_pj_per_bit != Prices(),
        "ports in bytes": store.ports.unit == "bytes",
    }
    own = next((what for what, there in by_size.items() if there), None)
    if own is not None:
        raise InputError(
            f"level {memory.name} has {own}; an entry of Timeloop holds one element of any size, at one price: export "
            "a machine with energies and ports per element of the size at hand"
        )
    bits = store.word_bits or 16
    found: dict[str, object] = {"datawidth": bits, "width": bits * store.block * store.cluster}
    if level is not None:
        if level.partitions:
            raise InputError(f"level {level.name} has partitions; Timeloop has one size per memory: split the level")
        found |= {"entries": memory.rooms[0].capacity * level.buffering, "multiple_buffering": level.buffering}
        weights = set(memory.rooms[0].weights)
        if weights != {1}:
            raise InputError(
                f"level {level.name}: its bytes are no number of entries for these element sizes; give it word_bits"
            )
    found |= {"block_size": store.block, "cluster_size": store.cluster}
    rates = {"read": store.ports.read, "write": store.ports.write, "shared": store.ports.shared}
    found |= {f"{key}_bandwidth": _decimal(rate) for key, rate in rates.items() if rate is not None}
    wires = {"energy_per_hop": store.hop_pj, "router_energy": store.router_pj}
    return found | {key: _decimal(price) for key, price in wires.items() if price}


def _constraints(memory: Memory, fabric: Fabric) -> dict[str, object]:
    names = access_names(fabric.workload, mark="_")
    keeps = {
        "keep": [name for name, keep in zip(names, memory.keeps, strict=True) if keep is KeepRule.KEPT],
        "bypass": [name for name, keep in zip(names, memory.keeps, strict=True) if keep is KeepRule.REFUSED],
    }
    temporal: dict[str, object] = {}
    factors = _factors(memory.rules, fabric)
    inner = memory.order[1:] if memory.order[:1] == (None,) else memory.order
    if inner and all(entry is not None and len(entry) <= 1 for entry in inner):
        named = [dim for entry in inner for dim in entry or ()]
        temporal["permutation"] = [fabric.dims[dim] for dim in reversed(named)]  # innermost first
        if inner == memory.order:  # no gap: other dims have no loop there
            factors |= {dim: f"{dim}=1" for place, dim in enumerate(fabric.dims) if place not in named}
    if factors:
        temporal["factors"] = list(factors.values())
    return {"dataspace": keeps, **({"temporal": temporal} if temporal else {})}


def _factors(rules: tuple[Rule, ...], fabric: Fabric) -> dict[str, str]:
    """Rules as factors by dim: those of one dim, and those that leave one trip to each of several."""
    found: dict[str, str] = {}
    for rule in rules:
        ones = rule.value == 1 and rule.relation in (Relation.EQUAL, Relation.AT_MOST)
        if len(rule.dims) == 1 or ones:
            for dim in rule.dims:
                found.setdefault(fabric.dims[dim], f"{fabric.dims[dim]}{rule.relation}{rule.value}")
    return found


def _container(memory: Memory, axis: str, direction: Direction, fabric: Fabric) -> Tagged:
    """One axis of a mesh, with what may be unrolled along it."""
    if memory.multicast is not memory.reduction:
        raise InputError(f"level {memory.name}: Timeloop has multicast and reduction together, or neither")
    rules = _factors(direction.rules, fabric)
    rules |= {dim: f"{dim}=1" for dim, allowed in zip(fabric.dims, direction.allowed, strict=True) if not allowed}
    spatial: dict[str, object] = {"factors": list(rules.values())}
    if not memory.multicast:
        spatial["no_multicast_no_reduction"] = list(access_names(fabric.workload, mark="_"))
    return Tagged(
        {
            TAG: "Container",
            "name": _mesh_name(memory, axis),
            "spatial": {f"mesh{axis}": direction.size},
            "constraints": {"spatial": spatial},
        }
    )


def _directives(nest: Nest, fabric: Fabric) -> list[dict[str, object]]:
    """A mapping, outermost first; permutations innermost first."""
    names, dims = access_names(fabric.workload, mark="_"), fabric.dims
    found: list[dict[str, object]] = []
    for memory, own in zip(reversed(fabric.memories), reversed(nest.memories), strict=True):
        kept = [name for name, keep in zip(names, own.keeps, strict=True) if keep]
        bypassed = [name for name in names if name not in kept]
        found.append({"target": memory.name, "type": "dataspace", "keep": kept, "bypass": bypassed})
        loops = [dims[dim] for dim, _ in reversed(own.temporal)]
        trips = [own.trips(dim) for dim in range(len(dims))]
        found.append(
            {
                "target": memory.name,
                "type": "temporal",
                "factors": [f"{dim}={trip}" for dim, trip in zip(dims, trips, strict=True)],
                "permutation": [*loops, *(dim for dim in dims if dim not in loops)],
            }
        )
        sides = ((own.x, own.x_order), (own.y, own.y_order))
        for (axis, direction), (ways, order) in zip(_axes(memory), sides, strict=True):
            if direction.size == 1 and prod(ways) > 1:
                raise InputError(f"level {memory.name}: its mesh has no axis {axis}, but the mapping is split there")
            if direction.size > 1:
                factors = [f"{dim}={way}" for dim, way in zip(dims, ways, strict=True)]
                split = len(dims) if axis == "X" else 0
                mesh = {"target": _mesh_name(memory, axis), "type": "spatial", "factors": factors}
                inner = [dims[dim] for dim in reversed(order or range(len(dims)))]
                rest = [dim for dim in dims if dim not in inner]
                found.append({**mesh, "permutation": [*inner, *rest], "split": split})
    return found


def _decimal(value: Fraction | float) -> int | float:
    """A number as YAML writes it; exact if a decimal number is."""
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else float(exact)
