"""What every file that `solve` writes must do: pass `check` and `evaluate`, under any order of its keys."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from optmap import api
from optmap.answers.documents.recount import disagreements, evaluate_solution
from optmap.answers.documents.solution import read_solution, solution_document
from optmap.base.errors import InputError
from optmap.checker import check_document
from optmap.count.reference.simulate import walk_nest
from optmap.count.reference.walk_held import walk_held
from optmap.search import Answer


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same JSON value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = rng.sample(sorted(value), len(value))
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def assert_file_holds(result: Answer, folder: Path, *, simulate: bool = False) -> dict[str, Any]:
    """Write a result, check and evaluate the file as written and with its keys shuffled.

    Args:
        result: an answer of any method.
        folder: where the file goes.
        simulate: whether the nest is walked, too.

    Returns:
        The document.
    """
    document = json.loads(json.dumps(solution_document(result)))
    said = check_document(document)
    for made in (document, shuffled(document, random.Random(3))):
        file = folder / "solution.json"
        file.write_text(json.dumps(made), encoding="utf-8")
        assert check_document(made) == said
        read = read_solution(file)
        evaluation = evaluate_solution(read)
        assert disagreements(evaluation) == []
        assert evaluation.exact.value == result.exact
        assert evaluation.cost.value == result.cost
        if simulate and made is document:
            whole = (read.workload, read.machine, read.mapping)
            held = read.held
            moved = walk_nest(*whole) if held is None else walk_held(*whole, held, read.capacity).moved
            assert [(row.between, row.tensor, row.loads_words, row.stores_words) for row in moved] == [
                (row.between, row.tensor, row.loads_words, row.stores_words) for row in result.boundaries
            ]
    return document


def solved(workload: Any, folder: Path, *, simulate: bool = False, **options: Any) -> str:
    """Solve and test the file; `refused` if the method does not take the workload, else `held` or `nest`."""
    try:
        result = api.solve(workload, **options)
    except InputError:
        return "refused"
    assert_file_holds(result, folder, simulate=simulate)
    return "nest" if result.held is None else "held"
