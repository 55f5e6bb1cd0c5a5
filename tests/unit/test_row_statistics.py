"""Statistics of rows: what they are, how trees that keep them are counted, and pairs with a function of rows."""

import json
import random
from itertools import product

import pytest
import random_trees
from cases import some
from checked_trees import judged, stated, tried
from mapping_trees import moved, occupied, tree_of
from random_trees import kept_for_some, random_tree, there_for_some
from walked_answers import hold

import optmap
from optmap.base.errors import InfeasibleError, InputError, TreeError
from optmap.checker.core.tools import RefusedError
from optmap.checker.trees.stated_rows import stated_rows
from optmap.count.trees import count_tree, walk_tree
from optmap.count.trees.boxes import count_boxes
from optmap.mappings.tree import MappingTree
from optmap.report.pictures.tree_plots import tensor_colors
from optmap.search.chains.family import Fused
from optmap.search.chains.pair import pair_of, steps_of
from optmap.search.chains.runs import Part, Run, Way, best_run
from optmap.search.chains.streaming import Apart
from optmap.search.chains.trees import run_tree
from optmap.workloads.parser import parse_workload
from optmap.workloads.row_statistics import row_statistics
from optmap.workloads.workload import Semantics

FLASH = "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = softmax(0.125*S[h,m,l], l); O[h,m,n] = P[h,m,l]*V[h,l,n]"
PAIR = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]"
SHAPES = (
    PAIR,
    FLASH,
    "S[m,l] = A[m,k]*B[k,l]; R[m,l] = relu(S[m,l]); P[m,l] = rmsnorm(R[m,l], m); C[l,n] = P[m,l]*D[m,n]",
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = rmsnorm(S[h,m,l], m); O[n,h,l] = V[h,m,n]*P[h,m,l]",
    "S[m,l] = A[m]*B[l]; P[m,l] = softmax(S[m,l], l); C[m,n,p] = P[m,l]*D[l,n,p]",
)


def random_pair(rng, most, shapes=SHAPES):
    text = rng.choice(shapes)
    extents = {d: rng.randint(1, most) for d in "hmlknp" if f"{d}]" in text or f"{d}," in text}
    plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
    widths = {name: rng.choice((1, 2, 4)) for name in sorted(set(plain.stored_as.values()))}
    sizes = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
    return parse_workload(text, extents, semantics=plain.semantics, bytes=sizes if rng.random() < 0.4 else 4)


def flash(rows, keeps=("Q", "O", "P.row"), home=(), inner=("S",)):
    """Rows of Q and O stay, columns of K and V stream."""
    return [
        *({"keep": "Memory", "tensors": [name]} for name in home),
        {"loop": "h", "tile": 1},
        {"loop": "m", "tile": rows},
        {"keep": "buffer", "tensors": list(keeps)},
        {"loop": "l", "tile": 1},
        {"keep": "buffer", "tensors": list(inner)},
        {
            "sequence": [
                [{"keep": "buffer", "tensors": ["K"]}, {"compute": "S"}],
                [{"compute": "P"}],
                [{"keep": "buffer", "tensors": ["V"]}, {"compute": "O"}],
            ]
        },
    ]


def test_rows_that_stay_with_their_tile_take_room_and_move_nothing():
    workload = parse_workload(FLASH, {"h": 2, "m": 8, "l": 11, "k": 4, "n": 3}, semantics=Semantics.ASSIGN)
    count = count_tree(tree_of(flash(3), workload))
    assert not count.walked
    assert occupied(count) == {"buffer": 3 * (4 + 3 + 1) + 2 * 3 + 4}  # Q, O, S, two words a row, a column of K
    assert all(tensor != "P.row" for _, _, tensor in moved(count))
    assert moved(count) == moved(walk_tree(tree_of(flash(3), workload)))


def test_rows_that_leave_and_are_needed_again_are_stored_and_loaded():
    workload = parse_workload(FLASH, {"h": 2, "m": 8, "l": 11, "k": 4, "n": 3}, semantics=Semantics.ASSIGN)
    nodes = flash(3, keeps=("Q", "O"), home=("P.row",), inner=("S", "P.row"))
    nodes[2:5] = [{"loop": "l", "tile": 1}, {"loop": "m", "tile": 3}, {"keep": "buffer", "tensors": ["Q", "O"]}]
    count = count_tree(tree_of(nodes, workload))
    assert not count.walked
    assert moved(count)["buffer", "Memory", "P.row"] == (2 * 8 * 10 * 2, 2 * 8 * 10 * 2)  # not the first, nor the last
    assert moved(count) == moved(walk_tree(tree_of(nodes, workload)))


@pytest.mark.parametrize("block", some([0], range(3)))
def test_random_trees_are_counted_as_they_are_walked(block):
    counted = 0
    for seed in range(block * 25, block * 25 + 25):
        rng = random.Random(f"rows {seed}")
        tree = random_tree(rng, largest=3, shared=seed % 4 > 0, families=random_trees.ROWS)
        if seed % 5 == 3:
            tree = kept_for_some(rng, tree)
        elif seed % 5 == 4:
            tree = (there_for_some(rng, tree) or (tree,))[0]
        closed = count_boxes(tree)
        _ = judged(tree)  # the checker's count
        try:
            walk = walk_tree(tree)
        except InputError:
            assert closed is None
            continue
        if closed is not None:
            counted += 1
            assert (moved(closed), occupied(closed)) == (moved(walk), occupied(walk))
    assert counted > 2


ONLINE = {
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]": "C",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = 2*rmsnorm(S[m,l], l)/3; T[m,l] = relu(P[m,l]); C[m,n] = T[m,l]*D[l,n]*2": "TC",
    "P[m,l] = rmsnorm(X[m,l], l)*G[l]; C[m,n] = P[m,l]*D[l,n]; E[m,k] = P[m,l]*F[l,k]": "CE",
    "P[m,l] = softmax(X[m,l], l)*(Y[m,l] + 1); C[m] = P[m,l]": "C",
    "P[m,l] = softmax(X[m,l], l); C[m] = P[m,l]*D[l,n]": "C",
}
WHOLE = {
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]": "C",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = layernorm(S[m,l], l); C[m,n] = P[m,l]*D[l,n]": "C",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], m); C[m,n] = P[m,l]*D[l,n]": "C",
    "P[m,l] = softmax(X[m,l], l) + Y[m,l]; C[m,n] = P[m,l]*D[l,n]": "C",
    "P[m,l] = 2/softmax(X[m,l], l); C[m,n] = P[m,l]*D[l,n]": "C",
    "P[m,l] = exp(softmax(X[m,l], l)); C[m,n] = P[m,l]*D[l,n]": "C",
    "P[m,l] = softmax(X[m,l], l); T[m,l] = exp(P[m,l]); C[m,n] = T[m,l]*D[l,n]": "T",
    "P[m,l] = softmax(X[m,l], l); T[m,l] = P[m,l]/2": "T",
    "P[m,l] = softmax(X[m,l], l); C[m] max= P[m,l]*D[l]": "C",
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; P[h,m,l] = softmax(S[h,m,l], l); C[m,n] = P[h,m,l]*D[h,l,n]": "C",
    "P[m,l] = softmax(X[m,l], l); C[m,n] = P[m,l]*D[l,n] + P[m,l]*E[l,n]": "C",
}


@pytest.mark.parametrize(("text", "waits"), [*((text, False) for text in ONLINE), *((text, True) for text in WHOLE)])
def test_rows_are_read_early_where_sums_of_them_can_be_rescaled(text, waits):
    workload = parse_workload(
        text, {d: 3 for d in "hmlkn" if f"{d}]" in text or f"{d}," in text}, semantics=Semantics.ASSIGN
    )
    (mine,) = row_statistics(workload)
    readers = {**ONLINE, **WHOLE}[text]
    assert (bool(mine.waits), {*mine.reads}, mine.unknown) == (waits, {*readers}, "")
    (theirs,) = stated_rows(stated(workload))
    assert (theirs.name, theirs.waits, theirs.dims) == (mine.name, waits, [str(axis) for axis in mine.access.axes])
    assert {workload.statements[number].name for number in theirs.readers} == {*readers}
    assert theirs.weight == workload.weight(mine.access)


def test_statistics_of_outputs_and_of_rows_without_dims_of_their_own_are_not_counted():
    workload = parse_workload("S[m] = A[m,k]*B[k]; P[m] = softmax(S[m], m)", {"m": 3, "k": 2})
    nodes = [{"keep": "buffer", "tensors": ["A", "B", "S", "P", "P.row"]}]
    nodes += [{"sequence": [[{"compute": "S"}], [{"compute": "P"}]]}]
    with pytest.raises(InputError, match="P is an output: its elements would be visited once more"):
        count_tree(tree_of(nodes, workload))
    with pytest.raises(RefusedError, match="P is an output"):
        stated_rows(stated(workload))


def test_a_tree_that_does_not_name_a_statistic_means_something_and_is_not_counted():
    workload = parse_workload(FLASH, {"h": 1, "m": 3, "l": 3, "k": 2, "n": 2})
    tree = tree_of(flash(1, keeps=("Q", "O")), workload)
    with pytest.raises(
        InputError, match=r"statistic of P is not counted, as no Keep names it: add P\.row to Keeps above P and O"
    ):
        count_tree(tree)
    nodes = flash(1, keeps=("Q", "O"))
    said = tried(workload, ["buffer", "Memory"], nodes)
    assert said == "not kept: P.row is not kept at buffer for P"
    assert tensor_colors(tree)["P.row"]
    nodes[-1]["sequence"][1].insert(0, {"keep": "buffer", "tensors": ["P.row"]})
    with pytest.raises(TreeError, match=r"statement O: P\.row is not kept at buffer"):
        _ = tree_of(nodes, workload)


def test_whole_rows_are_complete_before_they_are_read():
    workload = parse_workload(FLASH.replace(", l)", ", l, whole)"), {"h": 1, "m": 3, "l": 3, "k": 2, "n": 2})
    with pytest.raises(TreeError, match="O reads P before its row is complete: softmax of P is of whole rows"):
        count_tree(tree_of(flash(1), workload))
    nodes = flash(1)
    del nodes[3]  # the loop over l
    assert not count_tree(tree_of(nodes, workload)).walked


@pytest.mark.parametrize("block", some([0], range(3)))
def test_pairs_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    fitting = 0
    for seed in range(block * 6, block * 6 + 6):
        rng = random.Random(seed)
        workload = random_pair(rng, 5)
        asked = {"objective": rng.choice(("traffic", "loads")), "method": rng.choice(("fused", "fused", "apart"))}
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(8, 60)}w", **asked)
        except InfeasibleError:
            continue
        fitting += 1
        assert answer.proved
        assert not answer.count.walked
        walk = walk_tree(answer.mapping)
        assert answer.count.moved == walk.moved
        assert answer.count.rooms[0].occupancy_words == walk.rooms[0].occupancy_words
        assert answer.bound.value <= answer.cost
        answer.save(tmp_path / f"{seed}.json")
        assert any("P.row" in node.get("tensors", ()) for node in nodes_of(tmp_path / f"{seed}.json"))
        optmap.check(tmp_path / f"{seed}.json")
        assert not optmap.evaluate(tmp_path / f"{seed}.json").disagreements
    assert fitting > 2


def nodes_of(path):
    open_ones = list(json.loads(path.read_text())["mapping"]["tree"])
    while open_ones:
        node = open_ones.pop()
        yield node
        open_ones += [each for branch in node.get("sequence", ()) for each in branch]


def members(rng, pair, few):
    """Some mappings of the family: all that are fused with tiles of any sizes, or some of both kinds."""
    rows, columns = pair.sides
    for outer, (out, inn) in enumerate(((rows.extent, columns.extent), (columns.extent, rows.extent))):
        sizes = product(range(1, out + 1), range(1, out + 1), range(1, inn + 1))
        for (tile, block, inner), stays, pinned, rows_stay, pinned_rows in product(
            sizes,
            product((False, True), repeat=4),
            product(range(inn + 1), repeat=2),
            (False, True) if pair.rows.side == outer else (False,),
            range(inn + 1) if pair.rows.side != outer else (0,),
        ):
            if block <= tile and rng.random() < few:
                member = Fused(
                    outer=outer,
                    tile=tile,
                    block=block,
                    inner=inner,
                    stays=stays,
                    pinned=pinned,
                    words=0,
                    rows_stay=rows_stay,
                    pinned_rows=pinned_rows,
                )
                yield Run(strip=rows.extent, resident=(), parts=(Part(first=0, member=member),), ways=(), words=0)
    extents = (rows.extent, columns.extent, pair.depth), (rows.extent, columns.extent, pair.width)
    for _ in range(int(600 * few)):
        parts = []
        for first, sizes in enumerate(extents):
            kept = rng.randrange(6)
            groups = ((0, 1), (0, 2), (1, 2))[kept % 3][:: -1 if kept > 2 else 1]
            tiles = tuple(rng.randint(1, sizes[group]) for group in groups)
            pinned = rng.choice((0, rng.randint(0, sizes[groups[1]])))
            parts.append(Part(first=first, member=Apart(kept=kept, tiles=tiles, pinned=pinned, words=0)))
        way, whole = rng.choice(list(Way)), rng.random() < 0.4
        if way is not Way.INSIDE or whole:
            yield Run(strip=rows.extent, resident=(), parts=tuple(parts), ways=(way,), words=0, rows_whole=whole)


def attack(seed, few):
    rng = random.Random(seed)
    workload = random_pair(rng, 3, (PAIR, SHAPES[3]))
    steps, stores = steps_of(workload), rng.random() < 0.7
    memory = rng.randint(6, 26)
    found = best_run(workload, steps, memory, stores=stores)
    machine, fits = optmap.machine(memory=f"{memory}w"), 0
    runs = members(rng, pair_of(workload, *steps), few)
    for run in runs if found is None else (found, *runs):
        nodes = run_tree(workload, steps, run, machine.levels[0].name, machine.memory)
        try:
            count = count_boxes(MappingTree(workload=workload, machine=machine, nodes=nodes))
        except TreeError:  # a part of what stays whole is pinned
            continue
        if count is not None and count.rooms[0].occupancy_words <= memory:
            fits += 1
            words = sum(each.loads_words + stores * each.stores_words for each in count.moved)
            assert found is not None
            assert found.words <= words, (run, words)
            assert run is not found or words == found.words
    return fits


@pytest.mark.parametrize("seed", some(2, range(5)))
def test_no_mapping_of_the_family_moves_less(seed):
    _ = attack(seed, 0.004)


def test_the_least_memory_is_a_word_of_every_tensor_of_a_statement_and_a_row():
    extents = {"m": 3, "l": 3, "k": 3, "n": 3}
    with pytest.raises(InfeasibleError, match="needs 5"):
        optmap.solve(PAIR, extents=extents, memory="4w")
    assert optmap.solve(PAIR, extents=extents, memory="5w").proved


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAIR.replace(", l)", ", l, whole)"), "softmax of P is of whole rows"),
        (PAIR.replace(", l)", ", m)"), "C is no sum of products along the rows of P"),
        (PAIR.replace("softmax", "layernorm"), "layernorm takes a mean from every element"),
        (f"{PAIR}; E[m,p] = C[m,n]*F[n,p]", "of three products or more mappings that keep the statistic"),
        (f"{PAIR}; Y[m,n] = relu(C[m,n])", "ends with Y, done in place"),
    ],
)
def test_what_no_family_takes_is_done_in_parts_and_says_why(text, reason, tmp_path):
    extents = {d: 4 for d in "mlknp" if f"{d}]" in text or f"{d}," in text}
    answer = optmap.solve(text, extents=extents, memory="50w", semantics="assign")
    hold(answer, tmp_path)
    assert any(note.startswith("in parts: ") and reason in note for note in answer.notes)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l)", {}, "is one product"),
    ],
)
def test_what_is_not_looked_for_is_refused_by_name(text, options, reason):
    extents = {d: 4 for d in "mlknp" if f"{d}]" in text or f"{d}," in text}
    with pytest.raises(InputError, match=reason):
        optmap.solve(text, extents=extents, **({"memory": "50w"} | options))


def test_the_words_of_a_row_are_a_small_part_of_attention():
    asked = {"extents": {"h": 2, "m": 256, "l": 256, "k": 32, "n": 32}, "memory": "4096w"}
    plain = optmap.solve(FLASH.replace("softmax(0.125*S[h,m,l], l)", "exp(S[h,m,l])"), **asked)
    answer = optmap.solve(FLASH, **asked)
    assert plain.cost <= answer.cost <= 1.05 * plain.cost
