"""Method `exact` on accelerators: the exact search, asked for one question, and for paddings of ragged dims."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optmap.base.errors import CheckError, LimitError
from optmap.count.meshes.batch import evaluate_batch
from optmap.machines.fabric import Fabric
from optmap.questions.options import TileRule
from optmap.search.accelerators.hopeless import no_mapping
from optmap.search.accelerators.paddings import paddings
from optmap.search.accelerators.random_nests import random_nests
from optmap.search.accelerators.wires import answered, searched
from optmap.search.curve import Improvement
from optmap.search.exact.elsewhere import CHANCE, local_search
from optmap.search.exact.search import search_nest
from optmap.search.found import PERFECT, SAME, Found
from optmap.search.question import Question

if TYPE_CHECKING:
    from optmap.search.exact.search import ExactAnswer

TRUST = "its bounds are floating-point numbers, trusted to a relative 1e-9"
"""What a proof by search rests on, in words."""

SAMPLES = 2048
"""Random mappings that are drawn where the search met none in time."""
AT_ONCE = 128
"""Of them, so many are judged between two looks at the clock."""


def solve(question: Question) -> Found:
    """The best mapping, proved; at the time limit the best so far with the bound that is proved then.

    Raises:
        InfeasibleError: if no mapping is valid.
        LimitError: if none was found in time.
    """
    return answered(question, _solved(searched(question)))


def _solved(question: Question) -> Found:
    """The answer to a question of a machine whose wires cost nothing."""
    begun = time.monotonic()
    found = _search(question, question.fabric, float("inf"))
    best = None if found.nest is None else _found(question, found)
    if question.tiles is TileRule.PADDED and (found.proved or found.nest is None) and not question.clock.late:
        best = _padded(question, best, begun)
    if best is None and not question.clock.late:
        raise no_mapping(question)
    best = best or _by_chance(question, found)
    if best is None:
        raise LimitError("no mapping was found in time; raise the time limit")
    return best


def _by_chance(question: Question, ended: ExactAnswer) -> Found | None:
    """The best of some random mappings, where the time was over before the search met any; None if none is valid."""
    batch = random_nests(question.fabric, SAMPLES, np.random.default_rng(CHANCE))
    best: tuple[float, int] | None = None
    ending, judged, slow = question.clock.ending(), 0, 0
    while judged < SAMPLES and not (slow and ending.late):
        cost = evaluate_batch(batch[judged : judged + AT_ONCE], question.fabric, question.counting)
        valid = np.flatnonzero(cost.valid)
        if len(valid):
            merits = cost.merit(question.merit)[valid]
            least = (float(merits.min()), judged + int(valid[merits.argmin()]))
            best = least if best is None else min(best, least)
        judged += AT_ONCE
        slow += cost.recounted  # numbers beyond floats, one by one
    if best is None:
        return None
    return Found(
        mapping=batch.nest(best[1]),
        bound=ended.bound,
        proof=f"search over labels, {len(ended.passes)} passes: {ended.reason}; {TRUST}",
        evaluations=ended.evaluations + judged,
        late=True,
        space=PERFECT,
        notes=(f"the search met no mapping in time; this is the best of {judged:,} random ones",),
    )


def _search(question: Question, fabric: Fabric, below: float) -> ExactAnswer:
    """Mappings of a fabric that are better than a value."""
    found = search_nest(
        fabric,
        merit=question.merit,
        counting=question.counting,
        clock=question.clock,
        progress=question.tell,
        elsewhere=local_search(fabric, question),
        below=below,
    )
    return _confirmed(question, fabric, found) if question.confirm and _ended(found, below) else found


def _ended(found: ExactAnswer, below: float) -> bool:
    """Whether a search showed that nothing is better than what it found, or than its limit."""
    return found.proved or found.bound >= below * (1 - SAME)


def _confirmed(question: Question, fabric: Fabric, found: ExactAnswer) -> ExactAnswer:
    """The same, after a second search for anything better, in which no label stands for another.

    It shares costs and bounds with the first; what it does without is the dominance between labels, the order of passes
    and the incumbent.

    Raises:
        CheckError: if it finds something better.
    """
    second = search_nest(
        fabric,
        merit=question.merit,
        counting=question.counting,
        clock=question.clock,
        below=found.value * (1 - SAME),
        dominance=False,
    )
    if second.nest is not None:
        raise CheckError(
            f"the search proved {found.value:.12g}, a second one without dominance found {second.value:.12g}"
        )
    done = second.bound >= found.value * (1 - 2 * SAME)
    text = "confirmed by a second search, without dominance" if done else "the time was over for a second search"
    return replace(found, reason=f"{found.reason}, {text}", evaluations=found.evaluations + second.evaluations)


def _found(question: Question, found: ExactAnswer) -> Found | None:
    """What the search of perfect factors hands in."""
    if found.nest is None:
        return None
    return Found(
        mapping=found.nest,
        claimed=found.value,
        bound=found.bound,
        proved=found.proved,
        proof=f"search over labels, {len(found.passes)} passes: {found.reason}; {TRUST}",
        evaluations=found.evaluations,
        late=question.clock.late and not found.proved,
        space=PERFECT,
        curve=found.curve,
    )


def _padded(question: Question, best: Found | None, begun: float) -> Found | None:
    """The best with paddings of ragged dims, too; each is searched for what is better than all before.

    A padding whose search the clock ends is in the answer, but not in the space that it is proved the best of.
    """
    workload, looked = question.workload, []
    for sizes in paddings(workload.extents, question.constraints):
        fabric = replace(question, workload=workload.with_extents(**sizes)).fabric
        value = float("inf") if best is None or best.claimed is None else float(best.claimed)
        passed = time.monotonic() - begun
        found = _search(question, fabric, value)
        ended = _ended(found, value)
        before = 0 if best is None else best.evaluations
        evaluations = before + found.evaluations
        better = _found(question, found)
        if better is not None:
            later = tuple(Improvement(before + p.evaluations, passed + p.seconds, p.value) for p in better.curve)
            curve = later if best is None else best.curve + later
            best = replace(better, proved=ended, late=not ended, evaluations=evaluations, curve=curve)
        elif best is not None:
            best = replace(best, evaluations=evaluations)
        if not ended:
            break
        looked.append(", ".join(f"{dim}={size}" for dim, size in sizes.items()))
    if best is None or not looked:
        return best
    return replace(best, space=f"{PERFECT}; as asked for, and padded to {' or '.join(looked)}")
