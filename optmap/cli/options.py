"""Options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from optmap.base.errors import InputError
from optmap.cli.completing import completed
from optmap.questions.option import Opt, Option, declared
from optmap.search.options import SolveOptions
from optmap.workloads.workload import Semantics

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


def taking(*options: type) -> Callable[[Command], Command]:
    """Give a command that takes `**options` those of typed dictionaries, as options of the shell.

    They come in the order of their declaration, before the command's own.
    """
    known = {name: option for each in options for name, option in declared(each).items()}

    def made(command: Command) -> Command:
        own = signature(command, eval_str=True)
        parts = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        first = [each for each in parts if each.default is Parameter.empty]
        last = [each for each in parts if each.default is not Parameter.empty]
        named = [_parameter(each) for each in known.values() if each.opt.shell is not None]
        command.__signature__ = own.replace(parameters=[*first, *named, *last])  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in (*first, *named, *last)}
        return command

    return made


def _parameter(option: Option) -> Parameter:
    """An option as Typer takes it."""
    kind, default = _kind(option.opt), _default(option.opt)
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None if default is None else kind, _shown(option)],
    )


def _kind(opt: Opt) -> Any:
    """The type of an option at the shell."""
    return opt.choices or (int if opt.least is not None else opt.shell)


def _default(opt: Opt) -> Any:
    """What Typer takes for one that is left out."""
    return None if opt.default is None or _kind(opt) == list[str] else opt.default


def _shown(option: Option) -> Any:
    """What Typer is told of an option beside its type."""
    opt = option.opt
    return typer.Option(
        *option.flag.split(),
        help=f"{opt.help} {opt.typed}".strip(),
        metavar=opt.metavar,
        parser=PARSERS.get(_kind(opt)),
        min=opt.least,
        max=opt.most,
        autocompletion=completed(opt.names) if opt.names else None,
        show_default=_default(opt) is not None,
    )


PARSERS: dict[Any, Callable[[str], Any]] = {Path: path_of, float: time_of}
"""What reads the text of an option of a type."""


def workloads_argument(help: str) -> Any:
    """The argument of commands that take several workloads, with what may stand for them as help."""
    return typer.Argument(
        metavar="WORKLOAD...", help=help, show_default=False, autocompletion=completed("workloads", "networks")
    )


def output_option(help: str, metavar: str = "FILE") -> Any:
    """The option that says where an answer is written, with what becomes of it as help."""
    return typer.Option("-o", "--output", metavar=metavar, parser=path_of, help=help, show_default=False)


def picture_option(help: str) -> Any:
    """The option that says where the one picture of an answer is drawn, with what is on it as help."""
    return typer.Option("--plot", metavar="FILE", parser=path_of, help=help, show_default=False)


SOLVE = declared(SolveOptions)
"""Options of `solve`, of which other commands have some, too."""
WorkloadArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="A library name (resnet18/R9), a YAML file, or a statement such as 'C[i,j] += A[i,k]*B[k,j]'.",
        show_default=False,
        autocompletion=completed("workloads"),
    ),
]
SemanticsOption = Annotated[Semantics | None, _shown(SOLVE["semantics"])]
NoPrefetchOption = Annotated[bool, typer.Option("--no-prefetch", help="Do not ask for the next tiles early.")]
PlotFolderOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="DIR", parser=path_of, help="Draw the answer into this folder.", show_default=False),
]
MachineOption = Annotated[str | None, _shown(SOLVE["machine"])]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
