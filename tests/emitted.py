"""Running emitted code beside an independent walk of the statement, many codes in one program.

Values are small whole numbers, so that every sum is exact in whatever order it is made, and answers are equal or wrong.
Buffers have exactly their size: with the address sanitizer every access beside them is seen.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from optmap.native import Code, build_program, pack, unpack
from optmap.workloads.workload import Semantics


def find_processor() -> str:
    """What the system says of the processor."""
    tables = Path("/proc/cpuinfo")
    return tables.read_text() if tables.exists() else ""


STRICT = ("-Wall", "-Wextra", "-Werror")
SANITIZED = ("-fopenmp", "-O1", "-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *STRICT)
SHORTER = ("-march=haswell",) if "avx2" in find_processor() else ("-march=native",)
"""Vectors of 32 bytes where the machine at hand has them."""
TYPES = {32: np.float32, 64: np.float64}
LARGEST = 2_000_000
"""Points of an iteration space that are walked."""

_DRIVER = """
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
static void *room(size_t bytes) {
  void *found = 0;
  if (posix_memalign(&found, 64, bytes ? bytes : 1)) exit(9);
  return found;
}
static void *take(size_t bytes) {
  void *found = room(bytes);
  if (fread(found, 1, bytes, stdin) != bytes) exit(8);
  return found;
}
static void give(const void *buffer, size_t bytes) {
  if (fwrite(buffer, 1, bytes, stdout) != bytes) exit(7);
}
"""


def values_of(code: Code, seed: int) -> list[np.ndarray]:
    """Contents per buffer in the order of the statement; a tensor that is read again is one array."""
    rng = np.random.default_rng(seed)
    known: dict[str, np.ndarray] = {}
    for buffer in code.buffers:
        known.setdefault(buffer.tensor, np.asarray(rng.integers(-8, 9, buffer.shape), TYPES[buffer.bits]))
    return [known[buffer.tensor] for buffer in code.buffers]


def expected(code: Code, values: list[np.ndarray]) -> np.ndarray:
    """What the statement says, all points of the iteration space at once."""
    workload = code.workload
    assert workload.operations <= LARGEST
    out = values[0].astype(np.float64)
    if workload.semantics is Semantics.ASSIGN:
        out[...] = 0
    points = np.indices([n for _, n in workload.sizes]).reshape(len(workload.sizes), -1)
    at = dict(zip(workload.dims, points, strict=True))
    count = points.shape[1]
    done = np.ones(count, dtype=bool)
    places: list[list[Any]] = []
    for tensor, buffer in zip(workload.tensors, code.buffers, strict=True):
        places.append([])
        for axis, origin in zip(tensor.axes, buffer.origin, strict=True):
            index = axis.offset + sum((c * at[d] for d, c in axis.terms), np.zeros(count, dtype=int))
            if axis.real is not None:
                done &= (index >= axis.real[0]) & (index <= axis.real[1])
            places[-1].append(index - origin)
    products = np.ones(int(done.sum()))
    for value, place in zip(values[1:], places[1:], strict=True):
        products = products * value.astype(np.float64)[tuple(p[done] for p in place)]
    where = tuple(p[done] for p in places[0]) or (np.zeros(len(products), dtype=int),)
    np.add.at(out.reshape(out.shape or (1,)), where, products)  # a view
    return out


def run_together(
    codes: list[Code],
    contents: list[list[np.ndarray]],
    flags: tuple[str, ...],
    folder: Path,
    emulator: tuple[str, ...] = (),
) -> list:
    """The output of every code on its contents, in the order of its statement.

    The codes have different names of entries. An output under `assign` is not a number before. An emulator runs what
    is built for another processor.
    """
    sources = {f"code{number}.c": code.source for number, code in enumerate(codes)}
    calls = "".join(_call(code) for code in codes)
    program = build_program(
        {**sources, "main.c": f"{_DRIVER}{_declarations(codes)}\nint main(void) {{\n{calls}  return 0;\n}}\n"},
        flags=flags,
        folder=folder,
    )
    given = b"".join(_bytes_of(code, values) for code, values in zip(codes, contents, strict=True))
    ran = subprocess.run([*emulator, str(program)], input=given, capture_output=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr.decode()[-4000:]
    answers, start = [], 0
    for code in codes:
        buffer = code.buffers[0]
        size = buffer.layout.size(buffer.shape)
        flat = np.frombuffer(ran.stdout, TYPES[buffer.bits], size, start)
        start += size * buffer.bits // 8
        answers.append(unpack(buffer.layout, flat, buffer.shape))
    assert start == len(ran.stdout)
    return answers


def check_together(codes: list[Code], flags: tuple[str, ...], folder: Path, emulator: tuple[str, ...] = ()) -> None:
    """Refuse, in words, the first code that is wrong somewhere."""
    contents = [values_of(code, seed) for seed, code in enumerate(codes)]
    answers = run_together(codes, contents, flags, folder, emulator)
    for code, values, found in zip(codes, contents, answers, strict=True):
        wanted = expected(code, values)
        wrong = np.argwhere(found.astype(np.float64) != wanted)
        if len(wrong):
            first = tuple(wrong[0])
            raise AssertionError(
                f"{len(wrong)} of {wanted.size} elements are wrong, the first at {first}: {found[first]}, not "
                f"{wanted[first]}\n{code.workload.expression} {code.workload.extents} {code.kernel}\n{code.options}\n"
                f"{code.mapping}"
            )


def _bytes_of(code: Code, values: list[np.ndarray]) -> bytes:
    """What the driver reads: every buffer as the functions take it; packed ones plain."""
    parts = []
    for number, (buffer, value) in enumerate(zip(code.buffers, values, strict=True)):
        used = np.full_like(value, np.nan) if number == 0 and code.workload.semantics is Semantics.ASSIGN else value
        parts.append((np.ascontiguousarray(used) if buffer.packed else pack(buffer.layout, used)).tobytes())
    return b"".join(parts)


def _types(code: Code) -> list[str]:
    return ["float" if buffer.bits == 32 else "double" for buffer in code.buffers]


def packing_names(code: Code) -> list[str]:
    """Name of the function per buffer, whether it is packed or not."""
    return [f"{code.entry}_pack_{name}" for name in code.names]


def _declarations(codes: list[Code]) -> str:
    lines = []
    for code in codes:
        arguments = [f"const {kind} *" for kind in _types(code)]
        arguments[0] = arguments[0].removeprefix("const ")
        lines.append(f"void {code.entry}({', '.join([*arguments, *(['void *'] if code.workspace else [])])});")
        for name, kind, buffer in zip(packing_names(code), _types(code), code.buffers, strict=True):
            if buffer.packed:
                lines.append(f"void {name}(const {kind} *, {kind} *);")
    return "\n".join(lines)


def _call(code: Code) -> str:
    lines, names = [], []
    for number, (buffer, kind) in enumerate(zip(code.buffers, _types(code), strict=True)):
        bytes_each = buffer.bits // 8
        plain = int(np.prod(buffer.shape)) * bytes_each
        size = buffer.layout.size(buffer.shape) * bytes_each
        lines.append(f"{kind} *b{number} = take({plain if buffer.packed else size});")
        names.append(f"b{number}")
        if buffer.packed:
            lines.append(f"{kind} *p{number} = room({size}); {packing_names(code)[number]}(b{number}, p{number});")
            names[-1] = f"p{number}"
    size = code.buffers[0].layout.size(code.buffers[0].shape) * code.buffers[0].bits // 8
    if code.workspace:
        lines.append(f"void *work = room({code.workspace});")
        names.append("work")
    made = [*(f"b{n}" for n in range(len(code.buffers))), *(name for name in names if name[0] != "b")]
    frees = " ".join(f"free({name});" for name in made)
    return f"  {{ {' '.join(lines)} {code.entry}({', '.join(names)}); give(b0, {size}); {frees} }}\n"
