"""Values of options that are right as they are: converting them would load a validation library.

Typer checks every value with pydantic, which takes longer to load than most commands take to run.
A text that stays a text, a default and a path need none of it; numbers and choices still go there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def spare(parameters: Iterable[Any]) -> None:
    """Let the parameters of a Typer command keep the values that need no conversion; those that do already stay so."""
    for parameter in parameters:
        if "process_value" in vars(parameter):
            continue
        # Older Typer converts by Click alone and describes no type.
        kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        if getattr(parameter, "multiple", False):
            kind = type(None)
        elif not (isinstance(kind, type) and parameter.nargs == 1):
            kind = None
        parameter.process_value = _sparing(parameter, kind, parameter.process_value)


def _sparing(parameter: Any, kind: type | None, process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What Typer's own `process` does, which is called only for a value that it must convert or refuse."""

    def value_of(context: Any, value: Any) -> Any:
        if context.resilient_parsing:  # a shell completes half a command line: nothing is done with its values
            return value
        if kind is None or not _ready(value, kind, parameter.required):
            return process(context, value)
        taken = Path(value) if kind is Path and value is not None else value
        return taken if parameter.callback is None else parameter.callback(context, parameter, taken)

    return value_of


def _ready(value: Any, kind: type, required: bool) -> bool:
    """Whether a value of the command line, or a default, is valid and of its kind; an empty path is not."""
    if value is None:
        return not required
    if isinstance(value, str) and not value.isascii():  # may be no valid text
        return False
    if kind is Path and isinstance(value, str):
        return value != "" and (os.access(value, os.R_OK) or not os.path.lexists(value))
    return isinstance(value, kind)
