"""Of every kind of file a key that nobody knows is refused by its name: a typo is never what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import optmap
from optmap.base.errors import UnknownNameError

PRODUCT = {"workload": "C[i,j] += A[i,k]*B[k,j]", "extents": {"i": 8, "j": 6, "k": 4}}
CHAIN = {"workload": "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "extents": {"m": 4, "l": 4, "k": 2, "n": 3}}
ACCELERATOR = {"machine": "eyeriss_like", "objective": "energy"}
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "solution": lambda: optmap.solve(**PRODUCT, memory="32w", method="tiling-lp"),
    "accelerator solution": lambda: optmap.solve(**PRODUCT, **ACCELERATOR, method="random", evaluations=5),
    "tree": lambda: optmap.solve(**CHAIN, memory="64w"),
    "comparison": lambda: optmap.compare(**PRODUCT, memory="32w", methods="tiling-lp"),
    "accelerator comparison": lambda: optmap.compare(**PRODUCT, **ACCELERATOR, methods="random", evaluations=5),
    "workload": lambda: optmap.workload(**_named(PRODUCT)),
    "chain": lambda: optmap.workload(**_named(CHAIN)),
    "machine": lambda: optmap.machine("i7-9700k"),
    "accelerator": lambda: optmap.machine("simba"),
}
PLACES = {
    "solution": [(), ("workload",), ("machine",), ("mapping",), ("mapping", "levels", 0), ("cost",)],
    "accelerator solution": [(), ("workload",), ("machine",), ("mapping",), ("mapping", "levels", 0)],
    "tree": [(), ("workload",), ("workload", "statements", 0), ("mapping",), ("mapping", "tree", 0)],
    "comparison": [(), ("rows", 0), ("workload",)],
    "accelerator comparison": [(), ("rows", 0), ("machine",)],
    "workload": [()],
    "chain": [(), ("statements", 1)],
    "machine": [(), ("levels", 0), ("levels", 0, "microkernel"), ("levels", 0, "bandwidth")],
    "accelerator": [(), ("arithmetic",), ("outermost",), ("levels", 0), ("levels", 0, "fanout", "x")],
}


def _named(asked: dict[str, Any]) -> dict[str, Any]:
    return {"name": asked["workload"], "extents": asked["extents"]}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_an_unknown_key_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    document = json.loads(json.dumps(DOCUMENTS[kind]().to_dict()))
    file.write_text(json.dumps(document), encoding="utf-8")
    optmap.load(file)
    for place in PLACES[kind]:
        changed = json.loads(json.dumps(document))
        inside = changed
        for key in place:
            inside = inside[key]
        inside["bandwith"] = 1
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(UnknownNameError, match=r"saved\.json.*unknown key 'bandwith'"):
            optmap.load(file)
