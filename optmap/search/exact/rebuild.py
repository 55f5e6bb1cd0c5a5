"""From the choices along a label's path to the nest."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.arrays import Ints
from optmap.mappings.nest import MemoryNest, Nest
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.labels import Labels
from optmap.search.exact.steps import MemorySteps


@dataclass(slots=True)
class LabelTrace:
    """The choices of all labels that were kept at one level, for the way back."""

    tile: Ints
    """Extents at the level, per label that entered it."""
    origin: Ints
    """Row in the labels at the level outside (-1 none)."""
    choice: Ints
    """(split, signature, keep set) at the level outside."""

    @classmethod
    def of(cls, frame: ExactFrame, labels: Labels) -> LabelTrace:
        """Of labels as they entered a level."""
        return cls(frame.values(labels.tile), labels.origin, labels.choice)


def nest_from(
    frame: ExactFrame, levels: list[MemorySteps], traces: list[LabelTrace], *, row: int, split: int, keeps: int
) -> Nest:
    """The nest of a whole mapping.

    Args:
        frame: of the search.
        levels: inner first.
        traces: per level, inner first.
        row: of the label at the innermost level.
        split: chosen at the innermost level.
        keeps: operands kept there.
    """
    found = []
    inside: tuple[int, ...] = (1,) * frame.dims
    order: tuple[int, ...] = ()
    for number, level in enumerate(levels):
        tile = tuple(int(n) for n in traces[number].tile[row])
        x, y = level.splits.x[split], level.splits.y[split]
        trips = [n // (i * int(a) * int(b)) for n, i, a, b in zip(tile, inside, x, y, strict=True)]
        if not number:
            present = sum(1 << dim for dim, n in enumerate(trips) if n > 1)
            order = level.table.signatures[int(level.table.numbers(present)[0])].order
        found.append(
            MemoryNest(
                x=tuple(map(int, x)),
                y=tuple(map(int, y)),
                temporal=tuple((dim, trips[dim]) for dim in order if trips[dim] > 1),
                keeps=tuple(bool(keeps >> operand & 1) for operand in range(frame.operands)),
            )
        )
        inside = tile
        if number + 1 < len(levels):
            split, signature, keeps = (int(n) for n in traces[number].choice[row])
            order = levels[number + 1].table.signatures[signature].order
            row = int(traces[number].origin[row])
    return Nest(memories=tuple(found))
