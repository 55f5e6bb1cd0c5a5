"""Random mapping trees over small chains: most are valid, some are refused by the walk."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from optmap.base.errors import InputError, TreeError
from optmap.files.fields import Fields
from optmap.files.trees import read_tree
from optmap.machines.machine import Level, Machine
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.nodes import Keep, leaves
from optmap.mappings.nodes import Sequence as Branches
from optmap.mappings.tree import MappingTree
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

FAMILIES = (
    "C[m,n] = A[m,k]*B[k,n]",
    "O[k,h] = I[c,2*h+r]*F[k,c,r]",
    "C[m,n] = A[m,k]*A[n,k]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*B[n,l]",
    "S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m",
    "S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]) if l <= m; C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = exp(S[m,l])",
    "S[m,l] = A[m,k]*B[k,l]; C[m,l] = S[m,l] + X[m,l]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; G[m,p] = S[m,l]*E[l,p]",
    "S[m,c] = A[m,b]*B[b,c]; T[m,d] = S[m,c]*D[c,d]; C[m,e] = T[m,d]*E[d,e]",
    "S[c,y] = A[d,y+p]*F[c,d,p]; O[k,h] = S[c,h+r]*G[k,c,r]",
    "S[c,y] = A[d,y+p]*F[c,d,p]; P[c,h] max= S[c,2*h+r]",
    "S[c,y] = A[c,y+p in 1..4]*F[c,p]; O[k,y] = S[c,y]*G[k,c]",
)
ROWS = (
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(0.5*S[m,l], l); C[m,n] = P[m,l]*D[l,n]",
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; P[h,m,l] = softmax(S[h,m,l], l); C[h,m,n] = P[h,m,l]*D[h,l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = rmsnorm(S[m,l], l); T[m,l] = relu(P[m,l]); C[m,n] = T[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = layernorm(S[m,l], l); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], m); C[m,n] = P[m,l]*D[l,n]",
    "P[m,l] = rmsnorm(X[m,l], l)*G[l]; C[m,n] = P[m,l]*D[l,n]; E[m,k] = P[m,l]*F[l,k]",
    "P[m,l] = softmax(X[m,l], l) + Y[m,l]; C[m,n] = P[m,l]*D[l,n]",
    "P[m,l] = softmax(X[m,l], l); T[m,l] = exp(P[m,l]); C[m,n] = T[m,l]*D[l,n]",
    "P[m,l] = softmax(X[m,l], l); T[m,l] = P[m,l]/2",
    "S[m,l] = A[m,k]*B[k,l] if l <= m; P[m,l] = softmax(S[m,l], l) if l <= m; C[m,n] = P[m,l]*D[l,n] if l <= m",
)
"""Chains with functions of rows."""
DIMS = "bcdehklmnpry"


def random_workload(rng: random.Random, largest: int = 4, families: Sequence[str] = ()) -> Workload:
    """A chain with small extents; windows read what is written."""
    text = rng.choice(families or FAMILIES)
    sizes = {d: rng.randint(1, largest) for d in DIMS}
    sizes["r"], sizes["p"] = rng.randint(1, 3), rng.randint(1, 3)
    if "h+r" in text:
        sizes["y"] = (2 if "2*h" in text else 1) * (sizes["h"] - 1) + sizes["r"]
    named = {d: n for d, n in sizes.items() if any(c == d for c in _letters(text))}
    tensors = sorted({c for c in text if c.isupper()})
    widths = {t: rng.choice((1, 2, 4)) for t in tensors} if rng.random() < 0.3 else 4
    outputs = ("S",) if text.count(";") and rng.random() < 0.1 else ()
    semantics = rng.choice(list(Semantics))
    try:
        return parse_workload(text, named, bytes=widths, semantics=semantics, outputs=outputs)
    except InputError:  # a strided window that leaves gaps, or padding alone
        return random_workload(rng, largest, families)


def _letters(text: str) -> set[str]:
    found, inside = set(), False
    for number, c in enumerate(text):
        inside = (inside or c == "[") and c != "]"
        alone = not (text[number - 1].isalpha() or text[number + 1 : number + 2].isalpha())
        if inside and c.isalpha() and alone:
            found.add(c)
    return found


def random_machine(rng: random.Random) -> Machine:
    """One or two roomy scratchpads."""
    levels = tuple(
        Level(name=f"L{i + 1}", capacity=Capacity(amount=100_000, unit="words")) for i in range(rng.randint(1, 2))
    )
    return Machine(name="roomy", levels=levels)


def random_tree(
    rng: random.Random, *, largest: int = 4, shared: bool = False, families: Sequence[str] = ()
) -> MappingTree:
    """A tree that is valid by itself, some with pinned parts and boxes.

    Args:
        rng: whose numbers are used.
        largest: extent of most dims.
        shared: whether all loops are over dims of every statement below and there are no boxes.
        families: chains of which one is taken; `FAMILIES` if there are none.
    """
    while True:
        workload, machine = random_workload(rng, largest, families), random_machine(rng)
        nodes = _skeleton(rng, workload, [s.name for s in workload.statements], boxes=not shared, shared=shared)
        stored = kept_tensors(workload).stored_as
        for tensor in dict.fromkeys(stored.values()):
            levels = [level.name for level in machine.levels]
            mine = [level for level in reversed(levels) if level == levels[0] or rng.random() < 0.5]
            if rng.random() < 0.3:
                mine = [machine.memory, *mine]
            _keep(rng, workload, nodes, tensor, mine)
        try:
            return read_tree(Fields.of({"tree": nodes}, "tree"), workload, machine)
        except TreeError:
            continue


def _skeleton(rng: random.Random, workload: Workload, names: list[str], *, boxes: bool, shared: bool) -> list[dict]:
    """Loops, sequences, boxes and leaves of some statements."""
    each = [set(workload.statement(name).dims) for name in names]
    dims = sorted(set.intersection(*each) if shared else set.union(*each))
    nodes: list[dict] = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3) if len(names) > 1 else (0, 1, 2, 3, 4))):
        dim = rng.choice(dims)
        tile = rng.randint(1, workload.extents[dim])
        shorter = {"first": rng.randint(1, tile - 1)} if tile > 1 and rng.random() < 0.25 else {}
        nodes.append({"loop": dim, "tile": tile, **shorter})
    if len(names) > 1:
        cut = rng.randint(1, len(names) - 1)
        groups = [names[:cut], names[cut:]] if rng.random() < 0.6 else [[name] for name in names]
        if rng.random() < 0.03:
            groups.reverse()
        return [*nodes, {"sequence": [_skeleton(rng, workload, group, boxes=boxes, shared=shared) for group in groups]}]
    wide = [d for d in dims if workload.extents[d] > 1]
    if boxes and wide and rng.random() < 0.15:
        dim = rng.choice(wide)
        size = workload.extents[dim]
        cut = rng.randint(1, size - 1)
        parts = ([0, cut], [cut, size])
        branches = [
            [{"box": {dim: part}}, *_skeleton(rng, workload, names, boxes=False, shared=shared)] for part in parts
        ]
        return [*nodes, {"sequence": branches}]
    return [*nodes, {"compute": names[0]}]


def _touches(workload: Workload, nodes: list[dict], tensor: str) -> bool:
    last = nodes[-1]
    if "compute" in last:
        kept = kept_tensors(workload)
        return any(kept.stored_as[access.name] == tensor for access in kept.touched[last["compute"]])
    return any(_touches(workload, branch, tensor) for branch in last["sequence"])


def _keep(rng: random.Random, workload: Workload, nodes: list[dict], tensor: str, levels: list[str]) -> None:
    """Put Keeps of a tensor at levels, outermost first, somewhere on every path that touches it."""
    here = len(levels) if "compute" in nodes[-1] or rng.random() < 0.6 else rng.randint(0, len(levels))
    first = 0
    for level in levels[:here]:
        if level != "Memory" and rng.random() < 0.15:
            dim = rng.choice([d for d in workload.dims if workload.extents[d] > 0])
            low = rng.randint(0, workload.extents[dim] - 1)
            part = {dim: [low, rng.randint(low + 1, workload.extents[dim])]}
            first = rng.randint(first, len(nodes) - 1)
            nodes.insert(first, {"keep": level, "tensors": [tensor], "of": part})
            first += 1
        first = rng.randint(first, len(nodes) - 1)
        nodes.insert(first, {"keep": level, "tensors": [tensor]})
        first += 1
    if levels[here:]:
        for branch in nodes[-1]["sequence"]:
            if _touches(workload, branch, tensor):
                _keep(rng, workload, branch, tensor, levels[here:])


def there_for_some(rng: random.Random, tree: MappingTree) -> tuple[MappingTree, MappingTree] | None:
    """A tree with a Keep that is there for some branches of the sequence below it only, and the same in other words.

    In other words the Keep is above these branches alone, in a sequence of their own if there are several.

    Returns:
        None for a tree without such a place, or where the Keep would be above nothing that it names.
    """
    *above, last = tree.nodes
    keep = above[-1] if above else None
    if not isinstance(keep, Keep) or not isinstance(last, Branches):
        return None
    first = rng.randrange(len(last.branches))
    beyond = rng.randint(first + 1, len(last.branches))
    before, mine, after = last.branches[:first], last.branches[first:beyond], last.branches[beyond:]
    only, others = (
        tuple(leaf.statement for branch in some for leaf in leaves(branch)) for some in (mine, (*before, *after))
    )
    if not others or set(only) & set(others):
        return None
    moved = (keep, *mine[0]) if len(mine) == 1 else (keep, Branches(branches=mine))
    try:
        return (
            replace(tree, nodes=(*above[:-1], replace(keep, only=only), last)),
            replace(tree, nodes=(*above[:-1], Branches(branches=(*before, moved, *after)))),
        )
    except TreeError:
        return None


def kept_for_some(rng: random.Random, tree: MappingTree) -> MappingTree:
    """A tree with Keeps for some statements only, at any place inside each other, in place of some that it has."""
    workload, machine = tree.workload, tree.machine
    known, inner = kept_tensors(workload), machine.levels[0].name
    stored, made = known.stored_as, set().union(*known.made.values())
    while True:
        nodes = [node.document() for node in tree.nodes]
        for each in _lists(nodes):
            each[:] = [n for n in each if "keep" not in n or rng.random() < (0.9 if made & {*n["tensors"]} else 0.3)]
        for _ in range(rng.randint(1, 3)):
            chosen = rng.choice([each for each in _lists(nodes) if "sequence" in each[-1]])
            names = list(dict.fromkeys(each[-1]["compute"] for each in _lists(chosen) if "compute" in each[-1]))
            first = rng.randrange(len(names))
            only = (
                names[first : rng.randint(first + 1, len(names))]
                if rng.random() < 0.8
                else rng.sample(names, min(len(names), 2))
            )
            tensor = stored[rng.choice(known.touched[rng.choice(only)]).name]
            level = rng.choice([machine.memory, *(each.name for each in machine.levels)])
            if rng.random() < 0.3:
                tensor, level = rng.choice(
                    [(n["tensors"][0], n["keep"]) for n in chosen if "keep" in n] or [(tensor, level)]
                )
                chosen[:] = [n for n in chosen if n.get("keep") != level or n["tensors"] != [tensor]]
            chosen.insert(rng.randint(0, len(chosen) - 1), {"keep": level, "tensors": [tensor], "only": only})
        _keep_inmost(workload, nodes, inner, {})
        try:
            return read_tree(Fields.of({"tree": nodes}, "tree"), workload, machine)
        except TreeError:
            continue


def _lists(nodes: list[dict]) -> list[list[dict]]:
    """A list of nodes and all inside it."""
    return [nodes, *(each for branch in nodes[-1].get("sequence", ()) for each in _lists(branch))]


def _keep_inmost(workload: Workload, nodes: list[dict], level: str, kept: dict[str, list[set[str]]]) -> None:
    """Keep what a statement touches right above it, if a level does not keep it for it further out.

    Args:
        workload: whose statements.
        nodes: some of a tree.
        level: the innermost.
        kept: by the name under which a tensor is stored, the statements for which each Keep of the level is there.
    """
    known = kept_tensors(workload)
    stored = known.stored_as
    every = {statement.name for statement in workload.statements}
    for node in nodes:
        if node.get("keep") == level and "of" not in node:
            mine = [set(node.get("only", every))]
            kept = {**kept, **{stored[t]: kept.get(stored[t], []) + mine for t in node["tensors"]}}
    for branch in nodes[-1].get("sequence", ()):
        _keep_inmost(workload, branch, level, kept)
    if "compute" in nodes[-1]:
        name = nodes[-1]["compute"]
        for tensor in dict.fromkeys(stored[access.name] for access in known.touched[name]):
            if not any(name in some for some in kept.get(tensor, [])):
                nodes.insert(-1, {"keep": level, "tensors": [tensor]})


def random_boxed_tree(rng: random.Random, families: Sequence[str], *, largest: int = 4) -> MappingTree:
    """A tree whose boxes cut dims of what statements write, every leaf being in one of the parts of each.

    Args:
        rng: whose numbers are used.
        families: chains of which one is taken.
        largest: extent of most dims.
    """
    while True:
        workload, machine = random_workload(rng, largest, families), random_machine(rng)
        fine = [
            d
            for d, n in workload.sizes
            if n > 1 and all(d in s.output.dims for s in workload.statements if d in s.dims)
        ]
        cuts = {}
        for dim in rng.sample(fine, min(len(fine), rng.choice((1, 1, 2)))):
            ends = sorted({0, workload.extents[dim], rng.randint(1, workload.extents[dim] - 1)})
            cuts[dim] = list(pairwise(ends))
        jobs = [
            (s.name, dict(zip(mine, parts, strict=True)))
            for s in workload.statements
            for mine in [[d for d in cuts if d in s.dims]]
            for parts in product(*(cuts[d] for d in mine))
        ]
        nodes = _boxed(rng, workload, jobs, frozenset(cuts))
        stored = kept_tensors(workload).stored_as
        for tensor in dict.fromkeys(stored.values()):
            levels = [level.name for level in machine.levels]
            mine = [level for level in reversed(levels) if level == levels[0] or rng.random() < 0.5]
            _keep(rng, workload, nodes, tensor, [machine.memory, *mine] if rng.random() < 0.6 else mine)
        try:
            return read_tree(Fields.of({"tree": nodes}, "tree"), workload, machine)
        except TreeError:
            continue


def _boxed(rng: random.Random, workload: Workload, jobs: list[tuple[str, dict]], cut: frozenset[str]) -> list[dict]:
    """Boxes, loops, sequences and leaves of statements in parts, of dims that no box so far has cut."""
    nodes: list[dict] = []
    alike = [d for d in cut if all(d in own and own[d] == jobs[0][1][d] for _, own in jobs)]
    for dim in alike if not jobs[1:] else [d for d in alike if rng.random() < 0.7]:
        nodes.append({"box": {dim: list(jobs[0][1][dim])}})
        cut -= {dim}
    shared = sorted(set.intersection(*(set(workload.statement(name).dims) for name, _ in jobs)) - cut)
    for _ in range(rng.choice((0, 0, 1, 1, 2)) if shared else 0):
        dim = rng.choice(shared)
        nodes.append({"loop": dim, "tile": rng.randint(1, workload.extents[dim])})
    if not jobs[1:]:
        return [*nodes, {"compute": jobs[0][0]}]
    sides = [d for d in cut if all(d in own for _, own in jobs) and any(own[d] != jobs[0][1][d] for _, own in jobs)]
    if sides and rng.random() < 0.7:
        side = rng.choice(sides)
        groups = [[job for job in jobs if job[1][side] == part] for part in dict.fromkeys(own[side] for _, own in jobs)]
    else:
        at = rng.randint(1, len(jobs) - 1)
        groups = [jobs[:at], jobs[at:]]
    return [*nodes, {"sequence": [_boxed(rng, workload, group, cut) for group in groups]}]
