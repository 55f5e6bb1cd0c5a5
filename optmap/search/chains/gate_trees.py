"""Mappings of gates as mapping trees."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Ordered

from optmap.mappings.nodes import Compute, Keep, Node, Sequence
from optmap.search.chains.gate import Gate, GateOperand
from optmap.search.chains.gated import GateMapping, Meeting, Together
from optmap.search.chains.streaming import Apart, products_of
from optmap.search.chains.trees import Branch, Left, apart_nodes, keeps, leaves_of, loops, sequence_of, streaming_nodes
from optmap.workloads.workload import Workload


def gate_tree(workload: Workload, gate: Gate, mapping: GateMapping, level: str, memory: str) -> Branch:
    """The tree of a mapping of a gate.

    Args:
        workload: the chain.
        gate: the same as a gate.
        mapping: the mapping.
        level: name of the memory that is filled.
        memory: name of the one outside it.
    """
    batch = dict.fromkeys(gate.pairs[0].batch, 1)
    return (*loops(workload.extents, batch), *_GateTree(gate, {**workload.extents, **batch}, level, memory).of(mapping))


class _GateTree:
    """Makes trees of a gate, for one iteration of what goes through everything."""

    def __init__(self, gate: Gate, left: Left, level: str, memory: str) -> None:
        self.gate, self.left, self.level, self.memory = gate, left, level, memory
        self.dims = tuple(side.dim for side in gate.pairs[0].sides)
        self.results = tuple(pair.makes for pair in gate.pairs)
        self.met, self.reader = gate.meeting.name, gate.pairs[0].uses

    def of(self, mapping: GateMapping) -> Branch:
        """The tree of a mapping."""
        if mapping.together is not None:
            both = tuple(self._together(mapping.together, mapping.meeting))
            if mapping.meeting is Meeting.USED:
                return both
            whole = mapping.meeting is Meeting.WHOLE
            home = Keep(level=self.level if whole else self.memory, tensors=(self.met,))
            return (home, Sequence(branches=(both, self._alone(2, mapping.alone[0], whole=whole))))
        parts = [self._alone(number, each) for number, each in enumerate(mapping.alone)]
        stored = [*self.results, self.met]
        if mapping.meeting is Meeting.ALONE:
            parts.insert(2, self._meet(self.left, (*self.results, self.met)))
        else:
            place = {Meeting.FIRST: 0, Meeting.SECOND: 1, Meeting.READER: 2}[mapping.meeting]
            own = stored.pop(place)
            parts[place] = self._met_in(parts[place], own, behind=place < 2)
            if place == 0:
                parts[:2] = parts[1::-1]
        return (*keeps(self.memory, stored), Sequence(branches=tuple(parts)))

    def _alone(self, number: int, member: Apart, *, whole: bool = False) -> Branch:
        """A product by itself: one of both, or the last one."""
        made = number < 2
        alone = products_of(self.gate.pairs[number])[0] if made else products_of(self.gate.reader, whole=whole)[1]
        leaf = Compute(statement=self.results[number] if made else self.reader)
        return (*apart_nodes(self.level, alone, member, self.left, frozenset([self.met] if whole else [])), leaf)

    def _met_in(self, branch: Branch, own: str, *, behind: bool) -> Branch:
        """A product in whose tile results meet, behind it or before."""
        place = next(n for n, node in enumerate(branch, 1) if isinstance(node, Keep) and own in node.tensors)
        meet = self._meet(self.left, [name for name in (*self.results, self.met) if name != own])
        rest = (branch[place:], meet) if behind else (meet, branch[place:])
        return (*branch[:place], Sequence(branches=rest))

    def _meet(self, left: Left, words: Ordered[str]) -> Branch:
        """What is between the products, word by word."""
        inside = sequence_of(leaves_of(self.gate.between))
        return (*loops(left, dict.fromkeys(self.dims, 1)), *keeps(self.level, words), *inside)

    def _together(self, member: Together, meeting: Meeting) -> Iterator[Node]:
        out, inn = self.dims[member.outer], self.dims[1 - member.outer]
        left = dict(self.left)
        some = list(zip(self.gate.operands, member.stays, member.pinned, strict=False))
        for each, _, pinned in some:
            if pinned:
                yield Keep(level=self.level, tensors=(each.operand.name,), of={inn: range(pinned)})
        for side, dim, tile in ((member.outer, out, member.tile), (1 - member.outer, inn, member.inner)):
            yield from loops(left, {dim: tile})
            yield from keeps(self.level, [each.operand.name for each, stays, _ in some if stays and each.side == side])
            left[dim] = tile
        yield from loops(left, {out: member.block})
        left[out] = member.block
        streaming = [None if stays else each for each, stays, _ in some]
        branches = [tuple(self._make(streaming[0], streaming[1:3], left))]
        if meeting is Meeting.USED:
            place = self.gate.between.index(self.met)
            before, after = self.gate.between[: place + 1], self.gate.between[place:]
            yield Keep(level=self.level, tensors=self.results, only=(*self.results, *before))
            yield Keep(level=self.level, tensors=(self.met,), only=(*after, self.reader))
            past = [(each.operand, (self.dims[each.side],)) for each in streaming[3:] if each]
            use = streaming_nodes(self.level, past, self.gate.pairs[0].beyond, left)
            branches += [*leaves_of(self.gate.between), (*use, Compute(statement=self.reader))]
        else:
            yield from keeps(self.level, self.results)
            stored = meeting is Meeting.STORED
            branches += [self._meet(left, [self.met])] if stored else leaves_of(self.gate.between)
        yield Sequence(branches=tuple(branches))

    def _make(self, shared: GateOperand | None, own: Ordered[GateOperand | None], left: Left) -> Iterator[Node]:
        """Both products at once, past each other what streams: the operand that they share, and those of each alone."""
        others = [each.operand for each in own if each]
        if shared or others:
            yield from loops(left, dict.fromkeys(self.gate.pairs[0].summed, 1))
        one, other = ({dim: 1} for dim in self.dims)
        words = max((each.words for each in others), default=0)
        line = 0 if shared is None else shared.operand.words * left[self.dims[0]]
        lines = sum(each.words for each in others) * left[self.dims[1]]
        if shared and (not others or lines + shared.operand.words < line + words):
            yield from keeps(self.level, [each.name for each in others])
            yield from loops(left, one)
            yield from keeps(self.level, [shared.operand.name])
            yield Sequence(branches=leaves_of(self.results))
            return
        yield from keeps(self.level, [shared.operand.name] if shared else [])
        branches = leaves_of(self.results)
        past: list[Branch] = [
            (*loops(left, other), *keeps(self.level, [each.operand.name])) if each else () for each in own
        ]
        yield Sequence(branches=tuple((*nodes, *leaf) for nodes, leaf in zip(past, branches, strict=True)))
