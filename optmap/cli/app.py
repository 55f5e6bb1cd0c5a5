"""The application: which commands there are."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from optmap.cli.console import begin, say
from optmap.cli.values import spare
from optmap.version import __version__

COMMANDS = {
    "list": "catalogue",
    "show": "catalogue",
    "derive": "symbols",
    "closed-form": "closing",
    "solve": "solving",
    "bound": "bounding",
    "compare": "comparing",
    "curve": "curving",
    "race": "racing",
    "algorithms": "algorithms",
    "randomized": "randomized",
    "check": "checking",
    "evaluate": "evaluating",
    "conformance": "conforming",
    "export": "exporting",
    "doctor": "checkup",
    "detect": "detecting",
    "emit": "emitting",
    "run": "executing",
    "bench": "benching",
    "validate": "validating",
    "sweep": "sweeping",
    "plot": "plotting",
    "network": "networking",
    "import": "importing",
    "score": "scoring",
    "reproduce": "reproducing",
    "sensitivity": "sensing",
}
"""Every command and the module in `optmap.cli` that has it, in the order of the help."""
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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What follows the options of the program itself."""
        spare(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _built(module: str, context: Any) -> Any:
    """The commands of one module by their name."""
    part = typer.Typer(**PLAIN, callback=lambda: None)  # with a callback, one command is a group too
    import_module(f"{__package__}.{module}").register(part)
    group: Any = typer.main.get_command(part)
    plugin = copy(next(each for each in context.command.params if each.name == "plugin"))
    plugin.expose_value = False  # no command has an argument for it
    for command in group.commands.values():
        command.params.append(plugin)
        spare(command.get_params(context))
    return group.commands


app = typer.Typer(
    **PLAIN,
    name="optmap",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Mappings of tensor computations onto memory hierarchies, and how good they can be.",
    epilog="Example: optmap solve resnet18/R9 --machine i7-9700k\n\n"
    "Exit codes: 0 an answer, 1 stdout cannot be written, 2 bad input, 3 infeasible, 4 a limit reached, "
    "5 a check failed.",
)


def _version(asked: bool) -> None:
    if asked:
        say(f"optmap {__version__}")
        raise typer.Exit


def _begin(context: typer.Context, names: list[str] | None) -> None:
    begin(context, names or ())


@app.callback()
def top(
    *,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE",
            help="Import this module, or .py file, first: it registers methods or objectives. Repeatable.",
            show_default=False,
            callback=_begin,
            is_eager=True,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Mappings of tensor computations onto memory hierarchies, and how good they can be."""
