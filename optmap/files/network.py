"""Networks: the layers of a whole model with their counts.

A network is a workload file: every entry is a layer, `count` says how often it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.files.fields import Fields
from optmap.files.library import SUFFIXES, choose_entry, list_networks, models_path
from optmap.files.reading import load_yaml
from optmap.files.workloads import read_workloads
from optmap.workloads.workload import Semantics, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Shown):
    """A named list of workloads with counts.

    Raises:
        InputError: for no layer, or two layers of one name.
    """

    shown_as: ClassVar[str] = "network"

    name: str
    layers: tuple[Workload, ...]
    """Distinct layers in the order of the file, each with its `count`."""
    note: str = ""
    """What it is, where its numbers come from, and what is left out."""

    def __post_init__(self) -> None:
        names = [layer.title for layer in self.layers]
        if not names:
            raise InputError(f"network {self.name}: at least one layer is needed")
        if len(set(names)) != len(names):
            raise InputError(f"network {self.name}: layer names repeat in {', '.join(names)}")

    def with_semantics(self, semantics: Semantics | str) -> Network:
        """The same layers with the other meaning of their first touches.

        Raises:
            InputError: for another word than `assign` or `accumulate`.
        """
        return replace(self, layers=tuple(layer.with_semantics(semantics) for layer in self.layers))

    @property
    def occurrences(self) -> int:
        """Layers, every occurrence counted."""
        return sum(layer.count for layer in self.layers)

    @property
    def operations(self) -> int:
        """Multiply-accumulates of the whole network."""
        return sum(layer.operations * layer.count for layer in self.layers)


def network(name_or_path: str | Path) -> Network:
    """A network by its library name (in any case) or from a workload file.

    Raises:
        UnknownNameError: for a name that the library does not have; it suggests the nearest.
        InputError: if the file cannot be used.
    """
    text = str(name_or_path)
    if text.endswith(SUFFIXES):
        return read_network(Path(text))
    return read_network(network_path(choose_entry("network", text, list_networks())))


def network_path(name: str) -> Path:
    """The file of a library network."""
    return models_path() / "networks" / f"{name}.yaml"


def read_network(path: Path) -> Network:
    """The network of a workload file.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    layers = tuple(read_workloads(path).values())
    note = Fields.of(load_yaml(path), str(path)).note()
    try:
        return Network(name=path.stem, layers=layers, note=note)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
