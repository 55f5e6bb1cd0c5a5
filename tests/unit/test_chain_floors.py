"""Floors of chains: never above exact optima, as strong as the reference, and forged certificates are refused."""

from __future__ import annotations

import copy
import itertools
import json
import random
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import pytest
from cases import cases, some
from chain_pebbles import counted_comings, game, least_loads, local_order

import optmap
from optmap.base.errors import InputError
from optmap.bounds import CHAIN_BOUNDS, bounds
from optmap.bounds.best import best
from optmap.bounds.chains import Line, ProductPlaces, join, join_places
from optmap.bounds.chains.barrier import barriers
from optmap.bounds.chains.shared import sharings
from optmap.checker import RefusedError, check_document
from optmap.checker.chains.chain_masks import rules_of, values
from optmap.checker.chains.chain_text import read_chain_statement
from optmap.checker.chains.chain_touching import price
from optmap.checker.core.tools import digest
from optmap.machines.accelerator import Mesh, MeshAxis, Store
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Capacity
from optmap.workloads.domain import points
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "chains.json").read_text(encoding="utf-8"))["products"]
PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
CAUSAL = "S[m,l] = 0.5*A[m,k]*B[k,l] if l <= m; P[m,l] = softmax(S[m,l], l) if l <= m; C[m,n] = P[m,l]*D[l,n] if l <= m"
WHOLE = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]"
BRANCHES = "T[m,c] = X[m,d]*W[d,c]; Q[m,e] = T[m,c]*A[c,e]; K[m,f] = T[m,c]*B[c,f]"
TINY: list[tuple[str, str, int]] = [
    (PAIR, "m=1,l=2,k=2,n=2", 3),
    (PAIR, "m=2,l=2,k=1,n=1", 4),
    (PAIR, "m=3,l=1,k=1,n=2", 3),
    ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]", "m=1,l=2,k=2,n=1", 3),
    ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*B[n,l]", "m=1,l=2,k=2,n=2", 3),
    ("S[m,l] = A[m,k]*B[k,l]; T[m,n] = A[m,k]*D[k,n]", "m=2,l=1,k=2,n=1", 3),
    ("S[m,l] = A[m,k]*B[k,l]; R[m,l] = X[m,l] + S[m,l]; C[m,n] = R[m,l]*D[l,n]", "m=1,l=2,k=1,n=1", 3),
    ("S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m", "m=2,l=2,k=1,n=1", 3),
    ("S[x] = I[x+r]*F[r]; C[k,x] = S[x]*G[k]", "x=2,r=2,k=1", 3),
    ("S[m,l] = A[m]*B[l]; C[m,n] = S[m,l]*D[l,n]; E[m,p] = C[m,n]*F[n,p]", "m=1,l=2,n=2,p=1", 3),
    (BRANCHES, "m=2,c=2,d=1,e=1,f=1", 3),
    ("G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]; A[m,f] = silu(G[m,f])*U[m,f]", "m=2,d=2,f=1", 4),
    (BRANCHES, "m=2,c=1,d=1,e=1,f=2", 3),
    (CAUSAL, "m=2,l=2,k=1,n=1", 3),
    (CAUSAL, "m=1,l=1,k=2,n=1", 3),
    (WHOLE, "m=2,l=3,k=1,n=1", 3),
    (WHOLE, "m=1,l=4,k=1,n=1", 3),
    (WHOLE, "m=1,l=3,k=2,n=1", 3),
    (CAUSAL, "m=3,l=2,k=1,n=1", 4),
    (CAUSAL, "m=2,l=3,k=1,n=1", 3),
    (CAUSAL.replace("l <= m", "l < m + 2"), "m=2,l=2,k=1,n=1", 3),
    ("S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m", "m=2,l=2,k=2,n=1", 3),
]
HEAVY = (TINY[2], TINY[5], TINY[10], TINY[15])
"""Of these the exact optimum takes seconds."""


def chain(text: str, sizes: str, **more: Any) -> Workload:
    extents = {dim: int(n) for dim, n in (part.split("=") for part in sizes.split(","))}
    return parse_workload(text, extents, **more)


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize(("text", "sizes", "memory"), some([case for case in TINY if case not in HEAVY][::3], TINY))
def test_no_floor_is_above_an_exact_optimum(text: str, sizes: str, memory: int, semantics: Semantics) -> None:
    for outputs in ((), ("S",)):
        workload = chain(text, sizes, semantics=semantics, outputs=outputs if "S[" in text.partition(";")[2] else ())
        least = least_loads(workload, memory)
        assert least is not None
        for bound in bounds(workload, memory):
            assert bound.certificate is not None
            assert bound.loads_words <= least, bound.method


UNWRITTEN = [
    ("S[m,l] = A[m,k]*B[k,l] if m+l <= 0; C[m,n] = S[m,l]*D[l,n]", "m=20,l=20,k=2,n=20", 1),
    ("S[m,l] = A[m+k in 20..21]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "m=20,l=20,k=2,n=20", 20),
    ("D[l,n] = A[l,k]*B[k,n] if l+n <= 0; S[m,l] = E[m]*F[l]; C[m,n] = S[m,l]*D[l,n]", "m=20,l=20,k=2,n=20", 21),
]
"""Chains, and how many elements of what others make the last statement finds, at most."""


@pytest.mark.parametrize(("text", "sizes", "there"), UNWRITTEN)
def test_elements_that_are_not_there_take_no_room(text: str, sizes: str, there: int) -> None:
    """Column by column of C, all else that the last statement needs fits: nothing is loaded twice."""
    workload = chain(text, sizes, semantics=Semantics.ASSIGN)
    memory = 20 + there + 22
    least = sum(access.footprint(workload.extents) for access in workload.accesses if access.name not in "SCD") + 400
    found = {bound.method: bound.loads_words for bound in bounds(workload, memory)}
    assert max(found.values()) <= least, found


def test_padding_that_leaves_no_element_out_does_no_harm() -> None:
    workload = chain("S[c,y] = I[y+p in 1..9]*F[c,p]; C[n,y] = S[c,y]*D[n,c]", "c=40,y=9,p=3,n=40")
    found = {bound.method: bound.loads_words for bound in bounds(workload, 30, ["compulsory", "alone"])}
    assert found["alone"] > found["compulsory"]


def test_a_group_that_reads_elements_that_are_not_there_is_refused() -> None:
    sizes = "m=40,l=40,k=2,n=40"
    (whole,) = bounds(chain(PAIR, sizes, semantics=Semantics.ASSIGN), 100, ["alone"])
    masked = PAIR.replace(";", " if m+l <= 0;")
    (found,) = bounds(chain(masked, sizes, semantics=Semantics.ASSIGN), 100, ["compulsory"])
    assert whole.certificate is not None
    assert found.certificate is not None
    forged = copy.deepcopy(found.certificate)
    forged["groups"] = copy.deepcopy(whole.certificate["groups"])
    forged["claims"]["loads_words"] = sum(group["loads_words"] for group in forged["groups"])
    forged["claims"]["total_words"] = forged["claims"]["loads_words"] + forged["claims"]["stores_words"]
    with pytest.raises(RefusedError, match="may not be there"):
        check_document(signed(forged))


@pytest.mark.parametrize(
    ("number", "old", "new", "reason"),
    [
        (2, "D[l,n]", "D[l+1000,n]", "D is read where no statement writes it"),
        (2, "D[l,n]", "D[2*l,n]", "D is read where no statement writes it"),
        (0, "D[l,n]", "D[2*l,n]", "D is read where no statement writes it"),
        (0, "D[l,n]", "D[l in 1..63,n]", "D is read where no statement writes it"),
        (0, "F[n]", "F[n] if k <= n", "a condition is of a dim that its statement lacks"),
    ],
)
def test_a_chain_that_reads_what_it_does_not_write_is_refused(number: int, old: str, new: str, reason: str) -> None:
    """The theorem of groups needs every element that is read to be there: others take no room."""
    text = "D[l,n] = E[l]*F[n]; S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
    (found,) = bounds(chain(text, "m=64,l=64,k=1,n=32"), 80, ["lines"])
    forged = json.loads(json.dumps(found.certificate))
    assert forged["groups"]
    statement = forged["workload"]["statements"][number]
    forged["workload"]["statements"][number] = statement.replace(old, new)
    with pytest.raises(RefusedError, match=reason):
        check_document(signed(forged))


def reference_chain(row: dict[str, Any]) -> Workload:
    return chain(PAIR, f"m={row['m']},l={row['l']},k={row['K']},n={row['N']}")


def test_compulsory_words_of_the_reference() -> None:
    for row in REFERENCE:
        workload = reference_chain(row)
        (found,) = bounds(workload, row["M"], ["compulsory"])
        assert found.loads_words == row["comp"]
        assert found.stores_words == row["m"] * row["N"]


def numbers(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    """Where the whole numbers of a document are."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, (*path, key))
    elif type(value) is int:
        yield path, value


def signed(document: dict[str, Any]) -> dict[str, Any]:
    document["digest"] = digest(document)
    for group in document["groups"]:
        if "certificate" in group:
            group["certificate"]["digest"] = digest(group["certificate"])
    document["digest"] = digest(document)
    return document


def claimed(document: dict[str, Any]) -> tuple[str, int]:
    """What a certificate says: what it is about, and how much."""
    about = {key: document[key] for key in ("workload", "memory_words")}
    return json.dumps(about, sort_keys=True), document["claims"]["total_words"]


FORGED = [
    (PAIR, "m=64,l=64,k=4,n=4", 64),
    (PAIR, "m=64,l=64,k=16,n=16", 64),
    (PAIR, "m=64,l=64,k=16,n=16", 1024),
    ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*D[l,n]", "m=20,l=30,k=6,n=4", 40),
    ("O[k,x] = I[c,x+r]*F[k,c,r]; P[j,x] = O[k,x]*G[j,k]", "k=6,c=5,x=20,r=3,j=4", 20),
    (BRANCHES, "m=40,c=12,d=9,e=10,f=11", 30),
    (CAUSAL, "m=40,l=40,k=9,n=10", 30),
    (CAUSAL, "m=60,l=50,k=3,n=3", 40),
    (WHOLE, "m=40,l=400,k=9,n=10", 50),
]


@pytest.mark.parametrize(("text", "sizes", "memory"), FORGED)
def test_a_certificate_with_a_number_changed_is_refused_or_claims_no_more(text: str, sizes: str, memory: int) -> None:
    document = json.loads(json.dumps(bounds(chain(text, sizes), memory, ["best"])[0].certificate))
    check_document(document)
    about, words = claimed(document)
    places = list(numbers(document))
    for path, value in random.Random(1).sample(places, min(40, len(places))):
        for other in (value + 1, value - 1, value * 2):
            forged = copy.deepcopy(document)
            inside: Any = forged
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = other
            if other == value:
                continue
            try:
                check_document(signed(forged))
            except RefusedError:
                continue
            assert claimed(forged)[0] != about or claimed(forged)[1] <= words, path


def test_other_statements_are_not_what_a_certificate_is_of() -> None:
    document = json.loads(json.dumps(bounds(chain(PAIR, "m=64,l=64,k=16,n=16"), 64, ["best"])[0].certificate))
    for number, text, reason in (
        (1, "C[m,n] = S[m,l] * B[l,n]", "bytes do not cover"),
        (1, "C[m,n] = A[m,l] * D[l,n]", "counted|claimed|outputs|cover"),
        (0, "S[m,l] = A[m,k] * C[k,l]", "bytes do not cover"),
        (1, "C[m,n] = C[m,l] * D[l,n]", "bytes do not cover|read before"),
        (0, "S[m,l] += A[m,k] * B[k,l]", "the sign of S"),
        (0, "S[m,l] = A[m,k] ** B[k,l]", "is no expression"),
        (0, "S[m,l] = A[m,k] * softmax(B[k,l])", "no plain product|needs their dim|too early"),
        (1, "C[m,n] = S[m,l] * D[l,n] if l <= m", "conditions|plain"),
    ):
        forged = copy.deepcopy(document)
        forged["workload"]["statements"][number] = text
        with pytest.raises(RefusedError, match=reason):
            check_document(signed(forged))
    forged = copy.deepcopy(document)
    forged["workload"]["outputs"] = ["S", "S"]
    with pytest.raises(RefusedError, match="named twice"):
        check_document(signed(forged))
    forged = copy.deepcopy(document)
    forged["groups"] *= 2
    with pytest.raises(RefusedError, match="in two groups"):
        check_document(signed(forged))


def test_whole_rows_that_wait_cost_more_than_rescaled_ones() -> None:
    """The theorem of `barrier.py` has m*l*(1 - sqrt(M/(d*l)))^2 loads, in leading terms."""
    sizes, memory = "m=512,l=4096,k=16,n=16", 2048
    found = {bound.method: bound.loads_words for bound in bounds(chain(WHOLE, sizes), memory)}
    online = {bound.method: bound.loads_words for bound in bounds(chain(WHOLE.replace(", whole", ""), sizes), memory)}
    leading = 512 * 4096 * (1 - (memory / (16 * 4096)) ** 0.5) ** 2
    assert leading <= found["barrier"] == found["best"] <= 1.1 * leading
    assert found["best"] > 1.4 * online["best"]
    assert online["barrier"] == online["compulsory"]


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_whole_rows_that_wait_cost_no_more_than_one_product_after_the_other(seed: int) -> None:
    """All of what is between them goes through the slow memory, if it must: such a mapping meets every barrier."""
    rng = random.Random(seed)
    extents = {"m": rng.randint(1, 9), "l": rng.randint(20, 300), "k": rng.randint(1, 9), "n": rng.randint(1, 9)}
    memory = rng.randint(6, 60)
    apart = optmap.solve(PAIR, extents=extents, memory=f"{memory}w", method="apart", objective="loads")
    for text in (WHOLE, WHOLE.replace("A[m,k]*B[k,l]", "B[k,l]*A[m,k]")):
        (found,) = bounds(parse_workload(text, extents, semantics=apart.workload.semantics), memory, ["barrier"])
        assert found.loads_words <= apart.cost


def test_a_barrier_needs_whole_rows_and_an_operand_that_is_an_input() -> None:
    document = bounds(chain(WHOLE, "m=64,l=512,k=4,n=4"), 64, ["barrier"])[0].certificate
    assert document is not None
    assert [group["argument"] for group in document["groups"]] == ["barrier"]
    for number, old, new in ((1, ", whole", ""), (1, "l, whole", "m, whole"), (0, "B[k,l]", "B[l,k] * 2")):
        forged = copy.deepcopy(document)
        text = forged["workload"]["statements"][number]
        forged["workload"]["statements"][number] = text.replace(old, new)
        if new == "B[l,k] * 2":  # another order of subscripts, and a factor, are the same
            check_document(signed(forged))
            continue
        with pytest.raises(RefusedError, match="a group proves"):
            check_document(signed(forged))
    forged = copy.deepcopy(document)
    forged["groups"][0]["operand"] = "S"
    with pytest.raises(RefusedError, match="must be an input"):
        check_document(signed(forged))


def shared_group(text: str, sizes: str, memory: int) -> dict[str, Any]:
    """A certificate with one group around a tensor."""
    document: dict[str, Any] = json.loads(json.dumps(bounds(chain(text, sizes), memory, ["shared"])[0].certificate))
    assert [group["argument"] for group in document["groups"]] == ["shared"]
    return document


@pytest.mark.parametrize(
    ("number", "old", "new", "reason"),
    [
        (0, "if l <= m", "if l <= m+1", "two ways"),
        (1, "if l <= m", "if m >= l+1", "two ways"),
        (2, "if l <= m", "if n <= m", "other dims|leave out"),
        (0, "0.5 * A[m,k] * B[k,l]", "A[m,k] + B[k,l]", "no product of two"),
    ],
)
def test_statements_around_a_tensor_must_touch_it_alike(number: int, old: str, new: str, reason: str) -> None:
    forged = shared_group(CAUSAL, "m=40,l=40,k=9,n=10", 30)
    text = forged["workload"]["statements"][number]
    assert old in text
    forged["workload"]["statements"][number] = text.replace(old, new)
    with pytest.raises(RefusedError, match=reason):
        check_document(signed(forged))


def test_a_tensor_of_two_statements_around_another_is_counted_once() -> None:
    forged = shared_group(BRANCHES, "m=40,c=12,d=9,e=10,f=11", 30)
    forged["workload"]["statements"][2] = "K[m,f] = T[m,c] * A[c,f]"
    del forged["workload"]["bytes"]["B"], forged["counts"]["B"]
    with pytest.raises(RefusedError, match="two different ones each"):
        check_document(signed(forged))


def test_memories_side_by_side_count_as_one_of_their_capacities_together() -> None:
    """What one of them makes another may load: one memory as large as all of them could do what they do."""
    machine = Machine(
        name="four",
        levels=(
            Level(name="L1", capacity=Capacity(amount=64, unit="words")),
            Level(name="L2", capacity=Capacity(amount=1024, unit="words"), fanout=4, inclusive=True),
        ),
    )
    extents = {"m": 64, "l": 64, "k": 16, "n": 16}
    report = optmap.bound(PAIR, extents=extents, machine=machine)
    inner, outer = report.boundaries
    assert (inner.instances, inner.memory_words) == (4, 64)
    for row, memory in ((inner, 256), (outer, 1024)):
        expected = bounds(report.workload, memory)
        assert [each.loads_words for each in row.bounds] == [each.loads_words for each in expected]
        assert all(each.certificate is None or each.certificate["memory_words"] == memory for each in row.bounds)
    assert inner.busiest_words == -(-inner.best.total_words // 4)
    assert any("together" in line for line in inner.assumptions)
    assert not any("together" in line for line in outer.assumptions)


def test_memories_below_the_mesh_of_the_outermost_one_stand_side_by_side() -> None:
    two, four = (Store(mesh=Mesh(x=MeshAxis(size=size))) for size in (2, 4))
    buffer = Level(name="Buffer", capacity=Capacity(amount=64, unit="words"), store=two)
    machine = Machine(name="four", levels=(buffer,), outermost=four)
    report = optmap.bound(PAIR, extents={"m": 64, "l": 64, "k": 16, "n": 16}, machine=machine)
    assert report.outermost.instances == 4
    assert report.outermost.best.loads_words == bounds(report.workload, 256, ["best"])[0].loads_words
    assert any("together" in line for line in report.outermost.assumptions)


def test_two_memories_load_no_less_together_than_one_of_both_capacities() -> None:
    """Counted orders, every result made in one of the two: what one makes and the other reads is loaded there."""
    draw, least = random.Random(5), 9.0
    for _ in range(cases(40, 1500)):
        sizes = {d: draw.randint(1, 5) for d in "mlkn"}
        workload = parse_workload(PAIR, sizes, semantics=Semantics.ASSIGN)
        board, memory, owners = game(workload), draw.randint(3, 10), dict[tuple[str, ...], int]()
        by_rows = draw.random() < 0.5
        owner = []
        for statement in workload.statements:
            for point in itertools.product(*(range(sizes[d]) for d in statement.dims)):
                at = dict(zip(statement.dims, point, strict=True))
                made = (statement.name, *(str(at[d]) for d in sorted(statement.output.dims)))
                owner.append(at["m"] % 2 if by_rows else owners.setdefault(made, draw.randrange(2)))
        order = local_order(board, draw)
        comings = [counted_comings(board, [o for o in order if owner[o] == mine], memory) for mine in (0, 1)]
        loads = sum(map(sum, comings)) - board.empty.bit_count()
        bound = bounds(workload, 2 * memory, ["best"])[0].loads_words
        assert loads >= bound
        least = min(least, loads / bound)
    assert least < 1.25


def test_cuts_around_one_tensor_are_those_of_lines_where_these_cut_by_it_alone() -> None:
    """Two products around what lies between them, up to whole segments."""
    found = {bound.method: bound.loads_words for bound in bounds(chain(PAIR, "m=512,l=512,k=16,n=16"), 256)}
    assert 0.95 * found["lines"] <= found["shared"] <= found["lines"]


@pytest.mark.parametrize(
    ("text", "sizes", "memory", "least"),
    [
        (CAUSAL, "m=512,l=512,k=16,n=16", 256, 1.9),
        (BRANCHES, "m=512,c=64,d=64,e=64,f=64", 1024, 1.3),
        ("G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]", "m=256,d=256,f=256", 256, 1.9),
    ],
)
def test_branches_and_conditions_have_a_floor(text: str, sizes: str, memory: int, least: float) -> None:
    found = {bound.method: bound.loads_words for bound in bounds(chain(text, sizes), memory)}
    others = max(words for method, words in found.items() if method not in ("shared", "lines", "best"))
    assert found["best"] >= found["shared"] > least * others


MASKS = ["l <= m", "l < m+2 and m <= l+1", "2*l+m == 4", "l+k <= m+1 and n < 3", "3 <= l+m"]


@pytest.mark.parametrize("mask", MASKS)
def test_points_and_their_shadows_are_what_enumeration_finds(mask: str) -> None:
    """Both of the library and of the checker, for every choice of dims."""
    text = f"S[l,m,k,n] = A[l,m]*B[k,n] if {mask}"
    extents = {"l": 4, "m": 5, "k": 3, "n": 4}
    domain = parse_workload(text, extents, semantics=Semantics.ASSIGN).statements[0].domain
    rules = rules_of(read_chain_statement(f"S[l,m,k,n] = A[l,m] * B[k,n] if {mask}"))
    inside = []
    for point in itertools.product(*map(range, extents.values())):
        at = dict(zip(extents, point, strict=True))
        if all(_compares(part, at) for part in mask.split(" and ")):
            inside.append(at)
    for many in range(5):
        for dims in itertools.combinations(extents, many):
            exact = len({tuple(at[d] for d in dims) for at in inside})
            assert points(dims, domain, extents) == exact
            assert values(dims, rules, extents) == exact


def _compares(text: str, at: dict[str, int]) -> bool:
    left, relation, right = next(text.partition(sign) for sign in ("<=", "==", "<") if sign in text)
    one, two = (
        sum(prod(at[f] if f in at else int(f) for f in term.strip().split("*")) for term in side.split("+"))
        for side in (left, right)
    )
    return {"<=": one <= two, "==": one == two, "<": one < two}[relation]


def test_methods_are_named() -> None:
    assert [bound.method for bound in bounds(chain(PAIR, "m=8,l=8,k=4,n=4"), 16)] == list(CHAIN_BOUNDS)


JOINED = [
    (PAIR, "m=8,l=9,k=3,n=4", (1, 8, 9, 7), 72 + 32),
    ("S[m,l] = A[m,k]*B[k,l]; C[n,l] = D[m,n]*S[m,l]", "m=8,l=9,k=3,n=4", (1, 8, 9, 7), 72 + 36),
    (
        "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,k] = P[m,l]*D[l,k]",
        "m=8,l=9,k=3",
        (1, 8, 9, 6),
        72 + 24,
    ),
    ("S[h,m,l] = A[h,m,k]*B[h,l,k]; C[h,m,n] = S[h,m,l]*D[h,l,n]", "h=5,m=8,l=9,k=3,n=4", (5, 8, 9, 7), 5 * (72 + 32)),
    ("S[m,l] = A[m,k,z]*B[k,l,z]; C[q,n] = S[q,p]*D[p,n]", "m=8,l=9,k=3,z=2,n=4,q=8,p=9", (1, 8, 9, 10), 72 + 32),
]


@pytest.mark.parametrize(("text", "sizes", "product", "free"), JOINED)
def test_two_products_are_one(text: str, sizes: str, product: tuple[int, ...], free: int) -> None:
    workload = chain(text, sizes)
    pair = join(workload, workload.statements[0], workload.statements[-1])
    assert pair is not None
    assert tuple(pair.product.extents.values()) == product
    assert pair.free_words == free
    (found,) = bounds(workload, 16, ["joined"])
    whole = best(pair.product, 16)
    assert found.loads_words >= whole.loads_words - free


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*B[n,l]", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*S[n,l]", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[l]; C[m,n] = S[m,l]*D[l,n]", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n] if l <= m", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]) if l <= m; C[m,n] = P[m,l]*D[l,n]", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[k,l]; C[n] = S[m,l]*D[m,l,n]", "m=4,l=4,k=4,n=4"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l+1]*D[l,n]", "m=4,l=4,k=4,n=4"),
    ],
)
def test_other_pairs_are_not_joined(text: str, sizes: str) -> None:
    try:
        workload = chain(text, sizes)
    except InputError:
        workload = chain(text.replace("l+1", "q"), f"{sizes},q=3")
    assert join(workload, workload.statements[0], workload.statements[-1]) is None


def test_products_with_dims_beyond_64_bits_when_joined_are_bounded_otherwise() -> None:
    workload = chain(PAIR, f"m=3,l=3,k={2**62},n={2**62}", semantics=Semantics.ASSIGN)
    assert join(workload, *workload.statements) is None
    assert {bound.loads_words for bound in bounds(workload, 30)} == {9 * 2**62}


def test_floors_are_as_strong_as_the_reference() -> None:
    for row in REFERENCE:
        (found,) = bounds(reference_chain(row), row["M"], ["best"])
        assert found.loads_words >= row["lb6"], row
        assert found.total_words >= max(row["lbt"], row["lb6"] + row["m"] * row["N"]), row
        assert found.loads_words <= row["loads"], row
        assert found.total_words <= row["best"], row


def test_lighter_elements_count_as_light_as_they_are() -> None:
    sizes = {"S": 4, "A": 2, "B": 2, "C": 4, "D": 1}
    workload = chain(PAIR, "m=8,l=9,k=3,n=4", bytes=sizes)
    pair = join(workload, *workload.statements)
    assert pair is not None
    assert {access.name: access.bytes for access in pair.product.accesses} == {"G": 4, "X": 2, "Y": 1}
    assert pair.free_words == 4 * 72 + 2 * 32


LINED = [(12, 8, 4, 3, 0.5, 96), (30, 50, 6, 40, 0.25, 1500), (7, 3, 20, 11, 1.0, 15), (64, 64, 32, 2000, 0.125, 2080)]


@pytest.mark.parametrize("case", LINED)
def test_the_price_of_a_line_is_a_least_sum(case: tuple[int, int, int, int, float, int]) -> None:
    """Against the cheapest ways to buy operations, segment by segment, on a grid of sides."""
    full, light, places, most, g, every = case

    def cheapest(operations: float) -> float:
        sides = [max(operations / light, full * part / 4000) for part in range(1, 4001)]
        return min((n + g * operations / n for n in sides if n <= full), default=full + g * operations / full)

    found = price([(places, every, (full, light))], most, Fraction(g))
    segments, rest = divmod(every, most) if most < every else (0, every)
    exact = places * (segments * cheapest(most) + (cheapest(rest) if rest else 0))
    assert exact * (1 - 1e-3) - 2 <= found <= exact * (1 + 1e-9)


def test_lines_hold_for_every_snaking_order() -> None:
    """Counted loads of tiled orders under the farthest next use satisfy every line, for any W and g."""
    draw = random.Random(7)
    for _ in range(60):
        sizes = {dim: draw.randint(1, 5) for dim in "mlj"} | {"h": draw.randint(1, 2)}
        room = draw.randint(3, 12)
        counted = counted_loads(sizes, room, draw)
        for cut, light in itertools.permutations("GXY", 2):
            for _ in range(4):
                g = Fraction(draw.randint(1, 4), 4)
                line = Line(cut=cut, light=light, most=room + draw.randint(0, 20), g=g)
                left = sum(line.coefficients(room)[name] * counted[name] for name in "GXY")
                assert left >= line.least(ProductPlaces.whole(sizes)), (sizes, room, line)


@pytest.mark.parametrize("mask", ["l <= m", "m <= l + 1", "l <= m and m <= l + 1", "l < m"])
def test_lines_hold_for_counted_orders_under_conditions(mask: str) -> None:
    """Any order of both statements, rows and columns meeting as many of each other as the conditions let them."""
    draw, least = random.Random(mask), 9.0
    text = "S[h,m,l] = A[h,m,k]*B[h,l,k] if ?; P[h,m,l] = relu(S[h,m,l]) if ?; C[h,m,n] = P[h,m,l]*D[h,l,n] if ?"
    role = {"P": "G", "A": "X", "C": "X", "B": "Y", "D": "Y"}
    for _ in range(cases(40, 1500)):
        sizes = {"h": 1, "m": draw.randint(2, 5), "l": draw.randint(2, 5), "k": draw.randint(1, 3), "n": 1}
        workload = parse_workload(text.replace("?", mask), sizes)
        joint = join_places(workload, workload.statements[0], workload.statements[2])
        assert joint is not None
        board, memory = game(workload), draw.randint(3, 10)
        comings = counted_comings(board, local_order(board, draw), memory)
        counted = dict.fromkeys("GXY", 0)
        for (name, _), many in zip(board.words, comings, strict=True):
            counted[role[name]] += many
        for cut, light in itertools.permutations("GXY", 2):
            line = Line(cut=cut, light=light, most=memory + draw.randint(0, 9), g=Fraction(draw.randint(1, 4), 4))
            left = sum(line.coefficients(memory)[name] * counted[name] for name in "GXY")
            right = line.least(joint[1])
            assert left >= right, (workload, memory, line)
            least = min(least, float(left / right))
    assert least < 1.4


ROUND = (
    BRANCHES,
    CAUSAL,
    "G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]; A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*D[f,n]",
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; C[h,m,n] = S[h,m,l]*D[h,l,n]",
)


@pytest.mark.parametrize("text", ROUND)
def test_cuts_around_a_tensor_hold_for_counted_orders(text: str) -> None:
    """For any number of elements that is cut by, and any order of operations under the farthest next use."""
    draw, least = random.Random(text), 9.0
    for _ in range(cases(60, 1500)):
        sizes = {d: draw.randint(1, 4) for d in sorted({c for c in text if c.islower()} & set("hmlkncdefp"))}
        used = {d for part in text.split("[")[1:] for d in part.split("]")[0].split(",")}
        extents = {d: n for d, n in sizes.items() if d in used}
        workload = parse_workload(text, extents, semantics=draw.choice(list(Semantics)))
        board, held = game(workload), workload.stored_as
        memory = draw.randint(3, 12)
        comings = counted_comings(board, local_order(board, draw), memory)
        for group in sharings(workload):
            tensors = {held[access.name] for each in group.statements for access in each.accesses}
            total = sum(n for (name, _), n in zip(board.words, comings, strict=True) if name in tensors)
            for most in (memory, memory + 1, memory + draw.randint(2, 30)):
                right = sum(each.least(most - 1) for each in group.meetings)
                right += (1 - Fraction(memory, most)) * group.elements
                assert total >= right, (workload, memory, most)
                least = min(least, float(total / right))
    assert least < 1.25  # orders come near enough to see a bound that is much too high


def test_rows_that_wait_hold_for_counted_orders() -> None:
    """For segments of any length, loads alone being counted, of rows far longer than the memory."""
    draw, least = random.Random(3), 9.0
    for _ in range(cases(40, 1000)):
        sizes = {"m": draw.randint(1, 2), "l": draw.randint(20, 40), "k": draw.randint(1, 4), "n": draw.randint(1, 4)}
        workload = parse_workload(WHOLE, sizes, semantics=draw.choice(list(Semantics)))
        board, memory = game(workload), draw.randint(3, 9)
        comings = counted_comings(board, local_order(board, draw), memory)
        loads = sum(n - (board.empty >> w & 1) for w, n in enumerate(comings))
        for each in barriers(workload, workload.statements[0], workload.statements[2]):
            for segment in range(1, 4 * memory):
                assert loads >= each.loads(memory, segment)
            best = each.loads(memory, each.best_segment(memory))
            if best > each.once:  # rows that wait count
                least = min(least, float(loads / best))
    assert least < 2


def counted_loads(sizes: dict[str, int], room: int, draw: random.Random) -> dict[str, int]:
    """First touches and reloads of a product in a random tiled order, what is used last being dropped first."""
    order = draw.sample("hmlj", 4)
    steps = {dim: draw.randint(1, sizes[dim]) for dim in order}
    points = sorted(
        itertools.product(*(range(sizes[dim]) for dim in order)),
        key=lambda at: ([x // steps[d] for x, d in zip(at, order, strict=True)], at),
    )
    uses = []
    for point in points:
        at = dict(zip(order, point, strict=True))
        uses.append([(name, at["h"], *(at[d] for d in dims)) for name, dims in (("G", "ml"), ("X", "mj"), ("Y", "lj"))])
    fast: set[tuple[object, ...]] = set()
    counted = dict.fromkeys("GXY", 0)
    for now, words in enumerate(uses):
        for word in words:
            if word in fast:
                continue
            if len(fast) == room:
                later = {w: next((t for t in range(now, len(uses)) if w in uses[t]), len(uses)) for w in fast}
                fast.remove(max((w for w in fast if w not in words), key=lambda w: later[w]))
            fast.add(word)
            counted[str(word[0])] += 1
    return counted


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "l"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "k"),
        ("G[m,l] = X[m,k]*B[k,l]; U[m,l] = X[m,k]*D[k,l]; C[m,n] = U[m,l]*E[l,n]", "k"),
    ],
)
@pytest.mark.parametrize("memory", [3, 1000, 2**62])
def test_floors_of_more_operations_than_64_bits_are_proved(text: str, long: str, memory: int) -> None:
    workload = parse_workload(text, {"m": 7, "l": 5, "k": 6, "n": 3, long: 2**62})
    for bound in bounds(workload, memory):
        check_document(bound.certificate)
        assert bound.loads_words >= 7 * 2**62
