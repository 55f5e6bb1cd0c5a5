"""What is said of mappings by predicted time on five kinds of host: fit, words, cycles and gap, everywhere the same."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import cases, some
from hypothesis import given, settings
from hypothesis import strategies as st
from timed_attack_cases import HOSTS, attack, attack_words, document_of, nest_of

import optmap
from optmap.answers.documents.recount import walk_keeping
from optmap.answers.documents.solution import solution_from
from optmap.answers.proofs.beside import with_bound
from optmap.answers.side_by_side.comparison import comparison_row
from optmap.base.errors import ContradictionError, InfeasibleError, InputError
from optmap.base.texts import number
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.checker.tiles.kept import KeptNestPart
from optmap.cli import main
from optmap.count.tally import Budget
from optmap.count.timing import keeping
from optmap.count.timing.floor import Running, floor_cycles
from optmap.count.timing.kernel import kernel_cycles
from optmap.count.timing.predict import predict
from optmap.files.fields import Fields
from optmap.machines.core import Core
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.builders import matmul
from optmap.workloads.parser import parse_workload

DETECTED = HOSTS["detected"]
DATA = Path(__file__).parents[1] / "data" / "hosts"
Document = dict[str, Any]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("seed", some(1, range(6)))
def test_random_kernels_say_the_same_everywhere_and_nothing_below_a_bound(host: str, seed: int) -> None:
    """Two kernels each; `tests/benchmarks/timed_attack.py` goes on."""
    rng = random.Random(f"{host} {seed}")
    for _ in range(2):
        attack(rng, HOSTS[host], drawn_too=seed == 0)


@settings(max_examples=cases(12, 60))
@given(st.integers(0, 2**32))
def test_what_levels_keep_of_random_nests_is_what_a_walk_counts_and_above_every_bound(seed: int) -> None:
    attack_words(random.Random(seed), bounded=seed % 4 == 0)


def test_what_children_side_by_side_begin_is_begun_once() -> None:
    """Four children have an element of `O[a+2*b]` at a time, of seven each, which overlap: another one began 15."""
    workload = parse_workload("O[a+2*b] = X[a]*Y[b]", {"a": 7, "b": 4})
    split = {"b": 4}
    entry = LevelMapping(level="L0", tile={"a": 7, "b": 4}, permutation=("b", "a"), spatial=split)
    room = Capacity(amount=12, unit="words")
    level = Level(name="L0", capacity=room, kind=LevelKind.CACHE, shared=True, fanout=4, inclusive=False)
    core = Core(vector_bytes=4, registers=4, fma_ports=1, fma_latency=1, load_ports=1)
    machine, mapping = Machine(name="m", levels=(level,), core=core), Mapping(levels=(entry,))
    found = keeping(workload, machine, mapping, 0)
    assert (found.body.tile, found.body.ways) == ({"a": 1, "b": 1}, split)
    begun = len({a + 2 * b for a in range(7) for b in range(4)})
    expected = (4 * 7 - begun, 4 * 7)
    assert found.traffic(workload)[0] == expected == (15, 28)
    walked = walk_keeping(workload, ("L0", "memory"), found, Budget(10**6))
    assert (walked[0].loads_words, walked[0].stores_words) == expected
    part = KeptNestPart(document_of(workload, machine, mapping, 0, found), nest_of(workload, machine, mapping), 0)
    assert part.moved()[0] == expected


@pytest.mark.parametrize("name", ["M1", "M7", "M8", "M9"])
def test_registers_hold_a_depthwise_tile_but_for_the_image(name: str) -> None:
    """21 sums are two thirds of 32 registers; the same pixels of the image beside them would be too many."""
    found = optmap.solve(f"mobilenet/{name}", machine=DETECTED, objective="time")
    registers, kept = found.levels[0], found.levels[0].kept
    assert kept is not None
    assert kept.tile == found.mapping.levels[0].tile
    assert kept.passing == "In"
    sums = kept.tile["c"] * kept.tile["h"] * kept.tile["w"]
    assert registers.occupancy_words == sums + kept.tile["c"] + 1 <= 512
    assert sum(tensor.footprint(kept.tile) for tensor in found.workload.tensors) > 512
    assert DETECTED.core is not None
    assert kernel_cycles(found.workload, found.mapping, DETECTED.core).fits


def test_one_vector_of_many_points_fits_without_the_elements_that_are_broadcast() -> None:
    """30 sums, a vector of weights, and 30 elements that come one by one: 31 registers, 526 words."""
    workload = matmul(i=30, j=16, k=64)
    mapping = Mapping(
        levels=tuple(
            LevelMapping(level=level.name, tile={"i": 30, "j": 16, "k": k}, permutation=("i", "j", "k"), spatial={})
            for level, k in zip(DETECTED.levels, (1, 64, 64, 64), strict=True)
        )
    )
    found = keeping(workload, DETECTED, mapping, 0)
    assert (sum(found.words(workload)), found.passing) == (30 * 16 + 16 + 1, 1)
    assert found.traffic(workload) == ((480, 480), (30 * 64, 0), (16 * 64, 0))


def test_a_cache_keeps_the_part_that_fits_whatever_the_tile_is_called() -> None:
    """The block of R9 takes 86 times the first cache, which sees every word that the registers load."""
    found = optmap.solve("resnet18/R9", machine=DETECTED, objective="time")
    tile = found.mapping.levels[1].tile
    assert sum(tensor.footprint(tile) for tensor in found.workload.tensors) > 80 * found.levels[1].capacity_words
    assert all(level.occupancy_words <= level.capacity_words for level in found.levels)
    words = [level.traffic_words for level in found.levels]
    assert words == sorted(words, reverse=True)
    assert words[1] == words[0]
    assert found.prediction is not None
    assert found.prediction.boundaries[0].moved_bytes == 4 * words[1]


def test_compare_and_network_have_no_gap_below_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = str(DATA / "detected.yaml")
    picture = tmp_path / "words.png"
    options = ["--machine", machine, "--methods", "timed", "--json", "--plot", str(picture)]
    assert main(["compare", "resnet18/R9", *options]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 4
    assert min(row["gap"] for row in rows) >= 0
    assert picture.stat().st_size
    layers = tmp_path / "net.yaml"
    layers.write_text(
        "workloads:\n"
        "  dense: {expression: 'C[i,j] = A[i,k]*B[k,j]', extents: {i: 40, j: 64, k: 96}, count: 2}\n"
        "  vector: {expression: 'y[i] = A[i,k]*x[k]', extents: {i: 64, k: 90}}\n"
    )
    assert main(["network", str(layers), "--machine", machine, "--method", "timed", "--json"]) == 0
    network = json.loads(capsys.readouterr().out)
    assert network["traffic_gap"] >= 0


def test_a_mapping_below_the_bound_is_a_contradiction() -> None:
    found = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=30,j=32,k=33", machine=DETECTED, objective="time")
    between = found.machine.boundaries[-1]
    fewer = tuple(replace(row, loads_words=row.loads_words // 2) for row in found.boundaries)
    moving_less = replace(found, exact_count=replace(found.exact_count, boundaries=fewer))
    with pytest.raises(ContradictionError, match="fewer than the bound"):
        comparison_row(found.workload, between, 8_930_304, {"timed": moving_less}, [])
    with pytest.raises(ContradictionError, match="fewer than the bound"):
        with_bound(moving_less)
    assert found.prediction is not None
    fast = replace(found.prediction, cycles=found.prediction.floor_cycles / 2)
    with pytest.raises(ContradictionError, match="cycles are predicted, below the bound"):
        with_bound(replace(found, found=replace(found.found, prediction=fast)))


@pytest.fixture(scope="module")
def document() -> Document:
    """A depthwise layer: registers that an input passes through, a cache that is too small for its tile."""
    found = optmap.solve("mobilenet/M8", machine=DETECTED, objective="time")
    made: Document = json.loads(json.dumps(found.to_dict()))
    check_document(made)
    return made


def forged(document: Document, level: int, **kept: object) -> Document:
    """Another claim of what a level keeps, signed."""
    made = copy.deepcopy(document)
    made["levels"][level]["kept"] |= kept
    made["digest"] = digest({key: value for key, value in made.items() if key != "seconds"})
    return made


def test_the_checker_refuses_parts_that_do_not_fit_or_are_none(document: Document) -> None:
    tile = document["levels"][0]["kept"]["tile"]
    for level, kept, reason in (
        (0, {"passing": None}, "Reg needs 688 of 512 words"),
        (0, {"passing": "Out"}, "Out is no input that could pass"),
        (0, {"passing": "Ker"}, "Reg needs 673 of 512 words"),
        (0, {"tile": {**tile, "c": 8}}, "which no cut between two loops leaves inside"),
        (1, {"tile": tile}, "boundaries says"),
        (1, {"passing": "In"}, "L1 holds 481 words"),
    ):
        with pytest.raises(RefusedError, match=reason):
            check_document(forged(document, level, **kept))
    safe = {**document, "capacity_rule": "safe"}
    safe["digest"] = digest({key: value for key, value in safe.items() if key != "seconds"})
    with pytest.raises(RefusedError, match="rule tile"):
        check_document(safe)
    with pytest.raises(InputError, match="capacity_rule"):
        solution_from(Fields.of(safe, "safe"))


def test_cycles_of_levels_are_those_of_the_prediction(document: Document) -> None:
    prediction = document["prediction"]
    cycles = [prediction["compute_cycles"], *(row["cycles"] for row in prediction["boundaries"])]
    assert [level["cycles"] for level in document["levels"]] == cycles
    assert document["bottleneck"] == "L1"
    assert prediction["bound_by"] == "L1 - L2"
    for key, place in (("levels", 1), ("levels", 0)):
        made = copy.deepcopy(document)
        made[key][place]["cycles"] += 1
        made["digest"] = digest({name: value for name, value in made.items() if name != "seconds"})
        with pytest.raises(RefusedError, match="takes"):
            check_document(made)


def test_picture_text_and_recount_say_the_predicted_cycles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The walk of the recount is that of the parts that are kept."""
    machine, saved = str(DATA / "little.yaml"), str(tmp_path / "saved.json")
    layer = ["O[c,h,w] = I[c,h+r,w+s]*W[c,r,s]", "--extents", "c=5,h=6,w=7,r=3,s=3"]
    pictures = tmp_path / "pictures"
    options = ["--machine", machine, "--objective", "time", "-o", saved, "--plot", str(pictures)]
    assert main(["solve", *layer, *options]) == 0
    said = capsys.readouterr().out
    assert [path.suffix for path in pictures.iterdir()] == [".png"]
    cycles = json.loads(Path(saved).read_text())["prediction"]["cycles"]
    assert f"predicted {number(cycles)} cycles" in " ".join(said.split())
    assert "per-level form" not in said
    assert main(["evaluate", saved, "--simulate"]) == 0
    again = capsys.readouterr().out
    assert f"predicted {number(cycles)} cycles" in " ".join(again.split())
    assert "per-level form" not in again
    assert main(["check", saved]) == 0


def slow_shared() -> Iterator[Machine]:
    """Hosts whose outermost cache, shared by all, is too small for what they do together."""
    for name in ("desktop", "server", "small_arm"):
        host = HOSTS[name]
        inner, last = host.levels[:-1], host.levels[-1]
        small = Capacity(amount=max(level.capacity.amount for level in inner[:2]))
        shrunk = [replace(level, capacity=min(level.capacity, small, key=lambda each: each.amount)) for level in inner]
        yield replace(
            host, levels=(*shrunk, replace(last, capacity=small, bandwidth=Bandwidth(amount=1), core_bandwidth=None))
        )


@pytest.mark.parametrize("host", some(1, slow_shared()), ids=lambda host: host.name)
def test_what_threads_share_is_kept_of_each_of_them(host: Machine) -> None:
    """The tile that is split does not fit: every thread has its part of the cache, what they have in common is once."""
    found = optmap.solve("C[i,j] = A[i,k]*B[k,j]", extents="i=192,j=256,k=200", machine=host, objective="time", cores=2)
    kept = found.levels[-1].kept
    assert kept is not None
    split = found.mapping.levels[-1].spatial
    (dim,) = split
    assert kept.tile[dim] <= found.workload.extents[dim] / 2
    words = [tensor.footprint(kept.tile) * (2 if dim in tensor.dims else 1) for tensor in found.workload.tensors]
    assert found.levels[-1].occupancy_words == sum(words)
    assert found.gap is not None
    assert found.gap >= 0
    check_document(json.loads(json.dumps(found.to_dict())))
    assert found.prediction is not None
    assert found.prediction.cycles >= floor_cycles(found.workload, host, Running(threads=2))


def test_links_in_words_are_as_fast_as_in_bytes() -> None:
    """A word of the workload has 8 bytes: 12 bytes per cycle are one and a half."""
    levels = DETECTED.levels[:2]
    hosts = [
        replace(DETECTED, levels=tuple(replace(level, bandwidth=Bandwidth(amount=n, unit=unit)) for level in levels))
        for n, unit in ((12, "bytes"), (1.5, "words"))
    ]
    one, two = (
        optmap.solve(matmul(i=200, j=200, k=3, bytes=8), machine=host, objective="time", method="timed")
        for host in hosts
    )
    assert (one.mapping, one.prediction, one.bound) == (two.mapping, two.prediction, two.bound)
    check_document(json.loads(json.dumps(two.to_dict())))


@pytest.mark.parametrize("size", [0.125, 0.5, 1.5])
@pytest.mark.parametrize("text", ["C[i,j] = A[i,k]*B[k,j]", "O[i] += A[i,k]*B[k,i]"])
def test_elements_that_are_no_whole_bytes_have_a_time(text: str, size: float) -> None:
    """With a vector kernel, whose weights are packed, and in plain loops; caches with sets and without."""
    for host in ("detected", "little"):
        extents = {"i": 64, "k": 160} | ({"j": 64} if "j" in text else {})
        found = optmap.solve(parse_workload(text, extents, bytes=size), machine=HOSTS[host], objective="time")
        assert found.prediction is not None
        assert found.bound is not None
        assert found.bound.value <= found.prediction.cycles < float("inf")
        check_document(json.loads(json.dumps(found.to_dict())))


def test_plain_loops_are_shared_whatever_a_microkernel_leaves() -> None:
    """Tiles of 6 x 64 elements are one tile, or more than two threads could share."""
    found = optmap.solve(
        "O[i,j] += A[i,k]*B[k,l]*C[l,j]", extents="i=5,j=7,k=11,l=3", machine=DETECTED, objective="time", cores=2
    )
    assert found.prediction is not None
    assert (found.prediction.kernel, found.prediction.threads) == ("plain", 2)
    assert not any("microkernel" in note for note in found.notes)


def test_a_register_file_smaller_than_the_core_says_is_what_counts() -> None:
    few = replace(DETECTED.levels[0], capacity=Capacity(amount=512), microkernel=None)
    host = replace(DETECTED, levels=(few, *DETECTED.levels[1:]))
    found = optmap.solve("mobilenet/M8", machine=host, objective="time")
    assert found.prediction is not None
    assert found.prediction.registers <= 8
    assert found.levels[0].occupancy_words <= 128


def test_a_level_without_room_for_an_iteration_is_infeasible() -> None:
    tiny = replace(DETECTED.levels[0], capacity=Capacity(amount=8), microkernel=None)
    host = replace(DETECTED, levels=(tiny, *DETECTED.levels[1:]))
    workload = parse_workload("y[i] = A[i,k]*x[k]", {"i": 8, "k": 8})
    mapping = Mapping(
        levels=tuple(
            LevelMapping(level=level.name, tile={"i": 1, "k": 1}, permutation=("i", "k"), spatial={})
            for level in host.levels
        )
    )
    with pytest.raises(InfeasibleError, match=r"Reg has room for 2 words of .*a single iteration needs 3"):
        keeping(workload, host, mapping, 0)
    assert predict(workload, host, mapping).cycles > 0
