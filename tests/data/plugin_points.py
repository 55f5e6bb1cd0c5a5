"""A plug-in: a method that gives every level tiles of one point, and random nests on accelerators."""

import sys

from optmap.mappings.levels import LevelMapping, Mapping
from optmap.search import Found, Method, Question, Route, explorer, random_nests, register_method


def points(question: Question) -> Found:
    """Tiles of one point."""
    dims = question.workload.dims
    levels = tuple(
        LevelMapping(level=level.name, tile=dict.fromkeys(dims, 1), permutation=dims, spatial={})
        for level in question.machine.levels
    )
    return Found(mapping=Mapping(levels=levels))


def shuffled(brief):
    """Random nests, 32 at a time."""
    while True:
        yield random_nests(brief.fabric, 32, brief.rng)


sys.stdout.write("said as it is imported\n")
route = Route(solve=points, objectives=("bottleneck",))
register_method(Method(name="points", description="one point", routes=(route, explorer(shuffled))))
