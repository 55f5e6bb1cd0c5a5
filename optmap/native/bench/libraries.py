"""Libraries that code is compared with: which there are, and which are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from optmap.base.errors import SolverUnavailableError
from optmap.base.names import choose
from optmap.native.bench.contender import Baseline
from optmap.native.bench.onednn import OneDnn
from optmap.native.bench.pytorch import PyTorch
from optmap.native.bench.tvm import TRIALS, Tvm

Told = Callable[[str], None]
LIBRARIES: dict[str, Callable[[int, Told], Baseline]] = {
    OneDnn.name: lambda trials, told: OneDnn(),
    PyTorch.name: lambda trials, told: PyTorch(),
    Tvm.name: Tvm,
}
"""Everything that code can be compared with; made with the trials of those that are tuned and who hears of them."""


def baselines(
    names: Iterable[str] | None = None, *, trials: int = TRIALS, told: Told = lambda text: None
) -> tuple[tuple[Baseline, ...], dict[str, str]]:
    """Those that are installed, and per absent one what to do.

    Args:
        names: of `LIBRARIES`; all of them if left out.
        trials: that tuning a layer takes, for a library that is tuned.
        told: hears how far it is.

    Raises:
        UnknownNameError: for a name that is none.
        SolverUnavailableError: if none of them is here.
    """
    asked = tuple(LIBRARIES) if names is None else tuple(choose("library", name, list(LIBRARIES)) for name in names)
    found, absent = list[Baseline](), {}
    for name in asked:
        try:
            found.append(LIBRARIES[name](trials, told))
        except SolverUnavailableError as error:
            absent[name] = str(error)
    if not found:
        raise SolverUnavailableError("nothing to compare with: " + "; ".join(absent.values()))
    return tuple(found), absent
