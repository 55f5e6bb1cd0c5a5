"""Mutate certificates and solutions: python tests/benchmarks/checker_mutants.py 100000 7.

Arguments: mutants, seed. Every digest is taken to fit, as if each mutant had been signed anew: that is
the first thing a forger does. What the checker accepts has to be true: its claims are derived again by
the library's own counting, by the literal walk of the nest, and by its bounds. Mutant number i is made
from seed and i alone. Prints every false mutant; exit code 1 if there is one.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from optmap import api
from optmap.answers.documents.recount import WALK, Simulated, disagreements, evaluate_solution
from optmap.answers.documents.solution import SavedSolution, read_solution, solution_document
from optmap.base.errors import OptmapError
from optmap.bounds import fast_side_words, instance_words, separating_dims
from optmap.bounds.best import best
from optmap.checker import RefusedError, check_document
from optmap.checker.bounds import crossings
from optmap.checker.core import shapes
from optmap.count.reference.simulate import simulate, walk_nest
from optmap.count.reference.walk_held import walk_held
from optmap.files.fields import Fields
from optmap.files.workloads import read_workload
from optmap.machines.machine import Level, LevelKind, Machine, Partition, two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

Document = dict[str, Any]
LIMIT = 100_000
"""Iterations that are walked literally."""
STATEMENTS: dict[str, tuple[str, dict[str, int]]] = {
    "matmul": ("C[i,j] += A[i,k]*B[k,j]", {"i": 6, "j": 5, "k": 4}),
    "created": ("C[i,j] = A[i,k]*B[k,j]", {"i": 6, "j": 2, "k": 7}),
    "conv": ("O[k,x] += I[c,x+r]*F[k,c,r]", {"k": 3, "c": 2, "x": 7, "r": 3}),
    "strided": ("O[k,x] += I[c,2*x+r]*F[k,c,r]", {"k": 2, "c": 2, "x": 6, "r": 4}),
    "depthwise": ("O[c,x] += I[c,x+r]*F[c,r]", {"c": 3, "x": 6, "r": 3}),
    "window": ("O[x] += I[2*x+r]*K[r]", {"x": 7, "r": 5}),
    "twice": ("C[i,j] += A[i,k]*A[j,k]", {"i": 5, "j": 4, "k": 6}),
    "flag": ("O[x] += I[x+r]*J[x+q]*K[r,q]", {"x": 8, "r": 3, "q": 2}),
    "offset": ("O[x] += I[x]*I[x+9]*K[r]", {"x": 5, "r": 4}),
}
MIXED = {"C": 4, "A": 1, "B": 2}
"""Element sizes of a matmul with weights."""


def level(name: str, words: int, **options: Any) -> Level:
    return Level(name=name, capacity=Capacity(amount=words, unit="words"), **options)


def accelerator(inputs: int, output: int) -> Machine:
    """A machine whose buffer has a part for inputs and one for the output."""
    parts = [("scratchpad", "inputs", inputs), ("accumulator", "output", output)]
    made = [Partition(name=n, tensors=(t,), capacity=Capacity(amount=w, unit="bytes")) for n, t, w in parts]
    whole = Capacity(amount=inputs + output, unit="bytes")
    return Machine(name="chip", levels=(Level(name="Buffers", capacity=whole, partitions=tuple(made), buffering=2),))


DEEP = Machine(
    name="deep",
    levels=(level("L1", 12, bandwidth=7.5), level("L2", 40, bandwidth=2.25), level("L3", 90, inclusive=False)),
)
CORES = Machine(
    name="cores", levels=(level("L1", 16, kind=LevelKind.CACHE), level("L2", 80, bandwidth=3, shared=True, fanout=4))
)


def sources() -> Iterator[tuple[str, Document]]:
    """Certificates and solutions of a spread of workloads, machines and methods."""
    loads = {name: parse_workload(text, extents, name=name) for name, (text, extents) in STATEMENTS.items()}
    loads["mixed"] = parse_workload(*STATEMENTS["matmul"], name="mixed", bytes=MIXED)
    for name, workload in loads.items():
        for words in (9, 14):
            yield f"bound {name} {words}w", dict(best(workload, words).certificate or {})
    runs: list[tuple[str, Machine, dict[str, Any]]] = []
    for name in loads:
        runs += [(name, two_level(Capacity(amount=20, unit="words")), {"method": m}) for m in ("mopt", "iooub")]
    runs += [("window", two_level(Capacity(amount=n, unit="words")), {"method": "iooub"}) for n in (4, 6)]
    runs += [(name, DEEP, {"method": m}) for name in ("matmul", "strided", "created") for m in ("mopt", "iooub")]
    runs += [(name, CORES, {"cores": 4, "capacity": c}) for name in ("matmul", "conv") for c in ("tile", "safe")]
    runs += [(name, DEEP, {"tiles": "divisors"}) for name in ("matmul", "conv")]
    runs += [(name, accelerator(160, 80), {"method": "gemmini"}) for name in ("conv", "strided", "depthwise", "mixed")]
    for name, machine, options in runs:
        try:
            made = solution_document(api.solve(loads[name], machine=machine, time_limit=20, **options))
        except OptmapError as error:
            sys.stdout.write(f"no source {name} on {machine.name} with {options}: {error}\n")
            continue
        yield f"solution {name} {machine.name} {' '.join(map(str, options.values()))}", made


def spot(rng: random.Random, document: Document) -> tuple[Any, Any]:
    """A container and a key in it: from the top down, every entry as likely as its neighbours."""
    inside: Any = document
    while True:
        key = rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))
        deeper = inside[key]
        if not isinstance(deeper, dict | list) or not deeper or rng.random() < 0.12:
            return inside, key
        inside = deeper


def other_number(rng: random.Random, value: Any) -> Any:
    if isinstance(value, float):
        return rng.choice([value * (1 + 2**-52), value / 2, value * 2, value + 1, 0.0, -value, round(value), True])
    return rng.choice([value + 1, value - 1, value * 2, value // 2, 0, 1, -value, float(value), True, str(value), None])


def other_text(rng: random.Random, value: str, document: Document) -> Any:
    if re.fullmatch(r"\d+/\d+", value):
        p, q = map(int, value.split("/"))
        return rng.choice(
            [f"{p + 1}/{q}", f"{max(p - 1, 0)}/{q}", f"{p}/{q + 1}", f"{2 * p}/{2 * q}", f"{q}/{p}", "1/1"]
        )
    if "[" in value:
        place = rng.randrange(len(value))
        names = list("ijkxrcqCABOIFKJ")
        piece = rng.choice(["", "2*", "+1", "3", " ", *names])
        parts = re.split(r" (\+?=) ", value)
        turned = f"{parts[0]} {parts[1]} {' * '.join(reversed(parts[2].split(' * ')))}" if len(parts) == 3 else value
        return rng.choice([value[:place] + piece + value[place + rng.randrange(2) :], turned])
    words = re.findall(
        r"[A-Za-z]\w*", json.dumps(document.get("workload", {})) + json.dumps(document.get("machine", {}))
    )
    return rng.choice(["", value + "x", value[::-1], *words[:40], *WORDS, 3, None])


WORDS = (
    "assign",
    "accumulate",
    "sum",
    "loads",
    "bottleneck",
    "traffic",
    "safe",
    "tile",
    "cache",
    "scratchpad",
    "words",
)


def other_container(rng: random.Random, value: Any) -> Any:
    made = copy.deepcopy(value)
    if isinstance(made, list):
        kind = rng.randrange(5)
        if kind == 0 or not made:
            return rng.choice([[], {}, None, made])
        if kind == 1:
            rng.shuffle(made)
        elif kind == 2:
            made.append(copy.deepcopy(rng.choice(made)))
        else:
            del made[rng.randrange(len(made))]
        return made
    names = list(made)
    kind = rng.randrange(4)
    if kind == 0 or not names:
        return rng.choice([{}, [], None, {"x": 1}])
    one, two = rng.choice(names), rng.choice(names)
    if kind == 1:
        made[one], made[two] = made[two], made[one]
    elif kind == 2:
        made[rng.choice(["x", "i", "C", one + "x"])] = made.pop(one)
    else:
        del made[one]
    return made


def everywhere(rng: random.Random, document: Document) -> Document:
    """One number or name replaced wherever it stands, as a careful forger would."""
    text = json.dumps(document)
    if rng.random() < 0.5:
        numbers = [n for n in re.findall(r"(?<![\w./\"-])\d+(?![\w./\"])", text) if n != "0"]
        old = rng.choice(numbers)
        new = str(rng.choice([int(old) + 1, max(int(old) - 1, 0), 2 * int(old)]))
        return dict(json.loads(re.sub(rf"(?<![\w./\"-]){old}(?![\w./\"])", new, text)))
    names = sorted(set(re.findall(r"\b[A-Za-z]\b", document["workload"]["expression"])))
    old, new = rng.choice(names), rng.choice([*names, "Z", "z"])
    return dict(json.loads(re.sub(rf"(?<![\w\\]){old}(?![\w])", new, text)))


def mutant(rng: random.Random, text: str) -> Document:
    """One to three fields of a document changed."""
    document: Document = json.loads(text)
    if rng.random() < 0.06:
        try:
            return everywhere(rng, document)
        except ValueError:  # two keys became one
            return document
    for _ in range(rng.choice((1, 1, 2, 3))):
        inside, key = spot(rng, document)
        value = inside[key]
        if isinstance(value, bool):
            inside[key] = rng.choice([not value, int(value), None])
        elif isinstance(value, int | float):
            inside[key] = other_number(rng, value)
        elif isinstance(value, str):
            inside[key] = other_text(rng, value, document)
        elif value is None:
            inside[key] = rng.choice([0, 1, 1.0, "x", [], {}, False])
        else:
            inside[key] = other_container(rng, value)
        if not document:
            break
    return document


HEARSAY = ("method", "status", "tiles", "relaxation", "integer_bound", "seconds", "seed", "versions", "notes", "digest")
"""Keys of which nothing is verified; of `tiles` only divisors, which the recount does not know."""


def claims_of(document: Document) -> str:
    """The document without what the checker lists as not verified."""
    made = {key: value for key, value in copy.deepcopy(document).items() if key not in HEARSAY}
    made["workload"] = {k: v for k, v in made["workload"].items() if k not in ("name", "count")}
    if "machine" in made:
        made["machine"].pop("name")
        made["machine"].pop("clock_hz", None)
        for each in made["machine"]["levels"]:
            for key in ("energy_pj", "microkernel", "shared"):
                each.pop(key)
        if made["bound"] is not None:
            made["bound"].pop("method")
        made["certificates"] = [{**e, "certificate": claims_of(e["certificate"])} for e in made["certificates"]]
    else:
        made["maps"] = [{k: v for k, v in entry.items() if k != "name"} for entry in made["maps"]]
    return json.dumps(made, sort_keys=True)


proved_bound = lru_cache(maxsize=8192)(best)
"""The library's own bound, once per workload and memory."""


@lru_cache(maxsize=8192)
def bounds(workload: Workload, memory: int) -> tuple[int, int, int]:
    """Loads and stores that the library proves, and loads with which a schedule gets by."""
    proved = proved_bound(workload, memory)
    least = -1
    if workload.operations <= LIMIT // 20:
        machine = two_level(Capacity(amount=memory, unit="words"))
        tile = dict.fromkeys(workload.dims, 1)
        order = LevelMapping(level=machine.levels[0].name, tile=tile, permutation=workload.dims, spatial={})
        try:
            moved = simulate(workload, machine, Mapping(levels=(order,)), policy="belady", limit=LIMIT)
            least = sum(entry.loads_words for entry in moved)
        except OptmapError:
            least = -1  # not even one word of every tensor fits
    return proved.loads_words, proved.stores_words, least


def output_elements(workload: Workload) -> int:
    """Distinct elements of the output, by walking."""
    dims = sorted(workload.output.dims)
    points = product(*(range(workload.extents[d]) for d in dims))
    at = ({**dict(zip(dims, point, strict=True))} for point in points)
    return len({tuple(a.offset + sum(c * x[d] for d, c in a.terms) for a in workload.output.axes) for x in at})


def wrong_certificate(document: Document) -> list[str]:
    """What of an accepted certificate is not so."""
    workload = read_workload(Fields.of({"count": 1, **document["workload"]}, "mutant"))
    claims, memory = document["claims"], document["memory_words"]
    loads, stores, enough = bounds(replace(workload, name=""), memory)
    found = []
    if claims["loads_words"] > loads:
        found.append(f"claims {claims['loads_words']} loads, the library proves {loads}")
    if enough >= 0 and claims["loads_words"] > enough:
        found.append(f"claims {claims['loads_words']} loads, {enough} are enough")
    if claims["stores_words"] > stores or claims["total_words"] > claims["loads_words"] + stores:
        found.append(f"claims {claims['stores_words']} stores, {stores} are proved")
    if prod(workload.extents[d] for d in workload.output.dims) <= LIMIT:
        made = workload.weight(workload.output) * output_elements(workload)
        if not claims["output_words"] <= made <= claims["output_words_at_most"]:
            found.append(f"the output has {made} words")
    return found


def wrong_solution(document: Document, file: Path) -> list[str]:
    """What of an accepted solution is not so."""
    file.write_text(json.dumps(document), encoding="utf-8")
    read = read_solution(file)
    alone = {key: value for key, value in document.items() if key not in ("certificates", "digest")}
    evaluation = evaluate_solution(replace(read, document=alone))
    if read.workload.operations <= LIMIT // 20:
        evaluation = replace(evaluation, simulations=(Simulated(policy=WALK, moved=walked(read)),))
    found = disagreements(evaluation)
    for entry in document["certificates"]:
        found += wrong_certificate(entry["certificate"])
        found += wrong_entry(read, entry)
    return found


def walked(read: SavedSolution) -> Any:
    if read.held is None:
        return walk_nest(read.workload, read.machine, read.mapping, limit=LIMIT)
    return walk_held(read.workload, read.machine, read.mapping, read.held, read.capacity, limit=LIMIT).moved


def wrong_entry(read: SavedSolution, entry: Document) -> list[str]:
    """What of a bound per boundary is not so for this machine and mapping."""
    workload, machine = replace(read.workload, name=""), read.machine
    q = machine.boundaries.index(tuple(entry["between"]))
    outside = [at.spatial for at in read.mapping.levels[q + 1 :]]
    split = {dim for spatial in outside for dim, ways in spatial.items() if ways > 1}
    ways = prod(n for spatial in outside for n in spatial.values())
    size = workload.word_bits
    bound = proved_bound(workload, fast_side_words(machine, q, size))
    words = instance_words(bound, ways, loads_only=read.objective == "loads")
    found = [] if entry["instances"] == ways else [f"{ways} instances, not {entry['instances']}"]
    if split - separating_dims(workload):
        found.append("instances share output elements")
    if entry["words"] > words:
        found.append(f"claims {entry['words']} words at {entry['between']}, the library proves {words}")
    return found


def remembered(check: Callable[[Document], dict[str, int]]) -> Callable[[Document], dict[str, int]]:
    """The check of certificates inside solutions, most of which no mutation touched; refusals are not kept."""
    known: dict[str, dict[str, int]] = {}

    def checked(document: Document) -> dict[str, int]:
        text = json.dumps(document)
        if text not in known:
            known[text] = check(document)
        return dict(known[text])

    return checked


def main(mutants: int, seed: int) -> int:
    """Show so many mutants to the checker and look at what it accepts."""
    shapes.digest = lambda document: document["digest"]
    crossings.check_bound = remembered(crossings.check_bound)
    made = [(name, json.dumps(document)) for name, document in sources()]
    for _, text in made:
        check_document(json.loads(text))
    originals = [claims_of(json.loads(text)) for _, text in made]
    sys.stdout.write(f"{len(made)} sources hold\n")
    counts: Counter[str] = Counter()
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(mutants):
            rng = random.Random(f"{seed}/{i}")
            which = rng.randrange(len(made))
            name, text = made[which]
            outcome, reasons = judge(mutant(rng, text), text, originals[which], Path(folder) / "mutant.json")
            counts[outcome] += 1
            if outcome == "FALSE":
                sys.stdout.write(f"FALSE {seed}/{i} {name}: {'; '.join(reasons)}\n")
            if (i + 1) % 1000 == 0 or i + 1 == mutants:
                each = 1000 * (time.process_time() - began) / (i + 1)
                line = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
                sys.stdout.write(f"{i + 1:,} mutants: {line}; {each:.1f} ms each\n")
                sys.stdout.flush()
    return int(counts["FALSE"] > 0)


def judge(document: Document, text: str, original: str, file: Path) -> tuple[str, list[str]]:
    """What became of a mutant, and why it is false if it is."""
    if json.dumps(document) == text:
        return "unchanged", []
    try:
        check_document(document)
    except RefusedError:
        return "refused", []
    if claims_of(document) == original:
        return "accepted, same claims", []
    wrong: Callable[[], list[str]] = (
        (lambda: wrong_solution(document, file)) if "mapping" in document else (lambda: wrong_certificate(document))
    )
    try:
        reasons = wrong()
    except OptmapError as error:
        reasons = [f"the library cannot read it: {error}"]
    return ("FALSE", reasons) if reasons else ("accepted, true", [])


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
