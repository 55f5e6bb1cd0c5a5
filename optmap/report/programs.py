"""The mathematical programs behind an answer, built for a workload and a machine, as text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from optmap.errors import InputError
from optmap.problem import CapacityRule, Machine, Workload
from optmap.problem.microkernel import microkernel_permutation, microkernel_tile
from optmap.programs.program import Program
from optmap.programs.tile import Scale, TileLevel, minmax_program, one_level_program
from optmap.symbolic.classes import dataflow_classes


class Format(StrEnum):
    """Text forms of a program."""

    LP = "lp"
    MPS = "mps"
    NL = "nl"
    TEXT = "text"
    LATEX = "latex"


LINEAR_FORMATS = (Format.LP, Format.MPS)
"""Formats that hold linear programs only."""


def default_program(
    workload: Workload,
    machine: Machine,
    form: Format,
    permutations: Sequence[tuple[str, ...]] = (),
    rule: CapacityRule = CapacityRule.TILE,
) -> Program:
    """The program that a format can hold: the tile program, or for LP and MPS the log-space LP.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        form: the format that is wanted.
        permutations: see `tile_program`.
        rule: which working set must fit.

    Raises:
        InputError: if a loop order is given for a linear program, or is not one of the workload.
        InfeasibleError: if not even the smallest tiles fit.
    """
    if form not in LINEAR_FORMATS:
        # For reading: tile sizes as they are. For a solver: their logarithms, in which it converges from anywhere.
        scale = Scale.LOG if form is Format.NL else Scale.RAW
        return tile_program(workload, machine, permutations, rule, scale)
    if permutations:
        raise InputError(
            f"--format {form.value} holds the log-space linear program, which has no loop order; "
            "drop --permutation or use --format text, latex or nl"
        )
    from optmap.programs.loglp import log_tiling_program

    if len(machine.levels) > 1:
        raise InputError(
            f"--format {form.value} holds the log-space linear program of one fast memory; use --memory SIZE, "
            "or --format text, latex or nl for the program of all levels"
        )
    return log_tiling_program(workload, capacity=machine.levels[0].words(workload.word_bits))


def tile_program(
    workload: Workload,
    machine: Machine,
    permutations: Sequence[tuple[str, ...]] = (),
    rule: CapacityRule = CapacityRule.TILE,
    scale: Scale = Scale.RAW,
) -> Program:
    """Least traffic of one level, or least maximum of traffic over bandwidth of several.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths; a microkernel fixes its level's tile.
        permutations: one loop order for all levels or one per level, inner first, outermost loop
            first; without any, the first dataflow class that no other dominates.
        rule: which working set must fit.
        scale: tile sizes themselves or their logarithms as variables.

    Raises:
        InputError: for a number of loop orders that is neither 1 nor that of the levels.
        InfeasibleError: if not even the smallest tiles fit.
    """
    orders = list(permutations) or [dataflow_classes(workload, concrete=True, rule=rule).classes[0].representative]
    count = len(machine.levels)
    if len(orders) not in (1, count):
        raise InputError(f"{len(orders)} loop orders for {count} levels; give one, or one per level, inner level first")
    if len(orders) == 1:
        orders *= count
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
