"""From sources to shared objects and programs, built once per code, compiler, flags and processor."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path

from optmap.errors import CheckError, InputError
from optmap.native.toolchain.compiler import COMMON, Compiler, find_compiler

FOLDER = "OPTMAP_BUILD_DIR"
"""Environment variable that names the folder of what was built."""
NATIVE = ("-march=native",)
"""For the machine at hand; what is only compiled for another names its own."""


def build_folder() -> Path:
    """Where built objects are kept: `OPTMAP_BUILD_DIR`, or a folder of the user's cache."""
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "optmap" / "build"


def build_library(source: str, *, flags: Iterable[str] = NATIVE, folder: Path | None = None) -> Path:
    """A shared object of one C file.

    Args:
        source: text of the file.
        flags: beside `COMMON`; machine flags such as `-march=native`, or `-fopenmp`.
        folder: where it is kept; `build_folder()` if left out.

    Raises:
        SolverUnavailableError: if there is no compiler.
        CheckError: if it does not compile, with what the compiler says.
        InputError: if the folder cannot be written to.
    """
    return _build({"code.c": source}, ("-shared", "-fPIC", *flags), "so", folder)


def build_program(sources: dict[str, str], *, flags: Iterable[str] = NATIVE, folder: Path | None = None) -> Path:
    """A program of C files and headers by name; `flags`, `folder` and errors as for `build_library`."""
    return _build(sources, tuple(flags), "run", folder)


def _build(sources: dict[str, str], flags: tuple[str, ...], ending: str, folder: Path | None) -> Path:
    compiler, kept = find_compiler(), folder or build_folder()
    target = kept / f"{_digest(compiler, sources, flags)}.{ending}"
    if target.exists():
        return target
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as scratch:
            made = Path(scratch) / "made"
            for name, text in sources.items():
                (Path(scratch) / name).write_text(text)
            files = tuple(str(Path(scratch) / name) for name in sources if name.endswith(".c"))
            said = compiler.run((*COMMON, *flags, "-o", str(made), *files, "-lm"))
            if said.returncode:
                raise CheckError(f"{compiler.path} refuses the code:\n{said.stderr.strip()[-2000:]}")
            made.replace(target)  # whole or not at all, whoever else builds the same
    except OSError as error:
        raise InputError(f"{kept}: cannot be written to: {error.strerror}; name another folder by {FOLDER}") from error
    return target


def _digest(compiler: Compiler, sources: dict[str, str], flags: tuple[str, ...]) -> str:
    """Of all that decides what is built; `-march=native` means another thing on another processor."""
    parts = (str(compiler.path), compiler.version, *COMMON, *flags, platform.machine(), _processor())
    texts = (*parts, *(f"{name}\n{text}" for name, text in sorted(sources.items())))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def _processor() -> str:
    """The instructions that the processor offers, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
