"""The depthwise kernel: a block of points of one vector, its sums in registers, every element read once per group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optmap.kernels.depthwise_blocks import DepthwiseBlock, each_point, relative
from optmap.kernels.kernel_roles import KernelRoles
from optmap.native.code import Buffer
from optmap.native.emit.depthwise_ahead import step
from optmap.native.emit.indices import sum_text
from optmap.native.emit.points import where
from optmap.native.emit.vectors import BARRIER, INLINE
from optmap.native.emit.writer import Writer
from optmap.workloads.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Writes the functions of kernels."""

    workload: Workload
    roles: KernelRoles
    buffers: tuple[Buffer, ...]
    """Output first."""
    entry: str
    """Start of the names."""
    arguments: tuple[str, ...]
    """Of the tensors, as functions declare them."""
    names: tuple[str, ...]
    """C name per tensor, output first."""
    padded: tuple[int, ...]
    """Subscripts of the image with implicit padding, but `row`."""
    row: int | None
    """Subscript of the image that vectors run along, where they run along rows."""
    rim: bool
    """Whether there is padding along `row`."""
    ahead: int
    """Elements from a block of the output to the next one, which is asked for; 0 if it is not."""

    def name(self, block: DepthwiseBlock) -> str:
        """Of the function of a block."""
        sizes = (*block.points, *block.looped, *zip(block.tapped, _extents(block), strict=True))
        return "_".join([self.entry, "points", *(str(size) for _, size in sizes)])

    @property
    def ranges(self) -> list[str]:
        """Arguments that say which index values of the image are real, counted from the block's first."""
        axes = self.padded if self.row is None else (*self.padded, self.row)
        return [f"long {end}_{axis}" for axis in axes for end in ("from", "to")]

    def load(self, tensor: int, place: str, index: str) -> str:
        """C of a vector of an input.

        Args:
            tensor: its number.
            place: C of its address.
            index: of the image, along a row: how far it is from where the block begins.
        """
        if self.row is None:
            return f"{self.entry}_load({place}, lanes_0)"
        if tensor == self.roles.weights:
            return f"{self.entry}_spread({place})"
        return f"{self.entry}_row({place}, {self._seen(index)}, lanes_0)"

    def kept(self, weight: str, index: str) -> str:
        """C of a vector of the weights where it meets one of the image: without the lanes that are on padding.

        Args:
            weight: C of the vector.
            index: as `load` has it.
        """
        return f"{self.entry}_kept({weight}, {self._seen(index)})" if self.rim else weight

    def _seen(self, index: str) -> str:
        """C of where the row begins and ends, as seen from an element of it."""
        index = f"({index})" if " " in index or "*" in index else index
        return f"from_{self.row} - {index}, to_{self.row} - {index}"

    def step(self, tensor: int, offsets: Iterable[tuple[int, int]]) -> int:
        """Elements between two places of a tensor, from (subscript, difference); subscripts in one piece only."""
        return step(self.buffers[tensor], offsets)

    def write(self, out: Writer, block: DepthwiseBlock) -> None:
        """The function of a block.

        It is always inlined: where the lanes and the part of the image that is real are known, tests vanish.
        """
        places = [f"long at_{number}" for number in range(3)]
        out.comment(
            f"one vector at {' x '.join(f'{d}={n}' for d, n in block.points) or 'one point'}: "
            f"{block.multiply_adds} multiply-adds, {block.loads} loads, {block.sums} stores"
        )
        head = f"{INLINE} void {self.name(block)}"
        with out.block(f"{head}({', '.join([*self.arguments, *places, 'long lanes_0', 'int first_0', *self.ranges])})"):
            self._sums(out, block)
            loops = [f"for (long i{n} = 0; i{n} < {size}; i{n}++)" for n, (_, size) in enumerate(block.looped)]
            with out.blocks(loops):
                for group in block.groups:
                    self._group(out, block, group)
            if self.ahead:
                out.comment("beside every store the same place of the next block is asked for")
            for point in each_point(block.points):
                place = self._place(0, point)
                out.line(f"{self.entry}_store({place}, &{_sum(point)}, lanes_0);")
                if self.ahead:
                    out.line(f"__builtin_prefetch({place} + {self.ahead}, 1);")

    def write_any(self, out: Writer, dims: tuple[str, ...]) -> None:
        """The function of blocks of any size: one point after the other, tap by tap.

        Args:
            out: where it is written.
            dims: every dim but the vector dim, as their sizes are handed over.
        """
        places = [f"long at_{number}" for number in range(3)]
        sizes = [f"long n_{number}" for number in range(len(dims))]
        head = f"static void {self.entry}_any"
        arguments = [*self.arguments, *places, "long lanes_0", "int first_0", *sizes, *self.ranges]
        loops = {d: f"for (long i{n} = 0; i{n} < n_{n}; i{n}++)" for n, d in enumerate(dims)}
        moved = [
            sum_text(
                [(f"at_{n}", 1), *((f"i{i}", self.step(n, enumerate(relative(t, {d: 1})))) for i, d in enumerate(dims))]
            )
            for n, t in enumerate(self.workload.tensors)
        ]
        places = [f"{name} + ({place})" for name, place in zip(self.names, moved, strict=True)]
        image = self.workload.tensors[self.roles.images]

        def index(axis: int) -> str:
            return sum_text([(f"i{i}", relative(image, {d: 1})[axis]) for i, d in enumerate(dims)])

        tests = [f"from_{axis} <= {index(axis)} && {index(axis)} < to_{axis}" for axis in self.padded]
        along = "" if self.row is None else index(self.row)
        out.comment("one vector of the output after the other")
        with (
            out.block(f"{head}({', '.join(arguments)})"),
            out.blocks(loops[d] for d in dims if d not in self.roles.reduction),
        ):
            out.line(f"{self.entry}_vector sum_0 = {{0}};")
            out.line(f"if (!first_0) sum_0 = {self.entry}_load({places[0]}, lanes_0);")
            with out.blocks([*(loops[d] for d in self.roles.reduction), *where(tests)]):
                value = self.load(self.roles.images, places[self.roles.images], along)
                weight = self.kept(self.load(self.roles.weights, places[self.roles.weights], along), along)
                out.line(f"sum_0 += {value} * {weight};")
            out.line(f"{self.entry}_store({places[0]}, &sum_0, lanes_0);")

    def _place(self, tensor: int, at: dict[str, int], loops: tuple[tuple[str, int], ...] = ()) -> str:
        """C of an element's address, from where the block begins."""
        access = self.workload.tensors[tensor]
        constant = self.step(tensor, enumerate(relative(access, at)))
        terms = [(f"i{n}", self.step(tensor, enumerate(relative(access, {d: 1})))) for n, (d, _) in enumerate(loops)]
        inside = sum_text([(f"at_{tensor}", 1), *terms], constant)
        return f"{self.names[tensor]} + ({inside})" if inside != f"at_{tensor}" else f"{self.names[tensor]} + {inside}"

    def _sums(self, out: Writer, block: DepthwiseBlock) -> None:
        """Sums start from zero at the first visit, else from what is there."""
        out.line(f"const {self.entry}_vector zero_0 = {{0}};")
        for point in each_point(block.points):
            load = f"{self.entry}_load({self._place(0, point)}, lanes_0)"
            out.line(f"{self.entry}_vector {_sum(point)} = first_0 ? zero_0 : {load};")

    def _group(self, out: Writer, block: DepthwiseBlock, group: tuple[tuple[int, ...], ...]) -> None:
        """Load the weights of a group, then every element of the image once, and add to all sums that need it."""
        image, weights = self.workload.tensors[self.roles.images], self.workload.tensors[self.roles.weights]
        taps = [dict(zip(block.tapped, tap, strict=True)) for tap in group]
        known: dict[tuple[int, ...], str] = {}
        with out.block(""):
            for tap in taps:
                place = relative(weights, tap)
                if place not in known:
                    known[place] = f"tap_{len(known)}"
                    load = self.load(self.roles.weights, self._place(self.roles.weights, tap, block.looped), "0")
                    out.line(f"const {self.entry}_vector {known[place]} = {load};")
            uses: dict[tuple[int, ...], list[tuple[dict[str, int], str]]] = {}
            for point in each_point(block.points):
                for tap in taps:
                    at = {**point, **tap}
                    uses.setdefault(relative(image, at), []).append((at, known[relative(weights, tap)]))
            for place in sorted(uses, key=self._turn):
                self._element(out, block, place, uses[place])

    def _turn(self, place: tuple[int, ...]) -> tuple[int, ...]:
        """When an element of the image is read: in the order of memory, or along rows all of a column first.

        Points are in columns there. Elements side by side in a row are for the same sums: one after the other they
        would wait for the addition before.
        """
        return place if self.row is None else (place[self.row], *place)

    def _element(
        self, out: Writer, block: DepthwiseBlock, place: tuple[int, ...], uses: list[tuple[dict[str, int], str]]
    ) -> None:
        """One element of the image, unless it is padding."""
        image = self.workload.tensors[self.roles.images]

        def index(axis: int) -> str:
            steps = [(f"i{n}", relative(image, {dim: 1})[axis]) for n, (dim, _) in enumerate(block.looped)]
            return sum_text(steps, place[axis])

        tests = [f"from_{axis} <= {index(axis)} && {index(axis)} < to_{axis}" for axis in self.padded]
        along = "" if self.row is None else index(self.row)
        with out.block(f"if ({' && '.join(tests)})" if tests else ""):
            load = self.load(self.roles.images, self._place(self.roles.images, uses[0][0], block.looped), along)
            out.line(f"const {self.entry}_vector value_0 = {load};")
            for at, weight in uses:
                out.line(f"{_sum({d: at[d] for d, _ in block.points})} += value_0 * {self.kept(weight, along)};")
            out.line(BARRIER)


def _extents(block: DepthwiseBlock) -> list[int]:
    """Extent per dim that is not looped, from the groups' last tap."""
    return [last + 1 for last in block.groups[-1][-1]]


def _sum(point: dict[str, int]) -> str:
    """Name of the sum of a point."""
    return "_".join(["sum", *(str(index) for index in point.values()), *([] if point else ["0"])])
