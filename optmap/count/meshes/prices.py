"""What accesses to a memory cost: energy of whole blocks and of bits, and cycles of ports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from optmap.count.meshes.results import Accesses, PortLoad
from optmap.machines.elements import Element, energies
from optmap.machines.fabric import Memory


def access_energy(
    memory: Memory, element: Element, words: tuple[int, int, int], *, used: int, clusters: int
) -> Fraction:
    """Energy in pJ of the accesses of one operand, all instances together.

    Each instance accesses whole blocks, of whole entries where elements share them; bits are those of the elements.
    Instances in use are spread over all clusters, and those of one cluster are served by one access, as Timeloop has
    it.

    Args:
        memory: prices and block.
        element: of the operand.
        words: reads, fills and updates, all instances together.
        used: instances in use.
        clusters: in the machine (`Fabric.clusters`).
    """
    kinds = zip(words, energies(memory.prices), element.bits_pj, strict=True)
    paid = [
        ceil(count * element.entries / (used * memory.block)) * price + Fraction(count, used) * bits
        for count, price, bits in kinds
        if count
    ]
    return min(used, clusters) * sum(paid, Fraction(0))


def port_loads(
    memory: Memory, elements: Sequence[Element], accesses: Sequence[Accesses], used: int
) -> tuple[PortLoad, ...]:
    """What passes the limited ports of one instance.

    Args:
        memory: its rates.
        elements: of the operands, one per entry of `accesses`.
        accesses: of all operands that it keeps, all instances together.
        used: instances in use.
    """
    both = list(zip(accesses, elements, strict=True))
    read = sum((found.reads * element.passing for found, element in both), Fraction(0))
    write = sum(((found.fills + found.updates) * element.passing for found, element in both), Fraction(0))
    ports = (
        ("read", read, memory.read_rate),
        ("write", write, memory.write_rate),
        ("shared", read + write, memory.shared_rate),
    )
    return tuple(PortLoad(port=port, words=words / used, rate=rate) for port, words, rate in ports if rate is not None)
