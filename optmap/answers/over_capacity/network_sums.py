"""A whole network on one machine, every different layer mapped once: what the mappings move or spend, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Generic, TypeVar

from optmap.answers.over_capacity.networks import NetworkView
from optmap.base.shown import PRESENTATIONS, Concise, Presentation, Shown
from optmap.count.meshes.results import SpatialCost
from optmap.files.network import Network
from optmap.machines.machine import Machine
from optmap.questions.options import Merit
from optmap.workloads.workload import Workload

DIGITS = 10**12
"""Square roots are rounded down to this part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent(Concise):
    """Energy and time where there are meshes and prices: of a mapping, of several, or what no schedule goes below."""

    energy_pj: Fraction = Fraction(0)
    cycles: int = 0
    port_cycles: int = 0
    """Of the slowest port, computation left out."""

    @property
    def edp(self) -> Fraction:
        """Energy times cycles; of several layers not the sum of their products."""
        return self.merit(Merit.EDP)

    def merit(self, merit: Merit) -> Fraction:
        """What is minimised."""
        return merit.of(self.energy_pj, self.cycles, self.port_cycles)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLayer(Concise):
    """One layer of a network where there are meshes and prices."""

    workload: Workload
    """Its `count` says how often it occurs; the numbers are those of one occurrence."""
    spent: Spent
    """By its mapping."""
    bound: Fraction
    """Proved lower bound on the objective of every mapping of the space; 0 for none."""
    proved: bool
    floor: Spent
    """By every schedule, at least; 0 without a floor."""
    seconds: float
    broken: tuple[str, ...] = ()
    """Rules of the machine that the mapping breaks, of a method that may; the machine cannot run it then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedNetwork(Concise):
    """The layers of a network where there are meshes and prices, and their sum."""

    kind: ClassVar[str] = SpatialCost.kind

    network: Network
    machine: Machine
    method: str
    objective: str
    """What every layer minimises: a value of `Merit`."""
    counting: str
    layers: tuple[MappedLayer, ...]

    @property
    def merit(self) -> Merit:
        """Which number the objective is."""
        return Merit(self.objective)

    @property
    def unfit(self) -> tuple[MappedLayer, ...]:
        """Layers whose mapping does not fit the machine; the sums hold their counts all the same."""
        return tuple(layer for layer in self.layers if layer.broken)

    @property
    def spent(self) -> Spent:
        """By all layers one after another, each as often as it occurs."""
        return _added((layer.workload.count, layer.spent) for layer in self.layers)

    @property
    def floor(self) -> Spent:
        """What no schedules of the layers go below."""
        return _added((layer.workload.count, layer.floor) for layer in self.layers)

    @property
    def cost(self) -> Fraction:
        """The objective of the whole network."""
        return self.spent.merit(self.merit)

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


V = TypeVar("V", NetworkView, MappedNetwork)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSums(Shown, Generic[V]):
    """What the layers of a network cost on a machine, each as often as it occurs."""

    shown_as: ClassVar[str] = "network-sums"

    view: V
    """The layers and their sum: words over the capacity of a level, or energy and cycles."""
    limited: bool
    """Whether a layer reached its time limit; its best mapping so far is in the sums."""
    left_out: tuple[str, ...] = ()
    """Layers without a mapping since somebody asked to stop; the sums are of the others."""

    @property
    def presentation(self) -> Presentation:
        """How sums of their kind are shown."""
        return PRESENTATIONS[f"{self.shown_as}/{self.view.kind}"]


def _added(parts: Iterable[tuple[int, Spent]]) -> Spent:
    """The sum of (count, what one occurrence spends) pairs."""
    parts = tuple(parts)
    return Spent(
        energy_pj=sum((count * each.energy_pj for count, each in parts), Fraction(0)),
        cycles=sum(count * each.cycles for count, each in parts),
        port_cycles=sum(count * each.port_cycles for count, each in parts),
    )


def root(value: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(isqrt(value.numerator * DIGITS**2 // value.denominator), DIGITS)
