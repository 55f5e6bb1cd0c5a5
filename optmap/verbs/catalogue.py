"""The verbs of what there is: names, workloads, machines, files that were saved, solvers.

`optmap` offers them under its own name; the command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.names import choose
from optmap.files import library
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    MemoryInput,
    WorkloadInput,
    is_file,
    is_statement,
    machine_of,
    text_of,
    workload_of,
)
from optmap.machines.machine import Machine
from optmap.questions.objective import every_objective
from optmap.questions.option import Opt, declared, taking, values_of
from optmap.search.options import ExtentsOption, PaddingOption
from optmap.workloads.workload import Padding, Semantics, Workload

if TYPE_CHECKING:
    from optmap.report.library.entries import Entry, Listing
    from optmap.report.library.solvers import Doctor


def _methods() -> dict[str, str]:
    from optmap.search.methods import METHODS

    return _described(METHODS)


def _bounds() -> dict[str, str]:
    from optmap.bounds.methods import BOUNDS

    return _described(BOUNDS)


def _described(methods: Mapping[str, Any]) -> dict[str, str]:
    return {name: method.description for name, method in methods.items()}


NAMED: dict[str, Callable[[], Any]] = {
    "workloads": library.list_workloads,
    "machines": library.list_machines,
    "methods": _methods,
    "networks": library.list_networks,
    "sweeps": library.list_sweeps,
    "bounds": _bounds,
    "objectives": lambda: _described(every_objective()),
}
"""What has names, and how they are found, with a line about each where there is one."""
KINDS = tuple(NAMED)
"""What `list_names` lists."""


def workload(
    name: WorkloadInput,
    extents: ExtentsInput | None = None,
    *,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    outputs: str | Iterable[str] | None = None,
) -> Workload:
    """A workload: a library name, a YAML file, or a statement with `extents`; several statements with `;` between.

    Args:
        name: what stands for it.
        extents: extent per dim, as a mapping or as `i=64,j=64`; replaces those of a name or a file.
        semantics: `accumulate` or `assign`; None keeps its own.
        padding: `stored` or `implicit`; None keeps its own.
        outputs: tensors that are outputs although statements read them; None keeps its own.

    Raises:
        InputError: if it cannot be understood.

    Examples:
        >>> product = optmap.workload("C[i,j] += A[i,k]*B[k,j]", "i=6,j=4,k=5")
        >>> product.dims, product.word_bits
        (('i', 'j', 'k'), 32)
    """
    return workload_of(name, extents, semantics, padding, outputs)


def machine(name: MachineInput | None = None, *, memory: MemoryInput | None = None) -> Machine:
    """A machine: a library name, a YAML file, or a two-level one with `memory` such as `32KiB`.

    Raises:
        InputError: if it cannot be understood.

    Examples:
        >>> [level.name for level in optmap.machine("i7-9700k").levels]
        ['Reg', 'L1', 'L2', 'L3']
    """
    return machine_of(name, memory)


def list_names(kind: str | None = None) -> Listing:
    """The names there are.

    Args:
        kind: one of `KINDS`; None lists everything.

    Raises:
        UnknownNameError: for a kind that is none.

    Examples:
        >>> optmap.list("networks").to_dict()["networks"]
        ['mobilenet', 'resnet18', 'resnet50', 'yolo9000']
    """
    from optmap.report.library.entries import Listing

    wanted = KINDS if kind is None else (choose("kind", kind, KINDS),)
    made: dict[str, Any] = {}
    if kind == "methods":  # searches are imported for it
        from optmap.report.library.methods import settings_of_method
        from optmap.search.methods import METHODS

        made = {name: settings_of_method(method) for name, method in METHODS.items()}
    return Listing(
        kinds={each: NAMED[each]() for each in wanted}, settings={name: own for name, own in made.items() if own}
    )


def names_of(kind: str) -> tuple[str, ...]:
    """The names of one of `KINDS`, without what else is known of them."""
    return tuple(NAMED[kind]())


class ShowOptions(TypedDict, total=False):
    """Options of `show`."""

    extents: ExtentsOption
    padding: PaddingOption
    outputs: Annotated[
        str | Iterable[str] | None,
        Opt(help="Tensors that are outputs although statements read them.", flag="--output", metavar="A,B"),
    ]


@taking(ShowOptions)
def show(name: WorkloadInput | MachineInput, **options: Unpack[ShowOptions]) -> Entry:
    """A workload, machine, network, sweep or method in full; `.yaml` is a file to edit that loads back equal.

    Args:
        name: a library name, a method, a YAML file or a statement.
        **options: as they are declared.

    Raises:
        UnknownNameError: for a name that the library does not have.
        InputError: for anything else that cannot be accepted.

    Examples:
        >>> optmap.show("resnet18/R9").value.extents["k"]
        256
    """
    from optmap.report.library.showing import shown

    return shown(name, **values_of(declared(ShowOptions), options))


def load(path: str | Path) -> Any:
    """Read back what was saved: a solution, a certificate, a comparison, a workload or a machine.

    Args:
        path: a JSON file that `.save` or the command line wrote, or a YAML file.

    Returns:
        A `SavedSolution` (printable, with `.mapping` and `.loop_nest()`), a `Certificate`, a `Comparison` (of methods
        on an accelerator a `SavedComparison`), a `Workload` or a `Machine`, as the file says; `evaluate` and `check`
        count solutions again.

    Raises:
        InputError: if the file is none of these, or cannot be read.
    """
    from optmap.report.answers.loading import load_file

    text = text_of(path, "path", "a file")
    if is_file(text) and not is_statement(text):
        found = show(text).value
        if found is not None:
            return found
    return load_file(Path(text))


def doctor() -> Doctor:
    """Which solvers are there, each with a solved sample, and which C compiler."""
    from optmap.native.toolchain.doctor import examine_compiler
    from optmap.report.library.solvers import Doctor
    from optmap.solvers.doctor import doctor as examine

    return Doctor(reports=examine(), compiler=examine_compiler())
