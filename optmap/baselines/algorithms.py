"""Communication of convolution algorithms against the bound, as functions of the fast memory.

Words moved between slow memory and a fast memory of M words, loads plus stores, when the output is
assigned (created in fast memory, stored once it is complete). `blocked` counts an integer tiling;
the others are volumes of schedules whose matrix products have real tile sizes, and drop to one
touch of every array once all their intermediate data fits. Derived here; what is compared follows
Dinh's dissertation, section 4.3.1 and Figure 4.3.1, whose own formulas are cited from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, log, prod, sqrt

from optmap.base.errors import InputError
from optmap.bounds.compulsory import output_words, tensor_words
from optmap.bounds.convolution import convolution
from optmap.programs.loglp_face import lp_tiles
from optmap.programs.rounding import best_permutation, round_tile, tensor_loads, tile_loads
from optmap.workloads.forms import ConvolutionForm, Window, convolution_form
from optmap.workloads.workload import Padding, Semantics, Workload

WINOGRAD_OUTPUTS = 2
"""Outputs per axis of a Winograd tile: F(2x2, 3x3) is the usual choice."""

BASES = 100
"""Bases of the lifted LP's optimal face whose vertices are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmRow:
    """What one algorithm moves at one memory size."""

    algorithm: str
    """`bound`, `blocked`, `im2col`, `winograd`, `fft` or `naive`."""
    memory_words: int
    """Fast memory M, in words."""
    traffic_words: int
    """Loads plus stores, in words."""
    ratio: float
    """Traffic over the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Extents and words per element of a convolution, by role."""

    batch: int
    channels: int
    features: int
    groups: int
    windows: tuple[tuple[Window, int, int], ...]
    """(window, positions, taps) per sliding subscript."""
    p: tuple[int, int, int]
    """Words per element of image, filter and output."""
    words: tuple[int, int, int]
    """Words of image (accessed elements), filter and output."""

    @property
    def positions(self) -> int:
        return prod(n for _, n, _ in self.windows)

    @property
    def taps(self) -> int:
        return prod(n for _, _, n in self.windows)


def compare_algorithms(workload: Workload, memories: Iterable[int]) -> tuple[AlgorithmRow, ...]:
    """Traffic of the algorithms and the bound over a range of memory sizes.

    Args:
        workload: a convolution by structure; its outputs are taken as assigned, its padding as stored.
        memories: fast memory sizes, in words.

    Returns:
        For each memory a row `bound`, then one per algorithm.

    Raises:
        InputError: if the workload is no convolution or a memory cannot hold an element of each tensor.
    """
    assigned = workload.with_padding(Padding.STORED).with_semantics(Semantics.ASSIGN)
    rows = []
    for memory in memories:
        bound = max(1, convolution(assigned, memory).total_words)
        rows.append(AlgorithmRow(algorithm="bound", memory_words=memory, traffic_words=bound, ratio=1.0))
        for name, volume in ALGORITHMS.items():
            words = ceil(volume(assigned, memory))
            rows.append(AlgorithmRow(algorithm=name, memory_words=memory, traffic_words=words, ratio=words / bound))
    return tuple(rows)


def blocked(workload: Workload, memory_words: int) -> float:
    """Direct convolution with the best tile rounded from vertices of the lifted LP.

    A tile of every tensor is loaded whenever it changes, under the best of the loop orders that
    keep one or two tensors in place; partial sums that leave are loaded again. Halos are loaded
    again with every tile.
    """
    volumes = []
    for tile in lp_tiles(workload, memory_words, limit=BASES):
        whole = round_tile(workload, tile, capacity_words=memory_words)
        order = best_permutation(workload, whole)
        loads = tile_loads(workload, whole, order)
        # Every visit of an output tile stores it; all but the first one load it.
        visited = tensor_loads(workload, workload.output, whole, order)
        volumes.append(loads + visited - output_words(workload))
    return float(min(volumes))


def naive(workload: Workload, memory_words: int) -> float:
    """No tiling: an output element stays in a register while its sum runs, inputs are not reused.

    (p_I + p_F)·G loads and one store per output; if everything fits, everything moves once.
    """
    sizes = _sizes(workload)
    if sum(sizes.words) <= memory_words:
        return float(sum(sizes.words))
    p_image, p_kernel, _ = sizes.p
    return (p_image + p_kernel) * workload.operations + sizes.words[2]


def im2col(workload: Workload, memory_words: int) -> float:
    """The image is copied into a matrix in slow memory, which a blocked matrix product then reads.

    The matrix has batch·positions rows and channels·taps columns per group: its image is read once, the matrix is
    written once. If taps are single and the strides 1 it is the image itself and nothing is copied.
    """
    sizes = _sizes(workload)
    rows, inner = sizes.batch * sizes.positions, sizes.channels * sizes.taps
    trivial = sizes.taps == 1 and all(w.stride == 1 for w, _, _ in sizes.windows)
    matrix = sizes.p[0] * rows * inner * sizes.groups
    if matrix + sizes.words[1] + sizes.words[2] <= memory_words:
        return float(sum(sizes.words))
    copied = 0 if trivial else sizes.words[0] + matrix
    return copied + sizes.groups * product_words(rows, sizes.features, inner, sizes.p, memory_words)


def winograd(workload: Workload, memory_words: int, *, outputs: int = WINOGRAD_OUTPUTS) -> float:
    """Winograd's minimal filtering F(outputs, taps) per axis, its three transforms through slow memory.

    Per axis a tile of a = outputs + taps - 1 image values gives `outputs` results. Image, filter and
    result are transformed (each read once and written a-fold per tile), and one matrix product
    batch·tiles x channels x features per element of the tile is done in between. A stride s is
    handled as s convolutions of stride 1 with taps/s taps each, added up: per axis the channels
    count s times. Dilation only spreads the taps and does not change the counts.
    """
    sizes = _sizes(workload)
    points, tiles, split = 1, 1, 1
    for window, positions, taps in sizes.windows:
        parts = min(window.stride, taps)
        points *= outputs + -(-taps // parts) - 1
        tiles *= -(-positions // outputs)
        split *= parts
    channels, images = sizes.channels * split, sizes.batch * tiles
    p_image, p_kernel, p_output = sizes.p
    transformed = (
        p_image * images * channels + p_kernel * channels * sizes.features + p_output * images * sizes.features
    )
    transformed *= points * sizes.groups
    if transformed <= memory_words:
        return float(sum(sizes.words))
    products = product_words(images, sizes.features, channels, sizes.p, memory_words)
    return sum(sizes.words) + transformed + sizes.groups * points * products


def fft(workload: Workload, memory_words: int) -> float:
    """Multiplication of transforms: FFTs of image, filter and result, a matrix product per frequency.

    All planes are padded to the image accessed, N points; a plane of real numbers has as many words
    after the transform (half the frequencies, two words each). An FFT of N points takes
    ceil(log N / log M) passes over the plane, at least one, each of which reads and writes it. Per
    frequency a product of batch x channels x features complex matrices: two words per element. The
    strided outputs are picked from the full plane.
    """
    sizes = _sizes(workload)
    plane = prod(w.stride * (n - 1) + w.dilation * (taps - 1) + 1 for w, n, taps in sizes.windows)
    passes = max(1, ceil(log(max(plane, 2)) / log(max(memory_words, 2)) - 1e-9))
    p_image, p_kernel, p_output = sizes.p
    planes = p_image * sizes.batch * sizes.channels + p_kernel * sizes.channels * sizes.features
    planes = plane * sizes.groups * (planes + p_output * sizes.batch * sizes.features)
    if planes <= memory_words:
        return float(sum(sizes.words))
    # The first pass reads the planes as stored, the last one writes the outputs as stored.
    transforms = (2 * passes - 1) * planes + sum(sizes.words)
    complex_p = (2 * p_image, 2 * p_kernel, 2 * p_output)
    products = product_words(sizes.batch, sizes.features, sizes.channels, complex_p, memory_words)
    return transforms + sizes.groups * ceil(plane / 2) * products


def product_words(rows: int, columns: int, inner: int, p: tuple[int, int, int], memory_words: int) -> float:
    """Traffic of a blocked matrix product with rank-1 updates of a resident tile of the result.

    A tile a x b of the result stays while its `inner` updates run: loads are
    rows·columns·inner·(p_left/b + p_right/a), the result is stored once; p_o·a·b + p_l·a + p_r·b <= M.
    At the best real tile without limits p_l·a = p_r·b (equal shares); a limit on one side goes to
    the other. If a factor fits as a whole next to a row or column of the result, all moves once.

    Args:
        rows: of the left factor and the result.
        columns: of the right factor and the result.
        inner: reduced dim.
        p: words per element of left factor, right factor and result.
        memory_words: fast memory.

    Raises:
        InputError: if the memory cannot hold one element of each.
    """
    left, right, result = p
    if memory_words < sum(p):
        raise InputError(
            f"a product needs {sum(p)} words for one element of each matrix, the memory holds {memory_words}"
        )
    touched = left * rows * inner + right * inner * columns + result * rows * columns
    # result·a·b + left·a + right·b = M with left·a = right·b =: x, hence result·x²/(left·right) + 2x = M.
    curve = result / (left * right)
    x = (sqrt(1 + curve * memory_words) - 1) / curve
    whole_columns = (memory_words - right * columns) / (result * columns + left)
    loads = []
    for a in {1.0, float(rows), max(1.0, min(rows, x / left)), max(1.0, min(rows, whole_columns))}:
        b = (memory_words - left * a) / (result * a + right)
        if b >= 1:
            loads.append(rows * columns * inner * (left / min(b, columns) + right / a))
    keeps_left = left * rows * inner + result * rows + right <= memory_words
    keeps_right = right * inner * columns + result * columns + left <= memory_words
    if keeps_left or keeps_right:
        return float(touched)
    return max(min(loads) + result * rows * columns, float(touched))


def _sizes(workload: Workload) -> _Sizes:
    form: ConvolutionForm = convolution_form(workload)
    n = workload.extents
    words = tensor_words(workload)
    weights = [workload.weight(t) for t in form.tensors]
    return _Sizes(
        batch=prod(n[d] for d in form.batch),
        channels=prod(n[d] for d in form.channels),
        features=prod(n[d] for d in form.features),
        groups=prod(n[d] for d in form.groups),
        windows=tuple((w, n[w.position], n[w.tap]) for w in form.windows),
        p=(weights[0], weights[1], weights[2]),
        words=(words[form.image.name], words[form.kernel.name], words[form.output.name]),
    )


ALGORITHMS: dict[str, Callable[[Workload, int], float]] = {
    "blocked": blocked,
    "im2col": im2col,
    "winograd": winograd,
    "fft": fft,
    "naive": naive,
}
"""Traffic in words of an assigned convolution by algorithm: (workload, memory in words) -> words."""
