"""Emitted code computes what the statement says, for any mapping, and touches nothing else."""

from __future__ import annotations

import ctypes
import random
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from cases import cases, some, thinned
from emitted import SANITIZED, SHORTER, STRICT, TYPES, check_together
from host_machines import AVX2, AVX512, NEON
from random_codes import random_case

import optmap
from optmap.base.errors import InputError
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.kernels.kernel_roles import kernel_roles
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Code, build_library, emit_code, load_library, pack
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Padding, Semantics, Workload

GOLDEN = Path(__file__).parents[1] / "golden" / "emit"
LAYERS = tuple(
    name
    for network, numbers in (("resnet18/R", range(1, 13)), ("yolo9000/Y", range(24)), ("mobilenet/M", range(1, 10)))
    for name in (f"{network}{number}" for number in numbers)
    if name in optmap.list()["workloads"]
)
"""Of MOpt's Table 1."""
PROCESSORS = (("-O1", "-march=native"), ("-O0",), ("-O1", "-march=native"), ("-O0", *SHORTER))
"""Flags of the batches: all instructions of the machine at hand, those that every processor has, and a part."""


@pytest.mark.parametrize("batch", some(1, range(4)))
def test_random_codes_are_right_and_clean(batch: int, tmp_path: Path) -> None:
    rng = random.Random(batch)
    codes = []
    for number in range(cases(7, 25)):
        workload, machine, mapping, options = random_case(rng, f"case {number}")
        codes.append(emit_code(workload, mapping, machine, options))
    check_together(codes, (*SANITIZED, *PROCESSORS[batch]), tmp_path)


def layer_mapping(workload: Workload, machine: Machine, tiles: dict[str, int]) -> Mapping:
    """Vectors times points in registers, tiles of `tiles` (smaller ones at inner levels) outside, everything last."""
    roles, core = kernel_roles(workload), machine.core
    assert roles is not None
    assert core is not None
    tile = dict.fromkeys(workload.dims, 1)
    tile[roles.vector] = min(workload.extents[roles.vector], 2 * core.lanes(workload.output.bits))
    tile[roles.points[-1] if roles.points else "w"] = min(workload.extents["w"], 5)
    inner = [d for d in workload.dims if d in workload.reduction_dims]
    order = tuple([d for d in workload.dims if d not in inner] + inner)
    levels = []
    for number, level in enumerate(machine.levels):
        levels.append(
            LevelMapping(level=level.name, tile=tile, permutation=order if number == 0 else workload.dims, spatial={})
        )
        last = number == len(machine.levels) - 2
        tile = {
            d: n if last else min(n, max(tile[d], tiles.get(d, n) * (number + 1))) for d, n in workload.extents.items()
        }
    return Mapping(levels=tuple(levels))


def layer(name: str) -> Workload:
    """As code computes it."""
    workload: Workload = optmap.workload(name)
    return replace(workload, name=name, semantics=Semantics.ASSIGN).with_padding(Padding.IMPLICIT)


def small(name: str) -> Workload:
    """A layer with the filter and strides of another, few channels and points, none of them round."""
    big = optmap.workload(name)
    strides = [c for d, c in big.inputs[0].axes[2].terms if d == "h"]
    made = conv2d(
        n=1,
        k=None if "k" not in big.extents else min(big.extents["k"], 37),
        c=min(big.extents["c"], 37 if "k" not in big.extents else 19),
        h=min(big.extents["h"] * strides[0], 13),
        w=min(big.extents["w"] * strides[0], 17),
        r=big.extents["r"],
        s=big.extents["s"],
        stride=strides[0],
        depthwise="k" not in big.extents,
        name=name,
        semantics=Semantics.ASSIGN,
    )
    return made.with_padding(Padding.IMPLICIT)


def test_layers_of_table_1_are_right_and_clean_when_small(tmp_path: Path) -> None:
    assert len(LAYERS) == 32
    codes = []
    for number, name in thinned([*enumerate(LAYERS)], 11):
        workload, machine = small(name), (AVX512, AVX2, NEON)[number % 3]
        options = CodeOptions(layout=list(ActivationLayout)[number % 2 + 1])
        codes.append(emit_code(workload, layer_mapping(workload, machine, {"h": 3, "k": 33, "c": 5}), machine, options))
    check_together(codes, (*SANITIZED, "-O0", "-march=native"), tmp_path)


@pytest.mark.parametrize("network", some(["resnet18", "mobilenet"], ["resnet18", "yolo9000", "mobilenet"]))
def test_layers_of_table_1_are_right_where_they_are_looked_at(network: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in thinned([name for name in LAYERS if name.startswith(network)], 3):
        workload = layer(name)
        mapping = layer_mapping(workload, AVX512, {"h": 7, "k": 128, "c": 48})
        code = emit_code(workload, mapping, AVX512)
        values = [np.asarray(rng.integers(-8, 9, b.shape), TYPES[b.bits]) for b in code.buffers]
        look_at(code, values, called(code, values, ("-O1", "-march=native", *STRICT), tmp_path), rng)


def called(code: Code, values: list[np.ndarray], flags: tuple[str, ...], folder: Path) -> np.ndarray:
    """The output's buffer after a call, not a number before."""
    library = load_library(build_library(code.source, flags=flags, folder=folder))
    given = []
    for number, (buffer, value) in enumerate(zip(code.buffers, values, strict=True)):
        packed = pack(buffer.layout, value if number else np.full_like(value, np.nan))
        given.append(packed)
    getattr(library, code.entry)(*(each.ctypes.data_as(ctypes.c_void_p) for each in given))
    return given[0]


def look_at(code: Code, values: list[np.ndarray], found: np.ndarray, rng: np.random.Generator) -> None:
    """Compare some outputs, corners among them, with the sums that the statement has for them."""
    workload = code.workload
    shape = code.buffers[0].shape
    place = pack(code.buffers[0].layout, np.arange(prod(shape)).reshape(shape))
    where = np.empty(prod(shape), dtype=int)
    where[place] = np.arange(len(place))  # no block of these layers is filled up
    chosen = [0, prod(shape) - 1, *rng.integers(0, prod(shape), 30)]
    for at in chosen:
        index = np.unravel_index(at, shape)
        point = {axis.dims[0]: int(i) for axis, i in zip(workload.output.axes, index, strict=True)}
        assert found[where[at]] == one_output(code, values, point), (workload.name, point)


def one_output(code: Code, values: list[np.ndarray], point: dict[str, int]) -> float:
    """The sum for one iteration of the output's dims."""
    workload = code.workload
    dims = workload.reduction_dims
    grid = np.indices([workload.extents[d] for d in dims]).reshape(len(dims), -1)
    at = {**point, **dict(zip(dims, grid, strict=True))}
    done = np.ones(grid.shape[1], dtype=bool)
    product = np.ones(grid.shape[1])
    for tensor, buffer, value in list(zip(workload.tensors, code.buffers, values, strict=True))[1:]:
        places = []
        for axis, origin in zip(tensor.axes, buffer.origin, strict=True):
            index = axis.offset + sum((c * at[d] for d, c in axis.terms), np.zeros(grid.shape[1], dtype=int))
            if axis.real is not None:
                done &= (index >= axis.real[0]) & (index <= axis.real[1])
            places.append(np.clip(index - origin, 0, value.shape[len(places)] - 1))
        product = product * value.astype(np.float64)[tuple(places)]
    return float(product[done].sum())


def test_golden_text() -> None:
    workload = parse_workload(
        "Out[k,h] = In[c,h+r in 1..7] * Ker[k,c,r]", {"k": 5, "h": 7, "c": 6, "r": 3}, name="small layer"
    )
    machine = Machine(name="no core", levels=(AVX512.levels[1], AVX512.levels[3]))
    inner = LevelMapping(
        level="L1", tile={"k": 2, "h": 3, "c": 4, "r": 3}, permutation=("c", "k", "h", "r"), spatial={}
    )
    outer = LevelMapping(
        level="L3", tile={"k": 5, "h": 7, "c": 6, "r": 3}, permutation=("k", "h", "c", "r"), spatial={"h": 2}
    )
    code = emit_code(workload, Mapping(levels=(inner, outer)), machine)
    assert code.threads == 2
    assert code.source == (GOLDEN / "small_layer.c").read_text()


def test_names_that_mean_something_in_c(tmp_path: Path) -> None:
    workload = parse_workload(
        "double[for,x_0] += restrict[for,n_k] * main[n_k,x_0] * smaller[int]",
        {"for": 3, "x_0": 4, "n_k": 5, "int": 2},
        name="static void/*",
    )
    machine = Machine(name="no core", levels=AVX512.levels[:2])
    tile = {"for": 2, "x_0": 3, "n_k": 2, "int": 1}
    levels = [
        LevelMapping(level=each.name, tile=tile if n == 0 else workload.extents, permutation=workload.dims, spatial={})
        for n, each in enumerate(machine.levels)
    ]
    check_together([emit_code(workload, Mapping(levels=tuple(levels)), machine)], SANITIZED, tmp_path)


@pytest.mark.parametrize("dim", ["k", "i"])
def test_splits_that_threads_would_share_are_refused(dim: str) -> None:
    workload = parse_workload("O[i+j] += A[i,k] * B[j,k]", {"i": 8, "j": 8, "k": 8})
    level = AVX512.levels[-1]
    mapping = Mapping(
        levels=(LevelMapping(level="L3", tile=workload.extents, permutation=workload.dims, spatial={dim: 2}),)
    )
    with pytest.raises(InputError, match=f"level L3: {dim} is split 2 ways"):
        emit_code(workload, mapping, Machine(name="one level", levels=(level,)))
