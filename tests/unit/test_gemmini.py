"""Partitions, buffering, and output-stationary tiles of an accelerator."""

import json
from itertools import product

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import workloads

from optmap.api import solve
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.reference.walk_held import walk_held
from optmap.files import library
from optmap.files.fields import Fields
from optmap.files.machines import machine_document, machine_from
from optmap.machines.machine import Level, Machine, Partition
from optmap.machines.partitions import capacity_groups
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.objective import LOADS
from optmap.report import machine_table
from optmap.search import METHODS, Question, best_stationary, fits, greedy_stationary, stationary
from optmap.solvers import PointKind, Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

GEMMINI = library.machine("gemmini-buffers")
BYTES = {"Out": 4, "In": 1, "Ker": 1}


def words(amount):
    return Capacity(amount=amount, unit="words")


def split(inputs, output, buffering=1):
    parts = (
        Partition(name="in", tensors=("inputs",), capacity=words(inputs)),
        Partition(name="out", tensors=("output",), capacity=words(output)),
    )
    return Level(name="Buffers", capacity=words(inputs + output), partitions=parts, buffering=buffering)


def resnet(name, batch=1):
    sizes = {
        "conv1": {"k": 64, "c": 3, "h": 224, "w": 224, "r": 7, "s": 7, "stride": 2},
        "conv2": {"k": 64, "c": 64, "h": 56, "w": 56, "r": 3, "s": 3},
        "conv3": {"k": 128, "c": 128, "h": 28, "w": 28, "r": 3, "s": 3},
        "conv4": {"k": 256, "c": 256, "h": 14, "w": 14, "r": 3, "s": 3},
        "conv5": {"k": 512, "c": 512, "h": 7, "w": 7, "r": 3, "s": 3},
    }[name]
    workload = conv2d(**sizes, n=batch, bytes=BYTES, name=name)
    assert batch > 1 or workload.extents == library.workload(f"resnet50/{name}").extents
    return workload


def walked(workload, tile):
    """Words of the inputs, counted tile by tile over real boxes."""
    starts = [range(0, n, tile[d]) for d, n in workload.sizes]
    total = 0
    for corner in product(*starts):
        size = {d: min(tile[d], workload.extents[d] - a) for d, a in zip(workload.dims, corner, strict=True)}
        total += sum(workload.weight(t) * t.footprint(size) for t in workload.inputs)
    return total


def test_a_dim_of_one_trip_ties_no_subscripts_together():
    workload = parse_workload("O[a,c] = A[c+4*a+2,c+1,a+b+5]", {"a": 1, "b": 4, "c": 4})
    level = split(9, 4)
    groups = capacity_groups(workload, level)
    boxes = ({"a": 1, "b": b, "c": c} for b, c in product(range(1, 5), repeat=2))
    best = min(stationary(workload, t).input_words for t in boxes if fits(workload, groups, t))
    assert best_stationary(workload, level).input_words == best


@given(workloads(max_extent=4, max_operations=200), st.data())
@settings(max_examples=cases(20, 60))
def test_the_best_tile_is_that_of_an_exhaustive_search(workload, data):
    least = sum(workload.weight(t) for t in workload.inputs)
    level = split(
        data.draw(st.integers(least, 4 * least + 8)),
        data.draw(st.integers(workload.weight(workload.output), 40)),
    )
    groups = capacity_groups(workload, level)
    found = best_stationary(workload, level)
    assert fits(workload, groups, found.tile)
    assert found.input_words == walked(workload, found.tile)
    boxes = (dict(zip(workload.dims, t, strict=True)) for t in product(*(range(1, n + 1) for _, n in workload.sizes)))
    assert found.input_words == min(stationary(workload, t).input_words for t in boxes if fits(workload, groups, t))
    out = workload.weight(workload.output) * workload.output.footprint(workload.extents)
    if all(len(axis.terms) <= 1 for axis in workload.output.axes):
        assert found.output_words == out


@pytest.mark.parametrize("name", ["conv1", "conv2", "conv3", "conv4", "conv5"])
@pytest.mark.parametrize("batch", [1, 4])
def test_resnet_layers_beat_the_greedy_tiler(name, batch):
    workload = resnet(name, batch)
    level = GEMMINI.levels[0]
    best, greedy = best_stationary(workload, level), greedy_stationary(workload, level)
    groups = capacity_groups(workload, level)
    assert [(g.name, g.words) for g in groups] == [("scratchpad", 128 * 1024), ("accumulator", 32 * 1024)]
    assert fits(workload, groups, best.tile)
    assert fits(workload, groups, greedy.tile)
    assert best.output_words == greedy.output_words == 4 * workload.output.footprint(workload.extents)
    assert best.input_words <= greedy.input_words
    if name in ("conv1", "conv2", "conv3"):
        assert 0.45 < best.input_words / greedy.input_words < 0.85
    single = {**best.tile, "k": best.tile["k"] + 1}
    assert not fits(workload, groups, single) or stationary(workload, single).input_words >= best.input_words


def test_greedy_cannot_grow_any_further():
    workload = resnet("conv3")
    groups = capacity_groups(workload, GEMMINI.levels[0])
    tile = greedy_stationary(workload, GEMMINI.levels[0]).tile
    for dim, extent in workload.extents.items():
        assert tile[dim] == extent or not fits(workload, groups, {**tile, dim: tile[dim] + 1})


@pytest.mark.parametrize("semantics", ["accumulate", "assign"])
def test_the_greedy_tiler_is_a_method_whose_gap_is_what_it_loses(semantics):
    workload = resnet("conv2")
    grown, best = (
        solve(workload, machine="gemmini-buffers", method=m, semantics=semantics) for m in ("gemmini-greedy", "gemmini")
    )
    level = GEMMINI.levels[0]
    assert grown.mapping.levels[0].tile == greedy_stationary(workload, level).tile
    assert grown.relaxation.value == best.cost
    assert grown.integer_gap == pytest.approx(grown.cost / best.cost - 1)
    assert grown.integer_gap > 0
    assert grown.stop is Stop.SEARCH_ENDED
    words = [walked(workload, made.mapping.levels[0].tile) for made in (grown, best)]
    assert f"brings in {words[0]:,} words of inputs, the best tile {words[1]:,}" in grown.notes[0]
    kept = solve(workload, machine="gemmini-buffers", method="gemmini-greedy", semantics=semantics, tiles="divisors")
    assert all(n % kept.mapping.levels[0].tile[d] == 0 for d, n in workload.sizes)
    assert kept.cost >= best.cost


def test_the_method_answers_with_a_proof_and_shares():
    result = solve(resnet("conv2"), machine="gemmini-buffers", method="gemmini", semantics="assign")
    assert result.integer_gap == 0
    assert result.mapping.levels[0].permutation[-3:] == ("c", "r", "s")
    rows = {row.tensor: row for row in result.boundaries}
    assert rows["Out"].loads_words == 0
    summed = solve(resnet("conv2"), machine="gemmini-buffers", method="gemmini")
    assert summed.cost == result.cost + rows["Out"].stores_words
    assert result.cost == result.exact == sum(row.words for row in result.boundaries)
    assert result.cost == best_stationary(result.workload, GEMMINI.levels[0]).words
    assert "scratchpad holds" in result.notes[1]
    assert evaluate_cost(result.workload, GEMMINI, result.mapping).fits


def test_every_tile_brings_in_its_inputs_although_the_nest_could_keep_some():
    small = conv2d(k=8, c=2, h=6, w=6, r=3, s=3, bytes=BYTES)
    machine = Machine(name="split", levels=(split(120, 96),))
    result = solve(small, machine=machine, method="gemmini")
    tile = result.mapping.levels[0].tile
    assert all(tile[d] == small.extents[d] for d in small.reduction_dims)
    assert result.exact == result.cost == evaluate_cost(small, machine, result.mapping).value
    nest = sum(row.words for row in exact_traffic(small, machine, result.mapping))
    assert nest < result.exact == sum(row.words for row in result.boundaries)
    walk = walk_held(small, machine, result.mapping, result.held)
    assert sum(row.loads_words + row.stores_words for row in walk.moved) == result.exact


def test_a_best_tile_is_claimed_only_where_the_output_moves_alike_for_all():
    overlapping = parse_workload("O[x+y] += A[x]*B[y]", {"x": 7, "y": 6})
    result = solve(overlapping, memory="12w", method="gemmini")
    boxes = [{"x": x, "y": y} for x in range(1, 8) for y in range(1, 7)]
    least = min(
        stationary(overlapping, t).words for t in boxes if sum(a.footprint(t) for a in overlapping.tensors) <= 12
    )
    assert result.integer_bound <= least <= result.cost
    assert result.point is PointKind.FEASIBLE
    assert solve(matmul(i=7, j=6, k=5), memory="12w", method="gemmini").point is PointKind.GLOBAL_OPTIMUM


def test_divisors_divide_and_move_no_less():
    workload = resnet("conv3")
    even = best_stationary(workload, GEMMINI.levels[0], divisors=True)
    assert all(n % even.tile[d] == 0 for d, n in workload.extents.items())
    assert even.words >= best_stationary(workload, GEMMINI.levels[0]).words


def test_iooub_fills_partitions_and_moves_no_more_than_reloading():
    workload = matmul(i=64, j=48, k=40, bytes={"C": 4, "A": 1, "B": 1})
    machine = Machine(name="split", levels=(split(60, 400),))
    result = METHODS["iooub"].run(Question(workload=workload, machine=machine, objective=LOADS))
    held = result.held
    assert held is not None
    assert held.positions
    reloaded = best_stationary(workload, machine.levels[0])
    loads = {row.tensor: row.loads_words for row in result.boundaries}
    assert result.cost <= reloaded.input_words + loads["C"] * 1
    assert evaluate_cost(workload, machine, result.mapping).levels[0].capacity_words == 460


def test_overfull_partitions_do_not_fit_although_the_sum_does():
    workload = matmul(i=4, j=4, k=4)
    machine = Machine(name="split", levels=(split(8, 92),))
    tile = LevelMapping(level="Buffers", tile=dict.fromkeys("ijk", 4), permutation=("i", "j", "k"), spatial={})
    report = evaluate_cost(workload, machine, Mapping(levels=(tile,)))
    assert report.levels[0].occupancy_words == 48 <= report.levels[0].capacity_words
    assert report.levels[0].overfull == ("in",)
    assert not report.fits


def test_other_methods_refuse_partitions_but_know_buffering():
    workload = matmul(i=16, j=16, k=16)
    with pytest.raises(InputError, match=r"does not know the partitions of Buffers \(scratchpad, accumulator\)"):
        solve(workload, machine="gemmini-buffers")
    double = Machine(name="double", levels=(Level(name="Fast", capacity=words(128), buffering=2),))
    one, two = solve(workload, machine=double), solve(workload, memory="64w")
    assert one.cost == two.cost
    assert one.levels[0].capacity_words == 64


def test_documents_tables_and_files_keep_partitions():
    document = machine_document(GEMMINI)
    assert machine_from(Fields.of(json.loads(json.dumps(document)), "file.json")) == GEMMINI
    assert GEMMINI.levels[0].capacity == Capacity(amount=320 * 1024)
    assert "scratchpad 262,144 for inputs; accumulator 65,536 for output; 2 buffers" in machine_table(GEMMINI)


def level_of(**fields):
    return Fields.of({"name": "m", "levels": [{"name": "B", **fields}]}, "m.yaml")


def test_partitions_may_name_tensors():
    parts = [
        {"name": "w", "tensors": ["Ker"], "capacity": "8w"},
        {"name": "rest", "tensors": ["In", "output"], "capacity": "64w"},
    ]
    machine = machine_from(level_of(partitions=parts), "m")
    workload = conv2d(k=2, c=2, h=4, w=4, r=3, s=3)
    groups = capacity_groups(workload, machine.levels[0])
    assert [(g.name, g.words, g.tensors) for g in groups] == [("w", 8, (2,)), ("rest", 64, (0, 1))]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"partitions": [{"name": "a", "tensors": [], "capacity": "8w"}]}, "write inputs, output or a list"),
        ({"partitions": [{"name": "a", "tensors": 3, "capacity": "8w"}]}, "tensors is 3"),
        ({"partitions": [{"name": "a", "tensors": "inputs", "size": "8w"}]}, "unknown key 'size'"),
        ({"partitions": [{"name": "a", "tensors": "inputs", "capacity": "8w"}] * 2}, "names repeat"),
        ({"partitions": [{"name": "a", "tensors": "inputs", "capacity": "8w"}], "capacity": "9w"}, "make them agree"),
        (
            {
                "partitions": [
                    {"name": "a", "tensors": "inputs", "capacity": "8w"},
                    {"name": "b", "tensors": "output", "capacity": "8B"},
                ]
            },
            "in one unit",
        ),
        ({"capacity": "8w", "buffering": 0}, "buffering is 0"),
    ],
)
def test_bad_partitions_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        machine_from(level_of(**fields), "m")


def test_a_tensor_without_a_home_is_refused():
    part = Partition(name="in", tensors=("inputs",), capacity=words(8))
    level = Level(name="B", capacity=words(8), partitions=(part,))
    with pytest.raises(InputError, match="tensor C of matmul belongs in no partition"):
        capacity_groups(matmul(i=2, j=2, k=2), level)
    both = Partition(name="more", tensors=("output", "A"), capacity=words(8))
    level = Level(name="B", capacity=words(16), partitions=(part, both))
    with pytest.raises(InputError, match="tensor A of matmul belongs in in and more"):
        capacity_groups(matmul(i=2, j=2, k=2), level)


def test_what_does_not_fit_or_apply_is_refused():
    workload = matmul(i=4, j=4, k=4)
    with pytest.raises(InfeasibleError, match="out is short by 1 word:"):
        best_stationary(workload.with_extents(), split(9, 1, buffering=2))
    with pytest.raises(InfeasibleError, match="in is short by 1 word:"):
        greedy_stationary(workload, split(1, 9))
    with pytest.raises(InputError, match="one level only"):
        solve(workload, machine="balanced", method="gemmini")
    with pytest.raises(InputError, match="--integers floor"):
        solve(workload, machine="gemmini-buffers", method="gemmini", integers="floor")
    with pytest.raises(InputError, match="to prove a best tile"):
        best_stationary(matmul(i=2**40, j=2, k=2), split(9, 9))


def test_a_single_point_that_does_not_fit_is_infeasible():
    point = parse_workload("O[b,c] += A[d,b]*B[d]*C[c]", {"b": 1, "c": 1, "d": 1}, bytes={"O": 3 / 8, "A": 1 / 8})
    with pytest.raises(InfeasibleError, match="in is short by"):
        solve(point, machine=Machine(name="split", levels=(split(4, 52),)), method="gemmini")
