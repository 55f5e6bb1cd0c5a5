"""What has to be mapped of statements in turn once it is decided what is kept outside: a nest of each statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from optmap.base.errors import InfeasibleError, LimitError
from optmap.machines.given import KeptBlock, kept_or_refused, with_given
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.search.chains.blocks import GroupBlock, TurnGroup, accesses_to
from optmap.search.method import METHODS
from optmap.search.question import Question
from optmap.workloads.single import product_alone
from optmap.workloads.workload import Workload, access_names

NO_LOOPS = GroupBlock(loops=(), stays=())
"""A statement that is done at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NestProblem:
    """A statement whose nest is looked for."""

    alone: Workload
    """It, on what the loops around leave of its dims."""
    homes: tuple[tuple[str, str], ...] = ()
    """(tensor, level) of what a Keep outside has."""
    kept: tuple[KeptBlock, ...] = ()
    """All that stays meanwhile."""
    times: int = 1
    """Iterations of the loops around."""
    begun: int = 1
    """In how many of these its result begins empty."""

    @property
    def name(self) -> str:
        """Of the statement."""
        return self.alone.only.name

    @property
    def begun_part(self) -> Fraction:
        """The part of its runs in which its result begins empty."""
        return Fraction(self.begun, self.times)

    @property
    def key(self) -> object:
        """The same for problems with the same nests."""
        return self.name, self.alone.sizes, self.homes, self.kept

    @property
    def bare(self) -> NestProblem:
        """Beside nothing that stays of other tensors: whatever is a nest here is one there, too."""
        given = {tensor for tensor, _ in self.homes}
        return replace(self, kept=tuple(each for each in self.kept if each.tensor in given))

    def machine(self, machine: Machine) -> Machine | None:
        """The machine with what is kept as rules; None if there is no room."""
        return with_given(machine, self.alone, dict(self.homes), self.kept)


def problems_of(workload: Workload, machine: Machine, group: TurnGroup, block: GroupBlock) -> Iterator[NestProblem]:
    """The nests of a group that is cut into blocks, in the order of its statements.

    Args:
        workload: the chain.
        machine: with meshes and prices.
        group: what is done together; of one statement and without anything inside for one by itself.
        block: how it is cut.
    """
    stored, left = workload.stored_as, {**workload.extents, **dict(block.loops)}
    homes = homes_in(machine, group, block)
    kept = [kept_block(workload, group, block, t, home) for t, home in homes.items() if home != machine.memory]
    trips = {dim: workload.extents[dim] // tile for dim, tile in block.loops}
    for name in group.names:
        alone = _alone(workload, name, tuple(left.items()))
        names = {stored[a.name]: a.name for a in alone.tensors}
        mine = {a.name: homes[stored[a.name]] for a in alone.tensors if stored[a.name] in homes}
        yield NestProblem(
            alone=alone,
            homes=tuple(sorted(mine.items())),
            kept=tuple(replace(each, tensor=names.get(each.tensor, each.tensor)) for each in kept),
            times=prod(trips.values()),
            begun=prod(many for dim, many in trips.items() if dim in alone.output.dims),
        )


@lru_cache(maxsize=2**12)
def _alone(workload: Workload, name: str, left: tuple[tuple[str, int], ...]) -> Workload:
    """A statement on what is left of dims: the same one in many ways to cut and keep."""
    whole = _whole(workload, name)
    return whole.with_extents(**{d: n for d, n in left if d in whole.dims})


@lru_cache(maxsize=2**6)
def _whole(workload: Workload, name: str) -> Workload:
    return product_alone(workload, name)


def homes_in(machine: Machine, group: TurnGroup, block: GroupBlock) -> dict[str, str]:
    """Per tensor that stays while a group is done the level where it does, by the name of its elements."""
    level = next((level for _, level in group.inner if level != machine.memory), machine.memory)
    return {**dict(group.inner), **{tensor: level for tensor, _ in block.stays}}


def kept_block(workload: Workload, group: TurnGroup, block: GroupBlock, tensor: str, level: str) -> KeptBlock:
    """What stays of a tensor."""
    around = dict(block.stays).get(tensor, len(block.loops))
    left = {**workload.extents, **dict(block.loops[:around])}
    access = accesses_to(workload, group.names, tensor)[0]
    elements = access.footprint({d: left[d] for d in access.dims})
    return KeptBlock(level=level, tensor=tensor, elements=elements, bits=access.bits)


def mapped(question: Question, methods: Iterable[str]) -> tuple[Mapping, Fraction | None] | None:
    """A nest of a statement that a tree can say: what it reads twice is kept for both reads, or for none.

    Args:
        question: of the statement.
        methods: names; the first that finds a mapping is heard.

    Returns:
        The mapping, and what it costs if every other one is proved to cost as much; None if there is none.
    """
    for name in dict.fromkeys(methods):
        try:
            answer = METHODS[name].run(replace(question, method=name))
        except (InfeasibleError, LimitError):
            continue
        half = half_kept(answer.mapping, question.workload)
        if half is None:
            return answer.mapping, answer.count.merit(question.merit) if answer.proved else None
        for ruled in kept_or_refused(question.machine, question.workload, *half):
            found = mapped(replace(question, machine=ruled), methods)
            if found is not None:
                return found[0], None
        return None
    return None


def half_kept(mapping: Mapping, alone: Workload) -> tuple[str, tuple[str, ...]] | None:
    """The innermost level that keeps a tensor for one of its reads only, which no tree says; None if there is none.

    Returns:
        The level, and the accesses to the tensor.
    """
    names = access_names(alone)
    for entry in mapping.levels:
        for tensor in dict.fromkeys(each.name for each in alone.tensors):
            its = tuple(name for name, each in zip(names, alone.tensors, strict=True) if each.name == tensor)
            if {name in (names if entry.keeps is None else entry.keeps) for name in its} == {True, False}:
                return entry.level, its
    return None
