"""The items of IOOpt, in the order of its pages."""

from __future__ import annotations

from optmap.papers.ioopt.definitions import DEFINITIONS, OPENING
from optmap.papers.ioopt.derivations import DERIVATIONS
from optmap.papers.ioopt.efficiency import EFFICIENCY
from optmap.papers.ioopt.experiments import EXPERIMENTS
from optmap.papers.ioopt.scenarios import SCENARIOS
from optmap.papers.items import Paper

PAPER = Paper(
    key="ioopt",
    title="IOOpt: Automatic Derivation of I/O Complexity Bounds for Affine Programs",
    source="Auguste Olivry, Guillaume Iooss, Nicolas Tollenaere, Atanas Rountev, P. Sadayappan, Fabrice Rastello, 2021",
    items=(
        *OPENING.items,
        *DERIVATIONS.items,
        *DEFINITIONS.items,
        *EXPERIMENTS.items,
        *SCENARIOS.items,
        *EFFICIENCY.items,
    ),
)
