"""A whole network on one machine: a sweep over its layers, added up."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from optmap.errors import CheckError, InfeasibleError, InputError, LimitError, OptmapError
from optmap.gap.curves import Series, panels
from optmap.gap.networks import NetworkView, network_views
from optmap.names import choose
from optmap.problem import Machine
from optmap.problem.network import Network
from optmap.problem.options import Counting, Merit
from optmap.report.network import network_document, network_table
from optmap.search.methods import METHODS, default_method
from optmap.shown import Form, Shown
from optmap.sweeps.nest_networks import NetworkNests, mapped_layers
from optmap.sweeps.plan import first_grid, points
from optmap.sweeps.reading import read_sweep
from optmap.sweeps.rows import KEY
from optmap.sweeps.run import sweep
from optmap.sweeps.spec import BOUND, Options, SweepSpec

if TYPE_CHECKING:
    import pandas as pd

    from optmap.sweeps.tally import Tally

REASONS: dict[str, type[OptmapError]] = {"infeasible": InfeasibleError, "check": CheckError, "error": InputError}
"""What ends the sums of a network, the most telling first; else a layer had no mapping in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSums(Shown):
    """What the layers of a network move on a machine, each as often as it occurs."""

    shown_as: ClassVar[Form] = Form(
        table="sweeps.networks:sums_table",
        document="sweeps.networks:sums_document",
        plot="sweeps.networks:sums_plot",
    )
    view: NetworkView
    series: Series
    capacity_bytes: int
    limited: bool
    """Whether a layer reached its time limit; its best mapping so far is in the sums."""


def solve_network(
    layers: Network,
    machine: Machine,
    *,
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    tiles: str = "any",
    time_limit: float = 60.0,
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
        counting: on accelerators, `exact` (None, too) or `timeloop`.
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
    name = default_method(machine) if method is None else str(choose("method", method, METHODS))
    goal = METHODS[name].objective(objective, machine)
    nests = machine.accelerator is not None
    spec = SweepSpec(
        workloads=layers.layers,
        machines=(machine,),
        methods=(name,) if nests else (BOUND, name),
        options=Options(time_limit=time_limit, objective=goal if nests else objective, counting=counting, tiles=tiles),
        name=layers.name,
    )
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
        place = directory if directory is not None else Path(folder)
        mine = _swept(spec, place, jobs, progress)
        if nests:
            _all_mapped(layers, mine)
            return NetworkNests(
                network=layers,
                machine=machine,
                method=name,
                merit=Merit(goal),
                counting=counting or Counting.EXACT.value,
                layers=mapped_layers(layers, mine, place),
                limited=bool((mine["stop"] == "time_limit").any()),
            )
    view = network_views(panels(mine), layers)[0]
    if not view.total.series or not view.total.series[0].samples:
        raise incomplete(layers, mine)
    series = view.total.series[0]
    return NetworkSums(
        view=view,
        series=series,
        capacity_bytes=series.samples[-1].capacity_bytes,
        limited=bool((mine["stop"] == "time_limit").any()),
    )


def _swept(
    spec: SweepSpec, directory: Path, jobs: int | None, progress: Callable[[str, float], None] | None
) -> pd.DataFrame:
    """The rows of a sweep that has been run in a directory, which may hold rows of other questions."""

    def tell(tally: Tally) -> None:
        if progress is not None:
            progress("solving", tally.done / max(1, tally.points))

    sweep(spec, directory, jobs=jobs, progress=tell)
    frame = read_sweep(directory)
    asked = {point.key for _, _, point in points(spec, first_grid(spec))}
    return frame[[key in asked for key in zip(*(frame[column] for column in KEY), strict=True)]]


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
    return {"schema": "optmap.network/1", **network_document(sums.view, sums.series, sums.capacity_bytes)}


def sums_table(sums: NetworkSums) -> str:
    """The sums for people."""
    return network_table(sums.view, sums.series, sums.capacity_bytes)


def sums_plot(sums: NetworkSums, axes: object = None) -> object:
    """Traffic of the network against its bound, layer by layer."""
    from optmap.report.sweep_plots import plot_network

    return plot_network(sums.view, axes=axes)
