"""Gaussian processes of what points of an encoding cost: scikit-learn's, with bayesian-optimization's acquisitions.

Costs span orders of magnitude and are far from normal, so that a process is fitted to their normal scores: the
quantiles of their ranks, the cheapest the largest. One length for all axes: with fewer points than a length per axis
would need, that one is found better and a hundred times faster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.base.extras import install

PACKAGES = {"sklearn": "scikit-learn", "bayes_opt": "bayesian-optimization", "SALib": "SALib"}
"""What modules are installed as."""
FLOOR = 1e-9
"""Least standard deviation."""


class Acquisition(StrEnum):
    """What is worth to be judged next."""

    EI = "ei"
    """The largest expected improvement."""
    UCB = "ucb"
    """The largest mean with standard deviations added: optimism."""


def library(name: str) -> Any:
    """A module of the extra.

    Raises:
        InputError: if it is not installed.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        package = PACKAGES[name.split(".", maxsplit=1)[0]]
        raise InputError(
            f"Bayesian searches and sensitivities need {package}, which is not installed; run: {install(package)}"
        ) from error


def normal_scores(values: Floats) -> Floats:
    """Normal quantiles of the ranks, the least value the largest; equal and infinite values have one rank.

    Args:
        values: (points,), what is minimised.
    """
    from scipy.stats import norm, rankdata

    ranks = rankdata(-np.where(np.isfinite(values), values, np.inf), method="average")
    return np.asarray(norm.ppf((ranks - 0.5) / len(values)), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surrogate:
    """A Gaussian process of normal scores."""

    process: Any
    """scikit-learn's."""
    points: Floats
    scores: Floats

    @classmethod
    def fit(cls, points: Floats, scores: Floats, kernel: Any = None) -> Surrogate:
        """A process through points.

        Args:
            points: (points, axes).
            scores: (points,), the larger the better.
            kernel: with its numbers, as an earlier fit found them; None to find them.
        """
        processes = library("sklearn.gaussian_process")
        first = kernel is None
        process = processes.GaussianProcessRegressor(
            _kernel() if first else kernel, optimizer="fmin_l_bfgs_b" if first else None, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers at the end of their range, and few points
            process.fit(points, scores)
        return cls(process=process, points=points, scores=scores)

    @property
    def kernel(self) -> Any:
        """With the numbers that were found."""
        return self.process.kernel_

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the scores at points (points, axes)."""
        if not len(points):
            return np.empty(0), np.empty(0)
        mean, deviation = self.process.predict(points, return_std=True)
        return np.asarray(mean), np.maximum(deviation, FLOOR)

    def believing(self, point: Floats, score: float) -> Surrogate:
        """The same with one more point, as if its score were known: how a batch is chosen one by one."""
        return Surrogate.fit(np.vstack([self.points, point]), np.append(self.scores, score), self.kernel)

    def left_out(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the score of each point, as the others predict it."""
        from scipy.linalg import cho_solve

        inverse = cho_solve((self.process.L_, True), np.eye(len(self.points)))
        spread = 1 / np.diag(inverse)
        return self.scores - np.asarray(self.process.alpha_) * spread, np.sqrt(np.maximum(spread, FLOOR**2))


def _kernel() -> Any:
    kernels = library("sklearn.gaussian_process.kernels")
    smooth = kernels.ConstantKernel(1.0, (1e-2, 1e2)) * kernels.Matern(1.5, (0.05, 50.0), nu=2.5)
    return smooth + kernels.WhiteKernel(1e-3, (1e-6, 1e-1))


def acquisition(kind: Acquisition, best: float) -> Callable[[Floats, Floats], Floats]:
    """What points are worth, by mean and standard deviation of their scores.

    Args:
        kind: which one.
        best: the largest score so far.
    """
    acquisitions = library("bayes_opt.acquisition")
    if kind is Acquisition.UCB:
        return _of(acquisitions.UpperConfidenceBound(kappa=1.0))
    improvement = acquisitions.ExpectedImprovement(xi=0.0)
    improvement.y_max = best
    return _of(improvement)


def _of(function: Any) -> Callable[[Floats, Floats], Floats]:
    def worth(mean: Floats, deviation: Floats) -> Floats:
        return np.asarray(function.base_acq(mean, deviation), np.float64)

    return worth
