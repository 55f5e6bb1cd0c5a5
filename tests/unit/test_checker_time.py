"""Bounds in time: file, table and proof; whatever is changed in a document is refused, restated, or not claimed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cases import thinned
from host_machines import AVX512

import optmap
from optmap import api
from optmap.answers.proofs.beside import certified_bound, proved_floor
from optmap.base.errors import InputError
from optmap.checker import RefusedError, check_document
from optmap.checker.bounds import crossings
from optmap.checker.core.tools import digest
from optmap.machines.machine import Machine
from optmap.workloads.amounts import Bandwidth

Document = dict[str, Any]
LAYER = "C[i,j] = A[i,k]*B[k,j]"
EXTENTS = {"i": 24, "j": 64, "k": 32}
HOST = replace(AVX512, levels=(*AVX512.levels[:-1], replace(AVX512.levels[-1], core_bandwidth=Bandwidth(amount=6))))


def slow(machine: Machine) -> Machine:
    """With a memory so slow that it bounds, and caches so small that they hold little."""
    caches = [
        replace(each, capacity=replace(each.capacity, amount=size), bandwidth=Bandwidth(amount=rate))
        for each, size, rate in zip(machine.levels[1:], (2048, 4096, 8192), (Fraction(1, 3), 2, 1), strict=True)
    ]
    return replace(machine, levels=(machine.levels[0], *caches))


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    """A solution and two bounds in time, one by multiply-adds, one by a link."""
    solved = api.solve(LAYER, extents=EXTENTS, machine=HOST, objective="time", cores=2)
    roof, link = (
        api.bound(LAYER, extents=EXTENTS, machine=host, objective="time", cores=2, methods="best")
        for host in (HOST, slow(HOST))
    )
    found = {"solution": solved.to_dict(), "roof": roof.certificate, "link": link.certificate}
    return {key: json.loads(json.dumps(value)) for key, value in found.items()}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of everything in a document that is no container; certificates have mutants of their own elsewhere."""
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            if key not in ("certificate", "digest"):
                yield from leaves(value[key], (*path, key))
    else:
        yield path


WORDS = {
    **{"warm": "cold", "ahead": "call", "ordinary": "streaming", "nhwc": "nchw", "outer-product": "plain"},
    **{
        "cache": "scratchpad",
        "scratchpad": "cache",
        "tile": "safe",
        "any": "divisors",
        "time": "sum",
        "stored": "implicit",
    },
}


def others(value: Any) -> list[Any]:
    """Other values of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [2 * value + 1]
    if isinstance(value, str):
        return [WORDS.get(value, value + "x")]
    return [1, "x", [1]]


NAMED = {
    **{"count": "how often", "shared": "which levels are shared", "energy_pj": "energies", "versions": "versions"},
    **{
        "seconds": "seconds",
        "seed": "seed",
        "notes": "notes",
        "microkernel": "microkernels",
        "relaxation": "relaxation",
    },
    **{"line_bytes": "lines of caches", "ways": "ways", "registers": "registers", "fma_latency": "latency"},
    **{"load_ports": "load ports", "compute_cycles": "parts of that", "packing_cycles": "packing"},
    **{
        "moved_bytes": "bytes",
        "waited_cycles": "waited for",
        "boundaries": "boundaries",
        "partitions": "parts of memories",
    },
}
"""By what a key that nothing claims is called among what was not verified."""


def test_every_field_is_verified_or_named_as_not_verified(
    documents: dict[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {json.dumps(each["certificate"]) for found in documents.values() for each in found["certificates"]}
    claims = {text: crossings.check_bound(json.loads(text)) for text in known}
    monkeypatch.setattr(crossings, "check_bound", lambda certificate: claims[json.dumps(certificate)])
    for kind in ("solution", "roof"):
        document = documents[kind]
        honest, tried, accepted = check_document(document), 0, 0
        for path in thinned([*leaves(document)], 2):
            value = _at(document, path)
            for other in (each for each in others(value) if each != value):
                mutant = copy.deepcopy(document)
                _at(mutant, path[:-1])[path[-1]] = other
                mutant["digest"] = digest({k: v for k, v in mutant.items() if k != "seconds"})
                tried += 1
                try:
                    report = check_document(mutant)
                except RefusedError:
                    continue
                accepted += 1
                text = "\n".join(report.not_verified)
                named = any(NAMED.get(str(key), "\0") in text for key in path)
                assert report != honest or named, (kind, path, other)
                if report.verified != honest.verified:
                    # A claim about another machine, or of less: it is stated, and must be true.
                    assert path[0] in ("machine", "threads", "caches", "prediction", "tiles", "capacity_rule"), (
                        kind,
                        path,
                        other,
                    )
        assert accepted < tried / 2


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def test_the_bound_is_that_of_a_solution(documents: dict[str, Document]) -> None:
    solved, roof = documents["solution"], documents["roof"]
    assert roof["bound"]["value"] == solved["bound"]["value"] == 24 * 64 * 32 / 32 / 2
    assert roof["certificates"] == solved["certificates"]
    assert roof["bound"]["part"] == "multiply-adds"
    assert documents["link"]["bound"]["part"] == "L1 - L2"


def test_parts_in_table_and_document(tmp_path: Path) -> None:
    report = optmap.bound(LAYER, extents=EXTENTS, machine=slow(HOST), objective="time", methods="best", caches="cold")
    document = report.to_dict()
    time = document["time"]
    parts = {part["part"]: part for part in time["parts"]}
    assert list(parts) == ["multiply-adds", "Reg - L1", "L1 - L2", "L2 - L3", "L3 - Memory"]
    assert time["value"] == max(part["cycles"] for part in parts.values()) == parts[time["part"]]["cycles"]
    assert time["seconds"] == time["value"] / HOST.clock_hz
    for row in document["boundaries"]:
        part = parts[" - ".join(row["between"])]
        (best,) = row["bounds"]
        assert (part["amount"], part["held"]) == (best["loads_words"], 0)
        rate = [int(n) for n in part["per_cycle"].split("/")]
        assert part["cycles"] == pytest.approx(part["amount"] * rate[1] / rate[0])
    assert f"No code takes fewer than {time['value']:,} cycles" in str(report)
    assert [line.split()[0] for line in str(report).splitlines() if "<- largest" in line] == ["L1"]
    file = report.save(tmp_path / "floor.json")
    assert any("no code takes fewer" in line for line in optmap.check(file).verified)


def test_the_bound_in_time_rests_on_the_bounds_beside_it() -> None:
    certified_bound.cache_clear()
    report = optmap.bound(LAYER, extents=EXTENTS, machine=slow(HOST), objective="time")
    assert certified_bound.cache_info().misses == 0  # none is sought again
    assert report.time == proved_floor(report.workload, report.machine)
    assert certified_bound.cache_info().misses > 0
    other = optmap.bound(LAYER, extents=EXTENTS, machine=slow(HOST), objective="time", methods="compulsory")
    assert other.time == report.time


def test_what_a_bound_in_time_needs() -> None:
    with pytest.raises(InputError, match="does not say what a core computes with"):
        api.bound("resnet18/R9", machine="balanced", objective="time")
    with pytest.raises(InputError, match="has 2 cores, not 3"):
        api.bound(LAYER, extents=EXTENTS, machine=HOST, objective="time", cores=3)
    with pytest.raises(InputError, match="Known are time"):
        api.bound(LAYER, extents=EXTENTS, machine=HOST, objective="tim")
    for option in ({"cores": 2}, {"caches": "cold"}):
        with pytest.raises(InputError, match="add objective time"):
            api.bound(LAYER, extents=EXTENTS, machine=HOST, **option)
