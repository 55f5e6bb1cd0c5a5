"""What something outside a statement keeps for it, as rules of its machine.

Of statements that are done one after the other some tensors stay in a level from one to the next. To a statement alone
such a tensor is *given* there: the level is its outermost memory, whatever the machine says of the levels outside, and
what is kept takes room that is no longer there for anything else. Both are rules that a machine can have, so that
whatever searches, counts or bounds mappings of one statement does so unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from optmap.base.errors import InputError
from optmap.machines.accelerator import TENSOR_ROLES, KeepRule, Store
from optmap.machines.elements import entries_of, whole
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine, Partition
from optmap.workloads.workload import Workload, access_names

GIVEN = "given"
"""Name of the part of a level that holds what is given there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBlock:
    """What stays of a tensor in a level while statements run."""

    level: str
    tensor: str
    elements: int
    bits: int
    """Of an element."""


def with_given(
    machine: Machine, workload: Workload, homes: Mapping[str, str], kept: Iterable[KeptBlock] = ()
) -> Machine | None:
    """The machine of a statement some of whose tensors are given.

    Args:
        machine: with meshes and prices.
        workload: the statement alone.
        homes: per tensor that is given the name of the level that has it: a bounded one, or the outermost memory, which
            changes nothing.
        kept: what stays anywhere, given to this statement or not; empty to leave rooms as they are.

    Returns:
        The machine; None if a level has no room for what stays there.

    Raises:
        InputError: for a level that does not keep the tensor, one with partitions, or one of several instances; for a
            tensor that is called like a role.
    """
    blocks = list(kept)
    if not blocks and all(homes.get(tensor.name, machine.memory) == machine.memory for tensor in workload.tensors):
        return machine
    return with_kept(with_homes(machine, workload, homes), workload, homes, blocks)


def with_homes(machine: Machine, workload: Workload, homes: Mapping[str, str]) -> Machine:
    """The rules of `with_given` on who keeps what; rooms are left as they are. Extents do not matter.

    Args:
        machine: with meshes and prices.
        workload: the statement alone.
        homes: per tensor that is given the name of the level that has it.

    Raises:
        InputError: as `with_given`.
    """
    names = _tensors(workload)
    roles = sorted(names.keys() & {*TENSOR_ROLES})
    if roles:
        raise InputError(f"{workload.title}: a tensor is called {roles[0]}, as a role in machine files is; rename it")
    memories = fabric_of(workload, machine).memories
    order = [memory.name for memory in memories]
    rules = {memory.name: dict(zip(names, memory.keeps, strict=True)) for memory in memories}
    for access, tensor in names.items():
        home = homes.get(tensor, machine.memory)
        if home == machine.memory:
            continue
        refuse_home(machine, home)
        if rules[home][access] is KeepRule.REFUSED:
            raise InputError(f"{home} of {machine.name} must not keep {access} for {workload.title}")
        rules[home][access] = KeepRule.KEPT
        for outside in order[order.index(home) + 1 :]:
            rules[outside][access] = KeepRule.REFUSED
    levels = tuple(_ruled(level, rules[level.name]) for level in machine.levels)
    outermost = replace(machine.outermost or Store(), keeps=tuple(rules[machine.memory].items()))
    return replace(machine, levels=levels, outermost=outermost)


def with_kept(
    machine: Machine, workload: Workload, homes: Mapping[str, str], kept: Iterable[KeptBlock]
) -> Machine | None:
    """The rooms of `with_given`, on a machine that has its rules.

    Args:
        machine: of `with_homes`.
        workload: the statement alone.
        homes: per tensor that is given the name of the level that has it.
        kept: what stays anywhere.

    Returns:
        The machine; None if a level has no room for what stays there.
    """
    names, blocks, levels = _tensors(workload), list(kept), list[Level]()
    for level in machine.levels:
        mine = [block for block in blocks if block.level == level.name]
        here = [access for access, tensor in names.items() if homes.get(tensor) == level.name]
        cut = _cut(level, here, names, mine, workload.word_bits) if mine else level
        if cut is None:
            return None
        levels.append(cut)
    return replace(machine, levels=tuple(levels))


def _tensors(workload: Workload) -> dict[str, str]:
    """Per access of a statement alone the name of its tensor."""
    return dict(zip(access_names(workload), (tensor.name for tensor in workload.tensors), strict=True))


def kept_or_refused(machine: Machine, workload: Workload, level: str, accesses: Iterable[str]) -> Iterator[Machine]:
    """The machine with a level that must keep some accesses, and with one that must not, if its rules allow it.

    Args:
        machine: with meshes and prices.
        workload: a statement alone.
        level: a bounded one.
        accesses: by the names of `access_names`.
    """
    memories = {memory.name: memory for memory in fabric_of(workload, machine).memories}
    rules, mine = dict(zip(access_names(workload), memories[level].keeps, strict=True)), list(accesses)
    for rule in (KeepRule.KEPT, KeepRule.REFUSED):
        if all(rules[access] in {rule, KeepRule.FREE} for access in mine):
            ruled = rules | dict.fromkeys(mine, rule)
            levels = tuple(_ruled(each, ruled) if each.name == level else each for each in machine.levels)
            yield replace(machine, levels=levels)


def refuse_home(machine: Machine, name: str) -> None:
    """Refuse a level that keeps nothing from one statement to the next.

    Raises:
        InputError: for a level with partitions, and one of several instances: which of them has what, a mapping of one
            statement says and the next one need not agree.
    """
    why = _no_home(machine, [level.name for level in machine.levels].index(name))
    if why:
        raise InputError(f"{name} of {machine.name} has {why}")


def homes_of(fabric: Fabric, places: Iterable[int]) -> list[str]:
    """Bounded levels in which a tensor may stay from one statement to the next, inner first.

    Args:
        fabric: a statement alone.
        places: numbers of its accesses to the tensor.
    """
    needed = list(places)
    return [
        memory.name
        for number, memory in enumerate(fabric.memories[:-1])
        if not _no_home(fabric.machine, number) and all(memory.keeps[place] is not KeepRule.REFUSED for place in needed)
    ]


def _no_home(machine: Machine, number: int) -> str:
    """What a level has that lets nothing stay there; empty if it may."""
    outside = [level.store for level in machine.levels[number + 1 :]] + [machine.outermost]
    if machine.levels[number].partitions:
        return "partitions; what stays there is not counted"
    if any(store is not None and store.mesh.size > 1 for store in outside):
        return (
            "several instances; what stays there from one statement to the next is not counted: keep it in a level "
            "outside all meshes"
        )
    return ""


def _ruled(level: Level, rules: Mapping[str, KeepRule]) -> Level:
    return replace(level, store=replace(_store(level), keeps=tuple(rules.items())))


def _store(level: Level) -> Store:
    return level.store or Store()


def _cut(
    level: Level, here: list[str], names: Mapping[str, str], kept: list[KeptBlock], word_bits: int
) -> Level | None:
    """A level with a part for what is given there, and the rest of its room for everything else."""
    sizes = Counter[str]()
    for block in kept:
        sizes[block.tensor] += taken(level, block)
    own = sum(sizes[tensor] for tensor in {names[access] for access in here})
    rest, capacity = level.capacity.amount - sum(sizes.values()), level.capacity
    others = tuple(
        access for access, rule in _store(level).keeps if access not in here and rule is not KeepRule.REFUSED
    )
    if rest < 0:
        return None
    if others and rest < _least(level, word_bits):  # no room for a word: what may bypass does
        rules = dict(_store(level).keeps)
        if any(rules[access] is KeepRule.KEPT for access in others):
            return None
        level, others = _ruled(level, rules | dict.fromkeys(others, KeepRule.REFUSED)), ()
    parts = [(GIVEN, tuple(here), own)] * bool(own)
    parts += [("rest", others, rest)] * bool(others)
    if not parts:
        return level
    partitions = tuple(
        Partition(name=name, tensors=tensors, capacity=replace(capacity, amount=amount))
        for name, tensors, amount in parts
    )
    total = sum(amount for _, _, amount in parts)
    return replace(level, capacity=replace(capacity, amount=total), partitions=partitions)


def _least(level: Level, word_bits: int) -> int:
    """The least amount of its capacity that is a word of it."""
    bits = _store(level).word_bits or word_bits
    return level.buffering * (1 if level.capacity.unit == "words" else -(-bits // 8))


def taken(level: Level, block: KeptBlock) -> int:
    """What a block takes of the capacity of a level, in its unit; of a double buffer in both halves.

    Args:
        level: where it stays.
        block: what stays.
    """
    store = _store(level)
    entries = whole(block.elements, entries_of(store, block.bits))
    if level.capacity.unit == "words":
        return level.buffering * entries
    bits = entries * store.word_bits if store.word_bits is not None else block.elements * block.bits
    return level.buffering * -(-bits // 8)
