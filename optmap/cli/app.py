"""The application: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from optmap import __version__
from optmap.cli import (
    algorithms,
    bounding,
    catalogue,
    checking,
    checkup,
    comparing,
    evaluating,
    exporting,
    importing,
    networking,
    plotting,
    solving,
    sweeping,
    symbols,
)
from optmap.cli.console import say

app = typer.Typer(
    name="optmap",
    add_completion=False,
    no_args_is_help=True,
    # Plain text: help and errors read the same on a terminal, in a pipe and in a log.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Mappings of tensor computations onto memory hierarchies, and how good they can be.",
    epilog="Example: optmap solve resnet18/R9 --machine i7-9700k",
)


def _version(asked: bool) -> None:
    if asked:
        say(f"optmap {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Mappings of tensor computations onto memory hierarchies, and how good they can be."""


COMMANDS = (
    catalogue,
    symbols,
    solving,
    bounding,
    comparing,
    algorithms,
    checking,
    evaluating,
    exporting,
    checkup,
    sweeping,
    plotting,
    networking,
    importing,
)
for module in COMMANDS:
    module.register(app)
