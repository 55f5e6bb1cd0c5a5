"""The machine at hand: tables that systems write, shapes that are derived, and one real detection."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from schemas import hold

import optmap
from optmap.base.errors import InputError, LimitError
from optmap.files.inputs import machine_of
from optmap.files.machines import machine_document
from optmap.machines.core import Core, Microkernel
from optmap.native import (
    Cache,
    Figure,
    Host,
    Job,
    Measured,
    Probe,
    Probes,
    Processor,
    Slices,
    Spread,
    Topology,
    Vectors,
    core_of,
    cpu_list,
    detect_host,
    figure_of,
    host_machine,
    host_notes,
    jobs_of,
    link_rate,
    mac_topology,
    microkernel_of,
    microkernel_shape,
    probe_source,
    read_processor,
    read_topology,
    slices_of,
    spread,
    stream_size,
    usable_cpus,
)
from optmap.workloads.amounts import Bandwidth

DATA = Path(__file__).parents[1] / "data" / "hosts"
KIB, MIB = 2**10, 2**20
AVX512 = Vectors(isa="AVX-512", vector_bytes=64, registers=32)
MAC = """hw.physicalcpu: 8
hw.cachelinesize: 128
hw.l1dcachesize: 65536
hw.l2cachesize: 4194304
hw.perflevel0.physicalcpu: 4
hw.perflevel0.l1dcachesize: 131072
hw.perflevel0.l2cachesize: 12582912
hw.perflevel0.cpusperl2: 4
hw.machine: arm64
"""


def write_cpu(system: Path, cpu: int, caches: list[dict[str, str]], siblings: str | None = None) -> None:
    """One processor as Linux describes it."""
    top = system / f"cpu{cpu}"
    (top / "topology").mkdir(parents=True)
    (top / "topology" / "thread_siblings_list").write_text(f"{siblings or cpu}\n")
    for place, fields in enumerate(caches):
        entry = top / "cache" / f"index{place}"
        entry.mkdir(parents=True)
        for key, text in fields.items():
            (entry / key).write_text(text + "\n")


def table(level: int, size: str, cpus: str, kind: str = "Unified", *, ways: str = "8") -> dict[str, str]:
    return {
        "level": str(level),
        "type": kind,
        "size": size,
        "shared_cpu_list": cpus,
        "ways_of_associativity": ways,
        "coherency_line_size": "64",
    }


def test_lists_of_processors_are_read() -> None:
    assert cpu_list("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)
    assert cpu_list("") == ()


def test_two_threads_of_a_core_are_one_core(tmp_path: Path) -> None:
    """Four cores with two threads each, as on a Haswell; the process may not use the last core."""
    for cpu in range(8):
        pair = f"{cpu % 4},{cpu % 4 + 4}"
        caches = [
            table(1, "32K", pair, "Data"),
            table(1, "32K", pair, "Instruction"),
            table(2, "256K", pair),
            table(3, "8192K", "0-7", ways="16"),
        ]
        write_cpu(tmp_path, cpu, caches, pair)
    found = read_topology(tmp_path, (0, 1, 2, 4, 5, 6))
    assert found.cpus == (0, 1, 2)
    assert [(c.level, c.size, c.ways, c.cpus) for c in found.caches] == [
        (1, 32 * KIB, 8, (0,)),
        (2, 256 * KIB, 8, (0,)),
        (3, 8 * MIB, 16, (0, 1, 2)),
    ]
    assert (found.missing, found.notes) == ((), ())
    assert [cache.common for cache in found.caches] == [False, False, True]
    assert [cache.common for cache in read_topology(tmp_path, (3,)).caches] == [False, False, True]
    machine = host_machine("host", found, AVX512, ())
    assert (machine.cores, [level.shared for level in machine.levels]) == (3, [False, False, False, True])


def test_what_the_tables_leave_open_is_named(tmp_path: Path) -> None:
    """An ARM machine whose tables have no ways, and one cache without a size."""
    caches = [table(1, "64K", "0", "Data"), table(2, "1024K", "0", ways=""), {"level": "3", "type": "Unified"}]
    write_cpu(tmp_path, 0, caches)
    found = read_topology(tmp_path, (0,))
    assert [(c.level, c.ways) for c in found.caches] == [(1, 8), (2, None)]
    assert found.missing == ("ways of L2",)


def test_cores_of_another_kind_and_of_another_cluster_are_left_out(tmp_path: Path) -> None:
    for cpu in range(6):  # three big cores below one cache, two below another, a small one
        big = cpu < 5
        write_cpu(
            tmp_path,
            cpu,
            [
                table(1, "48K" if big else "32K", str(cpu), "Data"),
                table(2, "8M" if big else "2M", "0-2" if cpu < 3 else "3-4" if big else "5"),
            ],
        )
    found = read_topology(tmp_path, tuple(range(6)))
    assert (found.cpus, found.caches[1].cpus) == ((0, 1, 2), (0, 1, 2))
    assert found.notes == (
        "1 core is left out: other caches (5)",
        "2 cores are left out: no cache shared with the others (3, 4)",
    )


def test_a_cache_of_some_cores_is_given_in_parts(tmp_path: Path) -> None:
    for cpu in range(4):
        write_cpu(tmp_path, cpu, [table(1, "32K", str(cpu), "Data"), table(2, "1M", "0-1" if cpu < 2 else "2-3"),
                                  table(3, "16M", "0-3")])  # fmt: skip
    found = read_topology(tmp_path, (0, 1, 2, 3))
    machine = host_machine("host", found, AVX512, ())
    assert [level.capacity.amount for level in machine.levels] == [2 * KIB, 32 * KIB, 512 * KIB, 16 * MIB]
    assert [level.fanout for level in machine.levels] == [1, 1, 1, 4]
    notes = host_notes(machine, found, Processor(name="", vectors=AVX512, virtual=False), ())
    assert notes == ("L2 is shared by 2 of 4 cores: each is given its part",)


def test_macs_are_read_from_sysctl() -> None:
    found = mac_topology(MAC)
    assert found.cpus == (0, 1, 2, 3)
    assert [(c.level, c.size, c.line_bytes, len(c.cpus)) for c in found.caches] == [
        (1, 128 * KIB, 128, 1),
        (2, 12 * MIB, 128, 4),
    ]
    assert found.missing == ("ways of L1", "ways of L2")


def test_an_empty_system_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    found = detect_host(system=tmp_path, cpuinfo=DATA / "haswell.cpuinfo", usable=(0, 1))
    assert [level.name for level in found.machine.levels] == ["Reg"]
    assert found.missing[0].startswith("caches: ")
    assert found.notes[0] == "1 core is left out: no shared cache (1)"
    with pytest.raises(InputError, match="nothing is known of this machine"):
        detect_host(system=tmp_path, cpuinfo=tmp_path / "none", usable=(0,))


def test_without_tables_the_core_is_measured_all_the_same(tmp_path: Path) -> None:
    found = detect_host(system=tmp_path, usable=usable_cpus()[:1], quick=True)
    assert found.machine.core is not None
    assert found.machine.levels[0].microkernel == microkernel_of(found.machine.core)
    assert str(found.machine.levels[0].bandwidth) == "1 w/cycle"
    assert {text.split(":")[0] for text in found.missing} == {"caches", "bandwidth Reg - DRAM"}
    assert "loads, nearby" in str(found)


TEXTS = st.sampled_from(["", "0", "0-3", "1,3", "2-", "x", "7-5", "32K", "1M", "48", "Unified", "Data", "1", "2", "3"])
FIELDS = st.fixed_dictionaries(
    {
        "level": st.sampled_from(["1", "2", "3", "", "x"]),
        "type": st.sampled_from(["Data", "Unified", "Instruction", ""]),
        "size": st.sampled_from(["32K", "1024K", "8M", "", "0K", "K"]),
        **dict.fromkeys(("shared_cpu_list", "ways_of_associativity", "coherency_line_size"), TEXTS),
    }
)


@given(tables=st.lists(st.lists(FIELDS, max_size=4), min_size=1, max_size=4))
@settings(max_examples=cases(15, 40))
def test_any_tables_make_a_machine(tables: list[list[dict[str, str]]]) -> None:
    """Whatever they say, what comes out is a machine whose cores are those in use."""
    with tempfile.TemporaryDirectory() as folder:
        for cpu, caches in enumerate(tables):
            write_cpu(Path(folder), cpu, caches)
        found = read_topology(Path(folder), tuple(range(len(tables))))
    machine = host_machine("host", found, AVX512, ())
    assert machine.cores == len(found.cpus)
    assert len(machine.levels) == 1 + len(found.caches)
    assert all(job.size > 0 for job in jobs_of(found, memory_bytes=2**30, quick=False) if job.place >= 0)


@pytest.mark.parametrize(
    ("file", "machine", "name", "isa"),
    [
        ("sapphire_rapids", "x86_64", "Intel(R) Xeon(R) Processor", ("AVX-512", 64, 32)),
        ("haswell", "x86_64", "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", ("AVX2", 32, 16)),
        ("neoverse", "aarch64", "ARM implementer 0x41, part 0xd0c", ("NEON", 16, 32)),
    ],
)
def test_processors_are_told_by_their_flags(file: str, machine: str, name: str, isa: tuple[str, int, int]) -> None:
    found = read_processor(DATA / f"{file}.cpuinfo", machine)
    assert found.name == name
    assert found.vectors is not None
    assert (found.vectors.isa, found.vectors.vector_bytes, found.vectors.registers) == isa
    assert found.virtual == (file == "sapphire_rapids")


def core(vector_bytes: int, registers: int, ports: int = 2, latency: int = 4) -> Core:
    return Core(vector_bytes=vector_bytes, registers=registers, fma_ports=ports, fma_latency=latency, load_ports=2)


@pytest.mark.parametrize(
    ("given", "vectors", "points"),
    [
        (core(32, 16, latency=5), 2, 6),  # Haswell: MOpt's and BLIS's 16 x 6
        (core(32, 16), 2, 6),
        (core(64, 32), 4, 6),
        (core(16, 32), 4, 6),  # NEON with two ports
        (core(16, 32, ports=4), 4, 6),  # and with four, as on a Neoverse V1
        (core(64, 32, latency=13), 2, 14),  # 26 sums: 4 x 6 would wait
        (core(64, 32, latency=50), 1, 30),  # nothing hides this: as many sums as fit
        (core(16, 3, latency=1, ports=1), 1, 1),
    ],
)
def test_shapes_follow_from_registers_and_latency(given: Core, vectors: int, points: int) -> None:
    shape = microkernel_shape(given)
    assert (shape.vectors, shape.points) == (vectors, points)
    assert shape.registers <= given.registers


def test_shapes_in_elements_and_without_room() -> None:
    assert microkernel_of(core(32, 16)) == Microkernel(vector=16, broadcast=6)
    assert microkernel_of(core(64, 32), 64) == Microkernel(vector=32, broadcast=6)
    with pytest.raises(InputError, match="3 are needed"):
        microkernel_shape(core(16, 2))


def test_every_shape_with_fewer_loads_breaks_a_rule() -> None:
    """Against all shapes there are, for many cores."""
    for registers in (8, 16, 32):
        for latency in (1, 3, 4, 8):
            given = core(32, registers, latency=latency)
            found = microkernel_shape(given)
            for vectors in (1, 2, 4, 8, 16):
                for points in range(1, 32):
                    enough = vectors * points >= min(2 * latency, found.vectors * found.points)
                    if enough and vectors * points + vectors + 1 <= registers:
                        assert 1 / vectors + 1 / points >= 1 / found.vectors + 1 / found.points - 1e-12


def test_deciles() -> None:
    found = spread([float(value) for value in range(101)][::-1])
    assert (found.low, found.median, found.high, found.count) == (10, 50, 90, 101)
    assert found.scaled(2).high == 180
    assert found.best == 99


def test_rates_are_in_cycles_of_the_fastest_chain_nearby() -> None:
    """A chain that was interrupted changes nothing; slices at the beginning are not counted."""
    adds = 1 << 15
    chained = [adds / 2e9] * 8
    chained[5] *= 100
    found = slices_of([9.0, 9.0, 1e-6, 1e-6, 2e-6, 1e-6, 1e-6, 1e-6], chained, 4000.0)
    assert found.clocks == pytest.approx([2e9] * 6)
    assert found.rates == pytest.approx([2, 2, 1, 2, 2, 2])


def made(
    quantity: Measured, value: float, *, threads: int = 1, place: int = -1, size: int = 0, clock: float = 2e9
) -> Figure:
    slices = Slices(rates=(value,) * 10, clocks=(clock,) * 10)
    job = Job(quantity=quantity, threads=threads, place=place, size=size)
    return figure_of(job, [(slices,) * threads] * 2)


TOPOLOGY = Topology(
    cpus=(0, 1),
    caches=(
        Cache(level=1, size=48 * KIB, line_bytes=64, ways=12, cpus=(0,)),
        Cache(level=2, size=2 * MIB, line_bytes=64, ways=16, cpus=(0,)),
        Cache(level=3, size=64 * MIB, line_bytes=64, ways=16, cpus=(0, 1), common=True),
    ),
)
FIGURES = (
    made(Measured.LATENCY, 0.249),
    made(Measured.PEAK, 1.97),
    made(Measured.PEAK, 1.9, threads=2),
    made(Measured.LOADS, 126.0),
    made(Measured.READ, 126.0, place=0),
    made(Measured.READ, 48.0, place=1, clock=2.4e9),
    made(Measured.READ, 10.0, place=2, size=16 * MIB, clock=2.4e9),
    made(Measured.READ, 11.0, threads=2, place=2, size=16 * MIB),
    made(Measured.READ, 5.0, place=3),
    made(Measured.READ, 4.0, threads=2, place=3),
)


def test_figures_of_threads_add_up() -> None:
    assert FIGURES[2].per_cycle.median == pytest.approx(3.8)
    assert (FIGURES[2].per_cycle.count, FIGURES[2].per_second.median) == (20, pytest.approx(7.6e9))


def test_the_machine_has_what_was_measured(tmp_path: Path) -> None:
    """Private links are in cycles of their own, shared ones in those of the core that multiplies: 10 B are 12."""
    found = host_machine("host", TOPOLOGY, AVX512, FIGURES)
    assert found.core == Core(vector_bytes=64, registers=32, fma_ports=2, fma_latency=4, load_ports=2)
    assert found.clock_hz == 2_000_000_000
    assert [str(level.bandwidth) for level in found.levels] == ["128 B/cycle", "48 B/cycle", "12 B/cycle", "8 B/cycle"]
    assert [level.core_bandwidth for level in found.levels] == [None, None, None, Bandwidth(amount=5)]
    assert found.levels[0].microkernel == Microkernel(vector=64, broadcast=6)
    assert [level.capacity.amount for level in found.levels] == [2 * KIB, 48 * KIB, 2 * MIB, 64 * MIB]
    assert found.cores == 2
    assert core_of(AVX512, FIGURES[:2]) is None


def test_a_link_that_was_not_measured_is_named_nowhere_as_measured() -> None:
    assert link_rate(2, 1, TOPOLOGY, FIGURES[:6]) is None
    found = host_machine("host", TOPOLOGY, AVX512, FIGURES[:6])
    assert str(found.levels[2].bandwidth) == "1 w/cycle"


def notes(*more: Figure, figures: tuple[Figure, ...] = FIGURES) -> tuple[str, ...]:
    machine = host_machine("host", TOPOLOGY, AVX512, figures)
    return host_notes(machine, TOPOLOGY, Processor(name="", vectors=AVX512, virtual=True), (*figures, *more))


def test_an_outermost_cache_that_is_not_there_is_said() -> None:
    assert notes(made(Measured.DEPTH, 9.0, place=2, size=32 * MIB, clock=2.4e9)) == ()
    (said,) = notes(made(Measured.DEPTH, 5.0, place=2, size=32 * MIB))
    assert "64 MiB of L3, but streams over 32 MiB run at about the memory's speed" in said
    slow = [*FIGURES[:6], made(Measured.READ, 5.5, place=2), *FIGURES[7:]]
    assert "no faster than out of the memory" in notes(figures=tuple(slow))[0]


def test_neighbours_on_the_same_core_are_said() -> None:
    mixed = Slices(rates=(1.4,) * 6 + (2.0,) * 4, clocks=(2e9,) * 10)
    peak = figure_of(Job(quantity=Measured.PEAK, threads=1), [(mixed,)])
    assert peak.per_cycle == Spread(median=1.4, low=1.4, high=2.0, best=2.0, count=10)
    assert "1.40 multiply-adds a cycle or fewer, at best 2" in notes(figures=(FIGURES[0], peak, *FIGURES[2:]))[0]


def test_links_that_all_cores_crowd_are_said() -> None:
    crowded = [*FIGURES[:7], made(Measured.READ, 4.0, threads=2, place=2, size=16 * MIB), *FIGURES[8:]]
    (said,) = notes(figures=tuple(crowded))
    assert said == "L2 - L3: 4 B/cycle for each of 2 cores at work, 12 B/cycle for one alone, which the file has"


def test_ports_far_from_a_whole_number_are_said() -> None:
    loads = [*FIGURES[:3], made(Measured.LOADS, 96.0), *FIGURES[4:]]
    assert notes(figures=tuple(loads)) == ("1.50 loads a cycle at best are taken as 2; measure again to be sure",)


def test_probes_work_for_any_vectors_the_processor_has(tmp_path: Path) -> None:
    """Vectors of 16 bytes are there on every processor that has vectors."""
    probes = Probes(16, 16, tmp_path)
    for probe in Probe:
        (slices,) = probes.measure(probe, usable_cpus()[:1], 0.005, 10_000)
        assert min(slices.rates) > 0
    with pytest.raises(LimitError, match="no memory"):
        probes.measure(Probe.READ, usable_cpus()[:1], 0.005, 2**60)


def test_streams_find_nothing_further_in() -> None:
    assert [stream_size(TOPOLOGY, place, 1, 2**40) for place in range(4)] == [
        24 * KIB,
        384 * KIB,
        16 * MIB,
        256 * MIB,
    ]
    assert stream_size(TOPOLOGY, 2, 2, 2**40) == 16 * MIB
    assert stream_size(TOPOLOGY, 3, 2, 2**40) == 128 * MIB
    assert stream_size(TOPOLOGY, 3, 1, 100 * MIB) == 0  # what may be used is mostly in the cache
    small = Topology(cpus=(0, 1), caches=(*TOPOLOGY.caches[:2], Cache(level=3, size=3 * MIB, line_bytes=64, ways=1,
                                                                     cpus=(0, 1))))  # fmt: skip
    assert stream_size(small, 2, 2, 2**40) == 0  # each thread's share is less than its L2
    for quick in (True, False):
        assert not any(job.place >= 0 and job.size <= 0 for job in jobs_of(small, memory_bytes=2**40, quick=quick))


def test_jobs_of_one_core_and_of_several() -> None:
    alone = Topology(cpus=(3,), caches=TOPOLOGY.caches[:1])
    jobs = jobs_of(alone, memory_bytes=2**30, quick=True)
    assert [(job.quantity, job.place) for job in jobs] == [
        *(("latency", -1), ("peak", -1), ("loads", -1), ("read", 0), ("read", 1))
    ]
    quick, full = (jobs_of(TOPOLOGY, memory_bytes=2**30, quick=quick) for quick in (True, False))
    assert set(quick) < set(full)
    assert {job.quantity for job in full} == set(Measured)


def test_sums_keep_to_the_registers() -> None:
    text = probe_source(32, 16)
    assert "s11 = a * b + s11" in text
    assert "s12 =" not in text


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """One quick detection of the machine that runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTMAP_BUILD_DIR", str(tmp_path_factory.mktemp("built")))
        return optmap.detect(quick=True, name="here")


def test_a_detection_is_complete(here: Host) -> None:
    """Nothing is asserted about speed: the units are whole and positive, and every link has its number."""
    machine = here.machine
    assert machine.core is not None
    assert machine.clock_hz is not None
    assert machine.clock_hz > 10**7
    assert machine.levels[0].microkernel == microkernel_of(machine.core)
    assert machine.levels[0].capacity.amount == machine.core.registers * machine.core.vector_bytes
    peak = here.figure(Measured.PEAK)
    assert peak is not None
    assert machine.core.fma_ports == max(round(peak.per_cycle.best), 1)
    assert machine.core.peak(32) == machine.core.fma_ports * machine.core.vector_bytes // 4
    for figure in here.figures:
        assert 0 < figure.per_cycle.low <= figure.per_cycle.median <= figure.per_cycle.high
        assert figure.per_cycle.count > 0
    assert not [text for text in here.missing if "not measured" in text]


def test_its_file_is_a_machine_file(here: Host, tmp_path: Path) -> None:
    path = here.save(tmp_path / "here.yaml")
    assert machine_of(str(path), None) == here.machine
    text: dict[str, Any] = yaml.safe_load(path.read_text())
    assert here.measured_at in text["description"]
    assert "GFLOPS" in text["description"]
    assert str(optmap.show(path)).startswith("machine  here (Reg < ")
    found = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=48,k=80", machine=path)
    found.save(tmp_path / "solution.json")
    assert optmap.check(tmp_path / "solution.json").verified


def test_its_document_and_table_agree(here: Host) -> None:
    document = here.to_dict()
    hold(document)
    assert document["schema"] == "optmap.host/1"
    assert document["machine"] == machine_document(here.machine)
    assert len(document["figures"]) == len(here.figures)
    assert {"quantity", "threads", "place", "per_cycle", "clock_hz"} <= set(document["figures"][0])
    assert "GFLOPS" in str(here)
    assert "vectors/cycle" in str(here)


def test_without_a_compiler_the_tables_stand_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    found = optmap.detect()
    assert (found.figures, found.machine.core, found.machine.clock_hz, found.compiler) == ((), None, None, "")
    assert "clock, core, bandwidths, microkernel" in {text.split(":")[0] for text in found.missing}
    assert "no-such-compiler" in str(found)
    path = found.save(tmp_path / "host.yaml")
    assert machine_of(str(path), None) == found.machine
    assert "one word per cycle, stand for unknown ones" in yaml.safe_load(path.read_text())["description"]
