"""From sources to shared objects and programs, built once per code, compiler, flags and processor."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from optmap.base.errors import CheckError, InputError
from optmap.native.toolchain.compiler import COMMON, Compiler, find_compiler

FOLDER = "OPTMAP_BUILD_DIR"
"""Environment variable that names the folder of what was built."""
SUM = "sum"
"""File of an entry that holds the SHA-256 of the object beside it."""
NATIVE = ("-march=native",)
"""For the machine at hand; what is only compiled for another names its own."""


def build_folder() -> Path:
    """Where built objects are kept: `OPTMAP_BUILD_DIR`, or a folder of the user's cache.

    For a user without a home that can be written, a folder that ends with the process.
    """
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "optmap" / "build"
        there = next(place for place in (folder, *folder.parents) if place.exists())
        usable = os.access(there, os.W_OK | os.X_OK)
    except (OSError, RuntimeError):  # a home that may not be looked into, or none
        usable = False
    return folder if usable else Path(_passing_folder().name)


@cache
def _passing_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process alone; it is removed at its end."""
    return tempfile.TemporaryDirectory(prefix="optmap-build-")


def flags_of(threads: int) -> tuple[str, ...]:
    """Flags for emitted code on the machine at hand: with OpenMP where several threads share the work."""
    return (*NATIVE, "-fopenmp") if threads > 1 else NATIVE


def build_library(
    source: str | Mapping[str, str], *, flags: Iterable[str] = NATIVE, folder: Path | None = None
) -> Path:
    """A shared object of C files.

    Args:
        source: text of the only file, or the files and headers by name.
        flags: beside `COMMON`; machine flags such as `-march=native`, or `-fopenmp`.
        folder: where it is kept; `build_folder()` if left out.

    Raises:
        SolverUnavailableError: if there is no compiler.
        CheckError: if it does not compile, with what the compiler says.
        InputError: if the folder cannot be written to.
    """
    sources = {"code.c": source} if isinstance(source, str) else source
    return _build(sources, ("-shared", "-fPIC", *flags), "code.so", folder)


def build_program(sources: Mapping[str, str], *, flags: Iterable[str] = NATIVE, folder: Path | None = None) -> Path:
    """A program of C files and headers by name; `flags`, `folder` and errors as for `build_library`."""
    return _build(sources, tuple(flags), "run", folder)


def _build(sources: Mapping[str, str], flags: tuple[str, ...], name: str, folder: Path | None) -> Path:
    """The object of this name in its entry, which is a folder with the object and the sum of its bytes."""
    compiler, kept = find_compiler(), folder or build_folder()
    entry = kept / _digest(compiler, sources, flags)
    if _whole(entry, name):
        return entry / name
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as scratch:
            made = Path(scratch) / "entry"
            made.mkdir()
            for file, text in sources.items():
                (Path(scratch) / file).write_text(text)
            files = tuple(str(Path(scratch) / file) for file in sources if file.endswith(".c"))
            said = compiler.run((*COMMON, *flags, "-o", str(made / name), *files, "-lm"))
            if said.returncode:
                raise CheckError(f"{compiler.path} refuses the code:\n{said.stderr.strip()[-2000:]}")
            (made / SUM).write_text(_sum(made / name))
            _keep(made, entry, name)
    except OSError as error:
        raise InputError(f"{kept}: cannot be written to: {error.strerror}; name another folder by {FOLDER}") from error
    return entry / name


def _keep(made: Path, entry: Path, name: str) -> None:
    """Put an entry in its place, whole or not at all, whoever else builds the same; a damaged one makes room."""
    try:
        made.rename(entry)
    except OSError:  # there is one
        if _whole(entry, name):
            return
        with contextlib.suppress(FileNotFoundError):  # another process may be mending it, too
            entry.rename(made.with_name("damaged"))
        try:
            made.rename(entry)
        except OSError:
            if not _whole(entry, name):
                raise


def _whole(entry: Path, name: str) -> bool:
    """Whether an entry holds what was once built: a library that is cut off would end the process that loads it."""
    try:
        return (entry / SUM).read_text() == _sum(entry / name)
    except (OSError, ValueError):
        return False


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _digest(compiler: Compiler, sources: Mapping[str, str], flags: tuple[str, ...]) -> str:
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
