"""A closed form of IOOpt's upper bound at a memory, beside the lower bound there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from optmap.base.shown import Concise, Shown
from optmap.bounds.best import best
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.symbolic.closed_form import ClosedForm, ClosedFormValue

MOST_ORDERS = 120
"""Loop orders that an answer lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMemory(Concise):
    """A closed form at the extents of its workload and a memory."""

    memory_words: int
    """S."""
    value: ClosedFormValue
    bound_loads_words: int
    """Loads of every schedule, at least, by the certified bound."""

    @property
    def gap(self) -> float | None:
        """Loads of the closed form over the bound, minus 1; None where the form does not hold."""
        return None if self.value.broken else self.value.loads_words / self.bound_loads_words - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedFormAnswer(Shown):
    """Loop orders by reuse and a closed form of the upper bound."""

    shown_as: ClassVar[str] = "closed-form"
    workload: Workload
    reuse: dict[str, frozenset[str]]
    """Tensors reused along each dim if its loop is innermost."""
    orders: tuple[tuple[str, ...], ...]
    """Loop orders worth tiling (IOOpt, Algorithm 1), outermost first; `MOST_ORDERS` at most."""
    complete: bool
    """Whether these are all."""
    form: ClosedForm
    at: AtMemory | None
    """None if no memory is given."""


def closed_form_answer(
    workload: Workload, memory: Capacity | None, stationary: str | None, small: Iterable[str]
) -> ClosedFormAnswer:
    """The closed form of a workload, with its value and the certified bound if a memory is given.

    Args:
        workload: a contraction of two tensors or a two-dimensional convolution.
        memory: the fast memory, or None.
        stationary: the tensor that stays; None for the one with the fewest words.
        small: dims declared small, along which a tensor counts as reused.

    Raises:
        InputError: if the workload has no closed form, or the memory holds no tile.
    """
    from optmap.symbolic.closed_form import closed_form, closed_form_value
    from optmap.symbolic.ioopt import reuse_orders, reuse_sets

    small = tuple(small)
    form = closed_form(workload, stationary)
    orders = reuse_orders(workload, small, limit=MOST_ORDERS + 1)
    at = None
    if memory is not None:
        words = memory.words(workload.word_bits)
        found = closed_form_value(form, workload, words)
        at = AtMemory(memory_words=words, value=found, bound_loads_words=best(workload, words).loads_words)
    return ClosedFormAnswer(
        workload=workload,
        reuse=reuse_sets(workload, small),
        orders=orders[:MOST_ORDERS],
        complete=len(orders) <= MOST_ORDERS,
        form=form,
        at=at,
    )
