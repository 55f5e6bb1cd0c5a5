"""The best few of the integer points that a search prices, no two with the same costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Priced(Protocol):
    """A point with its costs."""

    @property
    def key(self) -> tuple[float, ...]:
        """What points are compared by."""
        ...


P = TypeVar("P", bound=Priced)


@dataclass(slots=True)
class Tops(Generic[P]):
    """Keeps the best points that it is shown."""

    count: int
    """How many are kept."""
    _kept: dict[tuple[float, ...], P] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        """Largest cost beyond which no point is kept."""
        return max(self._kept)[0] if len(self._kept) >= self.count else float("inf")

    def show(self, point: P) -> None:
        """Keep a point if it is among the best so far, and none with its costs is known."""
        self._kept.setdefault(point.key, point)
        if len(self._kept) > self.count:
            del self._kept[max(self._kept)]

    def beside(self, best: P) -> tuple[P, ...]:
        """All but the best, best first; fewer than were asked for where so few were priced."""
        keys = sorted(key for key in self._kept if key > best.key)
        return tuple(self._kept[key] for key in keys[: self.count - 1])
