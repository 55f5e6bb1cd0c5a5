"""Random held mappings and their solution documents, valid and invalid, for tests and attacks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from optmap.bounds import digest
from optmap.count.levels.held import held_occupancy, held_traffic
from optmap.count.results import BoundaryTraffic
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Machine, two_level
from optmap.mappings.held import Corner, Held, moves_alone
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.pieces import Piece, piece_of
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload, access_names

TEMPLATES = (
    "C[i,j] += A[i,k]*B[k,j]",
    "C[i,j] += A[i,k]*A[j,k]",
    "O[x] += I[x+r]*K[r]",
    "O[x] += I[2*x+r]*K[r]",
    "O[x] += I[x+2*r]*K[r]",
    "O[x] += I[3*x+2*r]*K[r]",
    "O[x,k] += I[x+r,c]*K[k,c,r]",
    "O[x,k] += I[2*x+r,c]*K[k,c,r]",
    "O[c,x] += I[c,x+r]*K[c,r]",
    "O[x,y] += I[x+r,y+s]*K[r,s]",
    "O[x] += I[x+r+q]*K[r,q]",
    "O[x+y] += A[x]*B[y]",
    "O[2*x+y] += A[x,y]*B[y]",
    "O[x] += A[x,x+r]*B[r]",
    "O[i,j] += A[i]*B[j]",
    "S[i,j] += D[i,j]*A[i,k]*B[k,j]",
    "O[i] += A[i,j]*B[j]*C[i,j]",
)

UNPROVED = {
    "unit": "words",
    "proved": False,
    "formulation": "",
    "tolerance": 0.0,
    "method": "",
    "classes": [],
    "tiles": [],
    "cross_check": None,
}
"""A relaxation of which nothing is claimed but a value."""


def random_workload(rng: random.Random, most: int = 120) -> Workload:
    """A small workload of at most `most` points."""
    text = rng.choice(TEMPLATES)
    if rng.random() < 0.3:
        text = text.replace("+=", "=", 1)
    dims = sorted({c for c in text if c.islower()})
    left, extents = most, {}
    for dim in rng.sample(dims, len(dims)):
        extents[dim] = rng.randint(1, max(1, min(7, left)))
        left //= extents[dim]
    sizes = {name: rng.choice((1, 2, 4)) for name in "CABOIKSD"} if rng.random() < 0.2 else 4
    plain = parse_workload(text, extents)
    if isinstance(sizes, dict):
        sizes = {tensor.name: sizes[tensor.name] for tensor in plain.tensors}
    return parse_workload(text, extents, bytes=sizes)


def random_mapping(rng: random.Random, workload: Workload) -> Mapping:
    """A tile and a loop order."""
    tile = {d: rng.choice((1, n, rng.randint(1, n))) for d, n in workload.sizes}
    order = tuple(rng.sample(workload.dims, len(workload.dims)))
    return Mapping(levels=(LevelMapping(level="Fast", tile=tile, permutation=order, spatial={}),))


def random_held(rng: random.Random, workload: Workload) -> Held:
    """Positions, streams and inner loops; often streams that are prefixes of the inner loops."""
    dims, names = workload.dims, access_names(workload)
    inner = tuple(rng.sample(dims, rng.randint(0, len(dims))))
    positions, streams = {}, {}
    for tensor, name in zip(workload.tensors, names, strict=True):
        positions[name] = rng.randint(0, len(dims) + 1)
        if rng.random() < 0.4:
            if rng.random() < 0.7:
                chosen = list(inner[: rng.randint(0, len(inner))])
            else:
                chosen = rng.sample(sorted(tensor.dims) or dims, rng.randint(0, len(tensor.dims)))
            if chosen:
                streams[name] = tuple(rng.sample(chosen, len(chosen)))
                positions[name] = 0 if rng.random() < 0.85 else positions[name]
    return Held(positions=positions, streams=streams, inner=inner)


def random_corner(rng: random.Random, workload: Workload, mapping: Mapping) -> Corner | None:
    """What tiles may leave out, if they have two dims to cut a corner along."""
    tile, order = mapping.levels[0].tile, rng.sample(workload.dims, len(workload.dims))
    dims = sorted((d for d in order if tile[d] > 1), key=lambda d: not moves_alone(workload, d))
    if len(dims) < 2:
        return None
    sizes = {d: rng.randint(1, tile[d] - 1) for d in dims[:2]}
    rest = Corner(sizes=sizes, mapping=mapping, held=Held(positions={}, streams={}, inner=())).rest(workload, mapping)
    return Corner(sizes=sizes, mapping=random_mapping(rng, rest), held=random_held(rng, rest))


def random_pieces(rng: random.Random, workload: Workload) -> tuple[Piece, ...]:
    """Pieces of a workload, cut in two up to three times, by a number of iterations or by steps; sometimes wrong."""
    boxes: list[dict[str, range]] = [{}]
    for _ in range(rng.randint(1, 3)):
        box = boxes.pop(rng.randrange(len(boxes)))
        whole = {d: box.get(d, range(n)) for d, n in workload.sizes}
        long = [d for d, each in whole.items() if len(each) > 1]
        if not long:
            boxes.append(box)
            continue
        d = rng.choice(long)
        at, step = rng.randint(1, len(whole[d]) - 1), rng.randint(2, 3)
        ways = ((whole[d][:at], whole[d][at:]), tuple(whole[d][i::step] for i in range(step)))
        boxes += [{**box, d: each} for each in rng.choice(ways) if each]
    if rng.random() < 0.1:
        boxes[0] = {d: range(each.start, each.stop + rng.choice((-1, 1)), each.step) for d, each in boxes[0].items()}
        boxes[0] = {d: each for d, each in boxes[0].items() if each}
    rng.shuffle(boxes)
    runs = [(box, piece_of(workload, box)) for box in boxes]
    return tuple(Piece(of=box, mapping=random_mapping(rng, w), held=random_held(rng, w)) for box, w in runs)


def in_pieces(pieces: tuple[Piece, ...]) -> tuple[Mapping, Held]:
    """The mapping of the first piece, and what is held of all of them."""
    first, *others = pieces
    return first.mapping, replace(first.held, of=first.of, pieces=tuple(others))


def held_machine(words: int) -> Machine:
    """A scratchpad of so many words."""
    return two_level(Capacity(amount=words, unit="words"))


def signed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the digest that fits it."""
    document["digest"] = digest({key: value for key, value in document.items() if key not in ("seconds", "digest")})
    return document


def held_document(workload: Workload, mapping: Mapping, held: Held, words: int | None = None) -> dict[str, Any]:
    """A solution that claims what the closed form counts, whether `held` is allowed or not.

    Args:
        workload: what is computed.
        mapping: one level named Fast.
        held: what is held.
        words: capacity; by default just what is needed.
    """
    occupancy = held_occupancy(workload, mapping, held)
    machine = held_machine(words or occupancy)
    rows = held_traffic(workload, mapping, held, machine.boundaries[0])
    counts = _counted(rows, occupancy, machine.levels[0].capacity.amount)
    return signed(
        {
            "schema": "optmap.solution/2",
            "workload": workload_document(workload),
            "word_bits": workload.word_bits,
            "machine": machine_document(machine),
            "method": "iooub",
            "objective": "loads",
            "tiles": "any",
            "capacity_rule": "tile",
            "status": {"stop": "search_ended", "point": "feasible", "proved": False, "within": None, "space": ""},
            "mapping": mapping_document(mapping),
            **counts,
            "relaxation": UNPROVED | {"value": counts["cost"]["value"]},
            "integer_bound": {"value": 0.0, "unit": "words"},
            "integer_gap": None,
            "seconds": 0.0,
            "seed": 0,
            "versions": {},
            "notes": [],
            "held": held.document(),
            "bound": None,
            "gap": None,
            "certificates": [],
        }
    )


def _counted(rows: Sequence[BoundaryTraffic], occupancy: int, words: int) -> dict[str, Any]:
    """What a solution says of the traffic of its one level, and of its room."""
    loads, moved = sum(row.loads_words for row in rows), sum(row.words for row in rows)
    amount = {"value": float(loads), "unit": "words"}
    level = {
        "level": "Fast",
        "occupancy_words": occupancy,
        "capacity_words": words,
        "traffic_words": moved,
        "bandwidth_words_per_cycle": 1.0,
        "cycles": float(moved),
    }
    keys = ("tensor", "loads_words", "stores_words")
    boundaries = [{"between": list(row.between), **{key: getattr(row, key) for key in keys}} for row in rows]
    return {"boundaries": boundaries, "levels": [level], "bottleneck": "Fast", "cost": amount, "exact": amount}
