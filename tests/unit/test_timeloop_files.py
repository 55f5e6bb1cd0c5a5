"""Files of Timeloop: written and read again they count the same, both notations mean the same, mistakes are named."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import assume, given, settings
from spatial_strategies import WALKED, spatial_cases

from optmap.base.errors import InputError
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.rules import broken_rules
from optmap.files import library
from optmap.interchange import read_timeloop, timeloop_files
from optmap.machines.accelerator import KeepRule, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine, Partition
from optmap.mappings.nest import MemoryNest, Nest
from optmap.search import random_nests
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul

PROBLEM = """
problem:
  shape:
    name: layer
    dimensions: [C, K, R, P, N]
    coefficients:
      - {name: stride, default: 1}
    data-spaces:
      - {name: Weights, projection: [[[C]], [[K]], [[R]]]}
      - {name: Inputs, projection: [[[C]], [[R], [P, stride]]]}
      - {name: Outputs, projection: [[[K]], [[P]]], read-write: True}
  instance: {C: 4, K: 8, R: 3, P: 16, N: 1, stride: 2}
"""
NESTED = """
architecture:
  version: 0.3
  subtree:
    - name: system
      attributes: {word-bits: 16}
      local:
        - {name: DRAM, class: DRAM, attributes: {block-size: 4, read_bandwidth: 4, write_bandwidth: 2}}
      subtree:
        - name: chip
          local:
            - {name: Buffer, class: SRAM, attributes: {memory_depth: 64, memory_width: 64}}
          subtree:
            - name: PE[0..7]
              local:
                - {name: Registers, class: regfile, attributes: {entries: 40, meshX: 4}}
                - {name: mac, class: intmac, attributes: {datawidth: 16, meshX: 4}}
ERT:
  version: 0.3
  tables:
    - name: system.DRAM
      actions: [{name: read, energy: 100.5}, {name: write, energy: 101}, {name: update, energy: 102}]
    - name: system.chip.Buffer
      actions:
        - {name: read, arguments: {address_delta: 0}, energy: 1.25}
        - {name: read, arguments: {address_delta: 1}, energy: 6.5}
        - {name: write, energy: 7}
        - {name: idle, energy: 0.1}
    - {name: 'system.chip.PE[0..7].Registers', actions: [{name: access, energy: 0.3}]}
    - {name: 'system.chip.PE[0..7].mac', actions: [{name: idle, energy: 9}, {name: mac_random, energy: 2.2}]}
"""
NODES = """
architecture:
  version: 0.4
  nodes:
    - !Container {name: system, attributes: {datawidth: 16}}
    - !Component
      name: DRAM
      class: DRAM
      attributes: {block_size: 4, read_bandwidth: 4, write_bandwidth: 2}
    - !Component {name: Buffer, class: smartbuffer_SRAM, attributes: {depth: 64, width: 64}}
    - !Container {name: PE, spatial: {meshX: 4, meshY: 2}}
    - !Parallel
      nodes:
        - !Component {name: Registers, class: regfile, attributes: {depth: 40, width: 16}}
        - !Nothing {}
    - !Component {name: mac, class: intmac, attributes: {datawidth: 16}}
ERT:
  version: 0.4
  tables:
    system.DRAM: {read: [{arguments: {}, energy: 100.5}], write: {energy: 101}, update: {energy: 102}}
    system.Buffer: {read: {energy: 6.5}, write: {energy: 7}}
    system.Registers[1..8]: {access: {energy: 0.3}}
    system.mac[1..8]: {compute: {energy: 2.2}, leak: {energy: 100}}
"""
MAPPING = """
mapping:
  - {target: DRAM, type: temporal, factors: C=1 P=8 K=1, permutation: KCRPN}
  - {target: Buffer, type: temporal, factors: C2 P1 K0 R3, permutation: RKCPN}
  - {target: Buffer, type: spatial, factors: C=2 P=2 K=2, permutation: CPKRN, split: 2}
  - {target: Buffer, type: datatype, keep: [Inputs, Outputs], bypass: [Weights]}
  - {target: Registers, type: bypass, bypass: [Inputs]}
"""
NODES_MAPPING = """
mapping:
  - {target: DRAM, type: temporal, factors: [C=1, P=8, K=1], permutation: [K, C, R, P]}
  - {target: Buffer, type: temporal, factors: "C=2,R=3,K=4", permutation: "R,K,C"}
  - {target: PE, type: spatial, factors: [C=2, P=2, K=2], permutation: [C, P, K], split: 2}
  - {target: Buffer, type: dataspace, keep: [Inputs, Outputs], bypass: [Weights]}
  - {target: Registers, type: dataspace, bypass: [Inputs]}
"""


def read(*texts: str) -> tuple[Fabric, Nest | None]:
    """What texts in files of their own hold."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"part{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        model = read_timeloop(paths)
    return model.fabric, model.nest


PROCESSED = """
dumped_by_timeloop_front_end: true
mapper: {algorithm: hybrid}
architecture:
  version: '0.4'
  subtree:
    - name: System_top_level
      attributes: {version: '0.4'}
      local:
        - {name: 'Main[1..1]', class: DRAM, attributes: {width: 32, datawidth: 16, meshX: 1, meshY: 1}}
        - name: inter_PE_spatial[1..1]
          class: dummy_storage
          attributes: {width: 1, depth: 1, datawidth: 1, meshX: 1, meshY: 1}
        - {name: 'Inner[1..6]', class: regfile, attributes: {depth: 64, width: 16, datawidth: 16, meshX: 2, meshY: 3}}
        - {name: 'wires[1..6]', class: XY_NoC, attributes: {meshX: 2, meshY: 3}}
        - {name: 'mac[1..6]', class: intmac, attributes: {datawidth: 16, meshX: 2, meshY: 3}}
architecture_constraints: {targets: []}
mapping:
  - {target: Main, type: temporal, factors: 'C=1,K=8,R=3,P=4,N=1', permutation: PRKCN}
  - {type: spatial, target: inter_PE_spatial, factors: 'C=2', permutation: CKRPN}
  - {target: inter_PE_spatial, type: temporal, factors: 'C=1,K=1', permutation: CKRPN}
  - {target: inter_PE_spatial, type: bypass, bypass: [Weights, Inputs, Outputs]}
  - {target: Inner, type: temporal, factors: 'C=2,P=4', permutation: PC}
"""


def test_what_the_front_end_writes_is_read() -> None:
    fabric, nest = read(PROBLEM, PROCESSED)
    assert nest is not None
    assert [memory.name for memory in fabric.memories] == ["Inner", "Main"]
    assert (fabric.memories[1].x.size, fabric.memories[1].y.size, fabric.memories[1].block) == (2, 3, 2)
    assert nest.memories[1].x == tuple(2 if dim == "C" else 1 for dim in fabric.dims)
    assert nest.memories[1].keeps == (True, True, True)
    loops = PROCESSED.replace(
        "target: inter_PE_spatial, type: temporal, factors: 'C=1,K=1'",
        "target: inter_PE_spatial, type: temporal, factors: 'C=1,K=2'",
    )
    assert "inter_PE_spatial holds nothing" in refused(PROBLEM, loops)


def test_branches_beside_one_another_follow_one_another() -> None:
    text = """
architecture:
  nodes:
    - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
    - !Container
      name: PE
      spatial: {meshX: 16}
      constraints: {spatial: {factors: R=1 P=1 N=1, permutation: [K, C, R, P, N]}}
    - !Component
      name: In
      class: storage
      attributes: {depth: 8, width: 64, datawidth: 8}
      constraints: {dataspace: {keep: [Inputs], bypass: [Weights, Outputs]}}
    - !Container {name: lanes, spatial: {meshY: 4}}
    - !Parallel
      nodes:
        - !Component {name: W, class: storage, attributes: {depth: 4, width: 64, datawidth: 8}}
        - !Component {name: Acc, class: storage, attributes: {depth: 128, datawidth: 24, width: 24}}
        - !Nothing {constraints: {dataspace: {keep: [Inputs]}}}
    - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8}}
"""
    fabric, _ = read(PROBLEM, text)
    assert [memory.name for memory in fabric.memories] == ["Acc", "W", "In", "DRAM"]
    assert [(memory.x.size, memory.y.size) for memory in fabric.memories] == [(1, 1), (1, 1), (1, 4), (16, 1)]
    assert [memory.rooms[0].capacity for memory in fabric.memories[:3]] == [128, 32, 64]
    allowed = [dim for dim, free in zip(fabric.dims, fabric.memories[3].x.allowed, strict=True) if free]
    assert allowed == ["C", "K"]
    assert fabric.memories[2].keeps == (KeepRule.REFUSED, KeepRule.REFUSED, KeepRule.KEPT)
    unequal = text.replace("!Component {name: W,", "!Component {name: W, spatial: {meshX: 2},")
    assert "branches have different numbers" in refused(PROBLEM, unequal)
    assert "!Komponent is not known" in refused(PROBLEM, text.replace("!Component {name: mac", "!Komponent {name: mac"))


def refused(*texts: str) -> str:
    with pytest.raises(InputError) as caught:
        read(*texts)
    return str(caught.value)


def test_both_notations_mean_the_same() -> None:
    nested, first = read(PROBLEM, NESTED, MAPPING)
    flat, second = read(PROBLEM.replace("-", "_").replace("      _ {", "      - {"), NODES, NODES_MAPPING)
    assert first == second
    assert nested.memories == flat.memories
    assert nested.arithmetic_pj == flat.arithmetic_pj == Fraction(22, 10)
    assert nested.workload.expression == "Outputs[K,P] = Weights[C,K,R] * Inputs[C,2*P+R]".replace("2*P+R", "R+2*P")


def test_a_machine_has_the_numbers_of_the_architecture() -> None:
    fabric, _ = read(PROBLEM, NESTED)
    registers, buffer, memory = fabric.memories
    assert (registers.rooms[0].capacity, buffer.rooms[0].capacity) == (40, 64 * 4)
    assert (buffer.x.size, buffer.y.size, fabric.units) == (4, 2, 8)
    assert (memory.block, memory.read_rate, memory.write_rate, buffer.read_rate) == (4, 4, 2, None)
    assert memory.prices == Prices(read=Fraction(201, 2), fill=Fraction(101), update=Fraction(102))
    assert buffer.prices == Prices(read=Fraction(13, 2), fill=Fraction(7), update=Fraction(7))
    assert registers.keeps == (KeepRule.FREE,) * 3  # nothing is demanded: mappings decide


def test_a_mapping_is_the_nest_that_it_says() -> None:
    fabric, nest = read(PROBLEM, NESTED, MAPPING)
    assert nest is not None
    dims = {dim: place for place, dim in enumerate(fabric.dims)}
    registers, buffer, memory = nest.memories
    assert memory.temporal == ((dims["P"], 8),)
    assert buffer.temporal == ((dims["C"], 2), (dims["K"], 4), (dims["R"], 3))  # outermost first
    assert [buffer.x[dims[dim]] for dim in "CPK"] == [2, 2, 1]  # two of the permutation are before the split
    assert [buffer.y[dims[dim]] for dim in "CPK"] == [1, 1, 2]
    assert (buffer.keeps, registers.keeps) == ((True, False, True), (True, True, False))
    assert registers.temporal == ()


def test_constraints_are_rules_of_the_machine() -> None:
    limits = """
mapspace_constraints:
  targets:
    - {target: Buffer, type: spatial, factors: R=1 P<=4, permutation: CPK, split: 1}
    - {target: Registers, type: temporal, factors: C=1, permutation: RP}
    - {target: Registers, type: datatype, keep: [Weights], bypass: [Inputs]}
"""
    fabric, _ = read(PROBLEM, NESTED, limits)
    registers, buffer, _ = fabric.memories
    allowed = [
        {dim for dim, free in zip(fabric.dims, axis.allowed, strict=True) if free} for axis in (buffer.x, buffer.y)
    ]
    assert allowed == [{"C"}, {"K", "P"}]
    assert [rule.text for rule in buffer.y.rules] == ["Buffer, axis y: P<=4"]
    assert [rule.text for rule in registers.rules] == ["Registers: C=1"]
    assert registers.order == (None, (fabric.dims.index("P"),), (fabric.dims.index("R"),))
    assert registers.keeps == (KeepRule.FREE, KeepRule.KEPT, KeepRule.REFUSED)


def same_counts(fabric: Fabric, nest: Nest) -> None:
    """Written and read again, a mapping counts the same, in both countings."""
    again, read_back = read(*timeloop_files(fabric, nest).values())
    assert read_back is not None
    for counting in WALKED:
        before, after = (count_nest(loops, seen, counting) for loops, seen in ((nest, fabric), (read_back, again)))
        assert [replace(row, operand="") for memory in before.memories for row in memory.accesses] == [
            replace(row, operand="") for memory in after.memories for row in memory.accesses
        ]
        assert (before.energy_pj, before.cycles, before.utilisation) == (
            after.energy_pj,
            after.cycles,
            after.utilisation,
        )


@settings(max_examples=cases(10, 25))
@given(spatial_cases())
def test_random_nests_count_the_same_when_read_again(drawn: tuple[Fabric, Nest]) -> None:
    fabric, nest = drawn
    assume(all(memory.multicast is memory.reduction for memory in fabric.memories))
    same_counts(fabric, nest)


@pytest.mark.parametrize(
    "machine", ["eyeriss", "simba", "gemmini", "tpuv1", "eyeriss_like", "simba_like", "simba-cosa"]
)
def test_mappings_on_library_machines_count_the_same_when_read_again(machine: str) -> None:
    fabric = fabric_of(library.workload("resnet50/conv3_stride"), library.machine(machine))
    drawn = random_nests(fabric, 3, np.random.default_rng(5))
    for nest in map(drawn.nest, range(len(drawn))):
        broken = count_nest(nest, fabric).broken
        again, read_back = read(*timeloop_files(fabric, nest).values())
        assert read_back is not None
        assert bool(count_nest(read_back, again).broken) is bool(broken)
        same_counts(fabric, nest)


@pytest.mark.parametrize("machine", ["eyeriss", "gemmini", "tpuv1", "simba"])
def test_rules_of_library_machines_are_broken_alike_when_read_again(machine: str) -> None:
    fabric = fabric_of(library.workload("resnet50/conv3_stride"), library.machine(machine))
    again, _ = read(*timeloop_files(fabric, None).values())
    free = fabric_of(fabric.workload, library.machine("eyeriss_like"))
    rng = np.random.default_rng(7)
    broken = []
    for row in range(12):  # loops turned round, and those of another machine's innermost memory
        own = random_nests(fabric, 1, rng).nest(0)
        turned = [replace(memory, temporal=memory.temporal[::-1]) for memory in own.memories]
        other = random_nests(free, 1, rng).nest(0)
        turned[0] = replace(turned[0], temporal=other.memories[0].temporal) if row % 2 else turned[0]
        nest = Nest(memories=tuple(turned))
        before, after = broken_rules(nest, fabric), broken_rules(nest, again)
        assert bool(before) is bool(after)
        broken.append(bool(before))
    assert any(broken)  # of mappings that break nothing alone nothing would be learnt


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("read-write: True", "read-write: no way", "read_write is 'no way'"),
        (", read-write: True", "", "0 have read_write: true"),
        ("[[[K]], [[P]]]", "[[[K]], [[Z]]]", "['Z'] is no term"),
        ("[P, stride]", "[P, strides]", "'strides' is no coefficient"),
        ("K: 8,", "", "K is missing"),
        ("[C, K, R, P, N]", "[]", "dimensions is empty"),
        ("N: 1", "N: 2", "N is in no data space"),
        ("  shape:", "  shape: cnn-layer\n  other:", "write the shape out"),
    ],
)
def test_wrong_problems_are_named(old: str, new: str, said: str) -> None:
    assert old in PROBLEM
    message = refused(PROBLEM.replace(old, new), NESTED, MAPPING)
    assert said in message
    assert "part0.yaml" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("class: SRAM, ", "", "class is missing"),
        ("memory_depth: 64, ", "", "Buffer has no size"),
        ("meshX: 4}}\n                - {name: mac", "meshX: 3}}\n                - {name: mac", "are no mesh with 3"),
        ("name: Buffer", "name: DRAM", "two parts are called DRAM"),
        ("class: intmac", "class: SRAM", "no arithmetic"),
        ("PE[0..7]", "PE[0..5]", "are no mesh with 4 along X"),
        ("energy: 6.5", "energy: much", "energy is 'much'"),
        ("  subtree:\n    - name: system", "  trees:\n    - name: system", "this is no architecture"),
        ("word-bits: 16", "word-bits: 0", "word_bits is 0"),
    ],
)
def test_wrong_architectures_are_named(old: str, new: str, said: str) -> None:
    assert old in NESTED
    message = refused(PROBLEM, NESTED.replace(old, new), MAPPING)
    assert said in message
    assert "part1.yaml" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("target: DRAM", "target: DRAMM", "the architecture has no 'DRAMM'"),
        ("type: temporal", "type: temporary", "use temporal, spatial or dataspace"),
        ("P=8", "P=4", "factors of P multiply to 8, but its size is 16"),
        ("P=8", "P=5", "factors of P multiply to 10, but its size is 16"),
        ("C=1 P=8 K=1", "'C=1 P=4,3 K=1'", "'3' is no factor"),
        ("P=8", "P=4,3", "unknown key '3 K=1'"),
        ("P=8", "Z=8", "'Z' is no dim"),
        ("P=8", "P<=8", "P<=8 is no factor"),
        ("KCRPN", "KCRPX", "'X' is no dim"),
        ("KCRPN", "KCRPP", "named twice"),
        ("bypass: [Inputs]", "bypass: [Input]", "'Input' is no data space"),
        ("type: bypass, ", "type: bypass, passthrough: [Inputs], ", "not counted here"),
    ],
)
def test_wrong_mappings_are_named(old: str, new: str, said: str) -> None:
    assert old in MAPPING
    message = refused(PROBLEM, NESTED, MAPPING.replace(old, new, 1))
    assert said in message
    assert "part2.yaml" in message


def test_files_must_fit_together(tmp_path: Path) -> None:
    assert "have no architecture" in refused(PROBLEM)
    assert "a mapping needs the architecture" in refused(PROBLEM, MAPPING)
    assert "has a part of that name, too" in refused(PROBLEM, NESTED, NODES)
    assert "no problem and no architecture" in refused(MAPPING)
    assert "it has templates" in refused("{{include_text('x.yaml')}}\n" + PROBLEM)
    assert "not valid YAML" in refused("problem: !!python/object:os.system {}")
    architecture = tmp_path / "arch.yaml"
    architecture.write_text(NESTED)
    model = read_timeloop([architecture])
    assert (model.workload, model.nest) == (None, None)
    assert model.machine is not None
    assert model.machine.name == "arch"


def test_what_timeloop_cannot_say_is_refused() -> None:
    workload = matmul(i=4, j=4, k=4)
    with pytest.raises(InputError, match="gives no energies and fanouts"):
        timeloop_files(fabric_of(workload, library.machine("balanced")), None)
    machine = library.machine("eyeriss_like")
    words = Capacity(amount=128, unit="words")
    parts = (
        Partition(name="a", tensors=("inputs",), capacity=words),
        Partition(name="b", tensors=("output",), capacity=words),
    )
    split = replace(machine, levels=(replace(machine.levels[0], partitions=parts), machine.levels[1]))
    with pytest.raises(InputError, match="RegisterFile has partitions"):
        timeloop_files(fabric_of(workload, split), None)
    shared = machine.levels[1].store
    assert shared is not None
    half = replace(machine.levels[1], store=replace(shared, mesh=replace(shared.mesh, multicast=False)))
    with pytest.raises(InputError, match="multicast and reduction together"):
        timeloop_files(fabric_of(workload, replace(machine, levels=(machine.levels[0], half))), None)


def test_cosas_simba_is_the_machine_of_the_library() -> None:
    counts = {"Registers": 1024, "AccumulationBuffer": 128, "WeightBuffer": 128, "InputBuffer": 16, "GlobalBuffer": 1}
    entries = {
        "Registers": 1,
        "AccumulationBuffer": 64,
        "WeightBuffer": 16384,
        "InputBuffer": 4096,
        "GlobalBuffer": 65536,
    }
    extra = {"Registers": "cluster-size: 64", "AccumulationBuffer": "cluster-size: 8"}
    storage = "\n".join(
        f"    - {{name: {name}, entries: {entries[name]}, instances: {count}, meshX: {min(count, 16)}, "
        f"word-bits: {24 if name.startswith('Acc') else 8}, {extra.get(name, 'block-size: 8')}}}"
        for name, count in counts.items()
    )
    text = f"""
arch:
  arithmetic: {{instances: 1024, meshX: 16, word-bits: 8}}
  storage:
{storage}
    - {{name: DRAM, technology: DRAM, instances: 1, word-bits: 8, block-size: 64, bandwidth: 20.0}}
"""
    fabric, _ = read(PROBLEM, text)
    library_fabric = fabric_of(fabric.workload, library.machine("simba-cosa"))
    for memory, own in zip(fabric.memories, library_fabric.memories, strict=True):
        same = ("name", "rooms", "block", "cluster", "read_rate", "write_rate")
        assert [getattr(memory, key) for key in same] == [getattr(own, key) for key in same]
        assert (memory.x.size, memory.y.size) == (own.x.size, own.y.size)


def test_prices_and_ports_survive() -> None:
    machine = library.machine("eyeriss_like")
    outer = machine.levels[1]
    assert outer.store is not None
    store = replace(outer.store, ports=Ports(read=0.3, shared=7), hop_pj=0.05, router_pj=0.02, cluster=2)
    level = Level(name="GlobalBuffer", capacity=outer.capacity, buffering=2, store=store)
    changed = Machine(
        name="m",
        levels=(machine.levels[0], level),
        memory="DRAM",
        outermost=machine.outermost,
        arithmetic=machine.arithmetic,
    )
    fabric = fabric_of(matmul(i=4, j=4, k=4), changed)
    again, _ = read(*timeloop_files(fabric, None).values())
    for memory, own in zip(fabric.memories, again.memories, strict=True):
        assert replace(memory, keeps=()) == replace(own, keeps=())
    assert re.search(r"read_bandwidth: 0\.3", timeloop_files(fabric, None)["arch.yaml"])


def test_orders_of_children_survive() -> None:
    """On a mesh whose wires have a price, so that energy depends on how children are numbered."""
    machine = library.machine("eyeriss_like")
    store = replace(machine.levels[1].store or Store(), hop_pj=0.5, keeps=())
    changed = replace(machine, levels=(machine.levels[0], replace(machine.levels[1], store=store)))
    fabric = fabric_of(matmul(i=4, j=4, k=6), changed)
    plain, kept, energies = (1, 1, 1), (True, True, True), set()
    for x_order, y_order in (((), ()), ((2, 0), ()), ((), (2, 1)), ((2, 0), (2, 1))):
        mesh = MemoryNest(x=(2, 1, 3), y=(1, 4, 2), temporal=((0, 2),), keeps=kept, x_order=x_order, y_order=y_order)
        inner, outer = (MemoryNest(x=plain, y=plain, temporal=(), keeps=kept) for _ in range(2))
        nest = Nest(memories=(inner, mesh, outer))
        again, read_nest = read(*timeloop_files(fabric, nest).values())
        assert read_nest is not None
        assert [memory.numbering for memory in read_nest.memories] == [memory.numbering for memory in nest.memories]
        energy = count_nest(nest, fabric).energy_pj
        assert count_nest(read_nest, again).energy_pj == energy
        energies.add(energy)
    assert len(energies) > 1


def test_what_the_outermost_memory_leaves_open_is_as_the_mapping_has_it() -> None:
    machine = library.machine("eyeriss_like")
    assert machine.outermost is not None
    open_ = replace(machine.outermost, keeps=(("output", KeepRule.FREE), ("inputs", KeepRule.FREE)))
    inner = machine.levels[1].store
    assert inner is not None
    level = replace(machine.levels[1], store=replace(inner, keeps=()))
    changed = replace(machine, levels=(machine.levels[0], level), outermost=open_)
    fabric = fabric_of(matmul(i=4, j=4, k=4), changed)
    assert fabric.memories[-1].keeps == (KeepRule.FREE,) * 3
    kept = set()
    for nest in (random_nests(fabric, 64, np.random.default_rng(1)).nest(number) for number in range(64)):
        if broken_rules(nest, fabric):
            continue
        kept.add(nest.memories[-1].keeps)
        again, read_nest = read(*timeloop_files(fabric, nest).values())
        assert read_nest is not None
        assert not broken_rules(read_nest, again)
        assert count_nest(read_nest, again).energy_pj == count_nest(nest, fabric).energy_pj
    assert len(kept) > 2
