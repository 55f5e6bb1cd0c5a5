"""Accelerators in files and documents: what is written is read back, and what is wrong is named."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import optmap
from optmap.base.errors import InputError
from optmap.files import library
from optmap.files.fields import Fields
from optmap.files.library import list_machines
from optmap.files.machines import machine_document, machine_from
from optmap.files.mappings import mapping_document, read_mapping
from optmap.interchange import read_records
from optmap.machines.accelerator import (
    ROLES,
    TENSOR_ROLES,
    Arithmetic,
    FactorRule,
    KeepRule,
    Mesh,
    MeshAxis,
    Ports,
    Prices,
    Store,
)
from optmap.machines.fabric import Fabric, Memory, fabric_of
from optmap.machines.machine import Level, LevelKind, Machine, Partition
from optmap.machines.relations import Relation
from optmap.mappings.nest import MemoryNest, Nest, mapping_of, nest_of
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul
from optmap.workloads.parser import parse_workload

DATA = Path(__file__).parents[1] / "data"
ACCELERATORS = [name for name in list_machines() if library.machine(name).stores]

amounts = st.one_of(
    st.integers(0, 10**6).map(Fraction),
    st.decimals(0, 1000, places=3).map(Fraction),
    st.fractions(0, 50, max_denominator=97),
)
rates = st.none() | amounts.filter(bool)
rules = st.lists(
    st.builds(
        FactorRule,
        dim=st.sampled_from(ROLES),
        relation=st.sampled_from([Relation.EQUAL, Relation.AT_MOST, Relation.AT_LEAST]),
        value=st.integers(1, 64),
    ),
    max_size=3,
).map(lambda found: tuple(sorted(found, key=lambda rule: ROLES.index(rule.dim))))
some_dims = st.lists(st.sampled_from(ROLES), unique=True).map(tuple)
axes = st.builds(MeshAxis, size=st.integers(1, 16), dims=st.none() | some_dims, factors=rules)


def _store(*, pack: bool, word_bits: int | None, **given: Any) -> Store:
    return Store(pack=pack and word_bits is not None, word_bits=word_bits, **given)


prices = st.builds(Prices, read=amounts, fill=amounts, update=amounts)
stores = st.builds(
    _store,
    pack=st.booleans(),
    energy_pj_per_bit=st.just(Prices()) | prices,
    keeps=st.lists(
        st.tuples(st.sampled_from(TENSOR_ROLES), st.sampled_from(KeepRule)), unique_by=lambda pair: pair[0]
    ).map(tuple),
    energy_pj=prices,
    ports=st.builds(Ports, read=rates, write=rates, shared=rates, unit=st.sampled_from(["words", "bytes"])),
    block=st.integers(1, 64),
    cluster=st.integers(1, 64),
    word_bits=st.none() | st.integers(1, 64),
    mesh=st.builds(Mesh, x=axes, y=axes, multicast=st.booleans(), reduction=st.booleans()),
    factors=rules,
    order=st.lists(st.sampled_from([*ROLES, "..."]), unique=True).map(tuple),
    hop_pj=amounts,
    router_pj=amounts,
)


sizes = st.none() | st.integers(1, 256)
replacements = st.just(dict[str, Any]()) | st.fixed_dictionaries(
    {"kind": st.just(LevelKind.CACHE), "line_bytes": sizes, "ways": sizes}
)


@st.composite
def accelerators(draw: st.DrawFn) -> Machine:
    levels = []
    for number in range(draw(st.integers(1, 3))):
        capacity = Capacity(amount=draw(st.integers(2, 4096)), unit=draw(st.sampled_from(["words", "bytes"])))
        half = Capacity(amount=capacity.amount // 2, unit=capacity.unit)
        rest = Capacity(amount=capacity.amount - half.amount, unit=capacity.unit)
        parts = (
            Partition(name="a", tensors=("inputs",), capacity=half),
            Partition(name="b", tensors=("output",), capacity=rest),
        )
        levels.append(
            Level(
                name=f"L{number}",
                capacity=capacity,
                partitions=draw(st.sampled_from([(), parts])),
                buffering=draw(st.integers(1, 2)),
                store=draw(stores),
                **draw(replacements),
            )
        )
    arithmetic = Arithmetic(energy_pj=draw(amounts), word_bits=draw(st.none() | st.integers(1, 64)))
    return Machine(name="drawn", levels=tuple(levels), outermost=draw(stores), arithmetic=arithmetic)


@settings(max_examples=cases(12, 30))
@given(accelerators())
def test_documents_and_files_say_everything(machine: Machine) -> None:
    document = json.loads(json.dumps(machine_document(machine), allow_nan=False))
    assert machine_from(Fields.of(document, "file.json")) == machine
    import yaml

    written = yaml.safe_load(optmap.show(machine).yaml)
    assert machine_from(Fields.of(written, "file.yaml")) == machine


def test_decimals_are_exact() -> None:
    gemmini = library.machine("gemmini")
    assert gemmini.outermost is not None
    assert gemmini.arithmetic.energy_pj == Fraction(28, 100)
    store = gemmini.levels[2].store
    assert store is not None
    assert store.energy_pj == Prices(read=Fraction(347, 100), fill=Fraction(347, 100), update=Fraction(347, 100))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keeps: {input: maybe}", "levels[0].keeps: unknown input 'maybe'"),
        ("keeps: {}", "levels[0].keeps is empty"),
        ("keeps: 3", "levels[0].keeps: a mapping"),
        ("energy_pj: {read: 1, write: 2}", "levels[0].energy_pj: unknown key 'write'"),
        ("energy_pj: {read: -1}", "levels[0].energy_pj.read is -1"),
        ("energy_pj: .inf", "levels[0].energy_pj is inf"),
        ("energy_pj: 1/0", "levels[0].energy_pj is '1/0'"),
        ("ports: {read: 0}", "ports: read is 0"),
        ("ports: 4", "levels[0].ports: a mapping"),
        ("block: 0", "levels[0].block is 0"),
        ("fanout: {x: 0}", "levels[0].fanout.x is 0"),
        ("fanout: {x: {sizes: 3}}", "levels[0].fanout.x: unknown key 'sizes'"),
        ("fanout: {z: 3}", "levels[0].fanout: unknown key 'z'"),
        ("fanout: {multicast: maybe}", "levels[0].fanout.multicast is 'maybe'"),
        ("factors: {filters: '<4'}", "levels[0].factors.filters is '<4'"),
        ("factors: {filters: 0}", "levels[0].factors: factors: filters is 0"),
        ("factors: {filters: true}", "levels[0].factors.filters is True"),
        ("order: [channels, channels]", "order names a dim twice"),
        ("bandwidth: 4w", "levels[0].bandwidth: a memory of an accelerator has no bandwidth; write"),
        ("shared: true", "levels[0].shared: a memory of an accelerator has no shared"),
        ("line_bytes: 64", "levels[0].line_bytes is for caches; add `kind: cache`"),
        ("kind: scratchpad, ways: 8", "levels[0].ways is for caches; add `kind: cache`"),
        ("kind: lru", "levels[0]: unknown kind 'lru'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_field(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"arithmetic: {{}}\nlevels:\n  - {{name: L1, capacity: 8w, {text}}}\n")
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        optmap.machine(path)
    assert "wrong.yaml" in str(caught.value)


def test_keys_of_accelerators_say_that_the_machine_is_none(tmp_path: Path) -> None:
    path = tmp_path / "cpu.yaml"
    for text in ("keeps: [input]", "fanout: {x: 2}", "energy_pj: {read: 2}"):
        path.write_text(f"levels:\n  - {{name: L1, capacity: 8w, {text}}}\n")
        with pytest.raises(InputError, match=r"levels\[0\]\.\w+ is for accelerators"):
            optmap.machine(path)


def test_what_a_level_keeps_has_a_partition(tmp_path: Path) -> None:
    text = (
        "name: toy\nmemory: DRAM\nlevels:\n  - name: L1\n    partitions:\n"
        "      - {name: results, tensors: output, capacity: 64w}\n    energy_pj: 1\narithmetic: {energy_pj: 1}\n"
    )
    (tmp_path / "toy.yaml").write_text(text)
    workload = parse_workload("O[i,j] = A[i,k] * B[k,j]", {"i": 8, "j": 8, "k": 8})
    with pytest.raises(InputError, match="L1: no partition has room for A; name it in one"):
        fabric_of(workload, optmap.machine(tmp_path / "toy.yaml"))
    (tmp_path / "toy.yaml").write_text(text.replace("energy_pj: 1\n", "energy_pj: 1\n    keeps: [output]\n", 1))
    assert fabric_of(workload, optmap.machine(tmp_path / "toy.yaml")).memories[0].rooms[0].capacity == 64


def test_cores_must_be_the_units(tmp_path: Path) -> None:
    path = tmp_path / "units.yaml"
    path.write_text("arithmetic: {}\ncores: 5\nlevels:\n  - {name: L1, capacity: 8w, fanout: {x: 2, y: 3}}\n")
    with pytest.raises(InputError, match="cores is 5, but the fanouts multiply to 6"):
        optmap.machine(path)


@pytest.mark.parametrize("name", ACCELERATORS)
def test_library_accelerators_serve_every_kind_of_workload(name: str) -> None:
    machine = library.machine(name)
    for workload in ("resnet50/conv1", "resnet50/fc", "mobilenet/M2", "sunstone/mttkrp_poisson1"):
        fabric = fabric_of(library.workload(workload), machine)
        assert fabric.units == machine.cores
        assert all(any(keeps) for keeps in zip(*(memory.keeps for memory in fabric.memories), strict=True))
    table = str(optmap.show(name))
    assert all(level.name in table for level in machine.levels)


def test_machines_have_the_units_that_they_are_known_for() -> None:
    units = {name: library.machine(name).cores for name in ACCELERATORS}
    assert units == {
        "diannao": 256,
        "eyeriss": 168,
        "eyeriss_like": 168,
        "gemmini": 256,
        "gpu_like": 110592,
        "simba": 256,
        "simba-cosa": 1024,
        "simba_like": 1024,
        "sunstone-conventional": 1024,
        "sunstone-simba": 1024,
        "tpuv1": 65536,
    }


FACTORFLOW = {"k": "M", "c": "C", "h": "P", "w": "Q", "r": "R", "s": "S"}
"""What FactorFlow calls the dims of a convolution."""


@pytest.mark.parametrize("name", ["eyeriss", "gemmini", "simba", "tpuv1"])
def test_machines_of_factorflow_have_its_numbers(name: str) -> None:
    """Sizes, energies, bandwidths, meshes, bypass and loops that may not turn, for a convolution."""
    source = yaml.safe_load((DATA / "factorflow_architectures.yaml").read_text())
    parts = source[f"{name.removesuffix('v1')}-conv"]["levels"]
    fabric = fabric_of(library.workload("resnet50/conv2"), library.machine(name))
    left = list(reversed(fabric.memories))
    assert fabric.arithmetic_pj == Fraction(str(parts[-1]["pJ"]))
    assert sum("memory" in part for part in parts) == len(left)
    meshes: list[tuple[int, set[str]]] = []
    for part, following in pairwise(parts):
        if "fanout" in part:
            meshes.append((part["mesh"], set(part["dims"])))
        else:
            memory, meshes = left.pop(0), []
            check_memory(memory, part, fabric)
        if "fanout" not in following:
            found = [(axis.size, axis.allowed) for axis in (memory.x, memory.y) if axis.size > 1]
            assert [size for size, _ in found] == [size for size, _ in meshes]
            for (_, allowed), (_, dims) in zip(found, meshes, strict=True):
                assert {FACTORFLOW.get(d) for d, free in zip(fabric.dims, allowed, strict=True) if free} == dims
    assert not left


@pytest.mark.parametrize("name", ["eyeriss", "gemmini", "simba", "tpuv1"])
def test_machines_of_factorflow_have_its_numbers_for_products_too(name: str) -> None:
    """Sizes, energies, bandwidths, bypass and children of every memory; rules of loops are those for convolutions."""
    source = yaml.safe_load((DATA / "factorflow_architectures.yaml").read_text())
    parts = source[name.removesuffix("v1")]["levels"]
    product = parse_workload("O[m,n] = I[k,n] * W[m,k]", {"m": 8, "n": 8, "k": 8})
    fabric = fabric_of(product, library.machine(name))
    assert fabric.arithmetic_pj == Fraction(str(parts[-1]["pJ"]))
    memories = [part for part in parts if "memory" in part]
    for memory, part in zip(reversed(fabric.memories), memories, strict=True):
        check_numbers(memory, part, fabric)
        behind = parts[parts.index(part) + 1 :]
        following = next(number for number, other in enumerate(behind) if "fanout" not in other)
        assert memory.fanout == prod(other["mesh"] for other in behind[:following])


def check_memory(memory: Memory, part: dict[str, Any], fabric: Fabric) -> None:
    """One memory against the level of FactorFlow that it is, for a convolution."""
    check_numbers(memory, part, fabric)
    names = [FACTORFLOW.get(dim, "batch") for dim in fabric.dims]
    still = {names[dim] for rule in memory.rules if rule.value == 1 for dim in rule.dims}
    assert still - {"batch"} == set(part["factors"])
    order = [names[dim] for entry in memory.order for dim in entry or () if names[dim] != "batch"]
    assert order == [dim for dim in part["order"] if dim in order]


def check_numbers(memory: Memory, part: dict[str, Any], fabric: Fabric) -> None:
    """Sizes, energies, bandwidths and bypass of one memory against the level of FactorFlow that it is."""
    assert memory.name == part["memory"]
    assert memory.prices.read == Fraction(str(part["read_pJ"]))
    assert memory.prices.fill == memory.prices.update == Fraction(str(part["write_pJ"]))
    assert (memory.read_rate, memory.write_rate, memory.shared_rate) == (part["read_bw"], part["write_bw"], None)
    for room in memory.rooms:
        assert room.capacity == part["size"] // part["buffering"]
    tensors = dict(zip([operand.name for operand in fabric.operands], ("out", "in", "w"), strict=True))
    kept = {tensors[o.name] for o, keep in zip(fabric.operands, memory.keeps, strict=True) if keep is KeepRule.KEPT}
    assert kept == {"out", "in", "w"} - set(part["bypass"])


@pytest.mark.parametrize("name", ["eyeriss_like", "simba_like", "simba-cosa"])
def test_machines_of_the_records_have_their_numbers(name: str) -> None:
    """Memories count as those of the records do: all numbers but the axes along which children stand."""
    records = read_records(DATA / "timeloop_conformance.json")
    theirs = next(r.fabric for r in records if r.fabric.machine.name == name.replace("-cosa", "_cosa_clusters"))
    mine = fabric_of(theirs.workload, library.machine(name))
    assert mine.arithmetic_pj == theirs.arithmetic_pj
    assert mine.units == theirs.units
    for own, other in zip(mine.memories, theirs.memories, strict=True):
        assert (own.name, own.fanout, own.rooms) == (other.name, other.fanout, other.rooms)
        for key in ("prices", "read_rate", "write_rate", "shared_rate", "block", "cluster", "hop_pj", "router_pj"):
            assert getattr(own, key) == getattr(other, key), (own.name, key)


@st.composite
def nests(draw: st.DrawFn) -> tuple[Nest, Machine]:
    machine = library.machine(draw(st.sampled_from(["eyeriss_like", "simba_like"])))
    fabric = fabric_of(matmul(i=12, j=8, k=30), machine)
    left, memories = list(fabric.extents), []
    for place, memory in enumerate(fabric.memories):
        last = place == len(fabric.memories) - 1
        ways: list[list[int]] = []
        for children in (memory.x.size, memory.y.size):
            axis: list[int] = []
            for dim in range(3):
                most = min(children // prod(axis), left[dim])
                axis.append(draw(st.sampled_from([n for n in range(1, most + 1) if left[dim] % n == 0])))
                left[dim] //= axis[-1]
            ways.append(axis)
        trips = [
            left[dim] if last else draw(st.sampled_from([n for n in range(1, left[dim] + 1) if left[dim] % n == 0]))
            for dim in range(3)
        ]
        left = [size // trip for size, trip in zip(left, trips, strict=True)]
        order = draw(st.permutations(range(3)))
        keeps = (True,) * 3 if last else draw(st.tuples(*[st.booleans()] * 3))
        memories.append(
            MemoryNest(
                x=tuple(ways[0]),
                y=tuple(ways[1]),
                temporal=tuple((dim, trips[dim]) for dim in order if trips[dim] > 1),
                keeps=keeps,
            )
        )
    return Nest(memories=tuple(memories)), machine


@settings(max_examples=cases(13, 40))
@given(nests())
def test_mappings_of_accelerators_survive(drawn: tuple[Nest, Machine]) -> None:
    nest, machine = drawn
    workload = matmul(i=12, j=8, k=30)
    fabric = fabric_of(workload, machine)
    mapping = mapping_of(nest, fabric)
    document = json.loads(json.dumps(mapping_document(mapping)))
    assert set(document["levels"][0]) == {"level", "tile", "permutation", "spatial", "spatial_axes", "keeps"}
    read = read_mapping(Fields.of(document, "file.json"), workload, machine)
    found = nest_of(read, fabric)
    assert found.memories[1:] == nest.memories[1:]
    assert sorted(found.memories[0].temporal) == sorted(nest.memories[0].temporal)  # no count depends on this order
    assert (found.memories[0].x, found.memories[0].keeps) == (nest.memories[0].x, nest.memories[0].keeps)
    assert mapping_document(read) == document


def wrong(change: dict[str, object]) -> str:
    """What is said of a mapping with something changed at the shared buffer."""
    machine = library.machine("eyeriss_like")
    workload = matmul(i=12, j=8, k=30)
    tile = {"i": 12, "j": 8, "k": 30}
    levels: list[dict[str, object]] = [
        {"level": "RegisterFile", "tile": {"i": 1, "j": 1, "k": 30}, "permutation": ["i", "j", "k"], "spatial": {}},
        {"level": "GlobalBuffer", "tile": tile, "permutation": ["i", "j", "k"], "spatial": {"i": 12}},
    ]
    levels[1] |= change
    with pytest.raises(InputError) as caught:
        read_mapping(Fields.of({"levels": levels}, "m.json: mapping"), workload, machine)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spatial": {"i": 12, "j": 2}}, "split 24 ways along x, but feeds 14 children"),
        ({"spatial_axes": {"y": {"i": 6}}}, "not the product of both axes"),
        ({"spatial_axes": {"z": {"i": 12}}}, "unknown key 'z'"),
        ({"keeps": ["A", "X"]}, "keeps 'X', which is no tensor"),
        ({"keeps": "A"}, "keeps is 'A'; a list of texts"),
        ({"tile": {"i": 12, "j": 8, "k": 31}}, "no multiple of 30"),
        ({"tile": {"i": 12, "j": 8, "k": 30, "z": 1}}, "'z' is no dim"),
        ({"permutation": ["i", "j", "z"]}, "'z' is no dim"),
        ({"permutation": ["i", "j"]}, "must name each of"),
        ({"level": "Buffer"}, "the machine has"),
    ],
)
def test_wrong_mappings_of_accelerators_are_refused(change: dict[str, object], said: str) -> None:
    assert said in wrong(change)


def test_a_nest_must_cover_the_problem_and_cpus_keep_everything() -> None:
    workload = matmul(i=12, j=8, k=30)
    machine = library.machine("eyeriss_like")
    fabric = fabric_of(matmul(i=6, j=8, k=30), machine)
    inner = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=(), keeps=(True,) * 3)
    outer = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((0, 6), (1, 8), (2, 30)), keeps=(True,) * 3)
    short = mapping_of(Nest(memories=(inner, inner, outer)), fabric)
    with pytest.raises(InputError, match="covers 6 of i, the workload has 12"):
        short.check(workload, machine)
    cpu = optmap.machine(memory="64w")
    entry = {"level": "Fast", "tile": {"i": 1, "j": 1, "k": 1}, "permutation": ["i", "j", "k"], "keeps": ["A"]}
    with pytest.raises(InputError, match="is no accelerator"):
        read_mapping(Fields.of({"levels": [entry]}, "m"), workload, cpu)


def test_the_innermost_loops_come_as_the_machine_orders_them() -> None:
    machine = library.machine("eyeriss_like")
    store = machine.levels[0].store
    assert store is not None
    ordered = replace(machine.levels[0], store=replace(store, order=("k", "...", "i")))
    fabric = fabric_of(matmul(i=2, j=3, k=5), replace(machine, levels=(ordered, *machine.levels[1:])))
    inner = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((2, 5), (1, 3), (0, 2)), keeps=(True,) * 3)
    outer = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=(), keeps=(True,) * 3)
    nest = Nest(memories=(inner, outer, outer))
    assert nest_of(mapping_of(nest, fabric), fabric) == nest
