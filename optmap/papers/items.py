"""Items of papers: a table, a figure, a theorem, with the function that computes its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from optmap.base.names import choose
from optmap.papers.rows import ClaimRow, PointAmount

Rows = Iterable[ClaimRow | PointAmount]
Amounts = Mapping[str, Mapping[str, int | float]]
"""By point, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperItem:
    """What a paper prints under one name."""

    name: str
    """As the paper has it: `Table III`, `Theorem 15`."""
    title: str
    where: str
    """Section or page of the paper."""
    rows: Callable[..., Rows]
    """Computes them, of one of its points if it has any."""
    points: tuple[str, ...] = ()
    """Parts that are computed apart, side by side and each once: layers, machines."""
    quick: tuple[str, ...] | None = None
    """Points of a quick run; None for all."""
    total: str = ""
    """A further point that follows from the amounts of all others, such as a sum over layers; empty for none."""
    totals: Callable[[Amounts], Iterable[ClaimRow]] | None = None
    """Its rows."""
    long: bool = False
    """Whether a quick run leaves it out."""

    @property
    def slug(self) -> str:
        """Its name as that of a file."""
        plain = "".join(mark if mark.isalnum() else "-" for mark in self.name.lower())
        return "-".join(part for part in plain.split("-") if part)

    @property
    def parts(self) -> tuple[str, ...]:
        """Its points, or one without a name if it has none."""
        return self.points or ("",)

    def asked(self, *, quick: bool) -> tuple[str, ...]:
        """The parts that are computed; none if it is left out."""
        if quick and self.long:
            return ()
        return self.quick if quick and self.quick is not None else self.parts

    def computed(self, point: str) -> tuple[ClaimRow | PointAmount, ...]:
        """The rows of a point, and the amounts that a sum over points takes.

        Raises:
            UnknownNameError: for a point that it does not have.
            OptmapError: as the computation has it.
        """
        if not self.points:
            return tuple(self.rows())
        return tuple(self.rows(choose("point", point, self.points, where=self.name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper and its items, in the order of its pages."""

    key: str
    title: str
    source: str
    """Who, where, when."""
    items: tuple[PaperItem, ...]

    def item(self, name: str) -> PaperItem:
        """The item of a name, in any case.

        Raises:
            UnknownNameError: listing the items.
        """
        named = {item.name: item for item in self.items}
        return named[choose(f"item of {self.key}", name, named, any_case=True)]


@dataclass(frozen=True, slots=True)
class Collected:
    """Items that a file declares, in its order."""

    items: list[PaperItem] = field(default_factory=list)

    def item(
        self,
        name: str,
        title: str,
        *,
        where: str,
        points: Sequence[str] = (),
        quick: Sequence[str] | None = None,
        total: str = "",
        totals: Callable[[Amounts], Iterable[ClaimRow]] | None = None,
        long: bool = False,
    ) -> Callable[[Callable[..., Rows]], Callable[..., Rows]]:
        """Decorate the function that computes the rows of an item; its fields are those of `PaperItem`."""

        def keep(rows: Callable[..., Rows]) -> Callable[..., Rows]:
            found = PaperItem(
                name=name,
                title=title,
                where=where,
                rows=rows,
                points=tuple(points),
                quick=None if quick is None else tuple(quick),
                total=total,
                totals=totals,
                long=long,
            )
            self.items.append(found)
            return rows

        return keep
