"""`race`: several searches on the same layers within the same budget, as a sweep."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from optmap.answers.side_by_side.race import LayerRace, MethodRun, Race, run_from
from optmap.base.clock import INTERRUPTED, stopping
from optmap.base.errors import CheckError, InputError
from optmap.base.names import choose
from optmap.base.share import Share, Tell, part_of
from optmap.count.policies import nest_policy
from optmap.files import library
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    WorkloadInput,
    is_statement,
    machine_of,
    names_of,
    products_of,
    text_of,
    workload_of,
)
from optmap.files.workloads import read_workloads
from optmap.machines.machine import Machine
from optmap.questions.form import form_on
from optmap.questions.objective import merit_objective
from optmap.questions.option import declared, taking, values_of
from optmap.questions.options import TileRule
from optmap.search.methods import EXACT, METHODS
from optmap.search.plugins import is_shared
from optmap.sweeps.engines.inline import InlineEngine
from optmap.sweeps.engines.local import default_jobs
from optmap.sweeps.method_settings import method_of
from optmap.sweeps.options import EngineName, RaceOptions
from optmap.sweeps.plan import first_grid, points
from optmap.sweeps.reading import sweep_document
from optmap.sweeps.run import make_engine, run_sweep
from optmap.sweeps.spec import Options, SweepSpec
from optmap.sweeps.store import read_rows
from optmap.workloads.workload import Semantics, Workload

if TYPE_CHECKING:
    from optmap.sweeps.engines.engine import Engine
    from optmap.sweeps.points import GridPoint
    from optmap.sweeps.tally import Tally

ALL = "all"
"""Stands for every method on accelerators."""
TILES = TileRule.DIVISORS
"""The tiles of a race: every method knows them, and the proven optimum is one among them."""


@taking(RaceOptions)
def race(
    workloads: WorkloadInput | Sequence[WorkloadInput], *, machine: MachineInput, **options: Unpack[RaceOptions]
) -> Race:
    """Let methods search for mappings of the same layers within the same budget, beside the proven optimum.

    All search among mappings with perfect factors of every dim, of which `exact` proves the best; it is in every race.

    Args:
        workloads: one as for `solve`, or several; `resnet18/*` stands for all layers of that name, a file for all of
            its workloads.
        machine: an accelerator.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        ContradictionError: if a mapping is better than what is proved to be least.
        CheckError: if a recount contradicts a method.
        EngineError: if processes or scheduler do not work.
    """
    asked = values_of(declared(RaceOptions), options)
    target = machine_of(machine, None)
    if form_on(target).floors_apart:
        raise InputError(f"races are run on accelerators, which {target.name} is not; see compare for its methods")
    goal, mode = merit_objective(asked["objective"]).name, nest_policy(asked["counting"])
    said = Options(
        objective=goal,
        counting=mode.name,
        tiles=TILES.value,
        time_limit=asked["budget"],
        evaluations=asked["evaluations"],
        settings=asked["settings"] or (),
    )
    spec = SweepSpec(
        workloads=layers_of(workloads, asked["extents"]),
        machines=(target,),
        methods=racers(asked["methods"], target),
        options=said,
        seed=asked["seed"],
        name="race",
    )
    engine, jobs, directory, progress = (asked[name] for name in ("engine", "jobs", "directory", "progress"))
    worker = make_engine(engine, jobs=jobs, scheduler=asked["scheduler"])
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
        place = Path(folder) / "race" if directory is None else directory
        heats = _heats(spec, worker, place, Path(folder) / "own", asked["proof"])
        reused, answers = 0, dict[tuple[str, str], MethodRun | str]()
        for number, heat in enumerate(heats):
            reused += heat.run(part_of(progress, number, len(heats), f", heat {number + 1} of {len(heats)}"))
            answers |= heat.answers()
    side_by_side = {EngineName.INLINE: 1, EngineName.LOCAL: min(jobs or default_jobs(), spec.points)}
    return Race(
        machine=target,
        objective=goal,
        counting=mode,
        methods=spec.methods,
        layers=tuple(_layer(workload, spec.methods, answers) for workload in spec.workloads),
        budget=said.time_limit,
        proof=asked["proof"],
        evaluations=said.evaluations,
        seed=spec.seed,
        side_by_side=side_by_side.get(engine),
        reused=reused,
        interrupted=stopping(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heat:
    """A part of a race that one engine answers."""

    spec: SweepSpec
    engine: Engine
    directory: Path

    @property
    def points(self) -> tuple[GridPoint, ...]:
        """A point per layer and method."""
        return tuple(point for _, _, point in points(self.spec, first_grid(self.spec)))

    def run(self, progress: Tell | None) -> int:
        """Have the searches made; those that the folder has are not made again.

        Returns:
            How many it had.
        """
        order = [f"{point.workload.title}: {point.method}" for point in self.points]

        def tell(tally: Tally) -> None:
            if progress is not None:
                progress(order[min(tally.done, len(order) - 1)], tally.share)

        if progress is not None:
            progress(order[0], Share.counted(0, len(order)))
        return run_sweep(self.spec, self.directory, engine=self.engine, progress=tell).reused

    def answers(self) -> dict[tuple[str, str], MethodRun | str]:
        """What each method did on each layer, or why it has no mapping.

        Raises:
            CheckError: if a recount contradicted a method.
        """
        rows = {(row["workload"], row["input_hash"]): row for row in read_rows(self.directory).to_pylist()}
        found = dict[tuple[str, str], MethodRun | str]()
        for point in self.points:
            row = rows.get((point.workload.title, point.input_hash))
            if row is None:  # a race that was interrupted
                found[point.workload.title, point.method] = INTERRUPTED
                continue
            if row["stop"] == "check":
                raise CheckError(f"{point.workload.title}: {point.method}: {row['error']}")
            document = None if row["error"] else sweep_document(self.directory, point.input_hash)
            found[point.workload.title, point.method] = row["error"] if document is None else run_from(document)
        return found


def _heats(spec: SweepSpec, engine: Engine, directory: Path, own_directory: Path, proof: float | None) -> list[_Heat]:
    """What every process knows on the engine, methods and countings of this process here, and anew in every race.

    With a time of its own for the proof, `exact` goes first and alone.
    """
    first = () if proof is None else (EXACT.name,)
    heats = []
    for names in (first, tuple(name for name in spec.methods if name not in first)):
        for shared, worker, place in ((True, engine, directory), (False, InlineEngine(), own_directory)):
            mine = [name for name in names if is_shared(name, spec.options.counting, *spec.machines) is shared]
            if mine:
                part = _only(spec, mine)
                limit = proof if names is first and proof is not None else part.options.time_limit
                part = replace(part, options=part.options.having(time_limit=limit))
                heats.append(_Heat(spec=part, engine=worker, directory=place))
    return heats


def _only(spec: SweepSpec, methods: Sequence[str]) -> SweepSpec:
    """A race with some of its methods, each with its own settings."""
    mine = tuple(name for name in spec.methods if name in methods)
    texts = tuple(text for text in spec.options.settings if method_of(text) in mine)
    return replace(spec, methods=mine, options=spec.options.having(settings=texts))


def _layer(workload: Workload, methods: Sequence[str], answers: Mapping[tuple[str, str], MethodRun | str]) -> LayerRace:
    """All methods on one layer."""
    found = {name: answers[workload.title, name] for name in methods}
    return LayerRace(
        workload=workload,
        runs={name: run for name, run in found.items() if isinstance(run, MethodRun)},
        left_out={name: reason for name, reason in found.items() if isinstance(reason, str)},
    )


def layers_of(
    workloads: WorkloadInput | Sequence[WorkloadInput], extents: ExtentsInput | None = None
) -> tuple[Workload, ...]:
    """The workloads of a race, with outputs that start empty.

    Raises:
        InputError: for none, two of one name, or one that cannot be understood.
    """
    several = list(workloads) if isinstance(workloads, Sequence) and not isinstance(workloads, str) else [workloads]
    if not several:
        raise InputError("workloads is empty; name at least one")
    if (
        extents is not None
        and len(several) > 1
        and not any(isinstance(each, str) and is_statement(each) for each in several)
    ):
        raise InputError(
            "extents (--extents) are for a statement among several workloads, and none is one; leave them out"
        )
    found: dict[str, Workload] = {}
    for each in several:
        for item in _named(each):
            own = extents if len(several) == 1 or (isinstance(item, str) and is_statement(item)) else None
            workload = workload_of(item, own).with_semantics(Semantics.ASSIGN)
            if found.setdefault(workload.title, workload) != workload:
                raise InputError(f"two different workloads are called {workload.title!r}; give them names")
    return products_of(found.values())


def _named(item: WorkloadInput) -> Sequence[WorkloadInput]:
    """What `resnet18/*` or a file stands for: several workloads; anything else for itself."""
    if isinstance(item, Workload) or (isinstance(item, str) and is_statement(item)):
        return (item,)
    text = text_of(item, "workload", "a library name, a YAML file, a statement or a Workload")
    if text.endswith(library.SUFFIXES):
        return tuple(read_workloads(Path(text)).values())
    return library.match_workloads(text) if any(mark in text for mark in "*?") else (text,)


def racers(methods: str | Sequence[str] | None, machine: Machine) -> tuple[str, ...]:
    """The methods of a race on a machine, `exact` first.

    Raises:
        UnknownNameError: for a name that is none.
    """
    asked = names_of(methods, "methods")
    if asked is None or asked == (ALL,):
        asked = tuple(name for name, method in METHODS.items() if method.suits(machine))
    for name in asked:
        choose("method", name, METHODS)
    return tuple(dict.fromkeys((EXACT.name, *asked)))
