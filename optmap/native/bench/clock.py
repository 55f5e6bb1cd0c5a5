"""Seconds per call of a contender with flushed caches, by the clock that everything is timed with."""

from __future__ import annotations

import ctypes
from importlib import resources

from optmap.base.errors import InputError
from optmap.native.bench.contender import Contender
from optmap.native.run.clock import clock_library


def c_text(name: str) -> str:
    """A C file of this room."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


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
