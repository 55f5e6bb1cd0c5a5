"""Mappings by predicted time: sorted, the same every time, different in what counts, the known good ones found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases import some
from host_machines import CORE, level
from register_shapes import register_shape

import optmap
from optmap.base.errors import InputError
from optmap.cli import main
from optmap.count.timing.predict import predict
from optmap.files.inputs import workload_of
from optmap.kernels.kernel_roles import kernel_roles, taken_dims
from optmap.machines.core import Microkernel
from optmap.machines.machine import Machine
from optmap.native import emit_code
from optmap.search import even_cuts_up_to, order_of, ranked
from optmap.workloads.amounts import Bandwidth
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

AVX512 = Machine(
    name="avx512",
    levels=(
        level("Reg", 2048, 128),
        level("L1", 48 * 2**10, 48, line_bytes=64),
        level("L2", 2 * 2**20, 16, line_bytes=64),
        level("L3", 105 * 2**20, 12, line_bytes=64, shared=True, fanout=2, core_bandwidth=Bandwidth(amount=8)),
    ),
    core=CORE,
    clock_hz=2_800_000_000,
)


def layer(name: str):  # type: ignore[no-untyped-def]
    return workload_of(name, None, "assign", "implicit")


@pytest.mark.parametrize(
    ("name", "vectors", "points"),
    some(1, [("resnet18/R2", 4, 6), ("resnet18/R9", 2, 14), ("resnet18/R12", 2, 14)]),
)
def test_register_tiles_that_are_known_to_be_fast_are_among_the_best(name: str, vectors: int, points: int) -> None:
    workload = layer(name)
    found = ranked(workload, AVX512, count=8)
    shapes = [register_shape(workload, each.mapping, CORE) for each in found]
    assert (vectors, points) in [(shape.vectors, shape.points) for shape in shapes if shape is not None]
    roles = kernel_roles(workload)
    assert roles is not None
    assert all(taken_dims(workload, each.mapping, roles.reduction) == ("r", "s", "c") for each in found)


def test_candidates_are_sorted_different_and_the_same_every_time() -> None:
    workload = layer("resnet18/R5")
    found = ranked(workload, AVX512)
    assert len(found) == 5
    assert found == ranked(workload, AVX512)
    keys = [order_of(each.prediction) for each in found]
    assert keys == sorted(keys)
    assert len({(tuple(e.mapping.levels[0].tile.values()), e.prediction.boundaries) for e in found}) == 5
    for each in found:
        assert each.prediction == predict(workload, AVX512, each.mapping, each.options)
        assert each.prediction.feasible


def test_threads_halve_the_time_of_a_layer_that_computes() -> None:
    workload = layer("resnet18/R9")
    one, two = (ranked(workload, AVX512, threads=threads, count=1)[0] for threads in (1, 2))
    assert one.prediction.cycles * 0.49 <= two.prediction.cycles <= one.prediction.cycles * 0.55
    assert two.mapping.levels[-1].spatial in ({"k": 2}, {"h": 2}, {"w": 2})


def test_threads_begin_where_packed_weights_do() -> None:
    """Half of 77 filters begins inside a vector: rows of the image are split. Half of 128 fits tiles of 16, 32, 64."""
    for filters, rows, split in ((77, 14, False), (128, 3, True)):
        workload = conv2d(c=32, h=rows, w=14, r=1, s=1, k=filters, name=f"layer{filters}")
        found = ranked(workload, AVX512, threads=2, count=8)
        assert any("k" in each.mapping.levels[-1].spatial for each in found) == split
        for each in found:
            weights = emit_code(workload, each.mapping, AVX512, each.options).buffers[2]
            tile = min(each.mapping.levels[0].tile["k"], each.mapping.levels[1].tile["k"])
            assert max(block for axis, block in weights.layout.order if axis == 0) == -(-tile // 16) * 16
    product = matmul(i=1, j=77, k=64)  # no other dim to split
    assert all(each.mapping.levels[-1].spatial == {"j": 2} for each in ranked(product, AVX512, threads=2))


def test_depthwise_layers_matrix_products_and_plain_loops_have_candidates() -> None:
    for workload, kind in (
        (layer("mobilenet/M5"), "depthwise"),
        (parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 100, "j": 70, "k": 90}), "outer-product"),
        (parse_workload("y[i] = A[i,k]*x[k]", {"i": 100, "k": 90}), None),
        (parse_workload("O[i,j] = A[i,k]*B[k,l]*C[l,j]", {"i": 6, "j": 7, "k": 8, "l": 9}), "plain"),
    ):
        best = ranked(workload, AVX512, count=1)[0]
        best.mapping.check(workload, AVX512)
        assert kind is None or best.prediction.kernel == kind
        assert best.prediction.cycles >= best.prediction.floor_cycles


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_machines_of_fewer_levels_have_candidates(levels: int) -> None:
    machine = Machine(name="small", levels=AVX512.levels[:levels], core=CORE)
    workload = layer("resnet18/R12")
    best = ranked(workload, machine, count=1)[0]
    best.mapping.check(workload, machine)
    assert best.prediction.feasible


def test_no_time_without_a_core() -> None:
    with pytest.raises(InputError, match="does not say what a core computes with"):
        ranked(layer("resnet18/R12"), Machine(name="bare", levels=AVX512.levels))


def test_balanced_cuts() -> None:
    assert even_cuts_up_to(7, 7) == [7, 4, 3, 2, 1]
    for extent in range(1, 200):
        every = sorted({-(-extent // pieces) for pieces in range(1, extent + 1)}, reverse=True)
        assert even_cuts_up_to(extent, 32) == [size for size in every if size <= 32]
    assert even_cuts_up_to(2**60, 4) == [4, 3, 2, 1]  # without looking at all the others


def test_the_objective_time_is_solved_bounded_saved_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "host.yaml"
    path.write_text(optmap.show(AVX512).yaml)
    saved = tmp_path / "solution.json"
    options = ["--objective", "time", "--semantics", "assign", "--padding", "implicit", "-o", str(saved), "--json"]
    assert main(["solve", "resnet18/R12", "--machine", str(path), *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["method"], answer["objective"], answer["cost"]["unit"]) == ("timed", "time", "cycles")
    assert answer["cost"] == answer["exact"]
    assert answer["prediction"]["cycles"] == answer["exact"]["value"]
    assert answer["prediction"]["seconds"] == answer["exact"]["value"] / AVX512.clock_hz  # type: ignore[operator]
    # Taps on padding are no work: 19/21 of each direction is left. 32 multiply-adds a cycle.
    roof = 512 * 512 * 19**2 / 32
    assert answer["bound"] == {"value": roof, "unit": "cycles", "method": "best"}
    assert answer["gap"] == pytest.approx(answer["exact"]["value"] / roof - 1)
    assert main(["check", str(saved)]) == 0
    said = capsys.readouterr().out
    assert f"no code takes fewer than {roof:,.0f} cycles" in said
    assert "a model of the machine" in said.split("Not verified")[1]
    assert main(["evaluate", str(saved)]) == 0
    capsys.readouterr()
    document = json.loads(saved.read_text())
    for change in (
        {"bound": {**document["bound"], "value": roof + 1}},
        {"exact": {**document["exact"], "value": roof + 1}},
        {"prediction": {**document["prediction"], "threads": 2}},
    ):
        saved.write_text(json.dumps({**document, **change}))
        assert main(["check", str(saved)]) == 5
        capsys.readouterr()


def test_the_bound_of_time_is_data_where_nothing_is_computed_twice() -> None:
    """A product of a matrix and a vector reads the matrix: 64 MiB, of which caches keep 1 MiB from call to call."""
    machine = Machine(name="slow", levels=(level("Reg", 2048, 128), level("L1", 2**20, 1)), core=CORE)
    extents = {"i": 4096, "k": 4096}
    result = optmap.solve("y[i] = A[i,k]*x[k]", extents=extents, machine=machine, objective="time")
    assert result.bound is not None
    assert result.bound.value == 4 * (4096**2 + 4096) - (2**20 + 2048)
    assert result.exact >= result.bound.value


def test_two_cores_are_bounded_together(tmp_path: Path) -> None:
    result = optmap.solve(
        "C[i,j] = A[i,k]*B[k,j]", extents="i=256,j=256,k=256", machine=AVX512, objective="time", cores=2
    )
    assert result.prediction is not None
    assert result.prediction.threads == 2
    assert result.bound is not None
    assert result.bound.value >= 256**3 / 64
    result.save(tmp_path / "solution.json")
    assert optmap.check(tmp_path / "solution.json").verified


def test_a_machine_without_a_core_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "resnet18/R12", "--machine", "balanced", "--objective", "time"]) == 2
    assert "optmap detect" in capsys.readouterr().err


def test_a_microkernel_in_a_machine_file_is_no_hindrance() -> None:
    registers = replace(AVX512.levels[0], microkernel=Microkernel(vector=64, broadcast=6))
    machine = replace(AVX512, levels=(registers, *AVX512.levels[1:]))
    workload = optmap.workload("C[i,j] += A[i,k]*B[k,j]", {"i": 40, "j": 64, "k": 20})
    found = optmap.solve(workload, machine=machine, objective="time")
    assert found.mapping == optmap.solve(workload, machine=AVX512, objective="time").mapping
    assert any("not from the microkernel of Reg" in note for note in found.notes)


def test_every_number_of_vectors_has_its_best_among_the_first_five() -> None:
    workload = layer("resnet18/R2")
    widths = [each.mapping.levels[0].tile["k"] for each in ranked(workload, AVX512)]
    assert {16, 32, 64} <= set(widths)
    one = next(
        each.mapping.levels[0].tile for each in ranked(workload, AVX512) if each.mapping.levels[0].tile["k"] == 16
    )
    assert one["h"] * one["w"] == 28


def test_of_mappings_alike_one_that_keeps_its_sums_is_offered() -> None:
    """A 1x1 layer: cuts of the channels save lines that pass beside the arithmetic, and load every sum again."""
    workload = layer("yolo9000/Y19")
    rates = (128, 49, 11, 10)
    slow = tuple(
        replace(each, bandwidth=Bandwidth(amount=rate)) for each, rate in zip(AVX512.levels, rates, strict=True)
    )
    machine = replace(AVX512, levels=(*slow[:3], replace(slow[3], core_bandwidth=Bandwidth(amount=5))))
    found = [each.mapping.levels for each in ranked(workload, machine, threads=2, count=3)]
    whole = {levels[0].tile["k"] for levels in found if levels[1].tile["c"] == workload.extents["c"]}
    assert 64 in whole
