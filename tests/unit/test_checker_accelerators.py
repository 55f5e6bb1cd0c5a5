"""The checker on accelerators: it counts as the library does, proves what was solved, and refuses what was changed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from accelerator_machines import MESHED, convolution, grid_machine, random_nest, wired_machine
from cases import some
from signing import signed
from spatial_strategies import COUNTINGS, WALKED

import optmap
from optmap.answers.proofs.beside import certified_bound
from optmap.answers.proofs.floor import even, inside_words
from optmap.checker import RefusedError, check_document
from optmap.checker.bounds.floor import held_inside
from optmap.checker.core.fabric import StatedFabric
from optmap.checker.nests.accesses import Counts
from optmap.checker.nests.loops import Loops
from optmap.checker.nests.nest_counts import occupancy
from optmap.count.meshes.count import NEST_TIMELOOP, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.accelerator import Prices, Store
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import mapping_of
from optmap.search import METHODS, Method
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

WORKLOADS = (
    convolution(),
    parse_workload("O[k,p,q] = I[c,2*p+r,3*q+2*s] * W[k,c,r,s]", {"k": 4, "c": 3, "p": 6, "q": 4, "r": 3, "s": 2}),
    parse_workload("O[c,p] = I[c,p+r] * W[c,r]", {"c": 6, "p": 8, "r": 4}),
    parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 8, "j": 6, "k": 12}),
    parse_workload("A[i,j] = B[i,k,l] * C[k,j] * D[l,j]", {"i": 4, "j": 6, "k": 4, "l": 3}),
    parse_workload("A[i] = B[i+j,j] * C[j]", {"i": 6, "j": 8}),
    parse_workload("A[i] = B[i+2*j+3*k] * C[j,k]", {"i": 6, "j": 8, "k": 4}),
)
UNPROVED = (
    "workload.name",
    "workload.count",
    "machine.name",
    "machine.clock_hz",
    "machine.arithmetic.word_bits",
    "method",
    "status.stop",
    "status.space",
    "relaxation.formulation",
    "relaxation.tolerance",
    "search.proof",
    "search.evaluations",
    "search.seconds",
    "search.curve",
    "bound.method",
    "seed",
    "versions",
    "notes",
    "seconds",
)
"""What the checker names as not verified, or has no meaning for a claim."""
STILL_TRUE = {
    "workload.bytes",  # an element is a word, whatever its size
    "floor.port_cycles",  # a smaller floor than the proved one is a floor
    "counting",  # one that is not known here: then its counts are said not to be verified
}


def bytes_machine() -> Machine:
    """Capacities in bytes, entries of no size: elements of 1 and 4 bytes share them."""
    machine = grid_machine()
    levels = tuple(
        replace(level, capacity=Capacity(amount=amount, unit="bytes"), inclusive=False)
        for level, amount in zip(machine.levels, (90, 900), strict=True)
    )
    return replace(machine, levels=levels)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.expression)
@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_two_roads_count_the_same(workload: Workload, counting: NestPolicy) -> None:
    """Counts, energy, cycles and validity of random mappings, wires, clusters and sizes of elements among them."""
    generator = random.Random(5)
    workload = workload.with_accesses([workload.output, *(replace(tensor, bits=8) for tensor in workload.inputs)])
    for machine in (grid_machine(), wired_machine(), bytes_machine()):
        fabric = fabric_of(workload, machine)
        own = StatedFabric(workload_document(workload), machine_document(machine))
        assert [held_inside(own, n) for n in range(2)] == [inside_words(fabric, n) for n in range(2)]
        for _ in range(25):
            nest = random_nest(fabric, generator)
            found = count_nest(nest, fabric, counting)
            loops = Loops(own, mapping_document(mapping_of(nest, fabric))["levels"])
            counts = Counts(loops, timeloop=counting is NEST_TIMELOOP)
            held = [(memory.occupancy_words, memory.capacity_words) for memory in found.memories]
            assert held == [
                (occupancy(memory, row), sum(words for _, _, words in memory.rooms) or None)
                for memory, row in zip(own.memories, counts.rows, strict=True)
            ]
            rows = [
                {row.operand: (row.reads, row.fills, row.updates, row.tile_words, row.multicast) for row in m.accesses}
                for m in found.memories
            ]
            assert rows == [{own.operands[i][0]: row for i, row in counted.items()} for counted in counts.rows]
            assert counts.energies == [memory.energy_pj for memory in found.memories]
            assert (counts.energy, counts.cycles) == (found.energy_pj, found.cycles)
            if found.broken:
                with pytest.raises(RefusedError):
                    loops.check(hulls=counting is NEST_TIMELOOP)
            else:
                loops.check(hulls=counting is NEST_TIMELOOP)


@cache
def solved(counting: str = "exact", objective: str = "edp") -> dict[str, Any]:
    route = replace(MESHED, counts=lambda _: True)
    METHODS["sampled"] = Method(name="sampled", description="x", routes=(route,))
    try:
        found = optmap.solve(
            convolution(), machine=grid_machine(), method="sampled", counting=counting, objective=objective, seed=1
        )
    finally:
        del METHODS["sampled"]
    return found.to_dict()


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
@pytest.mark.parametrize("objective", ["energy", "cycles", "edp", "port-cycles", "traffic"])
def test_what_was_solved_is_verified(counting: str, objective: str) -> None:
    report = check_document(solved(counting, objective))
    text = str(report)
    assert "re-proved certificates of words that cross" in text
    assert f"counted as {counting}" in text
    assert "search whose labels are not in the file" in text


def test_capacities_in_bytes_hold_words_of_the_workload() -> None:
    """Elements of several sizes in one level of bytes: the checker counts what they take as the answer does."""
    work = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 4, "j": 4, "k": 4})
    work = work.with_accesses([work.output, *(replace(tensor, bits=8) for tensor in work.inputs)])
    level = Level(name="L1", capacity=Capacity(amount=100, unit="bytes"), store=Store(energy_pj=Prices(read=1)))
    machine = Machine(name="bytes", levels=(level,), outermost=Store(energy_pj=Prices(read=9)))
    document = optmap.solve(work, machine=machine, objective="energy").to_dict()
    assert document["levels"][0]["capacity_words"] == 100
    check_document(document)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, inside in value.items():
            if key != "certificate":
                yield from leaves(inside, (*path, key))
    elif isinstance(value, list):
        for number, inside in enumerate(value):
            yield from leaves(inside, (*path, number))
    else:
        yield path, value


def forged(value: Any) -> list[Any]:
    """Other values of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(0, value - 1)] if value else [1]
    if isinstance(value, float):
        return [value * 1.001]
    if isinstance(value, str):
        return ["9" + value if value[:1].isdigit() else value + "x"]
    return []


def changed(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    inside: Any = made
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return signed(made)


def spoken(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in path if not isinstance(key, int))


@pytest.mark.parametrize("counting", some(1, WALKED), ids=str)
def test_no_claim_can_be_forged(counting: str) -> None:
    """Every number and word of a document, changed and signed again, is refused unless it is named as not verified."""
    document = solved(counting)
    survivors = set()
    for path, value in leaves(document):
        said = spoken(path)
        if said == "digest" or said.startswith(UNPROVED) or said.startswith("machine."):
            continue
        for other in forged(value):
            try:
                check_document(changed(document, path, other))
                survivors.add(said)
            except RefusedError:
                continue
    assert survivors == STILL_TRUE


def test_no_count_of_factorflow_can_be_forged() -> None:
    document = solved("factorflow")
    for other in WALKED:
        with pytest.raises(RefusedError):
            check_document(signed({**document, "counting": other.name}))
    counts = [
        (path, value) for path, value in leaves(document) if path[0] in ("boundaries", "levels", "energy", "cost")
    ]
    for path, value in counts[::2]:
        with pytest.raises(RefusedError):
            check_document(changed(document, path, forged(value)[0]))


def test_without_its_digest_it_is_refused() -> None:
    document = copy.deepcopy(solved())
    document["energy"]["value"] += 1
    with pytest.raises(RefusedError, match="digest"):
        check_document(document)


def test_a_floor_of_a_smaller_memory_is_refused() -> None:
    """A certificate that is true, but of less memory than the inside of the boundary has, proves too much."""
    document = copy.deepcopy(solved("exact", "energy"))
    crossing = document["floor"]["crossings"][0]
    small = certified_bound(even(convolution()), crossing["memory_words"] // 8)
    assert small.total_words >= crossing["words"]
    crossing.update(memory_words=crossing["memory_words"] // 8, words=small.total_words, certificate=small.certificate)
    with pytest.raises(RefusedError, match="words are inside"):
        check_document(signed(document))


def test_a_floor_of_another_workload_is_refused() -> None:
    document = copy.deepcopy(solved("exact", "energy"))
    crossing = document["floor"]["crossings"][1]
    other = certified_bound(even(convolution(k=8)), crossing["memory_words"])
    crossing.update(words=other.total_words, certificate=other.certificate)
    with pytest.raises(RefusedError, match="another workload"):
        check_document(signed(document))


def test_a_tensor_without_a_part_of_its_memory_is_refused() -> None:
    """What no capacity limits would stay inside for nothing: the floor does not hold of it."""
    document = copy.deepcopy(solved("exact", "energy"))
    level = document["machine"]["levels"][-1]
    level["partitions"] = [{"name": "results", "tensors": ["output"], "capacity": level["capacity"]}]
    with pytest.raises(RefusedError, match="no part for a tensor that it may keep"):
        check_document(signed(document))


@pytest.mark.parametrize("key", ["levels", "floor", "search", "mapping", "machine"])
def test_a_part_of_another_kind_is_refused_in_words(key: str) -> None:
    for value in (None, 3, [], {}, "x"):
        document = {**copy.deepcopy(solved()), key: value}
        if key == "floor" and value is None:
            document |= {"bound": None, "gap": None}
            assert "no schedule" not in str(check_document({**signed(document)}))
        else:
            with pytest.raises(RefusedError):
                check_document(signed(document) if key != "search" else document)


def test_proved_means_that_the_bound_is_the_cost() -> None:
    document = copy.deepcopy(solved())
    for part in (document["search"], document["status"]):
        part["proved"] = True
    with pytest.raises(RefusedError, match="above its bound"):
        check_document(signed(document))
