"""Mapping trees: as loops, and what a walk of one moves and holds, as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optmap.answers.documents.saved_tree import SCHEMA, SavedTree, TreeEvaluation
from optmap.base.texts import number
from optmap.count.trees import TreeCount
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.trees import tree_document
from optmap.files.workloads import workload_document
from optmap.mappings.forms import levels_of
from optmap.mappings.nodes import Box, Compute, Keep, Loop, Node, Sequence, Split, ranges_text
from optmap.mappings.tree import MappingTree
from optmap.report.tables import grid, machine_line, pairs, workload_lines
from optmap.search.result import Answer
from optmap.workloads.workload import Workload

INDENT = "  "


def nest_of(saved: SavedTree) -> str:
    """The loops that a tree of a file stands for."""
    return tree_text(saved.tree)


def tree_text(tree: MappingTree) -> str:
    """A tree as indented loops with what is kept where, outermost first.

    A loop over a part of a dim that other loops have cut goes on inside their tile; its last step may be shorter.
    """
    return "\n".join(tree_lines(tree))


def tree_lines(tree: MappingTree) -> Iterator[str]:
    """The lines of `tree_text`: one per node, and two braces around every branch of a sequence."""
    return _lines(tree.nodes, 0, tree.workload)


def _lines(nodes: tuple[Node, ...], depth: int, workload: Workload) -> Iterator[str]:
    for node in nodes:
        indent = INDENT * depth
        match node:
            case Keep():
                yield f"{indent}/* {node} */"
            case Loop(dim=dim, tile=tile, first=first):
                yield f"{indent}for ({dim} in steps of {tile}{f', the first one of {first}' if first else ''})"
                depth += 1
            case Split(dim=dim, ways=ways, axis=axis):
                yield f"{indent}parallel for ({dim} in {ways} equal parts along {axis})"
                depth += 1
            case Box(ranges=ranges):
                yield f"{indent}for ({ranges_text(ranges)} only)"
                depth += 1
            case Compute(statement=name):
                yield f"{indent}{_statement(name, workload)};"
            case Sequence(branches=branches):
                for branch in branches:
                    yield f"{indent}{{"
                    yield from _lines(branch, depth + 1, workload)
                    yield f"{indent}}}"


def _statement(name: str, workload: Workload) -> str:
    statements = [each.name for each in workload.statements]
    return workload.texts[statements.index(name)]


def tree_table(saved: SavedTree) -> str:
    """A saved tree for people: the question, then its loops."""
    tree = saved.tree
    rows = [*workload_lines(tree.workload), ("machine", machine_line(tree.machine))]
    return f"{pairs(rows)}\n\n{tree_text(tree)}"


def saved_document(saved: SavedTree) -> dict[str, object]:
    """A saved tree as JSON; a mapping that the form `levels` can say is written in that form."""
    tree = saved.tree
    return {
        "schema": SCHEMA,
        "workload": workload_document(tree.workload),
        "machine": machine_document(tree.machine),
        "capacity_rule": saved.capacity.value,
        "mapping": mapping_document(levels_of(tree) or tree),
    }


def evaluation_document(evaluation: TreeEvaluation) -> dict[str, object]:
    """The JSON document of `evaluate` for a tree; the keys that it shares with `solve` mean the same."""
    return {
        **saved_document(evaluation.saved),
        "schema": "optmap.tree-evaluation/1",
        "mapping": tree_document(evaluation.saved.tree),
        "counted": "walk" if evaluation.count.walked else "closed form",
        "boundaries": evaluation.counted["boundaries"],
        "levels": evaluation.counted["levels"],
        "violations": list(evaluation.count.broken),
    }


def evaluation_table(evaluation: TreeEvaluation) -> str:
    """What a tree moves and holds, for people."""
    also = "" if evaluation.walk is None else " and by a literal walk"
    return "\n\n".join([tree_table(evaluation.saved), *_count_tables(evaluation.count, also)])


def _count_tables(count: TreeCount, also: str = "") -> Iterator[str]:
    """Words moved, and room taken."""
    counted = "by a literal walk" if count.walked else "in closed form"
    moved = [(" - ".join(r.between), r.tensor, f"{r.loads_words:,}", f"{r.stores_words:,}") for r in count.moved]
    rooms = [
        (r.part, f"{r.occupancy_words:,}", f"{r.capacity_words:,}", "no" if r.short_words else "yes")
        for r in count.rooms
    ]
    header = ("between", "tensor", "loads (words)", "stores (words)")
    yield f"Words moved over all instances, counted {counted}{also}\n" + grid(header, "<<>>", moved)
    header = ("level", "occupancy (words)", "capacity (words)", "fits")
    yield "Most that one instance of a level holds\n" + grid(header, "<>>>", rooms)


def answer_nest(answer: Answer[Any, Any]) -> str:
    """The loops of the mapping that was found for a chain."""
    return tree_text(answer.mapping)


def answer_table(answer: Answer[Any, Any]) -> str:
    """The whole answer of `solve` to a chain, for people."""
    unit, bound = answer.cost_unit, answer.bound
    head = pairs(
        [
            *workload_lines(answer.workload),
            ("machine", machine_line(answer.machine)),
            ("method", f"{answer.method}, objective {answer.objective}"),
            ("status", f"{answer.stop.value}, the best of its space" if answer.proved else answer.stop.value),
            ("space", answer.space),
        ]
    )
    rows = [("cost", f"{number(answer.cost)} {unit}")]
    if bound is not None:
        rows.append(("bound", f"{number(bound.value)} {unit} ({bound.method}; of the whole chain, any schedule)"))
    if answer.gap is not None:
        rows.append(("gap", f"{100 * float(answer.gap):.3f} % of cost above the bound"))
    notes = [f"note: {note}" for note in answer.notes]
    parts = [head, tree_text(answer.mapping), *_count_tables(answer.count)]
    return "\n\n".join([*parts, pairs([*rows, ("time", f"{answer.seconds:.3f} s")]), *notes])
