"""oneDNN through its own C interface: every format and implementation that may be its fastest.

Algorithm is direct: Winograd's convolution is other arithmetic, with fewer products and other rounding.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path

import numpy as np

from optmap.base.errors import SolverUnavailableError
from optmap.base.extras import install
from optmap.native.bench.clock import c_text
from optmap.native.bench.contender import Array, Contender, touched
from optmap.native.bench.forms import Fold, LibraryConvolution, Product, library_forms
from optmap.native.run.clock import address
from optmap.native.toolchain.build import NATIVE, build_library
from optmap.native.toolchain.libraries import load_library
from optmap.workloads.workload import Workload

PACKAGES = ("onednn-cpu-gomp", "onednn-devel-cpu-gomp")
CONVOLUTION, MATMUL, INNER_PRODUCT = range(3)
OUT, SRC, WEIGHTS, SCRATCH = range(4)
MOST_RANK = 12
IMPLEMENTATIONS = 3
"""Tried per choice of formats: oneDNN's own order is by expected speed, later ones are fallbacks."""
FALLBACKS = ("ref", "jit:sse41", "jit_dw:sse41", "jit_1x1:sse41")
"""Implementations that are there for correctness, or for processors of another time."""


class _Question(ctypes.Structure):
    """As in onednn.c."""

    _fields_ = (
        *((name, ctypes.c_long) for name in ("kind", "bits", "implementation")),
        *((name, ctypes.c_long) for name in ("out_rank", "src_rank", "weights_rank", "spatial")),
        *((name, ctypes.c_long * MOST_RANK) for name in ("out", "src", "weights")),
        *((name, ctypes.c_long * 3) for name in ("stride", "dilation", "before", "after")),
        *((name, ctypes.c_char * 16) for name in ("out_tag", "src_tag", "weights_tag")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What oneDNN is asked for, of operands that were folded."""

    kind: int
    folds: tuple[Fold, Fold, Fold]
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    """Of output, source and weights, as oneDNN has them."""
    source_input: int
    tags: tuple[str, str]
    """Formats of source and output; that of the weights is free."""
    swapped: tuple[bool, bool, bool] = (False, False, False)
    """Whether the last two axes of output, source and weights change places."""
    window: tuple[tuple[int, ...], ...] = ()
    """Stride, dilation, zeros before and behind."""

    @property
    def label(self) -> str:
        """For tables."""
        kind = ("convolution", "matmul", "inner product")[self.kind]
        return f"{kind}{' turned' if self.swapped[OUT] else ''} {'/'.join(dict.fromkeys(self.tags))}"


class OneDnn:
    """The oneDNN that is installed beside Python.

    Raises:
        SolverUnavailableError: if its packages are not installed, with what to run; or if there is no compiler.
    """

    name = "onednn"

    def __init__(self) -> None:
        self._library = library()

    @property
    def version(self) -> str:
        """Of the library itself, which is another than that of its package."""
        numbers = (ctypes.c_int * 3)()
        self._library.bench_onednn_version(numbers)
        return ".".join(map(str, numbers))

    def prepare(self, workload: Workload, inputs: tuple[Array, ...], threads: int) -> tuple[Contender, ...]:
        """See `Baseline`; the same implementation in the same formats is there once, and so is what they hold."""
        self._library.bench_onednn_threads(threads)
        found: dict[str, _Primitive] = {}
        for ask in chain.from_iterable(map(_asks, library_forms(workload))):
            for number in range(IMPLEMENTATIONS):
                primitive = _made(self._library, ask, workload.output.bits, number)
                if primitive is None:
                    break
                name = f"{ask.label} {primitive.name}"
                known = name in found or any(map(primitive.is_alike, found.values()))
                if not known and not primitive.name.startswith(FALLBACKS):
                    found[name] = primitive
        operands, held = _Operands(inputs), dict[int, list[Array]]()
        return tuple(_contender(primitive, name, operands.of(primitive.ask), held) for name, primitive in found.items())


class _Primitive:
    """A primitive of oneDNN that was asked for; `hold` gives it its buffers."""

    def __init__(self, library: ctypes.CDLL, handle: int, ask: Ask) -> None:
        self.library, self.handle, self.ask = library, handle, ask
        self.buffers: tuple[Array, ...] = ()
        weakref.finalize(self, library.bench_onednn_free, ctypes.c_void_p(handle))
        self.name = str(library.bench_onednn_name(ctypes.c_void_p(handle)).decode())

    def is_alike(self, other: _Primitive) -> bool:
        """Whether another one is the same: one implementation, the same formats, the same operand in each."""
        mine, others = ((each.ask.kind, each.ask.folds, each.ask.swapped) for each in (self, other))
        handles = (ctypes.c_void_p(each.handle) for each in (self, other))
        return mine == others and bool(self.library.bench_onednn_alike(*handles))

    def _bind(self, buffers: Sequence[Array]) -> None:
        self.buffers = tuple(buffers)
        places = (ctypes.c_void_p * 4)(*(buffer.ctypes.data if buffer.size else None for buffer in buffers))
        _expect(self.library.bench_onednn_bind(ctypes.c_void_p(self.handle), places))

    def hold(self, plain: dict[int, Array], held: dict[int, list[Array]]) -> None:
        """Take memory, that of other primitives for inputs that are the same in the same format, and for the output.

        Every way has its weights in a format, and few formats are different: those of a large layer fill memory.

        Args:
            plain: inputs, which are put into their formats.
            held: buffers of the others per operand; what is new is added.
        """
        sizes = (ctypes.c_long * 4)()
        self.library.bench_onednn_sizes(ctypes.c_void_p(self.handle), sizes)
        buffers = [touched(size) for size in sizes]
        self._bind(buffers)
        for operand, array in plain.items():
            self.copy(operand, array, into=True)
        for operand in (OUT, SRC, WEIGHTS):
            others = held.setdefault(operand, [])
            alike = (each for each in others if each.size == buffers[operand].size)
            found = next((each for each in alike if operand == OUT or np.array_equal(each, buffers[operand])), None)
            if found is None:
                others.append(buffers[operand])
            else:
                buffers[operand] = found
        self._bind(buffers)

    def copy(self, operand: int, plain: Array, *, into: bool) -> None:
        """Reorder between a plain array and an operand."""
        place = ctypes.c_void_p(plain.ctypes.data)
        _expect(self.library.bench_onednn_copy(ctypes.c_void_p(self.handle), operand, place, int(into)))


class _Operands:
    """Inputs in the orders in which they are asked for, each of them made once."""

    def __init__(self, inputs: tuple[Array, ...]) -> None:
        self.inputs = inputs
        self.made: dict[tuple[int, Fold, bool], Array] = {}

    def of(self, ask: Ask) -> dict[int, Array]:
        """Source and weights, in the order of their subscripts."""
        places = ((SRC, ask.source_input), (WEIGHTS, 1 - ask.source_input))
        return {
            operand: self._folded(place, ask.folds[operand], ask.swapped[operand]).reshape(ask.shapes[operand])
            for operand, place in places
        }

    def _folded(self, place: int, fold: Fold, swapped: bool) -> Array:
        key = (place, fold, swapped)
        if key not in self.made:
            plain = fold.apply(self.inputs[place])
            self.made[key] = np.ascontiguousarray(plain.swapaxes(-1, -2)) if swapped else plain
        return self.made[key]


def _contender(primitive: _Primitive, name: str, plain: dict[int, Array], held: dict[int, list[Array]]) -> Contender:
    primitive.hold(plain, held)
    ask, dtype = primitive.ask, plain[SRC].dtype

    def result() -> Array:
        found = np.empty(ask.shapes[OUT], dtype=dtype)
        primitive.copy(OUT, found, into=False)
        if ask.swapped[OUT]:
            found = found.swapaxes(-1, -2)
        return ask.folds[OUT].invert(np.ascontiguousarray(found))

    return Contender(
        library=OneDnn.name,
        variant=name,
        function=address(primitive.library.bench_onednn_call),
        context=primitive.handle,
        operands=tuple(buffer for buffer in primitive.buffers if buffer.size),
        result=result,
        kept=(primitive,),
    )


def _made(library: ctypes.CDLL, ask: Ask, bits: int, implementation: int) -> _Primitive | None:
    """None if oneDNN has no such implementation."""
    question = _Question(kind=ask.kind, bits=bits, implementation=implementation)
    for name, shape in zip(("out", "src", "weights"), ask.shapes, strict=True):
        setattr(question, f"{name}_rank", len(shape))
        getattr(question, name)[: len(shape)] = shape
    for name, numbers in zip(("stride", "dilation", "before", "after"), ask.window, strict=bool(ask.window)):
        getattr(question, name)[: len(numbers)] = numbers
    question.src_tag, question.out_tag = (tag.encode() for tag in ask.tags)
    question.weights_tag = b"any"
    status = ctypes.c_int()
    handle = library.bench_onednn_make(ctypes.byref(question), ctypes.byref(status))
    return _Primitive(library, handle, ask) if handle else None


def _asks(form: LibraryConvolution | Product) -> Iterator[Ask]:
    if isinstance(form, Product):
        yield from _products(form)
        return
    rank = len(form.spatial)
    letters = "cde"[:rank]
    plain, last = f"ab{letters}", f"a{letters}b"
    blocked = tuple(f"aB{letters}{lanes}b" for lanes in (16, 8))
    weights = (form.outputs, form.channels, *form.taps)
    shapes = (
        (form.batch, form.groups * form.outputs, *form.spatial),
        (form.batch, form.groups * form.channels, *form.image),
        weights if form.groups == 1 else (form.groups, *weights),
    )
    window = (form.stride, form.dilation, form.before, form.after)
    for source, out in (("any", "any"), (last, last), *((b, b) for b in blocked), (plain, blocked[0]), (plain, plain)):
        yield Ask(
            kind=CONVOLUTION,
            folds=form.folds,
            shapes=shapes,
            source_input=form.image_input,
            tags=(source, out),
            window=window,
        )


def _products(form: Product) -> Iterator[Ask]:
    """As it stands and with rows and columns changing places, each as a matmul and as an inner product."""
    out, left, right = form.folds
    rows, columns, depth = form.rows, form.columns, form.depth
    batch = (form.batch,) if form.batch > 1 else ()
    plain = "abc"[: 2 + len(batch)]
    sides = (
        (rows, columns, (out, left, right), form.left_input, False),
        (columns, rows, (out, right, left), 1 - form.left_input, True),
    )
    for first, second, folds, source, turned in sides:
        for kind in (MATMUL, INNER_PRODUCT)[: 2 - len(batch)]:
            straight = kind == MATMUL
            weights = (*batch, depth, second) if straight else (second, depth)
            for tag in (plain, "any"):
                yield Ask(
                    kind=kind,
                    folds=folds,
                    shapes=((*batch, first, second), (*batch, first, depth), weights),
                    source_input=source,
                    tags=(tag, tag),
                    swapped=(turned, turned, turned == straight),
                )


@cache
def library() -> ctypes.CDLL:
    """The compiled adapter, with oneDNN behind it; errors as of `OneDnn`."""
    include, shared, version = _installed()
    text = f"/* {version} */\n{c_text('onednn.c')}"
    flags = (*NATIVE, "-fopenmp", f"-I{include}", "-Wl,--no-as-needed", str(shared), f"-Wl,-rpath,{shared.parent}")
    loaded = load_library(build_library(text, flags=flags))
    loaded.bench_onednn_make.restype = ctypes.c_void_p
    loaded.bench_onednn_name.restype = ctypes.c_char_p
    return loaded


def _installed() -> tuple[Path, Path, str]:
    """Folder of headers, shared object, and versions of the packages."""
    try:
        found = [metadata.distribution(name) for name in PACKAGES]
    except metadata.PackageNotFoundError as error:
        raise SolverUnavailableError(f"oneDNN is not installed; run: {install(*PACKAGES)}") from error
    places = [Path(str(file.locate())).resolve() for each in found for file in each.files or ()]
    header = next((place for place in places if place.parts[-2:] == ("dnnl", "dnnl.h")), None)
    library = next((place for place in places if place.name == "libdnnl.so.3"), None)
    if header is None or library is None or not header.exists() or not library.exists():
        raise SolverUnavailableError(
            f"oneDNN is installed in {sys.prefix} without its headers or library; run: {install(*PACKAGES)}"
        )
    return header.parents[2], library, " ".join(f"{each.name} {each.version}" for each in found)


def _expect(status: int) -> None:
    """Nothing if oneDNN did what it was asked for.

    Raises:
        SolverUnavailableError: with the status, if not.
    """
    if status:
        raise SolverUnavailableError(f"oneDNN fails at what it offered, with status {status}")
