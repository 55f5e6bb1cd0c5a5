"""`sweep`: a grid of bounds and mappings, run to the end and kept as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optmap.base.texts import duration, several
from optmap.cli.completing import completed
from optmap.cli.console import complain, guarded, refuse_unused, say_document, say_text
from optmap.cli.options import JsonOption, output_option, taking
from optmap.cli.progress import Progress
from optmap.sweeps.options import EngineName, GridOptions

if TYPE_CHECKING:
    from optmap.sweeps.plan import Plan
    from optmap.sweeps.tally import Tally

SWEEP_HELP = """Answer a grid of workloads, machines, capacities and methods.

The directory keeps rows (Parquet), solutions and certificates (JSON), and a manifest with their
digests. A sweep that was interrupted or killed continues when it is run again; points that the
directory has are not solved twice, also by several sweeps at work in it at the same time. What is
not as the manifest says is named and solved again; optmap check DIR verifies everything. See
models/sweeps for examples and their schema.

\b
Examples:
  optmap sweep yolo_caches --plan
  optmap sweep my_sweep.yaml -o results --jobs 4
  optmap sweep my_sweep.yaml -o results --resume
  optmap sweep my_sweep.yaml -o results --engine dask --scheduler tcp://head:8786

Ctrl-C or a termination ends a sweep with what it has; a second one ends it at once.

Exit codes: 0 all answered, 2 bad input, 4 some points reached a limit or crashed (their rows say so), or the
sweep was interrupted, 5 a check failed.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("sweep", help=SWEEP_HELP)(guarded(sweep, stoppable=True))


@taking(GridOptions)
def sweep(
    *,
    spec: Annotated[
        str,
        typer.Argument(
            metavar="SPEC",
            help="A sweep file, or the name of one in models/sweeps.",
            autocompletion=completed("sweeps"),
        ),
    ],
    output: Annotated[Path | None, output_option("Directory; SPEC.sweep if left out.", metavar="DIR")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would be done and about how long it takes; keep nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Insist on a directory with an earlier run; it continues in any case.")
    ] = False,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Run a sweep and print what was done."""
    from optmap.base.errors import InputError
    from optmap.sweeps import run
    from optmap.sweeps.spec_io import read_spec

    made = read_spec(spec)
    directory = output if output is not None else Path(f"{Path(spec).stem}.sweep")
    if options["engine"] is not EngineName.LOCAL:
        refuse_unused("is for processes on this computer, --engine local", "jobs")
    if plan:
        refuse_unused("is not for --plan, which does nothing", "resume", "retry", "engine", "scheduler")
        planned = run.plan_sweep(made, directory, jobs=options["jobs"])
        if as_json:
            say_document(_plan_document(planned))
        else:
            say_text(_plan_table(planned))
        return 0
    if resume and not (directory / "rows").is_dir():
        raise InputError(f"{directory}: nothing to resume here; leave out --resume to start")
    with Progress("sweeping") as progress:
        tally = run.sweep(made, directory, **options, progress=lambda now: progress(state_text(now), now.share))
    if as_json:
        say_document(_tally_document(tally, directory))
    else:
        say_text(_tally_table(tally, directory))
    if tally.interrupted:
        complain(
            f"interrupted with {tally.done:,} of {several(tally.points, 'point')}; run the same command to continue"
        )
    elif tally.failed:
        complain(
            f"{several(tally.failed, 'point')} without a full answer; "
            f"the last: {tally.last_error or 'see column error'}"
        )
    return tally.exit_code


def state_text(tally: Tally) -> str:
    """Rate, failures and gaps in one line."""
    parts = [f"{tally.rate:.1f} points/s"] if tally.answered else []
    parts.append(f"{tally.failed} failed")
    if tally.best_gap is not None and tally.worst_gap is not None:
        parts.append(f"gap of the objective {100 * tally.best_gap:.1f} to {100 * tally.worst_gap:.1f} %")
    return ", ".join(parts)


def _plan_document(plan: Plan) -> dict[str, object]:
    return {
        "schema": "optmap.sweep-plan/1",
        "name": plan.name,
        "points": plan.points,
        "stored": plan.stored,
        "most_points": plan.most_points,
        "workloads": list(plan.workloads),
        "machines": list(plan.machines),
        "level": plan.level,
        "capacities": list(plan.capacities),
        "capacity_unit": plan.capacity_unit,
        "methods": list(plan.methods),
        "jobs": plan.jobs,
        "estimated_seconds": plan.seconds,
        "estimated_least_seconds": plan.least_seconds,
        "estimated_most_seconds": plan.most_seconds,
    }


def _plan_table(plan: Plan) -> str:
    lines = [
        f"{several(plan.points, 'point')}, {plan.stored:,} of them stored",
        f"  workloads   {_some(plan.workloads)}",
        f"  machines    {_some(plan.machines) if plan.machines else 'two-level'}",
    ]
    if plan.capacities:
        values = _some(tuple(f"{amount:,}" for amount in plan.capacities))
        lines.append(f"  capacities  {values} {plan.capacity_unit} of {plan.level}")
    lines.append(f"  methods     {', '.join(plan.methods)}")
    if plan.most_points > plan.points:
        lines.append(f"  refined     up to {several(plan.most_points, 'point')}, as the curves need")
    between = f"{duration(plan.least_seconds)} to {duration(plan.most_seconds)}"
    lines.append(f"  estimate    {duration(plan.seconds)} on {several(plan.jobs, 'process', 'processes')}, {between}")
    return "\n".join(lines)


def _some(names: tuple[str, ...]) -> str:
    if len(names) <= 6:
        return ", ".join(names)
    return f"{', '.join(names[:3])}, … {names[-1]} ({len(names)})"


def _tally_document(tally: Tally, directory: Path) -> dict[str, object]:
    return {
        "schema": "optmap.sweep/1",
        "directory": str(directory),
        "points": tally.points,
        "answered": tally.answered,
        "reused": tally.reused,
        "infeasible": tally.infeasible,
        "failures": dict(sorted(tally.failures.items())),
        "best_gap": tally.best_gap,
        "worst_gap": tally.worst_gap,
        "interrupted": tally.interrupted,
        "seconds": tally.seconds,
        "points_per_second": tally.rate,
    }


def _tally_table(tally: Tally, directory: Path) -> str:
    lines = [
        f"{tally.done:,} of {several(tally.points, 'point')} in {directory}",
        f"  answered    {tally.answered:,} in {tally.seconds:.1f} s ({tally.rate:.1f} per second)",
        f"  reused      {tally.reused:,}",
    ]
    if tally.infeasible:
        lines.append(f"  infeasible  {tally.infeasible:,}")
    if tally.failures:
        lines.append(f"  failed      {', '.join(f'{n:,} {stop}' for stop, n in sorted(tally.failures.items()))}")
    if tally.best_gap is not None and tally.worst_gap is not None:
        lines.append(f"  gap         of the objective {100 * tally.best_gap:.2f} % to {100 * tally.worst_gap:.2f} %")
    return "\n".join(lines)
