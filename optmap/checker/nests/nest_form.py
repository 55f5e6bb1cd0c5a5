"""The form of a solution of an accelerator: which keys there are, and what kind of value each has."""

from __future__ import annotations

from typing import Any

from ..core.form import BETWEEN, CAPACITY, EXTENTS, RELATION, SAID, TRAITS
from ..core.shapes import (
    Shape,
    anything,
    count,
    either,
    flag,
    many,
    maybe,
    name,
    number,
    positive,
    record,
    records,
    table,
    text,
    word,
)
from ..core.tools import need
from .explored import SEARCH

AMOUNT_UNIT = word("pJ", "cycles", "pJ*cycles")
EXACTLY = either(str, text, number)
"""A number from 0 on, or the text p/q."""


def true(value: Any, where: str) -> None:
    """What is said only where it is so."""
    need(value is True, f"{where} is {value!r}; it is true, or left out")


def factor(value: Any, where: str) -> None:
    """One demand, `4` or `<=4`, or a list of them."""
    for entry in value if type(value) is list else [value]:
        need(type(entry) is str or (type(entry) is int and entry > 0), f"{where} is {entry!r}; a factor is needed")


DIRECTION = record(size=positive, dims=maybe(many(name)), factors=table(factor))
MESH = record(x=DIRECTION, y=DIRECTION, multicast=flag, reduction=flag, hop_pj=EXACTLY, router_pj=EXACTLY)
PORTS: dict[str, Shape] = dict.fromkeys(("read", "write", "shared"), maybe(EXACTLY))
PRICES = record(read=EXACTLY, fill=EXACTLY, update=EXACTLY)
STORE: dict[str, Shape] = {
    "keeps": maybe(table(word("kept", "refused", "free"), 1)),
    "energy_pj": PRICES,
    "ports": records(PORTS, PORTS | {"unit": word("bytes")}),
    "block": positive,
    "cluster": positive,
    "word_bits": maybe(positive),
    "fanout": MESH,
    "factors": table(factor),
    "order": many(name),
}
BY_BITS: tuple[dict[str, Shape], ...] = (
    {},
    {"pack": true},
    {"energy_pj_per_bit": PRICES},
    {"pack": true, "energy_pj_per_bit": PRICES},
)
"""What is there only where the sizes of elements matter."""
LEVEL: dict[str, Shape] = {
    "name": name,
    "capacity": CAPACITY,
    "partitions": many(record(name=name, tensors=many(name, 1), capacity=CAPACITY)),
    "buffering": positive,
}
AS_CACHE: tuple[dict[str, Shape], ...] = (
    {},
    {"kind": word("cache"), "line_bytes": maybe(positive), "ways": maybe(positive)},
)
"""What is there only where replacement by age decides what a memory holds."""
MACHINE = record(
    name=name,
    memory=name,
    cores=positive,
    clock_hz=maybe(positive),
    levels=many(
        records(
            *(LEVEL | STORE | more | lines | own for more in BY_BITS for lines in AS_CACHE for own in ({}, TRAITS))
        ),
        1,
    ),
    outermost=records(*(STORE | more for more in BY_BITS)),
    arithmetic=record(energy_pj=EXACTLY, word_bits=maybe(positive)),
)
AMOUNT = record(value=number, unit=AMOUNT_UNIT, exact=text)
PLACED: dict[str, Shape] = {
    "level": name,
    "tile": EXTENTS,
    "permutation": many(name, 1),
    "spatial": table(positive),
    "spatial_axes": record(x=table(positive), y=table(positive)),
    "keeps": many(name),
}
MAPPED = records(PLACED, PLACED | {"spatial_order": record(x=many(name), y=many(name))})
ACCESSES = record(reads=count, fills=count, updates=count, tile_words=count, multicast=number)
COUNTED = record(
    level=name,
    instances=positive,
    occupancy_words=count,
    capacity_words=maybe(count),
    traffic_words=count,
    bandwidth_words_per_cycle=maybe(number),
    cycles=count,
    utilisation=number,
    energy_pj=number,
    energy_exact=text,
    accesses=table(ACCESSES),
)
FLOOR = record(
    energy=AMOUNT,
    cycles=count,
    port_cycles=count,
    crossings=many(record(between=BETWEEN, memory_words=positive, words=count, certificate=anything)),
)
SOLVED: dict[str, Shape] = {
    "schema": word("optmap.accelerator-solution/1"),
    "workload": SAID,
    "machine": MACHINE,
    "method": text,
    "objective": word("energy", "cycles", "edp", "port-cycles", "traffic"),
    "counting": name,
    "tiles": word("divisors", "padded"),
    "status": record(stop=text, point=text, proved=flag, within=maybe(number), space=text),
    "mapping": record(levels=many(MAPPED, 2)),
    "boundaries": many(record(between=BETWEEN, tensor=name, loads_words=count, stores_words=count)),
    "levels": many(COUNTED, 2),
    "operations": positive,
    "compute_cycles": positive,
    "utilisation": number,
    "bottleneck": name,
    "relaxation": record(value=number, unit=AMOUNT_UNIT, proved=flag, formulation=text, tolerance=number),
    "integer_gap": maybe(number),
    "search": SEARCH,
    "bound": maybe(record(value=number, unit=AMOUNT_UNIT, exact=text, method=text)),
    "gap": maybe(number),
    "floor": maybe(FLOOR),
    "seed": count,
    "versions": table(text),
    "notes": many(text),
    "seconds": number,
    "digest": text,
    **dict.fromkeys(("arithmetic", "energy", "cycles", "edp", "cost", "exact"), AMOUNT),
}
DEMAND = records(
    {"level": name, "dim": name, "relation": RELATION, "value": positive},
    {"level": name, "axis": word("spatial", "x", "y"), "dim": name, "relation": RELATION, "value": positive},
    *({"level": name, key: many(name, 1)} for key in ("order", "keeps", "bypass")),
)
NEST_SOLUTION = records(SOLVED, SOLVED | {"constraints": many(DEMAND, 1)}, SOLVED | {"broken": many(text, 1)})
