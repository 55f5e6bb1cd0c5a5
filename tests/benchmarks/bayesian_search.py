"""How near the Bayesian search comes after how many evaluations: python tests/benchmarks/bayesian_search.py.

Layers of ResNet-18 on accelerators: the best EDP so far over the proven optimum of `exact`, of `random`, of `bayesian`,
and of `bayesian` with what it saw of the two layers next to each (`transfer`), each over several seeds. `--layers`,
`--machines`, `--seeds`, `--evaluations` and `--set NAME=VALUE` (of `bayesian`) choose. Prints a line per layer and the
medians; exit code 1 if anything is below a proven optimum.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import optmap
from optmap.search import Answer

LAYERS = ("R2", "R3", "R4", "R5", "R6", "R7", "R9", "R10", "R11", "R12")
COUNTS = (10, 25, 50, 100, 200)


def solved(layer: str, machine: str, method: str, **more: object) -> Answer:
    """One answer, with perfect factors."""
    found = optmap.solve(
        f"resnet18/{layer}", machine=machine, semantics="assign", tiles="divisors", method=method, **more
    )
    assert isinstance(found, Answer)
    return found


def curve(found: Answer, optimum: float, counts: list[int]) -> list[float]:
    """The best so far over the optimum, after some numbers of evaluations."""
    points = found.found.curve
    return [min((p.value for p in points if p.evaluations <= count), default=np.inf) / optimum for count in counts]


def measure(machine: str, layers: list[str], seeds: int, counts: list[int], settings: dict[str, str]) -> int:
    """Prints the table of a machine; the number of answers below an optimum."""
    optima = {layer: float(solved(layer, machine, "exact", time_limit=300).cost) for layer in layers}
    rows: dict[tuple[str, str], list[list[float]]] = {}
    seconds = dict.fromkeys(("random", "bayesian", "transfer"), 0.0)
    with tempfile.TemporaryDirectory() as folder:

        def note(name: str, layer: str, seed: int, method: str, **own: str) -> None:
            begun = time.monotonic()
            found = solved(layer, machine, method, settings=own, evaluations=counts[-1], seed=seed, time_limit=600)
            seconds[name] += time.monotonic() - begun
            rows.setdefault((name, layer), []).append(curve(found, optima[layer], counts))

        for layer in layers:
            for seed in range(seeds):
                note("random", layer, seed, "random", victory="0", timeout="0")
                note("bayesian", layer, seed, "bayesian", save=str(Path(folder, f"{layer}-{seed}")), **settings)
        for place, layer in enumerate(layers):
            near = {layers[place - 1], layers[(place + 1) % len(layers)]} - {layer}
            for seed in range(seeds if near else 0):
                files = ",".join(str(Path(folder, f"{other}-{seed}")) for other in sorted(near))
                note("transfer", layer, seed, "bayesian", transfer=files, **settings)
    show(machine, rows, seconds, counts)
    return sum(value < 1 - 1e-9 for runs in rows.values() for run in runs for value in run)


def show(
    machine: str, rows: dict[tuple[str, str], list[list[float]]], seconds: dict[str, float], counts: list[int]
) -> None:
    """Medians over seeds per layer, and of these over layers."""
    out = sys.stdout.write
    for name, taken in seconds.items():
        layers = [layer for own, layer in rows if own == name]
        if not layers:
            continue
        out(f"{machine}, {name}: best EDP over the optimum after {counts} evaluations (median of seeds)\n")
        medians = [np.median(rows[name, layer], axis=0) for layer in layers]
        for layer, row in zip(layers, medians, strict=True):
            out(f"  {layer:>4}  " + "  ".join(f"{value:6.3f}" for value in row) + "\n")
        out("  median" + "  ".join(f"{value:6.3f}" for value in np.median(medians, axis=0)) + "\n")
        everything = np.array([run for layer in layers for run in rows[name, layer]])
        within = (everything <= 1.2).mean(axis=0)
        out("  within 20 %: " + "  ".join(f"{share:.0%}" for share in within) + " of all runs\n")
        out(f"  {taken / len(everything):.1f} s a run\n")
    sys.stdout.flush()


def main() -> int:
    """Reads the arguments, measures every machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", nargs="+", default=list(LAYERS))
    parser.add_argument("--machines", nargs="+", default=["eyeriss_like", "gemmini"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=COUNTS[-1])
    parser.add_argument("--set", dest="settings", nargs="*", default=[])
    asked = parser.parse_args()
    counts = [count for count in COUNTS if count < asked.evaluations] + [asked.evaluations]
    settings = dict(item.split("=", 1) for item in asked.settings)
    wrong = sum(measure(machine, asked.layers, asked.seeds, counts, settings) for machine in asked.machines)
    sys.stdout.write(f"{wrong} values below a proven optimum\n")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
