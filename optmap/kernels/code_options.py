"""What is free about the code of a mapping beside its tiles and loop orders, and weighs on its time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from optmap.base.shown import Concise

LINE_BYTES = 64
"""Of a cache line, as code is written and its time predicted: what one request ahead is taken to bring."""


class ActivationLayout(StrEnum):
    """How the tensors that layers hand to each other lie in memory."""

    NCHW = "nchw"
    """As the statement writes them, last subscript fastest."""
    NHWC = "nhwc"
    """Channels fastest."""
    BLOCKED = "blocked"
    """Channels in blocks of one vector, which are fastest (nChw16c)."""


class WeightPacking(StrEnum):
    """When the weights are brought into the order in which the kernel reads them."""

    AHEAD = "ahead"
    """Once, before the first call."""
    CALL = "call"
    """In every call."""


class StoreKind(StrEnum):
    """How outputs are written."""

    ORDINARY = "ordinary"
    """Through the caches: lines are read before they are written for the first time."""
    STREAMING = "streaming"
    """Past the caches: nothing is read, and whoever needs the outputs next finds them in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOptions(Concise):
    """Choices of the user; tiles, loop orders and the split among threads are the mapping's."""

    layout: ActivationLayout = ActivationLayout.NHWC
    weights: WeightPacking = WeightPacking.AHEAD
    stores: StoreKind = StoreKind.ORDINARY
    prefetch: bool = True
    """Whether the code asks for the next tiles before it needs them."""
