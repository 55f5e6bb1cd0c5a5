"""TVM on the CPU: code that its MetaSchedule finds, in a number of trials, for channels last and in blocks.

How fast it is depends on the trials: it is the best that so many of them found, not the best that there is. What was
found is kept beside built objects, so that a layer is tuned once per version, target and number of trials.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from optmap.base.errors import SolverUnavailableError
from optmap.native.bench.clock import c_text
from optmap.native.bench.contender import Array, Contender, touched
from optmap.native.bench.forms import LibraryConvolution, library_forms
from optmap.native.bench.tvm_forms import TvmForm, questions
from optmap.native.bench.tvm_tuning import INSTALL, imported, tune
from optmap.native.run.clock import address
from optmap.native.toolchain.build import build_folder, build_library
from optmap.native.toolchain.libraries import load_library
from optmap.workloads.workload import Workload

TRIALS = 64
"""Of a form, unless others are asked for."""
NEEDED = ("tvm", "xgboost", "scipy", "psutil", "cloudpickle")
"""Packages of TVM and its tuner."""
FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, OSError)
"""By which TVM says that it cannot, or that a version has another interface."""
THREADS, BOUND = "TVM_NUM_THREADS", "TVM_BIND_THREADS"
"""Environment variables of TVM's pool of threads."""
TENSOR = 7
"""Tag of a DLPack array among the values of TVM's C interface."""
DONE = "done"
"""File of a record that is complete."""
FLOAT = 2
"""Kind of DLPack's floating point."""


class _Array(ctypes.Structure):
    """As DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Value(ctypes.Structure):
    """As `any` in tvm.c."""

    _fields_ = (("kind", ctypes.c_int32), ("rest", ctypes.c_uint32), ("pointer", ctypes.c_void_p))


class _Bound(ctypes.Structure):
    """As `bound` in tvm.c."""

    _fields_ = (
        ("call", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("arguments", _Value * 3),
        ("status", ctypes.c_int64),
    )


class Tvm:
    """The TVM that is installed beside Python.

    Args:
        trials: schedules that are measured per layer, form and number of threads.
        told: hears what is tuned, and how far it is.

    Raises:
        SolverUnavailableError: if it or what its tuner needs is not installed, or it is of a version with another
            interface, with what to run.
    """

    name = "tvm"

    def __init__(self, trials: int = TRIALS, told: Callable[[str], None] = lambda text: None) -> None:
        absent = [name for name in NEEDED if find_spec(name) is None]
        if absent:
            raise SolverUnavailableError(f"no {', '.join(absent)}; {INSTALL}")
        os.environ[BOUND] = "0"  # where threads run is said for all libraries alike
        told("loading TVM")
        self._tvm, self.trials, self._told = imported(), trials, told

    @property
    def version(self) -> str:
        """Of TVM, and how long it was tuned."""
        return f"{self._tvm.__version__} (MetaSchedule, {self.trials} trials a form)"

    def prepare(self, workload: Workload, inputs: tuple[Array, ...], threads: int) -> tuple[Contender, ...]:
        """See `Baseline`; tunes what was not tuned before, which takes about a second per trial."""
        found = []
        with _pool(self._tvm, threads):
            for form in library_forms(workload):
                first = form.image_input if isinstance(form, LibraryConvolution) else form.left_input
                operands = [
                    fold.apply(inputs[place]) for fold, place in zip(form.folds[1:], (first, 1 - first), strict=True)
                ]
                for question in questions(form):
                    try:
                        way = self._tuned(question, operands, threads)
                    except FAILURES as error:
                        text = (str(error).strip() or type(error).__name__).splitlines()[-1]
                        raise SolverUnavailableError(f"TVM cannot tune {question.label}: {text}") from error
                    if way is not None:
                        found.append(way)
        return tuple(found)

    def _tuned(self, question: TvmForm, operands: list[Array], threads: int) -> Contender | None:
        """The fastest that was found; None if no trial ran."""
        from tvm.s_tir import meta_schedule as ms

        target = _target(threads)
        memory = _Memory(question, operands)
        function = _statement(question, str(operands[0].dtype))
        folder = _record((self._tvm.__version__, self.trials, str(target), str(operands[0].dtype), question))
        if not (folder / DONE).exists():
            folder.mkdir(parents=True, exist_ok=True)
            tune(
                function,
                target,
                folder,
                self.trials,
                way=lambda made: memory.way(made, question.label),
                told=lambda done: self._told(f"tvm, {question.label}: trial {done} of {self.trials}"),
            )
            (folder / DONE).touch()
        records = ms.Database.create("json", work_dir=str(folder), module_equality="structural")
        schedule = ms.tir_integration.compile_tir(records, function, target)
        if schedule is None:
            return None
        return memory.way(self._tvm.compile(schedule.mod, target=target)["main"], question.label)


def _record(tuned: tuple[object, ...]) -> Path:
    """Where the records of a tuning are: everything that they depend on is in the name."""
    return build_folder() / "tvm" / hashlib.sha256(repr(tuned).encode()).hexdigest()[:32]


def _target(threads: int) -> Any:
    """The processor at hand, as LLVM knows it."""
    import tvm
    import tvm_ffi

    name = tvm_ffi.get_global_func("tvm.codegen.llvm.GetHostCPUName")()
    features = tvm_ffi.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")()
    kept = sorted(f"+{each}" for each, there in dict(features).items() if there)
    return tvm.target.Target({"kind": "llvm", "mcpu": str(name), "mattr": kept, "num-cores": threads})


@contextmanager
def _pool(tvm: Any, threads: int) -> Iterator[None]:
    """TVM's threads, here and in the processes in which trials run."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = str(threads)
    tvm.get_global_func("runtime.config_threadpool")(1, threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def _statement(question: TvmForm, dtype: str) -> Any:
    """The computation as TVM has it: zeros around the image where there are some, then the sum."""
    from tvm import te, tirx

    out, left, right = question.shapes
    image = te.placeholder(left, dtype, name="image")
    weights = te.placeholder(right, dtype, name="weights")
    zeros = question.zeros
    wide = image
    if any(map(any, zeros)):

        def padded(*index: Any) -> Any:
            sides = list(zip(index, left, zeros, strict=True))
            inside = [tirx.all(i >= low, i < low + size) for i, size, (low, high) in sides if low or high]
            value = image[tuple(i - low if low else i for i, _, (low, _) in sides)]
            return tirx.if_then_else(tirx.all(*inside), value, tirx.const(0, dtype))

        shape = [size + low + high for size, (low, high) in zip(left, zeros, strict=True)]
        wide = te.compute(shape, padded, name="padded")
    over = [te.reduce_axis((0, size), name=f"sum{number}") for number, size in enumerate(question.reduced)]

    def term(*index: Any) -> Any:
        first, second = question.reads(index, over)
        return te.sum(wide[first] * weights[second], axis=over)

    return te.create_prim_func([image, weights, te.compute(out, term, name="output")])


class _Memory:
    """Operands of a question, filled, on which any of its functions is called."""

    def __init__(self, question: TvmForm, operands: list[Array]) -> None:
        image, weights = question.image(operands[0]), question.weights(operands[1])
        arrays = (image, weights, np.zeros(question.shapes[0], image.dtype))
        self.question = question
        self.buffers = tuple(touched(array.nbytes) for array in arrays)
        for buffer, array in zip(self.buffers, arrays, strict=True):
            buffer.view(array.dtype)[:] = array.reshape(-1)
        self.described = [_described(buffer, array) for buffer, array in zip(self.buffers, arrays, strict=True)]
        self.dtype = image.dtype

    def way(self, function: Any, variant: str) -> Contender:
        """A compiled function on these operands."""
        bound = _Bound(call=_caller(), function=function.__chandle__())
        for place, each in enumerate(self.described):
            bound.arguments[place] = _Value(kind=TENSOR, pointer=ctypes.addressof(each))
        return Contender(
            library=Tvm.name,
            variant=variant,
            function=address(load_library(build_library(c_text("tvm.c"))).bench_tvm),
            context=ctypes.addressof(bound),
            operands=(self.buffers[-1], *self.buffers[:-1]),
            result=lambda: self.output(bound),
            kept=(bound, self, function),
        )

    def output(self, bound: _Bound) -> Array:
        """What calls left, in the statement's order of subscripts.

        Raises:
            SolverUnavailableError: if one of them failed.
        """
        if bound.status:
            raise SolverUnavailableError(f"TVM fails at what it compiled, with status {bound.status}")
        found = self.buffers[2].view(self.dtype).reshape(self.question.shapes[0])
        return self.question.form.folds[0].invert(self.question.output(found))


def _described(buffer: Array, array: Array) -> _Array:
    """A buffer as DLPack says it."""
    rank, size = array.ndim, array.itemsize
    return _Array(
        data=buffer.ctypes.data,
        device=(ctypes.c_int32 * 2)(1, 0),
        rank=rank,
        kind=FLOAT,
        bits=8 * size,
        lanes=1,
        shape=(ctypes.c_int64 * rank)(*array.shape),
        strides=(ctypes.c_int64 * rank)(*(stride // size for stride in np.empty(array.shape, array.dtype).strides)),
        offset=0,
    )


def _caller() -> int:
    """Address of the function by which C calls one of TVM's."""
    from tvm_ffi import libinfo

    return address(ctypes.CDLL(libinfo.find_libtvm_ffi()).TVMFFIFunctionCall)
