"""The log-space tiling LP as a method: vertices of the LP, rounded to whole tiles (Dinh, sections 3.2 and 4.2)."""

from __future__ import annotations

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.programs.loglp_face import lp_tiles
from optmap.programs.rounding import best_permutation, round_tile
from optmap.search.answer import cost_of
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.workloads.forms import why_no_convolution
from optmap.workloads.workload import Workload

VERTICES = 64
"""Bases of the LP that are visited."""


def solve(question: Question) -> Found:
    """Round every optimal vertex of the tiling LP, and keep the cheapest tile that fits.

    The LP lets every tensor alone fill the memory and knows no halo: it is optimal up to a constant, and
    its tiles are rounded, so the answer is no more than a mapping; what is proved below it is what every
    mapping moves, and the certified bound.

    Raises:
        InfeasibleError: if not even one iteration fits.
    """
    workload, level = question.workload, question.machine.levels[0]
    words = level.words(workload.word_bits)
    found: list[tuple[float, Mapping]] = []
    clock = question.clock
    for tile in lp_tiles(workload, words, limit=VERTICES):
        whole = round_tile(workload, tile, capacity_words=words)
        order = best_permutation(workload, whole)
        mapping = Mapping(levels=(LevelMapping(level=level.name, tile=whole, permutation=order, spatial={}),))
        cost = cost_of(question, mapping)
        if cost is not None:
            found.append((cost, mapping))
        if found and clock.late:
            break
    if not found:
        raise InfeasibleError(f"{workload.title}: no rounded tile of the tiling LP fits {several(words, 'word')}")
    best = min(found, key=lambda pair: pair[0])[1]
    return Found(mapping=best, space="roundings of the vertices of the tiling LP", late=clock.late)


def needs_a_form(workload: Workload) -> None:
    """Refuse workloads that have no tiling LP.

    Raises:
        InputError: for subscripts of several dims in what is no convolution.
    """
    single = all(len(axis.terms) <= 1 for tensor in workload.tensors for axis in tensor.axes)
    if not single and why_no_convolution(workload) is not None:
        raise InputError(
            f"method tiling-lp needs one dim per subscript, or a convolution; {workload.title} is neither: "
            "use --method mopt or iooub"
        )
