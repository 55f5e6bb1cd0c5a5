"""Plug-ins: modules that add to what optmap knows by name, here and in workers of sweeps.

What a script registers is known to the process of the script alone. A plug-in has a name, dotted or the path of a
file, by which any process can import it, so that what it registers can be asked for everywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from optmap.base.errors import InputError
from optmap.base.values import quoted
from optmap.files.kinds import missing_file
from optmap.interchange.formats import FORMATS
from optmap.machines.machine import Machine
from optmap.machines.traits import TRAITS
from optmap.questions.objective import OBJECTIVES
from optmap.search.methods import HOMES, LIBRARY, METHODS


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A module that was imported for what it registers."""

    name: str
    """By which another process imports it: dotted, or the absolute path of a file."""
    methods: tuple[str, ...]
    """That it registered."""
    objectives: tuple[str, ...]
    """That it registered."""
    policies: tuple[str, ...] = ()
    """Keys of the counting policies that it registered (`Policy.key`)."""
    traits: tuple[str, ...] = ()
    """Of levels, that it registered."""
    formats: tuple[str, ...] = ()
    """Of files, that it registered."""

    @property
    def idle(self) -> bool:
        """Whether it registered nothing."""
        return not (self.methods or self.objectives or self.policies or self.traits or self.formats)


PLUGINS: dict[str, Plugin] = {}
"""The plug-ins of this process by name, in the order in which they were loaded."""


def load_plugin(name: str | Path) -> Plugin:
    """Import a module that registers something; one that is loaded is not imported again.

    What it prints goes to stderr. Nothing stays registered of a module that fails.

    Args:
        name: of a module, such as `my_package.methods`, or the path of a file, such as `my_methods.py`.

    Returns:
        What it registered.

    Raises:
        InputError: if there is no such module, or its import fails: why, and in which line.
    """
    text = os.fspath(name) if isinstance(name, str | Path) else ""
    if not text or "\0" in text:
        raise InputError(f"plug-in {quoted(name)}: give the name of a module or the path of a .py file")
    file = Path(text).expanduser() if text.endswith(".py") or os.sep in text else None
    known = text if file is None else str(file.resolve())
    if known in PLUGINS:
        return PLUGINS[known]
    if file is not None and not file.is_file():
        raise missing_file(file)
    registries = _registries()
    before = {kind: set(registry) for kind, registry in registries.items()}
    with _all_or_nothing():
        module = _imported_name(text) if file is None else _imported_file(file.resolve(), text)
    file_of = getattr(module, "__file__", None)
    homes = {**HOMES, **_counting().HOMES}
    own = {
        kind: tuple(key for key in registry if key not in before[kind] or (homes.get(key) or "") == file_of)
        for kind, registry in registries.items()
    }
    return PLUGINS.setdefault(known, Plugin(name=known, **own))


def is_shared(method: str | None, counting: str | None = None, *machines: Machine) -> bool:
    """Whether every process can know a method (None for bounds), what counts, and traits: optmap's, or a plug-in's."""
    methods = {None, *LIBRARY, *(name for plugin in PLUGINS.values() for name in plugin.methods)}
    policies = {key for plugin in PLUGINS.values() for key in plugin.policies}
    traits = {name for plugin in PLUGINS.values() for name in plugin.traits}
    own = {name for machine in machines for level in machine.levels for name, _ in level.traits}
    return method in methods and policies.issuperset(own_policies(counting)) and own <= traits


def own_policies(counting: str | None) -> tuple[str, ...]:
    """Keys of the policies of one's own that have a name; empty for None."""
    known = _counting()
    return tuple(key for key in known.HOMES if known.POLICIES[key].name == counting)


def code_digest(name: str) -> str:
    """SHA-256 of the file that registered a method, or the key of a policy, of one's own; empty without one."""
    home = HOMES.get(name, _counting().HOMES.get(name))
    try:
        return "" if home is None else hashlib.sha256(Path(home).read_bytes()).hexdigest()
    except OSError:
        return ""


def _registries() -> dict[str, MutableMapping[str, Any]]:
    """What a plug-in may add to, by the field of `Plugin` that says what it added."""
    return {
        "methods": METHODS,
        "objectives": OBJECTIVES,
        "policies": _counting().POLICIES,
        "traits": TRAITS,
        "formats": FORMATS,
    }


def _counting() -> ModuleType:
    """Where countings are registered: imported when one is asked for, since they count with NumPy."""
    from optmap.count import policies

    return policies


@contextlib.contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Take back what was registered if the import fails."""
    registries = (*_registries().values(), HOMES, _counting().HOMES)
    kept = [(registry, dict(registry)) for registry in registries]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except BaseException:
        for registry, before in kept:
            registry.clear()
            registry.update(before)
        raise


def _imported_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"plug-in {name!r}: no name of a module; write a dotted name, or a path that ends in .py")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise _failed(name, error) from error
        beside = Path(f"{name.replace('.', '/')}.py")
        here = (
            f"; {beside} is here: --plugin {beside}" if beside.is_file() else "; give the path of its .py file instead"
        )
        raise InputError(f"plug-in {name}: no such module ({error.name}) where Python looks{here}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever its code raises, SystemExit included
        raise _failed(name, error) from error


def _imported_file(file: Path, said: str) -> ModuleType:
    """The module of a file; modules beside it can be imported from it."""
    name = f"optmap_plugin_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"plug-in {said}: no Python file; its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # at the end: what is there already is not hidden
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # whatever its code raises, SystemExit included
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _failed(said, error, file) from error
    return module


def _failed(name: str, error: BaseException, file: Path | None = None) -> InputError:
    """The error for a plug-in whose import fails: what it raised, and where."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _own(frame.filename, file)]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    where = "" if line is None else f" line {line}:"
    kind = "" if isinstance(error, InputError) else f" {type(error).__name__}:"
    return InputError(f"plug-in {name}:{where}{kind} {' '.join(str(error).split()) or 'it ends the program'}")


def _own(filename: str, file: Path | None) -> bool:
    """Whether a frame is of the plug-in itself."""
    if file is not None:
        return Path(filename) == file
    return "importlib" not in filename and not filename.startswith((str(Path(__file__).parents[1]), "<"))
