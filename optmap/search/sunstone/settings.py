"""What can be set of method `sunstone`: every rule can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.base.names import choose

DIRECTIONS = ("bottom-up", "top-down")
WITHIN = ("unrolling-tiling-ordering", "tiling-unrolling-ordering", "ordering-tiling-unrolling")


@dataclass(frozen=True, slots=True, kw_only=True)
class SunstoneSettings:
    """The rules of the search and how it goes through the memories; `sunstone` says which can lose the optimum."""

    direction: str = DIRECTIONS[0]
    """From the innermost memory outwards (`bottom-up`), or from the outermost inwards (`top-down`)."""
    within: str = WITHIN[0]
    """What is chosen first at a memory (Table VI). Where ordering is first, a tile meets only the order it was grown
    for; else every order."""
    further_reuse: bool = True
    """Orders that reuse nothing more than the order they continue are left out."""
    dominated_orders: bool = True
    """Orders whose reuse another one has, too, are left out."""
    reuse_dims: bool = True
    """Tiles grow along the dims of the operand that the order reuses, and no others."""
    reuse_levels: int = 0
    """Inner memories at which they do; 0 for all (the published code: 1)."""
    tiling_principle: bool = True
    """Tiles that can still grow are left out."""
    look_outside: bool = True
    """Tiles that no memory outside has room for do not count as fitting."""
    leave_ways: bool = False
    """Tiles that take from the meshes outside what they could spread do not count as fitting, to the part that
    `utilisation` asks for."""
    starved: float = 0.5
    """Where cycles count and the best mapping uses less than this part of the children that the meshes could use,
    the search is repeated with `leave_ways`; 0 never. Not in the paper."""
    unrolling_principle: bool = True
    """Dims whose unrolling reuses only what the order reuses anyway are not unrolled."""
    utilisation: float = 1.0
    """Least part that an axis of a mesh is used to, of what any unrolling of it reaches; 0 for any."""
    alpha_beta: bool = True
    """Partial mappings whose optimistic value does not beat the best mapping are left out."""
    bypass: bool = False
    """Memories are also tried without the operands that may bypass them; else they hold all that there is room for."""
    width: int = 256
    """Partial mappings that a memory hands on at most, best estimate first; 0 for all. Not in the paper."""

    def __post_init__(self) -> None:
        choose("direction of sunstone", self.direction, DIRECTIONS)
        choose("order within a memory of sunstone", self.within, WITHIN)
        if not 0 <= self.utilisation <= 1:
            raise InputError(f"--set utilisation={self.utilisation}: give a part from 0 to 1")
        if not 0 <= self.starved <= 1:
            raise InputError(f"--set starved={self.starved}: give a part from 0 to 1")
        for name in ("width", "reuse_levels"):
            if getattr(self, name) < 0:
                raise InputError(f"--set {name.replace('_', '-')}={getattr(self, name)}: give 0 or more")
