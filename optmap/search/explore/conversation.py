"""Talking to a strategy: what it yields is looked at before it is judged, what it does wrong is said in its words."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from optmap.base.errors import OptmapError, StrategyError
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.search.explore.protocol import Brief, Exhausted, Proposals, Scores, Strategy

MOST_EMPTY = 10_000
"""Empty batches in a row, after which a strategy is taken for one that goes on for ever."""


class Conversation:
    """A strategy that is asked for batches, one after the other.

    Raises:
        StrategyError: if what it proposes with is no generator, or raises.
    """

    def __init__(self, strategy: Strategy, brief: Brief[Any]) -> None:
        self.proof: Exhausted | None = None
        """What it returned."""
        self._fabric = brief.fabric
        self._empty = 0
        try:
            proposals = strategy.propose(brief)
        except OptmapError:
            raise
        except Exception as error:
            raise _raised(error) from error
        if not isinstance(proposals, Generator):
            raise StrategyError(
                f"the search proposes with a {type(proposals).__name__}; write `propose` as a generator function, "
                "one that yields NestBatches"
            )
        self._proposals: Proposals = proposals

    def following(self, scores: Scores | None) -> NestBatch | None:
        """The next batch, or None at the end.

        Args:
            scores: of the batch before; None at the beginning.

        Raises:
            StrategyError: for anything else than batches of the fabric and a `Exhausted` or None at the end.
        """
        try:
            batch = next(self._proposals) if scores is None else self._proposals.send(scores)
        except StopIteration as stopped:
            if not isinstance(stopped.value, Exhausted | None):
                raise StrategyError(
                    f"the search returned {stopped.value!r}; return nothing, or a Proof that nothing is better"
                ) from None
            self.proof = stopped.value
            return None
        except OptmapError:
            raise
        except Exception as error:
            raise _raised(error) from error
        _check(batch, self._fabric)
        self._empty = 0 if len(batch) else self._empty + 1
        if self._empty > MOST_EMPTY:
            raise StrategyError(f"the search yielded {MOST_EMPTY:,} empty batches in a row; return at the end")
        return batch

    def close(self) -> None:
        """Ask for nothing more.

        Raises:
            StrategyError: if it goes on nevertheless.
        """
        try:
            self._proposals.close()
        except RuntimeError as error:
            raise StrategyError(
                "the search yielded after its end; let GeneratorExit pass, which ends it when the budget is spent"
            ) from error
        except OptmapError:
            raise
        except Exception as error:
            raise _raised(error) from error


NO_SCORES = Scores(valid=np.zeros(0, bool), value=np.zeros(0), energy_pj=np.zeros(0), cycles=np.zeros(0))
"""Of an empty batch."""


def _raised(error: Exception) -> StrategyError:
    return StrategyError(f"the search raised {type(error).__name__}: {error}")


def _check(batch: object, fabric: Fabric) -> None:
    """Whether a batch is one of nests of the fabric."""
    if not isinstance(batch, NestBatch):
        raise StrategyError(f"the search yielded {type(batch).__name__}; yield a NestBatch, such as batch_of makes")
    shape, kept = batch.temporal.shape[1:], batch.keeps.shape[2]
    wanted = (len(fabric.memories), len(fabric.dims))
    if shape != wanted or kept != len(fabric.operands):
        raise StrategyError(
            f"the search yielded nests of {shape[0]} memories, {shape[1]} dims and {kept} operands; the fabric has "
            f"{wanted[0]}, {wanted[1]} and {len(fabric.operands)}"
        )
    parts = {"x": batch.x, "y": batch.y, "temporal": batch.temporal, "order": batch.order}
    for name, part in parts.items():
        if not np.issubdtype(part.dtype, np.integer):
            raise StrategyError(f"the search yielded nests whose {name} is of {part.dtype}; whole numbers are needed")
        if name != "order" and part.size and part.min() < 1:
            raise StrategyError(f"the search yielded nests with {part.min()} trips in {name}; 1 stands for no loop")
    inside = ((batch.order >= 0) & (batch.order < wanted[1])).all()
    if not inside or (np.left_shift(1, batch.order).sum(axis=2) != (1 << wanted[1]) - 1).any():
        raise StrategyError("the search yielded nests whose order does not name every dim once per memory")
