"""Random kernels by predicted time on five kinds of host: every number is held against every other and the bounds."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import optmap
from optmap.answers.documents.recount import evaluate_solution, run_simulations, walk_keeping
from optmap.answers.documents.solution import solution_from
from optmap.answers.proofs.beside import certified_bound
from optmap.base.texts import number
from optmap.bounds import fast_side_words
from optmap.checker import check_document
from optmap.checker.core.nest import TiledNest
from optmap.checker.core.statement import StatedWork
from optmap.checker.tiles.kept import KeptNestPart
from optmap.count.reference.simulate import simulate
from optmap.count.tally import Budget, Moved
from optmap.count.timing import keeping
from optmap.count.timing.kept import Keeping
from optmap.files.fields import Fields
from optmap.files.inputs import machine_of
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.core import Core
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload, access_names

HOSTS = {
    path.stem: machine_of(path, None) for path in sorted((Path(__file__).parent / "data" / "hosts").glob("*.yaml"))
}
"""Machine files: one by detection, the others written by hand."""
CONTRACTIONS = (
    "C[i,j] += A[i,k]*B[k,j]",
    "C[i,j] = A[i,k]*B[k,j]",
    "C[b,i,j] = A[b,i,k]*B[b,k,j]",
    "y[i] = A[i,k]*x[k]",
    "O[i,j,k,l] += A[i,m,k]*B[m,j,l]",
    "O[i,j] += A[i,k]*B[k,l]*C[l,j]",
    "O[i,j] = A[i,j]*B[i,j]",
    "O[i] += A[i,j]*B[j,i]",
    "O[i,j] += A[i]*B[j]",
    "O[i,r] += T[i,j,k]*B[j,r]*C[k,r]",
    "O[x] = I[x+r]*W[r]",
    "O[k,x] += I[c,2*x+r]*W[k,c,r]",
    "O[k,x] = I[c,x+3*r]*W[k,c,r]",
    "s[i] = A[i,j]",
)
SIZES = (1, 2, 3, 5, 7, 8, 11, 13, 16, 17, 24, 31, 32, 37, 48, 64, 77, 96, 128)


def drawn(rng: random.Random) -> Workload:
    """A kernel: a convolution of some kind, or a contraction; extents are odd, prime, tiny or a power of two."""
    bytes_ = rng.choice((4, 4, 4, 4, 2, 8, 1))
    if rng.random() < 0.45:
        text = rng.choice(CONTRACTIONS)
        dims = sorted({d for part in text.split("[")[1:] for d in part.split("]")[0] if d.isalpha()})
        most = 10 ** rng.uniform(1, 6.5)
        extents, left = {}, most
        for dim in rng.sample(dims, len(dims)):
            extents[dim] = rng.choice([size for size in SIZES if size <= max(1, left)])
            left /= extents[dim]
        return parse_workload(text, extents, bytes=bytes_)
    kind = rng.choice(("dense", "dense", "depthwise", "depthwise", "grouped"))
    groups = rng.choice((2, 3, 4)) if kind == "grouped" else 1
    channels = rng.choice(SIZES) * groups
    taps, other = rng.choice((1, 3, 3, 5, 7)), rng.choice((1, 3, 3, 5))
    side, width = (max(size, 8) for size in rng.sample(SIZES[:15], 2))
    made = conv2d(
        c=channels,
        h=side,
        w=width,
        r=taps,
        s=other,
        k=None if kind == "depthwise" else rng.choice(SIZES[:16]) * groups,
        n=rng.choice((1, 1, 1, 2)),
        stride=rng.choice((1, 1, 2, (1, 2), 3)),
        dilation=rng.choice((1, 1, 1, 2)),
        groups=groups,
        depthwise=kind == "depthwise",
        name="layer",
        bytes=bytes_,
    )
    return optmap.workload(
        made, semantics=rng.choice(("assign", "accumulate")), padding=rng.choice(("stored", "implicit"))
    )


def random_host(rng: random.Random) -> Machine:
    """One of the hosts with other ports, latency and bandwidths, and caches of other sizes, or fewer of them."""
    host = rng.choice(list(HOSTS.values()))
    assert host.core is not None
    core = replace(
        host.core,
        **{key: rng.randint(1, 5) for key in ("fma_latency", "fma_ports", "load_ports")},
        registers=rng.choice((8, 16, 32)),
    )
    first, *caches = host.levels
    found = [first]
    for level in caches:
        if rng.random() < 0.8:
            capacity = Capacity(amount=max(64, int(level.capacity.amount * 2 ** rng.uniform(-8, 0.5))))
            rate = Bandwidth(amount=rng.choice((1, 2, 7, 12.5, 64, 200)))
            found.append(replace(level, capacity=capacity, bandwidth=rate, inclusive=False))
    found[0] = replace(first, bandwidth=Bandwidth(amount=rng.choice((4, 33, 64, 128, 400))))
    return replace(host, name="random", levels=tuple(found), core=core)


def attack(rng: random.Random, host: Machine, *, walked: int = 20_000, drawn_too: bool = False) -> str:
    """Solve a random kernel on a host and hold all that is said of it against each other.

    Args:
        rng: draws.
        host: with a core.
        walked: operations up to which the nest is walked and run through caches.
        drawn_too: whether the picture is drawn.

    Returns:
        What kind of case it was.
    """
    workload, threads = drawn(rng), rng.choice([n for n in (1, 1, 2) if n <= host.cores])
    if threads > 1 and all(workload.extents[d] < threads for d in workload.output.dims):
        threads = 1
    found = optmap.solve(workload, machine=host, objective="time", cores=threads, time_limit=20)
    prediction = found.prediction
    assert prediction is not None
    document = json.loads(json.dumps(found.to_dict()))
    # One number for the time, everywhere.
    assert document["cost"]["value"] == document["exact"]["value"] == document["prediction"]["cycles"]
    text = str(found)
    assert f"predicted {number(prediction.cycles)} cycles" in " ".join(text.split())
    parts = [row.cycles for row in prediction.boundaries]
    first = len(host.levels) - len(parts)
    assert [level["cycles"] for level in document["levels"]] == [prediction.compute_cycles] * first + parts
    # One number for the words of a boundary, none above what the level has room for, none below a bound.
    for place, (level, between) in enumerate(zip(document["levels"], host.boundaries, strict=True)):
        rows = [row for row in document["boundaries"] if tuple(row["between"]) == between]
        loads, stores = (sum(row[key] for row in rows) for key in ("loads_words", "stores_words"))
        assert level["traffic_words"] == loads + stores
        assert level["occupancy_words"] <= level["capacity_words"]
        assert f"{number(loads + stores)}" in text
        shared = all(ways == 1 for at in found.mapping.levels[place + 1 :] for ways in at.spatial.values())
        if shared:
            bound = certified_bound(found.workload, fast_side_words(host, place, found.workload.word_bits))
            assert loads >= bound.loads_words, (place, loads, bound.loads_words)
            assert loads + stores >= bound.total_words, (place, loads + stores, bound.total_words)
        for row, part in zip(prediction.boundaries, host.boundaries[first:], strict=True):
            assert row.between == part
    assert found.gap is None or found.gap >= 0, found.gap
    assert found.bound is None or Fraction(prediction.cycles) >= Fraction(found.bound.value)
    check_document(document)
    solution = solution_from(Fields.of(document, "document"))
    evaluation = evaluate_solution(solution)
    assert not evaluation.disagreements, evaluation.disagreements
    kind = prediction.kernel
    if workload.operations * len(workload.tensors) <= walked:
        walk, *others = run_simulations(solution, 50_000_000)
        said = [(row.between, row.tensor, row.loads_words, row.stores_words) for row in evaluation.boundaries]
        assert said == [(row.between, row.tensor, row.loads_words, row.stores_words) for row in walk.moved]
        same = [
            level.kept is not None and level.kept.passing is None
            for level in found.levels
            if all(ways == 1 for at in found.mapping.levels for ways in at.spatial.values())
        ]
        between = [each for each, alike in zip(host.boundaries, same, strict=False) if alike]
        _hold_against_ideal(between, walk.moved, {each.policy: each.moved for each in others})
        kind += ", walked"
    if drawn_too:
        _hold_picture(found)
        kind += ", drawn"
    return f"{kind}, {threads}" + (", fits in L1" if parts[:1] == [0] else "")


def _hold_against_ideal(
    boundaries: list[tuple[str, str]], said: tuple[Moved, ...], runs: dict[str, tuple[Moved, ...]]
) -> None:
    """Replacement that knows the future loads fewest words of the run in this order: nothing says less.

    Left out is what runs in another order: iterations taken element by element, threads side by side.
    """
    for between in boundaries:
        loads = {
            name: sum(row.loads_words for row in rows if row.between == between)
            for name, rows in {"said": said, **runs}.items()
        }
        assert loads["belady"] <= loads["said"], (between, loads)


def _hold_picture(found: optmap.Answer) -> None:
    """The picture says the same cycles and words."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    axes = found.plot()
    notes = [text.get_text() for text in axes.texts]
    assert found.prediction is not None
    assert notes[0] == f"{number(found.prediction.cycles)} cycles"
    for row in found.prediction.boundaries:
        words = sum(each.words for each in found.boundaries if each.between == row.between)
        assert f"{number(row.cycles)} cycles" + (f", {words:,} words" if words else "") in notes
    axes.figure.canvas.draw()
    pyplot.close(axes.figure)


def random_nest(rng: random.Random) -> tuple[Workload, Machine, Mapping]:
    """A small kernel under random tiles, loop orders and splits on a machine of random small memories."""
    text = rng.choice(
        (
            *CONTRACTIONS,
            "O[k,h,w] += I[c,2*h+r,w+s]*W[k,c,r,s]",
            "O[c,h,w] = I[c,h+r,w+s]*W[c,r,s]",
            "O[a+2*b] = X[a]*Y[b]",
        )
    )
    dims = sorted({d for part in text.split("[")[1:] for d in part.split("]")[0] if d.isalpha()})
    extents, left = {}, rng.choice((30, 200, 1500))
    for dim in rng.sample(dims, len(dims)):
        extents[dim] = rng.randint(1, max(1, min(9, left)))
        left //= extents[dim]
    workload = parse_workload(text, extents, bytes=rng.choice((4, 4, {"O": 4}) if text.startswith("O") else (4,)))
    depth = rng.choice((1, 2, 3))
    split = rng.choice((0, 0, *range(depth)))
    levels, entries, room, outer = [], [], rng.randint(12, 40), workload.extents
    for place in range(depth):
        fanout = rng.choice((2, 3)) if place == split and rng.random() < 0.5 else 1
        levels.append(
            Level(
                name=f"L{place}",
                capacity=Capacity(amount=room, unit="words"),
                kind=rng.choice(list(LevelKind)),
                shared=fanout > 1,
                fanout=fanout,
                inclusive=False,
            )
        )
        room = room * rng.randint(1, 6) + rng.randint(0, 20)
    for level in reversed(levels):
        tile = {dim: rng.randint(1, size) for dim, size in outer.items()}
        tile = outer if rng.random() < 0.3 else tile
        spatial = {}
        if level.fanout > 1:
            dim = rng.choice([each for each in workload.dims if each in workload.output.dims])
            spatial = {dim: min(level.fanout, tile[dim])} if tile[dim] > 1 else {}
        order = tuple(rng.sample(workload.dims, len(dims)))
        entries.append(LevelMapping(level=level.name, tile=dict(tile), permutation=order, spatial=spatial))
        outer = {dim: -(-size // spatial.get(dim, 1)) for dim, size in tile.items()}
    core = Core(vector_bytes=4, registers=rng.choice((1, 16, 64)), fma_ports=1, fma_latency=1, load_ports=1)
    machine = Machine(name="random", levels=tuple(levels), core=core)
    return workload, machine, Mapping(levels=tuple(reversed(entries)))


def nest_of(workload: Workload, machine: Machine, mapping: Mapping) -> TiledNest:
    """As the checker reads it."""
    levels = machine_document(machine)["levels"]
    return TiledNest(StatedWork(workload_document(workload)), mapping_document(mapping)["levels"], levels)


def document_of(
    workload: Workload, machine: Machine, mapping: Mapping, level: int, found: Keeping
) -> dict[str, object]:
    """What the checker reads of a document that claims what one level keeps."""
    passing = None if found.passing is None else access_names(workload)[found.passing]
    kept = {"tile": found.body.tile, "passing": passing}
    return {
        "machine": machine_document(machine),
        "mapping": mapping_document(mapping),
        "levels": [{"kept": kept if place == level else None} for place in range(len(machine.levels))],
    }


def attack_words(rng: random.Random, *, bounded: bool = True) -> str:
    """What levels keep of a random nest, held against its walk, proven bounds, and replacement that knows the future.

    Args:
        rng: draws.
        bounded: whether the bounds are proved, which takes longest.

    Returns:
        What kind of case it was.
    """
    workload, machine, mapping = random_nest(rng)
    mapping.check(workload, machine)
    seen, nest = set(), nest_of(workload, machine, mapping)
    ideal = simulate(workload, machine, mapping, policy="belady")
    for level, between in enumerate(machine.boundaries):
        found = keeping(workload, machine, mapping, level)
        words, moved = found.words(workload), found.traffic(workload)
        room = machine.levels[level].words(workload.word_bits)
        assert sum(words) <= room
        walked = walk_keeping(workload, between, found, Budget(10**7))
        assert [(row.loads_words, row.stores_words) for row in walked] == list(moved)
        part = KeptNestPart(document_of(workload, machine, mapping, level, found), nest, level)
        assert (part.shares(), part.moved()) == (list(words), list(moved))
        inside = any(ways > 1 for at in mapping.levels[: level + 1] for ways in at.spatial.values())
        outside = any(ways > 1 for at in mapping.levels[level + 1 :] for ways in at.spatial.values())
        deeper = len(found.body.around.levels) > len(machine.levels) - level
        seen.add("passing" if found.passing else "deeper" if deeper else "body")
        if found.body.ways:
            seen.add("side by side")
        if outside:
            continue
        loads, stores = (sum(row[at] for row in moved) for at in (0, 1))
        if not inside and found.passing is None:
            assert sum(row.loads_words for row in ideal if row.between == between) <= loads
        if bounded:
            bound = certified_bound(workload, fast_side_words(machine, level, workload.word_bits))
            assert bound.loads_words <= loads, (level, bound.loads_words, loads)
            assert bound.total_words <= loads + stores, (level, bound.total_words, loads + stores)
    return "+".join(sorted(seen))
