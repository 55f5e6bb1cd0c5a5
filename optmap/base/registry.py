"""Things by key, each made by a function when it is first asked for: lower rooms ask, upper ones say how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from optmap.base.names import choose

Kept = TypeVar("Kept")


class Registry(Generic[Kept]):
    """Values that are made, and their modules imported, when they are first used.

    A room that must not import what stands above it has a registry; `optmap/wiring`, which every process imports
    with the package, says what makes each value:

        PRESENTATIONS: Registry[Presentation] = Registry("presentation")

        @PRESENTATIONS.add("bound")
        def _bound() -> Presentation:
            from optmap.report import bounds
            return Presentation(table=bounds.bound_table, document=bounds.bound_document)

    Args:
        kind: what a value is, for messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._makers: dict[str, Callable[[], Kept]] = {}
        self._made: dict[str, Kept] = {}

    def add(self, key: str) -> Callable[[Callable[[], Kept]], Callable[[], Kept]]:
        """Decorate the function that makes the value of a key; the last one counts."""

        def keep(maker: Callable[[], Kept]) -> Callable[[], Kept]:
            self._makers[key] = maker
            self._made.pop(key, None)
            return maker

        return keep

    def __getitem__(self, key: str) -> Kept:
        """The value of a key.

        Raises:
            UnknownNameError: for a key that nobody added; names the nearest ones.
        """
        if key not in self._made:
            self._made[key] = self._makers[choose(self._kind, key, self._makers)]()
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)
