"""Mapping trees against another implementation's numbers, and what is refused."""

import pytest
from mapping_trees import REFERENCE, occupied, reference_tree, tree_of

from optmap.base.errors import InputError, LimitError, TreeError
from optmap.count.trees import count_boxes
from optmap.count.trees.walk import walk_tree
from optmap.files.trees import tree_document
from optmap.report.answers.trees import tree_text
from optmap.workloads.parser import parse_workload


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["name"])
def test_words_and_occupancy_are_those_of_another_implementation(case):
    count = walk_tree(reference_tree(case))
    assert [
        {
            "level": row.between[0],
            "from": row.between[1],
            "tensor": row.tensor,
            "loads": row.loads_words,
            "stores": row.stores_words,
        }
        for row in count.moved
    ] == case["boundaries"]
    assert {room.level: room.occupancy_words for room in count.rooms} == case["occupancy"]
    assert not count.broken


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["name"])
def test_a_tree_is_written_as_it_was_read(case):
    assert tree_document(reference_tree(case)) == {"tree": case["tree"]}


@pytest.mark.parametrize(
    "case", [each for each in REFERENCE["invalid"] if each["kind"] != "capacity"], ids=lambda case: case["name"]
)
def test_a_tree_that_means_nothing_is_refused_with_its_kind_of_reason(case):
    with pytest.raises(TreeError) as found:
        walk_tree(reference_tree(case))
    assert found.value.kind == case["kind"]
    assert found.value.reason.startswith(case["reason"].partition(":")[0])


@pytest.mark.parametrize(
    "case", [each for each in REFERENCE["invalid"] if each["kind"] == "capacity"], ids=lambda case: case["name"]
)
def test_a_tree_that_does_not_fit_says_where_and_how_much_is_missing(case):
    (violation,) = walk_tree(reference_tree(case)).broken
    assert violation == f"{case['reason']}: it is short by 1 word"


def test_a_walk_that_takes_too_long_says_what_its_limit_is():
    with pytest.raises(LimitError, match="100"):
        walk_tree(reference_tree(REFERENCE["cases"][0]), limit=100)


def shorter(first, tile=5):
    """A product with a loop that begins with a shorter step."""
    product = parse_workload("C[m] = A[m,l]*B[l] if l <= m", {"m": 12, "l": 12})
    every = {"keep": "buffer", "tensors": ["A", "B", "C"]}
    return tree_of([{"loop": "m", "tile": tile, "first": first}, every, {"compute": "C"}], product)


def test_a_loop_may_begin_with_a_shorter_step():
    tree = shorter(2)
    assert tree_text(tree).startswith("for (m in steps of 5, the first one of 2)\n")
    assert tree_document(tree)["tree"][0] == {"loop": "m", "tile": 5, "first": 2}
    for count in (walk_tree(tree), count_boxes(tree)):
        assert occupied(count) == {"buffer": (8 + 9 + 10 + 11 + 12) + 12 + 5}  # a strip meets columns up to its end


@pytest.mark.parametrize("first", [5, 6])
def test_a_first_step_that_is_not_shorter_is_refused(first):
    with pytest.raises(TreeError, match="a shorter first step has 1 to 4"):
        shorter(first)


PAIR = parse_workload("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", {"m": 2, "l": 3, "k": 2, "n": 2})


def pair_with(**keep):
    """A pair of products with one more Keep outside everything."""
    inside = [[{"keep": "buffer", "tensors": list(t)}, {"compute": name}] for name, t in (("S", "AB"), ("C", "DC"))]
    kept = {"keep": "buffer", "tensors": ["S"]}
    return tree_of([{"keep": "buffer", "tensors": ["A"], **keep}, kept, {"sequence": inside}], PAIR)


@pytest.mark.parametrize("key", [{"only": []}, {"of": {}}], ids=str)
def test_a_keep_for_nothing_is_refused_by_its_key(key):
    with pytest.raises(InputError, match=rf"tree\[0\]\.{next(iter(key))} is empty; .* leave {next(iter(key))} out"):
        pair_with(**key)


@pytest.mark.parametrize(("tensors", "only"), [("A", "C"), ("AD", "S"), ("BD", "C")])
def test_a_keep_for_statements_that_do_not_touch_what_it_names_means_nothing(tensors, only):
    with pytest.raises(TreeError, match=f"for {only} only, and none of these touches it") as found:
        pair_with(tensors=list(tensors), only=[only])
    assert found.value.kind == "malformed"
