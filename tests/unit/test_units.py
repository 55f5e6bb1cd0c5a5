"""Bytes, words and cycles: machines are physical, a word is only what a workload is counted in."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sweep_frames import frame_of, rows_of

import optmap
from optmap.answers.documents.solution import solution_document
from optmap.answers.over_capacity.curves import panels, summed
from optmap.answers.over_capacity.designs import pareto_designs
from optmap.answers.over_capacity.networks import layer_shares, network_views
from optmap.base.errors import InputError
from optmap.base.texts import energy_text, seconds_text
from optmap.base.writing import to_json
from optmap.bounds import digest
from optmap.checker import RefusedError, check_document
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.files import library
from optmap.files.fields import Fields
from optmap.files.machines import machine_document, machine_from
from optmap.files.network import Network
from optmap.files.workloads import read_workload, workload_document, workload_from
from optmap.machines.machine import Level, Machine, two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.report import machine_table, network_document, network_table, workload_table
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.builders import matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import element_bits, parse_bandwidth, parse_clock

MIXED = {"C": 4, "A": 1, "B": 1}
PHYSICAL = Machine(
    name="bench",
    levels=(
        Level(name="L1", capacity=Capacity(amount=1024), bandwidth=Bandwidth(amount=24)),
        Level(name="L2", capacity=Capacity(amount=16384), bandwidth=Bandwidth(amount=Fraction(20, 3))),
    ),
)


@pytest.mark.parametrize(
    ("sizes", "cycles"),
    [
        (4, Fraction(4 * 4 * 2**20, 64)),
        (2, Fraction(4 * 2 * 2**20, 64)),
        (1, Fraction(4 * 1 * 2**20, 64)),
        (MIXED, Fraction((4 + 4 + 1 + 1) * 2**20, 64)),
        (0.5, Fraction(2 * 2**20, 64)),
        ({"C": 4, "A": 2, "B": 0.5}, Fraction(21 * 2**19, 64)),
    ],
    ids=str,
)
def test_compulsory_traffic_of_a_matmul_takes_its_bytes_over_the_bandwidth(sizes, cycles):
    # Every matrix crosses once, C both ways; DRAM is 64 bytes per cycle away. 1024^3 in fp32: 262,144 cycles.
    workload = matmul(i=1024, j=1024, k=1024, bytes=sizes)
    machine = Machine(name="dram", levels=(replace(library.machine("i7-9700k").levels[3], fanout=1),))
    whole = LevelMapping(level="L3", tile={"i": 1024, "j": 1024, "k": 1}, permutation=("i", "j", "k"), spatial={})
    report = evaluate_cost(workload, machine, Mapping(levels=(whole,)))
    assert report.value_exact == cycles
    assert machine.cost_unit == "cycles"


def test_cycles_follow_the_bytes_in_every_part_of_an_answer():
    answers = {}
    for name, sizes in {"fp32": 4, "fp16": 2, "mixed": MIXED}.items():
        result = optmap.solve(matmul(i=48, j=40, k=36, bytes=sizes), machine=PHYSICAL)
        rates = PHYSICAL.rates(result.workload.word_bits)
        assert [level.cycles for level in result.levels] == pytest.approx(
            [float(level.traffic_words / rate) for level, rate in zip(result.levels, rates, strict=True)]
        )
        assert [level.capacity_words for level in result.levels] == [
            level.capacity.amount // (result.workload.word_bits // 8) for level in PHYSICAL.levels
        ]
        assert result.bound.value <= result.exact
        assert result.relaxation.value <= result.cost * (1 + 1e-6)
        document = json.loads(to_json(solution_document(result)))
        assert document["word_bits"] == result.workload.word_bits
        check_document(document)
        answers[name] = result
    # Half the bytes in twice the words: never more than half the time of the same answer.
    assert answers["fp16"].cost <= answers["fp32"].cost / 2
    assert answers["fp16"].bound.value <= answers["fp32"].bound.value / 2
    assert answers["mixed"].cost < answers["fp32"].cost


def test_published_machines_move_the_published_numbers_of_four_byte_words():
    for name in ("i7-9700k", "i9-10980xe"):
        assert library.machine(name).rates(32) == (65, 57, 28, 16)
        assert library.machine(name).rates(16) == (130, 114, 56, 32)
    assert [level.words(32) for level in library.machine("balanced").levels] == [1024, 8192, 65536]


def test_words_of_a_two_level_study_are_the_workloads_words():
    for sizes in (4, 2, 0.5):
        result = optmap.solve(matmul(i=24, j=24, k=24, bytes=sizes), memory="64w")
        assert (result.cost, result.cost_unit, result.levels[0].capacity_words) == (
            optmap.solve(matmul(i=24, j=24, k=24), memory="64w").cost,
            "words",
            64,
        )


def test_a_word_is_the_gcd_in_bits():
    workload = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 4, "j": 4, "k": 4}, bytes={"C": 4, "A": 1.5, "B": 0.5})
    assert workload.word_bits == 4
    assert [workload.weight(t) for t in workload.tensors] == [8, 3, 1]
    assert [t.bytes for t in workload.tensors] == [4, 1.5, 0.5]
    assert Capacity(amount=3).words(4) == 6
    assert Capacity(amount=3).words(32) == 0
    assert Capacity(amount=3, unit="words").bytes(4) == 1.5
    assert read_workload(Fields.of(json.loads(to_json(workload_document(workload))), "w")) == workload
    assert "0.5" in workload_table(workload)


@pytest.mark.parametrize(
    ("size", "unit", "bits"), [(4, "bytes", 32), (0.5, "bytes", 4), (0.125, "bytes", 1), (6, "bits", 6)]
)
def test_element_sizes(size, unit, bits):
    assert element_bits(size, "A", unit=unit) == bits


@pytest.mark.parametrize("size", [0, -1, 0.3, float("nan"), float("inf"), True, "4", None, 10**400, 2**63])
def test_element_sizes_that_are_refused(size):
    with pytest.raises(InputError, match="whole number of bits"):
        parse_workload("C[i] += A[i]", {"i": 4}, bytes={"A": size})


def test_element_sizes_in_workload_files():
    head = {"expression": "C[i] += A[i]", "extents": {"i": 4}}
    read = [workload_from(Fields.of({**head, **sizes}, "w"), "w") for sizes in ({"bits": 4}, {"bytes": 0.5})]
    assert read[0] == read[1]
    assert [t.bits for t in workload_from(Fields.of({**head, "bits": {"A": 3}}, "w"), "w").tensors] == [32, 3]
    with pytest.raises(InputError, match="bits and bytes exclude"):
        workload_from(Fields.of({**head, "bits": 4, "bytes": 1}, "w"), "w")
    with pytest.raises(InputError, match=r"bits is 0\.5"):
        workload_from(Fields.of({**head, "bits": 0.5}, "w"), "w")


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("64B", 64, "bytes"),
        (" 2.5 b ", Fraction(5, 2), "bytes"),
        ("64B/cycle", 64, "bytes"),
        ("16w", 16, "words"),
        ("0.1w", Fraction(1, 10), "words"),
        ("40GB/s", Fraction(100, 9), "bytes"),
        ("720MB/s", Fraction(1, 5), "bytes"),
    ],
)
def test_bandwidths(text, amount, unit):
    found = parse_bandwidth(text, parse_clock("3.6GHz"))
    assert (found.amount, found.unit) == (amount, unit)


@pytest.mark.parametrize("text", ["64", "64KiB", "GB/s", "-1B", "0w", "1e3B", "64B/s/s", "1" * 40 + "B", "0x2B", ""])
def test_bandwidths_that_are_refused(text):
    with pytest.raises(InputError, match="bandwidth"):
        parse_bandwidth(text, parse_clock("1GHz"))


def test_what_a_refused_bandwidth_says():
    with pytest.raises(InputError, match="write 64B for bytes per cycle or 64w for words"):
        parse_bandwidth("64")
    with pytest.raises(InputError, match=r"clock: 3\.6GHz"):
        parse_bandwidth("40GB/s")
    for text in ("3.6", "fast", "0GHz", "0.1Hz"):
        with pytest.raises(InputError, match="clock"):
            parse_clock(text)


def machine_file(**changes):
    level = {"name": "L1", "capacity": "1KiB", **changes}
    clock = {"clock": level.pop("clock")} if "clock" in level else {}
    return machine_from(Fields.of({"levels": [level], **clock}, "box.yaml"), "box")


def test_bandwidths_in_machine_files():
    assert machine_file(bandwidth=2.5).levels[0].bandwidth == Bandwidth(amount=2.5, unit="words")
    assert machine_file(bandwidth="64B").rates(8) == (64,)
    clocked = machine_file(bandwidth="40GB/s", clock="3.6GHz")
    assert (clocked.clock_hz, clocked.rates(32)) == (3_600_000_000, (Fraction(25, 9),))
    assert machine_from(Fields.of(json.loads(to_json(machine_document(clocked))), "m")) == clocked
    assert "B/cycle" in machine_table(clocked)
    for wrong in (True, None, [64], "64"):
        with pytest.raises(InputError, match=r"box.yaml: levels\[0\].bandwidth.*64B"):
            machine_file(bandwidth=wrong)


bandwidths = st.builds(
    Bandwidth,
    amount=st.fractions(min_value=Fraction(1, 100), max_value=1000, max_denominator=1000),
    unit=st.sampled_from(["bytes", "words"]),
)


@given(amount=bandwidths, clock=st.none() | st.integers(1, 10**10))
def test_machines_survive_json_exactly(amount, clock):
    level = Level(name="L1", capacity=Capacity(amount=99), bandwidth=amount)
    made = Machine(name="m", levels=(level,), clock_hz=clock)
    assert machine_from(Fields.of(json.loads(to_json(machine_document(made))), "m")) == made


bits = st.sampled_from([1, 4, 6, 8, 12, 16, 32, 64])
extents = st.integers(1, 9)


@example(  # the cost attains the relaxation and is one digit below it
    sizes=(1, 1, 1),
    extent=(1, 1, 1),
    links=(Bandwidth(amount=Fraction(7, 100)), Bandwidth(amount=Fraction(97, 200), unit="words")),
    units=("bytes", "bytes"),
    method="mopt",
)
@given(
    sizes=st.tuples(bits, bits, bits),
    extent=st.tuples(extents, extents, extents),
    links=st.tuples(bandwidths, bandwidths),
    units=st.tuples(st.sampled_from(["bytes", "words"]), st.sampled_from(["bytes", "words"])),
    method=st.sampled_from(["mopt", "iooub"]),
)
def test_checker_and_evaluation_agree_on_mixed_types_and_machines(sizes, extent, links, units, method):
    names = dict(zip("CAB", (n / 8 for n in sizes), strict=True))
    workload = matmul(**dict(zip("ijk", extent, strict=True)), bytes=names)
    larger = units != ("bytes", "words")  # 256 bytes may be more than 1,024 words of a few bits
    inner, outer = (
        Level(name=name, capacity=Capacity(amount=amount, unit=unit), bandwidth=link, inclusive=larger)
        for name, amount, unit, link in zip(("L1", "L2"), (256, 1024), units, links, strict=True)
    )
    machine = Machine(name="mixed", levels=(inner, outer) if method == "mopt" else (inner,))
    result = optmap.solve(workload, machine=machine, method=method)
    check_document(json.loads(to_json(solution_document(result))))
    word = Fraction(workload.word_bits, 8)
    for level, row in zip(machine.levels, result.levels, strict=True):
        moved = row.traffic_words * (word if level.bandwidth.unit == "bytes" else 1)
        assert row.cycles == float(moved / level.bandwidth.exact)


def forged(change):
    result = optmap.solve(matmul(i=24, j=20, k=16, bytes=2), machine=PHYSICAL)
    document = json.loads(to_json(solution_document(result)))
    change(document)
    document["digest"] = digest({key: value for key, value in document.items() if key not in ("seconds", "digest")})
    return document


def link(document):
    return document["machine"]["levels"][1]["bandwidth"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: link(d).update(unit="words"), "words per cycle"),
        (lambda d: link(d).update(amount=64), "words per cycle"),
        (lambda d: link(d).update(amount="20/0"), "number"),
        (lambda d: link(d).update(amount="-20/3"), "number"),
        (lambda d: link(d).update(amount=True), "number"),
        (lambda d: link(d).update(unit="bits"), "bytes or words"),
        (lambda d: d.update(word_bits=8), "a word has 16 bits"),
        (lambda d: d["workload"].update(bytes=1), "a word has 8 bits"),
        (lambda d: d["workload"].update(bytes=0.3), "whole number of bits"),
        (lambda d: d.update(schema="optmap.solution/1"), "older optmap: solve again"),
    ],
)
def test_forged_units_are_refused(change, reason):
    check_document(forged(lambda _: None))
    with pytest.raises(RefusedError, match=reason):
        check_document(forged(change))


def test_a_physical_level_of_one_word_per_cycle_still_counts_cycles():
    assert two_level(Capacity(amount=64)).cost_unit == "words"
    level = Level(name="L", capacity=Capacity(amount=64), bandwidth=Bandwidth(amount=4))
    assert Machine(name="m", levels=(level,)).cost_unit == "cycles"


def test_exact_traffic_is_in_words_whatever_the_machine():
    workload = matmul(i=6, j=5, k=4, bytes=MIXED)
    tile = LevelMapping(level="L1", tile={"i": 6, "j": 5, "k": 1}, permutation=("i", "j", "k"), spatial={})
    machine = Machine(name="m", levels=(PHYSICAL.levels[0],))
    rows = exact_traffic(workload, machine, Mapping(levels=(tile,)))
    assert [(row.loads_words, row.stores_words) for row in rows] == [(4 * 30, 4 * 30), (24, 0), (20, 0)]


def test_sums_over_mixed_types_count_bytes():
    small = frame_of(rows_of("a", [(64, 100, 80)], compulsory=50, word_bits=8, capacity_bytes=64.0))
    wide = frame_of(rows_of("b", [(16, 30, 20)], compulsory=10, word_bits=32, capacity_bytes=64.0))
    odd = frame_of(rows_of("c", [(42, 7, 5)], compulsory=3, word_bits=12, capacity_bytes=64.0))
    parts = [(panels(frame)[0], count) for frame, count in ((small, 2), (wide, 1), (odd, 3))]
    total = summed(parts, "net")
    assert total.word_bits == 4
    (sample,) = total.series[0].samples
    assert sample.capacity_bytes == 64
    assert sample.traffic_words * 4 == 2 * 8 * 100 + 32 * 30 + 3 * 12 * 7
    assert total.bounds == ((64, (2 * 8 * 80 + 32 * 20 + 3 * 12 * 5) // 4),)
    assert total.compulsory_words * 4 == 2 * 8 * 50 + 32 * 10 + 3 * 12 * 3
    assert pareto_designs([total], "capacity_bytes", "traffic_bytes") == [("two-level machine", 64.0, 351.5)]


def test_layers_of_a_network_are_compared_in_one_unit():
    layers = [matmul(i=10, j=10, k=10, name=name, bytes=size) for name, size in (("a", 1), ("b", 4))]
    frames = [
        frame_of(rows_of("a", [(64, 300, 200)], compulsory=50, word_bits=8, capacity_bytes=64.0)),
        frame_of(rows_of("b", [(16, 100, 90)], compulsory=10, word_bits=32, capacity_bytes=64.0)),
    ]
    frame = pd.concat(frames)
    view = network_views(panels(frame), Network(name="net", layers=tuple(layers)))[0]
    shares = layer_shares(view, view.total.series[0].label, 64)
    assert [(share.workload, share.traffic_words) for share in shares] == [("b", 400), ("a", 300)]
    document = network_document(view, view.total.series[0], 64)
    assert (document["word_bits"], document["traffic_words"], document["traffic_bytes"]) == (8, 700, 700)
    assert "a word has 1 byte; all layers together move 700 B" in network_table(view, view.total.series[0], 64)


@pytest.mark.parametrize(
    ("picojoules", "text"),
    [
        (999, "999 pJ"),
        (704_482_897.92, "704,482,897.9 pJ (704.5 uJ)"),
        (Fraction(25 * 10**11, 2), "1,250,000,000,000 pJ (1.25 J)"),
    ],
)
def test_energies_are_told_in_the_unit_that_they_are_read_in(picojoules, text):
    assert energy_text(picojoules) == text


@pytest.mark.parametrize(
    ("cycles", "clock", "text"),
    [(5, None, ""), (36, 3_600_000_000, "10 ns at 3.6 GHz"), (443_313.2, 3_600_000_000, "123.1 us at 3.6 GHz")],
)
def test_cycles_are_a_time_where_a_clock_is_known(cycles, clock, text):
    assert seconds_text(cycles, clock) == text
