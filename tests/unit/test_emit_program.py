"""The generated program: it finds what is wrong, and says where."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from emitted import SANITIZED
from host_machines import AVX512

from optmap.kernels.code_options import ActivationLayout, CodeOptions, WeightPacking
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Code, build_program, emit_code, header_text
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Padding, Semantics, Workload


def whole(workload: Workload, machine: Machine) -> Mapping:
    """One tile of everything at every level, points inside the registers' loops."""
    levels = []
    for number, level in enumerate(machine.levels):
        tile = workload.extents if number else dict.fromkeys(workload.dims, 2)
        tile = {d: min(n, workload.extents[d]) for d, n in tile.items()}
        levels.append(LevelMapping(level=level.name, tile=tile, permutation=workload.dims, spatial={}))
    return Mapping(levels=tuple(levels))


def run(code: Code, *arguments: str, folder: Path, source: str = "") -> subprocess.CompletedProcess[str]:
    sources = {"code.c": source or code.source, "main.c": code.main}
    program = build_program(sources, flags=SANITIZED, folder=folder)
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, timeout=60)


def layer() -> Code:
    workload = conv2d(k=5, c=4, h=6, w=7, r=3, s=3, name="a/b").with_padding(Padding.IMPLICIT)
    workload = workload.with_semantics(Semantics.ASSIGN)
    machine = AVX512.from_level("L3")
    machine = Machine(name="no core", levels=machine.levels)
    return emit_code(workload, whole(workload, machine), machine, CodeOptions(layout=ActivationLayout.NHWC))


def test_right_code_is_checked_and_timed(tmp_path: Path) -> None:
    found = run(layer(), "-r", "7", folder=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "a/b: 210 outputs are right" in found.stdout
    assert "7 calls: least" in found.stdout
    some = run(layer(), "-r", "1", "-c", "13", folder=tmp_path)
    assert "a/b: 13 outputs are right" in some.stdout
    assert run(layer(), "-r", folder=tmp_path).returncode == 2
    assert "usage" in run(layer(), "--fast", "1", folder=tmp_path).stderr


def test_a_wrong_element_is_named(tmp_path: Path) -> None:
    code = layer()
    at = "Out[35*h + 5*w + k] += In["
    assert code.source.count(at) == 1
    broken = code.source.replace(at, "if (k == 3 && h == 2 && w == 5) continue; else Out[35*h + 5*w + k] += In[")
    found = run(code, folder=tmp_path, source=broken)
    assert found.returncode == 1
    assert found.stdout.startswith("Out[0,3,2,5] is 0, not ")


def test_accumulation_and_tensors_that_are_read_twice(tmp_path: Path) -> None:
    workload = parse_workload("O[i,j] += A[i,k+2] * A[k,j]", {"i": 4, "j": 5, "k": 3})
    machine = Machine(name="no core", levels=AVX512.levels[:2])
    code = emit_code(workload, whole(workload, machine), machine)
    found = run(code, "-r", "1", folder=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "20 outputs are right" in found.stdout
    assert "void optmap_code(float *O, const float *A, const float *A_again2);" in header_text(code)


@pytest.mark.parametrize("weights", list(WeightPacking))
def test_packing_ahead_and_in_the_call(weights: WeightPacking, tmp_path: Path) -> None:
    workload = matmul(i=12, j=37, k=9).with_semantics(Semantics.ASSIGN)
    tile = {"i": 3, "j": 32, "k": 1}
    levels = [
        LevelMapping(
            level=level.name,
            tile=workload.extents if number else tile,
            permutation=("j", "i", "k"),
            spatial={"i": 2} if number == 3 else {},
        )
        for number, level in enumerate(AVX512.levels)
    ]
    levels[1:3] = [replace(level, tile={**workload.extents, "i": 6}) for level in levels[1:3]]
    code = emit_code(workload, Mapping(levels=tuple(levels)), AVX512, CodeOptions(weights=weights))
    assert (code.workspace > 0) == (weights is WeightPacking.CALL)
    assert (code.kernel, code.threads) == (KernelKind.OUTER_PRODUCT, 2)
    found = run(code, "-r", "2", folder=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "444 outputs are right" in found.stdout
