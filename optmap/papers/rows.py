"""Rows of an item: what a paper says, what is found here, and the verdict, which follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from optmap.base.shown import Concise
from optmap.base.texts import plain

Number = int | float | Fraction
Value = Number | str | None
"""A number, what a paper says in words, or nothing."""


class RowVerdict(StrEnum):
    """How a claim of a paper stands."""

    EQUAL = "equal"
    BETTER = "better (proved)"
    DIFFERS = "differs"
    ERRATUM = "erratum"
    NOT_REPRODUCIBLE = "not reproducible"
    FAILED = "failed"
    """Differs, and nothing that was tested says why; or an erratum whose counterexample agrees with the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a number differs from the paper's, and whether a test of that held."""

    text: str
    tested: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClaimRow(Concise):
    """One claim of a paper."""

    quantity: str
    paper: int | float | str | None
    """As printed; None where the text has no number for it."""
    ours: int | float | str | None
    verdict: RowVerdict
    reason: str = ""
    measured: bool = False
    """Whether it was timed on this machine, so that another run has another number."""

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's, of two numbers."""
        if isinstance(self.paper, str | None) or isinstance(self.ours, str | None) or not self.paper:
            return None
        return self.ours / self.paper

    @property
    def told(self) -> str:
        """The verdict with its reason."""
        return f"{self.verdict}: {self.reason}" if self.reason else str(self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-able data."""
        return {**asdict(self), "ratio": self.ratio}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> ClaimRow:
        """A row from its data; what is derived is derived again."""
        own = {name: value for name, value in document.items() if name != "ratio"}
        return cls(**own | {"verdict": RowVerdict(own["verdict"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAmount:
    """A number of one point that the sum over the points of its item takes; no row of its own."""

    name: str
    value: int | float


def held(
    quantity: str,
    paper: Number,
    ours: Number,
    *,
    within: float = 0.0,
    because: Reason | None = None,
    measured: bool = False,
) -> ClaimRow:
    """A number beside the paper's: equal, or different for a reason that was tested.

    Args:
        quantity: what it is, with its unit.
        paper: as printed.
        ours: as computed now.
        within: relative difference that counts as equal: what the digits that are printed leave open.
        because: why it differs, if it does.
        measured: whether another run has another number.
    """
    near = ours == paper if not within else abs(float(ours) - float(paper)) <= within * abs(float(paper))
    return _row(quantity, paper, ours, near, because, measured=measured)


def claimed(
    quantity: str,
    paper: Number | str,
    ours: Value,
    *,
    holds: bool,
    because: Reason | None = None,
    measured: bool = False,
) -> ClaimRow:
    """A claim in words, such as `at most 26`, beside what decides it: equal if it holds.

    Args:
        quantity: what is claimed.
        paper: as printed.
        ours: the number or the fact that decides it.
        holds: whether the claim is true of it.
        because: why it does not hold here, if it does not.
        measured: whether another run has another number.
    """
    return _row(quantity, paper, ours, holds, because, measured=measured)


def _row(quantity: str, paper: Value, ours: Value, near: bool, because: Reason | None, *, measured: bool) -> ClaimRow:
    """Equal, different for a reason that held, or failed."""
    if near:
        verdict, reason = RowVerdict.EQUAL, ""
    elif because is None:
        verdict, reason = RowVerdict.FAILED, "it differs, and nothing says why"
    elif because.tested:
        verdict, reason = RowVerdict.DIFFERS, because.text
    else:
        verdict, reason = RowVerdict.FAILED, f"it differs, and this was refuted: {because.text}"
    return ClaimRow(
        quantity=quantity, paper=_plain(paper), ours=_plain(ours), verdict=verdict, reason=reason, measured=measured
    )


def improved(
    quantity: str,
    paper: Number,
    ours: Number,
    *,
    proved: bool,
    more: bool = False,
    within: float = 0.0,
    because: Reason | None = None,
) -> ClaimRow:
    """A number that may be better than the paper's: a mapping with fewer words, a bound with more.

    Args:
        quantity: what it is, with its unit.
        paper: as printed.
        ours: as computed now.
        proved: whether ours was checked: a mapping counted again, a bound certified.
        more: whether more is better.
        within: relative difference that counts as equal.
        because: why ours is worse, if it is.
    """
    better = float(ours) > float(paper) if more else float(ours) < float(paper)
    same = held(quantity, paper, ours, within=within, because=because)
    if same.verdict is RowVerdict.EQUAL or not better or not proved:
        return same
    return ClaimRow(quantity=quantity, paper=_plain(paper), ours=_plain(ours), verdict=RowVerdict.BETTER)


def refuted(quantity: str, paper: Value, ours: Value, *, counterexample: str, false: bool) -> ClaimRow:
    """An erratum: what is printed cannot be, and a counterexample that was run shows it.

    Args:
        quantity: what is claimed.
        paper: as printed.
        ours: what was found.
        counterexample: what was run.
        false: whether it refutes what is printed; the row fails if the printed claim is true.
    """
    return ClaimRow(
        quantity=quantity,
        paper=_plain(paper),
        ours=_plain(ours),
        verdict=RowVerdict.ERRATUM if false else RowVerdict.FAILED,
        reason=counterexample if false else f"the printed claim holds on its counterexample: {counterexample}",
    )


def unreachable(quantity: str, paper: Value, *, why: str, ours: Value = None, measured: bool = False) -> ClaimRow:
    """What nobody can compute from the paper's text: data of a plot, times on a machine of its authors.

    Args:
        quantity: what is claimed.
        paper: as printed.
        why: what it would take.
        ours: the same quantity of our own, for a look.
        measured: whether another run has another number.
    """
    return ClaimRow(
        quantity=quantity,
        paper=_plain(paper),
        ours=_plain(ours),
        verdict=RowVerdict.NOT_REPRODUCIBLE,
        reason=why,
        measured=measured,
    )


def failed(why: str) -> ClaimRow:
    """What stands in place of the rows of a computation that ended without any."""
    return ClaimRow(quantity="the computation", paper=None, ours=None, verdict=RowVerdict.FAILED, reason=why)


def _plain(value: Value) -> int | float | str | None:
    """A value as a document has it: whole numbers exact, others as the nearest float."""
    return plain(value) if isinstance(value, Fraction) else value
