"""Predicted time: counted by hand, against a literal walk of the tiles, and never below the floor."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import pytest
from cases import cases
from host_machines import CORE, level
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.base.errors import InputError
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.timing.bodies import bodies
from optmap.count.timing.kernel import kernel_cycles
from optmap.count.timing.predict import predict
from optmap.count.timing.results import Caches
from optmap.files.inputs import workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking
from optmap.kernels.kernel_roles import KernelKind, is_one_wide, kernel_parts, kernel_roles
from optmap.machines.core import Core
from optmap.machines.machine import Level, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native import emit_code
from optmap.workloads.amounts import Bandwidth
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload
from tests.strategies import mappings


def host(*caches: Level, core: Core | None = CORE, clock: int | None = None) -> Machine:
    return Machine(name="host", levels=(level("Reg", 2048, 128), *caches), core=core, clock_hz=clock)


def mapping(workload: Workload, *tiles: tuple[str, dict[str, int], str], **ways: int) -> Mapping:
    """Levels inner first, loops outermost first; other dims are 1. The outermost level is split `ways` ways."""
    return Mapping(
        levels=tuple(
            LevelMapping(
                level=name,
                tile={d: tile.get(d, 1) for d in workload.dims},
                permutation=tuple(order.split()),
                spatial=ways if number == len(tiles) - 1 else {},
            )
            for number, (name, tile, order) in enumerate(tiles)
        )
    )


def product(**extents: int) -> Workload:
    return parse_workload("C[i,j] = A[i,k]*B[k,j]", extents)


def of_product(workload: Workload, rows: int, columns: int, order: str = "j i k") -> Mapping:
    return mapping(workload, ("Reg", {"i": rows, "j": columns}, order), ("L1", workload.extents, "i j k"), **{})


def test_steps_of_a_product_counted_by_hand() -> None:
    workload = product(i=13, j=80, k=10)
    found = kernel_cycles(workload, of_product(workload, 6, 64), CORE)
    # Tiles of 4 and 1 vectors times 6, 6 and 1 points: a step is limited by multiply-adds, else by latency.
    wide, narrow = 12 + 12 + 4, 4 + 4 + 4
    assert found.steps == 10 * (wide + narrow)
    assert found.sums == 13 * 5 + 6 * 4  # sums stored, and six times the last addition is waited for
    assert found.loads == 10 * ((10 + 10 + 5) + (7 + 7 + 2))
    assert found.registers == 24 + 4 + 1


def test_loads_limit_a_kernel_of_one_vector() -> None:
    workload = product(i=28, j=16, k=10)
    assert kernel_cycles(workload, of_product(workload, 28, 16), CORE).steps == 10 * 29 / 2


def test_sums_come_and_go_where_a_reduction_loop_stands_outside() -> None:
    workload = product(i=24, j=16, k=10)
    inside, outside = (
        kernel_cycles(workload, of_product(workload, 12, 16, order), CORE) for order in ("i j k", "k j i")
    )
    assert (inside.sums, outside.sums) == (2 * (12 + 4), 2 * (10 * (12 + 4) + 9 * 12 / 2))


def test_the_kernel_runs_through_reductions_outside_loops_of_one_trip_as_its_code_does() -> None:
    workload = product(i=12, j=16, k=10)
    tiles = of_product(workload, 12, 16, "k j i")
    assert kernel_cycles(workload, tiles, CORE).sums == 12 + 4
    code = emit_code(workload, tiles, host(level("L1", 2**20, 64)))
    assert "k: inside the kernel" in code.source


def test_a_tile_beyond_the_registers_is_counted_as_the_kernels_that_it_is_cut_into() -> None:
    workload = product(i=28, j=64, k=10)
    machine = host(level("L1", 2**20, 64))
    found = predict(workload, machine, of_product(workload, 7, 64))
    # Seven rows of four vectors need 33 registers; four rows need 21, three rows are limited by latency to no less.
    assert (found.feasible, found.registers, found.reason) == (True, 4 * 4 + 4 + 1, "")
    assert found.cycles == 4 * (10 * (8 + 6) + (28 + 2 * 4))
    wide = product(i=5, j=96, k=10)  # six vectors are twice three
    assert kernel_cycles(wide, of_product(wide, 5, 96), CORE).registers == 3 * 5 + 3 + 1


@pytest.mark.parametrize(("rows", "columns"), [(7, 64), (6, 64), (28, 16), (40, 16), (5, 96), (9, 160), (33, 33)])
def test_kernels_are_as_large_as_those_of_the_code(rows: int, columns: int) -> None:
    """Read from the comments of the code: vectors and points of its largest kernel."""
    workload = product(i=rows, j=columns, k=8)
    machine = host(level("L1", 2**20, 64))
    tiles = of_product(workload, rows, columns)
    code = emit_code(workload, tiles, machine)
    sizes = [tuple(map(int, found)) for found in re.findall(r"/\* (\d+) vectors?[^;]*; (\d+) points", code.source)]
    assert kernel_cycles(workload, tiles, CORE).registers == max(v * p + v + 1 for v, p in sizes)


def test_a_depthwise_tile_beyond_the_registers_is_infeasible() -> None:
    workload = workload_of("mobilenet/M1", None, "assign", "implicit")
    machine = host(level("L1", 2**20, 64))
    tiles = mapping(workload, ("Reg", {"c": 16, "w": 56}, "n c h w r s"), ("L1", workload.extents, "n c h w r s"))
    found = predict(workload, machine, tiles)
    assert (found.feasible, found.registers, found.cycles) == (False, 58, float("inf"))
    assert "58 vector registers" in found.reason


def test_a_machine_without_a_core_has_no_time() -> None:
    workload = product(i=4, j=16, k=4)
    with pytest.raises(InputError, match="optmap detect"):
        predict(workload, host(level("L1", 2**20, 64), core=None), of_product(workload, 4, 16))


def test_what_fits_crosses_no_boundary_from_the_second_call_on() -> None:
    workload = product(i=12, j=64, k=10)
    machine, tiles = host(level("L1", 2**20, 64, line_bytes=64), clock=1000), of_product(workload, 6, 64)
    warm, cold = (predict(workload, machine, tiles, caches=caches) for caches in Caches)
    assert warm.boundaries[0].moved_bytes == 0
    assert warm.cycles == warm.compute_cycles == 240 + 48 + 8
    # Inputs once, outputs read before they are written, A is one run of 120 elements.
    assert cold.boundaries[0].moved_bytes == 4 * (640 + 2 * 768) + 120 / 120 * 128 * 4
    assert warm.seconds == warm.cycles / 1000
    streamed = predict(workload, machine, tiles, CodeOptions(stores=StoreKind.STREAMING))
    assert streamed.boundaries[0].moved_bytes == 4 * 768


def test_what_does_not_fit_is_counted_as_the_part_that_does() -> None:
    """A row of A and a column panel of B fit: B is read again for every row block, whatever the level's tile."""
    workload = product(i=24, j=64, k=64)
    machine = host(level("L1", 8 * 1024, 32, line_bytes=64))
    found = predict(workload, machine, of_product(workload, 6, 64, "j i k"))
    # 16 KiB of B do not fit: a cut inside i leaves bodies of one k, B entering anew for each of 4 row blocks.
    panel, rows, results = 4 * 64 * 64, 24 * 64, 24 * 64
    # A's lines are used up along k, so that each enters once.
    assert found.boundaries[0].moved_bytes == 4 * (panel + 2 * results + rows)
    assert found.boundaries[0].cycles == found.boundaries[0].moved_bytes / 32


def test_prefetch_hides_inputs_behind_the_steps() -> None:
    workload = product(i=24, j=64, k=64)
    machine = host(level("L1", 2048, 32), level("L2", 8192, 1))
    tiles = mapping(
        workload,
        ("Reg", {"i": 6, "j": 64}, "i j k"),
        ("L1", {"i": 6, "j": 64, "k": 8}, "i j k"),
        ("L2", workload.extents, "i j k"),
    )
    hidden, waiting = (predict(workload, machine, tiles, CodeOptions(prefetch=flag)) for flag in (True, False))
    inner, outer = hidden.boundaries
    results = 4 * 24 * 64  # read before they are written, a byte a cycle; nobody asks for them ahead
    assert outer.waited_cycles == results
    kernel = kernel_cycles(workload, tiles, CORE)
    lines = inner.cycles + outer.cycles - results
    assert hidden.cycles == kernel.fetching + lines + kernel.sums + results > hidden.compute_cycles + results
    loads = outer.moved_bytes - results  # written as often as read
    assert waiting.boundaries[1].waited_cycles == loads
    assert waiting.cycles == kernel.beside(inner.cycles + outer.cycles - loads) + loads
    streamed = predict(workload, machine, tiles, CodeOptions(stores=StoreKind.STREAMING))
    assert streamed.cycles == kernel.beside(sum(row.cycles for row in streamed.boundaries))
    assert streamed.boundaries[1].waited_cycles == 0
    assert hidden.bound_by == waiting.bound_by == "L2 - Memory"
    packed = predict(workload, machine, tiles, CodeOptions(weights=WeightPacking.CALL))
    assert packed.cycles == hidden.cycles + 3 * 4 * 64 * 64
    assert packed.packing_cycles == 3 * 4 * 64 * 64


def test_links_between_caches_carry_both_directions_at_once() -> None:
    workload = product(i=24, j=64, k=64)
    tiles = mapping(
        workload,
        ("Reg", {"i": 6, "j": 64}, "i j k"),
        ("L1", {"i": 6, "j": 64, "k": 8}, "i j k"),
        ("L2", workload.extents, "i j k"),
    )
    inner, outer = predict(workload, host(level("L1", 2048, 32), level("L2", 8192, 1)), tiles).boundaries
    stores = 4 * 24 * 64
    assert outer.cycles == outer.moved_bytes  # the memory's bus, a byte a cycle
    assert inner.cycles < (inner.moved_bytes - stores) / 32 + 1e-9


def test_a_kernel_that_writes_half_pairs_of_lines_reads_them_twice() -> None:
    """Depthwise rows of 32 channels are a pair of lines: one vector per visit writes half of it."""
    workload = workload_of("mobilenet/M1", None, "assign", "implicit")
    machine = host(level("L1", 48 * 2**10, 48, line_bytes=64), level("L2", 2**21, 8, line_bytes=64))
    found = {}
    for vectors, order in ((32, "n c h w r s"), (16, "n c h w r s"), (16, "n h w c r s")):
        tiles = mapping(
            workload,
            ("Reg", {"c": vectors, "w": 7}, order),
            ("L1", workload.extents, "n c h w r s"),
            ("L2", workload.extents, "n c h w r s"),
        )
        found[vectors, order] = predict(workload, machine, tiles).boundaries[1].waited_cycles
    lines = 112 * 112 * 32 * 4 / 8
    assert found == {(32, "n c h w r s"): lines, (16, "n c h w r s"): 2 * lines, (16, "n h w c r s"): lines}


def test_loads_and_lines_add_up_while_arithmetic_goes_on() -> None:
    """Cycle by cycle: the innermost cache hands out two vectors or takes in a line, the steps need neither."""
    workload = product(i=24, j=64, k=64)
    kernel = kernel_cycles(workload, of_product(workload, 6, 64), CORE)
    steps, loads = 4 * 64 * 12, 4 * 64 * (4 + 6) / 2
    assert (kernel.steps, kernel.fetching) == (steps, loads)
    for lines in (0, 100, steps - loads, steps - loads + 1, 10_000):
        busy = cycle = 0.0
        while busy < loads + lines or cycle < steps:
            cycle += 1
            busy += 1
        assert kernel.beside(lines) == cycle + kernel.sums
    depthwise = workload_of("mobilenet/M1", None, "assign", "implicit")
    tiles = mapping(depthwise, ("Reg", {"c": 16, "w": 7}, "n c h w r s"), ("L1", depthwise.extents, "n c h w r s"))
    assert kernel_cycles(depthwise, tiles, CORE).fetching == 0


def test_threads_share_the_work_and_what_one_alone_does_not_get() -> None:
    workload = product(i=24, j=64, k=64)
    shared = level("L2", 2**20, 8, shared=True, fanout=2, core_bandwidth=Bandwidth(amount=4))
    machine = host(level("L1", 2048, 32), shared)
    tiles = (
        ("Reg", {"i": 6, "j": 64}, "i j k"),
        ("L1", {"i": 6, "j": 64, "k": 8}, "i j k"),
        ("L2", workload.extents, "i j k"),
    )
    one, two = (
        predict(workload, machine, mapping(workload, *tiles)),
        predict(workload, machine, mapping(workload, *tiles, i=2)),
    )
    assert (one.threads, two.threads) == (1, 2)
    assert two.compute_cycles == one.compute_cycles / 2
    assert two.floor_cycles == one.floor_cycles / 2
    cold = [
        predict(workload, machine, mapping(workload, *tiles, **ways), caches=Caches.COLD) for ways in ({}, {"i": 2})
    ]
    assert cold[1].boundaries[1].cycles == cold[0].boundaries[1].cycles / 2


def points(workload: Workload, tiles: Mapping) -> Iterator[dict[str, tuple[int, int]]]:
    """The register tiles of a nest, (start, size) per dim, in the order of its loops."""

    def inside(number: int, box: dict[str, tuple[int, int]]) -> Iterator[dict[str, tuple[int, int]]]:
        if number < 0:
            yield box
            return
        own = tiles.levels[number]
        cuts = [
            [(start + at, min(own.tile[d], size - at)) for at in range(0, size, own.tile[d])]
            for d in own.permutation
            for start, size in [box[d]]
        ]
        for chosen in itertools.product(*cuts):
            yield from inside(number - 1, dict(zip(own.permutation, chosen, strict=True)))

    yield from inside(len(tiles.levels) - 1, {d: (0, n) for d, n in workload.sizes})


def kernels(workload: Workload, tiles: Mapping, core: Core) -> Iterator[dict[str, tuple[int, int]]]:
    """The register tiles, those beyond the registers in the parts that kernels compute: loops over their starts."""
    roles = kernel_roles(workload)
    assert roles is not None
    boxes = list(points(workload, tiles))
    lanes = core.lanes(workload.output.bits)
    parts = {d: max(box[d][1] for box in boxes) for d in workload.dims}
    if roles.kind == "outer-product":
        sizes = {d: parts[d] for d in workload.dims if d in workload.output.dims}
        parts |= kernel_parts(roles, sizes, lanes=lanes, registers=core.registers)
    for box in boxes:
        starts = [range(box[d][0], sum(box[d]), parts[d]) for d in workload.dims]
        for begin in itertools.product(*starts):
            corner = dict(zip(workload.dims, begin, strict=True))
            yield {d: (at, min(parts[d], sum(box[d]) - at)) for d, at in corner.items()}


def goes_round(tiles: Mapping, dim: str) -> bool:
    """Whether a loop of the innermost level has a second trip."""
    return tiles.levels[0].tile[dim] < tiles.levels[1].tile[dim]


def walked_steps(workload: Workload, tiles: Mapping, core: Core) -> tuple[float, float]:
    """Cycles of steps and of sums, every tile and every tap visited."""
    roles = kernel_roles(workload)
    assert roles is not None
    order = tiles.levels[0].permutation
    taken = set[str]()
    for dim in reversed(order):
        if dim in roles.reduction:
            taken.add(dim)
        elif goes_round(tiles, dim):
            break
    steps, sums, visits = 0.0, 0.0, set[tuple[object, ...]]()
    seen = set[tuple[object, ...]]()
    for box in kernels(workload, tiles, core):
        vectors = -(-box[roles.vector][1] // core.lanes(workload.output.bits))
        kept = [d for d in workload.dims if d in workload.output.dims and d != roles.vector]
        for tap in itertools.product(*(range(a, a + n) for a, n in (box[d] for d in roles.reduction))):
            done = 0
            fixed = dict(zip(roles.reduction, tap, strict=True))
            for place in itertools.product(*(range(a, a + n) for a, n in (box[d] for d in kept))):
                at = {**fixed, **dict(zip(kept, place, strict=True)), roles.vector: box[roles.vector][0]}
                values = [
                    (axis.real, axis.offset + sum(c * at[d] for d, c in axis.terms))
                    for tensor in workload.tensors
                    for axis in tensor.axes
                ]
                done += all(real is None or real[0] <= value <= real[1] for real, value in values)
            if done:
                shared = prod(box[d][1] for d in roles.shared)
                filters = prod(box[d][1] for d in roles.filters)
                each = done // shared // filters
                outer = roles.kind == "outer-product"
                loads = vectors * filters * shared + shared * each if outer else vectors * done
                steps += max(vectors * done / core.fma_ports, loads / core.load_ports, core.fma_latency)
        # A visit ends where anything but a dim that the kernel runs through changes.
        here = tuple((d, box[d]) for d in workload.dims if d not in taken)
        outside = tuple((d, _outer(tiles, d, box[d][0])) for d in taken)
        if (here, outside) not in visits:
            visits.add((here, outside))
            held = vectors * prod(box[d][1] for d in kept)
            target = tuple((d, box[d]) for d in workload.dims if d in workload.output.dims)
            sums += held + core.fma_latency + (held / core.load_ports if target in seen else 0)
            seen.add(target)
    return steps, sums


def _outer(tiles: Mapping, dim: str, start: int) -> tuple[int, ...]:
    """Which tiles of the levels outside the registers an iteration is in."""
    found, base = [], 0
    for own in reversed(tiles.levels[1:]):
        at = (start - base) // own.tile[dim] * own.tile[dim]
        found.append(base + at)
        base += at
    return tuple(found)


@st.composite
def layers(draw: st.DrawFn) -> Workload:
    """Small convolutions with implicit padding, dense, in groups and depthwise, and products."""
    h, w, r, s = (draw(st.integers(1, n)) for n in (6, 6, 3, 3))
    stride, dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    pad = draw(st.integers(0, 2))
    high = max(1, stride * (h - 1) + dilation * (r - 1) + 1 - 2 * pad)
    row, column = f"{stride}*h+{dilation}*r", f"{stride}*w+{dilation}*s"
    sizes = {"h": h, "w": w, "r": r, "s": s, "k": draw(st.integers(1, 9)), "c": draw(st.integers(1, 3))}
    text = f"O[k,h,w] = I[c,{row},{column}] * W[k,c,r,s]"
    if draw(st.booleans()):
        text = f"O[k,h,w] = I[k,{row},{column}] * W[k,r,s]"
        del sizes["c"]
    return _padded(parse_workload(text, sizes), pad, pad + high - 1)


def _padded(workload: Workload, first: int, last: int) -> Workload:
    """Rows of the image from `first` to `last` are real."""
    image = workload.inputs[0]
    rows = image.axes[1]
    top = rows.offset + rows.span(workload.extents) - 1
    real = (min(first, top), max(min(last, top), min(first, top)))
    axes = (image.axes[0], replace(rows, real=real), *image.axes[2:])
    return workload.with_accesses([workload.output, replace(image, axes=axes), *workload.inputs[1:]])


SMALL = Core(vector_bytes=16, registers=64, fma_ports=2, fma_latency=3, load_ports=1)
SMALL_HOST = Machine(
    name="small",
    levels=(
        level("Reg", 512, 16),
        level("L1", 600, 8, line_bytes=16),
        level("L2", 3000, 3, line_bytes=16),
    ),
    core=SMALL,
)


@settings(max_examples=cases(10, 25), deadline=None)
@given(st.data(), st.sampled_from([64, 9, 5]))
def test_steps_are_those_of_a_literal_walk(data: st.DataObject, registers: int) -> None:
    """With registers for all tiles, and with so few that kernels compute parts of most."""
    workload = data.draw(layers())
    tiles = data.draw(mappings(workload, SMALL_HOST))
    core = replace(SMALL, registers=registers)
    found, roles = kernel_cycles(workload, tiles, core), kernel_roles(workload)
    assert roles is not None
    if roles.kind is KernelKind.DEPTHWISE and is_one_wide(workload, tiles, roles):
        assert found.kind is KernelKind.PLAIN
        return
    steps, sums = walked_steps(workload, tiles, core)
    assert found.steps == pytest.approx(steps)
    assert found.sums == pytest.approx(sums)


@settings(max_examples=cases(10, 25), deadline=None)
@given(st.data())
def test_a_body_is_visited_in_one_go(data: st.DataObject) -> None:
    """The iterations of every visit of a body are neighbours in the order of the nest, and the visits cover it."""
    workload = data.draw(layers())
    tiles = data.draw(mappings(workload, SMALL_HOST))
    for body in bodies(workload, tiles, range(3)):
        visits = {}
        for number, box in enumerate(points(workload, body.around)):
            for at in itertools.product(*(range(a, a + n) for a, n in (box[d] for d in workload.dims))):
                visits[at] = number
        runs = []
        for box in points(workload, tiles):
            corner = tuple(box[d][0] for d in workload.dims)
            if not runs or runs[-1] != visits[corner]:
                runs.append(visits[corner])
        assert runs == sorted(set(visits.values()))


@settings(max_examples=cases(10, 30), deadline=None)
@given(st.data())
def test_no_prediction_is_below_the_floor(data: st.DataObject) -> None:
    workload = data.draw(layers())
    tiles = data.draw(mappings(workload, SMALL_HOST))
    for caches, layout in itertools.product(Caches, ActivationLayout):
        found = predict(workload, SMALL_HOST, tiles, CodeOptions(layout=layout), caches=caches)
        assert found.cycles >= found.floor_cycles * (1 - 1e-12)


@pytest.mark.parametrize("caches", Caches)
def test_a_slow_link_to_the_registers_is_no_faster_than_its_floor(caches: Caches) -> None:
    machine = host(level("L1", 49_152, 48))
    machine = replace(machine, levels=(level("Reg", 2048, 2), *machine.levels[1:]))
    work = product(i=32, j=32, k=32)
    found = predict(work, machine, of_product(work, 8, 32), caches=caches)
    assert found.floor_cycles > found.boundaries[0].cycles  # it is that of the registers
    assert found.compute_cycles >= found.floor_cycles
    assert found.cycles >= found.floor_cycles


def test_a_level_that_fits_its_tile_moves_what_the_mapping_moves() -> None:
    workload = workload_of("resnet18/R12", None, "assign", "implicit")
    machine = host(level("L1", 2**15, 32), level("L2", 2**22, 8))
    tiles = mapping(
        workload,
        ("Reg", {"k": 64, "w": 7}, "n k h w c r s"),
        ("L1", {"k": 64, "w": 7, "r": 3, "s": 3, "c": 8}, "n k c h w r s"),
        ("L2", {**workload.extents, "k": 64}, "n k c h w r s"),
    )
    found = predict(workload, machine, tiles, CodeOptions(stores=StoreKind.STREAMING), caches=Caches.COLD)
    rows = exact_traffic(workload, machine, tiles)
    for number, name in ((1, "L1"), (2, "L2")):
        words = sum(row.words for row in rows if row.between[0] == name)
        assert found.boundaries[number - 1].moved_bytes == 4 * words
