"""The loops of a reduction as an outer-product kernel runs them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from optmap.native.emit.regions import Pattern

Box = tuple[tuple[int, int], ...]
"""Per dim of the points, the first real one and the one after the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A loop of the reduction, as a kernel runs it."""

    dim: str
    """C name."""
    first: str
    """C expression of its first iteration: `0`, or a parameter of the kernel."""
    count: int | None
    """Number of iterations where it is known, else it is a parameter."""
    most: int
    """Number of iterations at most."""
    image: int
    """Elements of the image from one iteration to the next; within a block if there are blocks."""
    weights: int
    """Elements of the weights from one iteration to the next."""
    block: int = 0
    """Iterations of a block of the image's layout; 0 for a layout without."""
    leap: int = 0
    """Elements of the image from one block to the next."""
    run: int = 0
    """Iterations that lie in one block from every multiple of so many on, where pieces of the loop begin."""
    ragged: bool = False
    """Whether a piece may end inside a run."""
    pattern: Pattern | None = None
    """Segments of its iterations with the real points of each, where some points may be padding."""
    along: int = 0
    """Number of the points' dim that the pattern is about."""

    @property
    def total(self) -> str:
        """C expression of the number of iterations."""
        return f"n_{self.dim}" if self.count is None else str(self.count)

    @property
    def end(self) -> str:
        """C expression of the iteration after the last."""
        return self.total if self.first == "0" else f"{self.first} + {self.total}"

    @property
    def known(self) -> bool:
        """Whether first iteration and number are constants."""
        return self.first == "0" and self.count is not None

    @property
    def inside(self) -> Sum:
        """The loop over a run, of those iterations that have no leap between them; itself if there is but one run."""
        if not self.block or self.most <= self.run:
            return self
        return replace(self, first="0", count=None if self.ragged else self.run, most=self.run, block=0)

    def image_terms(self, at: str) -> list[tuple[str, int]]:
        """Where the image's element of an iteration lies: C expressions, each with its coefficient."""
        if not self.block:
            return [(at, self.image)]
        return [(f"({at} / {self.block})", self.leap), (f"({at} % {self.block})", self.image)]

    def continues(self, outer: Sum) -> bool:
        """Whether the operands of this loop, run again and again by another one, are read without a leap."""
        plain = not self.block and not outer.block and self.pattern is None
        image, weights = self.most * self.image, self.most * self.weights
        return self.known and outer.known and plain and (image, weights) == (outer.image, outer.weights)

    def merged(self, outer: Sum) -> Sum:
        """One loop for this and the one around it, which it continues."""
        pattern = outer.pattern
        if pattern is not None:
            pattern = tuple((first * self.most, after * self.most, low, high) for first, after, low, high in pattern)
        most = outer.most * self.most
        return replace(self, count=most, most=most, pattern=pattern, along=outer.along)

    def segments(self, box: Box) -> list[tuple[str, str, int | None, Box]]:
        """First iteration, the one after the last, how many if known, and the real points."""
        if self.pattern is None:
            return [(self.first, self.end, self.count, box)]
        found: list[tuple[str, str, int | None, Box]] = []
        for first, after, low, high in self.pattern:
            inside = (*box[: self.along], (low, high), *box[self.along + 1 :])
            if self.known:
                found.append((str(first), str(after), after - first, inside))
            else:
                found.append((f"larger({self.first}, {first})", f"smaller({self.end}, {after})", None, inside))
        return found
