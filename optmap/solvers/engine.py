"""HiGHS as optmap uses it: the one place that makes it, sets its options and runs it.

HiGHS keeps a pool of threads for every thread that runs it, and refuses to run where a program asks for another number
than that pool has, whoever made it. So the number is an option that always has a value here, the same for everybody
unless `solvers.cfg` says otherwise; a pool of another size is given up before the program runs again, and the pool of a
run after it, so that nobody else in the process is refused either.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.base.clock import current
from optmap.base.errors import InputError, SolverUnavailableError
from optmap.solvers.native_output import off_stdout

INSTALL = "pip install highspy"
OPTIONS: dict[str, object] = {"output_flag": False, "threads": 1}
"""Of every program, unless it has others: with one thread an answer is the same on every machine."""

FEASIBLE_POINT = 2
"""HiGHS's `primal_solution_status` where it holds a point that is feasible."""

SHORTEST_S = 0.1
"""Time that a run is given at least, in seconds."""

LATE = ("kTimeLimit", "kInterrupt")
"""HiGHS's words for: somebody wants the answer now."""

Integers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRows:
    """A linear program's arrays; limits may be infinite."""

    cost: Floats
    """Per column, to be minimised."""
    lower: Floats
    """Per column."""
    upper: Floats
    """Per column."""
    row_lower: Floats
    """Per row."""
    row_upper: Floats
    """Per row."""
    start: Integers
    """Where each row begins in `index` and `value`, and where the last one ends."""
    index: Integers
    """Column of every coefficient, row by row."""
    value: Floats
    """Every coefficient, row by row."""
    whole: NDArray[np.bool_]
    """Per column, whether it is an integer."""
    offset: float = 0.0
    """Added to the objective."""


def load_highs() -> Any:
    """The highspy module.

    Raises:
        SolverUnavailableError: if it cannot be imported; the message has the install command.
    """
    try:
        with off_stdout():
            return importlib.import_module("highspy")
    except ImportError as error:
        raise SolverUnavailableError(f"HiGHS is not available ({error}); install it with: {INSTALL}") from error


class HighsEngine:
    """One program in HiGHS, which writes nothing to stdout and refuses no number of threads.

    Args:
        options: options by their names in HiGHS, on top of `OPTIONS`.
        rows: the program.

    Raises:
        InputError: for an option that HiGHS refuses.
        SolverUnavailableError: without highspy, or if HiGHS refuses the program.
    """

    native: Any
    """The `highspy.Highs` itself: for rows, columns, points and bases; it is run by `run` alone."""

    def __init__(self, rows: LinearRows, options: Mapping[str, object] | None = None) -> None:
        self._module = load_highs()
        with off_stdout(discard=True):
            self.native = self._module.Highs()
        for key, value in {**OPTIONS, **(options or {})}.items():
            self.set(key, value)
        with off_stdout():
            self._pass(rows)
        if rows.whole.any():  # others are short
            native = self.native
            for asks in (native.cbMipInterrupt, native.cbSimplexInterrupt, native.cbIpmInterrupt):
                asks.subscribe(_answer)

    def set(self, key: str, value: object) -> None:
        """Set an option.

        Raises:
            InputError: if HiGHS refuses it.
        """
        if self.native.setOptionValue(key, value) != self._module.HighsStatus.kOk:
            raise InputError(f"solvers.cfg: [highs] {key} = {value} is refused by HiGHS")

    def limit_time(self, seconds: float) -> None:
        """Let the next run take that long, in seconds, and no longer than the answer that is being made has left."""
        self.set("time_limit", max(SHORTEST_S, min(seconds, current().left)))

    def run(self) -> str:
        """Solve what it holds.

        Returns:
            The name of HiGHS's status of the model, such as `kOptimal`.
        """
        give_up_pool = self._module.Highs.resetGlobalScheduler
        with off_stdout():
            if self.native.run() == self._module.HighsStatus.kError and self._status() == "kNotset":
                give_up_pool(False)  # of another size
                self.native.run()
            give_up_pool(False)
        return self._status()

    def _status(self) -> str:
        return str(self.native.getModelStatus().name)

    def integers(self, whole: NDArray[np.bool_]) -> None:
        """Say per column whether it is an integer."""
        every = np.arange(len(whole), dtype=np.int32)
        self.native.changeColsIntegrality(len(every), every, np.array(self._kinds(whole)))

    def _kinds(self, whole: NDArray[np.bool_]) -> list[Any]:
        kind = self._module.HighsVarType
        return [kind.kInteger if integer else kind.kContinuous for integer in whole]

    def _pass(self, rows: LinearRows) -> None:
        model = self._module.HighsLp()
        model.num_col_, model.num_row_ = len(rows.cost), len(rows.row_lower)
        model.col_cost_, model.offset_ = rows.cost, rows.offset
        model.col_lower_, model.col_upper_ = rows.lower, rows.upper
        model.row_lower_, model.row_upper_ = rows.row_lower, rows.row_upper
        model.a_matrix_.format_ = self._module.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = rows.start, rows.index, rows.value
        if rows.whole.any():
            model.integrality_ = self._kinds(rows.whole)
        if self.native.passModel(model) == self._module.HighsStatus.kError:
            raise SolverUnavailableError("HiGHS refuses the model; please report it")


def _answer(event: Any) -> None:
    """What HiGHS is told when it asks whether to go on."""
    if current().late:
        event.interrupt()
