"""A mapping counted in both ways: the per-level form that programs minimise, and exactly."""

from __future__ import annotations

from dataclasses import replace

from optmap.count.level_policy import policies_of_form
from optmap.count.results import CostReport
from optmap.count.timing.kept import kept_cost
from optmap.count.timing.results import Prediction
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload


def count_mapping(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    held: Held | None,
    rule: CapacityRule,
    *,
    prediction: Prediction | None = None,
) -> tuple[CostReport, CostReport]:
    """A mapping in per-level form, and with the exact words of the concatenated nest, in exact integers.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        mapping: tiles, loop orders and splits, inner level first.
        held: how long a one-level mapping keeps every tensor, for which both are the same; None where the
            loop order alone decides.
        rule: which working set counts as occupancy in caches.
        prediction: the time of the mapping where that is the objective: then every level keeps what fits of the
            loops, whatever its tile, and both are the same; None for other objectives.

    Raises:
        InputError: if the mapping, or what it holds, does not belong to workload and machine.
        InfeasibleError: if time is predicted, and a level does not hold one element of every tensor.
    """
    if prediction is not None:
        report = replace(kept_cost(workload, machine, mapping, prediction), prediction=prediction)
        return report, report
    cost, exact = policies_of_form(held)
    report = cost.count(workload, machine, mapping, held, rule)
    if cost is exact:
        return report, report
    return report, replace(report, boundaries=exact.traffic(workload, machine, mapping, held))
