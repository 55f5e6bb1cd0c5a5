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
EXACT = "exact"
"""The amount that is counted as a walk counts, whatever the policy."""
COSTS = ("cost", EXACT)
"""Amounts that are of the objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMapping:
    """A mapping with its count."""

    name: str
    """The file that it came from, or what else it is called."""
    mapping: SavedSolution | SavedTree
    """As it was read."""
    counted: Evaluation[Any] | TreeEvaluation | TurnEvaluation

    @property
    def objective(self) -> str:
        """What its costs are of; empty in a file that claims none."""
        own = self.mapping.objective
        return own if isinstance(own, str) else "" if own is None else own.name

    @property
    def counting(self) -> str:
        """The policy that its amounts are counted by; empty where trees are walked, or in both forms of tiles."""
        return str(getattr(self.counted, "counting", None) or "")

    def quantities(self, *, objective: bool = False, counting: bool = False) -> dict[Quantity, int | float]:
        """All amounts of the count, then words per boundary.

        Args:
            objective: whether costs are called after what they are of.
            counting: whether amounts are called after how they are counted.
        """
        document = self.counted.to_dict()
        amounts = {
            (self._called(name, objective=objective, counting=counting), each["unit"]): each["value"]
            for name, each in document.items()
            if isinstance(each, Mapping) and {"value", "unit"} <= {*each}
        }
        words = Counter[Quantity]()
        for row in document["boundaries"]:
            between = self._called(" - ".join(row["between"]), objective=False, counting=counting)
            words[between, "words"] += row["loads_words"] + row["stores_words"]
        return {**amounts, **words}

    def _called(self, name: str, *, objective: bool, counting: bool) -> str:
        said = (
            self.objective if objective and name in COSTS else "",
            self.counting if counting and name != EXACT else "",
        )
        return f"{name} ({', '.join(filter(None, said))})" if any(said) else name


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
        """Per quantity its value in every mapping; None where a mapping has no such quantity.

        Costs of several objectives are several quantities, and so are amounts that are counted in several ways.
        """
        objective, counting = (
            len(set(filter(None, said))) > 1
            for said in zip(*((each.objective, each.counting) for each in self.mappings), strict=True)
        )
        found = [each.quantities(objective=objective, counting=counting) for each in self.mappings]
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
