"""C of one outer-product kernel: vectors of weights times elements of the image, sums in registers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from optmap.kernels.code_options import LINE_BYTES
from optmap.native.emit.indices import sum_text
from optmap.native.emit.outer_product_sums import Box, Sum
from optmap.native.emit.turned import SHORTEST
from optmap.native.emit.vectors import BARRIER
from optmap.native.emit.writer import Writer

UNROLL = 4
"""Steps of the innermost reduction loop that are written out."""
STRAIGHT = 8
"""An innermost loop of at most so many steps is written out whole."""
SPARSE = 4
"""Lines are asked for in the innermost loop if there is one for every so many trips, else before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterProductKernel:
    """One kernel: a register tile of fixed size, and which of its points are real at which taps."""

    entry: str
    """Start of the names of types and functions."""
    kind: str
    """C type of an element."""
    operands: tuple[str, str, str]
    """C names of output, image and weights."""
    lanes: int
    vectors: int
    tail: int
    """Lanes of the last vector that exist."""
    vector: str
    """C name of the vector dim."""
    vector_stride: int
    """Elements of the output from one vector to the next; 0 if lanes of a vector are not side by side."""
    lane_stride: int
    """Elements of the output from one lane to the next, where lanes are not side by side but evenly apart; else 0."""
    sizes: tuple[int, ...]
    """Points per dim."""
    box: Box
    """Real points per dim, but for what patterns of `sums` say."""
    image_strides: tuple[int, ...]
    """Elements of the image from one point to the next, per dim."""
    output_strides: tuple[int, ...]
    """The same in the output."""
    sums: tuple[Sum, ...]
    """Outermost first."""
    folds: bool
    """Whether a multiply-add reads the element and broadcasts it in one instruction, as AVX-512's: then every vector
    reads it again, for which processors have room, and no instruction or register is spent on it."""
    ahead: tuple[int, ...] = ()
    """Lines that are asked for ahead, per parameter `next_0`, `next_1` ..."""
    near: bool = False
    """Whether a block of the image is asked for while the one before it is read."""
    first_touch: str
    """`always` starts from zero, `never` adds to what is there; `asked`: the parameter `fresh` says which."""

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Type and name of everything that the kernel is given."""
        output, image, weights = self.operands
        found = [(f"{self.kind} *restrict ", output), (f"const {self.kind} *restrict ", image), ("long ", "at")]
        found.append((f"const {self.kind} *restrict ", weights))
        found += [("int ", "fresh")] if self.first_touch == "asked" else []
        found += [] if self.vector_stride else [("long ", f"d_{self.vector}")]
        for each in self.sums:
            found += [("long ", each.first)] if each.first != "0" else []
            found += [("long ", each.total)] if each.count is None else []
        return [*found, *(("const char *", f"next_{number}") for number in range(len(self.ahead)))]

    @property
    def body(self) -> str:
        """The function without its name: kernels of one text are one."""
        out = Writer()
        vectors = f"{self.vectors} vector{'s' if self.vectors > 1 else ''}" + (
            f", the last of {self.tail} lanes" if self.tail < self.lanes else ""
        )
        out.comment(f"{vectors}; {' x '.join(str(n) for n in self.sizes if n > 1) or '1'} points")
        head = ", ".join(kind + name for kind, name in self.parameters)
        with out.block(f"static __attribute__((noinline)) void @({head})"):
            self._begin(out)
            if any(self._points(self.box)):
                self._sums(out, (), self.box)
            else:
                out.line(f"(void){self.operands[1]}, (void)at, (void){self.operands[2]};  /* nothing but padding */")
            self._each(out, "store")
        return out.text()

    @staticmethod
    def _points(box: Box) -> list[tuple[int, ...]]:
        return list(product(*(range(low, high) for low, high in box)))

    def _numbered(self) -> dict[tuple[int, ...], int]:
        every = self._points(tuple((0, size) for size in self.sizes))
        return {point: number for number, point in enumerate(every)}

    def _begin(self, out: Writer) -> None:
        """Sums of zero, or what is in the output."""
        for number in self._numbered().values():
            zeros = ", ".join(f"a_{number}_{vector} = {{0}}" for vector in range(self.vectors))
            out.line(f"{self.entry}_vector {zeros};")
        if self.first_touch != "always":
            with out.blocks(["if (!fresh)"] if self.first_touch == "asked" else []):
                self._each(out, "load")

    def _each(self, out: Writer, verb: str) -> None:
        """One line per sum; vectors whose lanes are apart go through functions that know where they lie.

        Points side by side in memory are turned: vectors of them are moved, one per lane.
        """
        runs = self._runs()
        for run, vector in product(runs, range(self.vectors)):
            self._turned(out, verb, run, vector)
        for number, offset in self._offsets().items():
            for vector in range(self.vectors) if all(number not in run for run in runs) else ():
                name, lanes = f"a_{number}_{vector}", self.tail if vector == self.vectors - 1 else self.lanes
                place = sum_text([(self.operands[0], 1)], offset + vector * self.vector_stride)
                text = self._moved(verb, name, lanes, place, sum_text([(f"d_{self.vector}", 1)], vector * self.lanes))
                out.line(text)

    def _offsets(self) -> dict[int, int]:
        """Per point its place in the output, from the first one's."""
        return {
            number: sum(j * stride for j, stride in zip(point, self.output_strides, strict=True))
            for point, number in self._numbered().items()
        }

    def _runs(self) -> list[dict[int, int]]:
        """Places of points that lie side by side, as many as lanes at most, where vectors do not."""
        if not self.lane_stride:
            return []
        runs: list[dict[int, int]] = [{}]
        for number, offset in sorted(self._offsets().items(), key=lambda each: each[1]):
            run = runs[-1]
            if run and (offset != list(run.values())[-1] + 1 or len(run) == self.lanes):
                runs.append({})
            runs[-1][number] = offset
        return [run for run in runs if len(run) >= min(SHORTEST, self.lanes)]

    def _turned(self, out: Writer, verb: str, run: dict[int, int], vector: int) -> None:
        """One vector of every point of a run."""
        names = [f"a_{number}_{vector}" for number in run]
        first = sum_text([(f"d_{self.vector}", 1)], vector * self.lanes)
        place = sum_text([(self.operands[0], 1), (f"({first})", self.lane_stride)], next(iter(run.values())))
        lanes = self.tail if vector == self.vectors - 1 else self.lanes
        with out.block(""):
            out.line(f"{self.entry}_vector run_0[{self.lanes}] = {{{', '.join(names) if verb == 'store' else '{0}'}}};")
            out.line(f"{self.kind} *place_0 = {place};")
            if verb == "store":
                out.line(f"{self.entry}_turn(run_0);")
            with out.block(f"for (long i0 = 0; i0 < {lanes}; i0++, place_0 += {self.lane_stride})"):
                moved = f"{self.entry}_{verb}(place_0, &run_0[i0], {len(run)});"
                out.line(moved if verb == "store" else f"run_0[i0] = {self.entry}_load(place_0, {len(run)});")
            if verb == "load":
                out.line(f"{self.entry}_turn(run_0);")
                out.line(" ".join(f"{name} = run_0[{place}];" for place, name in enumerate(names)))

    def _moved(self, verb: str, name: str, lanes: int, place: str, lane: str) -> str:
        """One vector between the output and its sum."""
        function, where = f"{self.entry}_{verb}", place
        if not self.vector_stride:
            function, where = f"{function}_apart", f"{place}, {lane}"
        if verb == "load":
            return f"{name} = {function}({where}, {lanes});"
        if self.vector_stride and lanes == self.lanes:
            return f"{function}({where}, &{name}, {lanes});"
        # of a copy: a sum whose lanes are taken one by one would live in memory
        return f"{{ const {self.entry}_vector part = {name}; {function}({where}, &part, {lanes}); }}"

    def _sums(self, out: Writer, outer: tuple[Sum, ...], box: Box) -> None:
        """The loops of the reduction; one after the other for segments of taps with the same real points."""
        if len(outer) == len(self.sums):
            self._pointers(out, outer, None, "0", box)
            self._steps(out, 1, 0, 0, box)
            return
        each = self.sums[len(outer)]
        for first, after, count, inside in each.segments(box):
            if not self._points(inside):
                continue
            if len(outer) + 1 == len(self.sums):
                with out.block(""):
                    self._innermost(out, outer, (first, after, count), inside)
            else:
                with out.block(f"for (long {each.dim} = {first}; {each.dim} < {after}; {each.dim}++)"):
                    self._sums(out, (*outer, each), inside)

    def _innermost(self, out: Writer, outer: tuple[Sum, ...], span: tuple[str, str, int | None], box: Box) -> None:
        """The last loop: over blocks of the image, if it has several, and inside them."""
        each, (first, after, _) = self.sums[-1], span
        before, _ = self._paces()
        if each.inside is each:
            self._pointers(out, outer, each, first, box)
            self._ask(out, before)
            self._trips(out, each, span, box)
            return
        self._ask(out, before)
        start, size = f"{each.dim}_0", str(each.run)
        with out.block(f"for (long {start} = {first}; {start} < {after}; {start} += {each.run})"):
            self._pointers(out, outer, each, start, box)
            if self.near and each.run == each.block:
                for offset in self._away(box).values():
                    out.line(f"__builtin_prefetch(x_0 + {each.leap + offset}, 0, 3);")
            if each.ragged:
                size = f"{each.dim}_1"
                out.line(f"const long {size} = smaller({each.run}, {after} - {start});")
            self._trips(out, each.inside, ("0", size, each.inside.count), box)

    def _trips(self, out: Writer, each: Sum, span: tuple[str, str, int | None], box: Box) -> None:
        """A loop without a leap: as many steps as are written out at a time, then those that are left over."""
        first, after, count = span
        unroll, (_, each_trip) = self._unroll(each, count), self._paces()
        if count is None and unroll == each.most:
            self._few(out, each, (first, after), box)
            self._ask(out, each_trip)
            return
        if count == unroll:
            self._steps(out, unroll, each.image, each.weights, box)
            self._ask(out, each_trip)
            return
        left_over = unroll > 1 and (count is None or count % unroll > 0)
        if left_over:
            out.line(f"long {each.dim} = {first};")
        for steps in (unroll, 1) if left_over else (unroll,):
            begin = "" if left_over else f"long {each.dim} = {first}"
            last = f"{each.dim} < {after}" if steps == 1 else f"{each.dim} <= {after} - {steps}"
            advance = f"x_0 += {steps * each.image}, y_0 += {steps * each.weights}"
            with out.block(f"for ({begin}; {last}; {each.dim} += {steps}, {advance})"):
                self._steps(out, steps, each.image, each.weights, box)
                self._ask(out, each_trip if steps == unroll else [])

    def _few(self, out: Writer, each: Sum, span: tuple[str, str], box: Box) -> None:
        """A last loop of few steps whose number is known where it runs: all of them at once, or one by one.

        A loop of one or two trips that first looks whether it has more takes longer than what it computes.
        """
        first, after = span
        if each.most > 1:
            with out.block(f"if ({after} - ({first}) == {each.most})"):
                self._steps(out, each.most, each.image, each.weights, box)
        head = f"for (long {each.dim} = {first}; {each.dim} < {after}; {each.dim}++, x_0 += {each.image}"
        once = f"if ({first} < {after})"
        with out.block(once if each.most == 1 else f"else {head}, y_0 += {each.weights})"):
            self._steps(out, 1, each.image, each.weights, box)

    @staticmethod
    def _unroll(each: Sum, count: int | None) -> int:
        """Steps that are written out: a divisor of their number if there is one."""
        if count is None:
            return each.most if each.most <= STRAIGHT else UNROLL
        if count <= STRAIGHT:
            return count
        return next((n for n in (UNROLL, 6, 5, 3) if count % n == 0), UNROLL)

    def _pointers(self, out: Writer, outer: tuple[Sum, ...], each: Sum | None, first: str, box: Box) -> None:
        """Where the first real point of a step and its weights lie."""
        corner = sum(low * stride for (low, _), stride in zip(box, self.image_strides, strict=True))
        image, weights = [(self.operands[1], 1), ("at", 1)], [(self.operands[2], 1)]
        places = [(loop.dim, loop) for loop in outer]
        if each is not None and first != "0":
            places.append((first, each))
        for at, loop in places:
            image += loop.image_terms(at)
            weights.append((at, loop.weights))
        out.line(f"const {self.kind} *x_0 = {sum_text(image, corner)};")
        out.line(f"const {self.kind} *y_0 = {sum_text(weights)};")

    def _away(self, box: Box) -> dict[int, int]:
        """Per real point where its element of a step lies, from the first one's."""
        numbers, corner = self._numbered(), tuple(low for low, _ in box)
        found = {}
        for point in self._points(box):
            away = zip(point, corner, self.image_strides, strict=True)
            found[numbers[point]] = sum((j - low) * stride for j, low, stride in away)
        return found

    def _loops(self) -> int:
        """Innermost loops of one call, at most."""
        return prod(each.most for each in self.sums[:-1])

    def _paces(self) -> tuple[list[int], list[int]]:
        """Per stream of lines that are asked for ahead: how many before every innermost loop, how many in a trip."""
        if not self.sums:
            return [0 for _ in self.ahead], [0 for _ in self.ahead]
        last = self.sums[-1]
        inside = last.inside
        unrolled = self._unroll(inside, inside.count)
        trips = self._loops() * -(-last.most // inside.most) * -(-inside.most // unrolled)
        each_trip = [-(-lines // trips) if SPARSE * lines > trips else 0 for lines in self.ahead]
        before = [0 if pace else -(-lines // self._loops()) for lines, pace in zip(self.ahead, each_trip, strict=True)]
        return before, each_trip

    def _ask(self, out: Writer, counts: list[int]) -> None:
        """Requests for lines; an address beyond the buffer is no access."""
        for number, count in enumerate(counts):
            if count > 1:
                out.line(
                    f"for (long i0 = 0; i0 < {count}; i0++) __builtin_prefetch(next_{number} + {LINE_BYTES}*i0, 0, 2);"
                )
            elif count:
                out.line(f"__builtin_prefetch(next_{number}, 0, 2);")
            if count:
                out.line(f"next_{number} += {LINE_BYTES * count};")

    def _steps(self, out: Writer, steps: int, image: int, weights: int, box: Box) -> None:
        """Steps, each with its own loads: nothing of one is kept for the next."""
        if steps > 1:
            out.line(f"#pragma GCC unroll {steps}")
        with out.block(f"for (long i0 = 0; i0 < {steps}; i0++)" if steps > 1 else ""):
            moved, read = ([("i0", image)], [("i0", weights)]) if steps > 1 else ([], [])
            away = self._away(box)
            elements = {number: f"x_0[{sum_text(moved, offset)}]" for number, offset in away.items()}
            for vector in range(self.vectors):
                place = sum_text([("y_0", 1), *read], vector * self.lanes)
                out.line(f"const {self.entry}_vector w_{vector} = {self.entry}_load({place}, {self.lanes});")
                if self.folds:
                    for number, element in elements.items():
                        out.line(f"a_{number}_{vector} += w_{vector} * {element};")
                    out.line(BARRIER)
            if self.folds:
                return
            for number, element in elements.items():
                sums = " ".join(f"a_{number}_{v} += w_{v} * x_1;" for v in range(self.vectors))
                out.line(f"{{ const {self.kind} x_1 = {element}; {sums} }}")
            out.line(BARRIER)
