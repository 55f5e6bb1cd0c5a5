"""Constraints that no mapping meets: which they are, why, and the smallest change that helps.

Tiles nest, and the least sizes that the constraints leave are the smallest chain of tiles. Words
grow with every size, so some mapping (of one core, with tiles of any size) meets all constraints exactly
if at every level a size of every dim and a loop order are left and that smallest tile fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from optmap.base.errors import InfeasibleError
from optmap.base.texts import several
from optmap.machines.relations import Relation
from optmap.mappings.constraints import NO_CONSTRAINTS, Constraint, Constraints, TileConstraint
from optmap.search.space.search_space import Setting
from optmap.search.space.sizes import factorizations


def refuse_conflict(setting: Setting) -> None:
    """Refuse constraints that no mapping meets.

    Nothing is said where nothing fits without them either: that is for `Setting.check_capacities`.

    Raises:
        InfeasibleError: naming constraints none of which can be left out of the list, what is in their way, and
            for each the nearest value with which all the others can be met.
    """
    reason = _reason(setting) if setting.constraints else None
    if reason is None or _reason(replace(setting, constraints=NO_CONSTRAINTS)) is not None:
        return
    guilty = guilty_of(setting.constraints, lambda some: _reason(replace(setting, constraints=some)) is None)
    why = _reason(replace(setting, constraints=guilty))
    raise InfeasibleError(blame(setting.constraints, guilty, f": {why}", lambda item: _change(setting, item)))


def guilty_of(constraints: Constraints, met: Callable[[Constraints], bool]) -> Constraints:
    """Of constraints that cannot be met, some of which none can be left out."""
    guilty = constraints
    for item in constraints.items:
        if not met(guilty.without(item)):
            guilty = guilty.without(item)
    return guilty


def blame(constraints: Constraints, guilty: Constraints, why: str, change: Callable[[Constraint], str | None]) -> str:
    """Which constraints cannot be met, why, and what would do.

    Args:
        constraints: all of them.
        guilty: those that are the reason.
        why: and where.
        change: the nearest form of one with which all others can be met; None if there is none.
    """
    changes = [text for text in map(change, guilty.items) if text]
    helps = f"; {' or '.join(changes)} would do" if changes else ""
    others = " with the other constraints as they are" if changes and len(constraints.items) > 1 else ""
    subject, together = ("constraints", " together") if len(guilty.items) > 1 else ("constraint", "")
    return f"{subject} {guilty.text} cannot be met{together}{why}{helps}{others}"


def _reason(setting: Setting) -> str | None:
    """Why no mapping meets the constraints of a setting; None if one does."""
    machine, dims = setting.machine, setting.workload.dims
    nothing = setting.allowed.empty
    if nothing is not None:
        where, dim = machine.levels[nothing[0]].name, dims[nothing[1]]
        imposed = [machine.levels[i].name for i in setting.fixed]
        around = f" (the machine imposes the tile of {', '.join(imposed)})" if imposed else ""
        return f"no size of {dim} is left at {where}: tiles of inner levels fit into those of outer ones{around}"
    limits = [1 if dim in setting.workload.reduction_dims else extent for dim, extent in setting.workload.sizes]
    if not any(setting.meets_split(ways) for ways in factorizations(setting.cores, limits)):
        if setting.split_level is None:
            return "one core does all of the work, so that no level is split; ask for more with --cores"
        shared = machine.levels[setting.split_level].name
        return f"{setting.cores} cores share {shared} alone, and cannot be split so over dims that are not reduced"
    for number, level in enumerate(machine.levels):
        if not setting.orders_at(number):
            imposed = [] if number not in setting.fixed else [" but the one that the machine imposes"]
            return f"no loop order of {level.name} is left" + "".join(imposed)
        needed, capacity = setting.least_occupancy(number), setting.capacities[number]
        if needed > capacity:
            tile = ", ".join(f"{d}={n}" for d, n in setting.smallest(number).items() if n > 1) or "one point"
            return (
                f"{level.name} is short by {several(needed - capacity, 'word')}, its "
                f"{several(capacity, 'word')} cannot hold the smallest tile that is left ({tile}), "
                f"which needs {needed:,}"
            )
    return None


def _change(setting: Setting, item: Constraint) -> str | None:
    """The nearest form of a constraint with which all the others can be met; None if there is none."""
    without = replace(setting, constraints=setting.constraints.without(item))
    if not isinstance(item, TileConstraint) or _reason(without) is not None:
        return None
    level = [each.name for each in setting.machine.levels].index(item.level)
    sizes = without.allowed.sizes[level][setting.workload.dims.index(item.dim)]

    def works(value: int, relation: Relation) -> bool:
        other = replace(item, value=value, relation=relation)
        items = tuple(other if each == item else each for each in setting.constraints.items)
        return _reason(replace(setting, constraints=replace(setting.constraints, items=items))) is None

    low, high = 0, sizes.count - 1
    while low < high:  # the largest size that fits with the others at their least
        middle = (low + high + 1) // 2
        low, high = (middle, high) if works(sizes.low + middle * sizes.step, Relation.EQUAL) else (low, middle - 1)
    largest = sizes.low + low * sizes.step
    if item.relation is Relation.AT_MOST:
        value = sizes.low
    elif item.relation is Relation.EQUAL:
        value = min(max(item.value // sizes.step * sizes.step, sizes.low), largest)
    else:
        value = min(item.value, largest)
    changed = replace(item, value=value)
    return changed.text if changed != item and works(value, item.relation) else None
