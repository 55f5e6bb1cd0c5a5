"""Options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from optmap.base.errors import InputError
from optmap.kernels.code_options import ActivationLayout, StoreKind
from optmap.machines.machine import CapacityRule
from optmap.questions.option import Option, declared
from optmap.questions.options import TileRule
from optmap.workloads.workload import Padding, Semantics

Command = TypeVar("Command", bound=Callable[..., Any])


def path_of(text: str) -> Path:
    """The path of an option; `pathlib` takes an empty text for the current folder."""
    if not text:
        raise typer.BadParameter("is empty; give the name of a file or a folder")
    return Path(text)


def time_of(text: str | float) -> float:
    """The seconds of a time such as `60s`, `2min` or `90`; of a default itself."""
    from optmap.base.values import seconds

    try:
        return seconds(text, "it")
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def settings_from(texts: list[str] | None) -> dict[str, str]:
    """Settings from their texts.

    Raises:
        InputError: for a text without a name or a value, or a name that is set twice.
    """
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise InputError(f"--set {text}: write NAME=VALUE, such as --set victory=1000")
        if name.strip() in found:
            raise InputError(f"--set {text}: {name.strip()} is set twice; say it once")
        found[name.strip()] = value.strip()
    return found


def taking(options: type) -> Callable[[Command], Command]:
    """Give a command that takes `**options` those of a typed dictionary, as options of the shell.

    They come in the order of their declaration, before the command's own.
    """

    def made(command: Command) -> Command:
        own = signature(command, eval_str=True)
        parts = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        first = [each for each in parts if each.default is Parameter.empty]
        last = [each for each in parts if each.default is not Parameter.empty]
        named = [_parameter(each) for each in declared(options).values() if each.opt.shell is not None]
        command.__signature__ = own.replace(parameters=[*first, *named, *last])  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in (*first, *named, *last)}
        return command

    return made


def _parameter(option: Option) -> Parameter:
    """An option as Typer takes it."""
    opt = option.opt
    kind = opt.choices or (int if opt.least is not None else opt.shell)
    default = None if opt.default is None or kind == list[str] else opt.default
    shown = typer.Option(
        option.flag,
        help=f"{opt.help} Repeatable." if kind == list[str] else opt.help,
        metavar=opt.metavar,
        parser=PARSERS.get(kind),
        min=opt.least,
        show_default=default is not None,
    )
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None if default is None else kind, shown],
    )


PARSERS: dict[Any, Callable[[str], Any]] = {Path: path_of, float: time_of}
"""What reads the text of an option of a type."""


WorkloadArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="A library name (resnet18/R9), a YAML file, or a statement such as 'C[i,j] += A[i,k]*B[k,j]'.",
        show_default=False,
    ),
]
ExtentsOption = Annotated[
    str | None,
    typer.Option("--extents", metavar="i=..,j=..", help="Extents of the dims of a statement.", show_default=False),
]
SemanticsOption = Annotated[
    Semantics | None,
    typer.Option("--semantics", help="Whether the first touch of an output element is a load.", show_default=False),
]
CodeSemanticsOption = Annotated[
    Semantics, typer.Option("--semantics", help="Whether outputs are computed from nothing or added to.")
]
LayoutOption = Annotated[
    ActivationLayout,
    typer.Option("--layout", help="Of images: channels where the statement has them, last, or in blocks."),
]
StoresOption = Annotated[StoreKind, typer.Option("--stores", help="Of outputs: through the caches, or past them.")]
NoPrefetchOption = Annotated[bool, typer.Option("--no-prefetch", help="Do not ask for the next tiles early.")]
PaddingOption = Annotated[
    Padding | None,
    typer.Option(
        "--padding",
        help="Whether the rim around an image is stored or implicit: zero, never stored, never moved.",
        show_default=False,
    ),
]
PlotFolderOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="DIR", parser=path_of, help="Draw the answer into this folder.", show_default=False),
]
MachineOption = Annotated[
    str | None,
    typer.Option("--machine", metavar="M", help="A library machine or a YAML file.", show_default=False),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="A two-level machine instead: 8192w, 512B, 32KiB or 12MiB of fast memory.",
        show_default=False,
    ),
]
ConstraintOption = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        metavar="TEXT",
        help="What a tile, a loop order, a split or a keeper must be: L1.k=16, 'L2.c<=64', 'L1.k%8=0', "
        "L1.order=...,k (k innermost), L2.spatial.k=8; on accelerators also L2.x.k=8, L2.keeps=A,B, L2.bypass=C. "
        "Repeatable.",
        show_default=False,
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of a search on accelerators, such as victory=1000. Repeatable.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
CapacityOption = Annotated[
    CapacityRule, typer.Option("--capacity", help="What must fit: one tile, or enough for an LRU cache.")
]
CountingOption = Annotated[
    str | None,
    typer.Option(
        "--counting",
        metavar="NAME",
        help="On accelerators: exact (if left out); timeloop, which extrapolates and takes tiles as hulls; factorflow, "
        "the model of QuickFlow.",
        show_default=False,
    ),
]
TilesOption = Annotated[
    TileRule,
    typer.Option(
        "--tiles",
        help="Any tile size, or divisors only; on accelerators any is padded: divisors of larger extents, too.",
    ),
]
