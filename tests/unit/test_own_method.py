"""A method of one's own: registered, it is a name like any other, refused and recounted like any other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toys import SQUARED, points

import optmap
from optmap.base.errors import CheckError, InputError, UnknownNameError
from optmap.machines.machine import CapacityRule
from optmap.questions.objective import register_objective
from optmap.questions.options import IntegerRule, TileRule
from optmap.search import METHODS, Found, Method, Question, Route, cost_of, refuse, register_method

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "my-own-method.md"
STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
PROBLEM: dict[str, Any] = {"workload": STATEMENT, "extents": {"i": 12, "j": 10, "k": 8}}


def own(solve: Callable[[Question], Found], **abilities: Any) -> Method:
    abilities = {"objectives": ("bottleneck",), **abilities}
    method = Method(name="own", description="points", routes=(Route(solve=solve, **abilities),))
    register_method(method)
    return method


def test_the_example_of_the_page_is_solved_compared_saved_and_checked(
    registry: dict[str, Method], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random search, as a reader would type it."""
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[-1]
    exec(compile(example, PAGE.name, "exec"), {})
    said = capsys.readouterr().out
    assert "method     two-hundred" in said
    result = optmap.solve("resnet18/R12", memory="8192w", method="two-hundred")
    assert result.bound is not None
    assert result.bound.value <= result.exact <= result.cost
    assert result.relaxation.proved
    assert 0 < result.integer_bound <= result.cost
    result.save(tmp_path / "random.json")
    assert optmap.check(tmp_path / "random.json")
    assert optmap.evaluate(optmap.load(tmp_path / "random.json")).disagreements == []
    assert optmap.solve("resnet18/R12", machine="balanced", method="two-hundred", objective="sum").objective == "sum"
    assert "the best of 200 random mappings" in str(optmap.list("methods"))
    with pytest.raises(UnknownNameError, match=r"did you mean random\?"):
        optmap.solve("resnet18/R12", memory="8192w", method="randm")
    assert "two-hundred" in registry


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("abilities", "options", "said"),
    [
        ({}, {"cores": 2, "machine": "i7-9700k"}, "is for one core; use --cores 1, or --method mopt"),
        ({}, {"integers": "floor", "memory": "60w"}, "leave out --integers floor"),
        ({}, {"solver": "ipopt", "memory": "60w"}, "leave out --solver, or --method mopt"),
        ({"tiles": (TileRule.ANY,)}, {"tiles": "divisors", "memory": "60w"}, "use --tiles any"),
        ({"capacity": (CapacityRule.TILE,)}, {"capacity": "safe", "memory": "60w"}, "use --capacity tile"),
        ({"semantics": ()}, {"semantics": "assign", "memory": "60w"}, "use --semantics accumulate"),
        ({}, {"machine": "i7-9700k"}, "does not impose the microkernel of Reg"),
        ({}, {"machine": "gemmini-buffers"}, "does not know the partitions of Buffers .* --method iooub"),
        ({"most_levels": 1}, {"machine": "balanced"}, "it is for one level only; use --method mopt"),
        ({"fewest_levels": 2, "most_levels": 3}, {"memory": "60w"}, "it is for 2 to 3 levels"),
        ({"fewest_levels": 4}, {"machine": "balanced"}, "it is for 4 or more levels"),
        (
            {},
            {"objective": "sum", "machine": "balanced"},
            "does not minimise sum on 3 levels: there it knows bottleneck",
        ),
        ({"cores": True}, {"cores": 2, "memory": "60w"}, "no shared level to split among 2 cores"),
        ({"cores": True, "microkernels": True}, {"cores": 9, "machine": "i7-9700k"}, "8 cores, 9 were asked for"),
        ({"integers": tuple(IntegerRule)}, {"tiles": "divisors", "integers": "floor", "memory": "60w"}, "--tiles any"),
    ],
)
def test_what_it_cannot_do_is_refused_for_it(abilities: dict[str, Any], options: dict[str, Any], said: str) -> None:
    """Its function is not called."""
    own(lambda _: pytest.fail("called"), **abilities)
    with pytest.raises(InputError, match=said):
        optmap.solve(**PROBLEM, method="own", **options)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("found", "options", "said"),
    [
        (lambda r: Found(mapping=points(r, i=12, j=10)), {}, "not valid on its machine: Fast is short by"),
        (lambda r: Found(mapping=points(r), claimed=1.0), {}, "the search claims a cost of 1"),
        (lambda r: Found(mapping=points(r, i=5)), {"tiles": "divisors"}, "i=5 does not divide 12"),
    ],
)
def test_what_it_claims_is_counted_again(
    found: Callable[[Question], Found], options: dict[str, str], said: str
) -> None:
    own(found)
    with pytest.raises(CheckError, match=said):
        optmap.solve(**PROBLEM, memory="60w", method="own", **options)


@pytest.mark.usefixtures("registry")
def test_it_may_minimise_an_objective_of_ones_own() -> None:
    """Counted, bounded by what must move, and refused by the methods that do not know it."""
    register_objective(SQUARED)
    own(lambda question: Found(mapping=points(question, i=3)), objectives=("squared",))
    result = optmap.solve(**PROBLEM, memory="60w", method="own")
    assert result.objective == "squared"
    assert result.exact == sum(row.words for row in result.boundaries) ** 2
    assert result.cost_unit == "words*words"
    least = 12 * 8 + 8 * 10 + 2 * 12 * 10
    assert result.relaxation.value == result.integer_bound == least**2
    assert result.bound is not None
    assert least**2 <= result.bound.value <= result.exact
    with pytest.raises(InputError, match=r"does not minimise squared .* use --method own"):
        optmap.solve(**PROBLEM, memory="60w", method="mopt", objective="squared")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, method in METHODS.items()
        if method.suits(optmap.machine(memory="9999w")) and not method.routes[0].chains
    ],
)
def test_every_method_says_what_it_can_do(name: str) -> None:
    """A question is refused before anything is computed, or a route is named that minimises it."""
    question = Question(workload=optmap.workload("resnet18/R12"), machine=optmap.machine(memory="9999w"))
    route = refuse(question, METHODS[name])
    assert "bottleneck" in route.minimises(question.machine)
    assert cost_of(question, points(question)) is not None
    assert cost_of(question, points(question, k=512, c=512)) is None


@pytest.mark.usefixtures("registry")
def test_a_name_is_given_once() -> None:
    method = own(lambda question: Found(mapping=points(question)))
    with pytest.raises(InputError, match="method 'own' exists"):
        register_method(method)


def test_what_plugins_were_written_with_before_says_what_stands_for_it_now() -> None:
    """Names that are gone, and a route beside the others."""
    with pytest.raises(InputError, match=r"no optmap.search.AcceleratorRoute any more: write Route\(meshes=True"):
        exec("from optmap.search import AcceleratorRoute", {})
    with pytest.raises(InputError, match="a method is asked a Question"):
        exec("from optmap.search import Request", {})
    with pytest.raises(InputError, match=r"method old: a method has no accelerator= any more; .* routes="):
        Method(name="old", description="-", accelerator=object())
