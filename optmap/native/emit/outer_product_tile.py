"""C of the function that computes a tile: which kernel it is for, and what that is given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from optmap.kernels.code_options import LINE_BYTES
from optmap.native.emit.indices import element_text, sum_text
from optmap.native.emit.outer_product_ahead import lines_ahead
from optmap.native.emit.outer_product_kernel import OuterProductKernel
from optmap.native.emit.outer_product_plan import OuterProductPlan, Variant, constant_place
from optmap.native.emit.outer_product_sums import Box, Sum
from optmap.native.emit.prefetch import Ahead
from optmap.native.emit.regions import PaddedSubscript
from optmap.native.emit.writer import Writer

FOLDING_BITS = 512
"""Length of the vectors of instruction sets whose multiply-adds broadcast an element of memory."""
MOST_FOLDED = 2
"""Vectors that read an element each; more of them share one that was loaded before."""


def write_tile(plan: OuterProductPlan) -> tuple[dict[str, str], str]:
    """Kernels, text and name, and the function of the tile, which calls them."""
    tile = _Tile(plan=plan, ahead=lines_ahead(plan))
    tile.write()
    return tile.kernels, tile.out.text()


@dataclass(frozen=True, kw_only=True)
class _Tile:
    """The function while it is written."""

    plan: OuterProductPlan
    ahead: tuple[Ahead, ...]
    out: Writer = field(default_factory=Writer)
    kernels: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """All of it."""
        site, roles = self.plan.site, self.plan.roles
        cut = [d for d in (*roles.filters, *roles.shared, *roles.points, roles.vector) if self.plan.is_parted(d)]
        with self.out.block(site.tile_head):
            self.out.line(" ".join(f"(void)d_{name}; (void)n_{name};" for name in site.dims.values()))
            if self.plan.first_touch == "asked":
                firsts = [f"d_{site.dims[d]} == 0" for d in roles.reduction if not self.plan.pieces_of(d).whole]
                self.out.line(f"const int fresh = {' && '.join(firsts)};")
            with self.out.blocks(self._loop(d) for d in cut):
                for dim in cut:
                    name = site.dims[dim]
                    if len(self.plan.kernel_pieces(dim).sizes) > 1:
                        self.out.line(
                            f"const long {name}_1 = smaller({self.plan.parts[dim]}, d_{name} + n_{name} - {name}_0);"
                        )
                self._write_places()
                dims = (roles.vector, *roles.points)
                self._choose([(d, self.plan.variants(d, self.plan.parts[d])) for d in dims], {})

    def _loop(self, dim: str) -> str:
        name = self.plan.site.dims[dim]
        return f"for (long {name}_0 = d_{name}; {name}_0 < d_{name} + n_{name}; {name}_0 += {self.plan.parts[dim]})"

    def _write_places(self) -> None:
        """Where the kernel's pieces of the three operands begin, for iteration 0 of the reduction."""
        site, roles = self.plan.site, self.plan.roles
        starts = {d: self.plan.start_text(d) for d in site.workload.dims if d in site.workload.output.dims}
        kept = {d: start for d, start in starts.items() if start != "0"}
        output = {d: start for d, start in kept.items() if d != roles.vector}
        to = [(element_text(site.workload.output, self.plan.buffers[0], output), 1)]
        if self.plan.vector_stride and roles.vector in kept:
            to.append((kept[roles.vector], self.plan.vector_stride // site.lanes))
        kind, names = site.types[0], site.tensors
        self.out.line(f"{kind} *const to = {names[0]} + {sum_text(to)};")
        at = sum_text(self._image_terms(kept), constant_place(self.plan.image, self.plan.buffers[roles.images]))
        by = sum_text(self._weights_terms(kept), constant_place(self.plan.weights, self.plan.buffers[roles.weights]))
        self.out.line(f"const long at = {at};")
        self.out.line(f"const {kind} *const by = {names[roles.weights]} + {by};")
        for number, each in enumerate(self.ahead):
            share = sum_text([(each.place, LINE_BYTES * each.lines)])
            self.out.comment(each.what)
            self.out.line(f"const char *const next_{number} = (const char *)({each.start}) + {share};")

    def _image_terms(self, starts: dict[str, str]) -> list[tuple[str, int]]:
        strides = self.plan.strides(self.plan.roles.images)
        return [(start, strides[dim]) for dim, start in starts.items() if strides[dim]]

    def _weights_terms(self, starts: dict[str, str]) -> list[tuple[str, int]]:
        """Blocks are whole tiles, so that a start is a number of blocks; inside them the kernel counts from it."""
        number = self.plan.roles.weights
        strides, leaps = self.plan.strides(number), self.plan.leaps(number)
        found = []
        for dim, start in starts.items():
            if dim in leaps and self.plan.kernel_pieces(dim).step % leaps[dim][0] == 0:
                found.append((start, leaps[dim][1] // leaps[dim][0]))
            elif strides[dim]:
                found.append((start, strides[dim]))
        for dim in self.plan.roles.reduction:
            if dim in leaps:
                found.append((f"d_{self.plan.site.dims[dim]}", leaps[dim][1] // leaps[dim][0] - strides[dim]))
        return found

    def _choose(
        self,
        left: list[tuple[str, tuple[Variant, ...]]],
        chosen: dict[str, Variant],
    ) -> None:
        """The call of the kernel for the sizes and rims that a tile has."""
        if not left:
            self._call(chosen)
            return
        (dim, variants), *others = left
        for number, variant in enumerate(variants):
            tests = []
            later = variants[number + 1 :]
            if any(each.size != variant.size for each in later):
                tests.append(f"{self.plan.count_text(dim)} == {variant.size}")
            if any(each.size == variant.size for each in later):
                tests.append(f"{self.plan.start_text(dim)} <= {variant.last}")
            head = ("else " if number else "") + (f"if ({' && '.join(tests)})" if tests else "")
            with self.out.blocks([head.strip()] if len(variants) > 1 else []):
                self._choose(others, {**chosen, dim: variant})

    def _call(self, chosen: dict[str, Variant]) -> None:
        kernel, places = self._kernel(chosen)
        name = self.kernels.setdefault(kernel.body, f"{self.plan.site.entry}_kernel_{len(self.kernels)}")
        values = [places.get(parameter, parameter) for _, parameter in kernel.parameters]
        self.out.line(f"{name}({', '.join(values)});")

    def _kernel(self, chosen: dict[str, Variant]) -> tuple[OuterProductKernel, dict[str, str]]:
        """The kernel for some variants, and what its parameters are in the tile's function."""
        site, roles = self.plan.site, self.plan.roles
        lanes, size = site.lanes, chosen[roles.vector].size
        output, image = self.plan.strides(0), self.plan.strides(roles.images)
        names = (site.tensors[0], site.tensors[roles.images], site.tensors[roles.weights])
        places = {names[0]: "to", names[2]: "by", f"d_{site.dims[roles.vector]}": self.plan.start_text(roles.vector)}
        sums, bounds = self._sums(chosen)
        kernel = OuterProductKernel(
            entry=site.entry,
            kind=site.types[0],
            operands=names,
            lanes=lanes,
            vectors=-(-size // lanes),
            tail=(size - 1) % lanes + 1,
            vector=site.dims[roles.vector],
            vector_stride=self.plan.vector_stride,
            lane_stride=self.plan.lane_stride,
            sizes=tuple(chosen[d].size for d in roles.points),
            box=self._box(chosen),
            image_strides=tuple(image[d] for d in roles.points),
            output_strides=tuple(output[d] for d in roles.points),
            sums=sums,
            folds=site.lanes * site.workload.output.bits == FOLDING_BITS and size <= MOST_FOLDED * lanes,
            ahead=tuple(each.lines for each in self.ahead),
            near=site.options.prefetch,
            first_touch=self.plan.first_touch,
        )
        return kernel, places | bounds

    def _box(self, chosen: dict[str, Variant]) -> Box:
        """The real points of every tap; none where all are padding."""
        points = self.plan.roles.points
        box = [(0, chosen[dim].size) for dim in points]
        for window in self.plan.windows:
            if window.tap is None and window.point is not None:
                pattern = chosen[window.point].pattern or ()
                box[points.index(window.point)] = pattern[0][2:] if pattern else (0, 0)
        return tuple(box)

    def _sums(self, chosen: dict[str, Variant]) -> tuple[tuple[Sum, ...], dict[str, str]]:
        """The loops of the reduction, and where those begin and end whose real taps the tile's function finds."""
        sums: list[Sum] = []
        bounds: dict[str, str] = {}
        for dim in self.plan.reduction_order():
            window = next((window for window in self.plan.windows if window.tap == dim), None)
            each = self.plan.sum_of(dim)
            if window is not None:
                pattern = chosen[window.point].pattern if window.point is not None else None
                if pattern is None:
                    each = replace(each, first=f"d_{each.dim}", count=None)
                    bounds |= self._bounds(window, each.dim)
                else:
                    each = replace(each, pattern=pattern, along=self.plan.roles.points.index(str(window.point)))
            sums.append(each)
        while len(sums) > 1 and sums[-1].continues(sums[-2]):
            sums[-2:] = [sums[-1].merged(sums[-2])]
        return tuple(sums), bounds

    def _bounds(self, window: PaddedSubscript, name: str) -> dict[str, str]:
        """First real tap of one point and number of them, as C expressions."""
        start = [] if window.point is None else [(self.plan.start_text(window.point), -window.stride)]
        low, high = sum_text(start, window.first), sum_text(start, window.last)
        if window.dilation > 1:
            low = f"(larger({low}, 0) + {window.dilation - 1}) / {window.dilation}"
            high = f"(larger({high}, {-window.dilation}) + {window.dilation}) / {window.dilation}"
        else:
            high = f"{high} + 1"
        first = f"larger(d_{name}, {low})"
        return {f"d_{name}": first, f"n_{name}": f"smaller(d_{name} + n_{name}, {high}) - {first}"}
