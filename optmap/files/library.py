"""The model library: named workloads and machines, from a checkout or an installed wheel."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from optmap.base.errors import InputError, UnknownNameError
from optmap.base.names import choose, suggestion
from optmap.base.texts import natural
from optmap.files.fields import Fields
from optmap.files.kinds import KINDS, NameKind, expected, file_kind, missing_file, near_files
from optmap.files.machines import machine_from
from optmap.files.reading import load_yaml
from optmap.files.workloads import entry_workload, read_workloads, workload_entries
from optmap.machines.machine import Machine
from optmap.workloads.sizes import capacities
from optmap.workloads.workload import Workload

SUFFIXES = (".yaml", ".yml")


def models_path() -> Path:
    """The folder of workloads, machines and exported programs.

    Raises:
        InputError: if the installation lacks it.
    """
    return _data("models")


def solvers_config_path() -> Path:
    """The file that chooses solvers and their options.

    Raises:
        InputError: if the installation lacks it.
    """
    return _data("solvers.cfg")


def list_workloads() -> tuple[str, ...]:
    """Names of all library workloads, `file/key`: files in natural order, keys as in the file.

    The files keep the order of the papers' tables, so Y2 is before Y12 and IX after VIII.
    """
    return tuple(f"{path.stem}/{key}" for path in _files("workloads") for key in _entries(path))


def list_machines() -> tuple[str, ...]:
    """Names of all library machines, in natural order."""
    return tuple(path.stem for path in _files("machines"))


def list_networks() -> tuple[str, ...]:
    """Names of all library networks, in natural order."""
    return tuple(path.stem for path in _files("networks"))


def list_sweeps() -> tuple[str, ...]:
    """Names of all library sweeps, in natural order."""
    return tuple(path.stem for path in _files("sweeps"))


def choose_entry(wanted: str, text: str, known: Iterable[str]) -> str:
    """The entry of the library that a name means, in any case.

    Args:
        wanted: what it is an entry of: `workload`, `machine`, `network`, `sweep`.
        text: what was typed.
        known: the names there are.

    Raises:
        WrongKindError: if it is something else that has a name, a file, a capacity, a pattern or a statement.
        UnknownNameError: for any other name that is not known; it suggests the nearest.
    """
    try:
        return choose(wanted, text, known, any_case=True)
    except UnknownNameError:
        other = _meaning(text)
        if other is not None:
            raise other.refusal(text, f"a {wanted}") from None
        if near_files(Path(text)):
            raise missing_file(Path(text)) from None
        raise


def _meaning(text: str) -> NameKind | None:
    """What a text is that was taken for the name of an entry; None if it is nothing that is known."""
    lowered = text.casefold()
    if "[" in text or "->" in text:
        return NameKind(said="a statement", use="type: optmap solve {it} --extents i=64,j=64 --machine MACHINE")
    if any(mark in text for mark in "*?"):
        return _pattern(text)
    if lowered in map(str.casefold, list_machines()):
        return NameKind(said="a machine", use="type: optmap solve WORKLOAD --machine {it}")
    if lowered in map(str.casefold, (*list_workloads(), *list_layers())):
        return KINDS["workload"]
    own = [name for name in (*list_workloads(), *list_layers()) if name.casefold().startswith(f"{lowered}/")]
    if own:
        several = f"{own[0]} ... {own[-1]}" if len(own) > 1 else own[0]
        if lowered in list_networks():
            use = f"type: optmap network {{it}} --machine MACHINE, or name a layer of it: {several}"
            return NameKind(said="a network", use=use)
        return NameKind(said=f"a group of {len(own)} workloads", use=f"name one of it: {several}")
    if lowered in list_sweeps():
        return KINDS["sweep"]
    kind = file_kind(Path(text)) if text else ""
    if kind:
        return KINDS["plain" if kind in ("workload", "workloads", "machine", "sweep") else kind]
    if text and Path(text).is_file():
        return NameKind(
            said="a file that holds nothing known here", use="workloads and machines are YAML: see models/README.md"
        )
    try:
        capacities(text, 2)
    except InputError:
        return None
    return NameKind(said="a capacity", use="type: --memory {it}")


def _pattern(text: str) -> NameKind | None:
    """What a pattern is, if anything matches it."""
    try:
        own = match_workloads(text)
    except UnknownNameError:
        return None
    use = f"name one of them, such as {own[0]}, or give it to race, run or bench, which take several"
    return NameKind(said=f"a pattern of {len(own)} workloads", use=use)


def workload(name_or_path: str | Path) -> Workload:
    """A workload by its library name (in any case) or from a YAML file.

    Args:
        name_or_path: `resnet18/R9`, or a layer of a network such as `resnet18/fc`; or a file with one
            workload; or `file.yaml/key` for one of several in a file.

    Raises:
        UnknownNameError: for a name that the library does not have; it suggests the nearest.
        InputError: if the file cannot be used.
    """
    text = str(name_or_path)
    path, key = _split_path(text)
    if path is not None:
        return _from_file(path, key)
    found, key = _library_entry(text)
    return _workload_cached(found, key, found.stat().st_mtime_ns)


def list_layers() -> tuple[str, ...]:
    """Names of the layers that only the library networks have, `network/key`, in the order of the files."""
    mine = set(list_workloads())
    names = (f"{path.stem}/{key}" for path in _files("networks") for key in _entries(path))
    return tuple(name for name in names if name not in mine)


def _library_entry(name: str) -> tuple[Path, str]:
    """File and key of a library workload or of a layer of a library network."""
    if is_workload(name):
        return _place(name)
    layers = list_layers()
    found = choose_entry("workload", name, (*list_workloads(), *layers))
    return _place(found, "networks" if found in layers else "workloads")


def is_workload(name: str) -> bool:
    """Whether `list_workloads` has this name, in this case; reads its file alone."""
    path, key = _place(name)
    return path in _files("workloads") and key in _entries(path)


def _place(name: str, kind: str = "workloads") -> tuple[Path, str]:
    """File and key of a library name."""
    stem, _, key = name.partition("/")
    return models_path() / kind / f"{stem}.yaml", key


def match_workloads(pattern: str) -> tuple[str, ...]:
    """Names of the library workloads that match a glob such as `yolo9000/*`, in library order.

    Chains of statements are among them only where nothing else matches: what takes many workloads takes products.

    Raises:
        UnknownNameError: if none matches.
    """
    names = list_workloads()
    found = tuple(name for name in names if fnmatchcase(name.casefold(), pattern.casefold()))
    if not found:
        raise UnknownNameError(f"no workload matches {pattern!r}{suggestion(pattern, names)}")
    return tuple(name for name in found if workload(name).is_product) or found


def machine(name_or_path: str | Path) -> Machine:
    """A machine by its library name (in any case) or from a YAML file.

    Raises:
        UnknownNameError: for a name that the library does not have; it suggests the nearest.
        InputError: if the file cannot be used.
    """
    text = str(name_or_path)
    if text.endswith(SUFFIXES):
        return _read_machine(Path(text))
    path = _machine_path(text)
    return _machine_cached(path, path.stat().st_mtime_ns)


def workload_note(name: str) -> str:
    """Where the numbers of a library workload come from, in words.

    Raises:
        UnknownNameError: for a name that the library does not have.
    """
    return _note(_library_entry(name)[0])


def machine_note(name: str) -> str:
    """Where the numbers of a library machine come from, in words.

    Raises:
        UnknownNameError: for a name that the library does not have.
    """
    return _note(_machine_path(name))


def _data(name: str) -> Path:
    """A file or folder of data: inside the package (wheel) or beside it (checkout)."""
    package = Path(str(files("optmap")))
    # The wheel's copy first: beside an installed package are other people's folders.
    for place in (package / "_data" / name, package.parent / name):
        if place.exists():
            return place
    raise InputError(f"this installation of optmap has no {name}; install it again")


def _files(kind: str) -> list[Path]:
    return sorted((models_path() / kind).glob("*.yaml"), key=lambda path: natural(path.stem))


def _entries(path: Path) -> dict[str, Fields]:
    return _read_cached(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read_cached(path: Path, _modified: int) -> dict[str, Fields]:
    """The entries of a library file; read again only when the file has changed."""
    return workload_entries(path)


@lru_cache(maxsize=1024)
def _workload_cached(path: Path, key: str, _modified: int) -> Workload:
    """A workload of a library file; one object as long as the file has not changed."""
    return entry_workload(path, key, _entries(path)[key])


@lru_cache(maxsize=64)
def _machine_cached(path: Path, _modified: int) -> Machine:
    """A machine of a library file; one object as long as the file has not changed."""
    return _read_machine(path)


def _read_machine(path: Path) -> Machine:
    with expected(path, "a machine", "machine"):
        return machine_from(Fields.of(load_yaml(path), str(path)), path.stem)


def _machine_path(name: str) -> Path:
    """File of a library machine."""
    path = models_path() / "machines" / f"{name}.yaml"
    if path in _files("machines"):
        return path
    return path.with_name(f"{choose_entry('machine', name, list_machines())}.yaml")


def _note(path: Path) -> str:
    return _note_cached(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _note_cached(path: Path, _modified: int) -> str:
    """The note of a library file; read again only when the file has changed."""
    return Fields.of(load_yaml(path), str(path)).note()


def _split_path(text: str) -> tuple[Path | None, str]:
    """The file of `file.yaml` or `file.yaml/key`, and the key; no file for a library name."""
    if text.endswith(SUFFIXES):
        return Path(text), ""
    for suffix in SUFFIXES:
        head, mark, key = text.rpartition(f"{suffix}/")
        if mark:
            return Path(head + suffix), key
    return None, ""


def _from_file(path: Path, key: str) -> Workload:
    if not path.exists() and not key and (name := str(path.with_suffix(""))) in (*list_workloads(), *list_layers()):
        raise InputError(f"{path}: no such file; the workload of the library is called {name}, without {path.suffix}")
    found = read_workloads(path)
    if key in found:
        return found[key]
    if key and "" in found:
        raise InputError(f"{path} holds one workload, which has no key there; leave out /{key}: {path}")
    if key:
        choose("workload", key, found, where=str(path))
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise InputError(f"{path}: workloads is empty")
    raise InputError(f"{path} holds {len(found)} workloads; name one, as in {path}/{next(iter(found))}")
