"""What it costs to keep operands at a level, and to serve the arithmetic: the terms of the model.

M are the operations, n the instances of the level, e its tile. The temporal loops outside have
T = M/(n |e|) trips in one instance; while the last F of them (`reuse`) run, an operand is held still. So
its tile is brought in T/F times, into all instances together

    fills = n T/F tile = M / (extents of the tile that do not occur in the operand) / F

words if nothing overlaps. Of an operand with windows the steps of its run save the words that the tile
shares with the one before: the counting lets a step reuse a part if the tile moves along one
subscript by as much as at the innermost step, and all of it if it does not move at all. The parent reads
fills/D words, D being the children that one read serves. An output is updated instead: its parent takes
fills/D updates, and reads as many less the first of each element (|O| per way of reduction outside); of the fills
the first ones of each instance's elements are left out in the same way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.questions.options import Merit
from optmap.search.exact.frame import ROUNDING, Charges, ExactFrame, product
from optmap.search.exact.labels import Labels, joined


def fills_of(frame: ExactFrame, labels: Labels, operand: int, values: Ints) -> Floats:
    """Words that enter all instances of a level if it keeps an operand, first touches of outputs among them."""
    if operand not in frame.sliding:
        return np.asarray(frame.operations / frame.irrelevant(operand, values) / labels.reuse[:, operand])
    words = frame.words(operand, labels.tile, values)
    trips = frame.operations / (labels.instances * product(values))
    found = trips / labels.reuse[:, operand] * words
    place = frame.sliding.index(operand)
    for number, window in enumerate(frame.windows[operand]):
        table = window.rows(labels.tile)
        last = np.minimum(labels.step[:, place], window.kept.shape[1] - 1)
        share = _shared(frame, operand, number, table, last)
        for step in range(labels.shift.shape[2]):
            shift = labels.shift[:, place, step]
            same = np.where(shift == labels.step[:, place], share, 0.0)
            saved = np.where(shift == 0, 1.0, same)
            found -= np.where(labels.window[:, place] == number, saved * labels.count[:, place, step], 0.0) * words
    return np.asarray(found * labels.instances)


def _shared(frame: ExactFrame, operand: int, number: int, table: Ints, shift: Ints) -> Floats:
    """Part of a tile that it shares with itself moved along one window."""
    window = frame.windows[operand][number]
    if frame.hulls:
        width = window.words[table]
        return np.asarray(np.maximum(0.0, width - shift) / width)
    return np.asarray(window.kept[table, shift] / window.words[table])


def locked_of(frame: ExactFrame, labels: Labels, operand: int, values: Ints) -> Floats:
    """Words that will enter all instances of any level from this one inwards that keeps an operand, at least.

    Without windows: irrelevant loops inside take their trips from the tile's irrelevant extents, and the reuse
    becomes at most as much larger; a loop that moves the operand ends the reuse. Ways of a mesh over irrelevant dims
    only make more copies. So what enters this level is the least that enters further inside. With windows: whenever
    the tile of this level moves, what it did not have before was not in any tile inside it, and all of the tile is
    needed inside; so at each step of the run at least the tile without its overlap enters, gaps left out (tiles
    further inside may have none), and at each other move that is no repetition the whole tile. Where tiles are hulls,
    what was in a gap of the tile before may be inside already, as a gap: only what lies beyond its hull is new.
    """
    if operand not in frame.sliding:
        return np.asarray(frame.operations / frame.irrelevant(operand, values) / labels.reuse[:, operand])
    words = frame.words(operand, labels.tile, values, certain=True)
    trips = frame.operations / (labels.instances * product(values))
    found = trips / labels.reuse[:, operand] * words
    place = frame.sliding.index(operand)
    for number, window in enumerate(frame.windows[operand]):
        table = window.rows(labels.tile)
        for step in range(labels.shift.shape[2]):
            shift = labels.shift[:, place, step]
            saved = window.kept[table, np.clip(shift, 0, window.kept.shape[1] - 1)] / window.touched[table]
            saved = np.where((shift >= 0) & (labels.window[:, place] == number), saved, 0.0)
            found -= saved * labels.count[:, place, step] * words
    return np.asarray(found * labels.instances)


def charge(
    frame: ExactFrame, kind: Charges, level: Ints | int, operand: int, *, words: Floats, instances: Floats
) -> Floats:
    """Energy of accesses to an operand in memories: whole accesses in each instance, one of each cluster paid for.

    Accesses are rounded up where an element is no whole number of them.
    """
    if not frame.grouped:
        return np.asarray(kind.least[level, operand] * words)
    bulk = frame.bulk[level, operand]
    full = np.ceil(words / (instances * bulk) * (1 - ROUNDING)) * instances
    accesses = np.where(frame.parted[level, operand], full, words / bulk)
    energy = kind.access[level] * accesses + kind.bits[level, operand] * words
    return np.asarray(energy * np.minimum(1.0, frame.groups[level] / instances))


def kept(frame: ExactFrame, labels: Labels, level: int) -> Labels:
    """Labels with every allowed set of operands kept at the level, those that do not fit left out.

    `choice[:, 2]` then says the set, `origin` the row of the label before.
    """
    values = frame.values(labels.tile)
    words = [frame.words(operand, labels.tile, values) for operand in range(frame.operands)]
    bills = [bill_of(frame, labels, level, operand, values) for operand in range(frame.operands)]
    parts = []
    for chosen in keep_sets(frame, level):
        rows = np.flatnonzero(fitting(frame, level, chosen, words))
        if len(rows):
            parts.append(_with(frame, labels, level, bills, chosen=chosen, rows=rows))
    return joined(parts) if parts else labels.take(np.zeros(0, np.int64))


def keep_sets(frame: ExactFrame, level: int) -> list[int]:
    """Sets of operands (bits) that a memory may keep."""
    must = sum(1 << k for k in range(frame.operands) if frame.keep(level, k) is KeepRule.KEPT)
    free = [k for k in range(frame.operands) if frame.keep(level, k) is KeepRule.FREE]
    return [must | sum(1 << k for bit, k in enumerate(free) if some >> bit & 1) for some in range(1 << len(free))]


def fitting(frame: ExactFrame, level: int, chosen: int, words: list[Floats]) -> Flags:
    """Which tiles fit a memory that keeps a set of operands."""
    found = np.ones(len(words[0]), np.bool_)
    for room in frame.memory(level).rooms:
        held = [
            whole(words[operand], weight)
            for operand, weight in zip(room.operands, room.weights, strict=True)
            if chosen >> operand & 1
        ]
        if held:
            found &= sum(held) <= room.capacity
    return found


Bill = tuple[Floats, list[Floats], Floats, list[Floats]]
"""Energy of an average run, per kind of run words read at one instance of the parent, words written there, and per kind
of run words written at one instance of the level."""


def bill_of(frame: ExactFrame, labels: Labels, level: int, operand: int, values: Ints) -> Bill:
    """What keeping an operand at a level costs; nothing if no memory outside keeps it."""
    parent, above = labels.parent[:, operand], labels.parents[:, operand]
    fills = np.where(parent >= 0, fills_of(frame, labels, operand, values), 0.0)
    served = fills / labels.share[:, operand]
    n = labels.instances
    if operand != frame.output:
        energy = charge(frame, frame.read, parent, operand, words=served, instances=above)
        energy += charge(frame, frame.fill, level, operand, words=fills, instances=n)
        return energy, [served / above] * len(frame.runs), np.zeros(len(labels)), [fills / n] * len(frame.runs)
    energy = charge(frame, frame.update, parent, operand, words=served, instances=above)
    read, filled = list[Floats](), list[Floats]()
    for part, free in frame.runs:
        read.append(np.where(parent >= 0, served - free * labels.reduced_above, 0.0))
        filled.append(np.where(parent >= 0, fills - free * labels.reduced, 0.0))
        energy += part * charge(frame, frame.read, parent, operand, words=read[-1], instances=above)
        energy += part * charge(frame, frame.fill, level, operand, words=filled[-1], instances=n)
    return energy, [words / above for words in read], served / above, [words / n for words in filled]


def _with(frame: ExactFrame, labels: Labels, level: int, bills: list[Bill], *, chosen: int, rows: Ints) -> Labels:
    """Labels that keep a set of operands at a level."""
    found = labels.take(rows)
    all_rows = np.arange(len(rows))
    for operand in range(frame.operands):
        if not chosen >> operand & 1:
            continue
        energy, read, written, filled = bills[operand]
        found.energy += energy[rows]
        if frame.limited:
            port = frame.port[found.parent[:, operand]]
            some = port >= 0
            passing = frame.passing[found.parent[some, operand], operand]
            for number in range(len(frame.runs)):
                first = number * len(frame.limited)
                found.reads[all_rows[some], first + port[some]] += read[number][rows][some] * passing
                found.writes[all_rows[some], first + port[some]] += written[rows][some] * passing
                if frame.port[level] >= 0:
                    found.writes[:, first + frame.port[level]] += filled[number][rows] * frame.passing[level, operand]
        found.parent[:, operand] = level
        found.parents[:, operand] = found.instances
        found.share[:, operand] = 1.0
        if operand == frame.output:
            found.reduced_above = found.reduced.copy()
    choice = np.zeros((len(rows), 3), np.int64)
    choice[:, 2] = chosen
    return replace(found, origin=rows, choice=choice)


def finished(
    frame: ExactFrame, labels: Labels, bills: list[Bill], *, share: Floats, units: Floats, keeps: int
) -> tuple[Floats, Floats]:
    """Energy and cycles of whole mappings; infinite where no memory keeps an operand.

    Args:
        frame: of the search.
        labels: at the innermost memory; what it keeps is not decided.
        bills: what keeping each operand there costs.
        share: per operand the units that one read of the innermost memory serves.
        units: arithmetic units in use.
        keeps: set of operands that it keeps.
    """
    energy, reads, writes = labels.energy.copy(), labels.reads.copy(), labels.writes.copy()
    rows, kept_nowhere = np.arange(len(labels)), np.zeros(len(labels), np.bool_)

    def add(ports: Floats, level: Ints, operand: int, words: list[Floats]) -> None:
        if frame.limited:
            port = frame.port[level]
            some = port >= 0
            for number, own in enumerate(words):
                column = number * len(frame.limited) + port[some]
                ports[rows[some], column] += own[some] * frame.passing[level[some], operand]

    for operand in range(frame.operands):
        parent, above = labels.parent[:, operand], labels.parents[:, operand]
        serves, touched = share[:, operand] * labels.share[:, operand], labels.reduced_above
        if keeps >> operand & 1:
            bill, read, written, filled = bills[operand]
            energy += bill
            add(reads, parent, operand, read)
            add(writes, parent, operand, [written] * len(frame.runs))
            parent, above = np.zeros_like(parent), labels.instances
            add(writes, parent, operand, filled)
            serves, touched = share[:, operand], labels.reduced
        served = frame.operations / serves
        asked = [served] * len(frame.runs)
        if operand == frame.output:
            asked = [served - free * touched for _, free in frame.runs]
            energy += charge(frame, frame.update, parent, operand, words=served, instances=above)
            add(writes, parent, operand, [served / above] * len(frame.runs))
        for (part, _), words in zip(frame.runs, asked, strict=True):
            energy += part * charge(frame, frame.read, parent, operand, words=words, instances=above)
        add(reads, parent, operand, [words / above for words in asked])
        kept_nowhere |= parent < 0
    cycles = cycles_of(frame, reads, writes, frame.operations / units)
    energy[kept_nowhere] = cycles[kept_nowhere] = np.inf
    return energy, cycles


def cycles_of(frame: ExactFrame, reads: Floats, writes: Floats, compute: Floats) -> Floats:
    """Cycles of computation or of the slowest port, whole in each kind of run; of ports alone for `port-cycles`."""
    total = np.zeros(len(compute))
    for number, (part, _) in enumerate(frame.runs):
        found = np.zeros(len(compute)) if frame.merit is Merit.PORT_CYCLES else np.ceil(compute * (1 - ROUNDING))
        if frame.limited:
            mine = slice(number * len(frame.limited), (number + 1) * len(frame.limited))
            read, written = reads[:, mine], writes[:, mine]
            load = np.maximum(read / frame.read_rate, written / frame.write_rate)
            load = np.maximum(load, (read + written) / frame.shared_rate).max(axis=1)
            found = np.maximum(found, np.ceil(load * (1 - ROUNDING)))
        total += part * found
    return total
