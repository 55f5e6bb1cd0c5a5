"""Which entry of the library, or of a file, a name means, and the file it would be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from optmap.base.errors import InputError, UnknownNameError
from optmap.files import library
from optmap.files.inputs import ExtentsInput, is_file, is_statement, workload_of
from optmap.files.library import list_networks
from optmap.files.machines import core_document, level_document
from optmap.files.network import network, network_path
from optmap.files.reading import load_yaml
from optmap.files.stores import leaves_document, plain
from optmap.files.yaml12 import dump_yaml
from optmap.machines.accelerator import Arithmetic, Store
from optmap.machines.machine import Level, Machine
from optmap.onnx_import.model import workload_fields
from optmap.report.library.entries import Entry
from optmap.report.library.methods import method_entry
from optmap.search.methods import METHODS
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.workload import Workload

KINDS = ("machines", "networks", "sweeps")


def shown(
    name: Any,
    extents: ExtentsInput | None = None,
    padding: str | None = None,
    outputs: str | Iterable[str] | None = None,
) -> Entry:
    """The entry that a name (of the library, or of a method), a file, a statement, a workload or a machine means.

    Raises:
        UnknownNameError: for a name that the library does not have.
        InputError: for anything else that cannot be accepted.
    """
    if isinstance(name, Path):
        name = str(name)
    if isinstance(name, str) and not is_statement(name):
        entry = _from_file(Path(name)) if is_file(name) else _from_library(name)
        if entry is None and name in METHODS:
            entry = Entry(kind="method", value=method_entry(METHODS[name]), note="", yaml="")
        if entry is not None:
            if entry.kind != "workload" and any(each is not None for each in (extents, padding, outputs)):
                raise InputError(
                    f"{name} is a {entry.kind}; --extents, --padding and --output are for a workload, leave them out"
                )
            return entry
    if isinstance(name, Machine):
        return Entry(kind="machine", value=name, note="", yaml=machine_yaml(name))
    try:
        found = workload_of(name, extents, padding=padding, outputs=outputs)
    except UnknownNameError as error:
        known = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in _others().items())
        raise UnknownNameError(
            f"{error}\nas a machine, network, sweep or method it is not known either; {known}; methods: "
            f"{', '.join(METHODS)}"
        ) from error
    plain = isinstance(name, str) and not is_statement(name) and not is_file(name)
    note = library.workload_note(name) if plain else ""
    return Entry(kind="workload", value=found, note=note, yaml=workload_yaml(found, note))


def workload_yaml(workload: Workload, note: str = "") -> str:
    """A workload as a file that loads back equal."""
    fields = {"name": workload.name, **workload_fields(workload), "semantics": workload.semantics.value}
    if not workload.name:
        del fields["name"]
    described = {"description": note} if note else {}
    return dump_yaml({**described, **fields})


def machine_yaml(machine: Machine) -> str:
    """A machine as a file that loads back equal."""
    fields: dict[str, object] = {"name": machine.name, "memory": machine.memory}
    if machine.clock_hz is not None:
        fields["clock"] = f"{machine.clock_hz}Hz"
    if machine.core is not None:
        fields["core"] = core_document(machine.core)
    if machine.outermost is not None:
        plain = leaves_document(Store(), Arithmetic())
        fields |= {"arithmetic": {}, **_changed(leaves_document(machine.outermost, machine.arithmetic), plain)}
    fields["levels"] = [_level_fields(level) for level in machine.levels]
    return dump_yaml(fields)


def _level_fields(level: Level) -> dict[str, object]:
    """A level as machine files write it; what is as by default is left out."""
    document = level_document(level)
    store = None if level.store is None else Store()
    default = Level(name=level.name, capacity=level.capacity, bandwidth=level.bandwidth, store=store)
    fields = _changed(document, level_document(default))
    if level.partitions:
        fields["partitions"] = [
            {"name": part.name, "tensors": list(part.tensors), "capacity": size_field(part.capacity)}
            for part in level.partitions
        ]
    if level.core_bandwidth is not None:
        fields["core_bandwidth"] = size_field(level.core_bandwidth)
    size = {"name": level.name, "capacity": size_field(level.capacity)}
    rate = {} if level.store is not None else {"bandwidth": size_field(level.bandwidth)}
    return {**size, **rate, **fields}


def _changed(document: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """The entries of a document that are not those of another one with its keys, at any depth."""
    found = {}
    for key, value in document.items():
        default: Any = plain.get(key)
        both = isinstance(value, dict) and isinstance(default, dict)
        own = _changed(value, default) if both else value
        if own != ({} if both else default):
            found[key] = own
    return found


def size_field(size: Capacity | Bandwidth) -> str:
    """A capacity, or a bandwidth per cycle, as files write it without loss: `32768B`, `16w`, `48.5B`, `100/9B`."""
    amount = str(plain(size.amount))
    return f"{size.amount if 'e' in amount else amount}{'w' if size.unit == 'words' else 'B'}"


def _others() -> dict[str, tuple[str, ...]]:
    return dict(zip(KINDS, (library.list_machines(), list_networks(), library.list_sweeps()), strict=True))


def _from_library(name: str) -> Entry | None:
    """The machine, network or sweep of a name; None if it is none."""
    for kind, names in _others().items():
        for known in names:
            if known.casefold() != name.casefold():
                continue
            path = library.models_path() / kind / f"{known}.yaml"
            text = path.read_text(encoding="utf-8")
            if kind == "machines":
                return Entry(kind="machine", value=library.machine(known), note=library.machine_note(known), yaml=text)
            if kind == "networks":
                text = network_path(known).read_text(encoding="utf-8")
                return Entry(kind="network", value=network(known), note="", yaml=text)
            return Entry(kind="sweep", value=None, note="", yaml=text)
    return None


def _from_file(path: Path) -> Entry | None:
    """The machine of a file; None if it holds something else."""
    if not path.is_file():
        return None
    data = load_yaml(path)
    if not isinstance(data, dict) or "levels" not in data:
        return None
    text = path.read_text(encoding="utf-8")
    return Entry(kind="machine", value=library.machine(str(path)), note="", yaml=text)
