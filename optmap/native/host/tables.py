"""Cores and caches from the system's own tables: /sys on Linux, sysctl on macOS."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu")
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
MAC = ("hw.perflevel0.", "hw.")
"""Where sysctl has a number: that of the fast cores first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One level of cache, as the system describes it."""

    level: int
    size: int
    """Bytes."""
    line_bytes: int | None
    """None if the tables do not say."""
    ways: int | None
    """None if the tables do not say."""
    cpus: tuple[int, ...]
    """Numbers of the processors that share one."""
    common: bool = False
    """Whether the tables have several cores share one, in use or not: then its clock is not theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The cores that are used, and the caches between each and the memory."""

    cpus: tuple[int, ...]
    """Number of one processor per core."""
    caches: tuple[Cache, ...]
    """Of the first core, inner to outer; `cpus` of each are those in use only."""
    missing: tuple[str, ...] = ()
    """What the tables do not say."""
    notes: tuple[str, ...] = ()
    """What was left out and why."""


def usable_cpus() -> tuple[int, ...]:
    """Numbers of the processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def read_topology(system: Path = SYSTEM, usable: tuple[int, ...] | None = None) -> Topology:
    """Cores and caches of this machine.

    One processor of every core is used; cores whose caches differ from those of most are left out, and so are cores
    that share no outermost cache with the others: a machine is one chain of memories.

    Args:
        system: folder of the tables of Linux; without it sysctl is asked.
        usable: numbers of processors; those that this process may run on if left out.
    """
    usable = usable or usable_cpus()
    if not any((system / f"cpu{cpu}" / "cache").is_dir() for cpu in usable):
        said = _sysctl()
        if said:
            return mac_topology(said)
        missing = f"caches: {system} has no tables of them"
        return Topology(cpus=usable[:1], caches=(), missing=(missing,), notes=_left_out(usable[1:], "no shared cache"))
    found = {cpu: _caches(system / f"cpu{cpu}") for cpu in _cores(system, usable)}
    common = Counter(map(_sizes, found.values())).most_common(1)[0][0]
    alike = [cpu for cpu, caches in found.items() if _sizes(caches) == common]
    group = _group(found, alike)
    notes = _left_out(set(found) - set(alike), "other caches")
    notes += _left_out(set(alike) - set(group), "no cache shared with the others")
    caches = tuple(
        Cache(
            level=cache.level,
            size=cache.size,
            line_bytes=cache.line_bytes,
            ways=cache.ways,
            cpus=tuple(cpu for cpu in group if cpu in cache.cpus),
            common=len(cache.cpus) > len(found[group[0]][0].cpus),
        )
        for cache in found[group[0]]
    )
    return Topology(cpus=group, caches=caches, missing=_unsaid(caches), notes=notes)


def cpu_list(text: str) -> tuple[int, ...]:
    """Numbers of processors as Linux writes them: `0-3,8`."""
    parts = re.findall("([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    return tuple(number for first, last in parts for number in range(int(first), int(last or first) + 1))


def _left_out(cpus: Iterable[int], why: str) -> tuple[str, ...]:
    cpus = sorted(cpus)
    if not cpus:
        return ()
    return (f"{len(cpus)} core{'s are' if len(cpus) > 1 else ' is'} left out: {why} ({', '.join(map(str, cpus))})",)


def _unsaid(caches: tuple[Cache, ...]) -> tuple[str, ...]:
    lines = (f"lines of L{cache.level}" for cache in caches if cache.line_bytes is None)
    ways = (f"ways of L{cache.level}" for cache in caches if cache.ways is None)
    return (*lines, *ways, *(() if caches else ("caches: the tables give no size",)))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    text = _text(file)
    return int(text) if re.fullmatch("[0-9]+", text) and int(text) > 0 else None


def _cores(system: Path, usable: tuple[int, ...]) -> tuple[int, ...]:
    """The first usable processor of every core: the others share its units and its registers' file."""
    first: dict[tuple[int, ...], int] = {}
    for cpu in usable:
        topology = system / f"cpu{cpu}" / "topology"
        siblings = _text(topology / "core_cpus_list") or _text(topology / "thread_siblings_list") or str(cpu)
        first.setdefault(cpu_list(siblings), cpu)
    return tuple(first.values())


def _caches(cpu: Path) -> tuple[Cache, ...]:
    """Data and unified caches of one processor that have a size, one per level, inner to outer."""
    found: dict[int, Cache] = {}
    for entry in sorted((cpu / "cache").glob("index*")):
        size = re.fullmatch("([0-9]+)([KMG]?)", _text(entry / "size"))
        level = _number(entry / "level")
        if _text(entry / "type") not in ("Data", "Unified") or size is None or level is None or int(size[1]) == 0:
            continue
        found[level] = Cache(
            level=level,
            size=int(size[1]) * UNITS[size[2]],
            line_bytes=_number(entry / "coherency_line_size"),
            ways=_number(entry / "ways_of_associativity"),
            cpus=tuple(sorted({*cpu_list(cpu.name), *cpu_list(_text(entry / "shared_cpu_list"))})),
        )
    return tuple(found[level] for level in sorted(found))


def _sizes(caches: tuple[Cache, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((cache.level, cache.size) for cache in caches)


def _group(found: dict[int, tuple[Cache, ...]], alike: list[int]) -> tuple[int, ...]:
    """The most cores below one outermost cache."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for cpu in alike:
        groups.setdefault(found[cpu][-1].cpus if found[cpu] else (cpu,), []).append(cpu)
    largest = max(groups.values(), key=len)
    return tuple(largest)


def _sysctl() -> str:
    try:
        return subprocess.run(["/usr/sbin/sysctl", "hw"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def mac_topology(text: str) -> Topology:
    """Cores and caches as macOS describes them; of two kinds of cores the fast ones.

    Args:
        text: what `sysctl hw` prints.
    """
    values = dict(re.findall(r"^(hw\.[\w.]+):\s*([0-9]+)\s*$", text, re.MULTILINE))

    def value(key: str) -> int:
        return next((int(values[top + key]) for top in MAC if top + key in values), 0)

    cpus = tuple(range(value("physicalcpu") or 1))
    caches = []
    for level, key in ((1, "l1dcachesize"), (2, "l2cachesize"), (3, "l3cachesize")):
        shared = value(f"cpusperl{level}") or (len(cpus) if level == 3 else 1)
        if value(key):
            line = value("cachelinesize") or None
            made = Cache(
                level=level, size=value(key), line_bytes=line, ways=None, cpus=cpus[:shared], common=shared > 1
            )
            caches.append(made)
    group = caches[-1].cpus if caches else cpus[:1]
    notes = _left_out(set(cpus) - set(group), "no cache shared with the others")
    return Topology(cpus=group, caches=tuple(caches), missing=_unsaid(tuple(caches)), notes=notes)
