"""Machines, mappings and options refuse what would be answered wrongly, with what, where and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from optmap import api
from optmap.base.errors import InputError
from optmap.base.values import one_line, whole_number
from optmap.files import library
from optmap.machines.core import Microkernel
from optmap.machines.machine import Level, Machine, Partition
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

MATMUL = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 8, "j": 8, "k": 8})


def words(amount: Any) -> Capacity:
    return Capacity(amount=amount, unit="words")


def level(name: Any = "L1", amount: Any = 64, **options: Any) -> Level:
    return Level(name=name, capacity=words(amount), **options)


def grid(**options: Any) -> Machine:
    """Four cores below each of four memories."""
    levels = (level("L1", 16), level("L2", 64, shared=True, fanout=4), level("L3", 999, shared=True, fanout=4))
    return Machine(name="grid", levels=levels, **options)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "inclusive": (
        lambda: Machine(name="m", levels=(level("L1", 64), level("L2", 63))),
        "L2 is inclusive.*inclusive: false",
    ),
    "energy": (lambda: level(energy_pj=-5), "energy_pj is -5"),
    "energy nan": (lambda: level(energy_pj=float("nan")), "energy_pj is nan"),
    "capacity": (lambda: words(1.5), "capacity is 1.5"),
    "capacity flag": (lambda: words(True), "capacity is True"),
    "capacity huge": (lambda: words(10**400), "capacity is a number of 1329 bits"),
    "capacity unit": (lambda: Capacity(amount=3, unit="KiB"), "'KiB'; use bytes or words"),
    "fanout": (lambda: level(fanout=2.0), "fanout is 2.0"),
    "buffering": (lambda: level(buffering=0), "buffering is 0"),
    "level name": (lambda: level("L1\n"), r"a level is 'L1\\n'"),
    "empty name": (lambda: level(""), "a level is ''"),
    "memory name": (lambda: grid(memory=""), "the memory of machine grid is ''"),
    "machine name": (lambda: Machine(name="\x1b[2J", levels=(level(),)), r"a machine is '\\x1b\[2J'"),
    "partition name": (lambda: Partition(name="", tensors=("inputs",), capacity=words(1)), "a partition is ''"),
    "microkernel": (lambda: Microkernel(vector=0, broadcast=6), "vector is 0"),
    "cores": (lambda: api.solve(MATMUL, memory="64w", cores=1.5), "cores is 1.5"),  # type: ignore[arg-type]
    "cores flag": (lambda: api.solve(MATMUL, memory="64w", cores=True), "cores is True"),
    "seed": (lambda: api.solve(MATMUL, memory="64w", seed="a"), "seed is 'a'"),  # type: ignore[arg-type]
    "seed flag": (lambda: api.solve(MATMUL, memory="64w", seed=True), "seed is True"),
    "fanouts": (
        lambda: api.solve(MATMUL, machine=grid(), cores=16),
        "L2 feeds 4 of the 16 cores.*--cores 4 or fewer",
    ),
    "ways": (
        lambda: Mapping(
            levels=tuple(
                LevelMapping(
                    level=f"L{q}",
                    tile=dict.fromkeys("ijk", 8),
                    permutation=("i", "j", "k"),
                    spatial={"i": 4, "j": 2} if q == 2 else {},
                )
                for q in (1, 2, 3)
            )
        ).check(MATMUL, grid()),
        "split 8 ways, but feeds 4",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert all(line.isprintable() for line in str(caught.value).splitlines())
    assert len(str(caught.value)) < 400


def test_four_of_sixteen_cores_are_split_at_one_level() -> None:
    found = api.solve(MATMUL, machine=grid(), cores=4)
    ways = [at.spatial for at in found.mapping.levels]
    assert [len(w) > 0 for w in ways] == [False, True, False]


def test_other_levels_may_be_smaller() -> None:
    Machine(name="m", levels=(level("L1", 64), level("L2", 63, inclusive=False)))
    Machine(name="m", levels=(level("L1", 64), level("L2", 64, fanout=4)))
    for name in library.list_machines():
        assert library.machine(name).levels


def test_integers_of_numpy_are_integers() -> None:
    numpy = pytest.importorskip("numpy")
    assert whole_number(numpy.int64(7), "x") == 7
    with pytest.raises(InputError, match=re.escape("x is ")):
        whole_number(numpy.float64(7), "x")
    one_line("größe", "x")
