"""Proofs of relaxation and integer bound for the independent checker (`solve --certificate full`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from optmap.answers.documents.solution import solution_document
from optmap.answers.proofs.refuting import Proving
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.base.texts import ratio_text
from optmap.checker import RefusedError
from optmap.checker.core.nest import TiledNest
from optmap.checker.core.statement import StatedWork
from optmap.checker.core.units import rate_of
from optmap.checker.cover.cover import model_of
from optmap.kernels.microkernel import microkernel_tile
from optmap.programs.geometric import TileSpace
from optmap.search.result import TileAnswer

BELOW = Fraction(3, 10**7)
"""How far below the optimum that was found a relaxation is claimed, so that it can be proved."""
SAME = 1e-9
"""Relative distance at which an integer bound is that of the relaxation."""
TOLD = 1e-6
"""How far below what was solved a number is proved without a note."""
MOST_STEPS = 5000
"""Steps of a proof at most: some hundred thousand characters."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A document without proof, and what its rows are about."""

    document: dict[str, Any]
    nest: TiledNest
    rates: list[Fraction]
    clock: Clock

    def prove(self, levels: list[int], value: Fraction, *, whole: bool) -> dict[str, Any]:
        """A claim that some levels cost at least a value, lowered where real sizes allow less.

        Raises:
            LimitError: if no proof was found.
            RefusedError: if the workload has none.
        """
        model = model_of(self.document, self.nest, self.rates, whole=whole)
        proving = Proving(model, levels, value, whole, MOST_STEPS, self.clock)
        steps = proving.run()
        names = [self.document["machine"]["levels"][q]["name"] for q in levels]
        return {"levels": names, "value": ratio_text(proving.value), "steps": steps}


def with_proof(result: TileAnswer, clock: Clock) -> TileAnswer:
    """A result whose relaxation and integer bound the checker re-proves, as far as a proof is found.

    Both become what is proved: less than a millionth below what was solved, or a note says how much, where the rows
    of proofs are weaker than the programs. What has no proof is not claimed to have one, and a note says why.

    Args:
        result: of a method on a machine that is no accelerator.
        clock: when to give up proofs.
    """
    why = _beyond(result)
    if why:
        return _with(result, {"fixed": [], "given": [], "relaxation": None, "integers": None}, [why])
    document = solution_document(result)
    work = StatedWork(document["workload"])
    levels = result.machine.levels
    given = [
        level.name
        for level, own in zip(levels, result.mapping.levels, strict=True)
        if level.microkernel is not None and microkernel_tile(result.workload, level.microkernel) == dict(own.tile)
    ]
    proof: dict[str, Any] = {"fixed": list(TileSpace(result.workload).branch), "given": given}
    asked: dict[str, Any] = {**document, "proof": proof}
    nest = TiledNest(work, asked["mapping"]["levels"], asked["machine"]["levels"])
    rates = [rate_of(level, work.word_bits) for level in asked["machine"]["levels"]]
    case = _Case(asked, nest, rates, clock)
    notes: list[str] = []
    found, least = result, result.integer_bound
    try:
        proof["relaxation"] = _relaxation(case, result)
        found = _restated(result, _value(proof["relaxation"], result.objective))
        notes += _weaker("relaxation", result.relaxation.value, found.relaxation.value)
    except (LimitError, RefusedError) as error:
        proof["relaxation"] = None
        notes.append(f"the relaxation has no proof in the file: {error}")
    try:
        proof["integers"] = _integers(case, result)
        if not proof["integers"] and proof["relaxation"] is None:
            raise LimitError("it is the relaxation, which has none")
        least = max([_value([claim], result.objective) for claim in proof["integers"]], default=0.0)
        least = max(least, found.relaxation.value if proof["relaxation"] is not None else 0.0)
        notes += _weaker("integer bound", float(result.integer_bound), least)
    except (LimitError, RefusedError) as error:
        proof["integers"] = None
        notes.append(f"the integer bound has no proof in the file: {error}")
    return _with(found.claiming(least), proof, notes)


def _with(result: TileAnswer, proof: dict[str, Any], notes: list[str]) -> TileAnswer:
    """The result with a proof, and notes about what it lacks."""
    return replace(result.noting(*notes), proof=proof)


def _weaker(what: str, solved: float, proved: float) -> list[str]:
    """A note where a number that is proved is more than a millionth below what was solved."""
    if proved >= solved * (1 - TOLD):
        return []
    share = f"{100 * (1 - proved / solved):.2g} %"
    return [
        f"the {what} is what the file proves, {share} below the {solved:.10g} that was solved: "
        "the rows of a proof are weaker than the programs here"
    ]


def _beyond(result: TileAnswer) -> str:
    """Why nothing can be proved about a result; empty if something can."""
    if result.held is not None or result.objective == "loads":
        return f"no proof in the file: there are none of what method {result.method} holds"
    if any(level.spatial for level in result.mapping.levels):
        return "no proof in the file: there are none of work split over cores"
    if any(level.rule(result.capacity).value == "safe" for level in result.machine.levels):
        return "no proof in the file: there are none of caches under --capacity safe"
    if any("order" in item for item in result.constraints.document()):
        return "no proof in the file: there are none of demanded loop orders"
    if not result.relaxation.proved or not result.relaxation.value:
        return "no proof in the file: the relaxation is not proved"
    return ""


def _relaxation(case: _Case, result: TileAnswer) -> list[dict[str, Any]]:
    """Claims that add up to the relaxation."""
    if result.objective == "bottleneck":
        value = Fraction(f"{float(Fraction(result.relaxation.value) * (1 - BELOW)):.12g}")
        return [case.prove(list(range(case.nest.depth)), value, whole=False)]
    costs = [Fraction(level.traffic_words) / rate for level, rate in zip(result.count.levels, case.rates, strict=True)]
    return [case.prove([q], cost, whole=False) for q, cost in enumerate(costs)]


def _integers(case: _Case, result: TileAnswer) -> list[dict[str, Any]]:
    """Claims that prove the integer bound; none where it is no more than that of the relaxation.

    Raises:
        LimitError: if no proof was found.
    """
    least = result.cost if result.proved else result.integer_bound
    if least <= result.relaxation.value * (1 + SAME) and not result.proved:
        return []
    if result.objective != "bottleneck" and case.nest.depth > 1:
        raise LimitError("of a sum only the relaxation has one")
    near = [Fraction(round(Fraction(least) * rate)) / rate for rate in case.rates]
    value = next((v for v in near if float(v) == least), Fraction(f"{least * (1 - 1e-12):.15g}"))
    return [case.prove(list(range(case.nest.depth)), value, whole=True)]


def _value(claims: list[dict[str, Any]], objective: str) -> float:
    values = [Fraction(claim["value"]) for claim in claims]
    return float(max(values) if objective == "bottleneck" else sum(values, Fraction(0)))


def _restated(result: TileAnswer, proved: float) -> TileAnswer:
    """The result with the relaxation that is proved."""
    relaxation = replace(result.relaxation, value=proved)
    return replace(result, found=replace(result.found, relaxation=relaxation))
