"""Solutions with mapping trees, for tests of the checker: written from a tree, the words of a walk and a floor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any

from mapping_trees import scratchpads, tree_of

from optmap.bounds import bounds
from optmap.checker.core.tools import digest
from optmap.count.trees import TreeCount, walk_tree
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.tree import MappingTree
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"


def row_loop(rows: int, pinned: int = 0) -> list[dict[str, Any]]:
    """Some rows of A and C stay, columns of B and rows of D stream; some of these are pinned."""
    part = [{"keep": "buffer", "tensors": ["B", "D"], "of": {"l": [0, pinned]}}] if pinned else []
    return [
        *part,
        {"loop": "m", "tile": rows},
        {"keep": "buffer", "tensors": ["A", "C"]},
        {"loop": "l", "tile": 1},
        {"keep": "buffer", "tensors": ["S"]},
        {
            "sequence": [
                [{"loop": "k", "tile": 1}, {"keep": "buffer", "tensors": ["B"]}, {"compute": "S"}],
                [{"loop": "n", "tile": 1}, {"keep": "buffer", "tensors": ["D"]}, {"compute": "C"}],
            ]
        },
    ]


def caches(**capacities: int) -> Machine:
    """A machine of inclusive caches by name, inner first, with so many words."""
    levels = tuple(
        Level(name=name, capacity=Capacity(amount=words, unit="words"), kind=LevelKind.CACHE)
        for name, words in capacities.items()
    )
    return Machine(name="caches", levels=levels)


def pair_tree(nodes: list[Any], machine: Machine, text: str = PAIR, **extents: int) -> MappingTree:
    """A tree of two products whose output starts empty."""
    return tree_of(nodes, parse_workload(text, extents, semantics=Semantics.ASSIGN), machine)


def tree_solution(tree: MappingTree, count: TreeCount, objective: str = "traffic") -> dict[str, Any]:
    """The document of a solution of one memory's traffic.

    Args:
        tree: the mapping.
        count: its words.
        objective: `traffic`, or `loads` alone.
    """
    workload, machine = tree.workload, tree.machine
    loads_only = objective == "loads"
    rows = [row for row in count.moved if row.between[1] == machine.memory]
    cost = sum(row.loads_words + (0 if loads_only else row.stores_words) for row in rows)
    memory = machine.levels[-1].capacity.words(workload.word_bits)
    floor = bounds(workload, memory, ["best"])[0]
    least = floor.loads_words if loads_only else floor.total_words
    document: dict[str, Any] = {
        "schema": "optmap.solution/2",
        "workload": workload_document(workload),
        "word_bits": workload.word_bits,
        "machine": machine_document(machine),
        "method": "by hand",
        "objective": objective,
        "tiles": "any",
        "capacity_rule": "tile",
        "status": {"stop": "time_limit", "point": "feasible", "proved": False, "within": cost / least - 1, "space": ""},
        "mapping": {"tree": [node.document() for node in tree.nodes]},
        "boundaries": [
            {
                "between": list(row.between),
                "tensor": row.tensor,
                "loads_words": row.loads_words,
                "stores_words": row.stores_words,
            }
            for row in count.moved
        ],
        "levels": [
            {"level": room.level, "occupancy_words": room.occupancy_words, "capacity_words": room.capacity_words}
            for room in count.rooms
        ],
        "statements": [
            {
                "name": each.name,
                "operations": prod(workload.extents[d] for d in each.dims),
                "bound_alone": None,
            }
            for each in workload.statements
        ],
        "cost": {"value": cost, "unit": "words"},
        "exact": {"value": cost, "unit": "words"},
        "integer_bound": {"value": least, "unit": "words"},
        "bound": {"value": least, "unit": "words", "method": "best"},
        "gap": float(Fraction(cost, least) - 1),
        "certificates": [
            {
                "between": [machine.levels[-1].name, machine.memory],
                "instances": 1,
                "words": least,
                "certificate": floor.certificate,
            }
        ],
        "seconds": 0.1,
        "seed": 0,
        "versions": {},
        "notes": [],
    }
    if cost == least:
        document["status"] |= {"stop": "optimal", "point": "global", "proved": True}
    return signed_tree(document)


def signed_tree(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the digest that fits it; the seconds are not in it."""
    return {**document, "digest": digest({k: v for k, v in document.items() if k not in ("seconds", "digest")})}


def at(document: Any, path: Sequence[Any]) -> Any:
    """What is at a path of keys and numbers."""
    for key in path:
        document = document[key]
    return document


SMALL = {"m": 7, "l": 5, "k": 3, "n": 2}
NESTED = [
    {"loop": "m", "tile": 4},
    {"keep": "L2", "tensors": ["A", "C", "S"]},
    {"loop": "l", "tile": 2},
    {"keep": "L2", "tensors": ["B", "D"]},
    {"loop": "m", "tile": 2},
    {"keep": "L1", "tensors": ["A", "C"]},
    {"loop": "l", "tile": 1},
    {"keep": "L1", "tensors": ["S"]},
    {
        "sequence": [
            [{"loop": "k", "tile": 1}, {"keep": "L1", "tensors": ["B"]}, {"compute": "S"}],
            [{"loop": "n", "tile": 1}, {"keep": "L1", "tensors": ["D"]}, {"compute": "C"}],
        ]
    },
]
UNFUSED = [
    {"keep": "Memory", "tensors": ["S"]},
    {
        "sequence": [
            [
                {"loop": "m", "tile": 3},
                {"loop": "l", "tile": 2},
                {"keep": "buffer", "tensors": ["S"]},
                {"loop": "k", "tile": 1},
                {"keep": "buffer", "tensors": ["A", "B"]},
                {"compute": "S"},
            ],
            [
                {"loop": "m", "tile": 3},
                {"keep": "buffer", "tensors": ["C"]},
                {"loop": "l", "tile": 1},
                {"keep": "buffer", "tensors": ["S", "D"]},
                {"compute": "C"},
            ],
        ]
    },
]
RELU = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*D[l,n]"
IN_PLACE = [
    {"keep": "buffer", "tensors": ["S"]},
    {
        "sequence": [
            [{"keep": "buffer", "tensors": ["A", "B"]}, {"compute": "S"}],
            [{"compute": "P"}],
            [{"keep": "buffer", "tensors": ["C", "D"]}, {"compute": "C"}],
        ]
    },
]
TWICE = "S[m,l] = A[m,k]*A[l,k]; C[m,n] = S[m,l]*D[l,n]"
READ_TWICE = [
    UNFUSED[0],
    {
        "sequence": [
            [
                {"loop": "m", "tile": 2},
                {"loop": "l", "tile": 1},
                {"keep": "buffer", "tensors": ["S", "A"]},
                {"compute": "S"},
            ],
            UNFUSED[1]["sequence"][1],
        ]
    },
]
PRODUCT = [{"loop": "m", "tile": 2}, {"keep": "buffer", "tensors": ["A", "B", "C"]}, {"compute": "C"}]


@cache
def small_document(kind: str) -> dict[str, Any]:
    """A small document, by what is particular about it."""
    buffer = scratchpads(buffer=40)
    tree = {
        "row loop": lambda: pair_tree(row_loop(3), buffer, **SMALL),
        "loads": lambda: pair_tree(row_loop(3), buffer, **SMALL),
        "pinned": lambda: pair_tree(row_loop(2, 2), buffer, **SMALL),
        "proved": lambda: pair_tree(row_loop(7), scratchpads(buffer=60), **SMALL),
        "two levels": lambda: pair_tree(NESTED, caches(L1=30, L2=60), **SMALL),
        "unfused": lambda: pair_tree(UNFUSED, buffer, **SMALL),
        "in place": lambda: pair_tree(IN_PLACE, scratchpads(buffer=90), RELU, **SMALL),
        "read twice": lambda: pair_tree(READ_TWICE, buffer, TWICE, **SMALL),
        "one product": lambda: pair_tree(PRODUCT, buffer, "C[m,n] = A[m,k]*B[k,n]", m=7, n=4, k=3),
    }[kind]()
    return tree_solution(tree, walk_tree(tree), "loads" if kind == "loads" else "traffic")


KINDS = ("row loop", "loads", "pinned", "proved", "two levels", "unfused", "in place", "read twice", "one product")
