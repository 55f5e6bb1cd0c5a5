"""Simulated caches: the C walk against a literal one, fully associative ones against the reference simulator."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import mappings, workloads

from optmap.base.errors import InputError
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.reference.simulate import simulate
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import Geometry, TensorLayout, buffers_of, geometry_of, replay_lines, simulate_caches
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics


class Chain:
    """Dictionaries in order of use: the caches, the obvious way."""

    def __init__(self, geometries, tensors):
        self.geometries = geometries
        self.sets = [[OrderedDict() for _ in range(g.sets)] for g in geometries]
        self.loads = np.zeros((len(geometries), tensors), int)
        self.stores = np.zeros((len(geometries), tensors), int)
        self.owner = {}

    def use(self, level, line, write, fetch=True):
        if level == len(self.geometries):
            return
        geometry = self.geometries[level]
        held = self.sets[level][line % geometry.sets]
        if line not in held:
            if fetch:
                self.loads[level, self.owner[line]] += 1
                self.use(level + 1, line, write=False)
            if len(held) == geometry.ways:
                self.evict(level, next(iter(held)))
            held[line] = False
        held[line] |= write
        held.move_to_end(line)

    def evict(self, level, line):
        dirty = self.sets[level][line % self.geometries[level].sets].pop(line)
        if self.geometries[level].inclusive:
            for inner in range(level - 1, -1, -1):
                copy = self.sets[inner][line % self.geometries[inner].sets].pop(line, None)
                if copy:
                    self.stores[inner, self.owner[line]] += 1
                    dirty = True
        if dirty:
            self.stores[level, self.owner[line]] += 1
            self.use(level + 1, line, write=True, fetch=False)

    def flush(self):
        dirty = set()
        for level, sets in enumerate(self.sets):
            dirty |= {line for held in sets for line, written in held.items() if written}
            for line in dirty:
                self.stores[level, self.owner[line]] += 1


geometries = st.builds(Geometry, sets=st.integers(1, 4), ways=st.integers(1, 4), inclusive=st.booleans())


@given(
    chain=st.lists(geometries, min_size=1, max_size=3),
    stream=st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=200),
)
def test_a_stream_moves_what_the_obvious_caches_move(chain, stream):
    lines = np.array([line for line, _ in stream], np.int64)
    writes = np.array([write for _, write in stream], bool)
    literal = Chain(chain, 3)
    for line, write in stream:
        literal.owner[line] = line % 3
        literal.use(0, line, write)
    literal.flush()
    loads, stores = replay_lines(chain, lines, lines % 3, writes, 3)
    assert (loads == literal.loads).all()
    assert (stores == literal.stores).all()


def test_a_direct_mapped_cache_by_hand():
    # two sets of one line: 0 and 2 throw each other out, 1 stays
    loads, stores = replay_lines(
        [Geometry(sets=2, ways=1, inclusive=False)],
        np.array([0, 2, 0, 1, 2, 1]),
        np.zeros(6, np.int64),
        np.array([1, 0, 0, 0, 1, 0], bool),
        1,
    )
    assert loads.tolist() == [[5]]  # 0, 2, 0, 1, 2
    assert stores.tolist() == [[2]]  # 0 when 2 comes, 2 at the end


def test_what_leaves_an_inclusive_cache_leaves_those_inside():
    small, outer = Geometry(sets=1, ways=2, inclusive=False), Geometry(sets=1, ways=2, inclusive=True)
    stream = np.array([0, 1, 0, 2, 0])  # outside, 0 is older than 1: its uses are seen inside only
    args = (stream, np.zeros(5, np.int64), np.zeros(5, bool), 1)
    assert replay_lines([small, outer], *args)[0].tolist() == [[4], [4]]
    assert replay_lines([small, replace(outer, inclusive=False)], *args)[0].tolist() == [[3], [3]]


def cached(words, **more):
    return Level(name="L1", capacity=Capacity(amount=words, unit="words"), kind=LevelKind.CACHE, **more)


def plain(workload):
    return buffers_of(
        workload,
        tuple(TensorLayout.plain(len(t.axes)) for t in workload.tensors),
        tuple(False for _ in workload.tensors),
    )


@settings(max_examples=cases(12, 30))
@given(data=st.data(), words=st.integers(4, 200))
def test_one_word_lines_anywhere_are_the_reference_simulator(data, words):
    workload = data.draw(workloads(max_operations=600)).with_semantics(Semantics.ACCUMULATE)
    machine = Machine(name="one", levels=(cached(words), replace(cached(4096), name="L2")))
    mapping = data.draw(mappings(workload, machine))
    ours = simulate_caches(workload, machine, mapping, plain(workload), registers=False)
    theirs = simulate(workload, machine, mapping)
    count = len(workload.tensors)
    assert ours.moved[:count] == theirs[:count]
    # every element comes in from outside once, and every output goes there
    assert ours.moved[count:] == theirs[count:]


@given(data=st.data())
def test_one_word_lines_with_padding_left_out(data):
    size, stride = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 2))
    workload = conv2d(k=3, c=2, h=size, w=5, r=3, s=3, stride=stride).with_padding("implicit")
    machine = Machine(name="one", levels=(cached(data.draw(st.integers(8, 60))),))
    mapping = data.draw(mappings(workload, machine))
    ours = simulate_caches(workload, machine, mapping, plain(workload), registers=False)
    assert ours.moved == simulate(workload, machine, mapping)


def cut(box, order, tile):
    """The tiles of a box, the loops in this order; dims that are not in it stay whole."""
    starts = [range(box[dim].start, box[dim].stop, tile[dim]) for dim in order]
    for choice in itertools.product(*starts):
        parts = zip(order, choice, strict=True)
        yield box | {dim: range(start, min(start + tile[dim], box[dim].stop)) for dim, start in parts}


def literal_lines(tensor, buffer, base, box, line_bytes):
    """Lines under a tile, in the order of the addresses of its rows."""

    def values(axis):
        found = {axis.offset}
        for dim, c in axis.terms:
            found = {value + c * i for value in found for i in box[dim]}
        low, high = axis.real or (0, 10**9)
        return sorted(value for value in found if low <= value <= high)

    sides = [values(axis) for axis in tensor.axes]
    order = list(dict.fromkeys(axis for axis, _ in buffer.layout.order))
    lines = set()
    for choice in itertools.product(*(sides[axis] for axis in order)):
        index = dict(zip(order, choice, strict=True))
        place, spans = 0, {}
        for axis, block in buffer.layout.order:
            digits = index[axis] - buffer.origin[axis]
            digits = digits % spans[axis] if axis in spans else digits
            extent = spans[axis] // block if axis in spans else -(-buffer.shape[axis] // block)
            spans[axis] = block
            place = place * extent + digits // block
        lines.add((base + place * buffer.bits // 8) // line_bytes)
    return sorted(lines)


LAYOUTS = (
    TensorLayout(order=((0, 1), (2, 1), (3, 1), (1, 1))),
    TensorLayout(order=((0, 1), (1, 2), (2, 1), (3, 1), (1, 1))),
)
PACKED = TensorLayout(order=((0, 4), (2, 1), (3, 1), (1, 1), (0, 1)))


@settings(max_examples=cases(20, 400))
@given(data=st.data())
def test_register_tiles_use_the_lines_of_their_layouts(data):
    workload = conv2d(
        k=data.draw(st.integers(1, 6)),
        c=3,
        h=data.draw(st.integers(2, 6)),
        w=5,
        r=3,
        s=2,
        stride=data.draw(st.integers(1, 2)),
        semantics=data.draw(st.sampled_from(list(Semantics))),
    ).with_padding("implicit")
    ways = data.draw(st.integers(1, 3))
    caches = [
        Level(name=name, capacity=Capacity(amount=32 * ways * sets), kind=LevelKind.CACHE, line_bytes=32, ways=ways)
        for name, sets in (("L1", 2), ("L2", 5))
    ]
    registers = Level(name="Reg", capacity=Capacity(amount=4))
    machine = Machine(name="tiny", levels=(registers, *caches))
    mapping = data.draw(mappings(workload, machine))
    inner = mapping.levels[0]
    points = [d for d in inner.permutation if d not in workload.reduction_dims]
    order = (*points, *(d for d in inner.permutation if d in workload.reduction_dims))
    mapping = Mapping(levels=(replace(inner, permutation=order), *mapping.levels[1:]))
    buffers = buffers_of(workload, (*(data.draw(st.sampled_from(LAYOUTS)) for _ in "oi"), PACKED), (False, False, True))
    bases = (4096, 8192, 16384)
    chain = Chain([geometry_of(level, 32)[0] for level in caches], 3)
    counts = [0, 0]

    def use(tensor, box, write):
        for line in literal_lines(workload.tensors[tensor], buffers[tensor], bases[tensor], box, 32):
            chain.owner[line] = tensor
            chain.use(0, line, write)
            counts[write] += 1

    boxes = [{dim: range(n) for dim, n in workload.sizes}]
    for level in reversed(mapping.levels[1:]):
        boxes = [part for box in boxes for part in cut(box, level.permutation, level.tile)]
    for whole in boxes:
        for place in cut(whole, points, inner.tile):
            if workload.semantics is Semantics.ACCUMULATE or any(place[d].start for d in workload.reduction_dims):
                use(0, place, write=False)
            for step in cut(place, order[len(points) :], inner.tile):
                if all(literal_lines(workload.tensors[t], buffers[t], bases[t], step, 32) for t in (1, 2)):
                    use(1, step, write=False)
                    use(2, step, write=False)
            use(0, place, write=True)
    chain.flush()
    ours = simulate_caches(workload, machine, mapping, buffers, bases=bases)
    assert [ours.loads, ours.stores] == counts
    assert [row.loads_words for row in ours.moved] == (8 * chain.loads).ravel().tolist()
    assert [row.stores_words for row in ours.moved] == (8 * chain.stores).ravel().tolist()


@settings(max_examples=cases(10, 25))
@given(data=st.data())
def test_enough_for_two_tiles_moves_no_more_than_the_model(data):
    """The model keeps one tile; a fully associative cache with room for two in a row does so too (ERRATA: LRU)."""
    workload = data.draw(workloads(max_operations=500)).with_semantics(Semantics.ACCUMULATE)
    tiny = Level(name="Reg", capacity=Capacity(amount=1, unit="words"))
    machine = Machine(name="two", levels=(tiny, cached(10**5)))
    mapping = data.draw(mappings(workload, machine))
    one = dict.fromkeys(workload.dims, 1)
    mapping = Mapping(levels=(replace(mapping.levels[0], tile=one), mapping.levels[1]))
    two = sum(2 * workload.weight(t) * t.footprint(mapping.levels[1].tile) for t in workload.tensors)
    machine = replace(machine, levels=(tiny, cached(two)))
    ours = simulate_caches(workload, machine, mapping, plain(workload), registers=False)
    model = [row for row in exact_traffic(workload, machine, mapping) if row.between[0] == "L1"]
    for mine, row in zip(ours.moved, model, strict=True):
        assert mine.loads_words <= row.loads_words, (mapping, mine, row)


def test_a_cache_of_one_step_moves_what_the_model_says():
    """A product whose tiles meet again only after more than fits: misses are the exact traffic, word by word."""
    workload = matmul(i=8, j=12, k=16)
    tile = {"i": 2, "j": 3, "k": 4}
    order = ("i", "k", "j")
    registers = Level(name="Reg", capacity=Capacity(amount=4, unit="words"))
    need = sum(t.footprint(tile) for t in workload.tensors)
    machine = Machine(name="tight", levels=(registers, cached(need + 12)))  # one more tile of B, the longest stay
    one = LevelMapping(level="Reg", tile=dict.fromkeys("ijk", 1), permutation=("k", "i", "j"), spatial={})
    mapping = Mapping(levels=(one, LevelMapping(level="L1", tile=tile, permutation=order, spatial={})))
    ours = simulate_caches(workload, machine, mapping, plain(workload), registers=False)
    model = [row for row in exact_traffic(workload, machine, mapping) if row.between[0] == "L1"]
    assert [(m.loads_words, m.stores_words) for m in ours.moved] == [(m.loads_words, m.stores_words) for m in model]


def test_what_cannot_be_simulated_is_said():
    workload = matmul(i=4, j=4, k=4)
    mapping = Mapping(levels=(LevelMapping(level="L1", tile=workload.extents, permutation=workload.dims, spatial={}),))
    odd = Machine(name="odd", levels=(cached(100, line_bytes=64, ways=4),))
    with pytest.raises(InputError, match="no whole number of sets"):
        simulate_caches(workload, odd, mapping, plain(workload))
    none = Machine(name="none", levels=(Level(name="L1", capacity=Capacity(amount=100)),))
    with pytest.raises(InputError, match="no level of kind cache"):
        simulate_caches(workload, none, mapping, plain(workload))
    mixed = Machine(name="mixed", levels=(cached(128, line_bytes=64), replace(cached(256, line_bytes=32), name="L2")))
    twice = Mapping(levels=(*mapping.levels, replace(mapping.levels[0], level="L2")))
    with pytest.raises(InputError, match="lines of different sizes"):
        simulate_caches(workload, mixed, twice, plain(workload))
