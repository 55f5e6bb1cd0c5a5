"""What a run found: how fast code is, how fast it was said to be, how fast it could be, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optmap.answers.proofs.time_floor import TimeFloor
from optmap.base.shown import Shown
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Machine
from optmap.native.code import Code
from optmap.native.run.clocking import Timing
from optmap.native.run.mapped import CodeMapping
from optmap.native.run.verdict import Verdict
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One mapping that was run."""

    mapped: CodeMapping
    code: Code
    verdict: Verdict
    timing: Timing | None
    """Beside the others; None of a wrong one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRun:
    """The mappings of one workload that were run, and the fastest."""

    workload: Workload
    machine: Machine
    tried: tuple[Tried, ...]
    """In the order of the model, the best prediction first."""
    best: int | None
    """Place of the fastest right one among them; None if none is right."""
    timing: Timing | None
    """Of that one, measured anew once it was chosen."""
    first_timing: Timing | None
    """Of the first one, in turns with it; None if that is wrong."""
    floor: TimeFloor | None
    """That no code goes below, proved, as the machine file has peak and bandwidths; None without a core."""

    @property
    def chosen(self) -> Tried:
        """The fastest one; the first if none is right."""
        return self.tried[self.best or 0]

    @property
    def right(self) -> bool:
        """Whether all that was run is right."""
        return not any(each.verdict.wrong for each in self.tried)

    @property
    def seconds(self) -> float | None:
        """Median time of a call."""
        return None if self.timing is None else self.timing.median

    @property
    def predicted_seconds(self) -> float | None:
        """Of the chosen mapping."""
        found = self.chosen.mapped.prediction
        return None if found is None else found.seconds

    @property
    def floor_seconds(self) -> float | None:
        """Of the floor; None without a clock, too."""
        return None if self.floor is None else self.floor.seconds(self.floor.cycles)

    @property
    def peak_gflops(self) -> float | None:
        """Of the threads that the chosen mapping has: multiply-adds per cycle times the clock."""
        core, clock = self.machine.core, self.machine.clock_hz
        if core is None or clock is None:
            return None
        return 2e-9 * core.peak(self.workload.output.bits) * clock * self.chosen.code.threads

    @property
    def peak_seconds(self) -> float | None:
        """Of a call at the peak, operations on padding counted."""
        return None if self.peak_gflops is None else 2e-9 * self.workload.operations / self.peak_gflops

    def gflops(self, timing: Timing | None) -> float | None:
        """Two operations per point of the iteration space, those on padding included, as is usual."""
        return None if timing is None else 2e-9 * self.workload.operations / timing.median

    @property
    def share_of_peak(self) -> float | None:
        """GFLOPS over those of the peak."""
        found, peak = self.gflops(self.timing), self.peak_gflops
        return None if found is None or peak is None else found / peak


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Shown):
    """Workloads that were run on the machine at hand."""

    shown_as: ClassVar[str] = "runs"

    machine: Machine
    """As it was described; of a solution file that is run without another, its own."""
    options: CodeOptions
    threads: int
    layers: tuple[LayerRun, ...]
    compiler: str

    @property
    def wrong(self) -> tuple[str, ...]:
        """Per wrong result what is wrong and where."""
        return tuple(
            each.verdict.explain(layer.workload.title)
            for layer in self.layers
            for each in layer.tried
            if each.verdict.wrong
        )
