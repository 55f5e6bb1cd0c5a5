"""What a workload, machine, capacity or list of names stands for, wherever a person gives one.

The shell, Python and sweep files all ask here: one text means the same everywhere.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import SupportsIndex

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.files import library
from optmap.files.kinds import NameKind
from optmap.machines.machine import Machine, two_level
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_extents, parse_workload
from optmap.workloads.sizes import capacities, parse_capacity
from optmap.workloads.workload import Padding, Semantics, Workload

Path = os.PathLike[str]
WorkloadInput = Workload | str | Path
MachineInput = Machine | str | Path
MemoryInput = Capacity | str
ExtentsInput = Mapping[str, SupportsIndex] | str


def is_file(text: str) -> bool:
    """Whether a name is meant as a YAML file, or as one entry of it: `w.yaml`, `dir[1]/w.yaml/key`."""
    return text.endswith(library.SUFFIXES) or any(f"{suffix}/" in text for suffix in library.SUFFIXES)


def is_statement(text: str) -> bool:
    """Whether a text is a statement or an einsum rather than a library name or a file."""
    return not is_file(text) and any(mark in text for mark in ("[", "=", "->"))


def workload_of(
    workload: WorkloadInput,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    outputs: str | Iterable[str] | None = None,
) -> Workload:
    """A workload from a name, a file, a statement or itself.

    Args:
        workload: what stands for it.
        extents: extent per dim, as a mapping or as `i=64,j=64`; required for a statement, replaces
            those of the same dims otherwise.
        semantics: `accumulate` or `assign`; None keeps its own.
        padding: `stored` or `implicit` (see `Workload.with_padding`); None keeps its own.
        outputs: tensors that are outputs although statements read them; None keeps its own.

    Raises:
        InputError: if it cannot be understood.
    """
    found = _read(workload, extents, semantics, names_of(outputs, "outputs"))
    if padding is None:
        return found
    return found.with_padding(choose("padding", padding, list(Padding)))


def _read(
    workload: WorkloadInput,
    extents: ExtentsInput | None,
    semantics: Semantics | str | None,
    outputs: tuple[str, ...] | None,
) -> Workload:
    sizes = None if extents is None else extents_of(extents)
    wanted = None if semantics is None else Semantics(choose("semantics", semantics, list(Semantics)))
    if isinstance(workload, Workload):
        found = workload
    else:
        text = text_of(workload, "workload", "a library name, a YAML file, a statement or a Workload")
        if is_statement(text):
            if sizes is None:
                raise InputError(
                    f"{text!r} needs the extents of its dims, such as i=64,j=64; add them as extents (--extents)"
                )
            return parse_workload(text, sizes, semantics=wanted, outputs=outputs or ())
        if "," in text and not is_file(text):
            raise InputError(
                f"{text!r} is no name of a workload, and no statement: an einsum text has an arrow and its output, "
                "as ij,jk->ik"
            )
        found = library.workload(text)
    if sizes:
        found = found.with_extents(**sizes)
    if outputs:
        found = found.with_outputs(outputs)
    return found if wanted is None else found.with_semantics(wanted)


def sizes_of(dims: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
    """Sizes of dynamic dims by name: a mapping, or texts such as `batch=1` and `tokens[1]=128`.

    Raises:
        InputError: for a text of another form, or a name that is there twice. Names may hold any character but `=`.
    """
    if isinstance(dims, Mapping):
        return dict(dims)
    found: dict[str, int] = {}
    for text in dims:
        key, mark, size = text.rpartition("=")
        if not mark or not key.strip():
            raise InputError(f"--dim {text!r}: write NAME=SIZE, such as --dim batch=1")
        if key.strip() in found:
            raise InputError(f"--dim {key.strip()} is given twice; keep one")
        found[key.strip()] = parse_extents(f"x={size}")["x"]
    return found


def products_of(workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Workloads each of which is one statement that adds up a product of tensors: asked before work on any begins.

    Raises:
        OneStatementError: for the first that is not (see `Workload.only`).
    """
    return tuple(workload for workload in workloads if workload.only)


def machine_of(machine: MachineInput | None, memory: MemoryInput | None) -> Machine:
    """A machine from a name, a file, a capacity or itself.

    Args:
        machine: a machine, library name or file; None if `memory` is given.
        memory: capacity of a two-level machine; None if `machine` is given.

    Raises:
        InputError: unless exactly one of the two is given, and can be understood.
    """
    if (machine is None) == (memory is None):
        raise InputError(
            "give either a machine (--machine) or a memory (--memory, such as 8192w or 32KiB), and not both"
        )
    if memory is not None:
        return two_level(capacity_of(memory))
    if isinstance(machine, Machine):
        return machine
    return library.machine(text_of(machine, "machine", "a library name, a YAML file or a Machine"))


def needed_machine(machine: MachineInput | None) -> Machine:
    """A machine where a capacity alone would not do.

    Args:
        machine: a machine, library name or file.

    Raises:
        InputError: if there is none, or it cannot be understood.
    """
    if machine is None:
        raise InputError(
            "name the machine (--machine): host.yaml after optmap detect -o host.yaml for the one at hand, "
            "or a name of optmap list machines"
        )
    return machine_of(machine, None)


def capacity_of(memory: object) -> Capacity:
    """A capacity from a text with its unit or itself.

    Raises:
        InputError: for a number without a unit, or a text that is no capacity.
    """
    if isinstance(memory, Capacity):
        return memory
    if isinstance(memory, str):
        with _named_machine(memory):
            return parse_capacity(memory)
    raise _no_capacity(memory)


def capacities_of(memory: object, points: int) -> tuple[Capacity, ...]:
    """Capacities from one, a range such as `4KiB:4MiB`, or several.

    Args:
        memory: what stands for them.
        points: how many of a range.

    Raises:
        InputError: for anything else, or none.
    """
    if isinstance(memory, Capacity):
        return (memory,)
    if isinstance(memory, str):
        with _named_machine(memory):
            return capacities(memory, points)
    if not isinstance(memory, Iterable):
        raise _no_capacity(memory)
    found = tuple(each for item in memory for each in capacities_of(item, points))
    if not found:
        raise InputError("memory is empty; give at least one capacity, such as 8192w")
    return found


def extents_of(extents: ExtentsInput) -> dict[str, int]:
    """Extents per dim as plain whole numbers; integers of NumPy and the like are such.

    Raises:
        InputError: naming the dim whose extent is none.
    """
    if isinstance(extents, str):
        return parse_extents(extents)
    if not isinstance(extents, Mapping):
        raise InputError(f"extents is {extents!r}; give a mapping such as {{'i': 64}} or a text such as i=64,j=64")
    found = {}
    for dim, size in extents.items():
        if not isinstance(dim, str):
            raise InputError(f"extents: {dim!r} is no name of a dim; write for example {{'i': 64}}")
        try:
            found[dim] = operator.index(size)
        except TypeError:
            raise InputError(f"the extent of {dim} is {size!r}; a whole number is needed") from None
        if isinstance(size, bool):
            raise InputError(f"the extent of {dim} is {size}; a whole number is needed")
    return found


def names_of(names: str | Iterable[str] | None, what: str) -> tuple[str, ...] | None:
    """Names from one, several with commas between, or a sequence; each once; None stays None.

    Args:
        names: what stands for them.
        what: the argument, for the message.

    Raises:
        InputError: for none at all, an empty one, or something that is no text.
    """
    if names is None:
        return None
    if not isinstance(names, Iterable):
        raise InputError(f"{what} {names!r}: give names separated by commas, or a list of them")
    several = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if not several or not all(isinstance(name, str) and name for name in several):
        raise InputError(f"{what} {names!r}: give names separated by commas, or a list of them")
    return tuple(dict.fromkeys(several))


def text_of(value: object, what: str, needed: str) -> str:
    """A name or path as text.

    Raises:
        InputError: for something else; says what is needed.
    """
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and "\0" not in text:
            return text
    raise InputError(f"{what} is {value!r}; {needed} is needed")


@contextmanager
def _named_machine(memory: str) -> Iterator[None]:
    """Refuse the name or the file of a machine where a capacity is wanted."""
    try:
        yield
    except InputError:
        if memory.endswith(library.SUFFIXES) or memory.casefold() in map(str.casefold, library.list_machines()):
            machine = NameKind(said="a machine", use="type: --machine {it} instead of --memory")
            raise machine.refusal(memory, "a capacity such as 32KiB") from None
        raise


def _no_capacity(memory: object) -> InputError:
    try:
        amount = operator.index(memory)  # type: ignore[arg-type]
    except TypeError:
        return InputError(f"memory is {memory!r}; write a capacity such as '8192w' or '32KiB'")
    return InputError(f"memory={amount} has no unit; write '{amount}w' for words or '{amount}B' for bytes, or '4KiB'")
