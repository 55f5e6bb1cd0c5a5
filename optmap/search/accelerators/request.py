"""What is asked of a mapping method on an accelerator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from optmap.clock import Clock
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.fabric import Fabric
from optmap.problem.options import Counting, Merit, TileRule


@dataclass(frozen=True, kw_only=True)
class AcceleratorRequest:
    """What is asked of a mapping method on an accelerator."""

    fabric: Fabric
    """Workload and machine; outputs start empty."""
    merit: Merit = Merit.EDP
    """What is minimised."""
    counting: Counting = Counting.EXACT
    tiles: TileRule = TileRule.PADDED
    """`divisors`: factors of every extent; `padded`: those of slightly larger extents too."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demands beside the rules of the machine."""
    confirm: bool = False
    """Whether an optimum is proved a second time."""
    time_limit: float = 60.0
    """Seconds."""
    method: str = ""
    """Of whom it is asked, for messages."""
    evaluations: int | None = None
    """Mappings that a method which explores may have judged; None for any number."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of the method, by name; values or texts."""
    journal: Path | None = None
    """Of a method that explores: the file that its scores are kept in; None for none."""
    seed: int = 0
    progress: Callable[[str, float], None] | None = None
    """Called with what is being done and the share of the time limit used."""

    @cached_property
    def clock(self) -> Clock:
        """When to stop; it runs from the first look at it."""
        return Clock.after(self.time_limit)
