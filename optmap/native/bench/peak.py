"""Multiply-adds on registers alone, timed in the same rounds as all others: a clock that drifts meets them, too."""

from __future__ import annotations

import ctypes

from optmap.machines.core import Core
from optmap.native.bench.contender import Contender
from optmap.native.host.probes import probe_source, sums_of
from optmap.native.run.clock import address
from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.libraries import load_library

PEAK = "peak"
TURNS = 4000
"""Of the loop in one call: tens of microseconds."""
CALL = """
void bench_peak(void *turns);
void bench_peak(void *turns) { fma_many(*(long *)turns); }
"""


def peak_way(core: Core) -> Contender:
    """A way that computes nothing as fast as one core can, of 4-byte elements."""
    library = load_library(build_library(probe_source(core.vector_bytes, core.registers) + CALL))
    turns = ctypes.c_long(TURNS)
    return Contender(
        library=PEAK,
        variant="multiply-adds",
        function=address(library.bench_peak),
        context=ctypes.addressof(turns),
        operands=(),
        result=None,
        kept=(turns, library),
    )


def peak_operations(core: Core, bits: int) -> int:
    """Multiply-adds of elements of so many bits that a core can do in the time of one call of `peak_way`."""
    return TURNS * sums_of(core.registers) * core.lanes(bits)
