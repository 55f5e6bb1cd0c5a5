"""The outer-product leaf: dense convolutions, matrix products and contractions (MOpt section 6, Listing 4).

The tile of level 0 is what vector registers hold: vectors along the vector dim times points. A step of the reduction
loads a vector of weights per vector and one element of the image per point, which multiplies all of them. The leaf
runs the innermost loops of the reduction itself. Every size that ragged tiles have gets a kernel of its own, and so
has every place at the rim of the image where the real points differ from tap to tap: padding costs nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from math import prod

from optmap.native.code import Buffer, Layout
from optmap.native.emit.indices import element_text, sum_text
from optmap.native.emit.leaf import Leaf, Site
from optmap.native.emit.outer_product_kernel import Kernel, Sum
from optmap.native.emit.prefetch import LINE, Ahead, Loop, nest_loops, own_bytes, place_text, trips
from optmap.native.emit.regions import Pattern, Pieces, Window, pieces, window_of
from optmap.native.emit.vectors import INLINE, vector_text
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of
from optmap.problem import TensorAccess
from optmap.problem.code_options import StoreKind
from optmap.problem.kernel_roles import KernelKind, KernelRoles

MOST_KERNELS = 24
"""Sizes and rims that get a kernel of their own; a mapping with more of them runs some dims point by point."""
FOLDING_BITS = 512
"""Length of the vectors of instruction sets whose multiply-adds broadcast an element of memory."""
MOST_FOLDED = 2
"""Vectors that read an element each; more of them share one that was loaded before."""
MOST_VECTORS = 4
"""Beside each other, in tiles that are more than the registers hold."""
MOST_POINTS = 1_000_000
"""Iterations of a padded dim of which every piece is looked at."""


def outer_product_leaf(site: Site) -> Leaf | str:
    """The leaf, or why it does not apply."""
    roles, core = site.roles, site.machine.core
    if core is None or roles is None or roles.kind is not KernelKind.OUTER_PRODUCT:
        return "no outer product: no dim of the output is in one of two inputs only, alone in its subscripts"
    if len({tensor.bits for tensor in site.workload.tensors}) > 1:
        return "no vector kernel: elements of several sizes"
    if site.lanes < 2:
        return "no vector kernel: one element fills a vector"
    image = site.workload.inputs[roles.images]
    windows = []
    for axis in image.axes:
        if axis.real is not None:
            window = window_of(axis, site.workload.extents, roles.points, roles.reduction)
            if window is None:
                return f"no outer product: padding in {axis}, which has more than one point and one tap"
            windows.append(window)
    refused = _unaligned(site)
    if refused:
        return refused
    found = [dim for window in windows for dim in (window.point, window.tap) if dim is not None]
    if len(set(found)) < len(found):
        return "no outer product: a dim is in two padded subscripts"
    if any(site.workload.extents[w.point] > MOST_POINTS for w in windows if w.point is not None):
        return f"no outer product: a padded dim of more than {MOST_POINTS:,} iterations"
    return _OuterProduct(site=site, roles=roles, windows=tuple(windows), registers=core.registers).leaf()


def _unaligned(site: Site) -> str:
    """Why blocks of a layout would not begin where the access does; empty if they do."""
    plain = tuple(Layout.plain(len(tensor.axes)) for tensor in site.workload.tensors)
    buffers = buffers_of(site.workload, plain, (False, False, False))
    for tensor, buffer, layout in zip(site.workload.tensors, buffers, site.activations, strict=True):
        if buffer.origin != tuple(axis.offset if axis.real is None else axis.real[0] for axis in tensor.axes):
            return f"no outer product: {tensor.name} is read in two places"
        for number in {axis for axis, block in layout.order if block > 1}:
            axis = tensor.axes[number]
            if axis.real is not None or len(axis.terms) > 1 or axis.terms[0][1] > 1:
                return f"no outer product: blocks of {axis}, which is no dim alone"
    return ""


def _constant(access: TensorAccess, buffer: Buffer) -> int:
    """Place of an access' element for iteration 0 of every dim."""
    return sum(
        piece.stride * (access.axes[piece.axis].offset - buffer.origin[piece.axis])
        for piece in buffer.layout.pieces(buffer.shape)
        if piece.block == 1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """One size of the pieces of a dim, with one pattern of real points."""

    size: int
    pattern: Pattern | None
    last: int
    """Start of the last such piece."""


@dataclass(frozen=True, kw_only=True)
class _OuterProduct:
    """The leaf while it is written."""

    site: Site
    roles: KernelRoles
    windows: tuple[Window, ...]
    registers: int

    def leaf(self) -> Leaf:
        """All of it."""
        core = self.site.machine.core
        entry, bits = self.site.entry, self.site.workload.output.bits
        out = Writer()
        tile = Writer()
        kernels: dict[str, str] = {}
        self._write_tile(tile, kernels)
        tails = self._vector_stride > 0 and any(size % self.site.lanes for size in self._inner(self.roles.vector).sizes)
        out.lines(vector_text(entry, bits, core.vector_bytes if core else 0, parts=tails, streaming=self._streams))
        out.line()
        if not self._vector_stride:
            self._write_apart(out)
        out.line("static inline long larger(long a, long b) { return a > b ? a : b; }")
        out.line()
        for body, name in kernels.items():
            out.lines(body.replace("@", name, 1))
            out.line()
        out.lines(tile.text())
        return Leaf(
            kind=KernelKind.OUTER_PRODUCT,
            text=out.text(),
            layouts=self._layouts,
            packed=tuple(number == 1 + self.roles.weights for number in range(3)),
            takes=self._takes,
            notes=self._notes,
        )

    @property
    def _sums_once(self) -> bool:
        """Whether every call computes the whole reduction of its outputs."""
        return all(self._pieces(d).whole for d in self.roles.reduction)

    @property
    def _streams(self) -> bool:
        """Whether outputs go past the caches: only those that nothing is added to later, in whole vectors."""
        wanted = self.site.options.stores is StoreKind.STREAMING
        return wanted and self._sums_once and self._vector_stride > 0

    @property
    def _notes(self) -> tuple[str, ...]:
        if self.site.options.stores is not StoreKind.STREAMING or self._streams:
            return ()
        why = "lanes lie apart" if self._sums_once else "sums come back: the reduction is tiled"
        return (f"outputs are stored through the caches: {why}",)

    # what lies where

    @cached_property
    def _takes(self) -> tuple[str, ...]:
        return self.site.takeable(self.roles.reduction)

    def _pieces(self, dim: str) -> Pieces:
        """Pieces that the leaf is called with."""
        return pieces(self.site, dim, taken=dim in self._takes)

    @cached_property
    def _layouts(self) -> tuple[Layout, ...]:
        found = list(self.site.activations)
        found[1 + self.roles.weights] = Layout(order=self._weights_order())
        return tuple(found)

    def _weights_order(self) -> tuple[tuple[int, int], ...]:
        """As the kernels read them: tile after tile, in it the taken loops in their order, then the vectors."""
        axes = self._weights.axes
        place = {axis.terms[0][0]: n for n, axis in enumerate(axes) if len(axis.terms) == 1 and axis.terms[0][1] == 1}
        vector = place[self.roles.vector]
        inner = [d for d in self.site.mapping.levels[0].permutation if d in self.roles.reduction and d in place]
        inner.sort(key=lambda dim: dim in self._takes)  # stable: those that the nest loops over are further out
        blocked = [(place[d], self._pieces(d).sizes[0]) for d in inner if self._is_blocked(d)]
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
        cut = self._pieces(dim)
        axis = next(axis for axis in self._weights.axes if dim in axis.dims)
        return axis.offset == 0 and cut.step == cut.sizes[0] > 1 and not cut.whole

    @cached_property
    def _vector_block(self) -> int:
        """Elements of the vector dim that lie together: those of a tile if all tiles start at multiples of that."""
        cut = self._inner(self.roles.vector)
        lanes = self.site.lanes
        whole = -(-cut.sizes[0] // lanes) * lanes
        if cut.step % whole == 0:
            return whole
        plain = tuple(Layout.plain(len(tensor.axes)) for tensor in self.site.workload.tensors)
        shape = buffers_of(self.site.workload, plain, (False, False, False))[1 + self.roles.weights].shape
        most = shape[next(n for n, axis in enumerate(self._weights.axes) if self.roles.vector in axis.dims)]
        return (-(-most // lanes) + 1) * lanes  # any start: behind the last element there is room for a whole vector

    @cached_property
    def _buffers(self) -> tuple[Buffer, ...]:
        packed = tuple(number == 1 + self.roles.weights for number in range(3))
        return buffers_of(self.site.workload, self._layouts, packed)

    @property
    def _weights(self) -> TensorAccess:
        return self.site.workload.inputs[self.roles.weights]

    @property
    def _image(self) -> TensorAccess:
        return self.site.workload.inputs[self.roles.images]

    def _strides(self, number: int) -> Counter[str]:
        """Elements of a tensor from one iteration of a dim to the next; inside a block where there are blocks."""
        access, buffer = self.site.workload.tensors[number], self._buffers[number]
        found: Counter[str] = Counter()
        for piece in buffer.layout.pieces(buffer.shape):
            for dim, coefficient in access.axes[piece.axis].terms:
                if piece.block == 1:
                    found[dim] += piece.stride * coefficient
        return found

    def _leaps(self, number: int) -> dict[str, tuple[int, int]]:
        """Block and elements from one block to the next, per dim with blocks."""
        access, buffer = self.site.workload.tensors[number], self._buffers[number]
        return {
            access.axes[piece.axis].terms[0][0]: (piece.block, piece.stride)
            for piece in buffer.layout.pieces(buffer.shape)
            if piece.block > 1
        }

    @cached_property
    def _vector_stride(self) -> int:
        """Elements of the output from one vector to the next; 0 if lanes are apart."""
        leap = self._leaps(0).get(self.roles.vector)
        if self._strides(0)[self.roles.vector] != 1:
            return 0
        if leap is None:
            return self.site.lanes
        block, stride = leap
        return stride if block == self.site.lanes and self._inner(self.roles.vector).step % block == 0 else 0

    # what is cut how

    @cached_property
    def _parts(self) -> dict[str, int]:
        """Largest part of a tile of level 0 that one kernel computes, per dim of the output."""
        roles, lanes = self.roles, self.site.lanes
        sizes = {d: self._pieces(d).sizes[0] for d in (roles.vector, *roles.points)}
        found = {**dict.fromkeys((*roles.filters, *roles.shared), 1), **sizes}
        vectors = -(-sizes[roles.vector] // lanes)
        if vectors * prod(sizes[d] for d in roles.points) + vectors + 1 > self.registers:
            if vectors > MOST_VECTORS:
                vectors = -(-vectors // -(-vectors // MOST_VECTORS))
                found[roles.vector] = vectors * lanes
            room = max((self.registers - 1 - vectors) // vectors, 1)
            for dim in reversed(roles.points):
                found[dim] = -(-sizes[dim] // -(-sizes[dim] // room))
                room //= found[dim]
        while prod(len(self._variants(d, found[d])) for d in (roles.vector, *roles.points)) > MOST_KERNELS:
            most = max((roles.vector, *roles.points), key=lambda d: len(self._variants(d, found[d])))
            found[most] = lanes if most == roles.vector else 1
        return found

    def _inner(self, dim: str) -> Pieces:
        """Pieces that kernels work on."""
        return pieces(self.site, dim, taken=False, inside=self._parts[dim])

    def _variants(self, dim: str, part: int) -> tuple[_Variant, ...]:
        """Sizes of the pieces of a dim, largest first, and patterns of real points, each with its last start."""
        cut = pieces(self.site, dim, taken=False, inside=part)
        window = next((window for window in self.windows if window.point == dim), None)
        if window is None:
            return tuple(_Variant(size=size, pattern=None, last=0) for size in cut.sizes)
        taps = 1 if window.tap is None else self.site.workload.extents[window.tap]
        found: dict[tuple[int, Pattern | None], int] = {}
        for start, size in cut.all:
            bounds = size == 1 and window.tap is not None  # one point: taps are bounded where the tile is known
            found[size, None if bounds else window.pattern(start, size, taps)] = start
        variants = [_Variant(size=size, pattern=pattern, last=last) for (size, pattern), last in found.items()]
        return tuple(sorted(variants, key=lambda variant: (-variant.size, variant.last)))

    # the function of the tile

    def _write_tile(self, out: Writer, kernels: dict[str, str]) -> None:
        site, roles = self.site, self.roles
        cut = [d for d in (*roles.filters, *roles.shared, *roles.points, roles.vector) if self._is_parted(d)]
        with out.block(site.tile_head):
            out.line(" ".join(f"(void)d_{name}; (void)n_{name};" for name in site.dims.values()))
            if self._first_touch == "asked":
                firsts = [f"d_{site.dims[d]} == 0" for d in roles.reduction if not self._pieces(d).whole]
                out.line(f"const int fresh = {' && '.join(firsts)};")
            with out.blocks(self._loop(d) for d in cut):
                for dim in cut:
                    name = site.dims[dim]
                    if len(self._inner(dim).sizes) > 1:
                        out.line(f"const long {name}_1 = smaller({self._parts[dim]}, d_{name} + n_{name} - {name}_0);")
                self._write_places(out)
                dims = (roles.vector, *roles.points)
                self._choose(out, kernels, [(d, self._variants(d, self._parts[d])) for d in dims], {})

    def _is_parted(self, dim: str) -> bool:
        return self._parts[dim] < self._pieces(dim).sizes[0]

    def _loop(self, dim: str) -> str:
        name = self.site.dims[dim]
        return f"for (long {name}_0 = d_{name}; {name}_0 < d_{name} + n_{name}; {name}_0 += {self._parts[dim]})"

    def _start(self, dim: str) -> str:
        """C expression of the first iteration of an output dim that a kernel works on."""
        if self._inner(dim).step == 0:
            return "0"
        return f"{self.site.dims[dim]}_0" if self._is_parted(dim) else f"d_{self.site.dims[dim]}"

    def _count(self, dim: str) -> str:
        return f"{self.site.dims[dim]}_1" if self._is_parted(dim) else f"n_{self.site.dims[dim]}"

    def _write_places(self, out: Writer) -> None:
        """Where the kernel's pieces of the three operands begin, for iteration 0 of the reduction."""
        site, roles = self.site, self.roles
        starts = {d: self._start(d) for d in site.workload.output.dims}
        kept = {d: start for d, start in starts.items() if start != "0"}
        output = {d: start for d, start in kept.items() if d != roles.vector}
        to = [(element_text(site.workload.output, self._buffers[0], output), 1)]
        if self._vector_stride and roles.vector in kept:
            to.append((kept[roles.vector], self._vector_stride // site.lanes))
        kind, names = site.types[0], site.tensors
        out.line(f"{kind} *const to = {names[0]} + {sum_text(to)};")
        at = sum_text(self._image_terms(kept), _constant(self._image, self._buffers[1 + roles.images]))
        by = sum_text(self._weights_terms(kept), _constant(self._weights, self._buffers[1 + roles.weights]))
        out.line(f"const long at = {at};")
        out.line(f"const {kind} *const by = {names[1 + roles.weights]} + {by};")
        for number, each in enumerate(self._ahead):
            share = sum_text([(each.place, LINE * each.lines)])
            out.comment(each.what)
            out.line(f"const char *const next_{number} = (const char *)({each.start}) + {share};")

    @cached_property
    def _ahead(self) -> tuple[Ahead, ...]:
        """What is asked for ahead: tensors that do not stay in a core's own memory."""
        if not self.site.options.prefetch:
            return ()
        loops = nest_loops(self.site, self._takes)
        found = [self._weights_ahead(loops), self._image_ahead(loops)]
        return tuple(each for each in found if each is not None)

    def _is_large(self, number: int) -> bool:
        buffer = self._buffers[number]
        return 0 < own_bytes(self.site) < buffer.layout.size(buffer.shape) * buffer.bits // 8

    def _weights_ahead(self, loops: list[Loop]) -> Ahead | None:
        """The next tile of weights, shared by the calls that work on this one."""
        number, dims = 1 + self.roles.weights, self._weights.dims
        inner = list(takewhile(lambda loop: loop.dim not in dims, reversed(loops)))[::-1]
        if len(inner) == len(loops) or not self._is_large(number):
            return None
        change = loops[len(loops) - len(inner) - 1]
        strides, leaps = self._strides(number), self._leaps(number)
        block, leap = leaps.get(change.dim, (0, 0))
        each = leap // block if block and change.tile % block == 0 else strides[change.dim]
        sums = prod(self._pieces(d).sizes[0] for d in self.roles.reduction if d in dims)
        vectors = -(-self._pieces(self.roles.vector).sizes[0] // self.site.lanes)
        size = sums * vectors * self.site.lanes * self.site.workload.output.bits // 8
        return Ahead(
            what="weights of the next tile",
            start=f"by + {each * change.tile}",
            place=place_text(self.site, inner),
            lines=-(-size // LINE // trips(inner)),
        )

    def _image_ahead(self, loops: list[Loop]) -> Ahead | None:
        """What the next tile along the outermost loop over points brings that this one has not."""
        number, points = 1 + self.roles.images, self.roles.points
        at = next((n for n, loop in enumerate(loops) if loop.dim in points), None)
        if at is None or not self._is_large(number):
            return None
        strides, moved, inner = self._strides(number), loops[at], loops[at + 1 :]
        stride = strides[moved.dim]
        if any(strides[loop.dim] > stride for loop in inner if loop.dim in points):
            return None
        axis = next(axis for axis in self._image.axes if moved.dim in axis.dims)
        coefficient = dict(axis.terms)[moved.dim]
        row = stride // coefficient
        reach = axis.span({**self.site.workload.extents, moved.dim: 1})  # rows that one point needs
        outside = {loop.dim for loop in loops[:at]}
        terms = [(f"d_{self.site.dims[d]}", strides[d]) for d in (*points, *self.roles.shared) if d in outside]
        name = self.site.dims[moved.dim]
        start = (f"(d_{name} / {moved.tile} + 1)" if moved.tile > 1 else f"(d_{name} + 1)", stride * moved.tile)
        constant = _constant(self._image, self._buffers[number]) - stride + row * reach
        size = stride * moved.tile * self.site.workload.output.bits // 8
        return Ahead(
            what="of the image what the next tile needs and this one does not",
            start=sum_text([(self.site.tensors[number], 1), *terms, start], constant),
            place=place_text(self.site, inner),
            lines=-(-size // LINE // trips(inner)),
        )

    def _image_terms(self, starts: dict[str, str]) -> list[tuple[str, int]]:
        strides = self._strides(1 + self.roles.images)
        return [(start, strides[dim]) for dim, start in starts.items() if strides[dim]]

    def _weights_terms(self, starts: dict[str, str]) -> list[tuple[str, int]]:
        """Blocks are whole tiles, so that a start is a number of blocks; inside them the kernel counts from it."""
        number = 1 + self.roles.weights
        strides, leaps = self._strides(number), self._leaps(number)
        found = []
        for dim, start in starts.items():
            if dim in leaps and self._inner(dim).step % leaps[dim][0] == 0:
                found.append((start, leaps[dim][1] // leaps[dim][0]))
            elif strides[dim]:
                found.append((start, strides[dim]))
        for dim in self.roles.reduction:
            if dim in leaps:
                found.append((f"d_{self.site.dims[dim]}", leaps[dim][1] // leaps[dim][0] - strides[dim]))
        return found

    def _choose(
        self,
        out: Writer,
        kernels: dict[str, str],
        left: list[tuple[str, tuple[_Variant, ...]]],
        chosen: dict[str, _Variant],
    ) -> None:
        """The call of the kernel for the sizes and rims that a tile has."""
        if not left:
            self._call(out, kernels, chosen)
            return
        (dim, variants), *others = left
        for number, variant in enumerate(variants):
            tests = []
            later = variants[number + 1 :]
            if any(each.size != variant.size for each in later):
                tests.append(f"{self._count(dim)} == {variant.size}")
            if any(each.size == variant.size for each in later):
                tests.append(f"{self._start(dim)} <= {variant.last}")
            head = ("else " if number else "") + (f"if ({' && '.join(tests)})" if tests else "")
            with out.blocks([head.strip()] if len(variants) > 1 else []):
                self._choose(out, kernels, others, {**chosen, dim: variant})

    def _call(self, out: Writer, kernels: dict[str, str], chosen: dict[str, _Variant]) -> None:
        kernel, places = self._kernel(chosen)
        name = kernels.setdefault(kernel.body, f"{self.site.entry}_kernel_{len(kernels)}")
        values = [places.get(parameter, parameter) for _, parameter in kernel.parameters]
        out.line(f"{name}({', '.join(values)});")

    # the kernels

    @property
    def _first_touch(self) -> str:
        if not self.site.first_touched:
            return "never"
        return "always" if self._sums_once else "asked"

    def _kernel(self, chosen: dict[str, _Variant]) -> tuple[Kernel, dict[str, str]]:
        """The kernel for some variants, and what its parameters are in the tile's function."""
        site, roles = self.site, self.roles
        lanes, size = site.lanes, chosen[roles.vector].size
        output, image = self._strides(0), self._strides(1 + roles.images)
        names = (site.tensors[0], site.tensors[1 + roles.images], site.tensors[1 + roles.weights])
        places = {names[0]: "to", names[2]: "by", f"d_{site.dims[roles.vector]}": self._start(roles.vector)}
        box = [(0, chosen[d].size) for d in roles.points]
        sums = []
        for dim in self._order():
            window = next((window for window in self.windows if window.tap == dim), None)
            each = self._sum(dim)
            if window is not None:
                pattern = chosen[window.point].pattern if window.point is not None else None
                if pattern is None:
                    each = replace(each, first=f"d_{each.dim}", count=None)
                    places |= self._bounds(window, each.dim, dim)
                else:
                    each = replace(each, pattern=pattern, along=roles.points.index(str(window.point)))
            sums.append(each)
        while len(sums) > 1 and sums[-1].continues(sums[-2]):
            sums[-2:] = [sums[-1].merged(sums[-2])]
        for window in self.windows:
            if window.tap is None and window.point is not None:
                pattern = chosen[window.point].pattern or ()
                box[roles.points.index(window.point)] = pattern[0][2:] if pattern else (0, 0)
        kernel = Kernel(
            entry=site.entry,
            name="",
            kind=site.types[0],
            operands=names,
            lanes=lanes,
            vectors=-(-size // lanes),
            tail=(size - 1) % lanes + 1,
            vector=site.dims[roles.vector],
            vector_stride=self._vector_stride,
            sizes=tuple(chosen[d].size for d in roles.points),
            box=tuple(box),
            image_strides=tuple(image[d] for d in roles.points),
            output_strides=tuple(output[d] for d in roles.points),
            sums=tuple(sums),
            folds=site.lanes * site.workload.output.bits == FOLDING_BITS and size <= MOST_FOLDED * lanes,
            ahead=tuple(each.lines for each in self._ahead),
            first_touch=self._first_touch,
        )
        return kernel, places

    def _order(self) -> list[str]:
        """Loops of the reduction, outermost first: in the order of level 0, those of the nest outside."""
        order = [d for d in self.site.mapping.levels[0].permutation if d in self.roles.reduction]
        return sorted((d for d in order if self.site.workload.extents[d] > 1), key=lambda d: d in self._takes)

    def _sum(self, dim: str) -> Sum:
        cut = self._pieces(dim)
        image, weights = 1 + self.roles.images, 1 + self.roles.weights
        block, leap = self._leaps(image).get(dim, (0, 0))
        return Sum(
            dim=self.site.dims[dim],
            first="0" if cut.step == 0 else f"d_{self.site.dims[dim]}",
            count=cut.sizes[0] if len(cut.sizes) == 1 else None,
            most=cut.sizes[0],
            image=self._strides(image)[dim],
            weights=self._strides(weights)[dim],
            block=block,
            leap=leap,
            step=cut.step,
        )

    def _bounds(self, window: Window, name: str, dim: str) -> dict[str, str]:
        """First real tap of one point and number of them, as C expressions."""
        start = [] if window.point is None else [(self._start(window.point), -window.stride)]
        low, high = sum_text(start, window.first), sum_text(start, window.last)
        if window.dilation > 1:
            low = f"(larger({low}, 0) + {window.dilation - 1}) / {window.dilation}"
            high = f"(larger({high}, {-window.dilation}) + {window.dilation}) / {window.dilation}"
        else:
            high = f"{high} + 1"
        first = f"larger(d_{name}, {low})"
        return {f"d_{name}": first, f"n_{name}": f"smaller(d_{name} + n_{name}, {high}) - {first}"}

    def _write_apart(self, out: Writer) -> None:
        """Functions for an output whose lanes lie apart."""
        entry, kind, vector = self.site.entry, self.site.types[0], self.roles.vector
        stride = self._strides(0)[vector]
        block, leap = self._leaps(0).get(vector, (0, 0))
        lane = (
            f"(lane + i0) / {block} * {leap} + (lane + i0) % {block} * {stride}" if block else f"(lane + i0) * {stride}"
        )
        head = f"{INLINE} {entry}_vector {entry}_load_apart"
        with out.block(f"{head}(const {kind} *place, long lane, long lanes)"):
            out.line(f"{entry}_vector value = {{0}};")
            out.line(f"for (long i0 = 0; i0 < lanes; i0++) value[i0] = place[{lane}];")
            out.line("return value;")
        out.line()
        head = f"{INLINE} void {entry}_store_apart"
        with out.block(f"{head}({kind} *place, long lane, const {entry}_vector *value, long lanes)"):
            out.line(f"for (long i0 = 0; i0 < lanes; i0++) place[{lane}] = (*value)[i0];")
        out.line()
