"""What passes the port of the memory that an operand still comes from, or goes to, at least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.search.exact.frame import ExactFrame


@dataclass(frozen=True, slots=True)
class ParentPort:
    """Per label the port of the memory that an operand still comes from, or goes to."""

    operand: int
    number: Ints
    """Of the port; -1 for none."""
    served: Floats
    """Words that pass at least if the parent serves the arithmetic; infinite where another memory must."""
    passing: Floats
    """Words of the port of one instance per word."""
    touched: Floats
    """First touches that need no read."""


def add_passing(
    frame: ExactFrame, port: ParentPort, first: Floats, reads: Floats, writes: Floats, *, of: Ints | None = None
) -> None:
    """Adds the words that the present parent still reads and writes of an operand, at least.

    Args:
        frame: of the search.
        port: of labels.
        first: words that the parent reads if another memory keeps the operand, at least; a row each.
        reads: words of ports so far; these are added.
        writes: the same.
        of: the label of each row; None if they are the labels.
    """
    rows = np.flatnonzero((port.number if of is None else port.number[of]) >= 0)
    if not len(rows):
        return
    label = rows if of is None else of[rows]
    least, passing = np.minimum(first[rows], port.served[label]), port.passing[label]
    for number, (_, begun) in enumerate(frame.runs):
        column = port.number[label] + number * len(frame.limited)
        if port.operand == frame.output:
            reads[rows, column] += np.maximum(0.0, least - begun * port.touched[label]) * passing
            writes[rows, column] += least * passing
        else:
            reads[rows, column] += least * passing
