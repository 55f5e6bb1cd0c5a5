"""Statistics of rows beside the tiles of a statement: what it keeps of them, and counts without them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Ordered
from dataclasses import replace

from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.nodes import Keep, Node, Sequence
from optmap.search.chains.trees import Branch
from optmap.workloads.access import TensorAccess
from optmap.workloads.expression import product
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload


def rows_of(workload: Workload, name: str) -> tuple[str, ...]:
    """Names of the statistics of rows that a statement updates or reads."""
    kept = kept_tensors(workload)
    known = {each.name for each in kept.statistics}
    return tuple(dict.fromkeys(access.name for access in kept.touched[name] if access.name in known))


def rows_beside(workload: Workload, statement: Statement, tail: Ordered[str]) -> dict[TensorAccess, str]:
    """Inputs that stand for the statistics of rows of a statement and of what is done to its result in place.

    Tiles that are found with them leave room for the rows, and rows come with every tile as they do in a tree.

    Args:
        workload: the chain.
        statement: in whose dims the subscripts are.
        tail: names of the functions in place.

    Returns:
        With the name of the statistic that the statement reads itself; empty for one of the tail alone.
    """
    kept, found = kept_tensors(workload), dict[TensorAccess, str]()
    names = {each.name: each.name.replace(".", "_") for each in kept.statistics}  # no tensor has a point in its name
    while not {access.name for access in workload.accesses}.isdisjoint(names.values()):
        names = {name: f"{other}_" for name, other in names.items()}
    own = rows_of(workload, statement.name)
    for each in (statement, *(workload.statement(name) for name in tail)):
        same = zip(each.output.axes, statement.output.axes, strict=True)
        renamed = {d: mine for one, other in same for d, mine in zip(one.dims, other.dims, strict=True)}
        for access in kept.touched[each.name]:
            if access.name in names:
                axes = (tuple((renamed.get(d, d), c) for d, c in axis.terms) for axis in access.axes)
                stands = tuple(replace(axis, terms=terms) for axis, terms in zip(access.axes, axes, strict=True))
                name = access.name if access.name in own else ""
                found.setdefault(replace(access, name=names[access.name], axes=stands), name)
    return found


def named_rows(node: Node, rows: Mapping[TensorAccess, str]) -> Node:
    """A Keep with statistics by their own names, without those that have none; any other node as it is.

    Args:
        node: of a statement with inputs that stand for statistics.
        rows: these, see `rows_beside`.
    """
    if not isinstance(node, Keep):
        return node
    names = {access.name: name for access, name in rows.items()}
    return replace(node, tensors=tuple(filter(None, (names.get(name, name) for name in node.tensors))))


def beside(node: Node, statistics: tuple[str, ...]) -> Node:
    """A Keep that keeps statistics as well; any other node as it is."""
    return replace(node, tensors=(*node.tensors, *statistics)) if isinstance(node, Keep) else node


def without_rows(part: Workload, nodes: Branch) -> tuple[Workload, Branch]:
    """Some statements of a chain and nodes that do them, to be counted without statistics of rows.

    A part that ends with rows, or reads those of others, has no count of its own with them. Keeps of what the part has
    not are left out as well.
    """
    plain = (each if each.row is None else replace(each, right=product(len(each.inputs))) for each in part.statements)
    part = replace(part, statements=tuple(plain))
    known = kept_tensors(part).stored_as

    def kept(some: Branch) -> Branch:
        found = list[Node]()
        for node in some:
            if isinstance(node, Keep):
                names = tuple(name for name in node.tensors if name in known)
                found += [replace(node, tensors=names)] if names else []
            elif isinstance(node, Sequence):
                found.append(Sequence(branches=tuple(map(kept, node.branches))))
            else:
                found.append(node)
        return tuple(found)

    return part, kept(nodes)
