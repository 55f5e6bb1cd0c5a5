"""The page of commands: the help of each, with its options, from where the shell has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import typer

from making.markdown import cell, code, table, with_options
from optmap.cli.app import COMMANDS, GROUPS, app

INTRODUCTION = """\
# Commands

What is typed after `optmap`, by the question that it answers. Sizes carry a unit: `8192w` (words), `512B`, `32KiB`,
`12MiB`; a range is `4KiB:4MiB`. Times are seconds, or `90s`, `2min`, `1h`. Exit codes are on the page of
[errors](errors.md). This page is made from the declarations of the commands.
"""


def pages() -> Mapping[str, str]:
    """The page, by its path in the site."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("optmap", ["list"], resilient_parsing=True)
    parts = [INTRODUCTION]
    for question, of_group in GROUPS.items():
        parts.append(f"## {question}\n")
        parts += [_section(name, group.get_command(context, name), context) for name in of_group]
    parts.append("## For all commands\n")
    parts.append(_options([each.get_help_record(context) for each in group.get_params(context)]))
    assert all(f"### {name}\n" in "\n".join(parts) for name in COMMANDS)
    return {"reference/commands.md": "\n".join(parts)}


def _section(name: str, command: Any, parent: Any) -> str:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    arguments, options = [], []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            (arguments if parameter.param_type_name == "argument" else options).append(record)
    said = [f"### {name}\n", code(f"optmap {name} {usage}"), _text(command.help)]
    return "\n".join([*said, _options([*arguments, *options])])


def _options(records: list[Any]) -> str:
    return table(
        ("option", "what it does"),
        [(f"`{' '.join(name.split())}`", with_options(said)) for name, said in filter(None, records)],
    )


def _text(help: str) -> str:
    """The help of a command: paragraphs, and lines that are indented as a block."""
    made = []
    for part in re.split(r"\n{2,}", help.replace("\b\n", "").strip("\n")):
        lines = part.split("\n")
        plain = [line for line in lines if not line.startswith("  ")]
        typed = [line[2:] for line in lines if line.startswith("  ")]
        if plain:
            made.append(cell(with_options(" ".join(plain))) + "\n")
        if typed:
            made.append(code("\n".join(typed), "sh"))
    return "\n".join(made)
