"""Room that the Keeps of a level take together, and how much there is: rule 5 of mapping trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.count.trees.contents import Instances
from optmap.count.trees.order import Places
from optmap.count.trees.placed import Placed
from optmap.count.trees.results import LevelRoom
from optmap.machines.machine import Level
from optmap.mappings.kept_tensors import KeptTensors
from optmap.mappings.nodes import Address
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPart:
    """A partition of a level, or a whole one."""

    level: str
    name: str
    words: int
    tensors: frozenset[str]
    """By the name under which they are stored."""


class Occupancy:
    """The largest occupancy of every bounded level so far."""

    def __init__(self, tree: MappingTree) -> None:
        kept = tree.kept
        self.parts = tuple(part for level in tree.machine.levels for part in _parts(tree.workload, kept, level))
        self.weights = kept.weights
        self.most: dict[RoomPart, tuple[int, str]] = dict.fromkeys(self.parts, (0, ""))
        self.held: dict[Address, dict[Places, Counter[str]]] = {}

    def hold(self, keep: Placed, instances: Instances) -> None:
        """Take in what a Keep holds from now on, per child."""
        self.held[keep.address] = {
            places: Counter(name for name, _ in elements) for places, elements in instances.items()
        }

    def look(self, path: Iterable[Placed], statement: str) -> None:
        """Add up what is held on the active path.

        Args:
            path: the Keeps above the leaf that is visited.
            statement: whose leaf it is.
        """
        counts: dict[str, dict[Places, Counter[str]]] = {}
        for keep in path:
            for places, elements in self.held[keep.address].items():
                counts.setdefault(keep.level, {}).setdefault(places, Counter()).update(elements)
        for level, children in counts.items():
            for mine in children.values():
                self.take(level, mine, statement)

    def take(self, level: str, elements: Mapping[str, int], statement: str) -> None:
        """Take in what one instance of a level holds at a moment.

        Args:
            level: its name.
            elements: per tensor, by the name under which it is stored.
            statement: whose leaf is visited.
        """
        for part in self.parts:
            if part.level == level:
                words = sum(count * self.weights[name] for name, count in elements.items() if name in part.tensors)
                if words > self.most[part][0]:
                    self.most[part] = (words, statement)

    def take_words(self, part: RoomPart, words: int, statement: str) -> None:
        """Take in what one instance of a level holds at a moment of the tensors of a part of it."""
        if words > self.most[part][0]:
            self.most[part] = (words, statement)

    def rooms(self) -> tuple[LevelRoom, ...]:
        """The largest occupancy of every level and partition."""
        return tuple(
            LevelRoom(
                level=part.level,
                part=part.name,
                occupancy_words=words,
                capacity_words=part.words,
                statement=statement,
            )
            for part, (words, statement) in self.most.items()
        )


def _parts(workload: Workload, kept: KeptTensors, level: Level) -> tuple[RoomPart, ...]:
    """The amounts of memory of a level.

    Raises:
        InputError: for a tensor that belongs in no partition or in several.
    """
    stored = dict.fromkeys(kept.stored_as.values())
    size = workload.word_bits
    if not level.partitions:
        words = level.most_words(size) // level.buffering
        return (RoomPart(level=level.name, name=level.name, words=words, tensors=frozenset(stored)),)
    inside = {part.name: frozenset(t for t in stored if _belongs(kept, t, part.tensors)) for part in level.partitions}
    for tensor in stored:
        homes = [name for name, tensors in inside.items() if tensor in tensors]
        if len(homes) != 1:
            raise InputError(
                f"level {level.name}: tensor {tensor} of {workload.title} belongs in "
                f"{' and '.join(homes) or 'no part'}; give every tensor one partition (inputs, output, or names)"
            )
    return tuple(
        RoomPart(
            level=level.name,
            name=part.name,
            words=part.capacity.words(size) // level.buffering,
            tensors=inside[part.name],
        )
        for part in level.partitions
    )


def _belongs(kept: KeptTensors, tensor: str, names: tuple[str, ...]) -> bool:
    role = {TensorRole.INPUT: "inputs", TensorRole.OUTPUT: "output"}.get(kept.roles[tensor])
    return tensor in names or role in names
