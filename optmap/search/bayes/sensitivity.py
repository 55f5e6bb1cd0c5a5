"""Which choices of a mapping matter: Sobol' indices of every axis of the encoding, by SALib (Dinh, section 6.2.5).

The variance of the logarithm of the objective over the unit cube is divided among the axes. With the model each of some
thousand mappings is counted; of an objective that is dear the Gaussian process stands for it, fitted to what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.questions.options import Merit
from optmap.search.bayes.encoding import Encoding, Orders, Tiles, encoding_of
from optmap.search.bayes.surrogate import Surrogate, library
from optmap.search.bayes.transfer import Observations
from optmap.search.explore.judges import model

INDICES = ("S1", "S1_conf", "ST", "ST_conf")
"""SALib's names of them."""
LEAST = 8
"""Fewest samples and observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """What one axis of the encoding does to the objective."""

    axis: str
    """As `Encoding.names`, such as `L1 tile k`."""
    first: float
    """First-order index: the share of the variance that the axis explains alone."""
    first_error: float
    """Half of its 95 % confidence interval."""
    total: float
    """Total index: the share with everything in which the axis takes part."""
    total_error: float
    """Half of its 95 % confidence interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity(Shown):
    """The influence of every axis, the largest total index first."""

    shown_as: ClassVar[str] = "sensitivity"

    fabric: Fabric
    objective: str
    """A key of `MERITS`."""
    influences: tuple[Influence, ...]
    samples: int
    """Base samples of Saltelli's scheme."""
    evaluations: int
    """Mappings that were judged: by the model, or seen by the search whose process stands for the objective."""
    surrogate: bool
    """Whether a Gaussian process stood for the objective."""
    seed: int

    def kind(self, word: str) -> float:
        """Sum of the first-order indices of all axes of a kind: a word such as `tile`, `order` or `keep`."""
        return sum(each.first for each in self.influences if each.axis.split(" ")[-2] == word)


def sensitivity_of(
    fabric: Fabric,
    objective: str,
    *,
    counting: NestPolicy = NEST_EXACT,
    orders: Orders = Orders.KEYS,
    tiles: Tiles = Tiles.FREE,
    samples: int = 512,
    seed: int = 0,
    observations: Observations | None = None,
) -> Sensitivity:
    """Sobol' indices of the axes of the encoding.

    Args:
        fabric: workload and machine.
        objective: of the model, a key of `MERITS`; with observations the name of theirs.
        counting: how the model counts.
        orders: how loop orders are encoded.
        tiles: how tiles are encoded; free ones have choices that filling them leaves out.
        samples: base samples, a power of two; (axes + 2) times as many points are looked at.
        seed: of the samples.
        observations: what a search saw; then a Gaussian process through it stands for the objective.

    Raises:
        InputError: for samples that are no power of two, too few observations, an encoding without axes, or a missing
            library.
    """
    if samples < LEAST or samples & (samples - 1):
        raise InputError(f"samples is {samples}; a power of two, {LEAST} or more, is needed")
    encoding = encoding_of(fabric, counting=counting, orders=orders, tiles=tiles)
    if not encoding.size:
        raise InputError(f"{fabric.workload.title} on {fabric.machine.name} leaves no choice that could matter")
    sampler, analyzer = library("SALib.sample.sobol"), library("SALib.analyze.sobol")
    problem = {"num_vars": encoding.size, "names": list(encoding.names), "bounds": [[0.0, 1.0]] * encoding.size}
    points = np.asarray(sampler.sample(problem, samples, calc_second_order=False, seed=seed), np.float64)
    seen, merit = observations, Merit(objective)
    values = _modelled(encoding, merit, counting, points) if seen is None else _fitted(encoding, seen, points)
    found = dict.fromkeys(INDICES, np.zeros(encoding.size))
    if np.ptp(values) > 0:  # else every mapping costs the same
        # A generator: SALib takes the number 0 for none, and then resamples with NumPy's own generator.
        resampling = np.random.default_rng(seed)
        found = analyzer.analyze(problem, _spread(values), calc_second_order=False, seed=resampling)
    rows = zip(encoding.names, *(found[index] for index in INDICES), strict=True)
    influences = [
        Influence(axis=axis, first=float(a), first_error=float(b), total=float(c), total_error=float(d))
        for axis, a, b, c, d in rows
    ]
    return Sensitivity(
        fabric=fabric,
        objective=objective,
        influences=tuple(sorted(influences, key=lambda each: -each.total)),
        samples=samples,
        evaluations=len(points) if observations is None else len(observations.values),
        surrogate=observations is not None,
        seed=seed,
    )


def _modelled(encoding: Encoding, merit: Merit, counting: NestPolicy, points: Floats) -> Floats:
    """Logarithms of what mappings cost in the model."""
    scores = model(encoding.fabric, merit, counting)(encoding.decode_batch(points))
    return np.asarray(np.log(np.maximum(scores.value, np.finfo(float).tiny)))


def _fitted(encoding: Encoding, observations: Observations, points: Floats) -> Floats:
    """What a process through logarithms that were seen says of points, rounded to mappings."""
    seen = np.isfinite(observations.values) & (observations.values > 0)
    if seen.sum() < LEAST:
        raise InputError(
            f"{int(seen.sum())} observations with a positive value are too few; {LEAST} or more are needed"
        )
    scores = _spread(np.log(observations.values[seen]))
    surrogate = Surrogate.fit(observations.on(encoding)[seen], scores)
    rounded = encoding.encode_batch(encoding.decode_batch(points))
    return np.asarray(surrogate.process.predict(rounded), np.float64)


def _spread(values: Floats) -> Floats:
    """Values of mean 0 and deviation 1; as they are if all are equal."""
    deviation = float(values.std())
    return np.asarray((values - values.mean()) / (deviation if deviation > 0 else 1.0))
