"""The part of the allocation program that counts: logarithms of words that move, never more than a count finds.

Of an operand, between the memory p that keeps it and the next memory c inside that keeps it:

    fills = operations / (product of the tile of c over dims that are not its own) / F        (all instances)
    reads = fills / D

F is the product of the innermost run of irrelevant temporal loops above c: those of the next memory out, and, where
no loop of a memory is relevant, those of the memory after it. Operands with a window may bring less at every step:
at most `gain` less (the least that a step along the dim may bring anew), and, where two dims of the window loop
above c, half of that again, since then every second step may bring nothing. D are children that are served together:
the ways of irrelevant dims over the meshes between, and of a window of ways s at most their product over the largest.

An output is updated K >= 1 times per element and partial sum: updates = |O| R K at p, of which |O| R are no
read-modify-write; so one of w_u and w_r per update and read costs |O| R ((w_u + w_r) K - w_r). The logarithm of that
is log K + log(w_u + w_r - w_r/K) + ...: the second part grows with K, and is taken at the largest threshold that K
reaches, which binaries say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, prod
from typing import Any

import pyomo.environ as pyo

from optmap.machines.accelerator import KeepRule
from optmap.programs.allocation_frame import NONE, AllocationModel, entry
from optmap.programs.allocation_layout import TabledSubscript, gain, most_shared, whole_words
from optmap.questions.policy import Footprint

THRESHOLDS = (2, 3, 4, 8, 32)
"""Visits at which the cost of read-modify-write is taken anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficTerm:
    """A count of words: at least the exponential of a linear expression where its switches are on."""

    name: str
    memory: int
    log_words: Any
    switches: tuple[Any, ...]
    largest: float
    """The logarithm is never more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An operand between two memories."""

    operand: int
    outer: int
    inner: int
    """`NONE` for the arithmetic."""
    switch: Any
    """1 if both keep it and none between does."""
    fills: Any
    """Log of what reaches the inner memories, all together."""
    reads: Any
    """Log of what the outer memories are asked for (of an output: their updates)."""


@dataclass(slots=True)
class Traffic:
    """All links of a program, and the thresholds of its outputs."""

    frame: AllocationModel
    links: list[Link] = field(default_factory=list)
    visits: dict[tuple[str, str, str], tuple[Any, list[Any]]] = field(default_factory=dict)


def add_traffic(frame: AllocationModel) -> Traffic:
    """Words of every link."""
    traffic = Traffic(frame=frame)
    model = frame.model
    pairs = {number: list(_pairs(frame, number)) for number in range(len(frame.layout.fabric.operands))}
    names = [_key(frame, t, p, c) for t, own in pairs.items() for p, c in own]
    children = list(dict.fromkeys((key[0], key[2]) for key in names if key[2] != "arithmetic"))
    model.link = pyo.Var([key for key in names if _open(frame, key[0])], bounds=(0, 1))
    model.fills = pyo.Var(children)
    model.reads = pyo.Var(names)
    model.top = pyo.Var([o.name for o in frame.layout.fabric.operands], frame.names, domain=pyo.Binary, dense=False)
    model.links, model.count, model.reuse = pyo.ConstraintList(), pyo.ConstraintList(), pyo.ConstraintList()
    model.stop = pyo.Var([o.name for o in frame.layout.fabric.operands], frame.names, bounds=(0, 1))
    model.reused = pyo.Var(
        [(t, c, m) for t, c in children for m in frame.names[frame.names.index(c) + 1 :]], bounds=(0, None)
    )
    model.slid = pyo.Var(list(_slides(frame, children)), bounds=(0, None))
    model.slides = pyo.Var(list(_slides(frame, children)), bounds=(0, 1))
    for number, own in pairs.items():
        _stops(frame, number)
        _flow(frame, number, own)
        for child in dict.fromkeys(c for _, c in own if c != NONE):
            _fills(frame, number, child)
        for p, c in own:
            key = _key(frame, number, p, c)
            fills = log(frame.layout.fabric.operations) if c == NONE else model.fills[key[0], key[2]]
            model.count.add(model.reads[key] == fills - _together(frame, number, p, c))
            least = _compulsory(frame, number)
            if least > 1:
                model.count.add(model.reads[key] >= log(least) + _copies(frame, number, p))
            switch = entry(model.link, key)
            traffic.links.append(
                Link(operand=number, outer=p, inner=c, switch=switch, fills=fills, reads=model.reads[key])
            )
    return traffic


def _key(frame: AllocationModel, operand: int, outer: int, inner: int) -> tuple[str, str, str]:
    name = frame.layout.fabric.operands[operand].name
    return name, frame.names[outer], _name(frame, inner)


def _name(frame: AllocationModel, memory: int) -> str:
    return "arithmetic" if memory == NONE else frame.names[memory]


def _open(frame: AllocationModel, name: str) -> bool:
    """Whether an operand may bypass a memory or not, as the mapping decides."""
    number = next(n for n, operand in enumerate(frame.layout.fabric.operands) if operand.name == name)
    return any(memory.keeps[number] is KeepRule.FREE for memory in frame.layout.fabric.memories)


def _pairs(frame: AllocationModel, operand: int) -> Iterator[tuple[int, int]]:
    """(outer, inner) memories between which an operand may move."""
    keeps = [memory.keeps[operand] for memory in frame.layout.fabric.memories]
    for inner in (NONE, *(m for m, keep in enumerate(keeps) if keep is not KeepRule.REFUSED)):
        for outer in range(inner + 1, len(keeps)):
            if keeps[outer] is not KeepRule.REFUSED:
                yield outer, inner
            if keeps[outer] is KeepRule.KEPT:
                break


def _compulsory(frame: AllocationModel, number: int) -> int:
    """Words of an operand that must pass every link at least once.

    Of a window counted as a hull, or extrapolated, nothing is said: gaps are no words that must be read.
    """
    layout = frame.layout
    if layout.counting.footprint is Footprint.HULL and any(window.operand == number for window in layout.windows):
        return 1
    return whole_words(layout, layout.fabric.operands[number])


def _flow(frame: AllocationModel, number: int, pairs: Sequence[tuple[int, int]]) -> None:
    """Links of an operand as a path from the arithmetic outwards to the outermost memory that keeps it."""
    model, name = frame.model, frame.layout.fabric.operands[number].name
    if not _open(frame, name):
        return
    for inner in dict.fromkeys((NONE, *range(len(frame.names)))):
        outwards = sum(model.link[_key(frame, number, p, c)] for p, c in pairs if c == inner)
        if inner == NONE:
            model.links.add(outwards == 1)
            continue
        kept = frame.kept(number, inner)
        if frame.layout.fabric.memories[inner].keeps[number] is KeepRule.REFUSED:
            continue
        inwards = sum(model.link[_key(frame, number, p, c)] for p, c in pairs if p == inner)
        model.links.add(inwards == kept)
        model.links.add(outwards == kept - model.top[name, frame.names[inner]])
    tops = (m for m, memory in enumerate(frame.layout.fabric.memories) if memory.keeps[number] is not KeepRule.REFUSED)
    model.links.add(sum(model.top[name, frame.names[m]] for m in tops) == 1)
    # Nothing outside the outermost keeper keeps it: a path that ends early would leave keepers unlinked.


def _stops(frame: AllocationModel, number: int) -> None:
    """`stop[t,m]`: a temporal loop of m moves an operand."""
    model, operand = frame.model, frame.layout.fabric.operands[number]
    for stage in frame.layout.times(NONE):
        memory = frame.names[frame.layout.stages[stage].memory]
        for dim in operand.dims:
            moved = frame.moved(dim, stage)
            if not isinstance(moved, float):
                model.reuse.add(model.stop[operand.name, memory] >= moved)


def _fills(frame: AllocationModel, number: int, child: int) -> None:
    """The words that reach all instances of a memory."""
    model, layout = frame.model, frame.layout
    operand, inner = layout.fabric.operands[number], frame.names[child]
    base = log(layout.fabric.operations) + frame.words(number, child)
    base -= sum(frame.covered(dim, layout.after(child)) for dim in layout.chains)
    between: list[str] = []
    reused: Any = 0.0
    for stage in layout.times(child):
        memory = frame.names[layout.stages[stage].memory]
        runs = [
            model.run[key] for d in layout.chains if (key := (operand.name, memory, layout.fabric.dims[d])) in model.run
        ]
        most = sum(log(layout.fabric.extents[d]) for d in layout.chains if d not in operand.dims)
        here = model.reused[operand.name, inner, memory]
        model.reuse.add(here <= sum(runs))
        for other in between:
            model.reuse.add(here <= most * (1 - model.stop[operand.name, other]))
        between.append(memory)
        reused += here
    model.count.add(model.fills[operand.name, inner] == base - reused - _slid(frame, number, child))


def _slides(frame: AllocationModel, children: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """(operand, inner memory, dim) along which tiles may overlap."""
    for window in frame.layout.windows:
        name = frame.layout.fabric.operands[window.operand].name
        for operand, memory in children:
            if operand == name:
                for dim in window.dims:
                    yield name, memory, frame.layout.fabric.dims[dim]


def _slid(frame: AllocationModel, number: int, child: int) -> Any:
    """Log of what sliding along one dim may save of every tile."""
    model, layout, inner = frame.model, frame.layout, frame.names[child]
    name = layout.fabric.operands[number].name
    total: Any = 0.0
    chosen: Any = 0.0
    for window in layout.windows:
        if window.operand != number:
            continue
        for place, dim in enumerate(window.dims):
            key = (name, inner, layout.fabric.dims[dim])
            combinations = layout.combinations(window, child)
            most = max(gain(layout, window, place, at) for at in combinations) + log(2)
            others = [other for other in window.dims if other != dim]
            doubled = sum(frame.moved(other, stage) for stage in layout.times(child) for other in others)
            model.reuse.add(model.slid[key] <= most * model.slides[key])
            gains = frame.gains(window, place, child)
            model.reuse.add(model.slid[key] <= gains + log(2))
            model.reuse.add(model.slid[key] <= gains + log(2) * doubled)
            model.reuse.add(
                model.slides[key] <= sum(_sliding(frame, number, dim, stage) for stage in layout.times(child))
            )
            moves = sum(frame.moved(dim, stage) for stage in layout.times(child))
            model.reuse.add(model.slides[key] <= moves)
            total += model.slid[key]
            chosen += model.slides[key]
    if not isinstance(chosen, float):
        model.reuse.add(chosen <= 1)
    return total


def _sliding(frame: AllocationModel, operand: int, dim: int, stage: int) -> Any:
    """1 if the class of a memory has the overlap of an operand along a dim."""
    memory = frame.names[frame.layout.stages[stage].memory]
    label = frame.layout.fabric.dims[dim]
    kept = (c for c, each in enumerate(frame.classes.classes) if each.signature[operand].at == label)
    return sum(frame.model.order[memory, c] for c in kept)


def _together(frame: AllocationModel, number: int, outer: int, inner: int) -> Any:
    """Log of the children that are served, or added up, together, at most."""
    layout = frame.layout
    operand = layout.fabric.operands[number]
    found: Any = 0.0
    for memory in range(inner + 1, outer + 1):
        mesh = layout.fabric.memories[memory]
        if not mesh.together(operand):
            continue
        stages = list(layout.meshes(memory - 1, memory))
        found += sum(frame.trips(dim, s) for s in stages for dim in layout.chains if dim not in operand.dims)
        for window in layout.windows:
            if window.operand == number and stages:
                found += _window_together(frame, window, stages)
    return found


def _window_together(frame: AllocationModel, window: TabledSubscript, stages: list[int]) -> Any:
    """Children with the same offset along a window: at most their number over the ways of any one dim.

    Two dims have more offsets than that wherever both are unrolled; the least share that they leave is a row, too.
    """
    dims = window.dims
    ways = {dim: sum(frame.trips(dim, stage) for stage in stages) for dim in dims}
    moving = [dim for dim, way in ways.items() if not isinstance(way, int | float)]
    if len(moving) < 2:
        return 0.0
    model = frame.model
    if not hasattr(model, "together"):
        model.together = pyo.VarList(domain=pyo.NonNegativeReals)
        model.groups = pyo.ConstraintList()
    shared = model.together.add()
    for dim in moving:
        model.groups.add(shared <= sum(ways[other] for other in moving if other != dim))
    if len(dims) == 2 == len(moving):
        children = prod(frame.layout.stages[stage].size or 1 for stage in stages)
        of_both, of_one = most_shared(frame.layout, window, children)
        model.groups.add(shared <= of_both * (ways[dims[0]] + ways[dims[1]]))
        for dim, part in zip(dims, of_one, strict=True):
            model.groups.add(shared <= part * ways[dim])
    return shared


def _copies(frame: AllocationModel, number: int, outer: int) -> Any:
    """Log of the partial sums per element of an output in a memory; of inputs nothing."""
    operand = frame.layout.fabric.operands[number]
    if not operand.output:
        return 0.0
    above = frame.layout.meshes(outer, len(frame.names) - 1)
    return sum(frame.trips(dim, s) for s in above for dim in frame.layout.chains if dim not in operand.dims)


def visited(traffic: Traffic, link: Link, *, inside: bool) -> tuple[Any, Any, list[Any]]:
    """Of an output's link: log of its elements and partial sums, log of the visits of each, binaries of thresholds."""
    frame = traffic.frame
    operand = frame.layout.fabric.operands[link.operand]
    counted, place = (link.fills, link.inner) if inside else (link.reads, link.outer)
    elements = log(whole_words(frame.layout, operand)) + _copies(frame, link.operand, place)
    key = (operand.name, frame.names[place], "filled" if inside else _name(frame, link.inner))
    if key not in traffic.visits:
        model = frame.model
        if not hasattr(model, "visited"):
            model.visited = pyo.Var(pyo.Any, dense=False, bounds=(0, None))
            model.often = pyo.Var(pyo.Any, dense=False, domain=pyo.Binary)
            model.visiting = pyo.ConstraintList()
        most = sum(log(frame.layout.fabric.extents[d]) for d in frame.layout.chains if d not in operand.dims)
        visits = model.visited[key]
        model.visiting.add(visits == counted - elements)
        flags = []
        for threshold in THRESHOLDS:
            if log(threshold) <= most + 1e-9:
                flag = model.often[(*key, threshold)]
                below = log(threshold - 1)
                model.visiting.add(visits <= below + (most - below) * flag)
                flags.append(flag)
        for fewer, more in pairwise(flags):
            model.visiting.add(more <= fewer)
        traffic.visits[key] = visits, flags
    return elements, *traffic.visits[key]


def output_words(
    traffic: Traffic, link: Link, *, inside: bool, per_visit: float, first: float
) -> tuple[Any, list[Any], float] | None:
    """Log of |O| R (per_visit K - first): the expression, its switches, the log of its factor at the most.

    Args:
        traffic: the links.
        link: of an output.
        inside: at the inner memory (fills), or at the outer one (updates and reads).
        per_visit: of every visit.
        first: what the first visit of every element costs less.

    Returns:
        None if nothing is counted.
    """
    if per_visit <= 0:
        return None
    elements, visits, flags = visited(traffic, link, inside=inside)
    steps = [per_visit - first, *(per_visit - first / threshold for threshold in THRESHOLDS[: len(flags)])]
    switches: list[Any] = []
    if steps[0] <= 1e-12 * per_visit:
        if not flags:
            return None
        switches, steps, flags = [flags[0]], steps[1:], flags[1:]
    found = elements + visits + log(steps[0])
    found += sum(log(after / before) * flag for before, after, flag in zip(steps, steps[1:], flags, strict=False))
    return found, switches, log(per_visit)
