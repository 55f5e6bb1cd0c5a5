"""The comparison: candidates of ours and ways of libraries, checked, chosen, timed in turns."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from optmap.base.errors import CheckError, InfeasibleError, InputError, SolverUnavailableError
from optmap.base.share import Share, Tell, unheard
from optmap.base.texts import several
from optmap.count.timing.floor import Running, core_of
from optmap.count.timing.kernel import roles_of
from optmap.count.timing.predict import TimeModel, predict
from optmap.count.timing.results import Caches
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.bench.contender import Baseline, Contender
from optmap.native.bench.libraries import baselines
from optmap.native.bench.ours import OURS, own_way
from optmap.native.bench.pairing import best_way, interleaved
from optmap.native.bench.peak import PEAK, peak_operations, peak_way
from optmap.native.bench.results import Bench, LayerBench, Surroundings, WaySamples
from optmap.native.code import Code
from optmap.native.emit.emit import emit_code
from optmap.native.host.processor import read_processor
from optmap.native.host.tables import read_topology, usable_cpus
from optmap.native.run.clock import warm_seconds
from optmap.native.run.compiled import compile_code
from optmap.native.run.layer import floor_of, ready_for
from optmap.native.run.reference import terms
from optmap.native.run.turns import pinned
from optmap.native.run.verdict import Trial, judge, trials_of
from optmap.native.toolchain.compiler import find_compiler
from optmap.search.timed.candidate import TimedCandidate
from optmap.search.timed.ranking import order_of, ranked
from optmap.search.timed.registers import with_registers
from optmap.solvers.native_output import off_stdout
from optmap.workloads.workload import Workload

NOTHING = 0xFF
"""Four or eight bytes of it are not a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """How a comparison is made."""

    machine: Machine
    layouts: tuple[ActivationLayout, ...]
    """In which ours is tried."""
    threads: tuple[int, ...]
    caches: tuple[Caches, ...]
    rounds: int
    candidates: int
    """Of every layout."""
    against: tuple[str, ...] | None
    trials: int
    """Of libraries that are tuned."""
    seed: int = 0
    mappings: MappingABC[str, tuple[Mapping, ...]] = field(default_factory=dict)
    """By title of a workload those that are its candidates, in this order; of others they are searched."""


def bench_layers(workloads: Sequence[Workload], plan: BenchPlan, told: Tell = unheard) -> Bench:
    """Time emitted code and libraries on the same layers.

    Args:
        workloads: padding and semantics as the code has them.
        plan: what is compared and how.
        told: hears what is done next, and how much of everything is done.

    Raises:
        SolverUnavailableError: without a compiler, or with none of the libraries.
        CheckError: if code of ours computes something else.
        InputError: for a machine without a core, or more threads than processors.
        InfeasibleError: for a layer without a mapping.
    """
    core_of(plan.machine)
    for threads in plan.threads:  # refused before anything is searched
        with pinned(threads):
            pass
    compiler = find_compiler()
    title, share = "", Share()
    with off_stdout():  # libraries may say what they do
        found, absent = baselines(
            plan.against, trials=plan.trials, told=lambda text: told(f"{title}: {text}" if title else text, share)
        )
    surroundings = Surroundings(
        processor=read_processor().name or platform.machine(),
        processors=len(usable_cpus()),
        cores=len(read_topology().cpus),
        compiler=compiler.version,
        libraries={each.name: each.version for each in found},
        absent=absent,
    )
    layers = list[LayerBench]()
    jobs = [(workload, threads) for workload in workloads for threads in plan.threads]
    for number, (workload, threads) in enumerate(jobs):
        title, share = f"{workload.title}, {several(threads, 'thread')}", Share.counted(number, len(jobs))
        told(title, share)
        with off_stdout():
            layers += _bench_layer(workload, threads, plan, found)
    return Bench(
        machine=plan.machine,
        layouts=plan.layouts,
        rounds=plan.rounds,
        candidates=plan.candidates,
        seed=plan.seed,
        surroundings=surroundings,
        layers=tuple(layers),
        given=tuple(plan.mappings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A layer with a number of threads."""

    workload: Workload
    threads: int
    candidates: tuple[TimedCandidate, ...]
    codes: tuple[Code, ...]
    """One per candidate."""
    trial: Trial
    """Inputs, and what must come out."""
    plan: BenchPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contestants:
    """Everything that takes part in a layer, ready to be called and known to be right."""

    own: tuple[Contender, ...]
    """A way per candidate."""
    others: dict[str, tuple[Contender, ...]]
    """Per library its ways."""
    left_out: dict[str, str]


def _bench_layer(workload: Workload, threads: int, plan: BenchPlan, found: Sequence[Baseline]) -> Iterator[LayerBench]:
    proposed = _proposed(workload, threads, plan)
    codes = tuple(code for _, code in proposed)
    task = _Task(
        workload=workload,
        threads=threads,
        candidates=tuple(candidate for candidate, _ in proposed),
        codes=codes,
        trial=trials_of(workload, codes[0].buffers, plan.seed, exact=False)[0],
        plan=plan,
    )
    with pinned(threads):
        field = _field(task, found)
        for caches in plan.caches:
            number = best_way(field.own, caches)
            yield _timed(task, field, number, _streaming(task, number), caches)


def _proposed(workload: Workload, threads: int, plan: BenchPlan) -> list[tuple[TimedCandidate, Code]]:
    """Candidates with their code, the first one first; the same code is there once.

    They are the model's first mappings in every layout, the fastest as predicted first; or those that were given, in
    their order.
    """
    layouts = plan.layouts if roles_of(workload) else plan.layouts[:1]  # without channels there is but one
    if workload.title in plan.mappings:
        found = _given(workload, threads, plan, layouts)
    else:
        found = [
            candidate
            for layout in layouts
            for candidate in ranked(
                workload, plan.machine, CodeOptions(layout=layout), threads=threads, count=plan.candidates
            )
        ]
        found.sort(key=lambda each: order_of(each.prediction))
    if not found:
        raise InfeasibleError(f"{workload.title}: no mapping was found on {plan.machine.name}")
    different: dict[str, tuple[TimedCandidate, Code]] = {}
    for each in found:
        code = emit_code(workload, each.mapping, plan.machine, each.options)
        different.setdefault(code.source, (each, code))
    return list(different.values())


def _given(
    workload: Workload, threads: int, plan: BenchPlan, layouts: Sequence[ActivationLayout]
) -> list[TimedCandidate]:
    """The mappings that a workload came with, each in the layout in which it is predicted to be fastest.

    Raises:
        InputError: for one that is of another machine, or splits its loops among another number of threads.
    """
    found = []
    for mapping in plan.mappings[workload.title]:
        if mapping.ways not in (1, threads):
            raise InputError(
                f"the solution of {workload.title} is of {mapping.ways} cores; bench it with --threads {mapping.ways}"
            )
        tried = [with_registers(_model(workload, threads, plan, layout), mapping) for layout in layouts]
        found.append(min(tried, key=lambda each: order_of(each.prediction)))
    return found


def _model(workload: Workload, threads: int, plan: BenchPlan, layout: ActivationLayout) -> TimeModel:
    return TimeModel(
        workload=workload,
        machine=plan.machine,
        options=CodeOptions(layout=layout),
        running=Running(threads=threads),
    )


def _field(task: _Task, found: Sequence[Baseline]) -> _Contestants:
    workload, inputs = task.workload, task.trial.inputs
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # compilers run side by side
        kernels = list(pool.map(compile_code, task.codes))
    own = tuple(own_way(ready, str(number)) for number, ready in enumerate(ready_for(kernels, inputs), start=1))
    for way in own:
        _check(task, way)
    operands = tuple(inputs[tensor.name] for tensor in workload.inputs)
    others, left_out = {}, {}
    for library in found:
        ways = []
        try:
            prepared = library.prepare(workload, operands, task.threads)
        except SolverUnavailableError as error:
            left_out[library.name] = str(error)
            continue
        for way in prepared:
            try:
                _check(task, way)
                ways.append(way)
            except CheckError as error:
                left_out[way.title] = f"computes something else: {str(error).splitlines()[0]}"
            except SolverUnavailableError as error:
                left_out[way.title] = str(error)
        if ways:
            others[library.name] = tuple(ways)
        else:
            left_out[library.name] = "has no way to compute this"
    return _Contestants(own=own, others=others, left_out=left_out)


def _streaming(task: _Task, number: int) -> Contender | None:
    """A candidate's code with stores past the caches; None if it has no such stores."""
    candidate, machine = task.candidates[number], task.plan.machine
    code, other = (
        emit_code(task.workload, candidate.mapping, machine, replace(candidate.options, stores=stores))
        for stores in (StoreKind.ORDINARY, StoreKind.STREAMING)
    )
    if other.source == code.source:
        return None
    (ready,) = ready_for([compile_code(other)], task.trial.inputs)
    way = own_way(ready, "streaming")
    _check(task, way)
    return way


def _check(task: _Task, way: Contender) -> None:
    """Call it and compare.

    Raises:
        CheckError: if an output is wrong.
        SolverUnavailableError: if a library failed, with what it says.
    """
    if way.operands:  # another way may have written what is right to the same memory
        way.operands[0].reshape(-1).view(np.uint8).fill(NOTHING)
    warm_seconds(way)
    title = f"{task.workload.title} by {way.title}"
    if way.result is not None:
        judge((task.trial,), (way.result(),), terms(task.workload)).demand(title)


def _chosen(field: _Contestants, caches: Caches) -> tuple[dict[str, Contender], dict[str, str]]:
    """The best way of every library, and what is left out."""
    chosen, left_out = {}, dict(field.left_out)
    for name, ways in field.others.items():
        able = [way for way in ways if caches is Caches.WARM or way.operands is not None]
        if able:
            chosen[name] = able[best_way(able, caches)]
        else:
            left_out[name] = "its buffers cannot be named, so they cannot be thrown out of the caches"
    return chosen, left_out


def _timed(task: _Task, field: _Contestants, number: int, streaming: Contender | None, caches: Caches) -> LayerBench:
    """Time the best way of every library and ours in turns."""
    chosen, left_out = _chosen(field, caches)
    first = [field.own[0]] if number else []
    extra = [] if streaming is None else [streaming]
    core = core_of(task.plan.machine)
    running = [field.own[number], *first, *extra, *chosen.values(), peak_way(core)]
    timings = [
        WaySamples(library=way.library, variant=way.variant, samples=samples)
        for way, samples in zip(running, interleaved(running, rounds=task.plan.rounds, caches=caches), strict=True)
    ]
    code = task.codes[number]
    prediction = predict(
        task.workload, task.plan.machine, code.mapping, code.options, threads=task.threads, caches=caches
    )
    floor = floor_of(task.workload, task.plan.machine, prediction)
    return LayerBench(
        workload=task.workload,
        threads=task.threads,
        caches=caches,
        kernel=code.kernel,
        mapping=code.mapping,
        options=code.options,
        tried=len(field.own),
        number=number + 1,
        ours=timings[0],
        first=timings[len(first)],
        streaming=timings[len(first) + 1] if extra else None,
        theirs=tuple(each for each in timings if each.library not in (OURS, PEAK)),
        ways={name: len(field.others[name]) for name in chosen},
        left_out=left_out,
        peak=timings[-1],
        peak_operations=peak_operations(core, task.workload.output.bits),
        predicted=prediction.seconds,
        floor=None if floor is None else floor.seconds(floor.cycles),
    )
