"""Pairs with windows or rows of several dims: what others reach, the literal walk, the checker, what is refused."""

import random
import re

import pytest
import random_trees
from cases import some
from mapping_trees import moved, scratchpads, tree_of
from random_trees import random_tree
from walked_answers import hold

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.trees import count_boxes, walk_tree
from optmap.search.chains import window_tiles, windows
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

CONVOLUTION = "S[d,y,x] = I[c,y+r,x+s]*F[d,c,r,s]; O[e,y,x] = S[d,y,x]*G[e,d]"
FAMILIES = (
    CONVOLUTION,
    "S[n,d,y] = F[d,c,r]*I[n,c,2*y+r]; O[n,e,y] = S[n,d,y]*G[e,d]",
    "S[c,y,x] = I[c,y+r,x+s]*F[c,r,s]; T[c,y,x] = relu(S[c,y,x]); O[k,y,x] = T[c,y,x]*W[k,c]",
    "S[c,y] = I[c,2*y+r]*F[c,r]; T[c,y] = relu(S[c,y]); U[c,y] = exp(T[c,y]); O[k,y] = U[c,y]*W[k,c]",
    "S[d,y,x] = I[c,y,x]*F[d,c]; O[e,y,x] = S[d,y,x]*G[e,d]",
    "S[g,d,y] = I[g,c,y+r]*F[g,d,c,r]; O[g,e,y] = S[g,d,y]*G[g,e,d]",
    "S[d,y] = I[y+r]*F[d,r]; O[e,y] = S[d,y]*G[e,d]",
    "S[d,e,y] = I[c,y+r]*F[d,e,c,r]; O[k,y] = S[d,e,y]*G[k,d,e]",
    "S[h,m,l] = A[h,m,k]*B[k,l]; O[h,m,n] = S[h,m,l]*D[l,n]",
)
DEPTHWISE = "S[d,y,x] = I[d,y+r,x+s]*F[d,r,s]; O[e,y,x] = S[d,y,x]*G[e,d]"
REACHED = (
    (CONVOLUTION, "c=8,d=8,e=8,y=6,x=6,r=3,s=3", ((7, 20160), (16, 11424), (52, 5024), (169, 2208), (337, 1440))),
    (DEPTHWISE, "d=16,e=8,y=8,x=8,r=3,s=3", ((22, 8336), (40, 6352), (159, 4160), (295, 2976), (560, 2384))),
    (FAMILIES[-1], "h=4,m=12,l=24,k=6,n=6", ((16, 9072), (53, 4032), (208, 1440), (301, 864))),
)
"""Words that mappings of AccelForge 1.0.467 move, loads and stores, all operands held; tiles divide the extents."""


@pytest.mark.parametrize("block", some([0], range(3)))
def test_random_pairs_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    for seed in range(block * 15, block * 15 + 15):
        rng = random.Random(seed)
        text = rng.choice(FAMILIES)
        extents = {d: rng.randint(1, 4) for d in sorted(set(re.findall(r"(?<![A-Za-z])[a-z](?![a-z])", text)))}
        extents |= {"r": max(2, extents["r"])} if "r" in extents else {}  # or a stride of 2 leaves gaps
        plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
        widths = {name: rng.choice((1, 2, 4)) for name in sorted(set(plain.stored_as.values()))}
        sizes = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
        workload = parse_workload(text, extents, semantics=plain.semantics, bytes=sizes)
        asked = {"objective": rng.choice(("traffic", "loads")), "method": rng.choice(("fused", "apart"))}
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(6, 120)}w", **asked)
        except InfeasibleError:
            continue
        hold(answer, tmp_path)


@pytest.mark.parametrize(("text", "extents", "reached"), REACHED)
def test_no_more_moves_than_another_mapper_needs(text, extents, reached):
    for memory, words in reached:
        answer = optmap.solve(text, extents=extents, semantics="assign", memory=f"{memory}w", objective="traffic")
        assert answer.cost <= words


def test_unfused_mappings_are_the_best_of_unfused_ones_only():
    extents = {"c": 8, "d": 8, "e": 8, "y": 6, "x": 6, "r": 3, "s": 3}
    fused, apart = (optmap.solve(CONVOLUTION, extents=extents, memory="337w", method=m) for m in ("fused", "apart"))
    assert fused.cost < apart.cost
    assert fused.proved
    assert apart.proved
    assert "fused: " in fused.space
    assert apart.space.startswith("unfused: ")


def test_channels_that_are_not_summed_do_not_come_between_tiles():
    """Unfused, tiles of a depthwise image share it: 72 words, of which nothing was known when 76 were called proved."""
    extents = {"d": 2, "e": 4, "r": 3, "y": 4}
    workload = parse_workload("S[d,y] = I[d,y+r]*F[d,r]; O[e,y] += S[d,y]*G[e,d]", extents)
    answer = optmap.solve(workload, memory="6w", objective="loads")
    assert answer.cost <= 72 or not answer.proved


def test_without_columns_an_image_stays_between_loops_over_rows(tmp_path):
    """All of a window's columns stay while rows pass: 46 words, where an image for one tile moves 50."""
    extents = {"e": 2, "r": 3, "s": 2, "x": 3, "y": 3}
    text = "S[y,x] = I[y+r,x+s]*F[r,s]; O[e,y,x] = S[y,x]*G[e]"
    answer = optmap.solve(text, extents=extents, semantics="assign", memory="20w", objective="traffic")
    assert answer.cost <= 46
    hold(answer, tmp_path)


def test_nothing_is_proved_where_unfused_mappings_may_move_less_than_is_said_of_them():
    """Without channels neighbouring tiles share what the image has in common: these unfused ones move 81 words."""
    extents = {"d": 3, "e": 1, "y": 2, "x": 3, "r": 1, "s": 2}
    first = [
        {"loop": "d", "tile": 1},
        {"keep": "buffer", "tensors": ["F"]},
        *[{"loop": "y", "tile": 1}, {"loop": "x", "tile": 1}, {"keep": "buffer", "tensors": ["S"]}],
        *[{"loop": "s", "tile": 1}, {"keep": "buffer", "tensors": ["I"]}, {"compute": "S"}],
    ]
    second = [
        *[{"loop": "x", "tile": 1}, {"keep": "buffer", "tensors": ["O"]}, {"loop": "d", "tile": 1}],
        *[{"loop": "y", "tile": 1}, {"keep": "buffer", "tensors": ["S", "G"]}, {"compute": "O"}],
    ]
    nodes = [{"keep": "Memory", "tensors": ["S"]}, {"sequence": [first, second]}]
    workload = parse_workload(DEPTHWISE, extents, semantics=Semantics.ASSIGN)
    count = count_boxes(tree_of(nodes, workload, scratchpads(buffer=4)))
    words = sum(row.loads_words + row.stores_words for row in count.moved)
    answer = optmap.solve(workload, memory="4w", objective="traffic")
    assert words == 81
    assert count.rooms[0].occupancy_words == 4
    assert words >= answer.cost or not answer.proved


@pytest.mark.parametrize("images", [1, 2])
def test_what_is_proved_does_not_depend_on_the_order_of_rows(images):
    """Tiles along the window share the image if this row is the innermost; three rows are tried in one order."""
    extents = {"n": images, "d": 3, "c": 3, "e": 3, "y": 12, "x": 3, "r": 3}
    texts = (
        "S[n,d,y,x] = I[n,c,y+r,x]*F[d,c,r]; O[n,e,y,x] = S[n,d,y,x]*G[e,d]",
        "S[n,d,x,y] = I[n,c,x,y+r]*F[d,c,r]; O[n,e,x,y] = S[n,d,x,y]*G[e,d]",
    )
    one, other = (optmap.solve(text, extents=extents, memory="50w") for text in texts)
    assert other.proved  # the floor
    assert one.proved == (images == 1)
    assert one.cost == other.cost or not one.proved


def test_of_too_many_tiles_some_are_tried_and_nothing_is_proved(monkeypatch, tmp_path):
    extents = {"c": 3, "d": 7, "e": 2, "y": 6, "x": 5, "r": 2, "s": 2}
    every = optmap.solve(CONVOLUTION, extents=extents, memory="50w")
    monkeypatch.setattr(window_tiles, "MOST", 20)
    some_tiles = optmap.solve(CONVOLUTION, extents=extents, memory="50w")
    assert every.proved
    assert not some_tiles.proved
    assert windows.SOME_OF_THEM in some_tiles.space
    assert some_tiles.cost >= every.cost
    hold(some_tiles, tmp_path)


def test_inputs_with_windows_are_counted_as_they_are_walked(monkeypatch):
    families = [text for text in FAMILIES if "c" in text and text.count(";") == 1]
    monkeypatch.setattr(random_trees, "FAMILIES", ["O[k,h] = I[c,2*h+r]*F[k,c,r]", "O[h] = I[2*h]*F[h]", *families])
    counted = 0
    for seed in range(300):
        tree = random_tree(random.Random(seed))
        count = count_boxes(tree)
        if count is not None:
            counted += 1
            walk = walk_tree(tree)
            assert count.moved == walk.moved
            assert [(room.part, room.occupancy_words) for room in count.rooms] == [
                (room.part, room.occupancy_words) for room in walk.rooms
            ]
    assert counted > 60


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("S[d,y] = I[d,y+r]*F[d,y,r]; O[e,y] = S[d,y]*G[e,d]", "one moving dim|subscripts one|windows of dims"),
        ("S[d,y] = I[c,y+r]*F[d,c,r]; O[e,h] = S[d,h+p]*G[e,d,p]", "both need the same subscripts"),
        ("S[d,y] = I[c,y+r]*F[d,c,r]; O[e,y] = S[d,y]*G[e,d]; P[f,y] = O[e,y]*H[f,e]", "other subscripts than dims"),
        ("S[d,y] = I[c,y+c]*F[d,c]; O[e,y] = S[d,y]*G[e,d]", "a dim is in two subscripts"),
        ("S[d,y] = I[c,4*y+r]*F[d,c,r]; O[e,y] = S[d,y]*G[e,d]", "without gaps"),
        ("S[d,y] = I[c,y+2*r]*F[d,c,r]; O[e,y] = S[d,y]*G[e,d]", "without gaps"),
        ("S[d,y] = I[c,y+r,q]*F[d,c,r]; O[e,y] = S[d,y]*G[e,d]", "q subscripts one tensor only"),
    ],
)
def test_of_other_pairs_it_is_said_why_no_family_takes_them(text, reason):
    """Where every statement has a mapping by itself they are done one after the other."""
    extents = dict.fromkeys(set(re.findall(r"(?<![A-Za-z])[a-z](?![a-z])", text)), 3)
    try:
        answer = optmap.solve(text, extents=extents | ({"y": 5} if "h" in extents else {}), memory="200w")
        said = "; ".join(answer.notes)
    except InputError as error:
        said = str(error)
    assert re.search(reason, said), said


def test_a_memory_that_is_too_small_says_what_is_needed():
    extents = {"c": 2, "d": 2, "e": 2, "y": 3, "x": 3, "r": 2, "s": 2}
    with pytest.raises(InfeasibleError, match="needs 3"):
        optmap.solve(CONVOLUTION, extents=extents, memory="2w")


def test_numbers_beyond_64_bits_are_exact():
    nodes = [{"keep": "buffer", "tensors": ["O", "I", "F"]}, {"compute": "O"}]
    for outer in ([], [{"loop": "y", "tile": 2**30}]):
        workload = parse_workload("O[k,y] = I[c,y+r]*F[k,c,r]", {"k": 1, "y": 2**32, "c": 2**32, "r": 3})
        tree = tree_of([*outer, *nodes], workload)
        count = count_boxes(tree)
        assert moved(count)["buffer", tree.machine.memory, "I"] == (2**32 * (2**32 + 2), 0)


def test_wide_images_are_mapped_by_what_can_be_counted():
    extents = {"d": 1, "c": 2, "e": 1, "r": 3, "s": 3, "y": 2048, "x": 2048}
    answer = optmap.solve(CONVOLUTION, extents=extents, memory="16KiB")
    assert not answer.count.walked
    assert answer.cost < 1.1 * answer.bound.value
