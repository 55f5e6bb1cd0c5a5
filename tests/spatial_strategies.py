"""Hypothesis strategies for small accelerators with a nest on them: `from spatial_strategies import spatial_cases`."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from optmap.count.policies import nest_policies
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Semantics, Workload

COUNTINGS = tuple(nest_policies().values())
"""The policies of accelerators."""
WALKED = tuple(policy for policy in COUNTINGS if policy.walked)
"""Those that searches with bounds know."""
STATEMENTS = {
    "gemm": ("ij", "ik", "kj"),
    "batched": ("bij", "bik", "bkj"),
    "mttkrp": ("ij", "ikl", "kj", "lj"),
    "conv1d": ("kp", "c,p*s+r*d", "kcr"),
    "depthwise": ("cp", "c,p*s+r*d", "cr"),
    "conv2d": ("pq", "p*s+r*d,q*s+t*d", "rt"),
    "outer window": ("p*s+r*d", "p", "r"),
    "diagonal": ("ij", "i,i", "j"),
    "skewed": ("ij", "i+j,i", "j"),
    "three": ("k", "i*s+j+k*d", "j"),
    "turned": ("k", "i+j*2,i*2+j*s", "ik"),
    "twice": ("k", "i+j*s,i+j*s+l+m", "jklm"),
}
"""Output, then the inputs; subscripts with commas between if one is not a letter; s and d are drawn."""


def _axis(text, numbers):
    terms = {}
    for part in text.split("+"):
        dim, _, factor = part.partition("*")
        value = int(numbers.get(factor, factor or 1))
        terms[dim] = terms.get(dim, 0) + value
    return Subscript(terms=tuple(terms.items()))


def statement(kind: str, extents: dict[str, int], *, stride: int = 1, dilation: int = 1) -> Workload:
    """One of `STATEMENTS` with some extents."""
    numbers = {"s": stride, "d": dilation}
    tensors = []
    for name, text in zip(("O", "A", "B", "C"), STATEMENTS[kind], strict=False):
        subscripts = text.split(",") if "," in text or "+" in text else list(text)
        tensors.append(TensorAccess(name=name, axes=tuple(_axis(part, numbers) for part in subscripts)))
    return Workload.product(
        name=kind,
        output=tensors[0],
        inputs=tuple(tensors[1:]),
        sizes=tuple(extents.items()),
        semantics=Semantics.ASSIGN,
    )


def dims_of(kind: str) -> list[str]:
    """The dims of one of `STATEMENTS`."""
    return sorted({letter for text in STATEMENTS[kind] for letter in text if letter.isalpha()} - {"s", "d"})


def machine(meshes, *, flags=(True, True), capacity=10**6, ports=None, block=1) -> Machine:
    """An accelerator with a level for each mesh, the last one unbounded.

    Args:
        meshes: per memory, inner first, the sizes along x and y.
        flags: whether meshes multicast and reduce.
        capacity: words of each bounded level.
        ports: of every memory.
        block: of every memory.
    """
    stores = [
        Store(
            energy_pj=Prices(read=10**number + 1, fill=10**number + 2, update=10**number + 3),
            mesh=Mesh(x=MeshAxis(size=x), y=MeshAxis(size=y), multicast=flags[0], reduction=flags[1]),
            keeps=(("output", KeepRule.FREE), ("inputs", KeepRule.FREE)),
            ports=ports or Ports(),
            block=block,
        )
        for number, (x, y) in enumerate(meshes)
    ]
    words = Capacity(amount=capacity, unit="words")
    return Machine(
        name="small",
        levels=tuple(
            Level(name=f"L{number}", capacity=words, store=store, inclusive=False)
            for number, store in enumerate(stores[:-1])
        ),
        memory="DRAM",
        outermost=stores[-1],
        arithmetic=Arithmetic(energy_pj=1),
    )


@st.composite
def spatial_cases(draw, max_operations=300, kinds=tuple(STATEMENTS)) -> tuple[Fabric, Nest]:
    """A machine of two to four memories with up to two meshes, a workload, and any nest of it."""
    kind = draw(st.sampled_from(kinds))
    dims = dims_of(kind)
    count = draw(st.integers(2, 4))
    fanned = draw(st.sets(st.integers(0, count - 1), max_size=2))
    budget = max_operations
    slots = [(number, part) for number in range(count) for part in "xyttttt" if part == "t" or number in fanned]
    busy = draw(st.lists(st.sampled_from(dims), min_size=1, max_size=3, unique=True))
    ways = {(slot, dim): 1 for slot in slots for dim in dims}
    for key in draw(
        st.lists(st.tuples(st.sampled_from(slots), st.sampled_from([*busy, *busy, *dims])), min_size=6, max_size=12)
    ):
        factor = draw(st.sampled_from([n for n in (2, 2, 3) if n <= budget] or [1]))
        if ways[key] == 1:
            ways[key] = factor
            budget //= factor
    trips = [{part: [ways.get(((number, part), d), 1) for d in dims] for part in "xyt"} for number in range(count)]
    extents = {d: prod(row[part][place] for row in trips for part in "xyt") for place, d in enumerate(dims)}
    less = draw(st.dictionaries(st.sampled_from(dims), st.integers(0, 1)))
    extents = {d: max(1, n - less.get(d, 0)) for d, n in extents.items()}
    workload = statement(kind, extents, stride=draw(st.integers(1, 3)), dilation=draw(st.integers(1, 3)))
    meshes = [(prod(row["x"]), prod(row["y"])) for row in trips]
    flags = (draw(st.booleans()) or draw(st.booleans()), draw(st.booleans()) or draw(st.booleans()))
    fabric = fabric_of(workload, machine(meshes, flags=flags))
    place = {d: workload.dims.index(d) for d in dims}
    operands = len(fabric.operands)
    memories = []
    for number, row in enumerate(trips):
        order = draw(st.permutations([d for d in dims if row["t"][dims.index(d)] > 1]))
        kept = tuple(number == count - 1 or draw(st.booleans()) for _ in range(operands))
        memories.append(
            MemoryNest(
                x=tuple(row["x"][dims.index(d)] for d in workload.dims),
                y=tuple(row["y"][dims.index(d)] for d in workload.dims),
                temporal=tuple((place[d], row["t"][dims.index(d)]) for d in order),
                keeps=kept,
            )
        )
    return fabric, Nest(memories=tuple(memories))
