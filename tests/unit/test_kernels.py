"""Compiled code called on NumPy arrays: right, borrowed where it can be, refused in words where not."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import some
from host_machines import AVX512

import optmap
from optmap.base.errors import CheckError, InputError, SolverUnavailableError
from optmap.kernels.code_options import ActivationLayout, CodeOptions, WeightPacking
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import (
    Buffer,
    Code,
    Kernel,
    TensorLayout,
    compile_code,
    emit_code,
    judge,
    memory_of,
    stored,
    stored_shape,
    trials_of,
    view_of,
)
from optmap.workloads.builders import contraction, conv1d, conv2d, matmul, mmc, mttkrp, sddmm, tcl, ttmc
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

LAYER = conv2d(k=20, c=6, h=9, w=7, r=3, s=3, padding="same").with_padding("implicit").with_semantics(Semantics.ASSIGN)
BUILT = [
    LAYER,
    conv2d(k=8, c=4, h=9, w=8, r=3, s=3, groups=2, dilation=2),
    conv2d(c=18, h=9, w=9, r=3, s=3, stride=2, depthwise=True, padding="same").with_padding("implicit"),
    conv1d(f=5, c=3, x=17, w=4, stride=2),
    matmul(i=17, j=33, k=9, bytes=8),
    contraction("abc-bda-dc", (7, 5, 6, 8)),
    mttkrp(i=4, j=5, k=6, l=3),
    sddmm(i=6, j=7, k=5),
    ttmc(i=4, j=3, k=5, l=2, m=3),
    mmc(i=4, j=5, k=6, l=3),
    tcl(i=4, j=3, k=5, l=3, m=2, n=2),
    parse_workload("S[i,j] += A[k,i]*A[k,j]", {"i": 14, "j": 13, "k": 15}),
]


@pytest.fixture(autouse=True, scope="module")
def folder_of_builds(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTMAP_BUILD_DIR", str(tmp_path_factory.mktemp("builds")))
        yield


def mapping_of(workload: Workload) -> Mapping:
    """Ragged tiles in every level, reductions innermost."""
    order = tuple(d for d in workload.dims if d not in workload.reduction_dims) + workload.reduction_dims
    levels, tile = [], dict.fromkeys(workload.dims, 1)
    for level in AVX512.levels:
        tile = {d: min(n, 3 * tile[d] if level is not AVX512.levels[0] else 2) for d, n in workload.sizes}
        levels.append(LevelMapping(level=level.name, tile=tile, permutation=order, spatial={}))
    return Mapping(levels=tuple(levels))


def kernel_of(workload: Workload, options: CodeOptions | None = None, folder: Path | None = None) -> Kernel:
    return compile_code(emit_code(workload, mapping_of(workload), AVX512, options), folder=folder)


@pytest.mark.parametrize("workload", some(4, BUILT), ids=lambda workload: workload.title)
def test_every_builder_is_right_as_a_callable(workload: Workload) -> None:
    kernel = kernel_of(workload)
    trials = trials_of(workload, kernel.code.buffers)
    outputs = []
    for trial in trials:
        given = None if trial.start is None else trial.start.copy()
        made = kernel(*trial.inputs.values(), out=given)
        assert made.shape == kernel.code.buffers[0].shape
        assert given is None or made is given
        outputs.append(made)
    verdict = judge(trials, tuple(outputs), 1)
    assert (verdict.wrong, verdict.exact) == (0, True), verdict.places


@pytest.mark.parametrize(
    ("layout", "weights"), some(len(ActivationLayout), [(a, b) for b in WeightPacking for a in ActivationLayout])
)
def test_layouts_and_packing_do_not_change_what_comes_out(layout: ActivationLayout, weights: WeightPacking) -> None:
    kernel = kernel_of(LAYER, CodeOptions(layout=layout, weights=weights))
    (trial,) = trials_of(LAYER, kernel.code.buffers)[1:]
    image, weight = trial.inputs.values()
    packed = kernel.pack("Ker", weight)
    weight[...] = weight[::-1].copy()  # what was packed is a copy
    assert np.array_equal(kernel(image, packed), trial.expected)
    assert np.array_equal(kernel(kernel.pack("In", image), packed), trial.expected)
    out = kernel.empty("Out")
    kernel(image, packed, out=out)
    assert np.array_equal(view_of(kernel.code.buffers[0], memory_of(kernel.code.buffers[0], out)), trial.expected)


def test_arrays_in_the_order_of_the_code_are_borrowed() -> None:
    kernel = kernel_of(LAYER)
    (trial,) = trials_of(LAYER, kernel.code.buffers)[1:]
    given, weight = trial.inputs.values()
    image, packed = kernel.empty("In"), kernel.pack("Ker", weight)
    image[...] = given
    out = kernel.empty("Out")
    assert kernel(image, packed, out=out, copy=False) is out
    assert np.array_equal(out, trial.expected)
    made = kernel(image, packed, copy=False)
    assert np.shares_memory(made, memory_of(kernel.code.buffers[0], made))
    with pytest.raises(InputError, match=r"Ker would be packed in the call.*pack\('Ker'"):
        kernel(image, weight, copy=False)
    with pytest.raises(InputError, match="Ker is packed; fill a plain array"):
        kernel.empty("Ker")


def test_a_layout_that_would_be_copied_is_refused_where_that_is_asked_for() -> None:
    kernel = kernel_of(LAYER, CodeOptions(layout=ActivationLayout.NHWC))
    image, weight = (np.zeros(buffer.shape, np.float32) for buffer in kernel.code.buffers[1:])
    with pytest.raises(InputError, match=r"In would be copied.*0, 2, 3, 1.*empty\('In'\)"):
        kernel(image, kernel.pack("Ker", weight), copy=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.astype(np.float64), r"In has elements of float64; float32 is needed: \.astype\(np\.float32\)"),
        (lambda a: a.astype(">f4"), "In has elements of >f4"),
        (lambda a: a[:, :, :-1], r"In has shape \(1, 6, 8, 7\); \(1, 6, 9, 7\) is needed"),
        (lambda a: a[0], r"In has shape \(6, 9, 7\)"),
        (lambda a: np.repeat(a, 2, 3)[..., ::2], r"In does not lie in memory in one piece.*ascontiguousarray"),
        (lambda a: a[..., ::-1], "in one piece"),
        (lambda a: a.tolist(), "In is a list; give a NumPy array"),
        (lambda a: np.ma.masked_equal(a, 0), r"In is a masked array.*\.filled"),
        (np.ma.MaskedArray, "In is a masked array"),
        (lambda a: a.astype(object), "In has elements of object"),
        (lambda a: a.astype(np.int32), "In has elements of int32"),
        (lambda a: a.view([("x", "f4")]), "In has elements of"),
        (np.asfortranarray, "in one piece"),
        (lambda a: np.broadcast_to(a[:, :, :, :1], a.shape), "in one piece"),
        (lambda a: a[:0], r"In has shape \(0, 6, 9, 7\)"),
        (lambda a: np.float32(1), "In is a float32"),
        (lambda a: np.array(1, np.float32), r"In has shape \(\)"),
        (lambda a: np.frombuffer(bytes(4 * a.size + 1), np.float32, a.size, 1).reshape(a.shape), "inside an element"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_words(change, words: str) -> None:
    kernel = kernel_of(LAYER)
    image, weight = np.zeros((1, 6, 9, 7), np.float32), np.zeros((20, 6, 3, 3), np.float32)
    with pytest.raises(InputError, match=words):
        kernel(change(image), weight)


def test_outputs_that_do_not_fit_are_refused_in_words() -> None:
    kernel = kernel_of(LAYER)
    image, weight = np.zeros((1, 6, 9, 7), np.float32), np.zeros((20, 6, 3, 3), np.float32)
    out = np.zeros((1, 20, 9, 7), np.float32)
    out.flags.writeable = False
    with pytest.raises(InputError, match="out cannot be written to"):
        kernel(image, weight, out=out)
    with pytest.raises(InputError, match="Out has shape"):
        kernel(image, weight, out=np.zeros((1, 20, 9, 8), np.float32))
    with pytest.raises(InputError, match="1 inputs are given, 2 are needed: In, Ker"):
        kernel(image)
    with pytest.raises(InputError, match=r"unknown input 'Kern'.*did you mean Ker"):
        kernel.pack("Kern", weight)
    square = kernel_of(matmul(i=4, j=4, k=4))
    both = np.zeros((4, 4), np.float32)
    with pytest.raises(InputError, match="out overlaps A"):
        square(both, both.copy(), out=both)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (np.ma.MaskedArray, "Out is a masked array"),
        (lambda a: a.astype(">f4"), "Out has elements of >f4"),
        (np.asfortranarray, "Out does not lie in memory in one piece"),
        (lambda a: np.broadcast_to(a[..., :1], a.shape), "Out does not lie in memory in one piece"),
        (lambda a: a[..., ::-1], "Out does not lie in memory in one piece"),
        (lambda a: a.tobytes(), "Out is a bytes"),
    ],
)
def test_outputs_that_would_be_lost_are_refused(change, words: str) -> None:
    image, weight = np.zeros((1, 6, 9, 7), np.float32), np.zeros((20, 6, 3, 3), np.float32)
    with pytest.raises(InputError, match=words):
        kernel_of(LAYER)(image, weight, out=change(np.zeros((1, 20, 9, 7), np.float32)))


@pytest.mark.parametrize("shift", [1, 8, 15])
def test_an_output_that_begins_inside_an_input_is_refused(shift: int) -> None:
    kernel = kernel_of(matmul(i=4, j=4, k=4))
    memory = np.zeros(64, np.float32)
    first, out, apart = memory[:16].reshape(4, 4), memory[shift : shift + 16].reshape(4, 4), memory[16:32].reshape(4, 4)
    with pytest.raises(InputError, match="out overlaps A"):
        kernel(first, np.zeros((4, 4), np.float32), out=out)
    assert kernel(first, np.zeros((4, 4), np.float32), out=apart) is apart


def test_other_kinds_of_arrays_are_taken_as_what_they_hold(tmp_path: Path) -> None:
    kernel = kernel_of(matmul(i=5, j=6, k=7))
    left, right = np.arange(35, dtype=np.float32).reshape(5, 7), np.arange(42, dtype=np.float32).reshape(7, 6)
    stored_left = np.memmap(tmp_path / "left", np.float32, "w+", shape=(5, 7))
    stored_left[...] = left
    read_only = right.copy()
    read_only.flags.writeable = False

    class Own(np.ndarray):
        """Whatever it adds, the code reads the elements."""

    for one, other in ((left.view(Own), right.view(Own)), (stored_left, read_only)):
        assert np.array_equal(kernel(one, other), left @ right)
        assert np.array_equal(kernel(one, kernel.pack("B", other)), left @ right)
    out = np.zeros((5, 6), np.float32).view(Own)
    assert kernel(left, right, out=out) is out
    assert np.array_equal(out, left @ right)


def test_a_single_number_is_an_output() -> None:
    kernel = kernel_of(parse_workload("S[] = A[i]*B[i]", {"i": 33}))
    given = np.arange(33, dtype=np.float32)
    found = kernel(given, given)
    assert (found.shape, float(found)) == ((), float(given @ given))
    out = np.zeros((), np.float32)
    assert kernel(given, given, out=out) is out
    assert out == found


def test_an_output_elsewhere_in_memory_is_filled() -> None:
    kernel = kernel_of(LAYER)
    (trial,) = trials_of(LAYER, kernel.code.buffers)[1:]
    out = np.full((1, 20, 9, 7), 7, np.float32)
    assert kernel(*trial.inputs.values(), out=out) is out
    assert np.array_equal(out, trial.expected)


def test_threads_call_one_kernel_at_once() -> None:
    kernel = kernel_of(LAYER, CodeOptions(weights=WeightPacking.CALL))
    trials = [trials_of(LAYER, kernel.code.buffers, seed)[1] for seed in range(4)]
    start = threading.Barrier(4)

    def called(trial) -> bool:
        start.wait()
        return all(np.array_equal(kernel(*trial.inputs.values()), trial.expected) for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(called, trials))


def test_weights_packed_for_another_code_are_refused() -> None:
    kernel, other = kernel_of(LAYER), kernel_of(conv2d(k=20, c=5, h=9, w=7, r=3, s=3))
    packed = other.pack("Ker", np.zeros((20, 5, 3, 3), np.float32))
    with pytest.raises(InputError, match="packed for another code"):
        kernel(np.zeros((1, 6, 9, 7), np.float32), packed)


def test_the_same_code_is_built_once(tmp_path: Path) -> None:
    first = kernel_of(LAYER, folder=tmp_path)
    stamp = first.library.stat().st_mtime_ns
    assert kernel_of(LAYER, folder=tmp_path).library == first.library
    assert first.library.stat().st_mtime_ns == stamp
    assert first.library.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    "order", [((0, 1), (1, 1), (2, 1)), ((2, 1), (0, 1), (1, 1)), ((0, 4), (2, 1), (1, 3), (0, 2), (1, 1), (0, 1))]
)
def test_layouts_turn_back_into_what_they_were_made_of(order: tuple[tuple[int, int], ...]) -> None:
    buffer = Buffer(tensor="A", shape=(6, 5, 4), origin=(0, 0, 0), bits=32, layout=TensorLayout(order=order))
    array = np.arange(6 * 5 * 4, dtype=np.float32).reshape(6, 5, 4)
    memory = stored(buffer, array)
    assert memory.shape == stored_shape(buffer)
    assert memory.ctypes.data % 64 == 0
    assert np.array_equal(view_of(buffer, memory), array)
    flat = memory.ravel()
    pieces = buffer.layout.pieces(buffer.shape)
    for index in np.ndindex(array.shape):
        digits = [index[p.axis] // p.block if p.first else index[p.axis] // p.block % p.extent for p in pieces]
        assert flat[sum(digit * p.stride for digit, p in zip(digits, pieces, strict=True))] == array[index]


def test_compile_takes_results_files_and_code(tmp_path: Path) -> None:
    workload = conv2d(k=16, c=4, h=6, w=6, r=3, s=3, padding="same")
    solved = optmap.solve(workload, memory="4KiB", time_limit=5)
    file = solved.save(tmp_path / "solved.json")
    assert optmap.compile(file, folder=tmp_path).code.buffers[1].shape == (1, 4, 8, 8)  # it knows no padding
    kernel = optmap.compile(solved, folder=tmp_path)
    assert kernel.code.buffers[1].shape == (1, 4, 6, 6)  # no rim
    trial = trials_of(kernel.code.workload, kernel.code.buffers)[1]
    assert np.array_equal(kernel(*trial.inputs.values()), trial.expected)
    stored_rim = optmap.compile(solved, padding="stored", semantics="accumulate", folder=tmp_path)
    assert stored_rim.code.buffers[1].shape == (1, 4, 8, 8)
    trial = trials_of(stored_rim.code.workload, stored_rim.code.buffers)[1]
    assert np.array_equal(stored_rim(*trial.inputs.values(), out=trial.start), trial.expected)
    again = optmap.compile(kernel.code, folder=tmp_path)
    assert again.library == kernel.library
    with pytest.raises(InputError, match="code is written already"):
        optmap.compile(kernel.code, padding="stored")


def test_mappings_on_accelerators_are_refused() -> None:
    solved = optmap.solve(matmul(i=8, j=8, k=8), machine="simba_like", method="exact", time_limit=5)
    with pytest.raises(InputError, match="units in meshes and no cores"):
        optmap.compile(solved)


def test_without_a_compiler_compile_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = emit_code(LAYER, mapping_of(LAYER), AVX512)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SolverUnavailableError, match="apt install gcc"):
        optmap.compile(code, folder=tmp_path)


def broken(code: Code) -> Code:
    """Code that adds 1 to an element of its output."""
    right = f"{code.entry}_right"
    types = [("const " if place else "") + "float" for place in range(len(code.buffers))]
    types += ["void"] if code.workspace else []
    head = f"void {code.entry}({', '.join(f'{kind} *b{place}' for place, kind in enumerate(types))})"
    call = f"{right}({', '.join(f'b{place}' for place in range(len(types)))});"
    source = re.sub(rf"\b{code.entry}\(", f"{right}(", code.source)
    return replace(code, source=f"{source}\n{head};\n{head} {{ {call} b0[17] += 1; }}\n")


def test_a_library_that_computes_something_else_is_found_out(tmp_path: Path) -> None:
    code = emit_code(LAYER, mapping_of(LAYER), AVX512)
    kernel = optmap.compile(broken(code), folder=tmp_path)
    trials = trials_of(LAYER, code.buffers)
    verdict = judge(trials, tuple(kernel(*trial.inputs.values()) for trial in trials), 54)
    place = np.argwhere(view_of(code.buffers[0], np.arange(1260).reshape(stored_shape(code.buffers[0]))) == 17)
    where = ",".join(str(each) for each in place[0])
    words = re.escape(f"1 wrong of all 1,260 outputs compared; the first of them:\n  [{where}] is ")
    with pytest.raises(CheckError, match=words):
        verdict.demand(LAYER.title)
