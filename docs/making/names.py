"""The pages of public names, of names of the library, and of errors, from the package itself."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import yaml

import optmap
from making.files import MODELS
from making.markdown import code, literal, table
from optmap.base.errors import OptmapError
from optmap.count.policies import POLICIES

VERBS = "Verbs"
KINDS = (VERBS, "Registering your own", "Answers and nouns", "Errors")
EXTENDING = {
    "optmap.search": None,
    "optmap.mappings.levels": ("LevelMapping", "Mapping"),
    "optmap.questions.options": ("TileRule", "IntegerRule", "CertificateKind"),
    "optmap.questions.objective": ("Objective",),
    "optmap.count.meshes.policy": ("NestPolicy",),
    "optmap.bounds.result": ("LowerBound",),
    "optmap.bounds.methods": ("BoundMethod",),
    "optmap.base.shown": ("Shown", "Presentation"),
}
"""Modules that a plug-in needs, with the names in them; None for all that the module has for type checkers."""
MEANINGS = {
    0: "an answer",
    1: "stdout could not be written: a full disk, or a reader that is gone",
    2: "bad input; a file of `-o` that cannot be written is, too",
    3: "nothing meets what is asked: no mapping fits, or constraints exclude each other",
    4: "a limit was reached; the best answer so far is printed",
    5: "a check failed: an answer must not be trusted",
}
"""What exit codes say."""


def pages() -> Mapping[str, str]:
    """The pages, by their path in the site."""
    return {
        "reference/python.md": _python(),
        "reference/extending.md": _extending(),
        "reference/errors.md": _errors(),
        "reference/names.md": _names(),
    }


def public() -> dict[str, list[str]]:
    """The public names of the package by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in sorted(each for each in optmap.__all__ if each not in ("__version__", "METHODS")):
        own = getattr(optmap, name)
        if inspect.isclass(own):
            kind = "Errors" if issubclass(own, BaseException) else "Answers and nouns"
        else:
            kind = "Registering your own" if name.startswith(("register_", "load_plugin")) else VERBS
        found[kind].append(name)
    return found


def _python() -> str:
    parts = [
        "# Python names\n",
        "Everything that `import optmap` offers. A verb is the command of the same name; its options are keyword",
        "arguments, which the shell has too. Counts are in words of the workload, sizes in bytes where a unit says so,",
        "times in seconds. What all answers can do (save, draw, be checked) is that of their base class",
        "[Shown](extending.md#optmapbaseshownshown).\n",
    ]
    for kind, names in public().items():
        parts.append(f"## {kind}\n")
        parts += [_auto(f"optmap.{name}", getattr(optmap, name)) for name in names]
    return "\n".join(parts)


def _extending() -> str:
    parts = [
        "# Names for methods of your own\n",
        "What a search, a method or a judge of one's own needs beside `optmap` itself: see",
        "[a method of my own](../howto/my-own-method.md).\n",
    ]
    for module, names in EXTENDING.items():
        loaded = import_module(module)
        parts.append(f"## {module}\n")
        for name in sorted(names or _for_type_checkers(loaded)):
            own = getattr(loaded, name)
            if name not in optmap.__all__ and callable(own):
                parts.append(_auto(f"{module}.{name}", own))
    return "\n".join(parts)


def _for_type_checkers(module: ModuleType) -> Iterator[str]:
    """The names that a module without imports of its own shows to type checkers."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom):
                    yield from (alias.asname or alias.name for alias in each.names)


def _auto(path: str, own: Any) -> str:
    kind = "autoexception" if inspect.isclass(own) and issubclass(own, BaseException) else "autofunction"
    kind = "autoclass" if inspect.isclass(own) and kind == "autofunction" else kind
    return f"### {path}\n\n```{{eval-rst}}\n.. {kind}:: {path}\n```\n"


def _classes() -> Iterator[type[OptmapError]]:
    """All errors, those of every module, the general ones first."""
    for each in walk_packages(optmap.__path__, "optmap."):
        if each.name.endswith((".errors", ".engine", ".files")):
            import_module(each.name)
    waiting: list[type[OptmapError]] = [OptmapError]
    while waiting:
        found = waiting.pop(0)
        yield found
        waiting = sorted(found.__subclasses__(), key=lambda each: each.__name__) + waiting


def _errors() -> str:
    document = code("$ optmap solve nosuch --json\n" + _said("solve nosuch --json"), "text")
    classes = list(_classes())
    rows = [(literal(str(number)), meaning) for number, meaning in MEANINGS.items()]
    assert {each.exit_code for each in classes} <= set(MEANINGS)
    kinds = [
        (literal(each.__name__), literal(each.__mro__[1].__name__), literal(str(each.exit_code)), _first(each))
        for each in classes
    ]
    return "\n".join(
        [
            "# Errors and exit codes\n",
            "Whatever a user can cause is an `OptmapError` in Python and an exit code at the shell. A message says",
            "what is wrong, where (file, field or character), and what to change. With `--json` it is a document:\n",
            document,
            "## Exit codes\n",
            table(("code", "meaning"), rows),
            "## Errors\n",
            table(("error", "is a", "exit code", "when"), kinds),
        ]
    )


def _first(own: Any) -> str:
    """The first paragraph of its documentation."""
    return (inspect.getdoc(own) or "").split("\n\n")[0]


def _names() -> str:
    listed = optmap.list().to_dict()
    parts = [
        "# Names of the library\n",
        "What `optmap list` lists. `optmap show NAME` shows an entry in full, with `--yaml` as a file to edit; a",
        "method with what it can do.\n",
    ]
    for kind in ("methods", "objectives", "bounds"):
        rows = [(literal(each["name"]), each["description"]) for each in listed[kind]]
        parts += [f"## {kind.capitalize()}\n", table((kind[:-1], "what it is"), rows)]
        if kind == "methods":
            parts += ["Their settings (`--set`):\n", code(str(optmap.list("methods")))]
    parts += ["## Countings\n", table(("policy", "how a mapping is counted"), _policies())]
    machines = [(literal(name), _described(name)) for name in listed["machines"]]
    parts += ["## Machines\n", table(("machine", "what it is"), machines)]
    for kind in ("networks", "sweeps", "workloads"):
        parts += [f"## {kind.capitalize()}\n", ", ".join(map(literal, listed[kind])) + "\n"]
    return "\n".join(parts)


def _described(machine: str) -> str:
    """What the file of a machine says of it."""
    text = yaml.safe_load((MODELS / "machines" / f"{machine}.yaml").read_text(encoding="utf-8"))
    return str(text.get("description", ""))


def _policies() -> Iterator[tuple[str, str]]:
    for name, policy in POLICIES.items():
        place, _, own = name.partition("-")
        yield f"{literal(own)} ({place})", policy.description


def _said(words: str) -> str:
    """What a command prints."""
    from optmap.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        main(words.split())
    return said.getvalue().strip()
