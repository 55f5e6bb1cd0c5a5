"""The one clock that everything is timed with: calls of C functions in a row, by a loop in C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Protocol

from numpy.typing import NDArray

from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.libraries import load_library


class Called(Protocol):
    """A C function of one pointer, with that pointer."""

    @property
    def function(self) -> int:
        """Its address."""
        ...

    @property
    def context(self) -> int:
        """The pointer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """A C function of one pointer to pointers, with the memory that these point to."""

    function: int
    context: int
    operands: tuple[NDArray[Any], ...]
    """In the order of the pointers."""
    kept: tuple[object, ...]
    """What else must live as long."""


@cache
def clock_library() -> ctypes.CDLL:
    """The compiled clock.

    Raises:
        SolverUnavailableError: if there is no compiler.
    """
    text = resources.files(__package__).joinpath("clock.c").read_text(encoding="utf-8")
    library = load_library(build_library(text))
    library.bench_warm.restype = library.bench_cold.restype = ctypes.c_double
    return library


def address(function: object) -> int:
    """Where a C function of a loaded library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type] # functions are pointers, too


def bound_call(function: object, operands: Sequence[NDArray[Any]]) -> Call:
    """A function of a loaded library on the memory of arrays.

    Args:
        function: takes the pointers to all of them as one array.
        operands: in the order of these pointers.
    """
    places = (ctypes.c_void_p * len(operands))(*(each.ctypes.data for each in operands))
    return Call(
        function=address(function), context=ctypes.addressof(places), operands=tuple(operands), kept=(places, function)
    )


def warm_seconds(called: Called, *, least: int = 1, seconds: float = 0.0) -> float:
    """Seconds per call of calls in a row: `least` of them, then as many again until they took so many seconds."""
    return float(
        clock_library().bench_warm(
            ctypes.c_void_p(called.function),
            ctypes.c_void_p(called.context),
            ctypes.c_long(least),
            ctypes.c_double(seconds),
        )
    )
