"""A network with chains of two products fused: what its layers move one after another, and what the chains do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optmap.answers.over_capacity.network_sums import NetworkSums
from optmap.answers.over_capacity.networks import LayerShare, NetworkView, layer_shares
from optmap.base.shown import Concise, Shown
from optmap.onnx_import import LayerChain, LinkedModel


def shares_apart(view: NetworkView) -> tuple[LayerShare, ...]:
    """What every layer moves by itself in the largest memory that a network was solved for."""
    series = view.total.series[0]
    return layer_shares(view, series.label, series.samples[-1].capacity_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedChain(Concise):
    """A chain of two products of a network; words are those of one occurrence, and as large as the network's."""

    chain: LayerChain
    fused: tuple[tuple[int, int], ...] = ()
    """Occurrences that are fused, by their products: chains that share a product exclude each other."""
    apart_words: int
    """By the layers one after the other, each with its own mapping."""
    fused_words: int
    """By the best mapping of both that was found."""
    stays: bool
    """Whether some of the intermediate moves neither out nor in: it moves less than twice its words."""
    floor_words: int
    """By every schedule of both, at least."""

    @property
    def saved_words(self) -> int:
        """By fusion; 0 where the intermediate moves all the same."""
        return max(0, self.apart_words - self.fused_words) if self.stays else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftProducts(Concise):
    """Products that are the first of no chain that was solved."""

    products: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedNetwork(Shown):
    """What the layers of a network move, and what they do where chains of two that pay are fused."""

    shown_as: ClassVar[str] = "fused-network"

    linked: LinkedModel
    sums: NetworkSums[NetworkView]
    """Without fusion."""
    chains: tuple[FusedChain, ...]
    left: tuple[LeftProducts, ...]
    limited: bool
    """Whether a layer or a chain reached its time limit; its best mapping so far is in the sums."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Layers without a mapping since somebody asked to stop."""
        return self.sums.left_out

    @property
    def capacity_bytes(self) -> int:
        """The memory, in bytes."""
        return self.sums.view.total.series[0].samples[-1].capacity_bytes

    @property
    def shares(self) -> tuple[LayerShare, ...]:
        """What every layer moves without fusion, all its occurrences together."""
        return shares_apart(self.sums.view)

    @property
    def apart_words(self) -> int:
        """By all layers, one after another."""
        return sum(share.traffic_words for share in self.shares)

    @property
    def saved_words(self) -> int:
        """By the chains that are fused."""
        return sum(len(chain.fused) * chain.saved_words for chain in self.chains)

    @property
    def fused_words(self) -> int:
        """By the chains that are fused and all other layers."""
        return self.apart_words - self.saved_words

    @property
    def remaining(self) -> dict[str, int]:
        """Per layer how many of its occurrences are in no chain that is fused."""
        found = {share.workload: share.count for share in self.shares}
        for chain in self.chains:
            for name in chain.chain.layers:
                found[name] -= len(chain.fused)
        return found

    @property
    def floor_words(self) -> int:
        """What the fused chains and the remaining layers move at least, each by itself, one after another."""
        remaining = self.remaining
        alone = sum(share.bound_words // share.count * remaining[share.workload] for share in self.shares)
        return alone + sum(len(chain.fused) * chain.floor_words for chain in self.chains)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedCurve(Shown):
    """A network with chains fused, over the capacity of the memory."""

    shown_as: ClassVar[str] = "fused-curve"

    samples: tuple[FusedNetwork, ...]
    """One per capacity."""

    @property
    def limited(self) -> bool:
        """Whether a layer or a chain reached its time limit somewhere."""
        return any(sample.limited for sample in self.samples)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Layers without a mapping in some memory since somebody asked to stop."""
        return tuple(dict.fromkeys(name for sample in self.samples for name in sample.left_out))
