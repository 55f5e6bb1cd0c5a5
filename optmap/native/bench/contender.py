"""One way to compute a workload, ready to be called and timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optmap.native.run.layouts import empty
from optmap.workloads.workload import Workload

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contender:
    """A function in memory with its operands in the layouts that it wants."""

    library: str
    """Who it is of: `optmap`, a name of `LIBRARIES`, or `peak`."""
    variant: str
    """Which of its ways, as formats and implementation."""
    function: int
    """Address of a C function of one pointer."""
    context: int
    """The pointer."""
    operands: tuple[Array, ...] | None
    """Buffers that a call reads and writes, output first, of which flushed caches have no line; None if they cannot be
    named."""
    result: Callable[[], Array] | None
    """The output of the last call, in the statement's order of subscripts; None of what computes nothing.

    Ways of a library may write to the same memory: it is read before another one is called.
    A call of a library that failed is told here: SolverUnavailableError."""
    kept: tuple[object, ...] = ()
    """What must live as long."""

    @property
    def title(self) -> str:
        """Library and variant."""
        return f"{self.library} {self.variant}"


class Baseline(Protocol):
    """A library that computes workloads."""

    @property
    def name(self) -> str:
        """As it is asked for."""
        ...

    @property
    def version(self) -> str:
        """As it says itself."""
        ...

    def prepare(self, workload: Workload, inputs: tuple[Array, ...], threads: int) -> tuple[Contender, ...]:
        """Its ways to compute a workload, operands already in their formats.

        Args:
            workload: with implicit padding where the library is to leave it out.
            inputs: in the order of the workload's inputs and of the statement's subscripts; elements that exist only.
            threads: that a call uses.

        Returns:
            None of them if the library cannot compute such a workload.

        Raises:
            SolverUnavailableError: if the library fails, with what it says.
        """
        ...


def touched(count: int) -> NDArray[np.uint8]:
    """A buffer of so many bytes at the start of a line, every page of it touched: calls are timed, not page faults."""
    buffer: NDArray[np.uint8] = empty((count,), np.dtype(np.uint8))
    buffer[:] = 0
    return buffer
