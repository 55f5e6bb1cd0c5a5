"""What a comparison with libraries found: samples per way, ratios per layer, means per network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.count.timing.results import Caches
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.kernels.kernel_roles import KernelKind, kernel_roles
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.bench.statistics import Ratio, geometric_mean, order, paired_ratio
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySamples:
    """Samples of one way."""

    library: str
    variant: str
    """Which of its ways; of ours the number of the candidate, 1 being the model's first."""
    samples: tuple[float, ...]
    """Seconds per call, one per round; the same rounds for all ways of a layer."""

    @property
    def shortest(self) -> float:
        """The shortest sample."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The median sample."""
        return median(self.samples)


@dataclass(frozen=True, kw_only=True)
class LayerBench:
    """One layer, with one number of threads and one state of the caches."""

    workload: Workload
    threads: int
    caches: Caches
    kernel: KernelKind
    """What runs innermost in the code of ours that is reported."""
    mapping: Mapping
    """Of ours that is reported."""
    options: CodeOptions
    """Of ours that is reported."""
    tried: int
    """Candidates of ours among which it was chosen, by samples of their own."""
    number: int
    """Which of them it is in the order of the model, all layouts together: 1 is the model's first."""
    ours: WaySamples
    first: WaySamples
    """The model's first candidate; the samples of `ours` where that is the one."""
    streaming: WaySamples | None
    """The chosen candidate with stores past the caches; None if it has no such stores."""
    theirs: tuple[WaySamples, ...]
    """The way of every library that was its fastest, by samples of their own."""
    ways: dict[str, int]
    """Per library, among how many ways it was chosen."""
    left_out: dict[str, str]
    """Per library or way that is not there, why."""
    peak: WaySamples
    """Multiply-adds on registers alone, of one core, in the same rounds."""
    peak_operations: int
    """Multiply-adds in the time of a sample of `peak`, on elements of the workload's size."""
    predicted: float | None
    """Seconds that the model predicts for `ours`; None without a clock."""
    floor: float | None
    """Seconds that no code goes below, proved, as the machine file has peak and bandwidths; None without a clock."""

    @property
    def layout(self) -> ActivationLayout:
        """Of activations in ours that is reported."""
        return self.options.layout

    def gigaflops(self, way: WaySamples) -> float:
        """Of the median sample: two operations per multiply-add, those on padding counted as everybody does."""
        return 2 * self.workload.operations / way.median / 1e9

    @cached_property
    def best(self) -> WaySamples | None:
        """The library that is faster on this layer."""
        return self.theirs[order([each.samples for each in self.theirs])[0]] if self.theirs else None

    @cached_property
    def ratio(self) -> Ratio | None:
        """Of the faster library over ours; None if no library computes it."""
        return None if self.best is None else paired_ratio(self.ours.samples, self.best.samples)

    @cached_property
    def first_ratio(self) -> Ratio | None:
        """The same of the model's first candidate."""
        return None if self.best is None else paired_ratio(self.first.samples, self.best.samples)

    @cached_property
    def streaming_ratio(self) -> Ratio | None:
        """The same with stores past the caches."""
        if self.best is None or self.streaming is None:
            return None
        return paired_ratio(self.streaming.samples, self.best.samples)

    @cached_property
    def share(self) -> float:
        """Of the peak of as many cores as threads: the median over rounds."""
        whole = self.peak_operations * self.threads / self.workload.operations
        return paired_ratio(self.ours.samples, self.peak.samples).median / whole

    @property
    def peak_gigaflops(self) -> float:
        """Of as many cores as threads, from the median sample."""
        return 2 * self.peak_operations * self.threads / self.peak.median / 1e9

    @cached_property
    def kind(self) -> KernelKind:
        """What the workload is to a microkernel, whether the code has one or not."""
        roles = kernel_roles(self.workload)
        return KernelKind.PLAIN if roles is None else roles.kind

    @property
    def network(self) -> str:
        """What stands before the layer's name in the library; empty of a statement."""
        name, slash, _ = self.workload.title.partition("/")
        return name if slash else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchMean:
    """Geometric means over layers with the same threads and caches."""

    layers: str
    """Whose: a network, `dense`, `depthwise` or `all`."""
    threads: int
    caches: Caches
    count: int
    ratio: float
    """Of the faster library over ours, from medians of the ratios of rounds, as all but `minima`."""
    minima: float
    """The same from shortest samples."""
    first: float
    """Of the faster library over the model's first candidate."""
    streaming: float | None
    """With stores past the caches; None unless every layer has such."""
    least: float
    """Smallest ratio."""
    libraries: dict[str, float]
    """Per library that computes all of the layers, its ratio to ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a measurement is worth nothing without."""

    processor: str
    processors: int
    """That the process may use."""
    cores: int
    """Of these processors, by the system's tables: siblings share the units of a core."""
    compiler: str
    libraries: dict[str, str]
    """Per library its version."""
    absent: dict[str, str]
    """Per library that was asked for and is not there, what to do."""


@dataclass(frozen=True, kw_only=True)
class Bench(Shown):
    """Emitted code beside libraries, layer by layer."""

    shown_as: ClassVar[str] = "bench"

    machine: Machine
    layouts: tuple[ActivationLayout, ...]
    """In which ours was tried."""
    rounds: int
    candidates: int
    """Of every layout, at most."""
    seed: int
    surroundings: Surroundings
    layers: tuple[LayerBench, ...]
    given: tuple[str, ...] = ()
    """Titles of the workloads whose candidates are solutions that were given."""

    @cached_property
    def groups(self) -> dict[tuple[int, Caches], list[LayerBench]]:
        """Layers per threads and caches, in their order."""
        found: dict[tuple[int, Caches], list[LayerBench]] = {}
        for layer in self.layers:
            found.setdefault((layer.threads, layer.caches), []).append(layer)
        return found

    @cached_property
    def means(self) -> tuple[BenchMean, ...]:
        """Per threads and caches: every network, dense and depthwise layers, and all."""
        found = []
        for alike in self.groups.values():
            compared = [layer for layer in alike if layer.ratio is not None]
            groups = {name: [x for x in compared if x.network == name] for name in _networks(compared)}
            groups["dense"] = [layer for layer in compared if layer.kind is KernelKind.OUTER_PRODUCT]
            groups["depthwise"] = [layer for layer in compared if layer.kind is KernelKind.DEPTHWISE]
            groups["all"] = compared
            found += [_mean(name, group) for name, group in groups.items() if group]
        return tuple(found)


def _networks(layers: list[LayerBench]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(layer.network for layer in layers if layer.network))


def _mean(name: str, layers: list[LayerBench]) -> BenchMean:
    ratios = [layer.ratio for layer in layers if layer.ratio is not None]
    streaming = [layer.streaming_ratio.median for layer in layers if layer.streaming_ratio is not None]
    libraries = set.intersection(*({each.library for each in layer.theirs} for layer in layers))
    return BenchMean(
        layers=name,
        threads=layers[0].threads,
        caches=layers[0].caches,
        count=len(layers),
        ratio=geometric_mean([ratio.median for ratio in ratios]),
        minima=geometric_mean([ratio.minima for ratio in ratios]),
        first=geometric_mean([layer.first_ratio.median for layer in layers if layer.first_ratio is not None]),
        streaming=geometric_mean(streaming) if len(streaming) == len(layers) else None,
        least=min(ratio.median for ratio in ratios),
        libraries={each: geometric_mean([_over(layer, each) for layer in layers]) for each in sorted(libraries)},
    )


def _over(layer: LayerBench, library: str) -> float:
    """How many times longer a library takes than ours."""
    theirs = next(each for each in layer.theirs if each.library == library)
    return paired_ratio(layer.ours.samples, theirs.samples).median
