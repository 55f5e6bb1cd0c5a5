"""QuickFlow, sections III to V-A: kernels, machines, sizes of mapspaces, classes of loop orders, distinct values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import factorial, gcd

from optmap.files import library
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.papers.counting import map_space, window_steps
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, unreachable
from optmap.search.quickflow import reuse_classes
from optmap.symbolic.numbers import prime_factors
from optmap.workloads.halo import pair_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

SETUP = Collected()
KERNELS = {
    # name: channels, filters, output height, filter height, batch, stride, dilation
    "I": (128, 256, 56, 3, 1, 1, 1),
    "II": (512, 512, 28, 3, 1, 1, 1),
    "III": (3, 64, 112, 7, 1, 2, 1),
    "IV": (64, 64, 56, 3, 1, 1, 1),
    "V": (128, 128, 28, 3, 1, 1, 1),
    "VI": (256, 256, 14, 3, 1, 1, 1),
    "VII": (256, 512, 7, 3, 1, 2, 1),
    "VIII": (576, 576, 7, 5, 1, 1, 1),
    "IX": (3, 96, 176, 3, 1, 2, 1),
    "X": (72, 72, 28, 3, 1, 2, 1),
    "XI": (64, 256, 56, 1, 1, 1, 1),
    "XII": (24, 88, 28, 1, 1, 1, 1),
    "XIII": (16, 16, 224, 3, 1, 3, 4),
    "XIV": (128, 128, 112, 9, 1, 4, 3),
    "XV": (256, 256, 56, 3, 1, 2, 3),
    "XVI": (128, 256, 32, 4, 1, 1, 1),
    "XVII": (576, 576, 7, 5, 1, 1, 1),
    "XVIII": (256, 256, 14, 3, 64, 1, 1),
    "XIX": (72, 72, 28, 3, 128, 2, 1),
    "XX": (256, 256, 56, 5, 32, 2, 3),
}
"""Table I, a column each."""
MACHINES = {
    "eyeriss": (196, 5, (14, 12)),
    "simba": (752, 6, (16, 4, 4)),
    "tpuv1": (30 * 1024, 6, (256, 256)),
}
"""Table II: KiB on the chip, memories, instances of each fanout."""
ENTRY_BYTES = {"Accumulator": 4, "PEAccuBuffer": 3}
"""Of sums; an entry of another memory is a byte."""
CONVOLUTION = "O[k,p,q] += I[c,p+r,q+s]*W[k,c,r,s]"


def map_space_of(kernel: str, machine: str) -> Fabric:
    """A kernel of Table I as a machine of Table II sees it, outputs starting empty."""
    return fabric_of(library.workload(f"quickflow/{kernel}").with_semantics(Semantics.ASSIGN), library.machine(machine))


@SETUP.item("|MS|", "Size of the map-space", where="section III-D")
def size_of_map_space() -> Rows:
    """With L = 5 levels, 4 of them memories, and six dims of five factors each."""
    size = map_space([2**5] * 6, levels=5, memories=4)  # five times the same prime: the fewest allocations
    yield claimed("mappings, five equal factors per dim", "> 10^21", float(size), holds=size > 10**21)
    yield held("permutations per memory of a simple convolution", 720, factorial(6))


def listed_values(m: int, n: int, a: int, b: int) -> int:
    """Distinct values of m*i + n*j, 0 <= i < a and 0 <= j < b, as a list has them."""
    return len({m * i + n * j for i in range(a) for j in range(b)})


@SETUP.item("Formula for |S|", "Distinct values of m*a + n*b", where="section IV-A")
def distinct_values() -> Rows:
    """The closed form beside a list of all values."""
    wrong, seen = 0, 0
    for m, n in product(range(1, 8), repeat=2):
        if gcd(m, n) > 1:
            continue
        for a, b in product(range(1, 15), repeat=2):
            seen += 1
            wrong += pair_values(m, n, a, b) != listed_values(m, n, a, b)
    yield claimed(f"of {seen:,} boxes, those where it differs from a list of values", 0, wrong, holds=not wrong)


@SETUP.item("Equi-reuse classes", "Useful permutations of a simple convolution", where="section IV-C")
def classes() -> Rows:
    """One permutation of each class is kept."""
    workload = parse_workload(CONVOLUTION, dict.fromkeys("kcpqrs", 2)).with_semantics(Semantics.ASSIGN)
    operands = fabric_of(workload, library.machine("eyeriss_like")).operands
    found = len(reuse_classes(operands, tuple(range(6))))
    yield claimed("permutations that are kept of 720", "no more than 26", found, holds=found <= 26)


@SETUP.item("Degree E", "Most adjacent mappings, E = (L-1) * sum of omega(d)", where="section IV-C")
def degree() -> Rows:
    """Counted over all allocations of two small dims to four levels."""
    levels = 4
    for extents in ((8, 6), (12, 4), (30, 2)):
        limit = (levels - 1) * sum(len(prime_factors(extent)) for extent in extents)
        most = max(
            sum(neighbours for neighbours, _ in chosen)
            for chosen in product(*(tuple(_allocations(prime_factors(extent), levels)) for extent in extents))
        )
        yield claimed(f"adjacent mappings of extents {extents}", f"at most {limit}", most, holds=most <= limit)


def _allocations(primes: list[int], levels: int) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Every way to put the factors of a dim on levels, with how many others are one move away."""
    seen = set()
    for places in product(range(levels), repeat=len(primes)):
        held_by = tuple(
            tuple(sorted(prime for prime, own in zip(primes, places, strict=True) if own == level))
            for level in range(levels)
        )
        if held_by not in seen:
            seen.add(held_by)
            yield sum(len(set(own)) for own in held_by) * (levels - 1), held_by


@SETUP.item("Table I", "Dimensions of the convolutions", where="section V-A")
def table_1() -> Rows:
    """What the library has, read back from its workloads."""
    for name, printed in KERNELS.items():
        ours = _sizes(name)
        yield claimed(
            f"{name}: channels, filters, output, filter, batch, stride, dilation",
            " ".join(map(str, printed)),
            " ".join(map(str, ours)),
            holds=printed == ours,
        )


def _sizes(name: str) -> tuple[int, ...]:
    """A column of Table I, of the workload of that name."""
    workload = library.workload(f"quickflow/{name}")
    extents = workload.extents
    steps = window_steps(workload)
    return (extents["c"], extents["k"], extents["h"], extents["r"], extents["n"], steps["h"], steps["r"])


@SETUP.item("Table II", "Features of the spatial architectures", where="section V-A")
def table_2() -> Rows:
    """Of the machines in the library, those of the code that the paper builds on."""
    for name, (size, memories, fanouts) in MACHINES.items():
        machine = library.machine(name)
        own = sorted(side for store in machine.stores for side in (store.mesh.x.size, store.mesh.y.size) if side > 1)
        yield held(f"{name}: memories", memories, len(machine.levels) + 1)
        yield claimed(f"{name}: instances of fanouts", str(sorted(fanouts)), str(own), holds=sorted(fanouts) == own)
        ours = sum(machine_bytes(machine).values()) / 1024
        because = _sized(machine, size)
        title = f"{name}: KiB on the chip"
        if because is None:
            yield unreachable(
                title,
                size,
                ours=round(ours, 1),
                why="one number for memories that the text does not list; ours adds up those of its code",
            )
        else:
            yield held(title, size, round(ours, 1), within=0.005, because=because)


def machine_bytes(machine: Machine) -> dict[str, int]:
    """Bytes of all instances of every memory on the chip, by name."""
    instances, found = 1, {}
    for level in reversed(machine.levels):
        if level.name.endswith("DRAM"):
            continue  # weights of the TPU have one of their own, off the chip
        found[level.name] = instances * level.capacity.amount * ENTRY_BYTES.get(level.name, 1)
        instances *= level.store.mesh.size if level.store else 1
    return found


def _sized(machine: Machine, printed: int) -> Reason | None:
    """Why the size of a machine is not the printed one; None if no sum of its memories is."""
    own = machine_bytes(machine)
    if "PEAccuBuffer" in own:
        per_element = (own["PEWeightBuffer"] + own["PEAccuBuffer"]) // 4
        return Reason(
            text="printed is one weight buffer and one accumulator of 24-bit words per element, the published code "
            "has four: with one the sum is the printed one",
            tested=own["GlobalBuffer"] + own["PEInputBuffer"] + per_element == printed * 1024,
        )
    if "InRegister" in own:
        without = (sum(own.values()) - own["InRegister"]) / 1024
        return Reason(
            text="ours adds up all memories of the code that the paper builds on; without the registers of inputs "
            f"they are {without:.1f}",
            tested=round(without) == printed,
        )
    return None
