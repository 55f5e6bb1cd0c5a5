"""Samples of tilings, and a validation from end to end on a layer that takes no time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cases import some
from host_machines import AVX2, AVX512, HOSTS
from register_shapes import register_shape
from schemas import hold

import optmap
from optmap.base.errors import CheckError, InputError, LimitError, UnknownNameError
from optmap.count.levels.cost import evaluate_cost
from optmap.count.timing.predict import predict
from optmap.files.inputs import workload_of
from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind, kernel_roles
from optmap.loop_orders import dataflow_classes
from optmap.native import (
    ValidatedMapping,
    build_samples,
    emit_samples,
    rank_layer,
    ready_samples,
    register_tiles,
    sample_mappings,
)
from optmap.native.validate.models import bottleneck_cost
from optmap.search.space.sizes import even_cuts
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul, mttkrp
from optmap.workloads.workload import Semantics

SMALL = conv2d(k=40, c=5, h=6, w=7, r=3, s=3, semantics=Semantics.ASSIGN).with_padding("implicit")


@pytest.mark.parametrize("extent", [1, 2, 3, 7, 14, 56, 97, 512])
def test_even_cuts_are_all_sizes_of_even_cuts(extent):
    assert even_cuts(extent) == tuple(sorted({-(-extent // parts) for parts in range(1, extent + 1)}))


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("name", some(2, ["resnet18/R12", "resnet18/R9", "mobilenet/M5", "yolo9000/Y0"]))
def test_register_tiles_fit_and_keep_the_units_busy(host, name):
    workload = workload_of(name, None, "assign", "implicit")
    groups = register_tiles(workload, host)
    vector = kernel_roles(workload).vector
    assert len({-(-group[0][vector] // host.core.lanes(32)) for group in groups}) == len(groups) > 1
    for tile in (tile for group in groups for tile in group):
        mapping = sample_mappings(workload, host, 1)[0]
        inner = replace(mapping.levels[0], tile=tile)
        shape = register_shape(workload, replace(mapping, levels=(inner, *mapping.levels[1:])), host.core)
        assert shape.registers <= host.core.registers
        assert shape.vectors * shape.points >= host.core.fma_latency * host.core.fma_ports
        assert all(tile[dim] == 1 for dim in workload.reduction_dims)


def test_samples_belong_fit_differ_and_are_those_of_their_seed():
    workload = workload_of("resnet18/R9", None, "assign", "implicit")
    drawn = sample_mappings(workload, AVX512, 40, seed=3)
    assert len(drawn) == 40
    assert drawn == sample_mappings(workload, AVX512, 40, seed=3)
    assert drawn != sample_mappings(workload, AVX512, 40, seed=4)
    orders = {each.representative for each in dataflow_classes(workload).classes}
    assert len(orders) == 8
    assert {level.permutation for mapping in drawn for level in mapping.levels[1:]} == orders
    for mapping in drawn:
        mapping.check(workload, AVX512)
        assert set(mapping.levels[0].permutation[-3:]) == set(workload.reduction_dims)
        for level, tile in zip(AVX512.levels[1:], (each.tile for each in mapping.levels[1:]), strict=True):
            assert sum(t.footprint(tile) for t in workload.tensors) <= level.words(32)
    speeds = sorted(predict(workload, AVX512, mapping).cycles for mapping in drawn)
    assert speeds[-1] > 1.5 * speeds[0]  # good ones and bad ones


def test_any_workload_has_samples_and_few_are_handed_back_where_there_are_few():
    three = mttkrp(i=4, j=3, k=2, l=5)
    assert register_tiles(three, AVX2) == ()
    assert len(sample_mappings(three, AVX2, 5)) == 5
    tiny = matmul(i=1, j=2, k=1)
    found = sample_mappings(tiny, AVX2, 10)
    assert 1 <= len(found) < 10


def test_what_cannot_be_sampled_is_said():
    with pytest.raises(InputError, match="at least one"):
        sample_mappings(SMALL, AVX2, 0)
    small = replace(AVX2.levels[1], capacity=Capacity(amount=128), inclusive=False)
    with pytest.raises(LimitError, match="none of 400 random tilings fits"):
        sample_mappings(SMALL, replace(AVX2, levels=(AVX2.levels[0], small, *AVX2.levels[2:])), 1)


def test_ranks_of_a_layer_are_those_of_its_samples():
    drawn = sample_mappings(SMALL, AVX2, 6)
    samples = [
        ValidatedMapping(mapping=mapping, kernel=KernelKind.OUTER_PRODUCT, prediction=predict(SMALL, AVX2, mapping))
        for mapping in drawn
    ]
    agreed = [replace(sample, seconds=sample.prediction.seconds) for sample in samples]
    row = rank_layer(SMALL, agreed, AVX2).rankings[0]
    assert row.spearman == pytest.approx(1)
    assert row.losses == (0, 0, 0)
    opposite = [replace(sample, seconds=1 / sample.prediction.seconds) for sample in samples]
    row = rank_layer(SMALL, opposite, AVX2).rankings[0]
    assert row.spearman == pytest.approx(-1)
    cycles = sorted(sample.cycles for sample in samples)
    assert row.losses[0] == pytest.approx(1 - cycles[0] / cycles[-1])


def test_the_bottleneck_is_the_slowest_level_and_ranks_as_well():
    workload = workload_of("resnet18/R9", None, "assign", "implicit")
    drawn = sample_mappings(workload, AVX2, 5)
    costs = [bottleneck_cost(workload, AVX2, mapping) for mapping in drawn]
    for cost, mapping in zip(costs, drawn, strict=True):
        levels = evaluate_cost(workload, AVX2, mapping).levels
        assert cost.value == max(float(level.cycles) for level in levels)
        assert cost.words[cost.level] == next(row.traffic_words for row in levels if row.level == cost.level)
    samples = [
        ValidatedMapping(
            mapping=mapping,
            kernel=KernelKind.OUTER_PRODUCT,
            prediction=predict(workload, AVX2, mapping),
            bottleneck=cost,
            seconds=1 / cost.value,
            rounds=(1 / cost.value,),
        )
        for mapping, cost in zip(drawn, costs, strict=True)
    ]
    layer = rank_layer(workload, samples, AVX2, models=("time", "bottleneck"))
    assert layer.ranking("predicted bottleneck", "measured time").spearman == pytest.approx(-1)
    assert layer.ranking("predicted time", "measured time") is not None
    with pytest.raises(InputError, match="draw samples with that model"):
        rank_layer(workload, [replace(samples[0], bottleneck=None)], AVX2, models=("bottleneck",))
    with pytest.raises(UnknownNameError, match="unknown model 'tmie'; did you mean time"):
        optmap.validate(SMALL, machine=AVX2, models="tmie")


def test_validation_of_both_models_from_end_to_end():
    found = optmap.validate(SMALL, machine=AVX2, samples=3, rounds=1, simulate=False, models="time,bottleneck")
    assert [(row.by, row.of) for row in found.layers[0].rankings] == [
        ("predicted time", "measured time"),
        ("predicted bottleneck", "measured time"),
    ]
    assert found.to_dict()["models"] == ["time", "bottleneck"]
    assert all(
        sample["bottleneck"]["level"] in sample["bottleneck"]["words"]
        for sample in found.to_dict()["layers"][0]["samples"]
    )
    assert "Predicted bottleneck against measured time" in str(found)


def test_validation_from_end_to_end(tmp_path):
    found = optmap.validate(SMALL, machine=AVX2, samples=4, rounds=2, folder=tmp_path / "built")
    (layer,) = found.layers
    assert len(layer.samples) == 4
    for sample in layer.samples:
        assert sample.seconds > 0
        assert len(sample.rounds) == 2
        assert sample.kernel is KernelKind.OUTER_PRODUCT
        # what is read for the first time comes through all caches, and all of it fits into the outermost one
        images = next(row for row in sample.simulated.moved if row.between == ("L3", "Memory") and row.tensor == "In")
        assert 5 * 6 * 7 <= images.loads_words <= 5 * 6 * 7 + 32
    document = json.loads(json.dumps(found.to_dict()))
    hold(document)
    assert document["schema"] == "optmap.validation/1"
    assert len(document["layers"][0]["samples"]) == 4
    assert document["layers"][0]["rankings"][0]["by"] == "predicted time"
    assert set(document["medians"][0]["losses"]) == {"top_1", "top_2", "top_5"}
    assert set(document["medians"][0]["crossed_losses"]) == {"top_1", "top_2", "top_5"}
    assert "top-1 loss / crossed" in str(found)
    assert "note: crossed losses" in str(found)
    assert "simulated L1 - L2" in str(found)
    for picture in ("losses", "order", "scatter"):
        assert found.plot(tmp_path / f"{picture}.png", picture=picture).stat().st_size > 5000
    again = optmap.validate(SMALL, machine=AVX2, samples=4, rounds=1, simulate=False, folder=tmp_path / "built")
    assert [each.mapping for each in again.layers[0].samples] == [each.mapping for each in layer.samples]
    assert "simulated" not in str(again)
    assert "crossed" not in str(again), "of one round"
    assert again.layers[0].rankings[0].crossed == ()


def test_a_sample_that_computes_something_else_is_refused(tmp_path):
    mappings = sample_mappings(SMALL, AVX2, 1)
    (code,) = emit_samples(SMALL, AVX2, mappings, CodeOptions())
    body = code.source.rindex("}")
    wrong = replace(code, source=f"{code.source[:body]}    {code.names[0]}[7] += 1;\n{code.source[body:]}")
    with pytest.raises(CheckError, match=r"sample 0 of 1.*wrong"):
        ready_samples(SMALL, build_samples([wrong], folder=tmp_path))
