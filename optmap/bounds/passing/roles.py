"""A statement of three tensors as one that is kept, one that slides over it, and one that stands still.

Every dim (of more than one iteration) is in two of the tensors; the still one, A, and the kept one, W, have plain
subscripts; the sliding one, B, may have windows s*p + d*t with p of A and t of W. Then p and the other dims of A and
B are *places*; a place has J words of A, one for every feature (dims of A and W), and C words of B for every one of R
taps (dims of B and W but taps). W has J*C*R elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import gcd, prod

from optmap.workloads.workload import Padding, TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSubscript:
    """A subscript stride*p + dilation*t."""

    positions: int
    """Extent of p."""
    tap: str
    """t."""
    taps: int
    """Extent of t."""
    stride: int
    """Coprime to the dilation."""
    dilation: int
    """Coprime to the stride."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRoles:
    """Which tensor is which, and what a place has."""

    still: str
    """A."""
    sliding: str
    """B."""
    kept: str
    """W."""
    features: int
    """J."""
    channels: int
    """C."""
    apart: int
    """Places of one position per window."""
    windows: tuple[WindowSubscript, ...]
    """Subscripts of B with two dims."""

    @property
    def taps(self) -> int:
        """R."""
        return prod(window.taps for window in self.windows)

    @property
    def places(self) -> int:
        """All places."""
        return self.apart * prod(window.positions for window in self.windows)


@lru_cache(maxsize=256)
def every_roles(workload: Workload) -> tuple[TensorRoles, ...]:
    """All ways to read a statement so; none with implicit padding."""
    if workload.padding is Padding.IMPLICIT:
        return ()
    if len({t.name for t in workload.tensors}) != 3 or len(workload.tensors) != 3:
        return ()
    found = [_roles(workload, *tensors) for tensors in permutations(workload.tensors)]
    return tuple(roles for roles in found if roles is not None and (roles.still < roles.sliding or roles.windows))


def _roles(workload: Workload, still: TensorAccess, sliding: TensorAccess, kept: TensorAccess) -> TensorRoles | None:
    """The statement with these roles; None if it has another form."""
    extents = workload.extents
    live = {t.name: [[(d, c) for d, c in axis.terms if extents[d] > 1] for axis in t.axes] for t in workload.tensors}
    if any(len(axis) > 1 for t in (still, kept) for axis in live[t.name]):
        return None
    dims = {name: [d for axis in axes for d, _ in axis] for name, axes in live.items()}
    if any(len(own) != len(set(own)) for own in dims.values()):
        return None
    slid = {d for axis in live[sliding.name] if len(axis) > 1 for d, _ in axis}
    others = {d for d, n in workload.sizes if n > 1} - slid
    if any(sum(d in own for own in dims.values()) != 2 for d in others):
        return None
    windows = []
    for axis in live[sliding.name]:
        if len(axis) < 2:
            continue
        place = [(d, c) for d, c in axis if d in dims[still.name] and d not in dims[kept.name]]
        tap = [(d, c) for d, c in axis if d in dims[kept.name] and d not in dims[still.name]]
        if len(axis) != 2 or len(place) != 1 or len(tap) != 1:
            return None
        ((p, s),), ((t, d),) = place, tap
        g = gcd(s, d)
        windows.append(WindowSubscript(positions=extents[p], tap=t, taps=extents[t], stride=s // g, dilation=d // g))
    return TensorRoles(
        still=still.name,
        sliding=sliding.name,
        kept=kept.name,
        features=prod(extents[d] for d in others if d not in dims[sliding.name]),
        channels=prod(extents[d] for d in others if d not in dims[still.name]),
        apart=prod(extents[d] for d in others if d not in dims[kept.name]),
        windows=tuple(windows),
    )
