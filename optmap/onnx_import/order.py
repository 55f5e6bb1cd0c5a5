"""Nodes in an order in which each comes after those whose outputs it reads; a graph without one is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from optmap.base.errors import InputError

Key = TypeVar("Key", bound=Hashable)
SHOWN = 12
"""Nodes of a cycle that a message names."""


def put_in_order(model: Any, path: Path) -> None:
    """Sort the nodes of a model's graph, of the bodies in it and of its functions in place; sorted ones stay.

    Raises:
        InputError: if nodes (or functions) read each other in a cycle, or a value is written twice; names them.
    """
    _sort(model.graph, {weight.name for weight in model.graph.initializer}, path)
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    for function in model.functions:
        _sort(function, set(), path)
    calls = {
        key: {
            callee
            for node in _all_nodes(function)
            if (callee := (node.domain, node.op_type, node.overload)) in functions
        }
        for key, function in functions.items()
    }
    cycle = _cycle(calls)
    if cycle:
        raise InputError(
            f"{path}: functions of the model call each other in a cycle: {_listed(f for _, f, _ in cycle)}"
        )


def _sort(graph: Any, weights: set[str], path: Path) -> None:
    """The nodes of a graph or function, and of every body in it."""
    nodes = list(graph.node)
    inputs = {value if isinstance(value, str) else value.name for value in graph.input}
    writers: dict[str, int] = {}
    for place, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in writers or name in inputs or name in weights:
                first = _label(nodes[writers[name]]) if name in writers else "the model's inputs or constants"
                raise InputError(
                    f"{path}: {_label(node)} writes {name!r}, which {first} has already; "
                    "the model contradicts itself, export it again"
                )
            writers[name] = place
        for body in bodies(node):
            _sort(body, {weight.name for weight in body.initializer}, path)
    needs = {place: {writers[name] for name in _reads(node) if name in writers} for place, node in enumerate(nodes)}
    order = _order(needs)
    if len(order) < len(nodes):
        places = _cycle({place: needs[place] for place in needs.keys() - set(order)})
        raise InputError(
            f"{path}: nodes read each other in a cycle: {_listed(_label(nodes[place]) for place in places)}; "
            "the model contradicts itself, export it again"
        )
    if order != list(range(len(nodes))):
        del graph.node[:]
        graph.node.extend(nodes[place] for place in order)


def _order(needs: dict[int, set[int]]) -> list[int]:
    """Places in an order that meets all needs, as they were if they do; those of cycles and behind them are missing."""
    if all(need < place for place, own in needs.items() for need in own):
        return sorted(needs)
    readers: dict[int, list[int]] = {place: [] for place in needs}
    for place, own in needs.items():
        for need in own:
            readers[need].append(place)
    missing = {place: len(own) for place, own in needs.items()}
    ready = deque(sorted(place for place, count in missing.items() if not count))
    found: list[int] = []
    while ready:
        place = ready.popleft()
        found.append(place)
        for reader in readers[place]:
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    return found


def _cycle(needs: dict[Key, set[Key]]) -> list[Key]:
    """One cycle among things that need others, in the order in which they do; empty if there is none."""
    state = dict.fromkeys(needs, 0)
    for start, first in needs.items():
        trail: list[tuple[Key, Iterator[Key]]] = []
        if not state[start]:
            state[start] = 1
            trail.append((start, iter(first)))
        while trail:
            here, rest = trail[-1]
            following = next((need for need in rest if need in state and state[need] < 2), None)
            if following is None:
                state[here] = 2
                trail.pop()
            elif state[following] == 1:
                held = [each for each, _ in trail]
                return held[held.index(following) :]
            else:
                state[following] = 1
                trail.append((following, iter(needs[following])))
    return []


def bodies(node: Any) -> Iterator[Any]:
    """The graphs inside a node of control flow."""
    for attribute in node.attribute:
        if attribute.type == attribute.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for body in bodies(node):
            yield from _all_nodes(body)


def _reads(node: Any) -> set[str]:
    """What a node reads, its bodies included; a body's own values hide those of the same name around it."""
    found = {name for name in node.input if name}
    for body in bodies(node):
        own = {value.name for value in (*body.input, *body.initializer)}
        own |= {name for inner in body.node for name in inner.output}
        wanted = {name for inner in body.node for name in _reads(inner)} | {value.name for value in body.output}
        found |= wanted - own
    return found


def _label(node: Any) -> str:
    name = node.name or next(filter(None, node.output), "")
    return f"{node.op_type} {name!r}" if name else str(node.op_type)


def _listed(names: Iterable[str]) -> str:
    texts = list(names)
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more
