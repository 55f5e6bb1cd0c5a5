"""The mathematical programs behind an answer, built for a workload and a machine, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from optmap.answers.proofs.program import ProvedProgram, class_programs, proved_program
from optmap.base.errors import InputError
from optmap.base.texts import several
from optmap.kernels.microkernel import microkernel_permutation, microkernel_tile
from optmap.loop_orders.classes import dataflow_classes
from optmap.machines.machine import CapacityRule, Machine
from optmap.programs.export import export_program
from optmap.programs.program import Program
from optmap.programs.tile import Scale, TileLevel, minmax_program, one_level_program
from optmap.search.question import Question
from optmap.workloads.workload import Workload


class Format(StrEnum):
    """Text forms of a program."""

    LP = "lp"
    MPS = "mps"
    NL = "nl"
    TEXT = "text"
    LATEX = "latex"


LINEAR_FORMATS = (Format.LP, Format.MPS)
"""Formats that hold linear programs only."""


class Which(StrEnum):
    """Which programs of a workload are meant."""

    BEST = "best"
    """The convex program that attains the proved relaxation."""
    CLASSES = "classes"
    """That of every class of loop orders, used at all levels alike, the cheapest class first."""
    PAPER = "paper"
    """The program as MOpt prints it, with every size free: not convex, not proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One program as text, with what is known of its optimum."""

    program: Program
    content: str
    proved: ProvedProgram | None = None
    """None for a program that `export` does not solve."""


def exported(
    question: Question,
    form: Format,
    which: Which = Which.BEST,
    permutations: Sequence[tuple[str, ...]] = (),
) -> tuple[Exported, ...]:
    """The programs that a format can hold: those of the relaxation, or for LP and MPS the log-space LP.

    Args:
        question: workload, machine, capacity rule, solver and time limit.
        form: the format that is wanted.
        which: which programs; of the relaxation only.
        permutations: one loop order for all levels or one per level, inner first; none for a free choice.

    Raises:
        InputError: for what does not go together.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.
    """
    if form in LINEAR_FORMATS:
        program = _linear(question, form, which, permutations)
        return (Exported(program=program, content=export_program(program, form.value)),)
    loops = per_level(permutations, len(question.machine.levels))
    if which is Which.PAPER:
        program = tile_program(question.workload, question.machine, loops, question.capacity, _scale(form))
        return (Exported(program=program, content=export_program(program, form.value)),)
    if which is Which.CLASSES:
        if permutations or form is Format.NL:
            what = "one loop order" if permutations else "--format nl, which holds one program,"
            raise InputError(f"every class is asked for, and {what} too; use --program best, or leave that out")
        found = class_programs(question)
    else:
        found = (proved_program(question, loops),)
    return tuple(
        Exported(program=each.program(_scale(form)), content=each.export(form.value), proved=each) for each in found
    )


def programs_document(found: Sequence[Exported], form: Format) -> dict[str, object]:
    """The JSON document of `export`: the first program with the text of all, then each.

    Args:
        found: at least one.
        form: the format of their texts.
    """
    first = found[0].program
    return {
        "schema": "optmap.program/1",
        "name": first.name,
        "form": first.form.value,
        "convex": first.convex,
        "format": form.value,
        "notes": list(first.notes),
        "content": "\n".join(each.content for each in found),
        "programs": [_entry(each) for each in found],
    }


def _entry(each: Exported) -> dict[str, object]:
    made, proved = each.program, each.proved
    return {
        "name": made.name,
        "convex": made.convex,
        "convex_in_logarithms": made.convex or made.geometric,
        "value": None if proved is None else proved.value,
        "unit": made.objective_unit,
        "proved": proved is not None and proved.proved,
        "permutations": [] if proved is None else [list(order) for order in proved.permutations],
        "content": each.content,
    }


def _linear(question: Question, form: Format, which: Which, permutations: Sequence[tuple[str, ...]]) -> Program:
    if permutations or which is not Which.BEST:
        what = "no loop order; drop --permutation" if permutations else "no classes; drop --program"
        raise InputError(
            f"--format {form.value} holds the log-space linear program, which has {what} or use --format text, latex "
            "or nl"
        )
    from optmap.programs.lifted import lifted_tiling_program
    from optmap.programs.loglp import log_tiling_program
    from optmap.workloads.forms import why_no_convolution

    levels = question.machine.levels
    if len(levels) > 1:
        raise InputError(
            f"--format {form.value} holds the log-space linear program of one fast memory; use --memory SIZE, "
            "or --format text, latex or nl for the program of all levels"
        )
    tiling_program = log_tiling_program if why_no_convolution(question.workload) else lifted_tiling_program
    return tiling_program(question.workload, capacity=levels[0].words(question.workload.word_bits))


def _scale(form: Format) -> Scale:
    """For a solver logarithms, in which it converges from anywhere; for reading the sizes as they are."""
    return Scale.LOG if form is Format.NL else Scale.RAW


def per_level(permutations: Sequence[tuple[str, ...]], count: int) -> tuple[tuple[str, ...], ...]:
    """One loop order per level; none if none is given.

    Raises:
        InputError: for a number of loop orders that is neither 1 nor that of the levels.
    """
    if len(permutations) not in (0, 1, count):
        raise InputError(
            f"{several(len(permutations), 'loop order')} for {several(count, 'level')}; give one, or one per level, "
            "inner level first"
        )
    return tuple(permutations) * (count if len(permutations) == 1 else 1)


def tile_program(
    workload: Workload,
    machine: Machine,
    loops: Sequence[tuple[str, ...]] = (),
    rule: CapacityRule = CapacityRule.TILE,
    scale: Scale = Scale.RAW,
) -> Program:
    """Least traffic of one level, or least maximum of traffic over bandwidth of several.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths; a microkernel fixes its level's tile.
        loops: one loop order per level, inner first, outermost loop first; without any, the first
            dataflow class that no other dominates.
        rule: which working set must fit.
        scale: tile sizes themselves or their logarithms as variables.

    Raises:
        InfeasibleError: if not even the smallest tiles fit.
    """
    count = len(machine.levels)
    first = dataflow_classes(workload, concrete=True, rule=rule).classes[0].representative if not loops else ()
    orders = loops or [first] * count
    levels = []
    for level, rate, order in zip(machine.levels, machine.rates(workload.word_bits), orders, strict=True):
        kernel = level.microkernel
        fixed = None if kernel is None else microkernel_tile(workload, kernel)
        levels.append(
            TileLevel(
                name=level.name,
                capacity=level.words(workload.word_bits),
                bandwidth=float(rate),
                permutation=order if fixed is None else microkernel_permutation(workload),
                fixed=fixed or {},
                rule=rule,
            )
        )
    if count > 1 or levels[0].bandwidth != 1:
        return minmax_program(workload, levels, scale=scale)
    only = levels[0]
    return one_level_program(
        workload,
        capacity=only.capacity,
        permutation=only.permutation,
        fixed=only.fixed,
        rule=rule,
        scale=scale,
    )
