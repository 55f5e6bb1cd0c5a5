"""`sweep`: a declared grid, answered and kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from optmap.base.clock import stopping
from optmap.base.errors import InputError
from optmap.base.texts import several
from optmap.questions.option import declared, taking, values_of
from optmap.search.plugins import is_shared
from optmap.sweeps.answers import PointAnswer
from optmap.sweeps.engines.engine import Engine, EngineError, Outcome, PointTask
from optmap.sweeps.engines.inline import InlineEngine, OwnHere
from optmap.sweeps.engines.local import TICK_SECONDS, LocalEngine, default_jobs
from optmap.sweeps.estimates import Measure, estimate
from optmap.sweeps.options import EngineName, GridOptions
from optmap.sweeps.plan import Grid, Plan, first_grid, make_plan, missing_points, points
from optmap.sweeps.points import GridPoint, blank_row, task_text
from optmap.sweeps.records.rows import FAILURES, row_of
from optmap.sweeps.refine import MethodValue, more_capacities
from optmap.sweeps.spec import BOUND, SweepSpec
from optmap.sweeps.spec_io import read_spec, spec_from
from optmap.sweeps.store import SweepStore
from optmap.sweeps.stored import look
from optmap.sweeps.tally import Tally
from optmap.version import __version__

COPIES_AT_ONCE = 500
"""Points under another name that are looked up together."""
Progress = Callable[[Tally], None]


@taking(GridOptions)
def sweep(
    spec: SweepSpec | Mapping[str, object] | str | Path,
    directory: str | Path,
    *,
    progress: Progress | None = None,
    **options: Unpack[GridOptions],
) -> Tally:
    """Run a sweep, or what is left of it: points that the directory has are not solved again.

    Args:
        spec: a `SweepSpec`, what a sweep file holds, or the name of one.
        directory: where rows, solutions and certificates are kept; `read_sweep` reads it.
        progress: called often with the counts so far.
        **options: as they are declared.

    Returns:
        What was done.

    Raises:
        InputError: if the spec or an argument cannot be accepted.
        StoreError: if the directory cannot be written; what was written before is intact.
        EngineError: if processes or scheduler do not work.
    """
    asked = values_of(declared(GridOptions), options)
    retry = asked.pop("retry")
    return run_sweep(as_spec(spec), Path(directory), engine=make_engine(**asked), retry=retry, progress=progress)


def as_spec(spec: SweepSpec | Mapping[str, object] | str | Path) -> SweepSpec:
    """A spec from what stands for one.

    Raises:
        InputError: if it cannot be accepted.
    """
    if isinstance(spec, SweepSpec):
        return spec
    return read_spec(spec) if isinstance(spec, str | Path) else spec_from(spec)


def make_engine(engine: EngineName | str, *, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """An engine by name.

    Raises:
        InputError: for arguments that do not belong to the engine.
    """
    if (engine == EngineName.DASK) != (scheduler is not None):
        raise InputError("engine dask and a scheduler address (tcp://host:port) belong together; give both or none")
    if engine == EngineName.INLINE:
        return InlineEngine()
    if scheduler is not None:
        from optmap.sweeps.engines.cluster import DaskEngine

        return DaskEngine(scheduler)
    return LocalEngine(jobs)


def plan_sweep(
    spec: SweepSpec, directory: Path | None, *, jobs: int | None = None, measure: Measure | None = None
) -> Plan:
    """What a sweep would do, with an estimate from stored times, or from a few points that are tried and not kept.

    Nothing in the directory changes.

    Args:
        spec: what is wanted.
        directory: where it would be kept; None or a folder that is not there for a first run.
        jobs: processes; None for one per core.
        measure: tries a point; None answers it in this process.
    """
    stored: dict[str, int] = {}
    measured: dict[str, float] = {}
    if directory is not None and (directory / "rows").is_dir():
        there = look(directory)
        for _, _, point in points(spec, first_grid(spec)):
            if there.has(point):
                stored[point.method] = stored.get(point.method, 0) + 1
        measured = there.mean_seconds()
    seconds = estimate(spec, missing_points(spec, stored), measured, measure)
    return make_plan(spec, jobs=jobs or default_jobs(), stored=stored, seconds=seconds)


def run_sweep(
    spec: SweepSpec,
    directory: Path,
    *,
    engine: Engine,
    retry: bool = False,
    progress: Progress | None = None,
) -> Tally:
    """Run a sweep on an engine; if somebody asks to stop it ends cleanly, which is told by the result.

    Args:
        spec: what is wanted.
        directory: where it is kept.
        engine: what answers the points.
        retry: work again on failures.
        progress: called often with the counts so far.

    Raises:
        StoreError: if the directory cannot be written.
        EngineError: if the engine does not work.
    """
    with SweepStore(directory) as store, engine.session():
        run = _SweepRun(spec=spec, store=store, engine=OwnHere(engine), retry=retry, progress=progress)
        grid: Grid = first_grid(spec)
        known = dict(grid)
        while any(grid.values()) and not run.tally.interrupted:
            run.answer(grid)
            if spec.refine is None or run.tally.interrupted:
                break
            grid = _next_grid(spec, store, known)
            known = {number: tuple(sorted({*known[number], *grid[number]})) for number in known}
    return run.tally


@dataclass(kw_only=True)
class _SweepRun:
    """One run of a sweep: points go out as tasks, outcomes come back as rows."""

    spec: SweepSpec
    store: SweepStore
    engine: Engine
    retry: bool
    progress: Progress | None
    tally: Tally = field(default_factory=Tally)
    _out: dict[int, GridPoint] = field(default_factory=dict)
    """Points in the engine by task number."""
    _hashes: set[str] = field(default_factory=set)
    """Their inputs."""
    _copies: list[GridPoint] = field(default_factory=list)
    """Points whose inputs are answered under another name."""
    _later: list[GridPoint] = field(default_factory=list)
    """Points whose inputs are in the engine under another name, or in the hands of another sweep."""
    _number: int = 0

    def answer(self, grid: Grid) -> None:
        """Answer all points of a grid."""
        methods = len(self.spec.methods)
        self.tally.points += methods * sum(len(amounts) for amounts in grid.values())
        self._pass(point for _, _, point in points(self.spec, grid))
        while self._later and not self.tally.interrupted:
            self._wait()
            waiting, self._later = self._later, []
            self._pass(iter(waiting))

    def _wait(self) -> None:
        """Until something of what is left is not in the hands of another sweep."""
        while not stopping() and all(self.store.elsewhere(point) for point in self._later):
            time.sleep(TICK_SECONDS)

    def _pass(self, wanted: Iterator[GridPoint]) -> None:
        # Closing ends the processes of the engine also when the store fails.
        with closing(self.engine.run(self._tasks(wanted), stopping)) as outcomes:
            for outcome in outcomes:
                if outcome is None:
                    self.store.flush_if_due()
                else:
                    self._keep(outcome)
                if self.progress is not None:
                    self.progress(self.tally)
        self._copy()
        self.store.flush()
        self.tally.interrupted = stopping()
        if self._out and not self.tally.interrupted:
            raise EngineError(f"{several(len(self._out), 'point')} got no answer; run the same sweep again")

    def _tasks(self, wanted: Iterator[GridPoint]) -> Iterator[PointTask]:
        """Tasks for the points that need work; made only when the engine asks for one."""
        for point in wanted:
            if stopping():
                return
            known = self.store.stored(point, retry=self.retry)
            if known is not None:
                self.tally.count_stored(*known)
            elif point.input_hash in self._hashes:
                self._later.append(point)
            elif self.store.has_answer(point, retry=self.retry):
                self._copies.append(point)
                if len(self._copies) >= COPIES_AT_ONCE:
                    self._copy()
            elif not self.store.claim(point):
                self._later.append(point)
            else:
                self._number += 1
                self._out[self._number] = point
                self._hashes.add(point.input_hash)
                asked = None if point.method == BOUND else point.method
                here = not is_shared(asked, point.options.counting, point.machine)
                yield PointTask(number=self._number, text=task_text(point), seconds=self.spec.hard_limit, here=here)

    def _copy(self) -> None:
        """Rows for points that were answered under another name."""
        if not self._copies:
            return
        rows = self.store.same_inputs(self._copies)
        for point in self._copies:
            row = rows.get(point.input_hash)
            if row is None:  # its file was damaged meanwhile
                self._later.append(point)
                continue
            own = replace(row, workload=point.workload.title, machine=point.machine.name, count=point.workload.count)
            self.store.add_row(own)
            self.tally.count_copy(own)
        self._copies = []

    def _keep(self, outcome: Outcome) -> None:
        point = self._out.pop(outcome.number, None)
        if point is None:  # an answer that came twice
            return
        self._hashes.discard(point.input_hash)
        if outcome.text is None:
            row = blank_row(point, stop=outcome.stop, error=outcome.error, seconds=outcome.seconds)
            answer = PointAnswer(row=replace(row, version=__version__))
        else:
            made = json.loads(outcome.text)
            answer = PointAnswer(row=row_of(made["row"]), solution=made["solution"], certificate=made["certificate"])
            if answer.row.key != point.key:
                raise EngineError(
                    f"a worker with optmap {answer.row.version} answered another question than optmap "
                    f"{__version__} asked; install the same version everywhere"
                )
        self.store.add(answer)
        self.tally.count(answer.row)


def _next_grid(spec: SweepSpec, store: SweepStore, known: Mapping[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Capacities that the refinement asks for, per curve."""
    if spec.refine is None:
        return {}
    values: dict[int, dict[int, dict[str, MethodValue]]] = {number: {} for number in known}
    rows = store.curve_values()
    for number, amount, point in points(spec, known):
        found, bound, stop = rows.get(point.input_hash, (None, None, ""))
        value = MethodValue(found=None, bound=None) if stop in FAILURES else MethodValue(found=found, bound=bound)
        values[number].setdefault(amount, {})[point.method] = value
    first = first_grid(spec)
    return {number: more_capacities(first[number], values[number], spec.refine) for number in known}
