"""The application: which commands there are."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from optmap.cli.completing import Shell, items, script
from optmap.cli.console import begin, hush, say, tell_all, widen
from optmap.cli.values import spare
from optmap.version import __version__

GROUPS = {
    "Find a mapping": {"solve": "solving", "evaluate": "evaluating", "curve": "curving", "sensitivity": "sensing"},
    "Prove a bound": {
        "bound": "bounding",
        "closed-form": "closing",
        "derive": "symbols",
        "randomized": "randomized",
        "check": "checking",
    },
    "Compare": {
        "compare": "comparing",
        "race": "racing",
        "score": "scoring",
        "algorithms": "algorithms",
        "reproduce": "reproducing",
    },
    "Run on this machine": {
        "detect": "detecting",
        "emit": "emitting",
        "run": "executing",
        "bench": "benching",
        "validate": "validating",
    },
    "Networks and sweeps": {"network": "networking", "sweep": "sweeping", "plot": "plotting"},
    "Exchange with other tools": {"import": "importing", "export": "exporting", "conformance": "conforming"},
    "Look things up": {"list": "catalogue", "show": "catalogue", "doctor": "checkup"},
}
"""Every command and the module in `optmap.cli` that has it, by the question that it answers, as in the help."""
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
"""Every command and its module, in the order of the help."""
WHOLE = 1000
"""More characters than the first sentence of any help has."""
PLAIN: dict[str, Any] = {
    "add_completion": False,
    # Plain text: help and errors read the same on a terminal, in a pipe and in a log.
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}


class Commands(TyperGroup):
    """The commands, each imported and built when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None; a name that is none is compared with all commands."""
        for name in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands.update(_built(COMMANDS[name], ctx))
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands of the help: by question, each with the whole first sentence of its own help."""
        widest = max(map(len, COMMANDS))
        with formatter.section("Commands"):
            for question, names in GROUPS.items():
                formatter.write(f" {question}:\n")  # one blank: names of commands stand after two
                commands = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl([(name.ljust(widest), each.get_short_help_str(WHOLE)) for name, each in commands])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names of commands and options that begin like this; no command is imported for its name."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return items(name for name in COMMANDS if name.startswith(incomplete))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What follows the options of the program itself."""
        spare(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _built(module: str, context: Any) -> Any:
    """The commands of one module by their name."""
    part = typer.Typer(**PLAIN, callback=lambda: None)  # with a callback, one command is a group too
    import_module(f"{__package__}.{module}").register(part)
    group: Any = typer.main.get_command(part)
    shared = [copy(each) for each in context.command.params if each.hidden or each.name == "plugin"]
    for each in shared:
        each.expose_value = False  # no command has an argument for it
        each.hidden = False
    for command in group.commands.values():
        command.params += shared
        spare(command.get_params(context))
    return group.commands


app = typer.Typer(
    **PLAIN,
    name="optmap",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Mappings of tensor computations onto memories, and how good they can be.",
    epilog="\b\nExample: optmap solve resnet18/R9 --machine i7-9700k\n"
    "Exit codes: 0 answer, 1 no output, 2 bad input, 3 infeasible, 4 limit, 5 false",
)


def _version(asked: bool) -> None:
    if asked:
        say(f"optmap {__version__}")
        raise typer.Exit


def _completion(shell: Shell | None) -> None:
    if shell is not None:
        say(script(shell))
        raise typer.Exit


def _begin(context: typer.Context, names: list[str] | None) -> None:
    begin(context, names or ())


def _switch(flag: str, help: str, callback: Callable[[bool], None]) -> Any:
    """An option that every command shows and takes, and that may stand before the command as well."""
    return typer.Option(flag, help=help, callback=callback, is_eager=True, hidden=True)


@cache
def program() -> Any:
    """The command line as it runs: Typer builds it, and each command of it, once in a process."""
    return typer.main.get_command(app)


@app.callback()
def top(
    *,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE",
            help="Import a module or .py file of own methods. Repeatable.",
            show_default=False,
            callback=_begin,
            is_eager=True,
        ),
    ] = None,
    wide: Annotated[bool, _switch("--wide", "Leave tables that are wider than 80 columns as they are.", widen)] = False,
    quiet: Annotated[
        bool, _switch("--quiet", "Write nothing to stderr but errors: no progress, no notes.", hush)
    ] = False,
    verbose: Annotated[
        bool, _switch("--verbose", "Write lines with progress to stderr, also where it is no terminal.", tell_all)
    ] = False,
    completion: Annotated[
        Shell | None,
        typer.Option(
            "--completion",
            metavar="SHELL",
            help="Print what completes names in bash, zsh or fish.",
            show_default=False,
            callback=_completion,
            is_eager=True,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Mappings of tensor computations onto memories, and how good they can be."""
