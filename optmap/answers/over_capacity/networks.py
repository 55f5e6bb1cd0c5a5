"""A whole network from the rows of a sweep: totals, the layers that dominate, where a larger cache stops paying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from optmap.answers.over_capacity.curves import CapacitySample, Panel, summed
from optmap.base.errors import InputError
from optmap.base.texts import several, size_text
from optmap.count.results import CostReport

if TYPE_CHECKING:
    from optmap.files.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkView:
    """The layers of a network at one level of one machine, and their sum."""

    kind: ClassVar[str] = CostReport.kind

    network: Network
    total: Panel
    """All layers that the sweep has, each with its count."""
    parts: tuple[tuple[Panel, int], ...]
    """(layer, count) pairs in the order of the network, all in words of the total."""
    missing: tuple[str, ...]
    """Layers that the sweep has no rows of; they are not in the sums."""

    @property
    def coverage(self) -> str:
        """What the sums hold, as a sentence."""
        if not self.missing:
            return f"all {several(self.network.occurrences, 'layer')} of {self.network.name}"
        found = sum(count for _, count in self.parts)
        share = 100 * self.total.operations / self.network.operations
        return (
            f"{found} of {self.network.occurrences} layers of {self.network.name} ({share:.2f} % of its operations); "
            f"the sweep has no rows of {', '.join(self.missing)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShare:
    """One layer of a network at one capacity, all its occurrences together."""

    workload: str
    count: int
    operations: int
    compulsory_words: int
    traffic_words: int
    bound_words: int
    share: float
    """Part of the network's traffic."""

    @property
    def traffic_gap(self) -> float | None:
        """How far the traffic is above its bound, see `traffic_gap`."""
        return traffic_gap(self.traffic_words, self.bound_words)


def traffic_gap(traffic_words: int, bound_words: int) -> float | None:
    """traffic_words / bound_words - 1; None where nothing has to move."""
    return traffic_words / bound_words - 1 if bound_words else None


def network_views(panels: Sequence[Panel], network: Network) -> tuple[NetworkView, ...]:
    """The network at every machine and level of a sweep.

    Layers are found by name; their counts are those of the network, whatever the rows say.

    Args:
        panels: curves of the sweep.
        network: its layers and counts.

    Raises:
        InputError: if the sweep has no row of any layer, or other extents under a layer's name.
    """
    wanted = {layer.title: layer for layer in network.layers}
    places: dict[tuple[str, str, str], dict[str, Panel]] = {}
    for panel in panels:
        if panel.workload in wanted:
            _check_same(panel, wanted[panel.workload].operations, network)
            places.setdefault((panel.machine, panel.level, panel.semantics), {})[panel.workload] = panel
    if not places:
        raise InputError(
            f"the sweep has no rows of {network.name}: its layers are {', '.join(wanted)}; "
            "name them, or the file of the network, among the workloads of the sweep"
        )
    views = []
    for found in places.values():
        parts = tuple((found[name], layer.count) for name, layer in wanted.items() if name in found)
        total = summed(parts, network.name)
        if total is not None:
            missing = tuple(name for name in wanted if name not in found)
            same = tuple((panel.in_words_of(total.word_bits), count) for panel, count in parts)
            views.append(NetworkView(network=network, total=total, parts=same, missing=missing))
    return tuple(views)


def _check_same(panel: Panel, operations: int, network: Network) -> None:
    if panel.operations != operations:
        raise InputError(
            f"{panel.workload} has {panel.operations:,} operations in the sweep and {operations:,} in network "
            f"{network.name}: these are different layers; sweep the layers of the network"
        )


def layer_shares(view: NetworkView, label: str, capacity_bytes: int) -> tuple[LayerShare, ...]:
    """What every layer moves at one capacity, the largest share first.

    Args:
        view: the network on a machine.
        label: which mappings, by the label of their series.
        capacity_bytes: capacity of the level; the best mapping for at most that much is used.

    Raises:
        InputError: if a layer has no mapping for so little memory.
    """
    rows = []
    for panel, count in view.parts:
        line = next((series for series in panel.series if series.label == label), None)
        sample = None if line is None else line.best_below(capacity_bytes)
        if sample is None:
            raise InputError(f"{panel.workload} has no mapping by {label} for {size_text(capacity_bytes)} in the sweep")
        rows.append((panel, count, sample))
    total = sum(sample.traffic_words * count for _, count, sample in rows)
    shares = [_share(panel, count, sample, total, capacity_bytes) for panel, count, sample in rows]
    return tuple(sorted(shares, key=lambda share: -share.traffic_words))


def _share(panel: Panel, count: int, sample: CapacitySample, total: int, capacity_bytes: int) -> LayerShare:
    return LayerShare(
        workload=panel.workload,
        count=count,
        operations=panel.operations * count,
        compulsory_words=panel.compulsory_words * count,
        traffic_words=sample.traffic_words * count,
        bound_words=panel.bound_at(capacity_bytes) * count,
        share=sample.traffic_words * count / total if total else 0.0,
    )


def dominant(shares: Iterable[LayerShare], part: float = 0.5) -> tuple[str, ...]:
    """The fewest layers that together make up a part of the traffic."""
    names: list[str] = []
    held = 0.0
    for share in shares:
        if held >= part:
            break
        names.append(share.workload)
        held += share.share
    return tuple(names)
