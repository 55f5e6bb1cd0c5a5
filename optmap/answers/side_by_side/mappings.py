"""Mappings of one workload side by side, each counted again: what they cost, what they move, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, ClassVar

from optmap.answers.documents.recount import Evaluation
from optmap.answers.documents.saved_tree import SavedTree, TreeEvaluation
from optmap.answers.documents.saved_turns import TurnEvaluation
from optmap.answers.documents.solution import SavedSolution
from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.workloads.workload import Workload

Quantity = tuple[str, str]
"""What is counted, and its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMapping:
    """A mapping with its count."""

    name: str
    """The file that it came from, or what else it is called."""
    mapping: SavedSolution | SavedTree
    """As it was read."""
    counted: Evaluation[Any] | TreeEvaluation | TurnEvaluation

    @property
    def quantities(self) -> dict[Quantity, int | float]:
        """All amounts of the count, then words per boundary."""
        document = self.counted.to_dict()
        amounts = {
            (name, each["unit"]): each["value"]
            for name, each in document.items()
            if isinstance(each, Mapping) and {"value", "unit"} <= {*each}
        }
        words = Counter[Quantity]()
        for row in document["boundaries"]:
            words[" - ".join(row["between"]), "words"] += row["loads_words"] + row["stores_words"]
        return {**amounts, **words}


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingComparison(Shown):
    """Mappings of one workload side by side."""

    shown_as: ClassVar[str] = "mapping-comparison"

    mappings: tuple[CountedMapping, ...]
    """Two or more."""

    @property
    def workload(self) -> Workload:
        """That all of them are of."""
        return self.mappings[0].mapping.workload

    @property
    def quantities(self) -> dict[Quantity, tuple[int | float | None, ...]]:
        """Per quantity its value in every mapping; None where a mapping's machine has no such quantity."""
        found = [each.quantities for each in self.mappings]
        return {
            name: tuple(each.get(name) for each in found) for name in dict.fromkeys(n for each in found for n in each)
        }

    def differences(self, number: int) -> list[str]:
        """Lines of the loop nest of the first mapping (`-`) and of another one (`+`) that differ.

        Args:
            number: of the other one, from 1 on.
        """
        one, other = (each.mapping.loop_nest().splitlines() for each in (self.mappings[0], self.mappings[number]))
        return [line for line in unified_diff(one, other, lineterm="", n=0) if line[:3] not in ("---", "+++", "@@ ")]


def compare_counted(mappings: Sequence[CountedMapping]) -> MappingComparison:
    """Put counted mappings side by side.

    Args:
        mappings: of one workload, on any machines.

    Raises:
        InputError: for fewer than two, or mappings of different workloads.
    """
    if len(mappings) < 2:
        raise InputError("one mapping alone is compared with nothing; name another file, or use optmap evaluate")
    first = mappings[0]
    for each in mappings[1:]:
        mine, its = (
            (own.texts, own.extents, own.semantics, [access.bits for access in own.accesses])
            for own in (first.mapping.workload, each.mapping.workload)
        )
        if mine != its:
            what = next(
                text
                for text, one, other in zip(
                    ("statements", "extents", "semantics", "sizes of elements"), mine, its, strict=True
                )
                if one != other
            )
            raise InputError(f"{first.name} and {each.name} have different {what}; compare mappings of one workload")
    return MappingComparison(mappings=tuple(mappings))
