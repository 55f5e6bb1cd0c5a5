"""Seconds per call of a contender, warm or with flushed caches, by a loop in C."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import resources

from optmap.errors import InputError
from optmap.native.bench.contender import Contender
from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.libraries import load_library


def c_text(name: str) -> str:
    """A C file of this room."""
    return resources.files("optmap.native.bench").joinpath(name).read_text(encoding="utf-8")


@cache
def clock_library() -> ctypes.CDLL:
    """The compiled clock.

    Raises:
        SolverUnavailableError: if there is no compiler.
    """
    library = load_library(build_library(c_text("clock.c")))
    library.bench_warm.restype = library.bench_cold.restype = ctypes.c_double
    return library


def address(function: object) -> int:
    """Where a C function of a loaded library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type] # functions are pointers, too


def warm_seconds(contender: Contender, *, least: int = 1, seconds: float = 0.0) -> float:
    """Seconds per call of calls in a row: `least` of them, then as many again until they took so many seconds."""
    return float(
        clock_library().bench_warm(
            ctypes.c_void_p(contender.function),
            ctypes.c_void_p(contender.context),
            ctypes.c_long(least),
            ctypes.c_double(seconds),
        )
    )


def cold_seconds(contender: Contender, calls: int = 1) -> float:
    """Seconds per call, of calls before each of which no cache has a line of the operands.

    Raises:
        InputError: on a processor whose lines cannot be thrown out by a program, or if the operands are not known.
    """
    library = clock_library()
    if contender.operands is None:
        raise InputError(
            f"{contender.title}: its buffers cannot be named, so they stay in the caches; use --caches warm"
        )
    if not library.bench_can_flush():
        raise InputError("lines cannot be thrown out of the caches of this processor; use --caches warm")
    count = len(contender.operands)
    starts = (ctypes.c_void_p * count)(*(buffer.ctypes.data for buffer in contender.operands))
    sizes = (ctypes.c_long * count)(*(buffer.nbytes for buffer in contender.operands))
    return float(
        library.bench_cold(
            ctypes.c_void_p(contender.function),
            ctypes.c_void_p(contender.context),
            ctypes.c_long(calls),
            starts,
            sizes,
            ctypes.c_long(count),
        )
    )
