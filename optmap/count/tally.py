"""What the reference counts with: words that moved, elements of tiles, and a limit on the work.

Like `simulate` and `walk_held`, which use it, it shares no code with the closed forms.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from optmap.base.clock import current
from optmap.base.errors import LimitError
from optmap.workloads.workload import Semantics, TensorAccess, Workload, access_names

Box = dict[str, range]
"""The iterations of every dim that a tile covers."""
Picked = Mapping[str, Sequence[int]]
"""Iterations of every dim, not always without gaps."""
Element = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Words of one tensor that crossed one boundary."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    tensor: str
    """Name of the tensor."""
    loads_words: int
    """Words moved inwards."""
    stores_words: int
    """Words moved outwards."""


def elements_of(tensor: TensorAccess, box: Picked) -> set[Element]:
    """The tile of a tensor: the product of the values that its subscripts take over a box."""
    sides = [
        {axis.offset + sum(value) for value in itertools.product(*([c * i for i in box[d]] for d, c in axis.terms))}
        for axis in tensor.axes
    ]
    return set(itertools.product(*sides))


LOOKS = 2**14
"""How much work is done between two looks at the clock."""


class Budget:
    """Stops a walk that would take too long, or longer than the answer that is being made may take."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spent = 0
        self._look = LOOKS
        self._clock = current()

    def elements(self, tensor: TensorAccess, box: Picked) -> set[Element]:
        """The elements of a tile, if there is still budget for them."""
        sizes = {d: len(r) for d, r in box.items()}
        self.spend(tensor.footprint(sizes) + sum(prod(sizes[d] for d in axis.dims) for axis in tensor.axes))
        return elements_of(tensor, box)

    def spend(self, work: int) -> None:
        """Account for so many elements or tiles.

        Raises:
            LimitError: if that is more than is left, or if the time is over.
        """
        self._spent += work
        if self._spent > self._look:
            self._look = self._spent + LOOKS
            self._clock.check()
        self.afford(0)

    def afford(self, work: int) -> None:
        """Say at once that so many elements or tiles will be too many.

        Raises:
            LimitError: if they are more than are left.
        """
        if self._spent + work > self._limit:
            raise LimitError(
                f"the walk handles more than {self._limit:,} tiles and elements; use smaller extents or raise the limit"
            )


class WalkTally:
    """Loads and stores of one tensor at one boundary, in elements."""

    def __init__(self, workload: Workload, tensor: TensorAccess, name: str) -> None:
        self.tensor = tensor
        self.name = name
        self.weight = workload.weight(tensor)
        self.is_output = tensor is workload.output
        self._creates = self.is_output and workload.semantics is Semantics.ASSIGN
        self._seen: set[Element] = set()
        self.loads = 0
        self.stores = 0

    def fetch(self, element: Element) -> None:
        """One element enters; a first touch under `assign` creates it instead of loading it."""
        if self._creates and element not in self._seen:
            self._seen.add(element)
        else:
            self.loads += 1

    def enter(self, elements: set[Element]) -> None:
        """Elements enter and, if they belong to the output, leave again later."""
        for element in elements:
            self.fetch(element)
        if self.is_output:
            self.stores += len(elements)

    def result(self, between: tuple[str, str]) -> Moved:
        """What moved across a boundary."""
        return Moved(
            between=between,
            tensor=self.name,
            loads_words=self.loads * self.weight,
            stores_words=self.stores * self.weight,
        )


def tallies_of(workload: Workload) -> list[WalkTally]:
    """One tally per access, output first."""
    return [WalkTally(workload, t, name) for t, name in zip(workload.tensors, access_names(workload), strict=True)]
