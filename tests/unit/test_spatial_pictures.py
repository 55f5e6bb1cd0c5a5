"""Loop nests and pictures of mappings on accelerators: what they show is what was counted."""

import re
from math import prod

from optmap.problem import Capacity, Level, Machine, Semantics, conv2d
from optmap.problem.accelerator import Accelerator, Arithmetic, Keep, Mesh, MeshAxis, Ports, Prices, Store
from optmap.problem.fabric import fabric_of
from optmap.problem.nest import MemoryNest, Nest
from optmap.report import nest_text
from optmap.report.spatial_nest import bands

LAYER = conv2d(k=8, c=4, h=4, w=6, r=3, s=3, name="small", semantics=Semantics.ASSIGN)
MACHINE = Machine(
    name="tiny",
    levels=(
        Level(
            name="Reg",
            capacity=Capacity(amount=16, unit="words"),
            store=Store(energy_pj=Prices(read=1, fill=1, update=1)),
        ),
        Level(
            name="Glb",
            capacity=Capacity(amount=512, unit="words"),
            store=Store(
                keeps=(("input", Keep.KEPT), ("output", Keep.FREE), ("weight", Keep.REFUSED)),
                energy_pj=Prices(read=6, fill=6, update=6),
                ports=Ports(shared=8),
                mesh=Mesh(x=MeshAxis(size=4), y=MeshAxis(size=2)),
            ),
        ),
    ),
    memory="DRAM",
    accelerator=Accelerator(
        outermost=Store(energy_pj=Prices(read=200, fill=200, update=200), ports=Ports(read=2, write=1)),
        arithmetic=Arithmetic(energy_pj=0.5),
    ),
)
FABRIC = fabric_of(LAYER, MACHINE)
DIMS = FABRIC.dims


def ways(**found):
    """Trips per dim, 1 for the others."""
    return tuple(found.get(dim, 1) for dim in DIMS)


def loops(**found):
    """Temporal loops, outermost first."""
    return tuple((DIMS.index(dim), trips) for dim, trips in found.items())


NEST = Nest(
    memories=(
        MemoryNest(x=ways(), y=ways(), temporal=loops(s=3), keeps=(True, True, True)),
        MemoryNest(x=ways(k=4), y=ways(h=2), temporal=loops(h=2, w=6, r=3), keeps=(False, True, False)),
        MemoryNest(x=ways(), y=ways(), temporal=loops(k=2, c=4), keeps=(True, True, True)),
    )
)

TEXT = """\
DRAM [ Out:192 In:192 Ker:288 ]
-------------------------------
| for k in [0:2)
|   for c in [0:4)

Glb [ In:48 ]
-------------
|     for h in [0:2)
|       for w in [0:6)
|         for r in [0:3)
|           for h in [0:2) (Spatial-Y)
|             for k in [0:4) (Spatial-X)

Reg [ Out:1 In:3 Ker:3 ]
------------------------
|               for s in [0:3)
|                 << Compute >>
"""


def test_the_nest_is_printed_as_timeloop_prints_it():
    assert nest_text(NEST, FABRIC) == TEXT


def test_every_trip_is_in_the_text_and_every_tensor_is_kept_or_passes():
    trips = re.findall(r"for (\w+) in \[0:(\d+)\)", nest_text(NEST, FABRIC))
    for dim, extent in zip(DIMS, FABRIC.extents, strict=True):
        assert prod(int(n) for name, n in trips if name == dim) == extent
    names = {operand.name for operand in FABRIC.operands}
    for band in bands(NEST, FABRIC):
        assert {name for name, _ in band.kept} | set(band.bypassed) == names
    assert bands(NEST, FABRIC)[1].bypassed == ("Out", "Ker")


def test_a_memory_without_loops_or_tensors_has_its_line():
    whole = Nest(
        memories=(
            MemoryNest(
                x=ways(), y=ways(), temporal=loops(**dict(zip(DIMS, FABRIC.extents, strict=True))), keeps=(True,) * 3
            ),
            MemoryNest(x=ways(), y=ways(), temporal=(), keeps=(False,) * 3),
            MemoryNest(x=ways(), y=ways(), temporal=(), keeps=(True,) * 3),
        )
    )
    text = nest_text(whole, FABRIC)
    assert "Glb [ ]\n-------\n|\n\nReg [" in text
    assert text.endswith("| " + "  " * len(DIMS) + "<< Compute >>\n")
