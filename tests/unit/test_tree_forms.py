"""Forms of mappings as paths and back, and the tree's count of a form against the closed form's."""

import random
from collections import Counter

from accelerator_machines import small_fabric, valid_nests
from cases import cases as tries
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mapping_trees import moved, scratchpads, tree_of
from strategies import machines, mappings, workloads

from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.trees.walk import walk_tree
from optmap.mappings.forms import levels_of, path_of
from optmap.mappings.held import Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.nest import mapping_of
from optmap.mappings.nodes import Box, Loop, Sequence
from optmap.mappings.pieces import Piece
from optmap.mappings.tree import MappingTree
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


@st.composite
def cases(draw, max_operations=120, max_fanout=1):
    """A workload, a machine and a mapping that are small enough to be walked."""
    workload = draw(workloads(max_extent=5, max_operations=max_operations))
    machine = draw(machines(max_levels=3, max_fanout=max_fanout))
    return workload, machine, draw(mappings(workload, machine))


def without_ones(mapping):
    """The mapping without splits among one child."""
    return Mapping(
        levels=tuple(
            LevelMapping(
                level=each.level,
                tile=each.tile,
                permutation=each.permutation,
                spatial={d: n for d, n in each.spatial.items() if n > 1},
            )
            for each in mapping.levels
        )
    )


@given(cases(max_operations=4096, max_fanout=4))
@settings(max_examples=tries(30, 200))
def test_a_mapping_is_a_path_and_comes_back(case):
    workload, machine, mapping = case
    assert levels_of(path_of(mapping, workload, machine)) == without_ones(mapping)


def test_nests_on_accelerators_are_paths_and_come_back():
    fabric = small_fabric()
    count = 0
    for nest in valid_nests(fabric, seed=3, tries=400):
        mapping = mapping_of(nest, fabric)
        assert levels_of(path_of(mapping, fabric.workload, fabric.machine)) == mapping
        count += 1
    assert count > 20


@given(cases(max_operations=4096), st.randoms(use_true_random=False))
def test_loops_of_one_trip_may_be_left_out(case, generator):
    workload, machine, mapping = case
    tree = path_of(mapping, workload, machine)
    left, nodes = dict(workload.extents), []
    for node in tree.nodes:
        if not isinstance(node, Loop) or node.tile < left[node.dim] or generator.random() < 0.5:
            nodes.append(node)
        if isinstance(node, Loop):
            left[node.dim] = node.tile
    found = levels_of(MappingTree(workload=workload, machine=machine, nodes=tuple(nodes)))
    assert [level.tile for level in found.levels] == [level.tile for level in mapping.levels]


def test_what_a_form_cannot_say_has_none():
    product = parse_workload("C[m,n] = A[m,k]*B[k,n]", {"m": 6, "n": 5, "k": 4})
    machine = scratchpads(L1=100, L2=1000)
    whole = {"keep": "L2", "tensors": ["C", "A", "B"]}
    inner = {"keep": "L1", "tensors": ["A", "B", "C"]}
    tile, leaf = {"loop": "m", "tile": 2}, {"compute": "C"}
    assert levels_of(tree_of([whole, tile, inner, leaf], product, machine)) is not None
    for nodes in (
        [
            whole,
            tile,
            {"keep": "L1", "tensors": ["A", "C"]},
            {"loop": "n", "tile": 1},
            {"keep": "L1", "tensors": ["B"]},
        ],
        [whole, {"loop": "m", "tile": 4}, {"loop": "n", "tile": 2}, {"loop": "m", "tile": 2}, inner],
        [whole, inner, tile],
        [tile, inner],
        [whole, {"keep": "L1", "tensors": ["A"], "of": {"m": [0, 2]}}, inner],
    ):
        assert levels_of(tree_of([*nodes, leaf], product, machine)) is None
    chain = parse_workload("S[m] = A[m,k]; C[n] = S[n]", {"m": 3, "k": 2, "n": 3})
    nodes = [{"keep": "buffer", "tensors": ["S", "A", "C"]}, {"sequence": [[{"compute": "S"}], [leaf]]}]
    assert levels_of(tree_of(nodes, chain)) is None


def is_counted_alike(workload):
    """Whether a tree moves what the form `levels` is said to: no tensor twice, no dim in two subscripts of one."""
    names = Counter(tensor.name for tensor in workload.tensors)
    dims = [Counter(d for axis in tensor.axes for d in axis.dims) for tensor in workload.tensors]
    return max(names.values()) == 1 and all(max(each.values(), default=1) == 1 for each in dims)


@given(cases())
@settings(max_examples=tries(50, 150))
def test_a_path_moves_and_holds_what_the_closed_form_says(case):
    workload, machine, mapping = case
    assume(is_counted_alike(workload))
    count = walk_tree(path_of(mapping, workload, machine))
    exact = exact_traffic(workload, machine, mapping)
    assert moved(count) == {(*row.between, row.tensor): (row.loads_words, row.stores_words) for row in exact}
    report = evaluate_cost(workload, machine, mapping)
    assert [room.occupancy_words for room in count.rooms] == [level.occupancy_words for level in report.levels]


def test_a_tensor_read_twice_is_fetched_once():
    workload = parse_workload("C[m,n] = A[m,k]*A[n,k]", {"m": 1, "n": 2, "k": 2}, semantics=Semantics.ASSIGN)
    nodes = [{"keep": "buffer", "tensors": ["A", "C"]}, {"compute": "C"}]
    assert moved(walk_tree(tree_of(nodes, workload)))["buffer", "Memory", "A"] == (4, 0)


def random_pieces(workload, generator):
    """Two or three pieces that cut one dim, by ranges or by every second iteration, each with a mapping of its own."""
    dim = generator.choice([d for d, n in workload.sizes if n > 1])
    size = workload.extents[dim]
    cut = generator.randrange(1, size)
    parts = generator.choice([[range(cut), range(cut, size)], [range(0, size, 2), range(1, size, 2)]])
    pieces = []
    for part in parts:
        sizes = {**workload.extents, dim: len(part)}
        mapping = Mapping(
            levels=(
                LevelMapping(
                    level="buffer",
                    tile={d: generator.randint(1, n) for d, n in sizes.items()},
                    permutation=tuple(generator.sample(workload.dims, len(workload.dims))),
                    spatial={},
                ),
            )
        )
        held = Held(positions={}, streams={}, inner=())
        pieces.append(Piece(of={dim: part}, mapping=mapping, held=held))
    return tuple(pieces)


def boxes_of(pieces, workload, machine):
    """Pieces as boxes in a row, each with the tile and the loop order that it runs with."""
    branches = tuple(
        (Box(ranges=dict(piece.of)), *path_of(piece.mapping, piece.workload(workload), machine).nodes)
        for piece in pieces
    )
    return MappingTree(workload=workload, machine=machine, nodes=(Sequence(branches=branches),))


def test_pieces_are_boxes_in_a_row_and_move_what_they_move_alone():
    generator = random.Random(5)
    machine = scratchpads(buffer=1000)
    for _ in range(60):
        extents = {d: generator.randint(2, 5) for d in "mnk"}
        workload = parse_workload("C[m,n] += A[m+k,n]*B[k,n]", extents)
        pieces = random_pieces(workload, generator)
        count = moved(walk_tree(boxes_of(pieces, workload, machine)))
        alone = Counter()
        for piece in pieces:
            for row in exact_traffic(piece.workload(workload), machine, piece.mapping):
                alone[row.tensor, "loads"] += row.loads_words
                alone[row.tensor, "stores"] += row.stores_words
        assert count == {
            ("buffer", "Memory", name): (alone[name, "loads"], alone[name, "stores"]) for name in ("C", "A", "B")
        }
