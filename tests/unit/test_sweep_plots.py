"""Pictures of sweeps: what is drawn where, and a page that needs no network."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from cases import some
from sweep_frames import frame_of, row, rows_of

from optmap.answers.over_capacity.accelerator_designs import design_names, nest_designs
from optmap.answers.over_capacity.curves import panels
from optmap.answers.over_capacity.designs import pareto_front
from optmap.answers.over_capacity.networks import network_views
from optmap.base.errors import InputError, UnknownNameError
from optmap.files import library
from optmap.files.network import network
from optmap.report import (
    Album,
    album,
    plot_curve,
    plot_gaps,
    plot_nest_pareto,
    plot_network,
    plot_pareto,
    write_album,
)

CURVE = [(256, 4000, 2500), (512, 2300, 1500), (1024, 1090, 1040), (2048, 1000, 1000)]


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    from matplotlib import pyplot

    mpl.use("Agg")
    yield
    pyplot.close("all")


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines()}


def test_curve_shows_mapping_bound_floor_and_machine() -> None:
    (panel,) = panels(frame_of(rows_of("w", CURVE, compulsory=1000, machine="m", level="L2")))
    axes = plot_curve(panel, real_bytes=2048)
    drawn = lines(axes)
    assert list(drawn) == ["found (mopt)", "proved bound", "compulsory", "m: 2 KiB"]
    assert [tuple(point) for point in drawn["found (mopt)"].get_xydata()] == [(4 * c, t) for c, t, _ in CURVE]
    assert [tuple(point) for point in drawn["proved bound"].get_xydata()] == [(4 * c, b) for c, _, b in CURVE]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "loads + stores (words of 4 bytes)"
    assert axes.get_xlabel() == "capacity of L2"
    assert axes.get_title() == "w on m, L2"
    (shade,) = [part for part in axes.collections if part.get_label() == "gap: best mapping to bound"]
    heights = {tuple(point) for point in shade.get_paths()[0].vertices}
    assert {(4.0 * c, float(t)) for c, t, _ in CURVE} <= heights
    assert {(4.0 * c, float(b)) for c, _, b in CURVE} <= heights


def test_a_curve_of_what_minimises_loads_alone_says_so() -> None:
    """The axis counts loads and stores, of every mapping: alone, and beside one that minimises both."""
    loads = rows_of("w", CURVE, compulsory=1000, method="iooub")
    loads = [made if made.method == "bound" else replace(made, objective="loads") for made in loads]
    both = rows_of("w", CURVE, compulsory=1000)
    for rows, expected in (
        (loads, {"found (iooub, minimises loads)"}),
        ([*loads, *both], {"found (iooub, minimises loads)", "found (mopt, bottleneck)"}),
    ):
        (panel,) = panels(frame_of(rows))
        assert {name for name in lines(plot_curve(panel)) if name.startswith("found")} == expected


def test_sizes_on_the_axis_have_units() -> None:
    (panel,) = panels(frame_of(rows_of("w", CURVE, compulsory=1000)))
    axes = plot_curve(panel)
    axes.figure.canvas.draw()
    assert {label.get_text() for label in axes.get_xticklabels()} >= {"1 KiB", "8 KiB"}
    assert axes.get_xlabel() == "fast memory"


def test_gap_map_has_a_cell_per_answer() -> None:
    found = panels(
        frame_of(
            rows_of("r/R2", CURVE, compulsory=1000), rows_of("r/R10", [(256, 4000, 2500), (512, None, 9)], compulsory=9)
        )
    )
    axes = plot_gaps(found)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["r/R2", "r/R10"]
    cells = [float(mesh.get_array()[0, 0]) for mesh in axes.collections]
    assert cells == pytest.approx([60, 160 / 3, 100 * (1090 / 1040 - 1), 0, 60])
    with pytest.raises(InputError, match="no row of the sweep has a gap"):
        plot_gaps(panels(frame_of(rows_of("w", [(256, None, 5)], compulsory=1))))


def test_holes_of_the_map_are_explained_and_a_full_one_has_no_legend() -> None:
    full, holed = (
        rows_of("a", CURVE, compulsory=9),
        rows_of("b", [*CURVE[:1], (512, None, 9), *CURVE[2:]], compulsory=9),
    )
    for rows, texts in (((full,), []), ((full, holed), ["no mapping, or no bound"])):
        axes = plot_gaps(panels(frame_of(*rows)))
        drawn = [text.get_text() for legend in axes.figure.legends for text in legend.get_texts()]
        assert drawn == texts
        axes.figure.canvas.draw()
        assert "objective" in axes.get_title(loc="left")
        sizes = [label.get_text() for label in axes.get_xticklabels()]
        assert sizes == ["1 KiB", "2 KiB", "4 KiB", "8 KiB"]


@pytest.mark.parametrize("capacities", [[1024], [1024, 1030, 1040], [1000, 3000, 70000], list(range(100, 2000, 7))])
def test_ticks_of_sizes_never_overprint(capacities: list[int]) -> None:
    (panel,) = panels(frame_of(rows_of("w", [(size, 5000, 2500) for size in capacities], compulsory=1000)))
    for axes in (plot_gaps([panel]), plot_curve(panel)):
        axes.figure.canvas.draw()
        low, high = axes.get_xlim()
        shown = [tick for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        assert shown
        boxes = sorted(tick.label1.get_window_extent().extents[[0, 2]].tolist() for tick in shown)
        assert all(a[1] < b[0] for a, b in pairwise(boxes))


def test_a_map_with_long_names_has_room_for_its_title_and_its_sizes() -> None:
    curve = [(words, 5000, 2500) for words in (512, 1723, 5793, 19483, 65536)]
    groups = [rows_of("a/layer", curve, compulsory=1000, method=name) for name in ("mopt-algorithm1", "mopt-artifact")]
    axes = plot_gaps(panels(frame_of(*groups)))
    axes.figure.canvas.draw()
    assert axes._left_title.get_window_extent().x1 <= axes.figure.bbox.x1
    boxes = [tick.label1.get_window_extent().extents[[0, 2]].tolist() for tick in axes.xaxis.get_major_ticks()]
    assert len(boxes) == len(curve)
    assert all(a[1] < b[0] for a, b in pairwise(sorted(boxes)))


def test_one_best_design_is_said_in_words() -> None:
    (panel,) = panels(frame_of(rows_of("w", [(256, 1000, 1000), (512, 1000, 1000)], compulsory=1000)))
    axes = plot_pareto([panel])
    assert [text.get_text() for text in axes.texts] == ["no front: one design is best in both"]
    assert "Pareto front" not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_seconds_are_plain_numbers() -> None:
    (panel,) = panels(frame_of(rows_of("w", CURVE, compulsory=1000)))
    axes = plot_pareto([panel], "capacity_bytes", "seconds")
    axes.figure.canvas.draw()
    texts = {label.get_text() for label in axes.get_yticklabels()}
    assert "0.5" in texts
    assert not [text for text in texts if "m" in text]


def test_the_page_shades_to_the_best_method_as_the_picture_does(tmp_path: Path) -> None:
    worse = [(size, words + 500, bound) for size, words, bound in CURVE]
    found = panels(frame_of(rows_of("w", worse, compulsory=900, method="a"), rows_of("w", CURVE, compulsory=900)))
    (page,) = write_album(Album(name="x", panels=found, views=(), totals=(), sizes=(), real={}), tmp_path, form="html")
    traces = json.loads(re.findall(r"Plotly.newPlot\(\s*\"[^\"]*\",\s*(\[.*?\]),\s*\{", page.read_text(), re.S)[0])
    (filled,) = [trace for trace in traces if trace.get("fill")]
    assert filled["name"] == "gap: best mapping to bound"
    below = traces[traces.index(filled) - 1]
    (shade,) = [part for part in plot_curve(found[0]).collections if part.get_label() == filled["name"]]
    vertices = {tuple(point) for point in shade.get_paths()[0].vertices}
    assert {(float(4 * size), float(words)) for size, words, _ in CURVE} <= vertices
    assert _values(filled["y"]) == [words for _, words, _ in CURVE]
    assert _values(below["y"]) == [bound for _, _, bound in CURVE]


def _values(data: Any) -> list[float]:
    """Numbers of a trace; plotly packs arrays."""
    if isinstance(data, list):
        return data
    return np.frombuffer(base64.b64decode(data["bdata"]), dtype=data["dtype"]).tolist()


def test_pareto_front() -> None:
    assert pareto_front([(3, 1), (1, 4), (2, 4), (2, 2), (4, 1), (2, 2)]) == [(1, 4), (2, 2), (3, 1)]
    found = panels(
        frame_of(
            rows_of("w", CURVE, compulsory=1000, machine="big"),
            rows_of("w", [(256, 9000, 1000)], compulsory=1000, machine="bad"),
        )
    )
    axes = plot_pareto(found)
    assert {part.get_label() for part in axes.collections} == {"big, Fast", "bad, Fast"}
    assert [tuple(point) for point in lines(axes)["Pareto front"].get_xydata()] == [(4 * c, 4 * t) for c, t, _ in CURVE]
    with pytest.raises(UnknownNameError, match="unknown metric 'speed'"):
        plot_pareto(found, "speed")


def resnet_rows() -> list[Any]:
    rows = []
    for number, layer in enumerate(network("resnet18").layers):
        curve = [(c, t * (number + 1), b * (number + 1)) for c, t, b in CURVE]
        rows += rows_of(layer.title, curve, compulsory=1000 * (number + 1), operations=layer.operations)
    return rows


def test_bands_of_a_network_add_up() -> None:
    (view,) = network_views(panels(frame_of(resnet_rows())), network("resnet18"))
    axes = plot_network(view)
    total = [sample.traffic_words for sample in view.total.series[0].samples]
    tops = [max(y for x, y in band.get_paths()[0].vertices if x == 1024.0) for band in axes.collections]
    assert max(tops) == pytest.approx(total[0])
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "5 others" in labels
    assert "R12 (3x)" in labels
    assert "proved bound (sum)" in labels


@pytest.fixture(name="shown")
def shown_album() -> Album:
    return album(
        frame_of(resnet_rows()), name="caches <1>", network=network("resnet18"), targets=(1.1,), machine=lambda _: None
    )


@pytest.mark.parametrize(("form", "start"), some(1, [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]))
def test_files_by_format(tmp_path: Path, form: str, start: bytes) -> None:
    frame = frame_of(rows_of("one thing[i] += x[i]", CURVE, compulsory=1000))
    files = write_album(album(frame), tmp_path / "new" / "folder", form=form)
    names = ["curve-one_thing_i_x_i-two_level-Fast", "gaps-two_level-Fast", "pareto"]
    assert [path.name for path in files] == [f"{name}.{form}" for name in names]
    assert all(path.read_bytes().startswith(start) for path in files)
    again = write_album(album(frame), tmp_path / "again", form=form)
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]


@pytest.mark.longer
def test_pictures_of_a_network(shown: Album, tmp_path: Path) -> None:
    names = {path.stem for path in write_album(shown, tmp_path)}
    assert {"curve-network-resnet18-two_level-Fast", "layers-resnet18-two_level-Fast", "pareto"} <= names
    assert len(names) == 12 + 4
    assert shown.sizes[0].workload == "resnet18"


def test_the_page_loads_nothing_and_holds_the_numbers(shown: Album, tmp_path: Path) -> None:
    (path,) = write_album(shown, tmp_path, form="html")
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)\s*=", page)
    assert page.count("Plotly.newPlot(") >= 4
    assert "<title>caches &lt;1&gt;</title>" in page
    drawn = re.search(r'Plotly\.newPlot\(\s*"[^"]+",\s*(\[.*?\]),\s*\{"template"', page, re.DOTALL)
    assert drawn is not None
    traces = json.loads(drawn[1])
    assert [trace["name"] for trace in traces[:3]] == ["proved bound", "found (mopt)", "compulsory"]
    # Bound, mapping, floor, and the two ends of the shaded gap.
    assert len(traces) == 5 * 12
    assert sum(trace["visible"] for trace in traces) == 5
    assert "<td>resnet18</td>" in page
    assert "loads + stores (words of 4 bytes)" in page
    assert "loads + stores (words)" not in page


def test_the_real_machine_is_marked_only_where_it_was_swept() -> None:
    swept = rows_of("w", CURVE, compulsory=1000, machine="balanced", level="L2")
    single = rows_of("w", CURVE[:1], compulsory=1000, machine="i7-9700k", level="L3")
    unknown = rows_of("w", CURVE, compulsory=1000, machine="mine", level="L2")
    names = library.list_machines()
    shown = album(
        frame_of(swept, single, unknown), machine=lambda name: library.machine(name) if name in names else None
    )
    assert shown.real == {("balanced", "L2"): 8192 * 4}


def test_machines_are_compared_on_the_workloads_that_all_have() -> None:
    frame = frame_of(
        rows_of("a", CURVE, compulsory=1000, machine="x", count=2),
        rows_of("b", CURVE, compulsory=1000, machine="x"),
        rows_of("c", CURVE, compulsory=1000, machine="x"),
        rows_of("a", CURVE, compulsory=1000, machine="y", count=2),
        rows_of("b", CURVE, compulsory=1000, machine="y"),
    )
    totals = album(frame).totals
    assert [(total.machine, total.workload) for total in totals] == [
        ("x", "2 workloads, added up"),
        ("y", "2 workloads, added up"),
    ]
    assert totals[0].series[0].samples[0].traffic_words == 3 * 4000


def test_what_cannot_be_written(tmp_path: Path) -> None:
    shown = album(frame_of(rows_of("w", CURVE, compulsory=1000)))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="choose another folder"):
        write_album(shown, tmp_path / "file")
    with pytest.raises(UnknownNameError, match="format 'gif'"):
        write_album(shown, tmp_path, form="gif")
    with pytest.raises(UnknownNameError, match="metric 'x'"):
        write_album(shown, tmp_path, metrics=("x", "gap"))


def nest_rows(
    machine: str, numbers: dict[str, tuple[float, int]], capacity: int = 1024, **columns: object
) -> list[Any]:
    """A row per workload with energy in pJ and cycles, as `sweep` writes them of accelerators."""
    common = {"machine": machine, "level": "Glb", "capacity_words": capacity, "capacity_bytes": float(capacity)}
    fixed = {"word_bits": 8, "semantics": "assign", "cores": 1, "operations": 1000, "seed": 0, "capacity_rule": "tile"}
    answer = {"method": "exact", "objective": "edp", "tiles": "divisors", "stop": "optimal", "point": "feasible"}
    return [
        row(
            {
                **common,
                **fixed,
                **answer,
                "workload": name,
                "count": 1,
                "input_hash": f"{machine}{capacity}{name}",
                "energy_pj": energy,
                "cycles": cycles,
                "edp": energy * cycles,
                "cost": energy * cycles,
                "seconds": 0.5,
            }
            | columns
        )
        for name, (energy, cycles) in numbers.items()
    ]


ACCELERATORS = frame_of(
    nest_rows("small", {"a": (4e6, 2000), "b": (1e6, 1000)}),
    nest_rows("small", {"a": (3e6, 2500), "b": (1e6, 1000), "c": (1.0, 1)}, 4096),
    nest_rows("large", {"a": (9e6, 500), "b": (2e6, 250)}),
    nest_rows("large", {"a": (9e6, 800), "b": (2e6, 250)}, 512),
)


def test_accelerators_are_added_up_over_what_all_of_them_map() -> None:
    designs = nest_designs(ACCELERATORS)
    assert design_names(designs) == (
        "",
        ["small, Glb 1 KiB", "small, Glb 4 KiB", "large, Glb 1 KiB", "large, Glb 512 B"],
    )
    assert [(design.energy_pj, design.cycles) for design in designs] == [
        (5e6, 3000),
        (4e6, 3500),
        (11e6, 750),
        (11e6, 1050),
    ]
    assert designs[0].edp == 5e6 * 3000
    assert designs[0].workloads == ("a", "b")
    (a, *_) = nest_designs(ACCELERATORS, {"a": 3})
    assert (a.energy_pj, a.cycles) == (12e6, 6000)
    assert nest_designs(frame_of(rows_of("w", CURVE, compulsory=900))) == ()


def test_what_does_not_fit_is_no_design() -> None:
    fitting, cosa = nest_rows("small", {"a": (4e6, 2000)}), {"method": "cosa", "stop": "infeasible", "point": "none"}
    designs = nest_designs(frame_of(fitting, nest_rows("small", {"a": (1e6, 1000)}, **cosa)))
    assert [(design.energy_pj, design.cycles) for design in designs] == [(4e6, 2000)]
    assert nest_designs(frame_of(nest_rows("small", {"a": (1e6, 1000)}, **cosa))) == ()


def test_energy_against_cycles_names_the_designs_of_the_front() -> None:
    axes = plot_nest_pareto(nest_designs(ACCELERATORS))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cycles", "energy")
    points = {tuple(point) for group in axes.collections for point in group.get_offsets().tolist()}
    assert points == {(3000, 5e6), (3500, 4e6), (750, 11e6), (1050, 11e6)}
    front = lines(axes)["Pareto front"]
    assert list(zip(*front.get_data(), strict=True)) == [(750, 11e6), (3000, 5e6), (3500, 4e6)]
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend[-3:] == ["1: large, Glb 1 KiB", "2: small, Glb 1 KiB", "3: small, Glb 4 KiB"]
    axes.figure.canvas.draw()
    assert any(label.get_text().endswith("µJ") for label in axes.get_yticklabels())
    with pytest.raises(UnknownNameError, match="metric 'gap'"):
        plot_nest_pareto(nest_designs(ACCELERATORS), "gap", "cycles")


def test_designs_are_named_by_what_sets_them_apart(tmp_path: Path) -> None:
    wide = "eyeriss_like, GlobalBuffer.fanout.x={}, GlobalBuffer.capacity=1024w, DRAM.ports.read={}"
    many = [(x, read) for x in range(1, 6) for read in (1, 2)]
    frame = frame_of(*(nest_rows(wide.format(x, r), {"a": (1e6 + 1e5 * x, 9000 // x // r)}) for x, r in many))
    axes = plot_nest_pareto(nest_designs(frame))
    assert axes.get_title(loc="left") == "a, on eyeriss_like, GlobalBuffer.capacity=1024w"
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend[2] == "1: GlobalBuffer.fanout.x=5, DRAM.ports.read=2"
    assert len(legend) == 2 + 5
    axes.figure.savefig(tmp_path / "x.png")  # a warning here would say that no room is left for the axes


def test_many_accelerators_share_a_colour() -> None:
    frame = frame_of(*(nest_rows(f"m{number}", {"a": (1e6 + number, 5000 - number)}) for number in range(15)))
    axes = plot_nest_pareto(nest_designs(frame), "cycles", "edp")
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend[0] == "15 designs"
    assert legend[-1] == "1: m14"  # least cycles and least product


def test_an_album_of_accelerators_alone_is_one_picture(tmp_path: Path) -> None:
    shown = album(ACCELERATORS)
    assert [path.name for path in write_album(shown, tmp_path)] == ["pareto-accelerators.png"]
    (page,) = write_album(shown, tmp_path, form="html", metrics=("edp", "energy_pj"))
    text = page.read_text(encoding="utf-8")
    assert "large, Glb 512 B" in text
    assert "energy times cycles" in text


def test_an_album_of_both_kinds_has_both_pictures(tmp_path: Path) -> None:
    both = frame_of(rows_of("w", CURVE, compulsory=900), nest_rows("small", {"a": (4e6, 2000)}))
    names = {path.stem for path in write_album(album(both), tmp_path, form="svg")}
    assert {"pareto", "pareto-accelerators"} <= names
    assert any(name.startswith("curve-") for name in names)
