"""Annotations that can be evaluated, though modules import most types for type checkers alone."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from functools import cache
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from types import FunctionType
from typing import Any


def annotated(found: Any) -> Any:
    """The object itself, once its annotations can be evaluated: `typing.get_type_hints` looks into modules alone.

    What a module imports under `if TYPE_CHECKING:` it does not have. The names among these that the annotations of a
    function or a class use, methods included, are imported into it: what the object makes, which its use would import.
    """
    if isinstance(found, FunctionType):
        _complete(found)
    elif isinstance(found, type):
        for kind in (kind for kind in found.__mro__ if kind.__module__.startswith("optmap")):
            own = (each.fget if isinstance(each, property) else each for each in vars(kind).values())
            for each in (kind, *(unwrap(each) for each in own if isinstance(each, FunctionType))):
                _complete(each)
    return found


def _complete(found: Any) -> None:
    module = sys.modules[found.__module__]
    annotations = found.__annotations__ if isinstance(found, FunctionType) else vars(found).get("__annotations__", {})
    texts = " ".join(map(str, annotations.values()))
    for name in {*re.findall(r"[A-Za-z_]\w*", texts)} - set(vars(module)):
        if name in (places := _for_checkers(module.__name__)):
            home, _, own = places[name].partition(":")
            with contextlib.suppress(ImportError):  # a package that is not installed: its own message comes in time
                setattr(module, name, getattr(import_module(home), own) if own else import_module(home))


@cache
def _for_checkers(module: str) -> dict[str, str]:
    """What a module imports for type checkers alone: the name there, and the `module:name` or the module that it is."""
    try:
        tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):  # without its source
        return {}
    found: dict[str, str] = {}
    for block in tree.body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom):
                    found |= {each.asname or each.name: f"{line.module}:{each.name}" for each in line.names}
                elif isinstance(line, ast.Import):
                    found |= {each.asname or each.name: each.name for each in line.names}
    return found
