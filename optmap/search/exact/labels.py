"""Labels: mappings that are decided from the outermost memory down to some level, many at once.

What is decided further inside costs the same for two labels of the same tile, except for what a label
carries: the numbers below are all that the rest of a mapping needs to know of its outer part.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.base.rows import Rows, concatenated
from optmap.search.exact.frame import ExactFrame, Tiles


@dataclass(slots=True)
class Labels(Rows):
    """Labels at one level as arrays, a row each (operands, ports and steps of runs in further axes)."""

    tile: Tiles
    """What the level may hold."""
    instances: Floats
    """Of the level, in use."""
    energy: Floats
    """So far, in pJ; the arithmetic is charged from the start."""
    parent: Ints
    """Per operand the innermost memory so far that keeps it, -1 for none."""
    share: Floats
    """Per operand the children that one read of the parent serves."""
    parents: Floats
    """Per operand the instances of its parent."""
    reuse: Floats
    """Per operand trips of the innermost loops so far that do not move it."""
    reduced: Floats
    """Ways of all meshes so far over which the output is summed."""
    reduced_above: Floats
    """The same, of the meshes outside the output's parent."""
    reads: Floats
    """Per kind of run and memory with limited ports: words of the port that one instance reads, so far."""
    writes: Floats
    window: Ints
    """Per operand with windows, the window of its run; -1 for none."""
    step: Ints
    """Per operand with windows, shift of the innermost step of its run."""
    shift: Ints
    """(label, operand with windows, step of the run): net shift of the tile at this step, -1 for none."""
    count: Floats
    """How often one instance makes this step."""
    origin: Ints
    """Row in the labels of the level outside, as they were kept."""
    choice: Ints
    """(split, signature, keep set at the level outside)."""

    def __len__(self) -> int:
        return len(self.energy)

    def take(self, rows: Ints) -> Labels:
        """Some of them, or some several times."""
        return Labels(*(getattr(self, field.name).take(rows, axis=0) for field in fields(self)))


def joined(parts: list[Labels]) -> Labels:
    """Labels of the same level in one."""
    steps = max(part.shift.shape[2] for part in parts)
    for part in parts:
        missing = steps - part.shift.shape[2]
        if missing:
            part.shift = np.pad(part.shift, ((0, 0), (0, 0), (0, missing)), constant_values=-1)
            part.count = np.pad(part.count, ((0, 0), (0, 0), (0, missing)))
    return concatenated(parts)


def root(frame: ExactFrame) -> Labels:
    """The one label at the outermost memory: nothing is decided."""
    operands, slides, ports = frame.operands, len(frame.sliding), len(frame.runs) * len(frame.limited)
    ones = np.ones((1, operands))
    return Labels(
        tile=frame.whole.copy(),
        instances=np.ones(1),
        energy=np.array([frame.arithmetic]),
        parent=np.full((1, operands), -1),
        share=ones.copy(),
        parents=ones.copy(),
        reuse=ones.copy(),
        reduced=np.ones(1),
        reduced_above=np.ones(1),
        reads=np.zeros((1, ports)),
        writes=np.zeros((1, ports)),
        window=np.full((1, slides), -1),
        step=np.zeros((1, slides), np.int64),
        shift=np.full((1, slides, 1), -1),
        count=np.zeros((1, slides, 1)),
        origin=np.zeros(1, np.int64),
        choice=np.zeros((1, 3), np.int64),
    )
