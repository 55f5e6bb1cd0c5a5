"""What an answer on an accelerator says of its memories: sizes of elements that count or do not, and caches."""

from __future__ import annotations

from collections.abc import Iterator

from optmap.machines.accelerator import KeepRule, Ports, Prices, Store
from optmap.machines.fabric import Fabric, Memory
from optmap.machines.machine import LevelKind


def fabric_notes(fabric: Fabric) -> tuple[str, ...]:
    """Notes for whoever reads counts of a fabric."""
    return (*_of_any_size(fabric), *_packed(fabric), *_replaced(fabric))


def _stores(fabric: Fabric) -> list[tuple[Memory, Store]]:
    """The memories with what their machine says of them, inner to outer."""
    return list(zip(fabric.memories, fabric.machine.stores, strict=True))


def _blind(store: Store) -> bool:
    """Whether a price or a port of a memory takes elements for the same, whatever their bits."""
    priced = store.energy_pj != Prices() and store.energy_pj_per_bit == Prices()
    limited = store.ports != Ports(unit=store.ports.unit) and store.ports.unit == "words"
    return not store.pack and (priced or limited)


def _of_any_size(fabric: Fabric) -> Iterator[str]:
    tensors = fabric.workload.tensors
    bits = [tensor.bits for tensor in tensors]
    several = len(set(bits)) > 1
    blind = [
        memory.name
        for memory, store in _stores(fabric)
        if _blind(store) and (several or _foreign(memory, store.word_bits, bits))
    ]
    if not blind:
        return
    sizes: dict[int, dict[str, None]] = {}
    for tensor in tensors:
        sizes.setdefault(tensor.bits, {})[tensor.name] = None
    each = [f"{', '.join(names)} {size}" for size, names in sizes.items()] if several else [str(bits[0])]
    yield (
        f"an entry of {', '.join(blind)} holds one element of any size: energy and cycles there do not depend on the "
        f"bits of elements ({'; '.join(each)}); with energy_pj_per_bit, ports in bytes or pack in the machine's file "
        "they do"
    )


def _foreign(memory: Memory, word_bits: int | None, bits: list[int]) -> bool:
    """Whether a memory may keep an element that has not the size of its entries."""
    own = zip(memory.keeps, bits, strict=True)
    return word_bits is not None and any(keep is not KeepRule.REFUSED and size != word_bits for keep, size in own)


def _packed(fabric: Fabric) -> Iterator[str]:
    packing = [f"{memory.name} ({store.word_bits} bits)" for memory, store in _stores(fabric) if store.pack]
    if packing:
        yield (
            f"elements share entries, or take several, in {', '.join(packing)}: a tile takes whole entries of a "
            "capacity, and all that one instance reads, fills or updates of a tensor whole entries of accesses"
        )


def _replaced(fabric: Fabric) -> Iterator[str]:
    caches = [level.name for level in fabric.machine.levels if level.kind is LevelKind.CACHE]
    if caches:
        yield (
            f"{' and '.join(caches)} {'are caches' if len(caches) > 1 else 'is a cache'}: counted as if it held the "
            "tiles of the mapping and nothing else, as software would have it; replacement by age may move more words"
        )
