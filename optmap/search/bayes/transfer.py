"""What other searches saw, for a new one: a file of points and costs, and an ensemble of their processes.

The ensemble weighs processes by how well they rank what the new search has seen (RGPE: M. Feurer, B. Letham, F. Hutter
and E. Bakshy, "Practical transfer learning for Bayesian optimization", 2018): a source that misleads loses its weight,
so that workloads and machines need not be alike. Axes are matched by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.base.writing import to_json, write_text
from optmap.files.fields import Fields
from optmap.files.reading import read_json
from optmap.search.bayes.encoding import Encoding
from optmap.search.bayes.surrogate import Surrogate, normal_scores

SCHEMA = "optmap.bayes-observations/1"
"""Of the file: `axes` (names), `points` (lists of numbers from 0 to 1), `values` (null where not valid), and
`workload`, `machine` and `objective` for the reader."""
SAMPLES = 64
"""Draws by which the processes of an ensemble are compared."""
FEW = 5
"""Points of its own with which a search takes part in its ensemble."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """Points that were judged."""

    axes: tuple[str, ...]
    """Names, as `Encoding.names`."""
    points: Floats
    """(points, axes)."""
    values: Floats
    """(points,): what was minimised; infinite where not valid."""
    workload: str = ""
    machine: str = ""
    objective: str = ""

    def renamed(self, names: Mapping[str, str]) -> Observations:
        """The same with other names of memories, dims and tensors: `{"L1": "RegisterFile"}`."""
        axes = tuple(" ".join(names.get(word, word) for word in axis.split(" ")) for axis in self.axes)
        return replace(self, axes=axes)

    def on(self, encoding: Encoding) -> Floats:
        """(points, axes of the encoding): the points there; in the middle of axes that they have not.

        Raises:
            InputError: if they have less than half of the axes.
        """
        shared = [(place, self.axes.index(name)) for place, name in enumerate(encoding.names) if name in self.axes]
        if 2 * len(shared) < encoding.size:
            raise InputError(
                f"of the {encoding.size} axes of {encoding.fabric.workload.title} on {encoding.fabric.machine.name} "
                f"{self.workload or 'another search'} on {self.machine or 'its machine'} has {len(shared)}; transfer "
                "between machines with the same memories and workloads with the same dims, or rename "
                "(optmap.search.Observations.renamed)"
            )
        found = np.full((len(self.points), encoding.size), 0.5)
        for place, own in shared:
            found[:, place] = self.points[:, own]
        return found

    def save(self, path: str | Path) -> None:
        """Write them to a file; raises InputError if it cannot be written."""
        document = {
            "schema": SCHEMA,
            "workload": self.workload,
            "machine": self.machine,
            "objective": self.objective,
            "axes": list(self.axes),
            "points": [[round(float(x), 12) for x in row] for row in self.points],
            "values": [float(value) if np.isfinite(value) else None for value in self.values],
        }
        write_text(Path(path), to_json(document))


def load_observations(path: str | Path) -> Observations:
    """Points from a file.

    Raises:
        InputError: for a file that is none of them.
    """
    fields = read_json(Path(path))
    if fields.text("schema", "") != SCHEMA:
        raise InputError(f"{path}: this is no {SCHEMA}, which `--set save=FILE` of method bayesian writes")
    fields.allow("schema", "workload", "machine", "objective", "axes", "points", "values")
    axes = fields.texts("axes")
    values = [np.inf if value is None else value for value in _list(fields, "values")]
    try:
        points = np.array(_list(fields, "points"), np.float64).reshape(len(values), len(axes))
        costs = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: points must be lists of as many numbers as axes, one with each value") from error
    if not bool(((points >= 0) & (points <= 1)).all()) or np.isnan(costs).any() or not len(costs):
        raise InputError(f"{path}: points must be one or more, of numbers from 0 to 1, and values numbers")
    texts = {key: fields.text(key, "") for key in ("workload", "machine", "objective")}
    return Observations(axes=axes, points=points, values=costs, **texts)


def _list(fields: Fields, key: str) -> list[object]:
    value = fields.get(key)
    if not isinstance(value, list):
        raise InputError(f"{fields.at(key)} must be a list")
    return value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ensemble:
    """Processes of several searches, the new one last; alone if there are no others."""

    members: tuple[Surrogate, ...]
    weights: Floats
    """(members,), of sum 1."""

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the scores at points (points, axes)."""
        used = [
            (weight, member.predict(points))
            for weight, member in zip(self.weights, self.members, strict=True)
            if weight
        ]
        mean = sum((weight * mean for weight, (mean, _) in used), np.zeros(len(points)))
        variance = sum((weight**2 * deviation**2 for weight, (_, deviation) in used), np.zeros(len(points)))
        return mean, np.sqrt(variance)

    def believing(self, point: Floats, score: float) -> Ensemble:
        """The same with one more point, as if its score were known, in every process that counts."""
        members = tuple(
            member.believing(point, score) if weight else member
            for weight, member in zip(self.weights, self.members, strict=True)
        )
        return Ensemble(members=members, weights=self.weights)


def ensemble(sources: Sequence[Surrogate], own: Surrogate | None, rng: np.random.Generator) -> Ensemble:
    """Processes weighed by how often they rank the points of the new search best.

    Args:
        sources: of other searches.
        own: of the new one; None as long as it has seen little.
        rng: for draws from the processes.
    """
    if own is None:
        return Ensemble(members=tuple(sources), weights=np.full(len(sources), 1 / len(sources)))
    members = (*sources, own)
    if not sources:
        return Ensemble(members=members, weights=np.ones(1))
    predicted = [*(member.predict(own.points) for member in sources), own.left_out()]
    losses = np.stack([_losses(mean, deviation, own.scores, rng) for mean, deviation in predicted])
    best = losses == losses.min(axis=0)
    return Ensemble(members=members, weights=(best / best.sum(axis=0)).mean(axis=1))


def _losses(mean: Floats, deviation: Floats, scores: Floats, rng: np.random.Generator) -> Floats:
    """(SAMPLES,): pairs of points that draws from a process rank otherwise than they are."""
    drawn = mean + deviation * rng.standard_normal((SAMPLES, len(mean)))
    above = scores[:, None] > scores
    return np.asarray((above & (drawn[:, :, None] <= drawn[:, None, :])).sum(axis=(1, 2)), np.float64)


def surrogates(sources: Sequence[Observations], encoding: Encoding) -> list[Surrogate]:
    """A process per search, on the axes of an encoding; raises what `Observations.on` does."""
    return [Surrogate.fit(source.on(encoding), normal_scores(source.values)) for source in sources]
