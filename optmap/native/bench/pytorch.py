"""PyTorch on the CPU: its convolutions and products with weights packed ahead, in every format that it takes.

Underneath is another oneDNN, newer than the packages with a C interface, or MKL. Outputs are what its allocator gives
in every call: freed memory is kept, so that pages are there already. What Python and its dispatcher take is in the
time.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np

from optmap.base.errors import SolverUnavailableError
from optmap.base.extras import install
from optmap.native.bench.contender import Array, Contender
from optmap.native.bench.forms import LibraryConvolution, Product, library_forms
from optmap.workloads.workload import Workload

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
HUGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Environment variable by which PyTorch asks for huge pages."""
REFUSALS = (RuntimeError, AttributeError, TypeError)
"""By which PyTorch says that a version has no such way, or that it does not do a shape."""
TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""Parameters of the C library's mallopt."""


class PyTorch:
    """The PyTorch that is installed beside Python.

    Raises:
        SolverUnavailableError: if it is not installed, with what to run.
    """

    name = "torch"

    def __init__(self) -> None:
        if find_spec("torch") is None:
            raise SolverUnavailableError(f"PyTorch is not installed; run: {install('torch')}")
        os.environ.setdefault(HUGE_PAGES, "1")  # large arrays of NumPy have them as well; read when torch is imported
        import torch

        self._torch = torch
        _keep_freed_memory()

    @property
    def version(self) -> str:
        """Of PyTorch, and of the oneDNN in it."""
        lines = (line.strip(" -") for line in self._torch.__config__.show().splitlines())
        inside = next((line.split(" (")[0] for line in lines if "MKL-DNN" in line or "oneDNN" in line), "no oneDNN")
        return f"{self._torch.__version__} ({inside})"

    def prepare(self, workload: Workload, inputs: tuple[Array, ...], threads: int) -> tuple[Contender, ...]:
        """See `Baseline`; ways that this version refuses are left out."""
        torch = self._torch
        torch.set_num_threads(threads)
        found = []
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for form in library_forms(workload):
                first = form.image_input if isinstance(form, LibraryConvolution) else form.left_input
                operands = [
                    torch.from_numpy(fold.apply(inputs[place]))
                    for fold, place in zip(form.folds[1:], (first, 1 - first), strict=True)
                ]
                for name, make in _ways(torch, form, *operands):
                    with suppress(*REFUSALS):
                        call = make()
                        call()
                        found.append(_contender(torch, name, call, form))
        return tuple(found)


def _contender(torch: Any, name: str, call: Callable[[], Any], form: LibraryConvolution | Product) -> Contender:
    held = SimpleNamespace(output=None)

    def once(_: object) -> None:
        held.output = None  # its memory is what the next output gets
        held.output = call()

    def result() -> Array:
        output = held.output
        if output.layout != torch.strided:
            output = output.to_dense()
        return form.folds[0].invert(np.ascontiguousarray(output.contiguous().numpy()))

    function = CALL(once)
    return Contender(
        library=PyTorch.name,
        variant=name,
        function=ctypes.cast(function, ctypes.c_void_p).value or 0,
        context=0,
        operands=None,
        result=result,
        kept=(function,),
    )


def _ways(torch: Any, form: LibraryConvolution | Product, first: Any, second: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(form, LibraryConvolution):
        return _convolutions(torch, form, first, second)
    return _products(torch, form, first, second)


def _convolutions(torch: Any, form: LibraryConvolution, image: Any, weights: Any) -> Iterator[tuple[str, Any]]:
    """Every format of images with weights as they are, and packed ahead."""
    rank = len(form.spatial)
    more = max(0, 2 - rank)  # one spatial axis is an image of one row
    symmetric = form.before == form.after
    if not symmetric:
        sides = zip(reversed(form.before), reversed(form.after), strict=True)
        image = torch.nn.functional.pad(image, [each for pair in sides for each in pair])
    shape = (form.batch, form.groups * form.channels, *(1,) * more, *image.shape[2:])
    image = image.reshape(shape)
    weights = weights.reshape(form.groups * form.outputs, form.channels, *(1,) * more, *form.taps)
    zeros = [0] * more
    stride, dilation = [1] * more + list(form.stride), [1] * more + list(form.dilation)
    window = (zeros + (list(form.before) if symmetric else [0] * rank), stride, dilation, form.groups)
    last = torch.channels_last if len(stride) == 2 else torch.channels_last_3d
    images = {"contiguous": image, "channels last": image.to(memory_format=last)}
    convolve = torch.conv2d if len(stride) == 2 else torch.conv3d
    for name, each in images.items():
        other = weights.to(memory_format=last) if name == "channels last" else weights
        yield f"convolution {name}", _plain(convolve, each, other, window)
    if len(stride) == 2:
        pack = cache(partial(_packed_weights, torch, image, weights, window))
        for name, each in {**images, "opaque": None}.items():
            yield f"convolution packed {name}", _packed(torch, image, each, pack, window)


def _plain(convolve: Any, image: Any, weights: Any, window: Any) -> Callable[[], Callable[[], Any]]:
    padding, stride, dilation, groups = window
    return lambda: lambda: convolve(image, weights, None, stride, padding, dilation, groups)


def _packed_weights(torch: Any, image: Any, weights: Any, window: Any) -> Any:
    """Weights in oneDNN's own format for images of a shape."""
    return torch._C._nn.mkldnn_reorder_conv2d_weight(weights.to_mkldnn(), *window, list(image.shape))


def _packed(
    torch: Any, image: Any, given: Any, pack: Callable[[], Any], window: Any
) -> Callable[[], Callable[[], Any]]:
    """Weights as `pack` gives them, the same for all images; `given` None has the image in such a format, too."""
    padding, stride, dilation, groups = window

    def make() -> Callable[[], Any]:
        packed = pack()
        if given is None:
            opaque = image.to_mkldnn()
            return lambda: torch.conv2d(opaque, packed, None, stride, padding, dilation, groups)
        convolve = torch.ops.mkldnn._convolution_pointwise.default
        return lambda: convolve(given, packed, None, padding, stride, dilation, groups, "none", [], "")

    return make


def _products(torch: Any, form: Product, left: Any, right: Any) -> Iterator[tuple[str, Any]]:
    """Both orders of the right operand, and the one that a linear layer packs ahead; output memory is given."""
    if form.batch > 1:
        out = torch.empty(form.batch, form.rows, form.columns, dtype=left.dtype)
        yield "product", lambda: lambda: torch.bmm(left, right, out=out)
        turned = right.transpose(1, 2).contiguous().transpose(1, 2)
        yield "product turned", lambda: lambda: torch.bmm(left, turned, out=out)
        return
    a, b = left[0], right[0]
    place = torch.empty(form.rows, form.columns, dtype=left.dtype)
    other = b.t().contiguous()
    yield "product", lambda: lambda: torch.mm(a, b, out=place)
    yield "product turned", lambda: lambda: torch.mm(a, other.t(), out=place)

    def linear() -> Callable[[], Any]:
        packed = torch.ops.mkldnn._reorder_linear_weight(other.to_mkldnn(), form.rows)
        call = torch.ops.mkldnn._linear_pointwise.default
        return lambda: call(a, packed, None, "none", [], "")

    def mkl() -> Callable[[], Any]:
        packed = torch.ops.mkl._mkl_reorder_linear_weight(other.to_mkldnn(), form.rows)
        call = torch.ops.mkl._mkl_linear.default
        return lambda: call(a, packed, other, None, form.rows)

    yield "linear packed", linear
    yield "linear packed by MKL", mkl


def _keep_freed_memory() -> None:
    """Have the C library keep what is freed, or every call would meet its output's pages for the first time."""
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:  # another C library: its allocator is as it is
        tune(TRIM_THRESHOLD, ctypes.c_int(-1))
        tune(MMAP_MAX, 0)
