"""Which nests of a batch keep to the machine: the same verdict as `rules.broken_rules`, without the words."""

from __future__ import annotations

import numpy as np

from optmap.count.meshes.batch_columns import Column, Columns, Mask
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Direction, Fabric, Memory, Rule


def valid_rows(columns: Columns, tile_words: Column, fabric: Fabric) -> Mask:
    """Whether nests cover the extents, fit the memories and meshes, and keep to all rules.

    Args:
        columns: the nests.
        tile_words: (memories, operands, nests), of every memory's tile, kept or not.
        fabric: the machine as the workload sees it.
    """
    valid: Mask = (columns.tiles[-1] >= np.array(fabric.extents, float)[:, None]).all(axis=0)
    for number, memory in enumerate(fabric.memories):
        for direction, ways in ((memory.x, columns.x[number]), (memory.y, columns.y[number])):
            valid &= _along(direction, ways)
        products = (
            (memory.rules, columns.trips[number]),
            (memory.tiles, columns.tiles[number]),
            (memory.ways, columns.x[number] * columns.y[number]),
        )
        for rules, product in products:
            for rule in rules:
                valid &= _admitted(rule, product)
        valid &= _ordered(memory, columns, number)
        valid &= _fitting(memory, columns.keeps[number], tile_words[number])
    for operand in range(len(fabric.operands)):
        valid &= _kept(fabric, columns.keeps[:, operand], operand)
    return valid


def _along(direction: Direction, ways: Column) -> Mask:
    """One axis of a mesh."""
    valid: Mask = ways.prod(axis=0) <= direction.size
    for dim, allowed in enumerate(direction.allowed):
        if not allowed:
            valid &= ways[dim] == 1
    for rule in direction.rules:
        valid &= _admitted(rule, ways)
    return valid


def _admitted(rule: Rule, trips: Column) -> Mask:
    return rule.met(trips[list(rule.dims)].prod(axis=0))


def _ordered(memory: Memory, columns: Columns, number: int) -> Mask:
    """Whether temporal loops come as a memory asks: each takes the first entry from where the pattern stands."""
    nests, dims = columns.trips.shape[2], columns.trips.shape[1]
    if not memory.order:
        return np.ones(nests, bool)
    suits = [memory.entries(dim) for dim in range(dims)]
    last = len(memory.order)
    following = np.array(
        [[next((e for e in suits[dim] if e >= start), last) for dim in range(dims)] for start in range(last)]
        + [[last] * dims]
    )
    place = np.zeros(nests, np.int64)
    for position in range(dims):
        dim = columns.order[number, position]
        several = columns.trips[number, dim, np.arange(nests)] > 1
        place = np.where(several, following[place, dim], place)
    return place < last


def _fitting(memory: Memory, keeps: Mask, tile_words: Column) -> Mask:
    valid: Mask = np.ones(keeps.shape[1], bool)
    for room in memory.rooms:
        held: Column = np.zeros(keeps.shape[1])
        for operand, weight in zip(room.operands, room.weights, strict=True):
            held += whole(tile_words[operand] * keeps[operand], weight)
        valid &= held <= room.capacity
    return valid


def _kept(fabric: Fabric, keeps: Mask, operand: int) -> Mask:
    valid: Mask = np.asarray(keeps.any(axis=0))
    for number, memory in enumerate(fabric.memories):
        match memory.keeps[operand]:
            case KeepRule.KEPT:
                valid &= keeps[number]
            case KeepRule.REFUSED:
                valid &= ~keeps[number]
    return valid
