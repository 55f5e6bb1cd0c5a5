"""Loop orders of a nest whose tiles are given: all of them where they are few, else one memory after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod

from optmap.mappings.nest import Loop, Nest

Price = Callable[[Nest], Fraction | None]
"""Merit of a nest, or None if it is not valid."""


def best_orders(
    nest: Nest, price: Price, *, most: int, ordered: bool = False
) -> tuple[Nest | None, Fraction | None, bool]:
    """The best loop orders of a nest.

    Args:
        nest: tiles, ways and keeps; its orders are where the search starts.
        price: of a nest.
        most: orders that are tried altogether; if there are more, the memories take turns.
        ordered: whether the order inside the innermost memory matters: not to any count, but to a machine's demand.

    Returns:
        The nest with its merit, None if no order that was tried is valid; and whether all were tried.
    """
    free = [number > 0 or ordered for number in range(len(nest.memories))]
    pairs = list(zip(nest.memories, free, strict=True))
    if prod(factorial(len(memory.temporal)) for memory, several in pairs if several) <= most:
        choices = (permutations(m.temporal) if several else (m.temporal,) for m, several in pairs)
        every = (_with(nest, orders) for orders in product(*choices))
        return (*_best(every, price, (None, None)), True)
    held = _best((nest,), price, (None, None))
    while True:
        before = held[1]
        for number in range(len(nest.memories) - 1, -1, -1):
            held = _best(_orders_of(held[0] or nest, number, most), price, held)
        if held[1] == before:
            return (*held, False)


def _orders_of(nest: Nest, number: int, most: int) -> Iterator[Nest]:
    """A nest with the loops of one memory in other orders: all, or single loops moved, if there are too many."""
    loops = nest.memories[number].temporal
    if factorial(len(loops)) <= most // 4:
        orders: Iterator[tuple[Loop, ...]] = permutations(loops)
    else:
        orders = _moves(loops)
    for order in orders:
        yield _with_one(nest, number, order)


def _moves(loops: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    for place, loop in enumerate(loops):
        rest = loops[:place] + loops[place + 1 :]
        for target in range(len(loops)):
            yield (*rest[:target], loop, *rest[target:])


def _with(nest: Nest, orders: tuple[tuple[Loop, ...], ...]) -> Nest:
    pairs = zip(nest.memories, orders, strict=True)
    return Nest(memories=tuple(replace(memory, temporal=order) for memory, order in pairs))


def _with_one(nest: Nest, number: int, order: tuple[Loop, ...]) -> Nest:
    memories = list(nest.memories)
    memories[number] = replace(memories[number], temporal=order)
    return Nest(memories=tuple(memories))


def _best(
    nests: Iterator[Nest] | tuple[Nest, ...], price: Price, held: tuple[Nest | None, Fraction | None]
) -> tuple[Nest | None, Fraction | None]:
    for nest in nests:
        value = price(nest)
        if value is not None and (held[1] is None or value < held[1]):
            held = nest, value
    return held
