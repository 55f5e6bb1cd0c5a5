"""The depthwise leaf: every operand has the vector dim, sums of a block of points stay in registers.

A visit runs through blocks of points (`DepthwiseBlock`), in each through the vectors of the region. What differs among
regions, how many points they have and where padding begins, is known from the mapping: every kind that occurs
often gets a kernel of its own, which skips taps on padding and copies nothing. All others, and regions in
parts of the mapping too ragged to be listed, run through a loop over single vectors.

Along rows the padding at both ends of a row is in some lanes of a vector: image and weights are zero there, and vectors
that are whole and in the image have code of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from optmap.kernels.code_options import StoreKind
from optmap.kernels.depthwise_blocks import DepthwiseBlock, depthwise_block
from optmap.kernels.kernel_roles import KernelKind, KernelRoles, is_one_wide, taken_dims
from optmap.machines.core import Core
from optmap.native.code import TensorLayout
from optmap.native.emit.depthwise_ahead import next_block, stays
from optmap.native.emit.depthwise_kernel import Kernels
from optmap.native.emit.depthwise_regions import Kind, Region, region_kinds
from optmap.native.emit.indices import element_text, sum_text
from optmap.native.emit.leaf import LeafCode, Site, owned
from optmap.native.emit.regions import pieces
from optmap.native.emit.rows import FAR, row_text
from optmap.native.emit.vectors import vector_text
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of
from optmap.workloads.access import Subscript

MOST_WRITTEN = 2048
"""Multiply-adds of all kernels together that are written out: the code of the frequent ones stays in the caches."""


def depthwise_leaf(site: Site) -> LeafCode | str:
    """The leaf of a workload whose vector dim all operands have, or why there is none."""
    roles, core = site.roles, site.machine.core
    if roles is None or roles.kind is not KernelKind.DEPTHWISE:
        return "no depthwise kernel: no dim stands alone in one subscript of the output and of both inputs"
    if core is None:
        return "no depthwise kernel: the machine does not say what its cores compute with (core)"
    why = _refusal(site, roles, core)
    if why:
        return f"no depthwise kernel: {why}"
    made = _Depthwise(site=site, roles=roles, core=core)
    return LeafCode(
        kind=KernelKind.DEPTHWISE,
        text=made.text(),
        layouts=made.layouts,
        packed=tuple(number == roles.packed for number in range(3)),
        takes=made.takes,
    )


def _refusal(site: Site, roles: KernelRoles, core: Core) -> str:
    """Why the kernel cannot be used; empty if it can."""
    workload = site.workload
    if len({tensor.bits for tensor in workload.tensors}) > 1:
        return "the tensors have elements of different sizes"
    if len({tensor.name for tensor in workload.tensors}) < len(workload.tensors):
        return "a tensor is read twice"
    if not owned(workload):
        return "two points may be one element of the output"
    image = workload.tensors[roles.images]
    if roles.apart is None and any(a.real is not None for a in image.axes if roles.vector in a.dims):
        return f"there is padding along {roles.vector}"
    if core.lanes(workload.output.bits) < 2:
        return "a vector has one element"
    if is_one_wide(workload, site.mapping, roles):
        return f"tiles are one element wide along {roles.vector}: no vectors"
    for number in (0, roles.images):
        fastest = site.activations[number].order[-1][0]
        if roles.vector not in workload.tensors[number].axes[fastest].dims:
            return (
                f"vectors run along {roles.vector}, which is not fastest in the layout {site.options.layout}; "
                "use nhwc or blocked"
            )
    return ""


@dataclass(frozen=True, kw_only=True)
class _Depthwise:
    """The leaf while it is written."""

    site: Site
    roles: KernelRoles
    core: Core

    @property
    def lanes(self) -> int:
        return self.site.lanes

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """The taps, and the vectors if their loop stands just outside: the kernel's choice is made once for all."""
        both = taken_dims(self.site.workload, self.site.mapping, (self.roles.vector, *self.roles.reduction))
        if self.roles.vector in both[1:]:
            return both[both.index(self.roles.vector) + 1 :]
        return both

    @cached_property
    def layouts(self) -> tuple[TensorLayout, ...]:
        """Activations as the options say; weights in blocks of a vector, innermost, all taps of one together.

        Along rows, where they are broadcast, weights are as the statement has them.
        """
        if self.roles.apart is not None:
            return self.site.activations
        number = self.roles.weights
        axes = self.site.workload.tensors[number].axes
        vector = next(n for n, axis in enumerate(axes) if self.roles.vector in axis.dims)
        shared = [n for n, axis in enumerate(axes) if n != vector and set(axis.dims) & set(self.roles.shared)]
        taps = [n for n in range(len(axes)) if n != vector and n not in shared]
        order = (*((n, 1) for n in shared), (vector, self.lanes), *((n, 1) for n in taps), (vector, 1))
        found = list(self.site.activations)
        found[number] = TensorLayout(order=order)
        return tuple(found)

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """Subscripts of the image with padding, that along a row apart: its padding is in lanes."""
        axes = self.site.workload.tensors[self.roles.images].axes
        extents = self.site.workload.extents
        return tuple(n for n, axis in enumerate(axes) if n != self.row and axis.is_padded(axis.real, extents))

    @cached_property
    def row(self) -> int | None:
        """Subscript of the image that vectors run along; None if the vector dim is in every operand."""
        return None if self.roles.apart is None else len(self.site.workload.tensors[self.roles.images].axes) - 1

    @cached_property
    def pieces(self) -> dict[str, tuple[Region, ...]]:
        """Regions per dim that the leaf is called with."""
        return {d: pieces(self.site, d, taken=d in self.takes).all for d in self.site.workload.dims}

    @cached_property
    def reach(self) -> dict[str, int]:
        """Largest region per dim."""
        return {d: max(size for _, size in regions) for d, regions in self.pieces.items()}

    def block(self, sizes: dict[str, int]) -> DepthwiseBlock:
        """The block of a region of these sizes."""
        taps = {d: sizes.get(d, self.reach[d]) for d in self.roles.reduction}
        return depthwise_block(self.site.workload, self.roles, sizes, taps, self.core)

    @cached_property
    def whole(self) -> DepthwiseBlock:
        """The block of a whole register tile; its points are the largest that are held."""
        return self.block({d: self.reach[d] for d in self.roles.points})

    @cached_property
    def kernels(self) -> Kernels:
        workload = self.site.workload
        kernels = Kernels(
            workload=workload,
            roles=self.roles,
            buffers=buffers_of(workload, self.layouts),
            entry=self.site.entry,
            arguments=self.site.arguments,
            names=self.site.tensors,
            padded=self.padded,
            row=self.row,
            rim=self.rim is not None,
            ahead=0,
        )
        wanted = self.row is None and self.site.options.prefetch and self.site.options.stores is StoreKind.ORDINARY
        output, image = kernels.buffers[0], kernels.buffers[kernels.roles.images]
        if not wanted or not stays(self.site, self.whole, workload.tensors[kernels.roles.images], image):
            return kernels
        return replace(
            kernels,
            ahead=next_block(
                self.site, self.roles, output=output, block=self.whole, takes=self.takes, reach=self.reach
            ),
        )

    @property
    def walked(self) -> tuple[str, ...]:
        """Every dim of more than one iteration but the vector dim."""
        dims = (*self.roles.shared, *(d for d, _ in self.whole.points), *self.roles.reduction)
        return tuple(d for d in dims if self.site.workload.extents[d] > 1)

    @cached_property
    def kinds(self) -> tuple[Counter[Kind], bool]:
        """What regions there are after they are cut into blocks."""
        points = dict(self.whole.points)
        cut = {**points, **dict.fromkeys(self.roles.shared, 1)}
        regions = {d: pieces(self.site, d, taken=d in self.takes, inside=cut.get(d)).all for d in self.walked}
        return region_kinds(regions, self.site.workload.tensors[self.roles.images].axes, self.padded)

    @cached_property
    def chosen(self) -> tuple[Kind, ...]:
        """Kinds that get a kernel, the most frequent first."""
        found: list[Kind] = []
        written = 0
        for kind in self.kinds[0]:
            block = self.block(dict(kind[0]))
            size = block.multiply_adds // prod(n for _, n in block.looped) * (1 if self.row is None else 2)
            if not found or written + size <= MOST_WRITTEN:
                found.append(kind)
                written += size
        return tuple(found)

    def text(self) -> str:
        """C of the leaf."""
        out = Writer()
        streaming = self.site.options.stores is StoreKind.STREAMING
        bits = self.site.workload.output.bits
        size = self.core.vector_bytes
        parts = self.parts or self.rim is not None
        out.lines(vector_text(self.site.entry, bits, size, parts=parts, streaming=streaming))
        out.line()
        if self.roles.apart is not None:
            out.lines(row_text(self.site.entry, bits, size, self.roles.apart, parts=parts, rim=self.rim is not None))
            out.line()
        blocks = {self.kernels.name(block): block for block in (self.block(dict(kind[0])) for kind in self.chosen)}
        for block in blocks.values():
            self.kernels.write(out, block)
            out.line()
        if not self.covered:
            self.kernels.write_any(out, self.walked)
            out.line()
        self._tile(out)
        return out.text()

    @cached_property
    def parts(self) -> bool:
        """Whether some vectors are not whole; along rows they begin anywhere."""
        regions = self.pieces[self.roles.vector]
        return any(size % self.lanes or (self.row is None and start % self.lanes) for start, size in regions)

    @cached_property
    def rim(self) -> Subscript | None:
        """The subscript along a row, if it has padding."""
        axis = self.site.workload.tensors[self.roles.images].axes[-1]
        return axis if self.row is not None and axis.is_padded(axis.real, self.site.workload.extents) else None

    @property
    def covered(self) -> bool:
        """Whether every region has a kernel."""
        kinds, complete = self.kinds
        return complete and len(kinds) == len(self.chosen)

    def _tile(self, out: Writer) -> None:
        """The function of the protocol: blocks of points, and for each the kernel of its kind."""
        site, points = self.site, dict(self.whole.points)
        names = site.dims
        with out.block(site.tile_head):
            for name in names.values():
                out.line(f"(void)d_{name}, (void)n_{name};")
            loops, at, sizes = [], {d: f"d_{n}" for d, n in names.items()}, {d: f"n_{n}" for d, n in names.items()}
            cuts = []
            for dim in (*self.roles.shared, *points):
                name, step, tile = names[dim], points.get(dim, 1), self.reach[dim]
                if step < tile:
                    loops.append(f"for (long {name}_0 = d_{name}; {name}_0 < d_{name} + n_{name}; {name}_0 += {step})")
                    at[dim], sizes[dim] = f"{name}_0", f"{name}_0_part" if step > 1 else "1"
                    if step > 1:
                        cuts.append(f"const long {name}_0_part = smaller({step}, d_{name} + n_{name} - {name}_0);")
                        cuts.append(f"(void){name}_0_part;")
            with out.blocks(loops):
                out.lines(*cuts)
                self._block(out, at, sizes)

    def _block(self, out: Writer, at: dict[str, str], sizes: dict[str, str]) -> None:
        """Choose the kernel of one block and run it over the vectors of the region."""
        for place, axis in enumerate(self.padded):
            if not self.covered or self._differs(1, place):
                out.lines(*self._real(axis, at, sizes))
        out.line(f"const int first_0 = {self._first()};")
        tests = [self._tests(kind, sizes) for kind in self.chosen]
        for number, (kind, test) in enumerate(zip(self.chosen, tests, strict=True)):
            last = number == len(tests) - 1 and self.covered
            head = "" if last and number == 0 else "else" if last else f"{'else ' if number else ''}if ({test})"
            with out.block(head):
                self._vectors(
                    out,
                    at,
                    self.kernels.name(self.block(dict(kind[0]))),
                    [str(end) for _, each in kind[1] for end in each],
                )
        if not self.covered:
            with out.block("else"):
                ranges = [f"{end}_{number}" for number in self.padded for end in ("from", "to")]
                self._vectors(out, at, f"{self.site.entry}_any", [*(sizes[d] for d in self.walked), *ranges])

    def _real(self, number: int, at: dict[str, str], sizes: dict[str, str]) -> list[str]:
        """Declarations of the range of index values that are real, counted from the region's first."""
        axis = self.site.workload.tensors[self.roles.images].axes[number]
        low, high = axis.real or (0, 0)
        base = sum_text([(at[d], c) for d, c in axis.terms], axis.offset)
        span = sum_text([(sizes[d], c) for d, c in axis.terms], 1 - sum(c for _, c in axis.terms))
        return [
            f"const long base_{number} = {base};",
            f"const long from_{number} = base_{number} < {low} ? {low} - base_{number} : 0;",
            f"const long to_{number} = smaller({span}, {high + 1} - base_{number});",
        ]

    def _first(self) -> str:
        """C of whether sums start from zero."""
        if not self.site.first_touched:
            return "0"
        starts = [f"d_{self.site.dims[d]} == 0" for d in self.roles.reduction if not self._whole_visit(d)]
        return " && ".join(starts) or "1"

    def _whole_visit(self, dim: str) -> bool:
        """Whether every visit runs through a whole dim."""
        return self.pieces[dim] == ((0, self.site.workload.extents[dim]),)

    def _differs(self, part: int, place: int) -> bool:
        """Whether regions may differ in a size (part 0) or in a range of real index values (part 1)."""
        kinds, complete = self.kinds
        return not complete or len({kind[part][place] for kind in kinds}) > 1

    def _tests(self, kind: Kind, sizes: dict[str, str]) -> str:
        """C that is true for regions of one kind only."""
        found = [f"{sizes[dim]} == {size}" for place, (dim, size) in enumerate(kind[0]) if self._differs(0, place)]
        for place, (number, (low, high)) in enumerate(kind[1]):
            if self._differs(1, place):
                found.append(f"from_{number} == {low} && to_{number} == {high}")
        return " && ".join(found) or "1"

    def _vectors(self, out: Writer, at: dict[str, str], function: str, rest: list[str]) -> None:
        """Calls for all vectors of a region, whole ones and the part of one at its end."""
        site, vector, lanes = self.site, self.roles.vector, self.lanes
        name = site.dims[vector]
        aligned = self.row is not None or all(start % lanes == 0 for start, _ in self.pieces[vector])
        place = {**at, vector: f"{name}_0"}
        buffers = self.kernels.buffers
        places = [
            element_text(tensor, buffer, place) for tensor, buffer in zip(site.workload.tensors, buffers, strict=True)
        ]

        def call(width: str, ends: tuple[str, ...] = () if self.row is None else ("0", FAR)) -> None:
            out.line(f"{function}({', '.join([*site.tensors, *places, width, 'first_0', *rest, *ends])});")

        end = f"d_{name} + n_{name}"
        if not aligned:
            with out.block(f"for (long {name}_0 = d_{name}, lanes_0; {name}_0 < {end}; {name}_0 += lanes_0)"):
                out.line(f"lanes_0 = smaller({lanes} - {name}_0 % {lanes}, {end} - {name}_0);")
                call("lanes_0")
            return
        with out.block(f"for (long {name}_0 = d_{name}; {name}_0 < {end}; {name}_0 += {lanes})"):
            if self.rim is not None:
                first, after = self._ends(out, self.rim, place)
                span = 1 + sum(c * ((lanes if d == vector else self.reach[d]) - 1) for d, c in self.rim.terms)
                with out.block(f"if ({first} > 0 || {after} < {span} || {end} - {name}_0 < {lanes})"):
                    call(f"smaller({lanes}, {end} - {name}_0)", (first, after))
                    out.line("continue;")
            elif any(size % lanes for _, size in self.pieces[vector]):
                with out.block(f"if ({end} - {name}_0 < {lanes})"):
                    call(f"{end} - {name}_0")
                    out.line("break;")
            call(str(lanes))

    def _ends(self, out: Writer, axis: Subscript, at: dict[str, str]) -> tuple[str, str]:
        """Declares where a row begins and ends, as seen from the first element that a vector reads."""
        low, high = axis.real or (0, 0)
        out.line(f"const long base_{self.row} = {sum_text([(at[d], c) for d, c in axis.terms], axis.offset)};")
        out.line(f"const long from_{self.row} = {low} - base_{self.row}, to_{self.row} = {high + 1} - base_{self.row};")
        return f"from_{self.row}", f"to_{self.row}"
