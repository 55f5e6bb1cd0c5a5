"""Compiled loops that use one thing of a core and nothing else, timed against its own clock.

Every slice of work is followed by a chain of integer additions, one cycle each on every processor there is, so that
rates come out per cycle of the clock that the core has while it does that very work.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from optmap.base.errors import LimitError
from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.libraries import load_library

UNROLLED = 32
"""Vectors that one turn of a stream's loop reads or writes."""
ADDS = 1 << 15
"""Additions of the chain that shows the clock."""
AROUND = 5
"""Chains before a slice, and after it, that its clock is the fastest of."""
SHORTEST_S = 5e-5
"""Of a slice; a thousand times what reading the time takes."""
SLICES = 1 << 14
"""Most slices of one run."""
SETTLE_S = 0.02
"""Between the first touch of the buffers and the common start of all threads."""
WARM = 4
"""One of so many slices at the beginning is left out: caches, translation and frequency settle."""


class Probe(IntEnum):
    """What a loop does; the numbers are those of `run` in the source."""

    FMA_LATENCY = 0
    """Multiply-adds, each on the sum of the one before."""
    FMA = 1
    """Multiply-adds on many independent sums."""
    READ = 2
    """Vector loads, one after the other through a buffer."""
    WRITE = 3
    """Vector stores, likewise."""


SOURCE = r"""
#define _POSIX_C_SOURCE 199309L
#include <stddef.h>
#include <time.h>

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
#if defined(__AVX512F__)
#define IN_REGISTER "v"
#elif defined(__x86_64__)
#define IN_REGISTER "x"
#else
#define IN_REGISTER "w"
#endif
/* Nothing is executed: the compiler must have the value in a register, and may not know it afterwards. */
#define UNKNOWN(x) __asm__ volatile("" : "+" IN_REGISTER(x))
#define LOADED(x) __asm__ volatile("" : : IN_REGISTER(x))

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static vec one(float value) {
    vec x = {0};
    x += value;
    UNKNOWN(x);
    return x;
}

/* A chain of 16 n additions, one cycle each. */
static unsigned long chain(long n) {
    unsigned long x = 1, y = 3;
    __asm__ volatile("" : "+r"(x), "+r"(y));
    for (long i = 0; i < n; i++) {
#define ADD x += y; __asm__ volatile("" : "+r"(x));
        ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
    }
    return x;
}

static void fma_latency(long n) {
    vec a = one(1.25f), b = one(0.75f), x = {0};
    for (long i = 0; i < n; i++) {
#define STEP UNKNOWN(a); x = a * b + x;
        STEP STEP STEP STEP STEP STEP STEP STEP
    }
    LOADED(x);
}

static void fma_many(long n) {
    vec a = one(1.25f), b = one(0.75f);
SUMS_BEGIN
    for (long i = 0; i < n; i++) {
SUMS_STEP
    }
SUMS_END
}

/* Round and round in the buffer, without a branch that fails at its end. */
#define ROUND(body) \
    char *p = *place, *end = buffer + bytes; \
    for (long i = 0; i < turns; i++) { \
        body \
        p += UNROLLED * VECTOR_BYTES; \
        p = p == end ? buffer : p; \
    } \
    *place = p;

static void read_all(char *buffer, long bytes, char **place, long turns) {
    ROUND(
READS
    )
}

static void write_all(char *buffer, long bytes, char **place, long turns) {
    vec x = one(1.25f);
    ROUND(
WRITES
    )
}

/* `work` times 8 dependent or as many independent multiply-adds as there are sums, or UNROLLED vectors. */
static void slice(int kind, char *buffer, long bytes, char **place, long work) {
    if (kind == 0) fma_latency(work);
    else if (kind == 1) fma_many(work);
    else if (kind == 2) read_all(buffer, bytes, place, work);
    else write_all(buffer, bytes, place, work);
}

/* First touch, by the thread that will use it. */
void touch(char *buffer, long bytes);
void touch(char *buffer, long bytes) {
    char *place = buffer;
    write_all(buffer, bytes, &place, bytes / (UNROLLED * VECTOR_BYTES));
}

/* Slices from `start` on for `seconds`: how long each took, and how long the chain of `adds` after it.
   A slice is as long as `shortest` seconds; there are eight at least, however late the thread comes.
   Returns the number of slices; *work is what each did, as in `slice`. */
long run(int kind, char *buffer, long bytes, double start, double seconds, double shortest, long adds, long most,
         double *took, double *chained, long *work);
long run(int kind, char *buffer, long bytes, double start, double seconds, double shortest, long adds, long most,
         double *took, double *chained, long *work) {
    char *place = buffer;
    long size = 64;
    for (int calm = 0; calm < 3; ) {
        double begin = now();
        slice(kind, buffer, bytes, &place, size);
        if (now() - begin < shortest) { size *= 2; calm = 0; } else calm++;
    }
    while (now() < start) { }
    long count = 0;
    for (double end = start + seconds; count < 8 || (count < most && now() < end); count++) {
        double begin = now();
        slice(kind, buffer, bytes, &place, size);
        double between = now();
        unsigned long x = chain(adds / 16);
        __asm__ volatile("" : : "r"(x));
        took[count] = between - begin;
        chained[count] = now() - between;
    }
    *work = size;
    return count;
}
"""


def probe_source(vector_bytes: int, registers: int) -> str:
    """The loops for vectors of so many bytes, with as many sums as registers allow beside two factors."""
    sums = range(sums_of(registers))
    texts = {
        "SUMS_BEGIN": "\n".join(f"    vec s{i} = {{0}};" for i in sums),
        "SUMS_STEP": "\n".join(f"        UNKNOWN(a); s{i} = a * b + s{i};" for i in sums),
        "SUMS_END": "\n".join(f"    LOADED(s{i});" for i in sums),
        "READS": "\n".join(
            f"        {{ vec x = *(const vec *)(p + {i} * VECTOR_BYTES); LOADED(x); }}" for i in range(UNROLLED)
        ),
        "WRITES": "\n".join(f"        *(vec *)(p + {i} * VECTOR_BYTES) = x;" for i in range(UNROLLED)),
    }
    source = SOURCE
    for name, text in texts.items():
        source = source.replace(f"\n{name}\n", f"\n{text}\n")
    return f"#define VECTOR_BYTES {vector_bytes}\n#define UNROLLED {UNROLLED}\n{source}"


def sums_of(registers: int) -> int:
    """Independent sums of the loop of multiply-adds: as many as leave four registers free."""
    return max(registers - 4, 1)


Timed = tuple[list[float], list[float], int]
"""Seconds of each slice, of the chain after it, and the work of a slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """What one thread measured."""

    rates: tuple[float, ...]
    """Vector multiply-adds or bytes per cycle, slice by slice."""
    clocks: tuple[float, ...]
    """Cycles per second after each slice."""


def slices_of(took: list[float], chained: list[float], work: float) -> Slices:
    """Rates from times.

    The cycle is that of the fastest chain around a slice: nothing makes a chain too fast, others make it slow.

    Args:
        took: seconds of each slice.
        chained: seconds of the chain of additions after it.
        work: units in each slice.
    """
    around = [min(chained[max(place - AROUND, 0) : place + AROUND + 1]) for place in range(len(took))]
    clocks = tuple(ADDS / seconds for seconds in around)
    rates = tuple(work / (seconds * clock) for seconds, clock in zip(took, clocks, strict=True))
    settled = len(took) // WARM
    return Slices(rates=rates[settled:], clocks=clocks[settled:])


class Probes:
    """The compiled loops for one kind of core."""

    def __init__(self, vector_bytes: int, registers: int, folder: Path | None = None) -> None:
        """Compile them, or take what was compiled before.

        Args:
            vector_bytes: of one vector register.
            registers: vector registers.
            folder: where built objects are kept.

        Raises:
            SolverUnavailableError: if there is no compiler.
            CheckError: if it refuses the code.
            InputError: if the folder cannot be written to.
        """
        self.turn = UNROLLED * vector_bytes
        self._sums = sums_of(registers)
        library = load_library(build_library(probe_source(vector_bytes, registers), folder=folder))
        self._run, self._touch = library.run, library.touch
        doubles = ctypes.POINTER(ctypes.c_double)
        self._run.restype = ctypes.c_long
        self._run.argtypes = [
            *(ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_double, ctypes.c_double, ctypes.c_double),
            *(ctypes.c_long, ctypes.c_long, doubles, doubles, ctypes.POINTER(ctypes.c_long)),
        ]
        self._touch.restype = None
        self._touch.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def measure(self, probe: Probe, cpus: tuple[int, ...], seconds: float, size: int = 0) -> tuple[Slices, ...]:
        """Run one loop on every processor of `cpus` at the same time, each thread on its own buffer.

        Args:
            probe: which one.
            cpus: numbers of processors; threads are bound to them where the system can do that.
            seconds: how long.
            size: bytes of each buffer, rounded to whole turns of the loop; of no meaning to multiply-adds.

        Returns:
            What each thread measured.

        Raises:
            LimitError: if the system has no memory for the buffers.
        """
        size = max(round(size / self.turn), 1) * self.turn
        units = {Probe.FMA_LATENCY: 8.0, Probe.FMA: float(self._sums)}.get(probe, float(self.turn))
        waiting = threading.Barrier(len(cpus))
        with contextlib.ExitStack() as held:
            try:
                buffers = [held.enter_context(mmap.mmap(-1, size)) for _ in cpus]
            except OSError as error:
                raise LimitError(f"no memory for buffers of {size:,} bytes: {error.strerror}") from error
            pool = held.enter_context(ThreadPoolExecutor(len(cpus)))
            runs = [
                pool.submit(self._slices, probe, cpu, seconds, buffer, waiting)
                for cpu, buffer in zip(cpus, buffers, strict=True)
            ]
            timed = [run.result() for run in runs]
        return tuple(slices_of(took, chained, work * units) for took, chained, work in timed)

    def _slices(self, probe: Probe, cpu: int, seconds: float, buffer: mmap.mmap, waiting: threading.Barrier) -> Timed:
        bind(cpu)
        took, chained = ((ctypes.c_double * SLICES)() for _ in range(2))
        work = ctypes.c_long()
        size = len(buffer)
        exported = ctypes.c_char.from_buffer(buffer)
        place = ctypes.addressof(exported)
        self._touch(place, size)
        waiting.wait()
        start = time.monotonic() + SETTLE_S
        count = self._run(
            probe, place, size, start, seconds, SHORTEST_S, ADDS, SLICES, took, chained, ctypes.byref(work)
        )
        del exported  # the buffer cannot be closed before
        return took[:count], chained[:count], work.value


def bind(cpu: int) -> None:
    """Keep the thread that calls on one processor, where the system can do that and allows it."""
    if hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {cpu})
