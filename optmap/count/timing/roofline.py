"""The objective of words per boundary; of a time, the roofline of one core.

No code is looked at: multiply-adds at the core's peak and the words that are loaded over every link, which carries both
directions at once, all overlap. Caches begin empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from optmap.count.timing.floor import Running, link, roof
from optmap.count.timing.results import Caches
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.workloads.workload import Workload

ONE_COLD = Running(caches=Caches.COLD)
"""One thread, and caches that begin empty."""


def roofline(objective: Objective, words: Mapping[int, int], workload: Workload, machine: Machine) -> Fraction:
    """The objective of words that cross every boundary, or a lower bound on it of words that must.

    Args:
        objective: if it is a time, multiply-adds take theirs as well.
        words: that count, by number of the boundary, inner first; of a bound some may be missing.
        workload: of one statement or several; which of them multiply and add is said at `roof`.
        machine: bandwidths, and for a time the core.

    Raises:
        InputError: if a time is asked for and the machine does not say what a core computes with.
    """
    if not objective.timed:
        return objective.value(words, machine, workload.word_bits)
    links = [link(workload, machine, level, count, ONE_COLD) for level, count in words.items()]
    return max(part.cycles for part in (roof(workload, machine, ONE_COLD), *links))
