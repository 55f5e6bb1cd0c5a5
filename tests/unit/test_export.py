"""Exported programs: the worked examples under models/programs regenerate byte for byte."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import optmap
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InputError
from optmap.count.meshes.count import NEST_EXACT
from optmap.files.library import models_path, workload
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.programs import (
    Program,
    export_program,
    lifted_tiling_program,
    log_tiling_program,
    minmax_program,
    one_level_program,
)
from optmap.programs.allocation import Allocation
from optmap.programs.tile import Scale, TileLevel
from optmap.questions.options import Merit
from optmap.search.exact.search import search_nest
from optmap.solvers import solve
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics

GOLDEN = Path(__file__).parent.parent / "golden" / "programs"
CLASS_1 = ("k", "c", "r", "s", "n", "h", "w")


def mopt_one_level() -> Program:
    layer = conv2d(c=64, k=128, h=136, w=136, r=3, s=3, name="yolo9000/Y4")
    return one_level_program(layer, capacity=8192, permutation=CLASS_1, scale=Scale.RAW)


def matmul_one_level() -> Program:
    return one_level_program(
        matmul(i=2000, j=1500, k=1500), capacity=1024, permutation=("i", "j", "k"), scale=Scale.RAW
    )


def three_levels(scale: Scale = Scale.RAW) -> Program:
    memories = (("L1", 1024, 57.0), ("L2", 8192, 28.0), ("L3", 65536, 16.0))
    levels = [
        TileLevel(name=name, capacity=words, bandwidth=speed, permutation=CLASS_1, fixed={"r": 3, "s": 3})
        for name, words, speed in memories
    ]
    return minmax_program(workload("resnet18/R9"), levels, scale=scale)


def tiling_lp() -> Program:
    return log_tiling_program(matmul(i=2000, j=1500, k=1500), capacity=1024)


def row_fabric() -> Fabric:
    buffer = Store(
        keeps=(("inputs", KeepRule.FREE), ("output", KeepRule.KEPT)),
        energy_pj=Prices(read=6, fill=6, update=8),
        mesh=Mesh(x=MeshAxis(size=4)),
    )
    outermost = Store(energy_pj=Prices(read=200, fill=200, update=200), ports=Ports(shared=4))
    level = Level(name="Buffer", capacity=Capacity(amount=12, unit="words"), store=buffer)
    arithmetic = Arithmetic(energy_pj=1)
    machine = Machine(name="row", levels=(level,), memory="DRAM", outermost=outermost, arithmetic=arithmetic)
    layer = matmul(i=4, j=2, k=6).with_semantics(Semantics.ASSIGN)
    return fabric_of(layer, machine)


def gemm_allocation() -> Program:
    return Allocation(fabric=row_fabric(), merit=Merit.EDP, counting=NEST_EXACT, reference=1e5).program()


EXAMPLES: list[tuple[str, Callable[[], Program], str]] = [
    ("mopt_one_level.txt", mopt_one_level, "text"),
    ("mopt_one_level.nl", mopt_one_level, "nl"),
    ("matmul_one_level.txt", matmul_one_level, "text"),
    ("resnet18_R9_three_levels.txt", three_levels, "text"),
    ("matmul_log_tiling.lp", tiling_lp, "lp"),
    ("matmul_allocation.txt", gemm_allocation, "text"),
    ("resnet50_conv2_lifted_tiling.lp", lambda: lifted_tiling_program(workload("resnet50/conv2"), capacity=8192), "lp"),
]


@pytest.mark.parametrize(("name", "make", "fmt"), EXAMPLES, ids=[name for name, *_ in EXAMPLES])
def test_worked_examples_regenerate_byte_for_byte(name: str, make: Callable[[], Program], fmt: str) -> None:
    stored = (models_path() / "programs" / name).read_bytes()
    assert export_program(make(), fmt).encode() == stored
    assert export_program(make(), fmt).encode() == stored


def test_every_stored_program_is_tested() -> None:
    stored = {path.name for path in (models_path() / "programs").iterdir()}
    assert stored == {name for name, *_ in EXAMPLES}


@pytest.mark.parametrize(
    ("name", "make", "fmt"),
    [
        ("matmul_one_level.tex", matmul_one_level, "latex"),
        ("matmul_log_tiling.mps", tiling_lp, "mps"),
        ("matmul_log_tiling.txt", tiling_lp, "text"),
    ],
)
def test_golden_formats(name: str, make: Callable[[], Program], fmt: str) -> None:
    assert export_program(make(), fmt) == (GOLDEN / name).read_text(encoding="utf-8")


def test_an_exported_program_has_all_its_variables() -> None:
    """Pyomo's presolve takes some out, and ends with an error of its own at some programs."""
    program = gemm_allocation()
    sizes = export_program(program, "nl").splitlines()[1].split()
    assert int(sizes[0]) == len(program.variables)


def test_text_of_a_logarithmic_program_names_what_the_logarithms_are_of() -> None:
    text = export_program(three_levels(Scale.LOG), "text")
    assert "convex in these variables" in text
    assert "log of T[L1,k], iterations" in text
    assert "minimize (log of cycles)" in text
    assert max(map(len, text.splitlines())) <= 120


def test_linear_formats_refuse_nonlinear_programs_and_name_the_alternative() -> None:
    for fmt in ("lp", "mps"):
        with pytest.raises(InputError, match=f"cannot be written as {fmt}; use nl, text or latex"):
            export_program(matmul_one_level(), fmt)
    with pytest.raises(InputError, match="nown are lp, mps, nl, text, latex"):
        export_program(matmul_one_level(), "gams")


def test_the_printed_model_evaluates_to_the_objective() -> None:
    """The readable text is itself a program: read with Python's arithmetic it gives the same number."""
    program = matmul_one_level()
    found = solve(program)
    quantities = program.read_back(found.values)
    text = export_program(program, "text")
    defined = dict(re.findall(r"^  (traffic\[\w+\]) = (.*)$", text, flags=re.MULTILINE))
    total = 0.0
    for expression in defined.values():
        product = 1.0
        for factor in expression.split(" * "):
            top, _, bottom = factor.partition("/")
            value = quantities[top] if top in quantities else float(top)
            product *= value / (quantities[bottom] if bottom else 1.0)
        total += product
    assert set(defined) == {"traffic[C]", "traffic[A]", "traffic[B]"}
    assert total == pytest.approx(found.objective, rel=1e-12)


def test_the_stored_allocation_program_bounds_every_mapping() -> None:
    fabric, program = row_fabric(), gemm_allocation()
    found = solve(program)
    best = search_nest(fabric, merit=Merit.EDP, counting=NEST_EXACT, clock=NO_LIMIT)
    assert best.proved
    assert found.bound is not None
    assert 0.7 * best.value < 1e5 * found.bound <= best.value * (1 + 1e-6)
    assert program.read_back(found.values)["T[k,Buffer_time]"] == pytest.approx(2)


@pytest.mark.parametrize("method", ["allocation", "cosa"])
@pytest.mark.parametrize("form", ["lp", "mps", "text"])
def test_programs_of_accelerators_are_exported(method: str, form: str) -> None:
    layer = matmul(i=4, j=2, k=6)
    text = optmap.export(layer, machine="gemmini", method=method, format=form)
    assert text == optmap.export(layer, machine="gemmini", method=method, format=form)
    assert ("order" in text) == (method == "allocation")
    assert ("rank0" in text) == (method == "cosa")


def test_options_of_accelerators_are_refused_elsewhere_and_others_there() -> None:
    layer = matmul(i=4, j=2, k=6)
    with pytest.raises(InputError, match="programs of accelerators"):
        optmap.export(layer, memory="64w", method="allocation")
    with pytest.raises(InputError, match="leave out --permutation"):
        optmap.export(layer, machine="gemmini", permutations=["i,j,k"])
    with pytest.raises(InputError, match="of its own"):
        optmap.export(layer, machine="gemmini", method="cosa", objective="energy")
