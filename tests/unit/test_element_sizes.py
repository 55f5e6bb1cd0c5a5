"""Prices per bit, ports in bytes and packed entries: by hand, against every mapping there is, and on three roads."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cases import cases, some
from hypothesis import given
from hypothesis import strategies as st
from signing import signed
from sized_machines import filled, with_bits
from spatial_brute_force import best_of_all, tiny_fabric
from spatial_strategies import WALKED
from sunstone_search import OPEN, searched
from width_roads import attacked

import optmap
from optmap.answers.proofs.floor import floor_of
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InputError
from optmap.checker import RefusedError, check_document
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import SpatialCost
from optmap.files.fields import Fields
from optmap.files.machines import machine_document, machine_from
from optmap.interchange import timeloop_files
from optmap.machines.accelerator import Ports, Store
from optmap.machines.elements import whole
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.fabric_notes import fabric_notes
from optmap.machines.machine import Machine
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.options import Merit
from optmap.search.allocation.allocation import solve_allocation
from optmap.search.exact import search_nest
from optmap.sweeps import Options, make_point, read_task, task_text
from optmap.workloads.parser import parse_workload

PLAIN = """
memory: DRAM
arithmetic: {energy_pj: 0}
outermost: {energy_pj: 100}
levels:
  - {name: L1, capacity: 64w, energy_pj: 1}
"""
SIZED = """
memory: DRAM
arithmetic: {energy_pj: 0.5}
outermost: {energy_pj_per_bit: {read: 4, fill: 4, update: 5}, ports: {shared: 6B}}
levels:
  - {name: L1, capacity: 24B, energy_pj_per_bit: 0.125, keeps: {inputs: free, output: free}}
  - name: L2
    capacity: 40w
    word_bits: 16
    pack: true
    energy_pj: {read: 6, fill: 6.25, update: 6.5}
    block: 2
    ports: {read: 1/2, write: 1w}
    keeps: {inputs: free, output: free}
    fanout: {x: 2, y: 2}
"""
METHODS = ("exact", "allocation", "cosa", "random", "quickflow", "sunstone", "bayesian", "exhaustive")


def machine_of(text: str, where: str = "m.yaml") -> Machine:
    return machine_from(Fields.of(yaml.safe_load(text), where), "m")


def product(bits: tuple[int, int, int] = (32, 8, 4), **extents: int) -> Any:
    """C = A * B with elements of these sizes."""
    sizes = {"i": 4, "j": 2, "k": 3, **extents}
    return with_bits(parse_workload("C[i,j] = A[i,k] * B[k,j]", sizes), list(bits))


def all_inside(fabric: Fabric) -> Nest:
    """Everything in the innermost memory at once."""
    still = (1,) * len(fabric.dims)
    loops = tuple((dim, extent) for dim, extent in enumerate(fabric.extents) if extent > 1)
    keeps = (True,) * len(fabric.operands)
    inner = MemoryNest(x=still, y=still, temporal=loops, keeps=keeps)
    empty = MemoryNest(x=still, y=still, temporal=(), keeps=keeps)
    return Nest(memories=(inner, *(empty for _ in fabric.memories[1:])))


def counted(text: str, bits: tuple[int, int, int] = (32, 8, 4)) -> SpatialCost:
    """All of the product at once in L1. Of DRAM 12 words of A and 6 of B are read, 8 of C updated."""
    fabric = fabric_of(product(bits), machine_of(text))
    return count_nest(all_inside(fabric), fabric)


def dram_energy(text: str, bits: tuple[int, int, int] = (32, 8, 4)) -> Fraction:
    return counted(text, bits).memories[1].energy_pj


def test_a_price_per_bit_is_paid_for_the_bits_of_elements() -> None:
    text = PLAIN.replace("outermost: {energy_pj: 100}", "outermost: {energy_pj_per_bit: {read: 2, update: 3}}")
    assert dram_energy(text) == 2 * (12 * 8 + 6 * 4) + 3 * (8 * 32)
    assert dram_energy(text, (8, 8, 8)) == 2 * 18 * 8 + 3 * 8 * 8
    both = text.replace("energy_pj_per_bit", "energy_pj: 100, energy_pj_per_bit")
    assert dram_energy(both) == dram_energy(text) + 100 * 26


def test_blocks_are_whole_and_bits_are_those_of_the_elements() -> None:
    text = PLAIN.replace("{energy_pj: 100}", "{energy_pj: 10, energy_pj_per_bit: 1, block: 5}")
    assert dram_energy(text) == 10 * (3 + 2 + 2) + 12 * 8 + 6 * 4 + 8 * 32


def test_narrow_elements_share_entries_and_wide_ones_take_several() -> None:
    text = PLAIN.replace("{energy_pj: 100}", "{energy_pj: 100, word_bits: 16, pack: true}")
    # 2 of A share an entry, 4 of B, and one of C has two: ceil(12 / 2) + ceil(6 / 4) + 8 * 2
    assert dram_energy(text) == 100 * (6 + 2 + 16)
    assert dram_energy(text.replace("16", "12")) == 100 * (12 + 2 + 24)  # what would straddle an entry has the next one
    # entries of a block: ceil(6 / 4) + ceil(2 / 4) + ceil(16 / 4)
    assert dram_energy(text.replace("pack", "block: 4, pack")) == 100 * (2 + 1 + 4)


def test_every_instance_accesses_whole_entries() -> None:
    text = PLAIN.replace("energy_pj: 1}", "energy_pj: 1, word_bits: 64, pack: true}")
    fabric = fabric_of(product(), machine_of(text))
    cost = count_nest(all_inside(fabric), fabric)
    # one instance: 12 fills of A and 6 of B, 24 reads of each, of C 24 updates and 16 reads, 2 to an entry
    assert cost.memories[0].energy_pj == 2 + 1 + 3 + 2 + 12 + 8
    split = replace(fabric.memories[1], x=replace(fabric.memories[1].x, size=4))
    wide = replace(fabric, memories=(fabric.memories[0], split))
    inner, outer = all_inside(wide).memories
    apart = Nest(memories=(replace(inner, temporal=((1, 2), (2, 3))), replace(outer, x=(4, 1, 1))))
    # i over four instances: each has 3 of A and all 6 of B, 6 operations, 2 elements of C
    four = count_nest(apart, wide)
    assert four.memories[0].instances == 4
    assert four.memories[0].energy_pj == 4 * (1 + 1 + 1 + 1 + 3 + 2)


def test_ports_in_bytes_and_in_entries() -> None:
    text = PLAIN.replace("{energy_pj: 100}", "{ports: {read: 3B, write: 4B}}")
    assert counted(text).memories[1].cycles == max(-(-(12 * 8 + 6 * 4) // 24), 8 * 32 // 32)
    assert counted(text, (8, 32, 32)).memories[1].cycles == 18 * 32 // 24
    shared = PLAIN.replace("{energy_pj: 100}", "{ports: {shared: 40MB/s}}") + "clock: 10MHz\n"  # 4 bytes a cycle
    assert counted(shared).memories[1].cycles == -(-(12 * 8 + 6 * 4 + 8 * 32) // 32)
    packed = PLAIN.replace("{energy_pj: 100}", "{ports: {shared: 2}, word_bits: 16, pack: true}")
    quarters = 12 // 2 * 4 + 6 + 8 * 2 * 4  # of entries, of which two pass in a cycle
    assert counted(packed).memories[1].cycles == -(-quarters // 8)


def test_a_packed_capacity_holds_whole_entries_of_every_tile() -> None:
    tiles = 8 * 2 + 6 + 2  # C 8 elements, A 12, B 6
    text = PLAIN.replace("64w", f"{tiles}w").replace("energy_pj: 1}", "energy_pj: 1, word_bits: 16, pack: true}")
    inside = counted(text).memories[0]
    assert (inside.occupancy_words, inside.capacity_words) == (tiles, tiles)
    assert not counted(text).broken
    assert counted(text.replace(f"{tiles}w", f"{tiles - 1}w")).broken
    assert not counted(text.replace(f"{tiles}w", f"{2 * tiles}B")).broken
    assert counted(text.replace(f"{tiles}w", f"{2 * tiles - 1}B")).broken
    assert counted(text.replace(", pack: true", "")).broken == counted(PLAIN.replace("64w", f"{tiles}w")).broken != ()


@given(elements=st.integers(0, 500), bits=st.integers(1, 70), word=st.integers(1, 70))
def test_entries_are_those_that_elements_fill_one_after_the_other(elements: int, bits: int, word: int) -> None:
    machine = machine_of(PLAIN.replace("energy_pj: 1}", f"word_bits: {word}, pack: true}}"))
    share = fabric_of(product((bits, bits, bits)), machine).memories[0].elements[0].entries
    assert whole(elements, share) == filled(elements, bits, word)
    assert whole(np.array([elements], float), share).tolist() == [filled(elements, bits, word)]
    assert whole(elements + 1, share) >= whole(elements, share) >= elements * share


def test_three_roads_count_the_same() -> None:
    """Product, checker, and counting one by one; the attack of the same name tries many more."""
    found = attacked(60, 7)
    assert found["cases"] >= 60
    assert found["energies by hand"] > 50


@pytest.mark.parametrize("counting", WALKED, ids=str)
@pytest.mark.parametrize("seed", some(2, range(10)))
def test_the_exact_search_finds_the_best_of_all_mappings(seed: int, counting: NestPolicy) -> None:
    fabric = tiny_fabric(seed, most=6_000, sized=True)
    best = best_of_all(fabric, counting)
    for merit in Merit:
        found = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT)
        assert found.proved is bool(best)
        if best:
            assert found.value == pytest.approx(float(best[merit].value), rel=1e-9)
            assert found.nest is not None
            assert float(count_nest(found.nest, fabric, counting).merit(merit)) == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("seed", some(3, range(20, 26)))
def test_the_allocation_program_finds_and_bounds_the_best_of_all_mappings(seed: int) -> None:
    fabric = tiny_fabric(seed, 1500, sized=True)
    counting, merit = WALKED[seed % 2], list(Merit)[seed % 4]
    best = best_of_all(fabric, counting)
    if not best:
        return
    found = solve_allocation(fabric, merit=merit, counting=counting)
    assert found.proved
    assert found.value == best[merit].value
    assert found.bound <= best[merit].value


@pytest.mark.parametrize("seed", some(3, range(6)))
@pytest.mark.parametrize("direction", ["bottom-up", "top-down"])
def test_sunstone_cuts_nothing_that_is_better(seed: int, direction: str) -> None:
    """Without its rules it looks at every mapping but those that its estimates cut."""
    fabric = tiny_fabric(seed, 300, sized=True)
    every = best_of_all(fabric, NEST_EXACT)
    found = searched(fabric, replace(OPEN, direction=direction))
    assert (found.best is None) == (not every)
    if every:
        assert found.value == pytest.approx(float(every[Merit.EDP].value), rel=1e-12)


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_the_floor_is_below_every_mapping(seed: int) -> None:
    fabric = tiny_fabric(seed, 4000, sized=True)
    floor, _ = floor_of(fabric)
    best = best_of_all(fabric, NEST_EXACT)
    for merit, own in best.items():
        assert floor.merit(merit) <= own.value


def test_a_floor_counts_bits_and_entries() -> None:
    """What all of one memory holds at once has no more to pay than the floor says."""
    text = SIZED.replace("capacity: 24B", "capacity: 4KiB").replace("capacity: 40w", "capacity: 4000w")
    text = text.replace("{inputs: free, output: free}", "[inputs, output]")
    fabric = fabric_of(product(i=8, j=8, k=8), machine_of(text))
    floor, _ = floor_of(fabric)
    # DRAM: 64 words each of 8 and 4 bits read, 64 of 32 bits updated; L2: 2 or 4 to an entry, or 2 entries, 2 of these
    # to an access; L1: fills of the inputs; into the arithmetic 4 units share no less than a quarter of the operations.
    dram = 64 * (8 + 4) * 4 + 64 * 32 * 5
    buffer = Fraction(64, 4) * 12.25 + Fraction(64, 8) * 12.25 + 64 * Fraction("6.5")
    inside = Fraction(1, 8) * (64 * (8 + 4) + 512 * (8 + 4 + 32))
    assert floor.energy_pj == 512 * Fraction(1, 2) + dram + buffer + inside
    assert floor.port_cycles >= -(-(64 * 12 + 64 * 32) // 48)


def test_machines_of_any_size_count_as_before_and_say_so() -> None:
    sizes = [(8, 8, 8), (16, 16, 16), (32, 32, 32), (32, 16, 4)]
    layers = [product(own, i=16, j=8, k=8) for own in sizes]
    found = [optmap.solve(layer, machine="eyeriss_like") for layer in layers]
    assert len({(own.count.energy_pj, own.count.cycles) for own in found}) == 1
    notes = [[note for note in own.notes if "holds one element of any size" in note] for own in found]
    assert [len(own) for own in notes] == [1, 0, 1, 1]  # its entries have 16 bits
    assert "RegisterFile, GlobalBuffer, DRAM" in notes[0][0]
    assert "C 32; A 16; B 4" in notes[3][0]
    assert "energy_pj_per_bit, ports in bytes or pack" in notes[3][0]
    assert not fabric_notes(fabric_of(layers[0], machine_of(PLAIN)))  # nothing says what size entries have
    assert fabric_notes(fabric_of(layers[3], machine_of(PLAIN)))


def test_comparisons_and_networks_say_what_does_not_depend_on_sizes(tmp_path: Path) -> None:
    machine = tmp_path / "m.yaml"
    machine.write_text(PLAIN, encoding="utf-8")
    (said,) = fabric_notes(fabric_of(product(), machine_of(PLAIN)))
    beside = optmap.compare(product(), machine=machine, methods=("exact", "cosa"), time_limit=3600)
    assert list(beside.results) == ["exact", "cosa"]
    assert f"note: {said}" in str(beside)
    assert "CoSA minimises" not in str(beside)  # that is of one method alone
    path = tmp_path / "net.yaml"
    text, sizes = "C[i,j] = A[i,k] * B[k,j]", "extents: {i: 4, j: 2, k: 3}, bits: {C: 32, A: 8, B: 4}"
    layers = f"workloads:\n  a: {{expression: '{text}', {sizes}}}\n"
    path.write_text(f"{layers}  b: {{matmul: {{i: 4, j: 4, k: 2}}}}\n", encoding="utf-8")
    sums = optmap.network(path, machine=machine, jobs=1)
    assert f"note: {said}" in str(sums)
    assert said in sums.to_dict()["notes"]
    path.write_text(layers.replace("32", "16").replace("8", "16").replace("B: 4", "B: 16"), encoding="utf-8")
    assert "any size" not in str(optmap.network(path, machine=machine, jobs=1))


def test_machines_priced_by_size_say_how_they_pack() -> None:
    (note,) = fabric_notes(fabric_of(product(), machine_of(SIZED)))
    assert "L2 (16 bits)" in note
    assert "whole entries" in note
    document = optmap.solve(product(i=8, k=4), machine=machine_of(SIZED)).to_dict()
    assert note in document["notes"]
    energies = [optmap.solve(product((n, n, n)), machine=machine_of(SIZED)).count.energy_pj for n in (4, 8, 16)]
    assert energies == sorted(set(energies))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_and_the_checker_agrees(method: str) -> None:
    few = {"evaluations": cases(60, 300)} if method in ("random", "quickflow", "sunstone", "bayesian") else {}
    found = optmap.solve(product(i=4, j=4, k=4), machine=machine_of(SIZED), method=method, seed=1, **few)
    best = optmap.solve(product(i=4, j=4, k=4), machine=machine_of(SIZED), objective=found.objective)
    if found.fits:
        assert found.cost >= best.integer_bound
        document = found.to_dict()
        if method == "allocation":  # it calls the best what is within 0.03 % of its bound, the checker what is at it
            for place in (document["status"], document["search"]):
                place["proved"] = False
            document["status"]["stop"] = "search_ended"
        assert check_document(signed(document)).verified


def solved() -> dict[str, Any]:
    text = SIZED.replace("40w", "400w").replace("{inputs: free, output: free}", "[inputs, output]")
    document = optmap.solve(product(i=8, j=4, k=4), machine=machine_of(text)).to_dict()
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    "forge",
    [
        lambda m: m["outermost"]["energy_pj_per_bit"].update(read=3),
        lambda m: m["outermost"].pop("energy_pj_per_bit"),
        lambda m: m["outermost"]["ports"].pop("unit"),
        lambda m: m["levels"][1].pop("pack"),
        lambda m: m["levels"][1].update(pack=False),
        lambda m: m["levels"][1].update(word_bits=8),
        lambda m: m["levels"][0].update(pack=True),
        lambda m: m["levels"][0]["ports"].update(unit="words"),
    ],
)
def test_what_sizes_cost_cannot_be_forged(forge: Any) -> None:
    document = solved()
    check_document(signed(document))
    forged = copy.deepcopy(document)
    forge(forged["machine"])
    with pytest.raises(RefusedError):
        check_document(signed(forged))


def test_files_say_it_and_say_it_again() -> None:
    machine = machine_of(SIZED)
    buffer = machine.levels[1].store
    assert buffer is not None
    assert buffer.pack
    assert buffer.ports == Ports(read=Fraction(1, 2), write=1)
    assert machine.outermost is not None
    assert machine.outermost.ports == Ports(shared=6, unit="bytes")
    assert machine.outermost.energy_pj_per_bit.update == 5
    document = json.loads(json.dumps(machine_document(machine)))
    assert machine_from(Fields.of(document, "m.json")) == machine
    entry = optmap.show(machine)
    assert machine_of(entry.yaml) == machine
    shown = str(entry)
    assert "16 bits each, packed" in shown
    assert "4 / 4 / 5 per bit" in shown
    assert "6B shared" in shown
    old = machine_document(machine_of(PLAIN))
    assert not any(key in json.dumps(old) for key in ("pack", "per_bit", 'unit": "bytes'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("energy_pj: 1}", "pack: true}"), r"levels\[0\]: pack needs the size of an entry.*word_bits"),
        (PLAIN.replace("energy_pj: 1}", "ports: {read: 16B, write: 4}}"), "all in words, or all in bytes"),
        (PLAIN.replace("energy_pj: 1}", "ports: {read: 16B, unit: bytes}}"), "all in words, or all in bytes"),
        (PLAIN.replace("energy_pj: 1}", "ports: {read: 16X}}"), r"levels\[0\].ports.read: bandwidth '16X'.*unknown"),
        (PLAIN.replace("energy_pj: 1}", "ports: {read: 2GB/s}}"), "needs the machine's clock"),
        (PLAIN.replace("energy_pj: 1}", "ports: {read: 0B}}"), r"levels\[0\].ports.read.*not positive"),
        (PLAIN.replace("energy_pj: 1}", "energy_pj_per_bit: -1}"), "energy_pj_per_bit is -1"),
        (PLAIN.replace("energy_pj: 1}", "pack: 2}"), "true or false"),
        ("levels:\n  - {name: L1, capacity: 8w, pack: true}", "pack is for accelerators"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^m.yaml: .*{said}"):
        machine_of(text)


@pytest.mark.parametrize(
    ("field", "own"),
    [("pack: true, word_bits: 8", "pack"), ("energy_pj_per_bit: 1", "per_bit"), ("ports: {read: 4B}", "bytes")],
)
def test_timeloop_has_no_entries_of_this_kind(field: str, own: str) -> None:
    machine = machine_of(PLAIN.replace("energy_pj: 1}", f"{field}}}"))
    with pytest.raises(InputError, match=f"level L1 has .*{own}"):
        timeloop_files(fabric_of(product(), machine), None)


def test_stores_that_pack_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="word_bits"):
        Store(pack=True)
    with pytest.raises(InputError, match="bytes or words"):
        Ports(unit="bits")


def test_bounds_of_data_movement_hold_for_entries_of_several_elements_and_of_any_size() -> None:
    """What a memory of so many entries holds in words of 4 bits: elements of C have 8 of them, those of A two."""
    report = optmap.bound(product(i=32, j=32, k=32), machine=machine_of(PLAIN))
    assert [row.memory_words for row in report.boundaries] == [64 * 8]
    packed = machine_of(PLAIN.replace("energy_pj: 1}", "word_bits: 16, pack: true}"))
    assert [row.memory_words for row in optmap.bound(product(i=32, j=32, k=32), machine=packed).boundaries] == [64 * 4]
    same = optmap.bound(product((32, 32, 32), i=32, j=32, k=32), machine=machine_of(PLAIN))
    assert [row.memory_words for row in same.boundaries] == [64]


def test_rows_of_sweeps_say_what_packed_entries_hold() -> None:
    machine = machine_of(PLAIN.replace("energy_pj: 1}", "word_bits: 16, pack: true}"))
    point = make_point(product(), machine, level="L1", method="exact", options=Options(), seed=0)
    assert (point.capacity_words, float(point.capacity.bytes(4))) == (64 * 4, 128)
    assert read_task(task_text(point)) == point
