"""Names that a shell completes: what `optmap list` lists, and the levels of the machine that was typed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import typer
import typer.completion

from optmap.base.errors import OptmapError
from optmap.base.starting import PROGRAM

SHELLS: Any = typer.completion  # also has what Typer does not promise to keep; its version is bounded
ASKED = f"_{PROGRAM.upper()}_COMPLETE"
"""The variable of the environment in which a shell asks for names rather than for an answer."""
LEVELS = "levels"
"""Of the machine of the same command line."""


class Shell(StrEnum):
    """Shells that names are completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def script(shell: Shell) -> str:
    """What a shell has to read so that it completes the names of commands, options and their values."""
    written = SHELLS.get_completion_script(prog_name=PROGRAM, complete_var=ASKED, shell=shell.value)
    return str(written).strip()


def answer_shells() -> None:
    """Know the shells, if one of them asks for names; otherwise nothing is loaded."""
    if ASKED in os.environ:
        SHELLS.completion_init()


def items(names: Iterable[str]) -> list[Any]:
    """Names as what a command completes them to."""
    return [SHELLS.shell_completion.CompletionItem(name) for name in names]


def completed(*kinds: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes a value that is a name, or several with commas between.

    Args:
        *kinds: what it may name, as `list_names` calls it, or `LEVELS`.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            known = [name for kind in kinds for name in _names(kind, ctx.params)]
        except (OptmapError, OSError):  # half a command line may say anything; it is refused when it runs
            return []
        before, comma, _ = incomplete.rpartition(",")
        if comma and not set(before.split(",")) <= set(known):  # no list of names, but a statement
            return []
        return [before + comma + name for name in known]

    return complete


def _names(kind: str, typed: dict[str, Any]) -> Iterable[str]:
    """The names of a kind."""
    if kind == LEVELS:
        from optmap.files.inputs import machine_of

        return [level.name for level in machine_of(typed.get("machine"), typed.get("memory")).levels]
    from optmap.verbs.catalogue import names_of

    return names_of(kind)
