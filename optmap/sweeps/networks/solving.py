"""A whole network on one machine: a sweep over its layers, added up."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Container
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.answers.over_capacity.curves import panels
from optmap.answers.over_capacity.network_sums import MappedLayer, MappedNetwork, NetworkSums, Spent
from optmap.answers.over_capacity.networks import NetworkView, network_views
from optmap.base.clock import stopping
from optmap.base.errors import CheckError, InfeasibleError, InputError, LimitError, OptmapError
from optmap.base.names import choose
from optmap.base.share import Tell
from optmap.base.values import TimeInput, seconds
from optmap.count.meshes.count import NEST_EXACT
from optmap.files.network import Network
from optmap.machines.machine import Machine
from optmap.questions.form import form_on
from optmap.search.methods import METHODS, usual_methods
from optmap.sweeps.plan import first_grid, points
from optmap.sweeps.reading import read_sweep, sweep_document
from optmap.sweeps.records.manifest import Key
from optmap.sweeps.records.rows import KEY
from optmap.sweeps.run import sweep
from optmap.sweeps.spec import BOUND, Options, SweepSpec
from optmap.workloads.meanings import Padding
from optmap.workloads.workload import Semantics, Workload

if TYPE_CHECKING:
    import pandas as pd

    from optmap.sweeps.tally import Tally

LATE = ("time_limit", "interrupted")
"""Values of `stop` of layers that have the best mapping until then."""
REASONS: dict[str, type[OptmapError]] = {"infeasible": InfeasibleError, "check": CheckError, "error": InputError}
"""What ends the sums of a network, the most telling first; else a layer had no mapping in time."""


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
    progress: Tell | None = None,
) -> NetworkSums[Any]:
    """Solve every layer and add up.

    Args:
        layers: the network.
        machine: the machine.
        method: a mapping method; None for `exact` on accelerators, `iooub` for the traffic of one memory, else `mopt`.
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
    apart = form_on(machine).floors_apart
    if apart:
        check_addable(layers)
    padded = any(layer.padding is Padding.IMPLICIT for layer in layers.layers)
    usual = usual_methods(machine, objective, padded=padded)[0]
    name = usual if method is None else str(choose("method", method, METHODS))
    goal = METHODS[name].objective(objective, machine)
    add: Callable[..., NetworkView | MappedNetwork] = _moved if apart else _mapped
    methods = (BOUND, name) if apart else (name,)
    spec = SweepSpec(
        workloads=layers.layers,
        machines=(machine,),
        methods=methods,
        options=Options(
            time_limit=seconds(time_limit, "time limit (--time-limit)"),
            objective=objective if apart else goal,
            counting=counting,
            tiles=tiles,
        ),
        name=layers.name,
    )
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
        place = directory if directory is not None else Path(folder)
        rows = _swept(spec, place, jobs, progress)
        left_out: tuple[str, ...] = ()
        if stopping():
            layers, rows, left_out = _answered(layers, rows, len(methods))
        found = add(layers, rows, spec, place)
    return NetworkSums(view=found, limited=bool(rows["stop"].isin(LATE).any()), left_out=left_out)


def _moved(layers: Network, rows: pd.DataFrame, *_: object) -> NetworkView:
    """What the mappings of all layers move, from the rows of their sweep."""
    view = network_views(panels(rows), layers)[0]
    if not view.total.series or not view.total.series[0].samples:
        raise incomplete(layers, rows)
    return view


def _mapped(layers: Network, rows: pd.DataFrame, spec: SweepSpec, directory: Path) -> MappedNetwork:
    """What the mappings of all layers spend, from the rows of their sweep and the documents behind them."""
    if any(rows["error"]):
        raise incomplete(layers, rows)
    found = {str(row["workload"]): row for row in rows.to_dict("records")}
    missing = [layer.title for layer in layers.layers if layer.title not in found]
    if missing:
        raise InputError(f"{layers.name}: {missing[0]} has no mapping")
    return MappedNetwork(
        network=layers,
        machine=spec.machines[0],
        method=spec.methods[0],
        objective=str(spec.options.objective),
        counting=spec.options.counting or NEST_EXACT.name,
        layers=tuple(_layer(layer, found[layer.title], directory) for layer in layers.layers),
    )


def _layer(workload: Workload, row: dict[Any, Any], directory: Path) -> MappedLayer:
    document: dict[str, Any] = sweep_document(directory, str(row["input_hash"]))
    floor, least = document["floor"], Spent()
    if floor is not None:
        energy = Fraction(floor["energy"]["exact"])
        least = Spent(energy_pj=energy, cycles=floor["cycles"], port_cycles=floor["port_cycles"])
    return MappedLayer(
        workload=workload,
        spent=Spent(
            energy_pj=Fraction(document["energy"]["exact"]),
            cycles=document["cycles"]["value"],
            port_cycles=max(level["cycles"] for level in document["levels"]),
        ),
        bound=Fraction(document["search"]["bound"]),
        proved=document["search"]["proved"],
        floor=least,
        seconds=float(row["seconds"]),
        broken=tuple(document.get("broken", ())),
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


def _swept(spec: SweepSpec, directory: Path, jobs: int | None, progress: Tell | None) -> pd.DataFrame:
    """The rows of a sweep that has been run in a directory, which may hold rows of other questions."""

    def tell(tally: Tally) -> None:
        if progress is not None:
            progress("solving", tally.share)

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


def incomplete(layers: Network, rows: pd.DataFrame) -> OptmapError:
    """Why not all layers of a network have a mapping in the rows of its sweep, the most telling reason first."""
    problems = dict.fromkeys(str(text) for text in rows["error"] if text)
    stops = set(rows["stop"])
    kind = next((kind for stop, kind in REASONS.items() if stop in stops), LimitError)
    return kind(f"{layers.name}: no mapping of all its layers: {'; '.join(problems)[:400]}")
