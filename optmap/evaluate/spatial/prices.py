"""What accesses to a memory cost: energy of whole blocks, and cycles of ports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from optmap.evaluate.spatial.results import Accesses, PortLoad
from optmap.problem.fabric import Memory


def access_energy(memory: Memory, words: tuple[int, int, int], *, used: int, clusters: int) -> Fraction:
    """Energy in pJ of the accesses of one operand, all instances together.

    Each instance accesses whole blocks. Instances in use are spread over all clusters, and those of one cluster
    are served by one access, as Timeloop has it.

    Args:
        memory: prices and block.
        words: reads, fills and updates, all instances together.
        used: instances in use.
        clusters: in the machine (`Fabric.clusters`).
    """
    prices = memory.prices
    kinds = zip(words, (prices.read, prices.fill, prices.update), strict=True)
    paid = [-(-count // (used * memory.block)) * Fraction(price) for count, price in kinds if count]
    return min(used, clusters) * sum(paid, Fraction(0))


def port_loads(memory: Memory, accesses: Sequence[Accesses], used: int) -> tuple[PortLoad, ...]:
    """What passes the limited ports of one instance.

    Args:
        memory: its rates.
        accesses: of all operands, all instances together.
        used: instances in use.
    """
    read = sum(found.reads for found in accesses)
    write = sum(found.fills + found.updates for found in accesses)
    ports = (
        ("read", read, memory.read_rate),
        ("write", write, memory.write_rate),
        ("shared", read + write, memory.shared_rate),
    )
    return tuple(
        PortLoad(port=port, words=Fraction(words, used), rate=rate) for port, words, rate in ports if rate is not None
    )
