"""Records of another model: architecture, workload and mapping in one document, with what that model counted.

Timeloop's are a JSON list. Levels stand innermost first and loops outermost first; counts are those of one
instance. A record with `exact_differs` names the counts in which that model is known to differ from a
literal walk, and the walk's numbers. FactorFlow's are an object (`factorflow_records`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, entries, located
from optmap.files.kinds import expected
from optmap.files.reading import read_json_any
from optmap.files.stores import exact_number
from optmap.interchange.architectures import ports_of
from optmap.interchange.factorflow_records import FlowRecord, flow_records
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import Loop, MemoryNest, Nest, split_order
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Semantics, Workload

KINDS = ("reads", "fills", "updates")
"""Kinds of accesses; a record has each as `reads_per_instance` and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTensor:
    """What a record says of one tensor in one memory."""

    tile_words: int
    instances: int
    """In use."""
    accesses: dict[str, int]
    """Per kind, of one instance."""
    energy_pj: Fraction
    """All instances together."""
    marked: dict[str, int]
    """Per kind the count of a literal walk, where it is known to differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A mapping of a workload on an accelerator, and what another model counted for it."""

    model: ClassVar[str] = "timeloop"
    """Name of the policy that counts as it does."""
    name: str
    """Its id in the file."""
    note: str
    fabric: Fabric
    nest: Nest
    levels: dict[str, dict[str, ExpectedTensor]]
    """Per memory and tensor."""
    wires: dict[str, dict[str, Fraction]]
    """Energy in pJ per memory whose mesh has a price, and tensor."""
    operations: int
    compute_cycles: int
    cycles: int
    energy_pj: Fraction


def read_records(path: Path) -> tuple[Record, ...] | tuple[FlowRecord, ...]:
    """The records of a file: of Timeloop's model, or of FactorFlow's.

    Raises:
        InputError: if it cannot be read, naming record and field; if two records have one id.
    """
    with expected(path, "a file of records", "records"):
        document = read_json_any(path)
        return flow_records(document) if isinstance(document, Fields) else _timeloop_records(document, path)


def _timeloop_records(document: list[Fields], path: Path) -> tuple[Record, ...]:
    found = tuple(_record(fields) for fields in document)
    names = [record.name for record in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two records have id {twice!r}; give each one of its own")
    return found


def _record(fields: Fields) -> Record:
    name = fields.text("id")
    where = f"{fields.where} (id {name})"
    fields = Fields(values=fields.values, where=where)
    workload = _workload(fields.fields("workload"))
    try:
        fabric = fabric_of(workload, _machine(fields.fields("arch"), workload))
    except InputError as error:
        raise located(error, where) from error
    result = fields.fields("result")
    return Record(
        name=name,
        note=fields.text("note", ""),
        fabric=fabric,
        nest=_nest(fields, fabric),
        levels=_levels(fields, result.fields("levels"), fabric),
        wires=_wires(result, fabric),
        operations=result.integer("computes"),
        compute_cycles=result.integer("compute_cycles"),
        cycles=result.integer("cycles"),
        energy_pj=exact_number(result, "energy_pJ"),
    )


def _workload(fields: Fields) -> Workload:
    extents = fields.integers("dims")
    tensors = [(item, _tensor(item)) for item in fields.items("tensors")]
    output = [tensor for item, tensor in tensors if item.flag("read_write")]
    if len(output) != 1:
        raise InputError(f"{fields.at('tensors')}: {len(output)} have read_write: true; exactly one is needed")
    used = {dim for _, tensor in tensors for dim in tensor.dims}
    try:
        return Workload.product(
            name=fields.text("name"),
            output=output[0],
            inputs=tuple(tensor for _, tensor in tensors if tensor is not output[0]),
            sizes=tuple((dim, n) for dim, n in extents.items() if n > 1 or dim in used),
            semantics=Semantics.ASSIGN,
        )
    except InputError as error:
        raise located(error, fields.where) from error


def _tensor(fields: Fields) -> TensorAccess:
    axes = []
    for number, axis in enumerate(entries(fields.get("projection"), fields.at("projection"))):
        terms: dict[str, int] = {}
        for dim, factor in _pairs(axis, f"{fields.at('projection')}[{number}]"):
            terms[dim] = terms.get(dim, 0) + factor
        axes.append(Subscript(terms=tuple(terms.items())))
    return TensorAccess(name=fields.text("name"), axes=tuple(axes))


def _machine(fields: Fields, workload: Workload) -> Machine:
    mac, levels = fields.fields("mac"), fields.items("levels", least=2)
    free = tuple((tensor.name, KeepRule.FREE) for tensor in workload.tensors)
    stores = [
        Store(
            keeps=free,
            energy_pj=Prices(**{kind: exact_number(own, f"energy_{kind}") for kind in ("read", "fill", "update")}),
            ports=ports_of(own),
            block=_optional(own, "block_size"),
            cluster=_optional(own, "cluster_size"),
            word_bits=own.integer("word_bits"),
            mesh=_mesh(inner, own),
            hop_pj=exact_number(own, "energy_per_hop", Fraction(0)),
            router_pj=exact_number(own, "router_energy", Fraction(0)),
        )
        for inner, own in pairwise([mac, *levels])
    ]
    return Machine(
        name=fields.text("name"),
        levels=tuple(
            Level(
                name=own.text("name"),
                capacity=Capacity(amount=own.integer("entries"), unit="words"),
                store=store,
                inclusive=False,
            )
            for own, store in zip(levels[:-1], stores[:-1], strict=True)
        ),
        memory=levels[-1].text("name"),
        outermost=stores[-1],
        arithmetic=Arithmetic(energy_pj=exact_number(mac, "energy"), word_bits=mac.integer("word_bits")),
    )


def _optional(fields: Fields, key: str) -> int:
    return fields.integer(key) if fields.given(key) else 1


def _mesh(inner: Fields, outer: Fields) -> Mesh:
    """The children of one instance: how many more instances there are inside, and how many more columns."""
    children, rest = divmod(inner.integer("instances"), outer.integer("instances"))
    columns, odd = divmod(inner.integer("meshX"), outer.integer("meshX"))
    if rest or odd or children % max(columns, 1) or not children:
        raise InputError(
            f"{inner.where}: {inner.integer('instances')} instances in {inner.integer('meshX')} columns do not spread "
            f"evenly over {outer.integer('instances')} in {outer.integer('meshX')} ({outer.where})"
        )
    return Mesh(x=MeshAxis(size=columns), y=MeshAxis(size=children // columns))


def _nest(fields: Fields, fabric: Fabric) -> Nest:
    levels = fields.items("mapping")
    names = [memory.name for memory in fabric.memories]
    if [level.text("level") for level in levels] != names:
        raise InputError(f"{fields.at('mapping')}: the levels must be {', '.join(names)}, innermost first")
    return Nest(memories=tuple(_memory(level, fabric) for level in levels))


def _memory(fields: Fields, fabric: Fabric) -> MemoryNest:
    ways = {"X": [1] * len(fabric.dims), "Y": [1] * len(fabric.dims)}
    orders: dict[str, dict[int, None]] = {"X": {}, "Y": {}}
    for number, entry in enumerate(entries(fields.get("spatial"), fields.at("spatial"))):
        where = f"{fields.at('spatial')}[{number}]"
        if not isinstance(entry, list) or len(entry) != 3 or entry[2] not in ("X", "Y"):
            raise InputError(f'{where} is {describe(entry)}; [dim, ways, "X" or "Y"] is needed')
        ((dim, trips),) = _pairs([entry[:2]], where)
        place = _dim(dim, fabric, where)
        if place in orders[entry[2]]:
            raise InputError(f"{where}: two loops over {dim} along {entry[2]}; a mesh has one per dim and axis")
        ways[entry[2]][place] = trips
        orders[entry[2]][place] = None
    temporal: list[Loop] = []
    for dim, trips in _pairs(entries(fields.get("temporal"), fields.at("temporal")), fields.at("temporal")):
        place = _dim(dim, fabric, fields.at("temporal"))
        if place in [known for known, _ in temporal]:
            raise InputError(f"{fields.at('temporal')}: two loops over {dim}; a level has one per dim")
        if trips > 1:
            temporal.append((place, trips))
    keeps = fields.texts("keep")
    unknown = next((name for name in keeps if name not in [operand.name for operand in fabric.operands]), None)
    if unknown is not None:
        raise InputError(f"{fields.at('keep')}: {unknown!r} is no tensor of the workload")
    return MemoryNest(
        x=tuple(ways["X"]),
        y=tuple(ways["Y"]),
        temporal=tuple(temporal),
        keeps=tuple(operand.name in keeps for operand in fabric.operands),
        x_order=split_order(orders["X"], ways["X"]),
        y_order=split_order(orders["Y"], ways["Y"]),
    )


def _dim(name: str, fabric: Fabric, where: str) -> int:
    if name not in fabric.dims:
        raise InputError(f"{where}: {name!r} is no dim of the workload, which has {', '.join(fabric.dims)}")
    return fabric.dims.index(name)


def _pairs(value: object, where: str) -> list[tuple[str, int]]:
    """[dim, whole number] pairs."""
    found = []
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
            raise InputError(f"{where}: {describe(entry)} is no [dim, number]")
        number = Fields(values={entry[0]: entry[1]}, where=where).integer(entry[0])
        found.append((entry[0], number))
    return found


def _levels(fields: Fields, levels: Fields, fabric: Fabric) -> dict[str, dict[str, ExpectedTensor]]:
    marks: dict[tuple[str, str], dict[str, int]] = {}
    for item in fields.items("exact_differs", least=0):
        kind = item.choice("count", KINDS, KINDS[0])
        marks.setdefault((item.text("level"), item.text("tensor")), {})[kind] = item.integer("exact", least=0)
    found = {}
    for memory in fabric.memories:
        tensors = levels.fields(memory.name).fields("tensors")
        found[memory.name] = {
            operand.name: _expected(tensors.fields(operand.name), marks.pop((memory.name, operand.name), {}))
            for operand in fabric.operands
        }
    if marks:
        level, tensor = next(iter(marks))
        raise InputError(f"{fields.at('exact_differs')}: there is no {tensor} in {level}")
    return found


def _wires(result: Fields, fabric: Fabric) -> dict[str, dict[str, Fraction]]:
    """What a record says of its networks; those without prices are not looked at."""
    inner = ["MAC", *(memory.name for memory in fabric.memories)]
    found = {}
    for memory, inside in zip(fabric.memories, inner, strict=False):
        if memory.wired:
            tensors = result.fields("networks").fields(f"{memory.name} <==> {inside}")
            found[memory.name] = {
                operand.name: exact_number(tensors.fields(operand.name), "energy_pJ") for operand in fabric.operands
            }
    return found


def _expected(fields: Fields, marked: dict[str, int]) -> ExpectedTensor:
    return ExpectedTensor(
        tile_words=fields.integer("tile_size", least=0),
        instances=fields.integer("instances", least=0),
        accesses={kind: fields.integer(f"{kind}_per_instance", least=0) for kind in KINDS},
        energy_pj=exact_number(fields, "energy_pJ"),
        marked=marked,
    )
