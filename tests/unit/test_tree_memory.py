"""The walk of mapping trees against a second reading of what they mean, and parts that no reference has."""

import random
from dataclasses import replace

import pytest
from cases import some
from mapping_trees import moved, occupied, scratchpads, tree_of, walked
from random_trees import ROWS, random_tree
from tree_memory import RefusedError, Run

from optmap.base.errors import TreeError
from optmap.count.trees.walk import walk_tree
from optmap.mappings.nodes import Keep, Sequence
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

INVALID = ("incomplete", "lost", "not done")


def both(tree):
    """What the walk and the second reading say of a tree: words that moved and occupancy, or a kind of reason."""
    try:
        count = walk_tree(tree)
        walk = ({key: words for key, words in moved(count).items() if words != (0, 0)}, occupied(count))
    except TreeError as error:
        walk = error.kind
    try:
        run = Run(tree).start()
        return walk, (run.words(), {level: run.most[level] for level in run.levels})
    except RefusedError as error:
        return walk, str(error)


@pytest.mark.parametrize("first", some(3, range(0, 120, 20)))
def test_random_trees_move_and_hold_what_a_second_reading_says(first):
    for seed in range(first, first + 20):
        walk, second = both(random_tree(random.Random(seed)))
        if walk in INVALID:  # the walk looks at the order of operations first
            assert second in INVALID, seed
        else:
            assert walk == second, seed


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_trees_with_statistics_of_rows_do_so(first):
    for seed in range(first, first + 20):
        walk, second = both(random_tree(random.Random(f"rows {seed}"), largest=3, families=ROWS))
        if walk in INVALID:
            assert second in INVALID, seed
        else:
            assert walk == second, seed


def test_random_trees_have_all_kinds_of_nodes_and_most_are_valid():
    trees = [random_tree(random.Random(seed)) for seed in range(120)]
    texts = [str(tree.nodes) for tree in trees]
    for mark in ("Box", "Sequence", "of={'", "Memory"):
        assert sum(mark in text for text in texts) > 10, mark
    assert sum(any(isinstance(node, Sequence) for node in tree.nodes) for tree in trees) > 60


PRODUCT = "C[m,n] = A[m,k]*B[k,n]"


def test_a_pinned_part_is_fetched_once_and_held_by_its_keep_alone():
    product = parse_workload(PRODUCT, {"m": 4, "n": 5, "k": 2}, semantics=Semantics.ASSIGN)
    nodes = [
        {"keep": "buffer", "tensors": ["B"], "of": {"n": [3, 5]}},
        {"loop": "m", "tile": 1},
        {"keep": "buffer", "tensors": ["A", "C"]},
        {"loop": "n", "tile": 1},
        {"keep": "buffer", "tensors": ["B"]},
        {"compute": "C"},
    ]
    words, room = walked(nodes, product)
    # Columns 3 and 4 of B come once, the three others once per row of A; two columns stay, one more is held meanwhile.
    assert words["buffer", "Memory", "B"] == (2 * 2 + 4 * 3 * 2, 0)
    assert room == {"buffer": 2 * 2 + (2 + 5) + 2}


def test_what_a_mask_leaves_out_of_a_function_in_place_is_no_element():
    """P[0,1] is not made, and the word of S[0,1] is none of P: C does not fetch it."""
    text = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]) if l <= m; C[m,n] = P[m,l]*D[l,n]"
    workload = parse_workload(text, {"m": 2, "l": 2, "k": 1, "n": 1}, semantics=Semantics.ASSIGN)
    nodes = [
        {"keep": "Memory", "tensors": ["S"]},
        {
            "sequence": [
                [{"keep": "buffer", "tensors": ["A", "B", "S"]}, {"compute": "S"}],
                [{"keep": "buffer", "tensors": ["P"]}, {"compute": "P"}],
                [{"keep": "buffer", "tensors": ["P", "C", "D"]}, {"compute": "C"}],
            ]
        },
    ]
    words, _ = walked(nodes, workload)
    assert words["buffer", "Memory", "P"] == (3 + 3, 3 + 3)


def test_a_box_works_on_its_part_only():
    product = parse_workload(PRODUCT, {"m": 5, "n": 2, "k": 3}, semantics=Semantics.ASSIGN)
    inside = [{"keep": "buffer", "tensors": ["A", "B", "C"]}, {"compute": "C"}]
    nodes = [{"sequence": [[{"box": {"m": [0, 2]}}, *inside], [{"box": {"m": [2, 5]}}, *inside]]}]
    words, room = walked(nodes, product)
    assert words["buffer", "Memory", "A"] == (15, 0)
    assert words["buffer", "Memory", "B"] == (12, 0)  # once per box: a branch starts with nothing
    assert room == {"buffer": 9 + 6 + 6}


@pytest.mark.parametrize(
    ("boxes", "kind"),
    [([[0, 2], [1, 5]], "malformed"), ([[0, 2], [3, 5]], "not done"), ([[0, 2], [2, 6]], "malformed")],
)
def test_boxes_do_every_operation_once(boxes, kind):
    product = parse_workload(PRODUCT, {"m": 5, "n": 2, "k": 3})
    inside = [{"keep": "buffer", "tensors": ["A", "B", "C"]}, {"compute": "C"}]
    with pytest.raises(TreeError) as found:
        walked([{"sequence": [[{"box": {"m": each}}, *inside] for each in boxes]}], product)
    assert found.value.kind == kind


def meshed(children):
    """L1 under so many children of L2."""
    machine = scratchpads(L1=1000, L2=10_000)
    inner, outer = machine.levels
    return replace(machine, levels=(inner, replace(outer, fanout=children)))


def split_trees(generator):
    """Nodes of a product over children of L2 along m, as (outside, inside) of that loop, each without the loop."""
    tile = {d: generator.randint(1, n) for d, n in {"m": 6, "n": 4, "k": 3}.items()}
    outside = [{"loop": d, "tile": tile[d]} for d in generator.sample("nk", generator.randint(0, 2))]
    inside = [{"loop": d, "tile": generator.randint(1, 3)} for d in generator.choices("mnk", k=generator.randint(0, 3))]
    at = generator.randint(0, len(inside))
    inside[at:at] = [{"keep": "L1", "tensors": ["A", "B", "C"]}]
    whole = {"keep": "L2", "tensors": ["A", "B", "C"]}
    outside.insert(generator.randint(0, len(outside)), whole)
    return outside, [*inside, {"compute": "C"}]


@pytest.mark.parametrize("seed", some(10, range(30)))
def test_children_of_a_mesh_move_what_each_of_them_would_alone(seed):
    generator = random.Random(seed)
    extents = {"m": generator.randint(3, 6), "n": 4, "k": 3}
    ways = generator.randint(2, 3)
    text = generator.choice([PRODUCT, "C[m,n] = A[m+k,n]*B[k,n]"])
    workload = parse_workload(text, extents, semantics=generator.choice(list(Semantics)))
    outside, inside = split_trees(generator)
    words, room = walked([*outside, {"loop": "m", "ways": ways, "axis": "L2"}, *inside], workload, meshed(ways))
    share = -(-extents["m"] // ways)
    alone, rooms = [], []
    for first in range(0, extents["m"], share):
        child = workload.with_extents(m=min(share, extents["m"] - first))
        count = walk_tree(tree_of([*outside, *fitting(inside, child)], child, meshed(1)))
        alone.append(moved(count))
        rooms.append(occupied(count)["L1"])
    for tensor in "ABC":
        each = [found["L1", "L2", tensor] for found in alone]
        assert words["L1", "L2", tensor] == tuple(map(sum, zip(*each, strict=True)))
    assert room["L1"] == max(rooms)
    # What L2 moves does not depend on who is below it.
    one = walk_tree(tree_of([*outside, *fitting(inside, workload)], workload, meshed(1)))
    assert {key: found for key, found in words.items() if key[0] == "L2"} == {
        key: found for key, found in moved(one).items() if key[0] == "L2"
    }


def fitting(inside, workload):
    """Nodes with tiles inside the extents of a workload."""
    return [{**n, "tile": min(n["tile"], workload.extents[n["loop"]])} if "tile" in n else n for n in inside]


def test_sums_of_several_children_are_refused():
    product = parse_workload(PRODUCT, {"m": 2, "n": 2, "k": 4})
    names = ["A", "B", "C"]
    nodes = [
        {"keep": "L2", "tensors": names},
        {"loop": "k", "ways": 2, "axis": "L2"},
        {"keep": "L1", "tensors": names},
        {"compute": "C"},
    ]
    with pytest.raises(TreeError, match="another child"):
        walked(nodes, product, meshed(2))


def test_rows_of_a_chain_may_be_split_and_its_columns_not():
    chain = parse_workload(
        "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]",
        {"m": 4, "l": 3, "k": 2, "n": 4},
        semantics=Semantics.ASSIGN,
    )

    def nodes(dim):
        return [
            {"keep": "L2", "tensors": ["A", "B", "C", "D"]},
            {"loop": dim, "ways": 2, "axis": "L2"},
            {"keep": "L1", "tensors": ["A", "B", "S", "D", "C"]},
            {"sequence": [[{"compute": "S"}], [{"compute": "C"}]]},
        ]

    words, room = walked(nodes("m"), chain, meshed(2))
    assert words["L1", "L2", "A"] == (8, 0)
    assert words["L1", "L2", "B"] == (12, 0)  # both children
    assert words["L1", "L2", "C"] == (0, 16)
    assert room["L1"] == 4 + 6 + 6 + 12 + 8
    with pytest.raises(TreeError, match="another child"):
        walked(nodes("n"), chain, meshed(2))


@pytest.mark.parametrize(
    ("split", "reason"),
    [
        ({"loop": "m", "ways": 3, "axis": "L2"}, "3 ways along L2, which has 2 children"),
        ({"loop": "m", "ways": 2, "axis": "L2.x"}, "no axis"),
        ({"loop": "m", "ways": 2, "axis": "L1"}, "1 children"),
    ],
)
def test_axes_are_those_of_the_machine(split, reason):
    product = parse_workload(PRODUCT, {"m": 4, "n": 2, "k": 3})
    names = ["A", "B", "C"]
    nodes = [{"keep": "L2", "tensors": names}, split, {"keep": "L1", "tensors": names}, {"compute": "C"}]
    with pytest.raises(TreeError, match=reason):
        tree_of(nodes, product, meshed(2))


def test_keeps_stand_on_their_side_of_a_mesh():
    product = parse_workload(PRODUCT, {"m": 4, "n": 2, "k": 3})
    names = ["A", "B", "C"]
    split = {"loop": "m", "ways": 2, "axis": "L2"}
    nodes = [split, {"keep": "L2", "tensors": names}, {"keep": "L1", "tensors": names}, {"compute": "C"}]
    with pytest.raises(TreeError, match="keep at L2 inside the loop over m along L2"):
        tree_of(nodes, product, meshed(2))


def test_every_keep_of_the_walk_is_one_of_the_tree():
    tree = random_tree(random.Random(2))
    levels = {keep.level for leaf in tree.leaves for _, keep in leaf.keeps if isinstance(keep, Keep)}
    assert {row.between[0] for row in walk_tree(tree).moved} <= levels
