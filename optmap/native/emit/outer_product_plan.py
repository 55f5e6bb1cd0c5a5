"""How the outer-product leaf cuts a tile into kernels, and where their operands lie."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod

from optmap.kernels.code_options import StoreKind
from optmap.kernels.kernel_roles import KernelRoles, kernel_parts, taken_dims
from optmap.native.code import Buffer, TensorLayout
from optmap.native.emit.leaf import Site
from optmap.native.emit.outer_product_sums import Sum
from optmap.native.emit.regions import DimRegions, PaddedSubscript, Pattern, pieces
from optmap.native.layouts import buffers_of, plain_layouts
from optmap.workloads.access import TensorAccess

MOST_KERNELS = 24
"""Sizes and rims that get a kernel of their own; a mapping with more of them runs some dims point by point."""


def constant_place(access: TensorAccess, buffer: Buffer) -> int:
    """Place of an access' element for iteration 0 of every dim."""
    return sum(
        piece.stride * (access.axes[piece.axis].offset - buffer.origin[piece.axis])
        for piece in buffer.layout.pieces(buffer.shape)
        if piece.block == 1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One size of the pieces of a dim, with one pattern of real points."""

    size: int
    pattern: Pattern | None
    last: int
    """Start of the last such piece."""


@dataclass(frozen=True, kw_only=True)
class OuterProductPlan:
    """What the leaf decides before anything is written."""

    site: Site
    roles: KernelRoles
    windows: tuple[PaddedSubscript, ...]
    """Padded subscripts of the image."""
    registers: int
    """Vector registers of the core."""

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """Dims of the reduction whose loops are the leaf's."""
        return taken_dims(self.site.workload, self.site.mapping, self.roles.reduction)

    def pieces_of(self, dim: str) -> DimRegions:
        """Pieces that the leaf is called with."""
        return pieces(self.site, dim, taken=dim in self.takes)

    @property
    def sums_once(self) -> bool:
        """Whether every call computes the whole reduction of its outputs."""
        return all(self.pieces_of(d).whole for d in self.roles.reduction)

    @property
    def streams(self) -> bool:
        """Whether outputs go past the caches: only those that nothing is added to later, in whole vectors."""
        wanted = self.site.options.stores is StoreKind.STREAMING
        return wanted and self.sums_once and self.vector_stride > 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        if self.site.options.stores is not StoreKind.STREAMING or self.streams:
            return ()
        why = "lanes lie apart" if self.sums_once else "sums come back: the reduction is tiled"
        return (f"outputs are stored through the caches: {why}",)

    @property
    def first_touch(self) -> str:
        """`Kernel.first_touch`."""
        if not self.site.first_touched:
            return "never"
        return "always" if self.sums_once else "asked"

    @cached_property
    def layouts(self) -> tuple[TensorLayout, ...]:
        """Per access: activations as the user wants them, weights as they are read."""
        found = list(self.site.activations)
        found[self.roles.weights] = TensorLayout(order=self._weights_order())
        return tuple(found)

    def _weights_order(self) -> tuple[tuple[int, int], ...]:
        """As the kernels read them: tile after tile, in it the taken loops in their order, then the vectors."""
        axes = self.weights.axes
        place = {axis.terms[0][0]: n for n, axis in enumerate(axes) if len(axis.terms) == 1 and axis.terms[0][1] == 1}
        vector = place[self.roles.vector]
        inner = [d for d in self.site.mapping.levels[0].permutation if d in self.roles.reduction and d in place]
        inner.sort(key=lambda dim: dim in self.takes)  # stable: those that the nest loops over are further out
        blocked = [(place[d], self.pieces_of(d).sizes[0]) for d in inner if self._is_blocked(d)]
        summed = [place[d] for d in inner]
        others = [n for n in range(len(axes)) if n not in summed and n != vector]
        return (
            *((n, 1) for n in others),
            *([(vector, self._vector_block)] if self._vector_block > 1 else []),
            *blocked,
            *((n, 1) for n in summed),
            (vector, 1),
        )

    def _is_blocked(self, dim: str) -> bool:
        """Whether the weights of a piece of a reduction dim lie together."""
        cut = self.pieces_of(dim)
        axis = next(axis for axis in self.weights.axes if dim in axis.dims)
        return axis.offset == 0 and cut.step == cut.sizes[0] > 1 and not cut.whole

    @cached_property
    def _vector_block(self) -> int:
        """Elements of the vector dim that lie together: those of a tile if all tiles start at multiples of that."""
        cut = self.kernel_pieces(self.roles.vector)
        lanes = self.site.lanes
        whole = -(-cut.sizes[0] // lanes) * lanes
        if cut.step % whole == 0:
            return whole
        workload = self.site.workload
        shape = buffers_of(workload, plain_layouts(workload))[self.roles.weights].shape
        most = shape[next(n for n, axis in enumerate(self.weights.axes) if self.roles.vector in axis.dims)]
        return (-(-most // lanes) + 1) * lanes  # any start: behind the last element there is room for a whole vector

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """Per access, in these layouts."""
        return buffers_of(self.site.workload, self.layouts)

    @property
    def weights(self) -> TensorAccess:
        """The operand that is read as vectors."""
        return self.site.workload.tensors[self.roles.weights]

    @property
    def image(self) -> TensorAccess:
        """The other operand."""
        return self.site.workload.tensors[self.roles.images]

    def strides(self, number: int) -> Counter[str]:
        """Elements of a tensor from one iteration of a dim to the next; inside a block where there are blocks."""
        access, buffer = self.site.workload.tensors[number], self.buffers[number]
        found: Counter[str] = Counter()
        for piece in buffer.layout.pieces(buffer.shape):
            for dim, coefficient in access.axes[piece.axis].terms:
                if piece.block == 1:
                    found[dim] += piece.stride * coefficient
        return found

    def leaps(self, number: int) -> dict[str, tuple[int, int]]:
        """Block and elements from one block to the next, per dim with blocks."""
        access, buffer = self.site.workload.tensors[number], self.buffers[number]
        return {
            access.axes[piece.axis].terms[0][0]: (piece.block, piece.stride)
            for piece in buffer.layout.pieces(buffer.shape)
            if piece.block > 1
        }

    @cached_property
    def vector_stride(self) -> int:
        """Elements of the output from one vector to the next; 0 if lanes are apart."""
        leap = self.leaps(0).get(self.roles.vector)
        if self.strides(0)[self.roles.vector] != 1:
            return 0
        if leap is None:
            return self.site.lanes
        block, stride = leap
        return stride if block == self.site.lanes and self.kernel_pieces(self.roles.vector).step % block == 0 else 0

    @property
    def lane_stride(self) -> int:
        """Elements of the output from one lane to the next; 0 if they are side by side, or in blocks."""
        return 0 if self.vector_stride or self.leaps(0).get(self.roles.vector) else self.strides(0)[self.roles.vector]

    @cached_property
    def parts(self) -> dict[str, int]:
        """Largest part of a tile of level 0 that one kernel computes, per dim of the output."""
        roles, lanes = self.roles, self.site.lanes
        sizes = {d: self.pieces_of(d).sizes[0] for d in (roles.vector, *roles.points)}
        found = kernel_parts(roles, sizes, lanes=lanes, registers=self.registers)
        while prod(len(self.variants(d, found[d])) for d in (roles.vector, *roles.points)) > MOST_KERNELS:
            most = max((roles.vector, *roles.points), key=lambda d: len(self.variants(d, found[d])))
            found[most] = lanes if most == roles.vector else 1
        return found

    def kernel_pieces(self, dim: str) -> DimRegions:
        """Pieces that kernels work on."""
        return pieces(self.site, dim, taken=False, inside=self.parts[dim])

    def variants(self, dim: str, part: int) -> tuple[Variant, ...]:
        """Sizes of the pieces of a dim, largest first, and patterns of real points, each with its last start."""
        cut = pieces(self.site, dim, taken=False, inside=part)
        window = next((window for window in self.windows if window.point == dim), None)
        if window is None:
            return tuple(Variant(size=size, pattern=None, last=0) for size in cut.sizes)
        taps = 1 if window.tap is None else self.site.workload.extents[window.tap]
        found: dict[tuple[int, Pattern | None], int] = {}
        for start, size in cut.all:
            bounds = size == 1 and window.tap is not None  # one point: taps are bounded where the tile is known
            found[size, None if bounds else window.pattern(start, size, taps)] = start
        variants = [Variant(size=size, pattern=pattern, last=last) for (size, pattern), last in found.items()]
        return tuple(sorted(variants, key=lambda variant: (-variant.size, variant.last)))

    def is_parted(self, dim: str) -> bool:
        """Whether kernels compute parts of a tile of level 0 along a dim."""
        return self.parts[dim] < self.pieces_of(dim).sizes[0]

    def start_text(self, dim: str) -> str:
        """C expression of the first iteration of an output dim that a kernel works on."""
        if self.kernel_pieces(dim).step == 0:
            return "0"
        return f"{self.site.dims[dim]}_0" if self.is_parted(dim) else f"d_{self.site.dims[dim]}"

    def count_text(self, dim: str) -> str:
        """C expression of the number of iterations of an output dim that a kernel works on."""
        return f"{self.site.dims[dim]}_1" if self.is_parted(dim) else f"n_{self.site.dims[dim]}"

    def reduction_order(self) -> list[str]:
        """Loops of the reduction, outermost first: in the order of level 0, those of the nest outside."""
        order = [d for d in self.site.mapping.levels[0].permutation if d in self.roles.reduction]
        return sorted((d for d in order if self.site.workload.extents[d] > 1), key=lambda d: d in self.takes)

    def sum_of(self, dim: str) -> Sum:
        """The loop over a reduction dim."""
        cut = self.pieces_of(dim)
        image, weights = self.roles.images, self.roles.weights
        block, leap = self.leaps(image).get(dim, (0, 0))
        run = gcd(block, cut.step)
        return Sum(
            dim=self.site.dims[dim],
            first="0" if cut.step == 0 else f"d_{self.site.dims[dim]}",
            count=cut.sizes[0] if len(cut.sizes) == 1 else None,
            most=cut.sizes[0],
            image=self.strides(image)[dim],
            weights=self.strides(weights)[dim],
            block=block,
            leap=leap,
            run=run,
            ragged=run > 0 and any(size % run for size in cut.sizes),
        )
