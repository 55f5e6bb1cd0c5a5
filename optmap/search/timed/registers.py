"""A mapping of the caches alone as code has it: with the register tile inside that is predicted to be fastest."""

from __future__ import annotations

from optmap.base.errors import InputError
from optmap.count.timing import core_with_room
from optmap.count.timing.kernel import roles_of
from optmap.count.timing.predict import TimeModel
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.search.timed.candidate import TimedCandidate
from optmap.search.timed.ranking import order_of
from optmap.search.timed.shapes import shapes


def with_registers(model: TimeModel, mapping: Mapping) -> TimedCandidate:
    """A mapping on all levels of a machine; one that lacks the innermost gets a register tile of the vector kernel.

    Methods that have no register tiles answer for the levels outside (`innermost`), as IOOpt does. Tiles and loop
    orders of those stay; each register tile that the kernel knows is put inside, no larger than the innermost tile,
    reductions innermost, and the least predicted time counts.

    Args:
        model: workload, machine with a core, options of the code, threads.
        mapping: of all levels, or of all but the innermost.

    Raises:
        InputError: if it is of other levels, or no vector kernel is for the workload or has so few registers.
    """
    workload, machine = model.workload, model.machine
    names = [level.name for level in machine.levels]
    if [level.level for level in mapping.levels] != names[1:]:
        mapping.check(workload, machine)
        return TimedCandidate(mapping=mapping, options=model.options, prediction=model.predict(mapping))
    roles = roles_of(workload, model.options.layout)
    known = () if roles is None else shapes(workload, roles, core_with_room(machine), layout=model.options.layout)
    if roles is None or not known:
        raise InputError(
            f"{workload.title}: the mapping has no tile for {names[0]}, and no vector kernel has one for it; solve "
            "with a method that has, such as mopt or timed"
        )
    outside = mapping.levels[0].tile
    order = tuple(dim for dim in workload.dims if dim not in roles.reduction) + roles.reduction
    found = []
    for shape in known:
        tile = {dim: min(size, outside[dim]) for dim, size in shape.tile.items()}
        inner = LevelMapping(level=names[0], tile=tile, permutation=order, spatial={})
        whole = Mapping(levels=(inner, *mapping.levels))
        whole.check(workload, machine)
        found.append(TimedCandidate(mapping=whole, options=model.options, prediction=model.predict(whole)))
    return min(found, key=lambda each: order_of(each.prediction))
