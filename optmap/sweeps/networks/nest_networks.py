"""A whole network on an accelerator: every different layer mapped once, energy and cycles added up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.files.network import Network
from optmap.machines.machine import Machine
from optmap.questions.options import Merit
from optmap.sweeps.reading import sweep_document
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

LATE = ("time_limit", "interrupted")
"""Values of `stop` of layers that have the best mapping until then."""
DIGITS = 10**12
"""Square roots are rounded down to this part of one."""


def left_out_text(names: tuple[str, ...]) -> str:
    """What is said below sums over some of the layers."""
    return f"\ninterrupted: the sums leave out {', '.join(names)}" if names else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLayer:
    """One layer of a network on an accelerator."""

    workload: Workload
    """Its `count` says how often it occurs; the numbers are those of one occurrence."""
    energy_pj: Fraction
    cycles: int
    port_cycles: int
    """Of the slowest port, computation left out."""
    bound: Fraction
    """Proved lower bound on the objective of every mapping of the space; 0 for none."""
    proved: bool
    floor_pj: Fraction
    """Energy that no schedule goes below; 0 without a floor."""
    floor_cycles: int
    floor_port_cycles: int
    seconds: float
    broken: tuple[str, ...] = ()
    """Rules of the machine that the mapping breaks, of a method that may; the machine cannot run it then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNests(Shown):
    """A network on an accelerator, layer by layer and added up."""

    shown_as: ClassVar[str] = "network-nests"

    network: Network
    machine: Machine
    method: str
    merit: Merit
    """What every layer minimises."""
    counting: str
    layers: tuple[MappedLayer, ...]
    limited: bool
    """Whether a layer reached its time limit; its best mapping so far is in the sums."""
    left_out: tuple[str, ...] = ()
    """Layers without a mapping since somebody asked to stop; the sums are of the others."""

    @property
    def unfit(self) -> tuple[MappedLayer, ...]:
        """Layers whose mapping does not fit the machine; the sums hold their counts all the same."""
        return tuple(layer for layer in self.layers if layer.broken)

    @property
    def energy_pj(self) -> Fraction:
        """Of all layers, each as often as it occurs."""
        return sum((layer.workload.count * layer.energy_pj for layer in self.layers), Fraction(0))

    @property
    def cycles(self) -> int:
        """Of all layers one after another, each as often as it occurs."""
        return sum(layer.workload.count * layer.cycles for layer in self.layers)

    @property
    def edp(self) -> Fraction:
        """Energy of the whole network times its cycles; not the sum of the layers' products."""
        return self.energy_pj * self.cycles

    @property
    def floor_pj(self) -> Fraction:
        """Energy that no schedules of the layers go below."""
        return sum((layer.workload.count * layer.floor_pj for layer in self.layers), Fraction(0))

    @property
    def floor_cycles(self) -> int:
        """Cycles that no schedules of the layers go below."""
        return sum(layer.workload.count * layer.floor_cycles for layer in self.layers)

    @property
    def value(self) -> Fraction:
        """The objective of the whole network."""
        return self._objective(self.energy_pj, self.cycles, sum(x.workload.count * x.port_cycles for x in self.layers))

    @property
    def floor(self) -> Fraction:
        """The objective that no schedules of the layers go below."""
        ports = sum(layer.workload.count * layer.floor_port_cycles for layer in self.layers)
        return self._objective(self.floor_pj, self.floor_cycles, ports)

    def _objective(self, energy: Fraction, cycles: int, port_cycles: int) -> Fraction:
        match self.merit:
            case Merit.ENERGY:
                return energy
            case Merit.CYCLES:
                return Fraction(cycles)
            case Merit.EDP:
                return energy * cycles
            case Merit.TRAFFIC:
                return Fraction(port_cycles)

    @property
    def bound(self) -> Fraction:
        """Lower bound on the network's objective over all mappings of the layers' spaces; 0 for none.

        Energy and cycles add up. For the product, with e and c of every occurrence of a layer, the
        inequality of Cauchy and Schwarz says (sum e)(sum c) >= (sum of the roots of e c) squared, and e c is at
        least the layer's bound. The search for each layer's least product need not find the network's.
        """
        if not all(layer.bound for layer in self.layers):
            return Fraction(0)
        if self.merit is not Merit.EDP:
            return sum((layer.workload.count * layer.bound for layer in self.layers), Fraction(0))
        return sum((layer.workload.count * root(layer.bound) for layer in self.layers), Fraction(0)) ** 2


def root(value: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(isqrt(value.numerator * DIGITS**2 // value.denominator), DIGITS)


def mapped_layers(network: Network, frame: pd.DataFrame, directory: Path) -> tuple[MappedLayer, ...]:
    """The layers from the rows of a sweep and the documents behind them, in the order of the network.

    Args:
        network: its layers.
        frame: rows of the sweep.
        directory: of the sweep.

    Raises:
        InputError: if a layer has no mapping.
    """
    rows = {str(row["workload"]): row for row in frame.to_dict("records") if not row["error"]}
    found = []
    for layer in network.layers:
        row = rows.get(layer.title)
        if row is None:
            raise InputError(f"{network.name}: {layer.title} has no mapping")
        found.append(_layer(layer, sweep_document(directory, str(row["input_hash"])), float(row["seconds"])))
    return tuple(found)


def _layer(workload: Workload, document: dict[str, Any], seconds: float) -> MappedLayer:
    floor = document["floor"]
    return MappedLayer(
        workload=workload,
        energy_pj=Fraction(document["energy"]["exact"]),
        cycles=document["cycles"]["value"],
        port_cycles=max(level["cycles"] for level in document["levels"]),
        bound=Fraction(document["search"]["bound"]),
        proved=document["search"]["proved"],
        floor_pj=Fraction(0) if floor is None else Fraction(floor["energy"]["exact"]),
        floor_cycles=0 if floor is None else floor["cycles"],
        floor_port_cycles=0 if floor is None else floor["port_cycles"],
        seconds=seconds,
        broken=tuple(document.get("broken", ())),
    )
