"""A plug-in: a method that gives every level tiles of one point, and random nests on accelerators."""

import sys

from optmap.problem import LevelMapping, Mapping
from optmap.search import Found, Method, Request, Route, explorer, random_nests, register_method


def points(request: Request) -> Found:
    """Tiles of one point."""
    dims = request.workload.dims
    levels = tuple(
        LevelMapping(level=level.name, tile=dict.fromkeys(dims, 1), permutation=dims, spatial={})
        for level in request.machine.levels
    )
    return Found(mapping=Mapping(levels=levels))


def shuffled(question):
    """Random nests, 32 at a time."""
    while True:
        yield random_nests(question.fabric, 32, question.rng)


sys.stdout.write("said as it is imported\n")
route = Route(solve=points, objectives=("bottleneck",))
register_method(Method(name="points", description="one point", routes=(route,), accelerator=explorer(shuffled)))
