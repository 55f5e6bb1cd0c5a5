"""The comparison as a whole on small layers: who takes part, what is reported, drawn and refused. No time is judged."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

import numpy as np
import pytest
from host_machines import usable_host
from schemas import hold

import optmap
from optmap.base.errors import CheckError, InputError, SolverUnavailableError
from optmap.count.timing.predict import predict
from optmap.files.network import network
from optmap.native import Bench, BenchMean, Contender, OneDnn, Ready
from optmap.report.pictures.bench_plot import plot_bench
from optmap.search import order_of
from optmap.workloads.builders import conv2d, matmul

MACHINE = usable_host()
LAYERS = (
    conv2d(c=8, h=6, w=6, r=3, s=3, k=16, name="small/dense"),
    conv2d(c=16, h=6, w=6, r=3, s=3, depthwise=True, name="small/depthwise"),
    matmul(i=8, j=16, k=8, name="product"),
)


@pytest.fixture(scope="module")
def found() -> Bench:
    from optmap.native.bench import tvm

    with pytest.MonkeyPatch.context() as patched:  # where it is installed, a layer would be tuned
        patched.setattr(tvm, "find_spec", lambda name: None)
        return optmap.bench(LAYERS, machine=MACHINE, caches="both", against="onednn,tvm", rounds=3, candidates=1)


def test_every_layer_has_its_ways_and_samples(found: Bench) -> None:
    assert [(layer.workload.title, layer.caches.value) for layer in found.layers] == [
        (layer.title, caches) for layer in LAYERS for caches in ("warm", "cold")
    ]
    for layer in found.layers:
        assert layer.workload.padding.value == ("stored" if layer.workload.title == "product" else "implicit")
        assert 1 <= layer.number <= layer.tried <= 2
        assert layer.layout in found.layouts
        assert {way.library for way in layer.theirs} == {"onednn"}
        assert layer.ways["onednn"] > 1
        for timing in (layer.ours, layer.first, *layer.theirs):
            assert len(timing.samples) == 3
        assert layer.ratio is not None
        assert layer.ratio.minima == pytest.approx(layer.theirs[0].shortest / layer.ours.shortest)
        assert layer.first_ratio is not None
        assert (layer.first_ratio == layer.ratio) == (layer.number == 1)
        peaks = [2 * layer.peak_operations / seconds for seconds in layer.peak.samples]
        speeds = [2 * layer.workload.operations / seconds for seconds in layer.ours.samples]
        assert layer.share == pytest.approx(np.median(np.divide(speeds, peaks)))
        assert layer.predicted is not None
        assert layer.floor is not None
        assert 0 < layer.floor <= layer.predicted


def test_layouts_compete_and_the_model_ranks_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import session

    layer = conv2d(c=32, h=6, w=6, r=3, s=3, depthwise=True, name="small/wide")
    seen: list[tuple[str, tuple[float, float]]] = []
    own = session.own_way

    def noted(ready: Ready, name: str) -> object:
        code = ready.kernel.code
        prediction = predict(code.workload, MACHINE, code.mapping, code.options)
        seen.append((code.options.layout.value, order_of(prediction)))
        return own(ready, name)

    monkeypatch.setattr(session, "own_way", noted)
    monkeypatch.setattr(session, "_streaming", lambda task, number: None)
    monkeypatch.setattr(session, "best_way", lambda ways, caches: len(ways) - 1)
    (best,) = optmap.bench(layer, machine=MACHINE, against="onednn", candidates=2, rounds=1).layers
    assert {layout for layout, _ in seen} == {"nhwc", "blocked"}
    assert [place for _, place in seen] == sorted(place for _, place in seen)
    assert (best.layout.value, best.number, best.tried) == (seen[-1][0], len(seen), len(seen))
    (only,) = optmap.bench(layer, machine=MACHINE, against="onednn", candidates=2, rounds=1, layout="nchw").layers
    assert only.layout == "nchw"


def test_means_are_of_networks_kinds_and_all(found: Bench) -> None:
    groups = {(mean.layers, mean.caches.value): mean for mean in found.means}
    counts = {"small": 2, "dense": 2, "depthwise": 1, "all": 3}
    assert {key: mean.count for key, mean in groups.items()} == {
        (name, caches): count for caches in ("warm", "cold") for name, count in counts.items()
    }
    ratios = [x.ratio.median for x in found.layers if x.caches == "warm" and x.ratio is not None]
    mean: BenchMean = groups["all", "warm"]
    assert mean.ratio == pytest.approx(np.prod(ratios) ** (1 / 3))
    assert mean.least == min(ratios)
    assert mean.libraries == {"onednn": pytest.approx(mean.ratio)}


def test_table_and_document_say_what_they_are_of(found: Bench) -> None:
    text = str(found)
    for part in (
        "1 thread, warm caches",
        "1 thread, cold caches",
        "small/depthwise",
        "tvm",
        "pip install 'apache-tvm[all]>=0.27'",
        "geometric means",
    ):
        assert part in text
    assert "note: onednn is asked" in text
    assert "note: torch" not in text  # of libraries that took part only
    assert "note: tvm" not in text
    document = json.loads(json.dumps(found.to_dict()))
    hold(document)
    assert document["schema"] == "optmap.bench/1"
    assert document["absent"].keys() == {"tvm"}
    assert 1 <= document["cores"] <= document["processors"] == len(os.sched_getaffinity(0))
    assert len(document["layers"]) == 6
    row, layer = document["layers"][0], found.layers[0]
    assert row["ours"]["gflops"] == pytest.approx(2e-9 * LAYERS[0].operations / median(row["ours"]["samples_s"]))
    assert row["peak_gflops"] == pytest.approx(2e-9 * layer.peak_operations / median(layer.peak.samples))
    assert row["ratio"]["low"] <= row["ratio"]["median"] <= row["ratio"]["high"]
    assert row["libraries"][0]["variant"].startswith("convolution")


def test_pictures_are_drawn(found: Bench, tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    for picture in ("bench", "gigaflops"):
        axes = found.plot(picture=picture)
        assert len(axes.figure.axes) == 2
        assert len(axes.get_xticklabels()) == (7 if picture == "bench" else 3)
        assert found.plot(tmp_path / f"{picture}.png", picture=picture).stat().st_size > 10_000
    with pytest.raises(InputError, match="2 panels"):
        plot_bench(found, axes)


def test_several_threads_share_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = OneDnn.prepare
    monkeypatch.setattr(
        OneDnn, "prepare", lambda *arguments: prepare(*arguments)[:1]
    )  # where cores are few, that lasts
    most = min(2, len(os.sched_getaffinity(0)))
    layer = conv2d(c=8, h=12, w=12, r=3, s=3, k=32, name="shared")
    found = optmap.bench(layer, machine=MACHINE, threads=f"1,{most}", against="onednn", rounds=1, candidates=1)
    assert [each.threads for each in found.layers] == sorted({1, most})
    assert all(each.ratio is not None for each in found.layers)
    assert f"{most} thread" in str(found)


def test_code_that_computes_something_else_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import session

    own = session.own_way

    def broken(*arguments: object) -> object:
        way = own(*arguments)  # type: ignore[arg-type]
        return replace(way, result=lambda: way.result() + 1)

    monkeypatch.setattr(session, "own_way", broken)
    with pytest.raises(CheckError, match="small/dense by optmap 1"):
        optmap.bench(LAYERS[0], machine=MACHINE, against="onednn", candidates=1, rounds=1)


def test_code_that_computes_nothing_is_not_taken_for_what_another_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates in one layout share memory; the second does not write to it."""
    from optmap.native.bench import session

    own = session.own_way
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    idle = kind(lambda _: None)
    address = ctypes.cast(idle, ctypes.c_void_p).value or 0
    ways: list[Contender] = []

    def lazy(ready: Ready, name: str) -> Contender:
        ways.append(own(ready, name))
        return replace(ways[-1], function=address) if name == "2" else ways[-1]

    monkeypatch.setattr(session, "own_way", lazy)
    layer = conv2d(c=32, h=12, w=12, r=3, s=3, k=32, name="small/shared")
    with pytest.raises(CheckError, match="small/shared by optmap 2"):
        optmap.bench(layer, machine=MACHINE, against="onednn", candidates=3, rounds=1, layout="nhwc")
    first, second = (way.operands for way in ways[:2])
    assert first is not None
    assert second is not None
    assert first[0] is second[0]


def test_a_library_that_computes_something_else_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = OneDnn.prepare

    def broken(self: OneDnn, *arguments: object) -> object:
        first, *others = prepare(self, *arguments)  # type: ignore[arg-type]
        return (replace(first, result=lambda: first.result() + 1), *others)

    monkeypatch.setattr(OneDnn, "prepare", broken)
    (layer,) = optmap.bench(LAYERS[0], machine=MACHINE, against="onednn", candidates=1, rounds=1).layers
    ((way, why),) = layer.left_out.items()
    assert way.startswith("onednn convolution any")
    assert "something else" in why
    assert layer.theirs[0].variant not in way


def test_a_way_that_fails_is_left_out_with_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = OneDnn.prepare

    def failing() -> NoReturn:
        raise SolverUnavailableError("no memory")

    def broken(self: OneDnn, *arguments: object) -> object:
        first, *others = prepare(self, *arguments)  # type: ignore[arg-type]
        return (replace(first, result=failing), *others)

    monkeypatch.setattr(OneDnn, "prepare", broken)
    (layer,) = optmap.bench(LAYERS[0], machine=MACHINE, against="onednn", candidates=1, rounds=1).layers
    ((way, why),) = layer.left_out.items()
    assert way.startswith("onednn convolution any")
    assert why == "no memory"
    assert layer.ratio is not None


def test_a_library_that_fails_is_left_out_with_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> object:
        raise SolverUnavailableError("its tuner found nothing")

    monkeypatch.setattr(OneDnn, "prepare", failing)
    (layer,) = optmap.bench(LAYERS[2], machine=MACHINE, against="onednn", candidates=1, rounds=1).layers
    assert layer.left_out == {"onednn": "its tuner found nothing"}
    assert layer.ratio is None


def test_what_no_library_computes_is_timed_all_the_same() -> None:
    found = optmap.bench(
        "Out[i,j] = A[i,k,l] * B[k,j] * C[l,j]",
        extents="i=4,j=5,k=6,l=3",
        machine=MACHINE,
        against="onednn",
        rounds=1,
        candidates=1,
    )
    (layer,) = found.layers
    assert layer.ratio is None
    assert layer.left_out == {"onednn": "has no way to compute this"}
    assert found.means == ()
    assert "has no way" in str(found)
    with pytest.raises(InputError, match="nothing to draw"):
        found.plot()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"threads": "0"}, "such as 1 or 1,2"),
        ({"threads": 4096}, "ask for fewer"),
        ({"caches": "luke"}, "both"),
        ({"against": "onedn"}, "onednn"),
        ({"layout": "chwn"}, "nhwc"),
        ({"rounds": 0}, "rounds is 0"),
        ({"trials": 0}, "trials"),
        ({"machine": "balanced"}, "core"),
    ],
)
def test_what_cannot_be_compared_is_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        optmap.bench(LAYERS[0], **{"machine": MACHINE, "against": "onednn", **options})


def test_without_a_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import pytorch

    monkeypatch.setattr(pytorch, "find_spec", lambda name: None)
    with pytest.raises(SolverUnavailableError, match=r"pip install 'torch[<>=]"):
        optmap.bench(LAYERS[0], machine=MACHINE, against="torch")


def test_names_patterns_and_networks_are_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import session

    asked: list[str] = []
    monkeypatch.setattr(session, "bench_layers", lambda layers, plan, told: asked.extend(x.title for x in layers))
    optmap.bench(["tccg/*", "ResNet18", "yolo9000/Y2"], machine=MACHINE)
    assert asked[-1] == "yolo9000/Y2"
    assert "resnet18/fc" in asked
    assert len(asked) > 20


def test_a_network_is_its_layers_and_layers_that_differ_in_how_often_they_occur_are_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from optmap.native.bench import session

    monkeypatch.setattr(session, "bench_layers", lambda layers, plan, told: layers)
    layers = optmap.bench([network("resnet18"), "resnet18/R9"], machine=MACHINE)
    assert layers == optmap.bench("resnet18", machine=MACHINE)
    for given, text in (
        ([], "no workload is given"),
        ([LAYERS[0], replace(LAYERS[2], name="small/dense")], "two different workloads"),
    ):
        with pytest.raises(InputError, match=text):
            optmap.bench(given, machine=MACHINE)


def test_solutions_of_a_layer_are_its_candidates_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import session

    monkeypatch.setattr(session, "bench_layers", lambda layers, plan, told: (layers, plan.mappings))
    best = optmap.solve("resnet18/R12", machine=MACHINE, method="mopt", top=3)
    layers, mappings = optmap.bench([best, *best.others, "resnet18/R11"], machine=MACHINE)
    assert [layer.title for layer in layers] == ["resnet18/R12", "resnet18/R11"]
    assert mappings == {"resnet18/R12": (best.mapping, *(other.mapping for other in best.others))}
    with pytest.raises(InputError, match="has its own mapping"):
        optmap.validate(best, machine=MACHINE)


def test_what_is_timed_of_a_solution_is_its_mapping_and_one_of_other_levels_is_refused() -> None:
    layer = LAYERS[0]
    best = optmap.solve(layer, machine=MACHINE, method="mopt", top=2)
    found = optmap.bench([best, *best.others], machine=MACHINE, against="onednn", rounds=1, layout="nhwc")
    (row,) = found.layers
    assert row.mapping in (best.mapping, *(other.mapping for other in best.others))
    assert row.tried <= 2
    assert "best of the solutions given" in str(found)
    assert found.to_dict()["given"] == ["small/dense"]
    alone = optmap.solve(layer, memory="32KiB", method="mopt", time_limit=1)
    with pytest.raises(InputError, match="mapping has levels"):
        optmap.bench(alone, machine=MACHINE, against="onednn", rounds=1)


@pytest.fixture(scope="module")
def solved() -> Any:
    """A layer solved for the caches alone."""
    return optmap.solve(LAYERS[0], machine=MACHINE, innermost=MACHINE.levels[1].name, method="iooub", objective="sum")


def test_a_solution_of_the_caches_alone_gets_a_register_tile(solved: Any) -> None:
    found = optmap.bench(solved, machine=MACHINE, against="onednn", rounds=1)
    (row,) = found.layers
    assert row.mapping.levels[1:] == solved.mapping.levels
    assert row.mapping.levels[0].level == MACHINE.levels[0].name
    assert row.kernel.value == "outer-product"


def test_a_core_with_too_few_registers_for_a_tile_is_said(solved: Any) -> None:
    assert MACHINE.core is not None
    small = replace(MACHINE, core=replace(MACHINE.core, registers=2))
    with pytest.raises(InputError, match="no vector kernel has one for it"):
        optmap.emit(LAYERS[0], machine=small, mapping=solved.mapping)


@pytest.mark.parametrize("verb", [optmap.bench, optmap.validate])
def test_without_a_compiler_nothing_is_searched(monkeypatch: pytest.MonkeyPatch, verb: Callable[..., object]) -> None:
    from optmap.native.bench import session
    from optmap.native.validate import validation

    def unreached(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(session, "baselines", unreached)
    monkeypatch.setattr(validation, "sample_mappings", unreached)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SolverUnavailableError, match="install gcc or clang"):
        verb(LAYERS[0], machine=MACHINE)


def test_a_network_is_validated_layer_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.validate import validation

    monkeypatch.setattr(validation, "validate_layers", lambda layers, *_, **__: [layer.title for layer in layers])
    titles = optmap.validate("MobileNet", machine=MACHINE)
    assert {"mobilenet/M1", "mobilenet/fc"} <= set(titles)
