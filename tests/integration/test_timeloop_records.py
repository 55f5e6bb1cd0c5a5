"""Records of Timeloop's own counts, written as the files that Timeloop reads: imported, they count the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from optmap.count.meshes.count import NEST_TIMELOOP, count_nest
from optmap.interchange import read_timeloop

DATA = Path(__file__).parents[1] / "data"
RECORDS = [
    record
    for name in ("timeloop_conformance.json", "wires_conformance.json")
    for record in json.loads((DATA / name).read_text())
]
ATTRIBUTES = ("entries", "instances", "meshX", "word_bits", "block_size", "cluster_size", "technology")
RATES = ("read_bandwidth", "write_bandwidth", "shared_bandwidth", "energy_per_hop", "router_energy")


def hyphens(values: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """As version 0.2 writes keys."""
    return {key.replace("_", "-"): values[key] for key in keys if values.get(key) is not None}


def problem(workload: dict[str, Any]) -> dict[str, Any]:
    numbers = {n for t in workload["tensors"] for axis in t["projection"] for _, n in axis if n != 1}
    spaces = [
        {
            "name": tensor["name"],
            "projection": [[[d] if n == 1 else [d, f"by{n}"] for d, n in axis] for axis in tensor["projection"]],
            "read-write": tensor["read_write"],
        }
        for tensor in workload["tensors"]
    ]
    shape = {
        "name": workload["name"],
        "dimensions": list(workload["dims"]),
        "coefficients": [{"name": f"by{n}", "default": 1} for n in numbers],
        "data-spaces": spaces,
    }
    return {"shape": shape, "instance": {**workload["dims"], **{f"by{n}": n for n in numbers}}}


def directives(levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for level in levels:
        name = level["level"]
        found.append({"target": name, "type": "datatype", "keep": level["keep"], "bypass": level["bypass"]})
        loops = level["temporal"]
        factors = " ".join(f"{dim}={trips}" for dim, trips in loops)
        found.append(
            {"target": name, "type": "temporal", "factors": factors, "permutation": [dim for dim, _ in reversed(loops)]}
        )
        axes = {axis: [(dim, ways) for dim, ways, own in level["spatial"] if own == axis] for axis in "XY"}
        both = [*axes["X"], *axes["Y"]]
        if both:
            factors = [f"{dim}={ways}" for dim, ways in both]
            order = [dim for axis in "XY" for dim, _ in reversed(axes[axis])]  # innermost first
            spread = {"target": name, "type": "spatial", "factors": factors, "permutation": order}
            found.append({**spread, "split": len(axes["X"])})
    return found


def files(record: dict[str, Any]) -> dict[str, Any]:
    machine = record["arch"]
    tables = [
        {
            "name": f"system.{level['name']}[0..{level['instances'] - 1}]",
            "actions": [{"name": kind, "energy": level[f"energy_{kind}"]} for kind in ("read", "fill", "update")],
        }
        for level in machine["levels"]
    ]
    tables.append({"name": "MACC", "actions": [{"name": "compute", "energy": machine["mac"]["energy"]}]})
    storage = [
        {"name": level["name"], **hyphens(level, ATTRIBUTES), **hyphens(level, RATES)} for level in machine["levels"]
    ]
    return {
        "problem": problem(record["workload"]),
        "arch": {"arithmetic": hyphens(machine["mac"], ATTRIBUTES), "storage": storage},
        "ERT": {"version": 0.2, "tables": tables},
        "mapping": directives(record["mapping"]),
    }


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_records_count_the_same_when_written_as_files(record: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump(files(record), sort_keys=False))
    model = read_timeloop([path])
    assert model.nest is not None
    found, expected = count_nest(model.nest, model.fabric, NEST_TIMELOOP), record["result"]
    assert float(found.energy_pj) == pytest.approx(expected["energy_pJ"], rel=1e-9)
    assert abs(found.cycles - expected["cycles"]) <= 1
    assert found.operations == expected["computes"]
    assert float(found.utilisation) == pytest.approx(expected["utilization"], rel=1e-4)  # a cycle more or less
