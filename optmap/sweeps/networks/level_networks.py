"""A whole network on one machine: a sweep over its layers, added up."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from optmap.answers.over_capacity.curves import MethodCurve, panels
from optmap.answers.over_capacity.networks import NetworkView, network_views
from optmap.base.clock import stopping
from optmap.base.errors import CheckError, InfeasibleError, InputError, LimitError, OptmapError
from optmap.base.names import choose
from optmap.base.shown import Shown
from optmap.base.values import TimeInput, seconds
from optmap.count.meshes.count import NEST_EXACT
from optmap.files.network import Network
from optmap.machines.machine import Machine
from optmap.questions.options import Merit
from optmap.report.answers.network import network_document, network_table
from optmap.search.methods import METHODS, default_method
from optmap.sweeps.networks.nest_networks import LATE, NetworkNests, left_out_text, mapped_layers
from optmap.sweeps.plan import first_grid, points
from optmap.sweeps.reading import read_sweep
from optmap.sweeps.records.manifest import Key
from optmap.sweeps.records.rows import KEY
from optmap.sweeps.run import sweep
from optmap.sweeps.spec import BOUND, Options, SweepSpec
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    import pandas as pd

    from optmap.sweeps.tally import Tally

REASONS: dict[str, type[OptmapError]] = {"infeasible": InfeasibleError, "check": CheckError, "error": InputError}
"""What ends the sums of a network, the most telling first; else a layer had no mapping in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSums(Shown):
    """What the layers of a network move on a machine, each as often as it occurs."""

    shown_as: ClassVar[str] = "network-sums"
    view: NetworkView
    series: MethodCurve
    capacity_bytes: int
    limited: bool
    """Whether a layer reached its time limit; its best mapping so far is in the sums."""
    left_out: tuple[str, ...] = ()
    """Layers without a mapping since somebody asked to stop; the sums are of the others."""


def solve_network(
    layers: Network,
    machine: Machine,
    *,
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    tiles: str = "any",
    time_limit: TimeInput = 60.0,
    jobs: int | None = None,
    directory: Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> NetworkSums | NetworkNests:
    """Solve every layer and add up.

    Args:
        layers: the network.
        machine: the machine.
        method: a mapping method; None for `exact` on accelerators, `mopt` elsewhere.
        objective: what every layer minimises; None for the method's own.
        counting: on accelerators, as for `solve`.
        tiles: as for `solve`.
        time_limit: seconds per layer.
        jobs: processes; None for one per core.
        directory: keep rows, mappings and certificates there.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if a layer does not fit.
        LimitError: if a layer has no mapping when its time is over.
    """
    nests = machine.meshed
    if not nests:
        check_addable(layers)
    name = default_method(machine) if method is None else str(choose("method", method, METHODS))
    goal = METHODS[name].objective(objective, machine)
    spec = SweepSpec(
        workloads=layers.layers,
        machines=(machine,),
        methods=(name,) if nests else (BOUND, name),
        options=Options(
            time_limit=seconds(time_limit, "time limit (--time-limit)"),
            objective=goal if nests else objective,
            counting=counting,
            tiles=tiles,
        ),
        name=layers.name,
    )
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
        place = directory if directory is not None else Path(folder)
        mine = _swept(spec, place, jobs, progress)
        left_out: tuple[str, ...] = ()
        if stopping():
            layers, mine, left_out = _answered(layers, mine, len(spec.methods))
        if nests:
            _all_mapped(layers, mine)
            return NetworkNests(
                network=layers,
                machine=machine,
                method=name,
                merit=Merit(goal),
                counting=counting or NEST_EXACT.name,
                layers=mapped_layers(layers, mine, place),
                limited=bool(mine["stop"].isin(LATE).any()),
                left_out=left_out,
            )
    view = network_views(panels(mine), layers)[0]
    if not view.total.series or not view.total.series[0].samples:
        raise incomplete(layers, mine)
    series = view.total.series[0]
    return NetworkSums(
        view=view,
        series=series,
        capacity_bytes=series.samples[-1].capacity_bytes,
        limited=bool(mine["stop"].isin(LATE).any()),
        left_out=left_out,
    )


def _answered(layers: Network, rows: pd.DataFrame, wanted: int) -> tuple[Network, pd.DataFrame, tuple[str, ...]]:
    """The layers that have all their rows, these rows, and the names of the others.

    Raises:
        LimitError: if there is no such layer.
    """
    counts = rows[rows["error"] == ""]["workload"].value_counts()
    done = tuple(layer for layer in layers.layers if counts.get(layer.title, 0) >= wanted)
    if not done:
        raise LimitError(f"{layers.name}: no layer has a mapping yet")
    names = [layer.title for layer in done]
    left_out = tuple(layer.title for layer in layers.layers if layer.title not in names)
    return replace(layers, layers=done), rows[rows["workload"].isin(names)], left_out


def _swept(
    spec: SweepSpec, directory: Path, jobs: int | None, progress: Callable[[str, float], None] | None
) -> pd.DataFrame:
    """The rows of a sweep that has been run in a directory, which may hold rows of other questions."""

    def tell(tally: Tally) -> None:
        if progress is not None:
            progress("solving", tally.done / max(1, tally.points))

    sweep(spec, directory, jobs=jobs, progress=tell)
    return rows_of(read_sweep(directory), {point.key for _, _, point in points(spec, first_grid(spec))})


def rows_of(frame: pd.DataFrame, asked: Container[Key]) -> pd.DataFrame:
    """The rows of the points that were asked for; of an interrupted sweep there may be none."""
    return frame.loc[[key in asked for key in zip(*(frame[column] for column in KEY), strict=True)]]


def check_addable(layers: Network) -> None:
    """Refuse layers of which some load what their outputs begin with and some do not.

    Raises:
        InputError: naming a layer of each kind.
    """
    first: dict[Semantics, str] = {}
    for layer in layers.layers:
        first.setdefault(layer.semantics, layer.title)
    if len(first) > 1:
        kinds = " and ".join(
            f"{name} has {kind} (`{'=' if kind is Semantics.ASSIGN else '+='}`)" for kind, name in first.items()
        )
        raise InputError(
            f"{layers.name}: {kinds}: loads of both kinds cannot be added; give one for all, such as --semantics assign"
        )


def _all_mapped(layers: Network, rows: pd.DataFrame) -> None:
    """Refuse to add up where a layer has no mapping."""
    if any(rows["error"]):
        raise incomplete(layers, rows)


def incomplete(layers: Network, rows: pd.DataFrame) -> OptmapError:
    """Why not all layers of a network have a mapping in the rows of its sweep, the most telling reason first."""
    problems = dict.fromkeys(str(text) for text in rows["error"] if text)
    stops = set(rows["stop"])
    kind = next((kind for stop, kind in REASONS.items() if stop in stops), LimitError)
    return kind(f"{layers.name}: no mapping of all its layers: {'; '.join(problems)[:400]}")


def sums_document(sums: NetworkSums) -> dict[str, object]:
    """The JSON document of `network`."""
    document = network_document(sums.view, sums.series, sums.capacity_bytes)
    return {"schema": "optmap.network/1", **document, "left_out": list(sums.left_out)}


def sums_table(sums: NetworkSums) -> str:
    """The sums for people."""
    return network_table(sums.view, sums.series, sums.capacity_bytes) + left_out_text(sums.left_out)


def sums_plot(sums: NetworkSums, axes: object = None) -> object:
    """Traffic of the network against its bound, layer by layer."""
    from optmap.report.pictures.sweep_plots import plot_network

    return plot_network(sums.view, axes=axes)
