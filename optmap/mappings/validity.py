"""What a mapping tree must be, whatever its numbers: the rules that a walk need not be asked for.

The kinds of reasons are those of `TreeError`; what depends on the order of operations (`incomplete`, `lost`, and
operations that are left over) comes out of `optmap.count.trees`.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import prod

from optmap.base.errors import TreeError
from optmap.machines.machine import LevelKind, Machine
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.nodes import Address, Box, Compute, Keep, Loop, Node, PathLeaf, Sequence, Split, leaves
from optmap.mappings.permissions import refused_levels, required_levels
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload

MALFORMED = "malformed"
NOT_KEPT = "not kept"
NOT_DONE = "not done"


def check_tree(workload: Workload, machine: Machine, nodes: tuple[Node, ...]) -> None:
    """Refuse a tree that means nothing.

    Args:
        workload: what is computed.
        machine: on what.
        nodes: the outermost list.

    Raises:
        TreeError: with the first reason.
    """
    _check_lists(nodes)
    found = leaves(nodes)
    _check_leaves(workload, found)
    below: dict[Address, list[PathLeaf]] = {}
    by_address: dict[Address, Node] = {}
    for leaf in found:
        for address, node in leaf.path:
            below.setdefault(address, []).append(leaf)
            by_address[address] = node
    for address, node in by_address.items():
        statements = [workload.statement(leaf.statement) for leaf in below[address]]
        _check_node(node, statements, workload, machine)
    named = {name for node in by_address.values() if isinstance(node, Keep) for name in node.tensors}
    unnamed = {each.name for each in kept_tensors(workload).statistics} - named
    for leaf in found:
        _check_splits(leaf, machine)
        _check_keeps(leaf, workload, machine, unnamed)
    _check_done(workload, found)


def _malformed(reason: str) -> TreeError:
    return TreeError(MALFORMED, reason)


def _check_lists(nodes: tuple[Node, ...]) -> None:
    ends = [isinstance(node, Compute | Sequence) for node in nodes]
    if not ends or not ends[-1] or any(ends[:-1]):
        raise _malformed("a list ends with a compute or a sequence, and has one of them there only")
    last = nodes[-1]
    if isinstance(last, Sequence):
        if len(last.branches) < 2:
            raise _malformed(f"a sequence has two branches or more; this one has {len(last.branches)}")
        for branch in last.branches:
            _check_lists(branch)


def _check_leaves(workload: Workload, found: tuple[PathLeaf, ...]) -> None:
    """Refuse a leaf of no statement, and two leaves of one that might do the same operations."""
    known = [statement.name for statement in workload.statements]
    for leaf in found:
        if leaf.statement not in known:
            raise _malformed(f"compute {leaf.statement}, which is no statement; they are {', '.join(known)}")
    for one, other in combinations(found, 2):
        if one.statement == other.statement and not _apart(one, other, workload.statement(one.statement)):
            raise _malformed(
                f"statement {one.statement} has two leaves; it has one, or several in boxes without a common iteration"
            )


def _apart(one: PathLeaf, other: PathLeaf, statement: Statement) -> bool:
    """Whether boxes above two leaves have no iteration of the statement in common."""
    return any(
        not _meet(first.ranges[d], second.ranges[d])
        for first in _boxes(one)
        for second in _boxes(other)
        for d in first.ranges.keys() & second.ranges.keys() & set(statement.dims)
    )


def _meet(one: range, other: range) -> bool:
    """Whether two ranges have an iteration in common."""
    if one.step == other.step == 1:
        return max(one.start, other.start) < min(one.stop, other.stop)
    return not set(one).isdisjoint(other)


def _boxes(leaf: PathLeaf) -> tuple[Box, ...]:
    return tuple(node for _, node in leaf.path if isinstance(node, Box))


def _check_done(workload: Workload, found: tuple[PathLeaf, ...]) -> None:
    done = {leaf.statement for leaf in found}
    for statement in workload.statements:
        if statement.name not in done:
            raise TreeError(NOT_DONE, f"statement {statement.name} has no leaf: its operations are not done")


def _check_node(node: Node, statements: list[Statement], workload: Workload, machine: Machine) -> None:
    """Refuse a node that names what is not there, or concerns nothing below it."""
    dims = {d for statement in statements for d in statement.dims}
    if isinstance(node, Loop | Split):
        _check_dim(node.dim, "loop over", dims, workload)
        extent = workload.extents[node.dim]
        if isinstance(node, Loop) and not 1 <= node.tile <= extent:
            raise _malformed(f"loop over {node.dim} in tiles of {node.tile}; a tile has 1 to {extent} iterations")
        if isinstance(node, Loop) and node.first and not 0 < node.first < node.tile:
            sizes = f" has 1 to {node.tile - 1}, else" if node.tile > 1 else " has no iterations there:"
            raise _malformed(
                f"loop over {node.dim} in tiles of {node.tile} with {node.first} iterations first; a shorter first "
                f"step{sizes} leave it out"
            )
        if isinstance(node, Split) and node.ways < 1:
            raise _malformed(f"loop over {node.dim} in {node.ways} ways; there is one at least")
    elif isinstance(node, Keep):
        levels = [level.name for level in machine.levels] + [machine.memory]
        if node.level not in levels:
            raise _malformed(f"keep at {node.level}, which is no level; they are {', '.join(levels)}")
        if len(set(node.tensors)) != len(node.tensors):
            raise _malformed(f"keep at {node.level} names a tensor twice: {', '.join(node.tensors)}")
        for name in node.only:
            if name not in {statement.name for statement in statements}:
                raise _malformed(f"keep at {node.level} for {name} only, which is no statement below")
        for tensor in node.tensors:
            _check_tensor(tensor, node, statements, workload)
        _check_ranges(node.of, f"keep at {node.level} of", dims, workload)
    elif isinstance(node, Box):
        if not node.ranges:
            raise _malformed("a box without any dim; leave it out")
        _check_ranges(node.ranges, "box of", dims, workload)


def _check_dim(dim: str, what: str, dims: set[str], workload: Workload) -> None:
    if dim not in workload.dims:
        raise _malformed(f"{what} {dim}, which is no dim; they are {', '.join(workload.dims)}")
    if dim not in dims:
        raise _malformed(f"{what} {dim}, which no statement below has")


def _check_ranges(ranges: dict[str, range], what: str, dims: set[str], workload: Workload) -> None:
    for dim, each in ranges.items():
        _check_dim(dim, what, dims, workload)
        if not each or each.start < 0 or each.step < 1 or each[-1] >= workload.extents[dim]:
            raise _malformed(
                f"{what} {dim} from {each.start} to before {each.stop}; it must have some of the "
                f"{workload.extents[dim]} iterations that there are"
            )


def _check_tensor(tensor: str, node: Keep, statements: list[Statement], workload: Workload) -> None:
    kept = kept_tensors(workload)
    stored = kept.stored_as
    if tensor not in stored:
        raise _malformed(f"keep {tensor} at {node.level}, which is no tensor; they are {', '.join(stored)}")
    touched = {each.name: {stored[access.name] for access in kept.touched[each.name]} for each in statements}
    having = [name for name, some in touched.items() if stored[tensor] in some]
    if not having:
        raise _malformed(f"keep {tensor} at {node.level}, which no statement below has")
    if node.only and set(node.only).isdisjoint(having):
        raise _malformed(
            f"keep {tensor} at {node.level} for {' and '.join(node.only)} only, and none of these touches it; name "
            f"{' or '.join(dict.fromkeys(having))}, or leave {tensor} out"
        )


def _check_splits(leaf: PathLeaf, machine: Machine) -> None:
    """Refuse loops over axes that are not there or too short, and Keeps on the wrong side of them."""
    order = [machine.memory, *(level.name for level in reversed(machine.levels))]
    sizes = dict(machine.axes)
    splits = [(address, node) for address, node in leaf.path if isinstance(node, Split)]
    for address, node in splits:
        if node.axis not in sizes:
            raise _malformed(
                f"loop over {node.dim} along {node.axis}, which is no axis; they are {', '.join(sizes) or 'none'}"
            )
        ways = prod(each.ways for _, each in splits if each.axis == node.axis)
        if ways > sizes[node.axis]:
            raise _malformed(f"{ways} ways along {node.axis}, which has {sizes[node.axis]} children")
        feeder = order.index(node.axis.partition(".")[0])
        for place, keep in leaf.keeps:
            inside = place > address
            if inside != (order.index(keep.level) > feeder):
                side = "inside" if inside else "outside"
                raise _malformed(
                    f"keep at {keep.level} {side} the loop over {node.dim} along {node.axis}: what {order[feeder]} and "
                    "levels outside it keep is kept outside that loop, and what its children keep inside it"
                )
    names = [node.axis.partition(".")[0] for _, node in splits]
    if any(order.index(one) > order.index(other) for one, other in pairwise(names)):
        raise _malformed(f"loops over axes of {', '.join(names)}: those of outer levels come first")


def _check_keeps(leaf: PathLeaf, workload: Workload, machine: Machine, unnamed: set[str]) -> None:
    """Refuse a path whose Keeps of a tensor do not go inwards, and an access that is not kept where it must be.

    Args:
        leaf: at the end of the path.
        workload: what is computed.
        machine: on what.
        unnamed: statistics of rows that no Keep of the tree names: such a tree means something, and is not counted.
    """
    order = [level.name for level in machine.levels] + [machine.memory]
    kept = kept_tensors(workload)
    stored = kept.stored_as
    statement = workload.statement(leaf.statement)
    required, refused = required_levels(workload, statement, machine), refused_levels(workload, statement, machine)
    for tensor in dict.fromkeys(stored[access.name] for access in kept.touched[statement.name]):
        if tensor in unnamed:
            continue
        mine = [keep for _, keep in leaf.keeps if tensor in {stored[name] for name in keep.tensors}]
        for outer, inner in pairwise(mine):
            if order.index(inner.level) > order.index(outer.level):
                raise _malformed(f"{tensor} is kept at {inner.level} inside {outer.level}; levels go inwards")
            if inner.level == outer.level and not outer.of:
                raise _malformed(
                    f"{tensor} is kept at {inner.level} twice on the path to {leaf.statement}; outside its innermost "
                    "Keep a level may hold a part of it, with `of`"
                )
        levels = {keep.level for keep in mine if not keep.of}
        partly = {keep.level for keep in mine} - levels
        homed = bool(levels) and kept.roles[tensor] is TensorRole.INTERMEDIATE  # nothing of it is outside its home
        outermost = max(map(order.index, levels)) if homed else len(order)
        for level in required[tensor]:
            if level not in levels and order.index(level) < outermost:
                part = ", but a part only" if level in partly else ""
                raise TreeError(
                    NOT_KEPT, f"statement {leaf.statement}: {tensor} is not kept at {level} on its path{part}"
                )
        for level in refused[tensor] & (levels | partly):
            raise _malformed(f"{tensor} is kept at {level}, which must not keep it for statement {leaf.statement}")
        _check_inclusion(tensor, levels, leaf, machine)


def _check_inclusion(tensor: str, kept: set[str], leaf: PathLeaf, machine: Machine) -> None:
    """Refuse that a tensor passes an inclusive cache by."""
    inside = ""
    for level in machine.levels:
        if inside and level.kind is LevelKind.CACHE and level.inclusive and level.name not in kept:
            raise _malformed(
                f"{tensor} is kept at {inside} and not at {level.name} on the path to {leaf.statement}, but "
                f"{level.name} is inclusive; keep it there, or write inclusive: false in the machine"
            )
        inside = level.name if level.name in kept else inside
