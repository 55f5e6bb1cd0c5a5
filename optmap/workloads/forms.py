"""Forms of problems by their access pattern: convolutions and contractions of two tensors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

from optmap.base.errors import InputError
from optmap.workloads.workload import TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One subscript `stride*position + dilation*tap` of the image, divided by its common factor."""

    position: str
    """Dim that moves the window; it is a subscript of the output."""
    tap: str
    """Dim inside the window; it is a subscript of the filter."""
    stride: int
    """Coefficient of the position, coprime to the dilation."""
    dilation: int
    """Coefficient of the tap, coprime to the stride."""

    def slices(self, positions: int, taps: int) -> int:
        """Values of the digit that must be fixed to make the subscript projective.

        With tap = stride*t' + t'' and position = dilation*p' + p'' the subscript is
        stride*dilation*(p' + t') + stride*p'' + dilation*t'': given either t' or p' it determines
        the other three digits, because p'' is known modulo the dilation and t'' modulo the stride.

        Args:
            positions: extent of the position.
            taps: extent of the tap.

        Returns:
            The smaller number of values of t' and p'. Source: Dinh's dissertation, Lemma 20, with
            rounded quotients and the roles of filter and image exchanged where the filter is larger.
        """
        return min(-(-taps // self.stride), -(-positions // self.dilation))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolutionForm:
    """A workload seen as a convolution with any number of windows."""

    output: TensorAccess
    image: TensorAccess
    """The input whose subscripts slide."""
    kernel: TensorAccess
    """The other input: the filter."""
    batch: tuple[str, ...]
    """Dims of output and image."""
    channels: tuple[str, ...]
    """Dims of image and filter: reduced."""
    features: tuple[str, ...]
    """Dims of output and filter."""
    groups: tuple[str, ...]
    """Dims of all three tensors (groups, or the channels of a depthwise convolution)."""
    windows: tuple[Window, ...]
    """Sliding subscripts, in the order of the image's axes."""

    @property
    def tensors(self) -> tuple[TensorAccess, TensorAccess, TensorAccess]:
        """Image, filter and output: the order in which the source names precisions."""
        return (self.image, self.kernel, self.output)


@lru_cache(maxsize=256)
def convolution_form(workload: Workload) -> ConvolutionForm:
    """The roles of tensors and dims if the workload is a convolution by structure, whatever its names.

    Args:
        workload: two inputs, one of which has subscripts with two dims.

    Raises:
        InputError: with the first reason why it is not a convolution.
    """
    tensors = workload.tensors
    where = workload.title
    if len(tensors) != 3 or len({t.name for t in tensors}) != 3:
        raise InputError(f"{where}: a convolution has one output and two inputs, three different tensors")
    sliding = [t for t in workload.inputs if any(len(axis.terms) > 1 for axis in t.axes)]
    if len(sliding) != 1 or any(len(axis.terms) > 1 for axis in workload.output.axes):
        raise InputError(f"{where}: exactly one input of a convolution has subscripts with two dims")
    image = sliding[0]
    kernel = next(t for t in workload.inputs if t is not image)
    for tensor in tensors:
        repeated = [d for d, n in Counter(d for axis in tensor.axes for d in axis.dims).items() if n > 1]
        if repeated:
            raise InputError(f"{where}: dim {repeated[0]} stands in two subscripts of {tensor.name}")
    windows = _windows(workload, image, kernel)
    slid = {d for window in windows for d in (window.position, window.tap)}
    roles: dict[frozenset[str], list[str]] = {}
    for dim in workload.dims:
        if dim not in slid:
            roles.setdefault(frozenset(t.name for t in tensors if dim in t.dims), []).append(dim)
    lonely = [members[0] for names, members in roles.items() if len(names) < 2]
    if lonely:
        raise InputError(f"{where}: dim {lonely[0]} occurs in one tensor only")
    o, i, k = workload.output.name, image.name, kernel.name
    return ConvolutionForm(
        output=workload.output,
        image=image,
        kernel=kernel,
        batch=tuple(roles.get(frozenset({o, i}), ())),
        channels=tuple(roles.get(frozenset({i, k}), ())),
        features=tuple(roles.get(frozenset({o, k}), ())),
        groups=tuple(roles.get(frozenset({o, i, k}), ())),
        windows=windows,
    )


def why_no_convolution(workload: Workload) -> str | None:
    """None if the workload is a convolution by structure, else the reason why not."""
    try:
        convolution_form(workload)
    except InputError as error:
        return str(error)
    return None


def _windows(workload: Workload, image: TensorAccess, kernel: TensorAccess) -> tuple[Window, ...]:
    windows = []
    where = workload.title
    for axis in image.axes:
        if len(axis.terms) < 2:
            continue
        terms = dict(axis.terms)
        positions = [d for d in terms if d in workload.output.dims and d not in kernel.dims]
        taps = [d for d in terms if d in kernel.dims and d not in workload.output.dims]
        if len(terms) != 2 or len(positions) != 1 or len(taps) != 1:
            raise InputError(f"{where}: subscript {axis} is not one dim of the output plus one dim of the filter")
        common = gcd(*terms.values())
        windows.append(
            Window(
                position=positions[0],
                tap=taps[0],
                stride=terms[positions[0]] // common,
                dilation=terms[taps[0]] // common,
            )
        )
    return tuple(windows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractionForm:
    """A contraction of two tensors seen as a matrix product (IOOpt, Figure 5)."""

    tensors: tuple[TensorAccess, TensorAccess, TensorAccess]
    """Output, first input, second input."""
    rows: tuple[str, ...]
    """Dims of output and first input."""
    columns: tuple[str, ...]
    """Dims of output and second input."""
    reduction: tuple[str, ...]
    """Dims of both inputs."""
    batch: tuple[str, ...]
    """Dims of all three tensors."""

    def group_sizes(self, workload: Workload) -> tuple[int, int, int]:
        """(I, J, K): iterations of the three groups of shared dims."""
        extents = workload.extents
        return (
            prod(extents[d] for d in self.rows),
            prod(extents[d] for d in self.columns),
            prod(extents[d] for d in self.reduction),
        )


def contraction_form(workload: Workload) -> ContractionForm:
    """The groups of shared dims of a contraction.

    Raises:
        InputError: with the first reason why the workload is not a contraction of two tensors.
    """
    where = workload.title
    tensors = workload.tensors
    if len(tensors) != 3 or len({t.name for t in tensors}) != 3:
        raise InputError(f"{where}: a contraction has one output and two inputs, three different tensors")
    for tensor in tensors:
        for axis in tensor.axes:
            if len(axis.terms) > 1:
                raise InputError(f"{where}: subscript {axis} of {tensor.name} has several dims")
    members = {d: tuple(i for i, t in enumerate(tensors) if d in t.dims) for d in workload.dims}
    lonely = [d for d, held in members.items() if len(held) == 1]
    if lonely:
        raise InputError(f"{where}: dim {lonely[0]} occurs in one tensor only")

    def group(*held: int) -> tuple[str, ...]:
        return tuple(d for d in workload.dims if members[d] == held)

    return ContractionForm(
        tensors=(tensors[0], tensors[1], tensors[2]),
        rows=group(0, 1),
        columns=group(0, 2),
        reduction=group(1, 2),
        batch=group(0, 1, 2),
    )
