"""Which processor this is, and what vector registers its instructions name."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from optmap.base.errors import SolverUnavailableError
from optmap.native.toolchain.compiler import find_compiler

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vector registers of an instruction set."""

    isa: str
    vector_bytes: int
    registers: int
    fused: bool = True
    """Whether a multiply-add is one instruction."""


AVX512 = Vectors(isa="AVX-512", vector_bytes=64, registers=32)
AVX2 = Vectors(isa="AVX2", vector_bytes=32, registers=16)
NEON = Vectors(isa="NEON", vector_bytes=16, registers=32)
X86 = {
    ("avx512f",): AVX512,
    ("avx2", "fma"): AVX2,
    ("avx",): Vectors(isa="AVX", vector_bytes=32, registers=16, fused=False),
    ("sse2",): Vectors(isa="SSE2", vector_bytes=16, registers=16, fused=False),
}
"""By the flags that a processor has, widest first."""
ARM = ("aarch64", "arm64")
"""NEON belongs to the architecture, and macOS has no flags to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """What the system says of the processor."""

    name: str
    """Empty if it does not say."""
    vectors: Vectors | None
    """None if neither the system nor a compiler tells."""
    virtual: bool
    """Whether it says that it runs below a hypervisor."""


def read_processor(cpuinfo: Path = CPUINFO, machine: str | None = None) -> Processor:
    """Name and vector registers, from the system's description, else from the compiler's macros.

    Args:
        cpuinfo: as Linux writes it; may be missing.
        machine: architecture; that of this machine if left out.
    """
    machine = machine or platform.machine()
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    fields = cpu_fields(text)
    flags = frozenset(fields.get("flags", fields.get("Features", "")).lower().split())
    if machine in ARM:
        vectors: Vectors | None = NEON
    else:
        vectors = vectors_of(flags) or vectors_of(_macros())
    name = fields.get("model name", "") or _arm_name(fields) or platform.processor()
    return Processor(name=" ".join(name.split()), vectors=vectors, virtual="hypervisor" in flags)


def cpu_fields(text: str) -> dict[str, str]:
    """The fields of the first processor in the text of /proc/cpuinfo."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def vectors_of(flags: frozenset[str]) -> Vectors | None:
    """The widest registers that x86 flags name; None for no known flag."""
    return next((found for needed, found in X86.items() if flags.issuperset(needed)), None)


def _arm_name(fields: dict[str, str]) -> str:
    maker, part = fields.get("CPU implementer"), fields.get("CPU part")
    return f"ARM implementer {maker}, part {part}" if maker and part else ""


def _macros() -> frozenset[str]:
    """Flags that the compiler's own macros for this machine stand for; empty without a compiler."""
    try:
        said = find_compiler().run(("-march=native", "-dM", "-E", "-x", "c", "/dev/null"))
    except SolverUnavailableError:
        return frozenset()
    names = (line.split()[1] for line in said.stdout.splitlines() if line.startswith("#define __"))
    return frozenset(name.strip("_").lower() for name in names)
