"""Records of FactorFlow's model: architectures once, and mappings with reads, writes, energy and latency per memory.

A file is an object with `architectures` and `records`. Levels stand outermost first, memories, fanouts and the units
in one list; the fanouts behind a memory are the axes of its mesh. Counts are those of all instances together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, entries, located
from optmap.files.stores import exact_number
from optmap.machines.accelerator import Arithmetic, FactorRule, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.machines.relations import GAP, Relation
from optmap.mappings.nest import MemoryNest, Nest
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Semantics, Workload

TENSORS = ("out", "in", "w")
"""Output, then inputs, as the model calls them."""
COUPLING = re.compile(r"dims: (\w+), in_coupling: (\S+), w_coupling: (\S+), out_coupling: (\S+)")
TERM = re.compile(r"(?:(\w+)\*)?(\w)")
FACTOR = re.compile(r"(\w)(<=|>=)?")
ONE_WAY: dict[str, dict[str, object]] = {
    "memory": {"values_per_wordline": 1, "leak_pJ_per_cc": 0, "multiple_reuses": True},
    "fanout": {
        "pe_to_pe": False,
        "selective_multicast": False,
        "selective_reduction": False,
        "power_gating": False,
    },
    "compute": {"mesh": 1, "cycles": 1, "leak_pJ_per_cc": 0},
}
"""What a level may say in one way only: optmap has no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTensor:
    """Accesses of one tensor to one memory, all instances together."""

    reads: int
    """Drains among them."""
    writes: int
    """Fills and updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLevel:
    """What a record says of one memory."""

    tensors: dict[str, FlowTensor]
    """Of all tensors, kept or not."""
    output_fills: int
    """Of the output's writes, those from the memory outside."""
    instances: int
    footprint: int
    """Words that its tiles take, strides taken as 1."""
    energy_pj: Fraction
    latency: Fraction
    """Cycles until this memory and all inside it are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """A mapping on an accelerator, and what FactorFlow's model counted for it."""

    model: ClassVar[str] = "factorflow"
    """Name of the policy that counts as it does."""
    name: str
    """Number, architecture and workload."""
    fabric: Fabric
    nest: Nest
    charge_drains: bool
    """Whether outputs that leave are read at a price."""
    hulls: bool
    """Whether values of subscripts were overestimated."""
    bias: bool
    """Whether outputs start from values that are read."""
    levels: dict[str, FlowLevel]
    """Per memory."""
    operations: int
    energy_pj: Fraction
    latency: Fraction


def flow_records(document: Fields) -> tuple[FlowRecord, ...]:
    """The records of a file.

    Raises:
        InputError: naming record and field; for what optmap's machines have not.
    """
    architectures = document.fields("architectures")
    return tuple(_record(number, fields, architectures) for number, fields in enumerate(document.items("records")))


def _record(number: int, fields: Fields, architectures: Fields) -> FlowRecord:
    kind = fields.text("arch")
    name = f"{number:03d} {kind} {fields.text('workload')}"
    where = f"{fields.where} ({name})"
    fields = Fields(values=fields.values, where=where)
    known = kind if architectures.has(kind) else kind.partition(" (")[0]
    levels = architectures.fields(known).items("levels", least=2)
    rows = fields.items("mapping", least=2)
    _same_levels(levels, rows, fields)
    workload = _workload(fields)
    try:
        fabric = fabric_of(workload, _machine(known, levels, workload))
    except InputError as error:
        raise located(error, where) from error
    settings = fields.fields("settings")
    results = fields.items("levels")
    return FlowRecord(
        name=name,
        fabric=fabric,
        nest=_nest(levels, rows, fabric),
        charge_drains=not settings.flag("FREE_DRAINS"),
        hulls=settings.flag("OVERESTIMATE_DISTINCT_VALUES"),
        bias=fields.flag("bias_read"),
        levels={memory.name: _level(_of(results, memory.name, fields)) for memory in fabric.memories},
        operations=_of(results, levels[-1].text("compute"), fields).integer("macs"),
        energy_pj=exact_number(fields, "energy_total_pJ(incl leakage)"),
        latency=exact_number(fields, "latency_cc"),
    )


def _kind(level: Fields) -> str:
    found = next((kind for kind in ONE_WAY if level.has(kind)), None)
    if found is None:
        raise InputError(f"{level.where}: neither memory nor fanout nor compute")
    for key, only in ONE_WAY[found].items():
        if level.has(key) and level.get(key) != only:
            raise InputError(f"{level.at(key)} is {describe(level.get(key))}; counting factorflow knows {only} only")
    return found


def _same_levels(levels: list[Fields], rows: list[Fields], fields: Fields) -> None:
    """The levels of an architecture and of a mapping are the same, memories and fanouts, the units at the end."""
    kinds = [_kind(level) for level in levels]
    names = [level.text(kind) for level, kind in zip(levels, kinds, strict=True)]
    if kinds[0] != "memory" or kinds[-1] != "compute" or kinds.count("compute") > 1:
        raise InputError(f"{levels[0].where}: levels are memories and fanouts, a memory first, and compute at the end")
    if [row.text("level") for row in rows] != names:
        raise InputError(f"{fields.at('mapping')}: the levels must be {', '.join(names)}, outermost first")


def _of(results: list[Fields], name: str, fields: Fields) -> Fields:
    found = next((row for row in results if row.text("level") == name), None)
    if found is None:
        raise InputError(f"{fields.at('levels')}: nothing is said of {name}")
    return found


def _workload(fields: Fields) -> Workload:
    sizes, text = fields.integers("dims"), fields.text("coupling")
    found = COUPLING.fullmatch(text)
    if found is None:
        raise InputError(f"{fields.at('coupling')} is {text!r}; `dims: ..., in_coupling: [...]...` is needed")
    dims, *couplings = found.groups()
    missing = next((dim for dim in dims if dim not in sizes), None)
    if missing is not None:
        raise InputError(f"{fields.at('dims')}: {missing} is missing")
    accesses = {
        name: TensorAccess(name=name, axes=_axes(coupling, sizes, fields))
        for name, coupling in zip(("in", "w", "out"), couplings, strict=True)
    }
    try:
        return Workload.product(
            name=fields.text("workload"),
            output=accesses["out"],
            inputs=(accesses["in"], accesses["w"]),
            sizes=tuple((dim, sizes[dim]) for dim in dims),
            semantics=Semantics.ASSIGN,
        )
    except InputError as error:
        raise located(error, fields.where) from error


def _axes(coupling: str, sizes: dict[str, int], fields: Fields) -> tuple[Subscript, ...]:
    """Subscripts from `[C][Pstride*P+Rdilation*R]`: a name before a dim is a coefficient, 1 where it has no value."""
    axes = []
    for part in coupling.removeprefix("[").removesuffix("]").split("]["):
        terms = [TERM.fullmatch(term) for term in part.split("+")]
        if not all(terms):
            raise InputError(f"{fields.at('coupling')}: {part!r} is no sum of dims")
        axes.append(Subscript(terms=tuple((term[2], sizes.get(term[1] or "", 1)) for term in terms if term)))
    return tuple(axes)


def _machine(name: str, levels: list[Fields], workload: Workload) -> Machine:
    left = dict(workload.extents)
    groups = _grouped(levels)
    made = [(group[0], _store(group, left)) for group in groups]
    (outermost, outer), inside, compute = made[0], made[:0:-1], levels[-1]
    return Machine(
        name=name,
        levels=tuple(
            Level(
                name=own.text("memory"),
                capacity=Capacity(amount=own.integer("size_values"), unit="words"),
                buffering=own.integer("multiple_buffering"),
                store=store,
                inclusive=False,
            )
            for own, store in inside
        ),
        memory=outermost.text("memory"),
        outermost=outer,
        arithmetic=Arithmetic(energy_pj=exact_number(compute, "energy_pJ")),
    )


def _grouped(levels: list[Fields]) -> list[list[Fields]]:
    """Every memory with the fanouts behind it, outermost first."""
    groups: list[list[Fields]] = []
    for level in levels[:-1]:
        if level.has("memory"):
            groups.append([level])
        else:
            groups[-1].append(level)
        if len(groups[-1]) > 3:
            raise InputError(f"{level.where}: a third fanout behind one memory; a mesh has two axes")
    return groups


def _store(group: list[Fields], left: dict[str, int]) -> Store:
    """A memory and its mesh.

    Args:
        group: the memory and its fanouts.
        left: what is left of every extent for demanded factors, level after level; is changed.
    """
    own, *fanouts = group
    price = {kind: exact_number(own, f"{kind}_pJ") for kind in ("read", "write")}
    refused = own.texts("bypass")
    factors = _factors(own, left)
    axes = [
        MeshAxis(size=fanout.integer("mesh"), dims=fanout.texts("dims"), factors=_factors(fanout, left))
        for fanout in fanouts
    ]
    together = {key: {fanout.flag(f"spatial_{key}") for fanout in fanouts} for key in ("multicast", "reduction")}
    if any(len(flags) > 1 for flags in together.values()):
        raise InputError(f"{fanouts[1].where}: the two fanouts of one mesh share words in different ways")
    return Store(
        keeps=tuple((name, KeepRule.REFUSED if name in refused else KeepRule.KEPT) for name in TENSORS),
        energy_pj=Prices(read=price["read"], fill=price["write"], update=price["write"]),
        ports=Ports(read=exact_number(own, "read_bw"), write=exact_number(own, "write_bw")),
        mesh=Mesh(
            **dict(zip(("x", "y"), axes, strict=False)),
            multicast=False not in together["multicast"],
            reduction=False not in together["reduction"],
        ),
        factors=factors,
        order=_order(own, left),
    )


def _factors(own: Fields, left: dict[str, int]) -> tuple[FactorRule, ...]:
    """Demanded factors. As the tool does, one that is more than a workload has is what it has."""
    rules = []
    for key, value in own.integers("factors_constraints").items():
        found = FACTOR.fullmatch(key)
        if found is None or found[1] not in left:
            raise InputError(f"{own.at('factors_constraints')}: {key!r} is no dim of the workload")
        relation, dim = Relation(found[2] or "="), found[1]
        asked = value if relation is Relation.AT_MOST else min(value, left[dim])
        if relation is not Relation.AT_MOST:
            left[dim] //= asked
        rules.append(FactorRule(dim=dim, relation=relation, value=asked))
    return tuple(rules)


def _order(own: Fields, left: dict[str, int]) -> tuple[str, ...]:
    """The order of loops: `_` is any further one; dims that are not named may stand anywhere if there is none."""
    names = own.texts("dataflow_constraints")
    if "_" in names:
        return (*(name for name in names if name != "_"), GAP)
    if len(names) in (0, len(left)):
        return names
    return (GAP, *(part for name in names for part in (name, GAP)))


def _nest(levels: list[Fields], rows: list[Fields], fabric: Fabric) -> Nest:
    """The loops of a mapping; tiles that it states must be what its loops make."""
    made: list[tuple[tuple[tuple[int, int], ...], list[tuple[int, ...]], tuple[bool, ...]]] = []
    below = dict.fromkeys(fabric.dims, 1)
    ways: list[tuple[int, ...]] = []
    for level, row in zip(reversed(levels), reversed(rows), strict=True):
        loops = _loops(row, fabric)
        if row.integers("tile_sizes_below") != below:
            raise InputError(f"{row.at('tile_sizes_below')} is not what the loops inside make")
        below = {
            dim: size * prod(n for own, n in loops if own == place) for place, (dim, size) in enumerate(below.items())
        }
        if level.has("memory"):
            kept = tuple(operand.name not in level.texts("bypass") for operand in fabric.operands)
            made.append((tuple(loop for loop in loops if loop[1] > 1), ways, kept))
            ways = []
        elif level.has("fanout"):
            ways = [tuple(prod(n for own, n in loops if own == place) for place in range(len(fabric.dims))), *ways]
        elif any(n > 1 for _, n in loops):
            raise InputError(f"{row.where}: the units run loops of their own; counting factorflow has one of each")
    alone = (1,) * len(fabric.dims)
    return Nest(
        memories=tuple(
            MemoryNest(x=(*axes, alone, alone)[0], y=(*axes, alone, alone)[1], temporal=temporal, keeps=kept)
            for temporal, axes, kept in made
        )
    )


def _loops(row: Fields, fabric: Fabric) -> list[tuple[int, int]]:
    """(dim, trips) as a level has them, outermost first."""
    where = row.at("loops_outer_to_inner")
    found = []
    for entry in entries(row.get("loops_outer_to_inner"), where):
        if not isinstance(entry, list) or len(entry) != 2 or entry[0] not in fabric.dims:
            raise InputError(f"{where}: {describe(entry)} is no [dim, trips]")
        trips = Fields(values={entry[0]: entry[1]}, where=where).integer(entry[0])
        found.append((fabric.dims.index(entry[0]), trips))
    dims = [dim for dim, _ in found]
    if len(set(dims)) < len(dims):
        raise InputError(f"{where}: two loops over one dim; a level has one per dim")
    return found


def _level(row: Fields) -> FlowLevel:
    return FlowLevel(
        tensors={
            name: FlowTensor(reads=row.integer(f"{name}_reads", least=0), writes=row.integer(f"{name}_writes", least=0))
            for name in TENSORS
        },
        output_fills=row.integer("out_fill_from_above(last_out_reads)", least=0),
        instances=row.integer("active_instances"),
        footprint=row.integer("footprint_values", least=0),
        energy_pj=exact_number(row, "energy_dynamic_pJ"),
        latency=exact_number(row, "latency"),
    )
