"""Method `random`: valid-by-construction mappings drawn evenly, until none of the last ones was better."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.search.accelerators.random_nests import random_nests
from optmap.search.explore.protocol import Proposals, Question, Strategy

BATCH = 512
"""Nests that are drawn together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSettings:
    """When a random search gives up."""

    victory: int = 500
    """Valid mappings in a row that are not better than the best, after which it ends (Timeloop's victory condition); 0
    for never."""


def propose(question: Question[RandomSettings]) -> Proposals:
    """Random mappings, for ever or until victory."""
    best, idle = float("inf"), 0
    while True:
        scores = yield random_nests(question.fabric, BATCH, question.rng)
        for value in scores.value[scores.valid]:
            idle = 0 if value < best else idle + 1
            best = min(best, value)
            if question.settings.victory and idle >= question.settings.victory:
                return None


STRATEGY = Strategy(propose=propose, settings=RandomSettings)
