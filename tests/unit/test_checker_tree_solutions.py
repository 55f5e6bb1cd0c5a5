"""Documents with mapping trees: what is right is verified, whatever is changed is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from changed_fields import changed_fields
from mapping_trees import scratchpads
from tree_documents import KINDS, at, pair_tree, row_loop, signed_tree, small_document, tree_solution

from optmap.checker import RefusedError, check_document
from optmap.count.trees import count_tree, walk_tree


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_verified(kind: str) -> None:
    report, document = check_document(small_document(kind)), small_document(kind)
    cost = document["cost"]["value"]
    assert any(line.startswith(f"cost {cost:,} words") for line in report.verified)
    best = document["bound"]["value"] == cost
    assert best or kind not in ("proved", "one product")
    assert any("the cost is the bound: no mapping moves fewer" in line for line in report.verified) == best
    assert any("not verified that no mapping of the space is better" in line for line in report.not_verified) != best


UNREAD = (
    "method",
    "seed",
    "seconds",
    "count",
    "clock_hz",
    "energy_pj",
    "point",
    "space",
    "shared",
    "bound_alone",
    "stop",
)
"""Listed as not verified, or, for `stop`, one of several words that are."""
TITLES = (("workload", "name"), ("machine", "name"))
PREMISES = ((0, "kind"), (0, "inclusive"))
"""Of the innermost level, which are written among the premises, and nothing depends on them."""


def _is_read(path: tuple[Any, ...]) -> bool:
    if path[:2] == ("machine", "levels") and (path[3:] == ("bandwidth", "amount") or path[2:] in PREMISES):
        return False
    return path not in TITLES and (path[-1] not in UNREAD or path == ("bound", "method"))


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_changed_is_refused(kind: str) -> None:
    passed = []
    for path, value, forged in changed_fields(small_document(kind)):
        try:
            _ = check_document(signed_tree(forged))
            passed.append((path, value))
        except RefusedError:
            pass
    assert not [path for path, _ in passed if _is_read(path)]


def _forged(change: Callable[[dict[str, Any]], object], kind: str = "row loop") -> dict[str, Any]:
    document = copy.deepcopy(small_document(kind))
    _ = change(document)
    return signed_tree(document)


def _objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where objects are, other than in certificates."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [each for key, item in inside if key != "certificate" for each in _objects(item, (*path, key))]
    return [path, *below] if isinstance(value, dict) else below


@pytest.mark.parametrize("kind", KINDS)
def test_keys_too_many_and_too_few_are_refused(kind: str) -> None:
    for path in _objects(small_document(kind)):
        if path[-1:] != ("versions",):
            with pytest.raises(RefusedError):
                _ = check_document(_forged(lambda document, path=path: at(document, path).update(more=1), kind))
        for key in at(small_document(kind), path):
            if key != "statements" or path != ("workload",):
                forged = _forged(lambda document, path=path, key=key: at(document, path).pop(key), kind)
                with pytest.raises(RefusedError):
                    _ = check_document(forged if (*path, key) != ("digest",) else _without_digest(kind))


def _without_digest(kind: str) -> dict[str, Any]:
    return {key: value for key, value in small_document(kind).items() if key != "digest"}


def _tree(document: dict[str, Any]) -> list[Any]:
    nodes: list[Any] = document["mapping"]["tree"]
    return nodes


def _branch(document: dict[str, Any], number: int) -> list[Any]:
    nodes: list[Any] = _tree(document)[-1]["sequence"][number]
    return nodes


def _smaller(document: dict[str, Any]) -> None:
    document["machine"]["levels"][0]["capacity"]["amount"] = document["levels"][0]["capacity_words"] = 10


FORGERIES: dict[str, tuple[str, str, Callable[[dict[str, Any]], object]]] = {
    "a keep outside its loop": ("row loop", "buffer holds 39 words", lambda d: _tree(d).insert(0, _tree(d).pop(1))),
    "a keep moved into a branch": (
        "row loop",
        "boundaries says",
        lambda d: _tree(d)[1]["tensors"].remove("C") or _branch(d, 1)[1]["tensors"].append("C"),
    ),
    "a keep in a branch moved": (
        "row loop",
        "buffer holds 21 words",
        lambda d: _branch(d, 0).insert(0, _branch(d, 0).pop(1)),
    ),
    "another pinned part": ("pinned", "boundaries says|buffer holds", lambda d: _tree(d)[0].update(of={"l": [1, 4]})),
    "a part of what a tensor lacks": ("pinned", "not counted", lambda d: _tree(d)[0].update(of={"k": [0, 2]})),
    "branches the other way round": ("row loop", "incomplete", lambda d: _tree(d)[-1]["sequence"].reverse()),
    "S kept nowhere": ("row loop", "not kept", lambda d: _tree(d).pop(3)),
    "S kept in branches": (
        "row loop",
        "lost",
        lambda d: [_branch(d, n).insert(0, dict(_tree(d)[3])) for n in (0, 1)] and _tree(d).pop(3),
    ),
    "a loop over a reduction above both": (
        "row loop",
        "incomplete",
        lambda d: _tree(d).insert(0, _branch(d, 0).pop(0)),
    ),
    "a loop that S lacks above both": ("row loop", "not counted", lambda d: _tree(d).insert(0, _branch(d, 1).pop(0))),
    "a statement twice": ("row loop", "malformed", lambda d: _tree(d)[-1]["sequence"].append(_branch(d, 1))),
    "a statement never": ("row loop", "not done", lambda d: d["mapping"].update(tree=_branch(d, 0))),
    "a box": ("row loop", "not done", lambda d: _tree(d).insert(0, {"box": {"m": [0, 6]}})),
    "a loop along an axis": (
        "row loop",
        "not counted",
        lambda d: _tree(d).insert(0, {"loop": "m", "ways": 1, "axis": "x"}),
    ),
    "nothing at the end": ("row loop", "malformed", lambda d: _tree(d).pop()),
    "one branch": ("row loop", "2 entries", lambda d: _tree(d)[-1]["sequence"].pop()),
    "too little room": ("row loop", "needs 19 of 10 words", _smaller),
    "a row less": ("row loop", "boundaries must have rows", lambda d: d["boundaries"].pop()),
    "a row twice": ("row loop", "twice", lambda d: d["boundaries"].append(d["boundaries"][0])),
    "another objective": ("row loop", "cost must be", lambda d: d.update(objective="loads")),
    "no bound, but a gap": ("row loop", "gap without a bound", lambda d: d.update(bound=None)),
    "no certificate": ("row loop", "no certificate proves it", lambda d: d["certificates"].clear()),
    "a certificate twice": (
        "row loop",
        "no such boundary, or twice",
        lambda d: d["certificates"].append(d["certificates"][0]),
    ),
    "another memory's certificate": (
        "row loop",
        "capacity",
        lambda d: d.update(certificates=small_document("proved")["certificates"]),
    ),
    "another chain's certificate": (
        "row loop",
        "workload",
        lambda d: d.update(certificates=small_document("in place")["certificates"]),
    ),
    "another's certificate": (
        "row loop",
        "workload",
        lambda d: d.update(certificates=small_document("one product")["certificates"]),
    ),
    "two working sets": ("row loop", "one working set", lambda d: d["machine"]["levels"][0].update(buffering=2)),
    "a level passed by": ("two levels", "passes L2", lambda d: _tree(d)[3].update(tensors=["B"])),
}
"""Kind of document, a part of the reason, and what is changed."""


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_documents_are_refused(name: str) -> None:
    kind, reason, change = FORGERIES[name]
    with pytest.raises(RefusedError, match=reason):
        _ = check_document(_forged(change, kind))


@pytest.mark.parametrize("kind", ["row loop", "two levels"])
@pytest.mark.parametrize(
    "amount", ["fast", "", "1.5", "-1/2", "4/2", True, float("nan"), float("inf"), -1, 0, 2.0, None, [1]]
)
def test_a_bandwidth_that_is_no_exact_number_is_refused_by_its_name(kind: str, amount: Any) -> None:
    with pytest.raises(RefusedError, match=r"bandwidth\.amount is "):
        _ = check_document(_forged(lambda d: d["machine"]["levels"][-1]["bandwidth"].update(amount=amount), kind))


@pytest.mark.parametrize("amount", [1, 10**30, 0.1, 51.2, 1e-05, "1/3", "100/7"])
def test_an_exact_bandwidth_is_taken(amount: Any) -> None:
    assert check_document(_forged(lambda d: d["machine"]["levels"][0]["bandwidth"].update(amount=amount)))


@pytest.mark.parametrize("value", [None, 3, "best", [], {}], ids=str)
def test_a_certificate_that_is_no_object_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(RefusedError, match=r"certificates\[0\]\.certificate must be an object"):
        _ = check_document(_forged(lambda d: d["certificates"][0].update(certificate=value)))


def test_a_certificate_that_proves_less_is_refused() -> None:
    def weaken(document: dict[str, Any]) -> None:
        certificate = document["certificates"][0]["certificate"]
        certificate["claims"]["loads_words"] += 1
        certificate["digest"] = signed_tree(certificate)["digest"]

    with pytest.raises(RefusedError, match="claims"):
        _ = check_document(_forged(weaken))


def test_rule_safe_concerns_caches_alone() -> None:
    document = copy.deepcopy(small_document("row loop"))
    document["capacity_rule"] = "safe"
    assert check_document(signed_tree(document)).verified == check_document(small_document("row loop")).verified
    document["machine"]["levels"][0]["kind"] = "cache"
    with pytest.raises(RefusedError, match="not counted: rule safe, which concerns buffer"):
        _ = check_document(signed_tree(document))


def test_a_digest_of_something_else_is_refused() -> None:
    with pytest.raises(RefusedError, match="digest"):
        _ = check_document({**small_document("row loop"), "seed": 1})


def test_a_tree_without_claims_proves_nothing() -> None:
    with pytest.raises(RefusedError, match="claims nothing"):
        _ = check_document({"mapping": {"tree": row_loop(3)}})


@pytest.mark.parametrize(("rows", "pinned"), [(127, 0), (120, 12), (4096, 0)])
def test_attention_of_four_thousand_rows_is_verified(rows: int, pinned: int) -> None:
    machine = scratchpads(buffer=rows * 130 + pinned * 128 + 128)
    tree = pair_tree(row_loop(rows, pinned), machine, m=4096, l=4096, k=64, n=64)
    document = tree_solution(tree, count_tree(tree))
    report = check_document(document)
    assert any(f"{document['cost']['value']:,} words" in line for line in report.verified)


def test_sequences_inside_each_other_and_partial_sums_are_verified() -> None:
    """A strip of T adds up while tiles of S pass by; with 4,096 iterations of most dims nobody walks it."""
    text = "S[a,c] = A[a,b]*B[b,c]; T[a,d] = S[a,c]*D[c,d]; C[a,e] = T[a,d]*E[d,e]"
    nodes = [
        {"loop": "a", "tile": 100},
        {"keep": "buffer", "tensors": ["T"]},
        {
            "sequence": [
                [
                    {"loop": "c", "tile": 30},
                    {"keep": "buffer", "tensors": ["S"]},
                    {
                        "sequence": [
                            [{"loop": "b", "tile": 7}, {"keep": "buffer", "tensors": ["A", "B"]}, {"compute": "S"}],
                            [{"loop": "d", "tile": 9}, {"keep": "buffer", "tensors": ["D"]}, {"compute": "T"}],
                        ]
                    },
                ],
                [{"loop": "e", "tile": 11}, {"keep": "buffer", "tensors": ["C", "E"]}, {"compute": "C"}],
            ]
        },
    ]
    for sizes, count in (
        ({"a": 5, "b": 5, "c": 5, "d": 4, "e": 3}, walk_tree),
        (dict.fromkeys("abcde", 4096), count_tree),
    ):
        tiles = {d: min(n, {"a": 100, "b": 7, "c": 30, "d": 9, "e": 11}[d]) if n > 9 else 2 for d, n in sizes.items()}
        fitting = _tiled(nodes, tiles)
        tree = pair_tree(fitting, scratchpads(buffer=10**6), text, **sizes)
        assert check_document(tree_solution(tree, count(tree)))


def _tiled(nodes: list[Any], tiles: dict[str, int]) -> list[Any]:
    return [
        {**node, "tile": tiles[node["loop"]]}
        if "loop" in node
        else {"sequence": [_tiled(branch, tiles) for branch in node["sequence"]]}
        if "sequence" in node
        else node
        for node in nodes
    ]
