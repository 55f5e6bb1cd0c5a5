"""The form of the documents: which keys there are at every level, and what kind of value each has (`shapes`)."""

from __future__ import annotations

from typing import Any

from .shapes import (
    Shape,
    anything,
    count,
    either,
    flag,
    integer,
    many,
    maybe,
    name,
    number,
    plain,
    positive,
    rate,
    record,
    records,
    row,
    table,
    text,
    word,
)
from .tools import ratio
from .units import exact


def node(value: Any, where: str) -> None:
    """A derivation: a leaf, or a split with two derivations inside."""
    leaf: dict[str, Shape] = {"row": table(positive), "divisor": positive}
    records(leaf, leaf | {"rule": word("carry", "residue"), "parts": row(node, node)})(value, where)


SEMANTICS = word("accumulate", "assign")
BETWEEN = row(name, name)
EXTENTS, BYTES = table(positive, 1), table(rate, 1)
SPACE = many(many(integer, 1))
MAP: dict[str, Shape] = {"name": name, "matrix": many(many(integer)), "exponent": ratio}
OF = records({"dim": name}, {"axis": row(count, count)}, {"leaf": row(count, count, count)})
AXIS: dict[str, Shape] = {"terms": many(row(name, positive)), "offset": count}
PART = records({"access": count, "axes": many(count)}, {"access": count, "dims": many(name)})
COUNT = records(
    {"elements": count, "rule": word("enumerated")}, {"elements": count, "rule": word("parts"), "parts": many(PART, 1)}
)
SEGMENT = record(
    **dict.fromkeys(
        ["operations", "memory_units", "K", "T", "n", "t", "U_full", "U_last", "cost_units", "loads_words"], count
    ),
    weights=table(count, 1),
)
CLAIMED = ["loads_words", "stores_words", "total_words"]
CLAIMS = ["compulsory_loads_words", "output_words", "output_words_at_most", *CLAIMED]
POWERS: dict[str, Shape] = dict.fromkeys(["outputs", "taps", "inputs", "kappa"], ratio)
WINDOW = record(**POWERS)
CLASSES = many(record(shape=many(positive), weight=positive, **POWERS), 1)
SAYS: dict[str, Shape] = {
    "schema": word("optmap.certificate/1"),
    "kind": word("bound"),
    "method": text,
    "workload": record(name=text, expression=name, extents=EXTENTS, bytes=BYTES, semantics=SEMANTICS),
    "accesses": many(record(tensor=name, axes=many(records(AXIS, AXIS | {"real": row(count, count)}))), 2),
    "memory_words": positive,
    "lifts": many(record(dim=name, modulus=positive, high=name, low=name)),
    "dims": many(name),
    "derivations": many(many(node)),
    "maps": many(
        records(
            MAP | {"kind": word("tensor"), "access": count}, MAP | {"kind": word("size"), "size": positive, "of": OF}
        )
    ),
    "families": many(
        records(
            {"dims": many(name, 1), "lattice": record(generators=many(SPACE), subspaces=many(SPACE, 1))},
            {"dims": many(name, 1), "flag": many(many(integer, 1), 1)},
        )
    ),
    "mu": ratio,
    "segment": maybe(SEGMENT),
    "compulsory": table(COUNT, 1),
    "output": COUNT,
    "claims": record(**dict.fromkeys(CLAIMS, count)),
    "digest": text,
}
VISITS = record(
    **dict.fromkeys(["kept", "sliding"], name),
    **dict.fromkeys(["slack", "again_words", "loads_words"], count),
    taps=table(count),
)
PASSES = record(
    **dict.fromkeys(["kept", "sliding"], name), **dict.fromkeys(["slack", "touched_words", "loads_words"], count)
)
CERTIFICATE = records(
    SAYS, SAYS | {"window": WINDOW}, SAYS | {"classes": CLASSES}, SAYS | {"visits": VISITS}, SAYS | {"passes": PASSES}
)
CAPACITY = record(amount=positive, unit=word("bytes", "words"))
BANDWIDTH = record(amount=exact, unit=word("bytes", "words"))
LEVEL: dict[str, Shape] = {
    "name": name,
    "capacity": CAPACITY,
    "bandwidth": BANDWIDTH,
    "kind": word("cache", "scratchpad"),
    "shared": flag,
    "fanout": positive,
    "inclusive": flag,
    "energy_pj": maybe(number),
    "microkernel": maybe(record(vector=positive, broadcast=positive)),
    "partitions": many(record(name=name, tensors=many(name, 1), capacity=CAPACITY)),
    "buffering": positive,
}
LINK: dict[str, Shape] = {"line_bytes": maybe(positive), "ways": maybe(positive), "core_bandwidth": maybe(BANDWIDTH)}
TRAITS: dict[str, Shape] = {"traits": table(plain, 1)}
"""What no count of the library reads."""
CORE = record(**dict.fromkeys(["vector_bytes", "registers", "fma_ports", "fma_latency", "load_ports"], positive))
AMOUNT = record(value=number, unit=word("words", "cycles"))
UNSURE = record(value=maybe(number), unit=word("words", "cycles"))
MAPPED = record(level=name, tile=EXTENTS, permutation=many(name, 1), spatial=table(positive))
COUNTED: dict[str, Shape] = {
    "level": name,
    **dict.fromkeys(["occupancy_words", "capacity_words", "traffic_words"], count),
    "bandwidth_words_per_cycle": rate,
    "cycles": number,
}
KEPT = record(tile=EXTENTS, passing=maybe(name))
RELAXATION = record(
    **dict.fromkeys(["formulation", "method"], text),
    **dict.fromkeys(["value", "cross_check", "tolerance"], maybe(number)),
    unit=word("words", "cycles"),
    proved=flag,
    classes=many(many(name)),
    tiles=many(table(number)),
)
WORK: dict[str, Shape] = {
    "name": text,
    "expression": name,
    "extents": EXTENTS,
    "bytes": either(dict, BYTES, rate),
    "semantics": SEMANTICS,
    "padding": word("stored", "implicit"),
    "count": positive,
}
SAID = record(**WORK)
PROCESSOR: dict[str, Shape] = {
    "name": name,
    "memory": name,
    "cores": positive,
    "clock_hz": maybe(positive),
    "levels": many(records(*(LEVEL | link | own for link in ({}, LINK) for own in ({}, TRAITS))), 1),
}
MACHINE = records(PROCESSOR, PROCESSOR | {"core": CORE})
RELATION = word("=", "<=", ">=", "%")
CONSTRAINT = records(
    {"level": name, "dim": name, "relation": RELATION, "value": positive},
    {"level": name, "order": many(name, 1)},
    {"level": name, "axis": word("spatial"), "dim": name, "relation": RELATION, "value": positive},
)
HELD: dict[str, Shape] = {"positions": table(count, 1), "streams": table(many(name)), "inner": many(name)}
CORNER = record(sizes=table(positive), tile=EXTENTS, permutation=many(name, 1), held=record(**HELD))
OF_DIM = table(record(first=count, step=positive, size=positive))
PIECE = record(of=OF_DIM, tile=EXTENTS, permutation=many(name, 1), held=record(**HELD))
PIECES: dict[str, Shape] = {"of": OF_DIM, "pieces": many(PIECE, 1)}
PROOF = record(between=BETWEEN, instances=positive, words=count, certificate=table(anything, 1))
STATUS = record(stop=text, point=text, proved=flag, within=maybe(number), space=text)
MOVED = record(between=BETWEEN, tensor=name, loads_words=count, stores_words=count)
SOLVED: dict[str, Shape] = {
    "schema": word("optmap.solution/2"),
    "workload": SAID,
    "word_bits": positive,
    "machine": MACHINE,
    "method": text,
    "objective": word("bottleneck", "sum", "traffic", "loads", "time"),
    "tiles": word("any", "divisors"),
    "capacity_rule": word("tile", "safe"),
    "status": STATUS,
    "mapping": record(levels=many(MAPPED, 1)),
    "boundaries": many(MOVED, 1),
    "levels": many(records(COUNTED, COUNTED | {"kept": KEPT}), 1),
    "bottleneck": name,
    "cost": AMOUNT,
    "exact": AMOUNT,
    "relaxation": RELAXATION,
    "integer_bound": UNSURE,
    "integer_gap": maybe(number),
    "seconds": number,
    "seed": count,
    "versions": table(text),
    "notes": many(text),
    "held": maybe(records(HELD, HELD | {"corner": CORNER}, HELD | PIECES)),
    "bound": maybe(record(value=number, unit=word("words", "cycles"), method=text)),
    "gap": maybe(number),
    "certificates": many(PROOF),
    "digest": text,
}
PREDICTION = record(
    **dict.fromkeys(["cycles", "compute_cycles", "packing_cycles"], number),
    seconds=maybe(number),
    kernel=word("outer-product", "depthwise", "plain"),
    bound_by=name,
    threads=positive,
    caches=word("warm", "cold"),
    registers=count,
    boundaries=many(record(between=BETWEEN, moved_bytes=number, cycles=number, waited_cycles=number)),
    layout=word("nchw", "nhwc", "blocked"),
    weights=word("ahead", "call"),
    stores=word("ordinary", "streaming"),
    prefetch=flag,
)
CONSTRAINED: dict[str, Shape] = {"constraints": many(CONSTRAINT, 1)}
MORE: list[dict[str, Shape]] = [{}, CONSTRAINED, {"prediction": PREDICTION}]
SOLUTION = records(*(SOLVED | more | proof for more in MORE for proof in ({}, {"proof": anything})))
PROVED = record(
    **dict.fromkeys(["method", "expression"], text),
    **dict.fromkeys(CLAIMED, count),
    level=name,
    memory_words=positive,
    exponents=table(text),
    assumptions=many(text),
    certificate=CERTIFICATE,
)
PART_OF_TIME = record(part=name, amount=count, held=count, per_cycle=ratio, cycles=number, seconds=maybe(number))
TIME_FIELDS: dict[str, Shape] = {
    "schema": word("optmap.time-bound/1"),
    "word_bits": positive,
    "machine": MACHINE,
    "threads": positive,
    "caches": word("warm", "cold"),
    "parts": many(PART_OF_TIME, 1),
    "certificates": many(PROOF),
    "bound": record(value=number, unit=word("cycles"), part=name, method=text),
    "notes": many(text),
    "digest": text,
}
TIME_BOUND = record(**TIME_FIELDS, workload=SAID)
LEVELS: dict[str, Shape] = {
    "schema": word("optmap.sweep-bound/1"),
    "workload": SAID,
    "machine": MACHINE,
    "level": name,
    "bounds": many(PROVED, 1),
}
SWEEP_BOUND = records(LEVELS, LEVELS | {"stop": word("time_limit", "interrupted")})
