"""Machines with caches and a core, as detection would describe them: tests do not depend on where they run."""

from __future__ import annotations

from emitted import find_processor

from optmap.machines.core import Core
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.workloads.amounts import Bandwidth, Capacity

CORE = Core(vector_bytes=64, registers=32, fma_ports=2, fma_latency=4, load_ports=2)
"""What a core of 16 floats computes with."""


def level(name: str, capacity: int, bandwidth: int, **more: object) -> Level:
    """Registers named Reg, else a cache, sizes in bytes; `more` are fields of the level."""
    kind = LevelKind.SCRATCHPAD if name == "Reg" else LevelKind.CACHE
    return Level(
        name=name,
        capacity=Capacity(amount=capacity),
        bandwidth=Bandwidth(amount=bandwidth),
        kind=kind,
        **more,  # type: ignore[arg-type]
    )


def _host(name: str, core: Core, caches: tuple[tuple[str, int, int, int], ...], cores: int) -> Machine:
    registers = Level(
        name="Reg",
        capacity=Capacity(amount=core.registers * core.vector_bytes),
        bandwidth=Bandwidth(amount=core.load_ports * core.vector_bytes),
    )
    outer = tuple(
        Level(
            name=level,
            capacity=Capacity(amount=size),
            bandwidth=Bandwidth(amount=bandwidth),
            kind=LevelKind.CACHE,
            line_bytes=64,
            ways=ways,
            shared=number == len(caches) - 1,
            fanout=cores if number == len(caches) - 1 else 1,
        )
        for number, (level, size, ways, bandwidth) in enumerate(caches)
    )
    return Machine(name=name, levels=(registers, *outer), clock_hz=2_000_000_000, core=core)


_SERVER = (("L1", 49_152, 12, 48), ("L2", 2_097_152, 16, 24), ("L3", 33_554_432, 16, 8))

AVX512 = _host("avx512", CORE, _SERVER, cores=2)
"""Two cores with vectors of 16 floats."""
AVX2 = _host("avx2", Core(vector_bytes=32, registers=16, fma_ports=2, fma_latency=4, load_ports=2), _SERVER, cores=2)
"""Two cores with vectors of 8 floats."""
NEON = _host(
    "neon",
    Core(vector_bytes=16, registers=32, fma_ports=4, fma_latency=4, load_ports=3),
    (("L1", 65_536, 4, 32), ("L2", 1_048_576, 8, 16), ("L3", 33_554_432, 16, 8)),
    cores=2,
)
"""Two cores with vectors of 4 floats."""
HOSTS = {"avx512": AVX512, "avx2": AVX2, "neon": NEON}


def usable_host() -> Machine:
    """The one whose code the processor at hand can run."""
    processor = find_processor()
    return AVX512 if "avx512f" in processor else AVX2 if "avx2" in processor else NEON
