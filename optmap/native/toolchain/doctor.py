"""Whether there is a C compiler, and whether what it builds runs."""

from __future__ import annotations

import ctypes
import tempfile
from dataclasses import dataclass
from pathlib import Path

from optmap.base.errors import OptmapError
from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.compiler import INSTALL, find_compiler
from optmap.native.toolchain.libraries import load_library

SAMPLE = "double half(double x);\ndouble half(double x) { return x / 2; }\n"
"""C that is built."""
EXPECTED = 1.5
"""Half of 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerReport:
    """What is known about the C compiler of this machine."""

    available: bool
    path: str
    """Empty if there is none."""
    version: str
    """First line of what it says of itself."""
    passed: bool
    """Whether a sample is built, loaded and right."""
    message: str
    """Why it is not there, or what went wrong with the sample."""
    install: str
    """What installs one."""


def examine_compiler() -> CompilerReport:
    """Find the compiler, and build a sample with it."""
    path, version, message, passed = "", "", "", False
    try:
        compiler = find_compiler()
        path, version = str(compiler.path), compiler.version
        with tempfile.TemporaryDirectory() as folder:
            half = load_library(build_library(SAMPLE, folder=Path(folder))).half
            half.restype, half.argtypes = ctypes.c_double, (ctypes.c_double,)
            passed = half(2 * EXPECTED) == EXPECTED
    except OptmapError as error:
        message = str(error)
    return CompilerReport(
        available=bool(path), path=path, version=version, passed=passed, message=message, install=INSTALL
    )
