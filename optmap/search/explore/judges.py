"""What tells the scores of nests: the model that counts words, or any function of a mapping."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan
from numbers import Real

import numpy as np

from optmap.base.errors import OptmapError, StrategyError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import mapping_of
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search.explore.protocol import Scores

Judge = Callable[[NestBatch], Scores]
"""What tells the scores of nests."""
Objective = Callable[[Mapping], float | None]
"""Of a valid mapping: what is minimised, a simulator or measured hardware; None or infinite if it does not run."""


def model(fabric: Fabric, merit: Merit, counting: NestPolicy) -> Judge:
    """The judge that counts words, with the batched evaluator."""

    def judge(batch: NestBatch) -> Scores:
        cost = evaluate_batch(batch, fabric, counting)
        value = np.where(cost.valid, cost.merit(merit), np.inf)
        return Scores(valid=cost.valid, value=value, energy_pj=cost.energy_pj, cycles=cost.cycles)

    return judge


def judged_by(objective: Objective, fabric: Fabric, counting: NestPolicy) -> Judge:
    """The judge that asks a function of the user's, of every mapping that the machine can run.

    Energy and cycles are those of the model.

    Args:
        objective: of a mapping.
        fabric: the machine as the workload sees it.
        counting: how the model counts.
    """

    def judge(batch: NestBatch) -> Scores:
        cost = evaluate_batch(batch, fabric, counting)
        value = np.full(len(batch), np.inf)
        for row in np.flatnonzero(cost.valid):
            value[row] = _asked(objective, mapping_of(batch.nest(int(row)), fabric))
        return Scores(valid=np.isfinite(value), value=value, energy_pj=cost.energy_pj, cycles=cost.cycles)

    return judge


def _asked(objective: Objective, mapping: Mapping) -> float:
    try:
        found = objective(mapping)
    except OptmapError:
        raise
    except Exception as error:
        raise StrategyError(f"the judge raised {type(error).__name__}: {error}") from error
    if found is None:
        return inf
    if not isinstance(found, Real) or isnan(found) or found == -inf:
        raise StrategyError(f"the judge returned {found!r}; return a number, or None for a mapping that does not run")
    return float(found)


def sound(scores: Scores, batch: NestBatch) -> Scores:
    """Scores of a batch, infinite where not valid.

    Raises:
        StrategyError: for more or fewer than nests, or a valid one without a value.
    """
    lengths = {len(part) for part in (scores.valid, scores.value, scores.energy_pj, scores.cycles)}
    if lengths != {len(batch)}:
        raise StrategyError(f"the judge told {sorted(lengths)} scores of {len(batch)} nests; tell one of each")
    if not np.isfinite(scores.value[scores.valid]).all():
        raise StrategyError("the judge told a valid nest that has no finite value; say that it is not valid")
    value = np.where(scores.valid, scores.value, np.inf)
    return Scores(valid=scores.valid, value=value, energy_pj=scores.energy_pj, cycles=scores.cycles)
