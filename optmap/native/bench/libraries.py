"""Libraries that code is compared with: which there are, and which are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from optmap.errors import SolverUnavailableError
from optmap.names import choose
from optmap.native.bench.contender import Baseline
from optmap.native.bench.onednn import OneDnn
from optmap.native.bench.pytorch import PyTorch

LIBRARIES: dict[str, Callable[[], Baseline]] = {"onednn": OneDnn, "torch": PyTorch}
"""Everything that code can be compared with."""
NOT_COMPARED = {
    "tvm": "TVM is as fast as what its tuner finds in hours per layer; an untuned schedule would say nothing about it"
}
"""Libraries that one would look for, and why they are not there."""


def baselines(names: Iterable[str] | None = None) -> tuple[tuple[Baseline, ...], dict[str, str]]:
    """Those that are installed, and per absent one why, or what to do.

    Args:
        names: of `LIBRARIES`, or of `NOT_COMPARED` to be told why; all of them if left out.

    Raises:
        UnknownNameError: for a name that is none.
        SolverUnavailableError: if none of them is here.
    """
    known = (*LIBRARIES, *NOT_COMPARED)
    asked = known if names is None else tuple(choose("library", name, known) for name in names)
    found, absent = list[Baseline](), {}
    for name in asked:
        if name in NOT_COMPARED:
            absent[name] = NOT_COMPARED[name]
            continue
        try:
            found.append(LIBRARIES[name]())
        except SolverUnavailableError as error:
            absent[name] = str(error)
    if not found:
        raise SolverUnavailableError("nothing to compare with: " + "; ".join(absent.values()))
    return tuple(found), absent
