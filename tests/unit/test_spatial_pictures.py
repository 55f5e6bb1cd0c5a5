"""Loop nests and pictures of mappings on accelerators: what they show is what was counted."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

import optmap
from optmap.answers.documents.solution import SCHEMAS
from optmap.answers.side_by_side.comparison import Comparison
from optmap.answers.side_by_side.scoring import scored
from optmap.base.errors import InputError, UnknownNameError
from optmap.base.shown import Shown
from optmap.cli.app import app
from optmap.count.meshes.count import NEST_EXACT, NEST_TIMELOOP, count_nest
from optmap.count.meshes.results import SpatialCost
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest, mapping_of
from optmap.questions.objective import MERITS
from optmap.report import (
    nest_text,
    plot_cycles,
    plot_energy,
    plot_nest,
    plot_roofline,
    plot_utilisation,
    write_pictures,
)
from optmap.report.answers.spatial_nest import bands
from optmap.search import Question
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

LAYER = conv2d(k=8, c=4, h=4, w=6, r=3, s=3, name="small", semantics=Semantics.ASSIGN)
MACHINE = Machine(
    name="tiny",
    levels=(
        Level(
            name="Reg",
            capacity=Capacity(amount=16, unit="words"),
            store=Store(energy_pj=Prices(read=1, fill=1, update=1)),
        ),
        Level(
            name="Glb",
            capacity=Capacity(amount=512, unit="words"),
            store=Store(
                keeps=(("input", KeepRule.KEPT), ("output", KeepRule.FREE), ("weight", KeepRule.REFUSED)),
                energy_pj=Prices(read=6, fill=6, update=6),
                ports=Ports(shared=8),
                mesh=Mesh(x=MeshAxis(size=4), y=MeshAxis(size=2)),
            ),
        ),
    ),
    memory="DRAM",
    outermost=Store(energy_pj=Prices(read=200, fill=200, update=200), ports=Ports(read=2, write=1)),
    arithmetic=Arithmetic(energy_pj=0.5),
)
FABRIC = fabric_of(LAYER, MACHINE)
DIMS = FABRIC.dims


def ways(**found):
    """Trips per dim, 1 for the others."""
    return tuple(found.get(dim, 1) for dim in DIMS)


def loops(**found):
    """Temporal loops, outermost first."""
    return tuple((DIMS.index(dim), trips) for dim, trips in found.items())


NEST = Nest(
    memories=(
        MemoryNest(x=ways(), y=ways(), temporal=loops(s=3), keeps=(True, True, True)),
        MemoryNest(x=ways(k=4), y=ways(h=2), temporal=loops(h=2, w=6, r=3), keeps=(False, True, False)),
        MemoryNest(x=ways(), y=ways(), temporal=loops(k=2, c=4), keeps=(True, True, True)),
    )
)

TEXT = """\
DRAM [ Out:192 In:192 Ker:288 ]
-------------------------------
| for k in [0:2)
|   for c in [0:4)

Glb [ In:48 ]
-------------
|     for h in [0:2)
|       for w in [0:6)
|         for r in [0:3)
|           for h in [0:2) (Spatial-Y)
|             for k in [0:4) (Spatial-X)

Reg [ Out:1 In:3 Ker:3 ]
------------------------
|               for s in [0:3)
|                 << Compute >>
"""


def test_the_nest_is_printed_as_timeloop_prints_it():
    assert nest_text(NEST, FABRIC) == TEXT


def test_tiles_are_as_large_as_they_are_counted():
    """A count by hulls says more of a tile with gaps than is needed, and so does the nest beside it."""
    layer = conv2d(k=8, c=4, h=8, w=12, r=1, s=1, stride=2, semantics=Semantics.ASSIGN)
    fabric, inner = fabric_of(layer, MACHINE), NEST.memories[1]
    bare = replace(NEST.memories[0], temporal=()), replace(inner, temporal=loops(h=2, w=6)), NEST.memories[2]
    sizes = []
    for mode in (NEST_EXACT, NEST_TIMELOOP):
        count = count_nest(Nest(memories=bare), fabric, mode)
        shown = {(band.memory, *kept) for band in bands(Nest(memories=bare), fabric, count) for kept in band.kept}
        assert shown == {(m.name, a.operand, a.tile_words) for m in count.memories for a in m.accesses}
        sizes.append(sum(words for *_, words in shown))
    assert sizes[0] < sizes[1]


def test_every_trip_is_in_the_text_and_every_tensor_is_kept_or_passes():
    trips = re.findall(r"for (\w+) in \[0:(\d+)\)", nest_text(NEST, FABRIC))
    for dim, extent in zip(DIMS, FABRIC.extents, strict=True):
        assert prod(int(n) for name, n in trips if name == dim) == extent
    names = {operand.name for operand in FABRIC.operands}
    for band in bands(NEST, FABRIC):
        assert {name for name, _ in band.kept} | set(band.bypassed) == names
    assert bands(NEST, FABRIC)[1].bypassed == ("Out", "Ker")


def test_a_memory_without_loops_or_tensors_has_its_line():
    whole = Nest(
        memories=(
            MemoryNest(
                x=ways(), y=ways(), temporal=loops(**dict(zip(DIMS, FABRIC.extents, strict=True))), keeps=(True,) * 3
            ),
            MemoryNest(x=ways(), y=ways(), temporal=(), keeps=(False,) * 3),
            MemoryNest(x=ways(), y=ways(), temporal=(), keeps=(True,) * 3),
        )
    )
    text = nest_text(whole, FABRIC)
    assert "Glb [ ]\n-------\n|\n\nReg [" in text
    assert text.endswith("| " + "  " * len(DIMS) + "<< Compute >>\n")


@dataclass(frozen=True)
class Answer(Shown):
    """A counted mapping, as `solve` and `evaluate` hand it back."""

    shown_as = "answer/nest"
    fabric: Fabric
    nest: Nest
    count: SpatialCost


ANSWER = Answer(FABRIC, NEST, count_nest(NEST, FABRIC))
COST = ANSWER.count
PICO = 1e-12


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    from matplotlib import pyplot

    mpl.use("Agg")
    yield
    pyplot.close("all")


def bars(axes: Any) -> dict[str, list[float]]:
    """Widths of the bars of every label, row by row."""
    return {group.get_label(): [bar.get_width() for bar in group] for group in axes.containers}


def rows(axes: Any) -> list[str]:
    """What stands beside the rows."""
    return [text.get_text() for text in axes.get_yticklabels()]


def texts(axes: Any) -> list[str]:
    """Everything written inside the axes."""
    return [text.get_text() for text in axes.texts]


def overlapping(axes: Any) -> list[tuple[str, str]]:
    """Texts inside the axes, and labels of rows, that lie on one another or leave the figure."""
    axes.figure.canvas.draw()
    names = axes.get_yticklabels() if axes.axison else []
    drawn = [text for text in (*axes.texts, *names) if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn]
    whole = axes.figure.bbox
    outside = [(name, "edge") for name, box in boxes if box.x0 < whole.x0 - 1 or box.x1 > whole.x1 + 1]
    pairs = [(a, b) for i, (a, first) in enumerate(boxes) for b, second in boxes[:i] if first.overlaps(second)]
    return outside + pairs


def test_energy_is_stacked_by_tensor_and_adds_up():
    axes = plot_energy(ANSWER)
    found = bars(axes)
    assert rows(axes) == ["arithmetic", "Reg", "Glb", "DRAM"]
    assert list(found) == ["Out", "In", "Ker", "arithmetic"]
    assert found["arithmetic"] == pytest.approx([float(COST.arithmetic_pj) * PICO, 0, 0, 0])
    for place, memory in enumerate(COST.memories, start=1):
        own = {row.operand: float(row.energy_pj) * PICO for row in memory.accesses}
        for name in ("Out", "In", "Ker"):
            assert found[name][place] == pytest.approx(own.get(name, 0))
    assert sum(map(sum, found.values())) == pytest.approx(float(COST.energy_pj) * PICO)


def test_wires_have_a_part_of_their_own():
    machine = Machine(
        name="wired",
        levels=tuple(
            Level(
                name=level.name,
                capacity=level.capacity,
                store=level.store
                if level.name == "Reg"
                else Store(mesh=Mesh(x=MeshAxis(size=4), y=MeshAxis(size=2)), hop_pj=3),
            )
            for level in MACHINE.levels
        ),
        memory="DRAM",
        outermost=MACHINE.outermost,
        arithmetic=MACHINE.arithmetic,
    )
    fabric = fabric_of(LAYER, machine)
    count = count_nest(NEST, fabric)
    found = bars(plot_energy(Answer(fabric, NEST, count)))
    assert found["wires"][2] == pytest.approx(float(count.memories[1].energy_pj) * PICO)
    assert found["wires"][2] > 0


def test_utilisation_shows_instances_words_and_busy_cycles():
    axes = plot_utilisation(ANSWER)
    found = bars(axes)
    assert rows(axes) == ["arithmetic", "Reg", "Glb"]
    assert found["in use"] == pytest.approx([100, 100, 100])
    shares = [COST.utilisation, *(m.occupancy_words / m.capacity_words for m in COST.memories[:2])]
    assert found["full, or busy"] == pytest.approx([100 * float(share) for share in shares])
    assert any("(48 of 512 words)" in text for text in texts(axes))


def test_half_a_mesh_in_use_is_half_a_bar():
    half = Nest(
        memories=(
            NEST.memories[0],
            MemoryNest(x=ways(k=4), y=ways(), temporal=loops(h=4, w=6, r=3), keeps=(False, True, False)),
            NEST.memories[2],
        )
    )
    found = bars(plot_utilisation(Answer(FABRIC, half, count_nest(half, FABRIC))))
    assert found["in use"] == pytest.approx([50, 50, 100])


def test_cycles_of_every_port_stand_beside_the_computation():
    axes = plot_cycles(ANSWER)
    (widths,) = bars(axes).values()
    names = ["arithmetic", "Glb, reads + writes 8/cycle", "DRAM, reads 2/cycle", "DRAM, writes 1/cycle"]
    assert rows(axes) == names
    ports = [port.cycles for memory in COST.memories for port in memory.ports]
    assert widths == pytest.approx([COST.compute_cycles, *map(float, ports)])
    (decides,) = [text for text in texts(axes) if "decides" in text]
    assert decides.startswith(f"{COST.cycles:,}")
    assert axes.get_xlabel() == "cycles (no limit at Reg)"


def test_the_mapping_stands_at_or_below_every_ceiling_of_the_roofline():
    axes = plot_roofline(ANSWER)
    speed = COST.operations / COST.cycles
    labels = [line.get_label() for line in axes.get_lines()]
    assert "8 units: 8 operations/cycle" in labels
    assert any(label.startswith("Reg, no limit") for label in labels)
    points = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert len(points) == 3
    assert all(line.get_ydata()[0] == pytest.approx(speed) for line in points)
    rates = {"Glb": 8, "DRAM": 2}
    words = {"Glb": COST.memories[1].ports[0].words, "DRAM": COST.memories[2].ports[0].words}
    ceilings = [
        line for line in axes.get_lines() if len(line.get_xdata()) == 2 and line.get_label().startswith("_child")
    ]
    for name, point, ceiling in zip(("Glb", "DRAM"), points[1:], ceilings, strict=True):
        x = point.get_xdata()[0]
        assert x == pytest.approx(COST.operations / words[name])
        assert ceiling.get_ydata() == pytest.approx([rates[name] * end for end in ceiling.get_xdata()])
        assert speed <= min(rates[name] * x, FABRIC.units) * (1 + 1e-12)


def test_the_figure_of_the_nest_has_every_loop_tile_and_line():
    axes = plot_nest(ANSWER)
    written = texts(axes)
    for band in bands(NEST, FABRIC):
        assert band.memory in written
        assert all(loop.text in written for loop in band.loops)
        assert all(f"{words:,}" in written for _, words in band.kept)
    assert "8 of 8 in use, 7 of 16 words" in written
    spatial = {text.get_text() for text in axes.texts if text.get_bbox_patch() and "Spatial" in text.get_text()}
    assert spatial == {"for h in [0:2) (Spatial-Y)", "for k in [0:4) (Spatial-X)"}
    assert len(axes.get_lines()) == len(FABRIC.operands)


@pytest.mark.parametrize("draw", [plot_nest, plot_energy, plot_utilisation, plot_cycles])
def test_no_text_lies_on_another(draw):
    assert overlapping(draw(ANSWER)) == []


def test_a_long_statement_takes_two_lines():
    statement = "Out[batch,row,column] = In[batch,row,inner]*Ker[batch,inner,column]*Scale[batch,row]"
    extents = {"batch": 8, "row": 4, "column": 6, "inner": 4}
    fabric = fabric_of(parse_workload(statement, extents), replace(MACHINE, levels=MACHINE.levels[:1]))
    memory = MemoryNest(x=(1,) * 4, y=(1,) * 4, temporal=(), keeps=(True,) * 4)
    whole = MemoryNest(x=(1,) * 4, y=(1,) * 4, temporal=tuple(enumerate(fabric.extents)), keeps=(True,) * 4)
    nest = Nest(memories=(memory, whole))
    axes = plot_energy(Answer(fabric, nest, count_nest(nest, fabric)))
    assert "\n" in axes.get_title(loc="left")
    axes.figure.canvas.draw()
    assert axes._left_title.get_window_extent().x1 <= axes.figure.bbox.x1


def test_all_pictures_go_to_a_folder_or_one_to_a_file(tmp_path):
    files = write_pictures(ANSWER, tmp_path / "new" / "folder", form="svg")
    assert [file.name for file in files] == [f"{name}.svg" for name in ANSWER.presentation.pictures]
    assert all(file.read_text(encoding="utf-8").startswith("<?xml") for file in files)
    assert ANSWER.plot(tmp_path / "one.png", picture="roofline").stat().st_size > 5000
    assert ANSWER.plot().get_title(loc="left") == "small on tiny"
    with pytest.raises(UnknownNameError, match="rooflin"):
        ANSWER.plot(picture="rooflin")
    with pytest.raises(InputError, match="cannot be made"):
        write_pictures(ANSWER, tmp_path / "one.png")
    with pytest.raises(UnknownNameError, match="gif"):
        write_pictures(ANSWER, tmp_path, form="gif")


def test_the_shell_draws_an_answer_into_a_folder(tmp_path):
    sizes = ["--extents", "i=8,j=6,k=4", "--memory", "64w"]
    drawn = CliRunner().invoke(app, ["solve", "C[i,j] += A[i,k]*B[k,j]", *sizes, "--plot", str(tmp_path / "figures")])
    assert drawn.exit_code == 0, drawn.output
    assert [file.name for file in (tmp_path / "figures").iterdir()] == ["traffic.png"]
    document = {
        "schema": SCHEMAS["nest"],
        "workload": workload_document(LAYER),
        "machine": machine_document(MACHINE),
        "mapping": mapping_document(mapping_of(NEST, FABRIC)),
    }
    (tmp_path / "nest.json").write_text(json.dumps(document), encoding="utf-8")
    counted = CliRunner().invoke(app, ["evaluate", str(tmp_path / "nest.json"), "--plot", str(tmp_path / "nest")])
    assert counted.exit_code == 0, counted.output
    assert {file.stem for file in (tmp_path / "nest").iterdir()} == set(ANSWER.presentation.pictures)
    refused = CliRunner().invoke(app, ["evaluate", str(tmp_path / "nest.json"), "--plot", str(tmp_path / "nest.json")])
    assert refused.exit_code == 2
    assert "cannot be made" in refused.output


def test_a_score_shows_both_mappings_side_by_side():
    best = optmap.solve(LAYER, machine=MACHINE, objective="edp", tiles="divisors", method="exact")
    score = scored(NEST, FABRIC, best)
    axes = score.plot()
    found = bars(axes)
    assert rows(axes) == ["optimum", "yours"]
    assert list(found) == ["arithmetic", "Reg", "Glb", "DRAM"]
    for place, count in enumerate((best.count, COST)):
        assert sum(widths[place] for widths in found.values()) == pytest.approx(float(count.energy_pj) * PICO)
        assert texts(axes)[place].endswith(f"{count.cycles:,} cycles")
    assert axes.get_title(loc="left") == f"small on tiny: edp {float(COST.edp / best.count.edp):.2f}x"
    assert overlapping(axes) == []
    assert score.plot(picture="nest").get_title(loc="left") == "small on tiny"


def test_a_comparison_of_methods_has_a_bar_each():
    @dataclass(frozen=True)
    class Result:
        count: SpatialCost
        cost: Any
        fits: bool

    other = Nest(
        memories=(*NEST.memories[:2], MemoryNest(x=ways(), y=ways(), temporal=loops(c=4, k=2), keeps=(True,) * 3))
    )
    counts = {"exact": count_nest(other, FABRIC), "worse": COST}
    results = {name: Result(count, count.edp, fits=name == "exact") for name, count in counts.items()}
    comparison = Comparison(
        workload=FABRIC.workload,
        machine=FABRIC.machine,
        asked=Question(workload=FABRIC.workload, machine=FABRIC.machine, objective=MERITS["edp"]),
        methods=("exact", "worse"),
        results=results,  # type: ignore[arg-type]
        left_out={},
    )
    axes = comparison.plot()
    assert rows(axes) == ["exact", "worse"]
    for place, count in enumerate(counts.values()):
        assert sum(widths[place] for widths in bars(axes).values()) == pytest.approx(float(count.energy_pj) * PICO)
    assert [text.rpartition(", ")[2] for text in texts(axes)] == ["best", "does not fit"]
    assert overlapping(axes) == []
