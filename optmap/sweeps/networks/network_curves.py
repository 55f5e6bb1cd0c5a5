"""A network over the capacity of one level: what is proved, what mappings move, and where more stops paying."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from optmap.answers.closed_forms.regime_lookup import regime_at
from optmap.answers.closed_forms.regimes import regimes_of
from optmap.answers.over_capacity.curves import MethodCurve, panels
from optmap.answers.over_capacity.networks import NetworkView, network_views
from optmap.answers.over_capacity.sizing import Sizing, sizing
from optmap.base.errors import InputError, LimitError
from optmap.base.names import choose
from optmap.base.share import Share, Tell
from optmap.base.shown import Shown
from optmap.base.texts import several
from optmap.base.values import TimeInput, seconds
from optmap.files.network import Network
from optmap.machines.machine import Machine
from optmap.questions.form import form_on
from optmap.report.closed_forms.regime_texts import regime_name
from optmap.search.methods import METHODS
from optmap.search.papers.bottleneck import MOPT
from optmap.sweeps.engines.engine import Engine
from optmap.sweeps.networks.solving import LATE, check_addable, incomplete, rows_of
from optmap.sweeps.plan import first_grid, points
from optmap.sweeps.reading import read_sweep
from optmap.sweeps.records.manifest import Key
from optmap.sweeps.run import make_engine, run_sweep
from optmap.sweeps.spec import BOUND, Axis, Options, SweepSpec
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Padding, Workload

CLOSE = 1.05
"""A capacity is enough from where the network moves at most this multiple of what no memory can save."""
NARROW = 1.05
"""Quotient of two capacities between which the knee is not looked for any closer."""
STEPS = 8
"""Times that the capacities around the knee are halved, on a logarithmic scale, at most."""
UNKNOWN = "-"
"""Regime of a layer that has no closed form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRegimes:
    """What limits one layer, capacity by capacity."""

    workload: str
    names: tuple[str, ...]
    """Per capacity of the curve the regime of the layer's closed form, or `UNKNOWN`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCurve(Shown):
    """A network over the capacity of one level."""

    shown_as: ClassVar[str] = "network-curve"
    view: NetworkView
    series: MethodCurve
    """The mappings of the whole network."""
    regimes: tuple[LayerRegimes, ...]
    """Per layer, at the capacities of `series`."""
    knee: Sizing
    """Where `CLOSE` times the floor of an unbounded memory is reached, and up to where that is proved impossible."""
    directory: Path | None
    """Where rows, mappings and certificates are; None if they were not kept."""
    limited: bool
    """Whether a layer reached its time limit; its best mapping so far is in the sums."""

    @property
    def floor_words(self) -> int:
        """What the network moves with an unbounded memory, at least: every word once."""
        return self.view.total.compulsory_words


def network_curve(
    layers: Network,
    capacities: tuple[Capacity, ...],
    *,
    machine: Machine | None = None,
    level: str | None = None,
    method: str | None = None,
    tiles: str = "any",
    time_limit: TimeInput = 60.0,
    jobs: int | None = None,
    directory: Path | None = None,
    progress: Tell | None = None,
) -> NetworkCurve:
    """Solve every layer at several capacities of one level, and look for the knee between them.

    Args:
        layers: the network.
        capacities: at least two, in bytes, ascending.
        machine: whose level is varied; None for a two-level machine.
        level: of the machine; None for its outermost.
        method: a mapping method; None for `mopt`.
        tiles: as for `solve`.
        time_limit: seconds per layer and capacity.
        jobs: processes; None for one per core.
        directory: keep rows, mappings and certificates there.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for anything that cannot be accepted; an accelerator, whose mappings no level limits alone.
        InfeasibleError: if a layer fits at no capacity.
        LimitError: if a layer has no mapping when its time is over.
    """
    if machine is not None and not form_on(machine).floors_apart:
        raise InputError(f"--curve is over the capacity of one cache; {machine.name} is an accelerator: leave it out")
    if len(capacities) < 2 or any(size.unit != "bytes" for size in capacities):
        raise InputError("--curve needs two capacities or more, in bytes, such as --memory 16KiB:16MiB")
    check_addable(layers)
    spec = SweepSpec(
        workloads=layers.layers,
        machines=() if machine is None else (machine,),
        capacities=_axis(capacities, level or ""),
        methods=(BOUND, str(choose("method", method or MOPT.name, METHODS))),
        options=Options(time_limit=seconds(time_limit, "time limit (--time-limit)"), tiles=tiles),
        name=layers.name,
    )
    engine = make_engine("local", jobs=jobs)
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder, engine.session():
        work = _Work(layers, directory or Path(folder), engine, progress)
        work.run(spec, 1)
        view = work.view()
        for step in range(STEPS):
            probes = tuple(_between(view))
            if not probes:
                break
            for methods, size in probes:
                axis = _axis((Capacity(amount=size),), level or "")
                work.run(replace(spec, capacities=axis, methods=(BOUND, *methods)), step + 2)
            view = work.view()
        series = view.total.series[0]
        return NetworkCurve(
            view=view,
            series=series,
            regimes=_regimes(layers, series),
            knee=sizing((view.total,), (CLOSE,))[0],
            directory=directory,
            limited=work.limited,
        )


class _Work:
    """The sweeps that one curve is made of, in one directory."""

    def __init__(
        self,
        layers: Network,
        place: Path,
        engine: Engine,
        progress: Tell | None,
    ) -> None:
        self.layers = layers
        self.place = place
        self.engine = engine
        self.progress = progress
        self.asked: set[Key] = set()
        self.limited = False

    def run(self, spec: SweepSpec, step: int) -> None:
        """Answer the points of a spec that are not answered yet; how many steps there will be, the curves say."""
        tell = None
        if self.progress is not None:
            said, where = self.progress, f"step {step} of at most {STEPS + 1}"
            tell = lambda tally: said(f"{where}, {tally.done:,} of {several(tally.points, 'point')}", Share())  # noqa: E731
        run_sweep(spec, self.place, engine=self.engine, progress=tell)
        self.asked |= {point.key for _, _, point in points(spec, first_grid(spec))}

    def view(self) -> NetworkView:
        """The network from all rows so far."""
        mine = rows_of(read_sweep(self.place), self.asked)  # the directory may hold rows of other questions
        if mine.empty:
            raise LimitError(f"{self.layers.name}: no layer has a mapping yet")
        self.limited = bool(mine["stop"].isin(LATE).any())
        try:
            view = network_views(panels(mine), self.layers)[0]
        except InputError as error:
            raise incomplete(self.layers, mine) from error
        if view.missing or not view.total.series or not view.total.series[0].samples:
            raise incomplete(self.layers, mine)
        return view


def _axis(sizes: tuple[Capacity, ...], level: str) -> Axis:
    return Axis(first=sizes[0], last=sizes[-1], level=level, values=sizes)


def _between(view: NetworkView) -> Iterable[tuple[tuple[str, ...], int]]:
    """Capacities that tell where the knee is: (methods beside the bound, bytes), none once it is narrow."""
    knee = sizing((view.total,), (CLOSE,))[0]
    (label,) = {series.label for series in view.total.series}
    if knee.reached_bytes is not None and knee.missed_bytes is not None:
        size = _middle(knee.missed_bytes, knee.reached_bytes)
        if size is not None:
            yield (label,), size
    if knee.refuted_bytes is not None:
        above = min((held for held, _ in view.total.bounds if held > knee.refuted_bytes), default=None)
        size = None if above is None else _middle(knee.refuted_bytes, above)
        if size is not None:
            yield (), size


def _middle(low: int, high: int) -> int | None:
    """The geometric middle of two capacities, None if they are close."""
    return math.isqrt(low * high) if high > NARROW * low and high > low + 1 else None


def _regimes(layers: Network, series: MethodCurve) -> tuple[LayerRegimes, ...]:
    sizes = [sample.capacity_bytes for sample in series.samples]
    return tuple(
        LayerRegimes(workload=layer.title, names=tuple(_regime_names(layer, sizes))) for layer in layers.layers
    )


def _regime_names(layer: Workload, sizes: list[int]) -> Iterable[str]:
    """The regime of a layer at every capacity, as its closed form names it."""
    try:
        found = regimes_of(layer.with_padding(Padding.STORED))
    except (InputError, LimitError):
        return [UNKNOWN] * len(sizes)
    words = [Capacity(amount=size).words(layer.word_bits) for size in sizes]
    return [regime_name(found, found.regimes[regime_at(found, held).regime]) if held else UNKNOWN for held in words]
