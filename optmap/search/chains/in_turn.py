"""A mapping of a chain on a machine with meshes and prices: statements in turn, what is between them kept on chip.

Each statement is mapped by the methods that map one statement, on a machine with what is kept outside as rules
(`machines.given`). Of neighbours that are done together, some ways to cut them into blocks are tried (`blocks`); the
groups are chosen so that the objective of the whole chain is least.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from optmap.base.errors import InputError
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.nodes import Compute, Node
from optmap.mappings.tree import MappingTree
from optmap.questions.options import Merit
from optmap.search.chains.alone import one_after_other
from optmap.search.chains.blocks import (
    BlockChoice,
    GroupBlock,
    TurnGroup,
    common_levels,
    level_choices,
    stays_inside,
)
from optmap.search.chains.turn_family import FamilySearch
from optmap.search.chains.turn_members import TurnMember
from optmap.search.chains.turn_segments import FINAL, SKETCH, TurnSegment, TurnSegments, totals
from optmap.search.chains.turn_texts import APART, FAMILY, PAIR, ROWS_BEHIND, notes_of, proof_of
from optmap.search.exact.solve import TRUST
from optmap.search.found import SAME, Found
from optmap.search.leasts import FamilyBound
from optmap.search.question import Question
from optmap.workloads.single import is_of_rows

LONGEST = 4
"""Statements that are done together, at most."""
EACH = 0.1
"""Of the time limit: what one nest may take where several are compared."""
LEFT = 0.7
"""Of the time limit: when so much is left, no more nests are looked for by the better method."""
AT_ONCE = 2
"""Blocks of a group that look best, whose nests are looked for by the better method whatever the other one found."""
TRIED = 10
"""Blocks of a group whose nests are looked for."""


def fused(question: Question) -> Found:
    """A mapping of a chain, neighbours done together where that pays.

    Args:
        question: of a chain of products and functions in place, and a machine with meshes and prices.

    Raises:
        InputError: for a statement that is neither, by name.
        InfeasibleError: if a statement has no mapping.
    """
    return _InTurn(question).best(together=True)


def apart(question: Question) -> Found:
    """A mapping of a chain, one statement after the other; as `fused`."""
    return _InTurn(question).best(together=False)


class _InTurn:
    """Looks for mappings of one chain."""

    def __init__(self, question: Question) -> None:
        self.question, self.workload, self.machine = question, question.workload, question.machine
        self.segments = TurnSegments(question)
        self.tails, self.alone = self.segments.tails, self.segments.alone
        self.names = tuple(self.tails)
        self.fabrics: dict[str, Fabric] = {name: fabric_of(alone, self.machine) for name, alone in self.alone.items()}
        self.merit = question.merit

    def best(self, *, together: bool) -> Found:
        """The best mapping that was found."""
        question = self.question
        segments = [self.segments.single(name, FINAL) for name in self.names]
        notes: list[str] = []
        if together:
            self.segments.share = EACH
            groups = self._groups(notes)
            self._refine(self._chosen(segments, groups), groups)
            segments = self._chosen(segments, groups)
        segments, proof = self._proved(segments, notes, together=together)
        inside = {tensor for each in segments if each.group for tensor, _ in each.group.inner}
        tree = self._tree(segments, inside)
        proved = proof is not None and proof.least >= self._cost(segments) * (1 - Fraction(SAME))
        return Found(
            mapping=tree,
            space=self._space() if together and len(self.alone) > 1 else APART,
            proved=proved,
            bound=None if proof is None else self._cost(segments) if proved else proof.least,
            proof="" if proof is None else proof_of(proof, TRUST),
            family=proof,
            evaluations=0 if proof is None else proof.evaluations,
            late=question.clock.late,
            notes=(*notes_of(self.workload), *notes),
        )

    def _space(self) -> str:
        """Of mappings that do neighbours together: functions of rows are done on chip only of what is handed on."""
        space, stored = PAIR if self.searched(together=True) else FAMILY, self.workload.stored_as
        behind = [
            tail for first, tail in self.tails.items() if not stays_inside(self.workload, stored[first], self.names)
        ]
        rows = any(is_of_rows(self.workload.statement(name)) for tail in behind for name in tail)
        return f"{space}; {ROWS_BEHIND}" if rows else space

    def searched(self, *, together: bool) -> bool:
        """Whether it is a family that is searched as a whole: of a pair, or of statements one after the other."""
        return len(self.alone) == len(self.names) and not (together and len(self.names) > 2)

    def _cost(self, segments: list[TurnSegment]) -> Fraction:
        """The objective of segments one after the other."""
        return self.merit.of(*totals(segments))

    def _proved(
        self, segments: list[TurnSegment], notes: list[str], *, together: bool
    ) -> tuple[list[TurnSegment], FamilyBound | None]:
        """The best of the family and what it is proved by; what is given where no family is searched.

        Args:
            segments: the best so far.
            notes: gets a sentence where the best of the family is not proved.
            together: whether statements may be done together.
        """
        if not self.searched(together=together):
            return segments, None
        best = [segments]

        def counted(member: TurnMember, nests: dict[object, tuple[Node, ...]]) -> Fraction | None:
            way = self._way(member, nests)
            if way is not None and self._cost(way) < self._cost(best[-1]):
                best.append(way)
            return None if way is None else self._cost(way)

        search = FamilySearch(self.question, self.fabrics, counted, self.segments.shown)
        try:
            proof = search.run(self._cost(segments), together=together)
        except InputError as error:  # that the exact search cannot count
            notes.append(f"no best of the family is proved: {error}")
            return segments, None
        if proof.unfinished:
            notes.append(f"no best of the family is proved: {proof.unfinished}")
        if not proof.least:
            return segments, None
        return best[-1], proof

    def _way(self, member: TurnMember, nests: dict[object, tuple[Node, ...]]) -> list[TurnSegment] | None:
        """A member with the nests of its statements; None if it does not fit."""
        self.segments.nests |= {(key, FINAL): nodes for key, nodes in nests.items()}
        found = []
        for group, block in member.segments:
            if group.inner:
                whole = self.segments.together(group, block, FINAL)
            else:
                whole = self.segments.single(group.names[0], FINAL)
            if whole is None:
                return None
            found.append(whole)
        return found

    def _groups(self, notes: list[str]) -> dict[tuple[int, int], list[TurnSegment]]:
        """Ways to do neighbours together, by the number of the first one and of that behind the last."""
        groups: dict[tuple[int, int], list[TurnSegment]] = {}
        reasons: list[str] = []
        for first in range(len(self.names)):
            for beyond in range(first + 2, min(len(self.names), first + LONGEST) + 1):
                found = list(self._together(self.names[first:beyond], reasons))
                if found:
                    groups[first, beyond] = found
        if not groups:
            notes += [f"nothing is kept on chip: {reason}" for reason in reasons[:1]]
        return groups

    def _chosen(self, single: list[TurnSegment], groups: dict[tuple[int, int], list[TurnSegment]]) -> list[TurnSegment]:
        """The segments, one after the other, with the least objective of all together."""
        kept: list[list[list[TurnSegment]]] = [[[]]]
        for beyond in range(1, len(self.names) + 1):
            ways = [[*before, single[beyond - 1]] for before in kept[beyond - 1]]
            for (first, last), found in groups.items():
                if last == beyond:
                    ways += [[*before, segment] for before in kept[first] for segment in found]
            kept.append(self._undominated(ways))
        return min(kept[-1], key=self._cost)

    def _refine(self, chosen: list[TurnSegment], groups: dict[tuple[int, int], list[TurnSegment]]) -> None:
        """Nests of groups by the better method: of what was chosen, of what looked best, then of other good blocks.

        Args:
            chosen: what is best so far.
            groups: ways to do neighbours together; better ones are added.
        """
        places = {segment.names: key for key, found in groups.items() for segment in found}
        firsts = [segment for found in groups.values() for segment in found[:AT_ONCE]]
        rest = (
            []
            if self.searched(together=True)
            else sorted((each for found in groups.values() for each in found), key=lambda each: self._cost([each]))
        )
        done = set[tuple[TurnGroup, GroupBlock]]()
        for segment in [*chosen, *firsts, *rest]:
            if segment.group is None or segment.block is None or (segment.group, segment.block) in done:
                continue
            if self.question.clock.left < LEFT * self.question.time_limit:
                return
            done.add((segment.group, segment.block))
            better = self.segments.together(segment.group, segment.block, FINAL)
            if better is not None:
                groups[places[segment.names]].append(better)

    @staticmethod
    def _undominated(ways: list[list[TurnSegment]]) -> list[list[TurnSegment]]:
        """Ways of which no other one is as good in energy, cycles and cycles of ports."""
        found: list[tuple[tuple[Fraction, int, int], list[TurnSegment]]] = []
        priced = ((totals(way), way) for way in ways)
        for (energy, cycles, ports), way in sorted(priced, key=lambda pair: pair[0]):
            if not any(e <= energy and c <= cycles and p <= ports for (e, c, p), _ in found):
                found.append(((energy, cycles, ports), way))
        return [way for _, way in found]

    def _together(self, names: tuple[str, ...], reasons: list[str]) -> Iterator[TurnSegment]:
        """Ways to do some neighbours together; why there are none is added to the reasons."""
        if not self.alone.keys() >= {*names}:  # a function of rows of something that stays as it is
            return
        stored = self.workload.stored_as
        made = [stored[name] for name in names]
        inner = [tensor for tensor in made if stays_inside(self.workload, tensor, names)]
        if not all(any(t == stored[a] for t in inner for a in self._accesses(name)) for name in names):
            reasons.append(f"{' and '.join(names)}: what one makes is read elsewhere, or is an output")
            return
        levels = [common_levels(self.fabrics, self.workload, names, tensor) for tensor in inner]
        for tensor, may in zip(inner, levels, strict=True):
            if not may:
                may.append(self.machine.memory)
                reasons.append(
                    f"no level of {self.machine.name} of which there is one instance may keep {tensor} both as it is "
                    "made and as it is read"
                )
        if all(may == [self.machine.memory] for may in levels):
            return
        timed = self.merit is not Merit.ENERGY
        for choice in islice(level_choices(levels), LONGEST):
            group = TurnGroup(names=names, inner=tuple(zip(inner, choice, strict=True)))
            for block in islice(BlockChoice(self.workload, group, self.fabrics).best(timed=timed), TRIED):
                if self.question.clock.late:
                    return
                self.question.tell(f"{' and '.join(names)} in blocks {dict(block.loops)}")
                segment = self.segments.together(group, block, SKETCH)
                if segment is not None:
                    yield segment

    def _accesses(self, name: str) -> list[str]:
        return [access.name for access in self.workload.statement(name).accesses]

    def _tree(self, segments: list[TurnSegment], inside: set[str]) -> MappingTree:
        """All segments one after the other."""
        branches: list[tuple[Node, ...]] = []
        for segment in segments:
            branches.append(segment.nodes)
            for name in segment.names:
                if self.workload.stored_as[name] not in inside:
                    branches += [(Compute(statement=each),) for each in self.tails.get(name, ())]
        statistics = {each.name for each in kept_tensors(self.workload).statistics}  # no memory holds any
        nodes = one_after_other(self.workload, self.machine.memory, branches, inside | statistics)
        return MappingTree(workload=self.workload, machine=self.machine, nodes=nodes)
