"""The exact per-level cost of one mapping: the number that the programs minimise."""

from __future__ import annotations

import numpy as np

from optmap.count.levels.cutting import Array
from optmap.count.levels.per_level import level_model
from optmap.count.results import BoundaryTraffic, CostReport, LevelCost
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.machines.partitions import capacity_groups
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow, safe_working_set
from optmap.workloads.workload import Workload, access_names


def evaluate_cost(
    workload: Workload, machine: Machine, mapping: Mapping, rule: CapacityRule = CapacityRule.TILE
) -> CostReport:
    """Occupancy, traffic and cycles of every level of a mapping, in exact integers.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        mapping: tiles, loop orders and splits, inner level first.
        rule: which working set counts as occupancy in caches; scratchpads need one tile.

    Returns:
        The report; a working set that does not fit is reported there, not raised.

    Raises:
        InputError: if the mapping does not belong to workload and machine, or under `assign` a
            dim stands in two subscripts of the output.
    """
    mapping.check(workload, machine)
    return level_report(workload, machine, mapping, rule, level_traffic(workload, machine, mapping))


def level_report(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    rule: CapacityRule,
    boundaries: tuple[BoundaryTraffic, ...],
) -> CostReport:
    """Occupancy and cycles of every level of a mapping whose traffic is counted; arguments as for `evaluate_cost`."""
    rates = machine.rates(workload.word_bits)
    levels = tuple(
        LevelCost(
            level=level.name,
            occupancy_words=_occupancy(workload, mine, level.rule(rule)),
            capacity_words=level.capacity.words(workload.word_bits) // level.buffering,
            traffic_words=sum(b.words for b in boundaries if b.between == between),
            rate=rate,
            overfull=_overfull(workload, level, mine),
        )
        for level, mine, between, rate in zip(machine.levels, mapping.levels, machine.boundaries, rates, strict=True)
    )
    return CostReport(levels=levels, boundaries=boundaries, rule=rule)


def level_traffic(workload: Workload, machine: Machine, mapping: Mapping) -> tuple[BoundaryTraffic, ...]:
    """Words per boundary (inner first) and tensor (output first) in per-level form; the mapping has been checked."""
    model = level_model(workload)
    dims = workload.dims
    chain: Array = np.array([[[level.tile[d] for d in dims] for level in mapping.levels]], dtype=model.dtype)
    ways: Array = np.array([[[level.spatial.get(d, 1) for d in dims] for level in mapping.levels]], dtype=model.dtype)
    spatial = ways if (ways != 1).any() else None
    entries: list[BoundaryTraffic] = []
    for i, between in enumerate(machine.boundaries):
        reuse = dataflow(workload, mapping.levels[i].permutation)
        loads, stores = model.tensor_traffic(chain, i, reuse, spatial)
        entries.extend(
            BoundaryTraffic(between=between, tensor=name, loads_words=int(load), stores_words=int(store))
            for name, load, store in zip(access_names(workload), loads[0], stores[0], strict=True)
        )
    return tuple(entries)


def _overfull(workload: Workload, level: Level, mine: LevelMapping) -> tuple[str, ...]:
    """Names of the partitions of a level that do not hold one tile of their tensors."""
    tensors = workload.tensors
    groups = capacity_groups(workload, level) if level.partitions else ()
    return tuple(
        group.name
        for group in groups
        if sum(workload.weight(tensors[i]) * tensors[i].footprint(mine.tile) for i in group.tensors) > group.words
    )


def _occupancy(workload: Workload, mine: LevelMapping, rule: CapacityRule) -> int:
    """Words of the working set of one level."""
    if rule is CapacityRule.SAFE:
        rooms = safe_working_set(workload, mine.permutation)
        shares = [room.elements(t, mine.tile) for room, t in zip(rooms, workload.tensors, strict=True)]
    else:
        shares = [t.footprint(mine.tile) for t in workload.tensors]
    return sum(n * workload.weight(t) for n, t in zip(shares, workload.tensors, strict=True))
