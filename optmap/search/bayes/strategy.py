"""Method `bayesian`: a Gaussian process of what mappings cost chooses those that are judged next (Dinh, 6.2).

It is for objectives of which every evaluation is dear: a simulator, measured hardware. First come Sobol' points (with
`transfer` what other searches make likely), then batches: a pool of random points and of variations of the best ones is
rounded to mappings, and those of the largest acquisition are judged, each chosen as if the ones before were known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.search.bayes.encoding import Encoding, Orders, Tiles, encoding_of
from optmap.search.bayes.surrogate import Acquisition, Surrogate, acquisition, library, normal_scores
from optmap.search.bayes.transfer import FEW, Ensemble, Observations, ensemble, load_observations, surrogates
from optmap.search.explore.protocol import Brief, Proposals, Strategy
from optmap.search.explore.settings import setting

EVALUATIONS = 200
"""Mappings that are judged where no budget is given."""
POOL = 512
"""Random points in a pool; twice as many are variations of the best."""
PARENTS = 8
"""Points that are varied."""
SHORT = 256
"""Points of a pool among which a batch is chosen, those of the largest acquisition."""
GROWTH = 1.5
"""By how much the points must have grown before the numbers of the kernel are found again."""
PATIENCE = 5
"""Pools in a row without anything new, after which nothing is left to propose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesianSettings:
    """How the Bayesian search goes."""

    starts: int = setting(20, "Sobol' points before the first model; with transfer half a batch")
    batch: int = setting(10, "mappings that are judged together")
    acquisition: str = setting("ei", "ei: expected improvement; ucb: upper confidence bound")
    orders: str = setting("keys", "loop orders by keys of dims, or by reuse: keys of tensors, fewer axes")
    tiles: str = setting("filled", "tiles scaled to fill their memories, or free: of any size")
    transfer: str = setting("", "files that earlier searches saved, with commas between")
    save: str = setting("", "file for the points and their values, for transfer; written after every batch")


@dataclass(slots=True, kw_only=True, eq=False)
class _Seen:
    """What a search has seen."""

    encoding: Encoding
    points: Floats
    """Rounded."""
    values: Floats
    sources: list[Surrogate]
    elders: Floats
    """(points, axes): the best points of the sources."""
    kernel: object = None
    fitted: int = 0
    """Points with which the kernel's numbers were found."""

    def model(self, rng: np.random.Generator) -> Ensemble:
        """The processes as of now."""
        own = None
        if len(self.values) >= FEW or not self.sources:
            again = len(self.values) >= GROWTH * self.fitted
            own = Surrogate.fit(self.points, normal_scores(self.values), None if again else self.kernel)
            if again:
                self.kernel, self.fitted = own.kernel, len(self.values)
        return ensemble(self.sources, own, rng)

    def parents(self) -> Floats:
        """Points that are worth to be varied."""
        best = self.points[self.values.argsort(kind="stable")[:PARENTS]]
        return best if len(best) == PARENTS else np.concatenate([best, self.elders])[:PARENTS]

    def new(self, points: Floats) -> Floats:
        """Points rounded to mappings that were not judged yet, each once."""
        rounded = self.encoding.encode_batch(self.encoding.decode_batch(points))
        seen = {row.tobytes() for row in np.round(self.points, 9)}
        kept = []
        for row, key in zip(rounded, np.round(rounded, 9), strict=True):
            if key.tobytes() not in seen:
                seen.add(key.tobytes())
                kept.append(row)
        return np.array(kept).reshape(len(kept), self.encoding.size)


def propose(brief: Brief[BayesianSettings]) -> Proposals:
    """Starts, then batches, until the budget is spent or nothing new is met."""
    settings, rng = brief.settings, brief.rng
    kind = Acquisition(choose("acquisition of bayesian", settings.acquisition, list(Acquisition)))
    for name, least in (("starts", 2), ("batch", 1)):
        if getattr(settings, name) < least:
            raise InputError(f"--set {name}={getattr(settings, name)}: give {least} or more")
    for module in ("sklearn.gaussian_process", "bayes_opt.acquisition"):
        library(module)
    state = _begun(brief)
    total = EVALUATIONS if brief.evaluations is None else brief.evaluations
    starts = max(2, settings.batch // 2) if state.sources else settings.starts
    chosen = state.new(sobol(state.encoding.size, starts, rng)) if not state.sources else _first(state, starts, rng)
    idle = 0
    while len(state.values) < total and idle < PATIENCE:
        if len(chosen):
            scores = yield state.encoding.decode_batch(chosen)
            state.points = np.concatenate([state.points, chosen[: len(scores.value)]])
            state.values = np.concatenate([state.values, scores.value])
            _save(brief, state)
        idle = 0 if len(chosen) else idle + 1
        chosen = _batch(state, kind, settings.batch, rng)
        if brief.evaluations is None:
            chosen = chosen[: total - len(state.values)]
    return None


def _begun(brief: Brief[BayesianSettings]) -> _Seen:
    """The encoding, and what other searches saw."""
    orders = Orders(choose("orders of bayesian", brief.settings.orders, list(Orders)))
    tiles = Tiles(choose("tiles of bayesian", brief.settings.tiles, list(Tiles)))
    encoding = encoding_of(brief.fabric, counting=brief.counting, orders=orders, tiles=tiles)
    loaded = [load_observations(name.strip()) for name in brief.settings.transfer.split(",") if name.strip()]
    elders = [each.on(encoding)[each.values.argsort(kind="stable")[:PARENTS]] for each in loaded]
    turns = [group[row] for row in range(PARENTS) for group in elders if row < len(group)]
    return _Seen(
        encoding=encoding,
        points=np.empty((0, encoding.size)),
        values=np.empty(0),
        sources=surrogates(loaded, encoding),
        elders=np.array(turns).reshape(len(turns), encoding.size),
    )


def sobol(axes: int, count: int, rng: np.random.Generator) -> Floats:
    """(count, axes): scrambled Sobol' points; of no axis, one point."""
    from scipy.stats import qmc

    if not axes:
        return np.empty((1, 0))
    power = max(0, (count - 1).bit_length())
    return np.asarray(qmc.Sobol(axes, rng=rng).random_base2(power)[:count], np.float64)


def _first(state: _Seen, count: int, rng: np.random.Generator) -> Floats:
    """What the sources make likely, optimistically."""
    return _batch(state, Acquisition.UCB, count, rng)


def _batch(state: _Seen, kind: Acquisition, count: int, rng: np.random.Generator) -> Floats:
    """(count or fewer, axes): the next points to be judged."""
    if count < 1:
        return np.empty((0, state.encoding.size))
    pool = state.new(np.concatenate([rng.random((POOL, state.encoding.size)), varied(state.parents(), 2 * POOL, rng)]))
    if len(pool) <= count:
        return pool
    model = state.model(rng)
    best = model.predict(state.points)[0].max() if len(state.points) else 0.0
    worth = acquisition(kind, float(best))
    pool = pool[(-worth(*model.predict(pool))).argsort(kind="stable")[:SHORT]]
    chosen: list[int] = []
    while len(chosen) < min(count, len(pool)):
        mean, deviation = model.predict(pool)
        gains = worth(mean, deviation)
        gains[chosen] = -np.inf
        chosen.append(int(gains.argmax()))
        model = model.believing(pool[chosen[-1]], float(mean[chosen[-1]]))
    return pool[chosen]


def varied(parents: Floats, count: int, rng: np.random.Generator) -> Floats:
    """(count, axes): points that differ from some good ones in a few axes, or mix two of them."""
    axes = parents.shape[1]
    if not len(parents) or not axes:
        return np.empty((0, axes))
    start = parents[rng.integers(0, len(parents), count)]
    other = parents[rng.integers(0, len(parents), count)]
    few = rng.random(start.shape) < rng.choice([1.0, 2.0, 4.0, 8.0], size=(count, 1)) / axes
    near = np.clip(start + 0.2 * rng.standard_normal(start.shape), 0.0, 1.0)
    moved = np.where(few, np.where(rng.random(start.shape) < 0.5, rng.random(start.shape), near), start)
    mixed = (rng.random((count, 1)) < 0.25) & (rng.random(start.shape) < 0.3)
    return np.where(mixed, other, moved)


def _save(brief: Brief[BayesianSettings], state: _Seen) -> None:
    if brief.settings.save:
        observations_of(state.encoding, state.points, state.values, brief.merit.value).save(brief.settings.save)


def observations_of(encoding: Encoding, points: Floats, values: Floats, objective: str = "") -> Observations:
    """Judged points of an encoding, to be saved or handed on.

    Args:
        encoding: whose.
        points: (points, axes).
        values: (points,), what was minimised; infinite where not valid.
        objective: its name.
    """
    return Observations(
        axes=encoding.names,
        points=points,
        values=values,
        workload=encoding.fabric.workload.title,
        machine=encoding.fabric.machine.name,
        objective=objective,
    )


STRATEGY = Strategy(
    propose=propose,
    settings=BayesianSettings,
    space="perfect factors of every dim whose tiles and meshes are filled, with the loop orders that points stand for",
)
