"""The verbs that meet the machine at hand: code that is emitted, compiled, run, measured and compared.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optmap.native.host.detection import Host


def detect(
    *, name: str = "host", quick: bool = False, progress: Callable[[str, float], None] = lambda text, fraction: None
) -> Host:
    """Describe the machine at hand: the system's tables of cores and caches, and what compiled probes measure.

    Args:
        name: of the machine.
        quick: about three seconds instead of about fifteen: fewer repetitions, and no stores.
        progress: told what is being measured and how much of everything is done.

    Returns:
        `.machine` is a machine as any other, `.save("host.yaml")` writes its file, `.figures` have the spreads,
        `.missing` says what is not known, without a compiler all that is measured.

    Raises:
        InputError: if neither a cache nor a vector register is known.
    """
    from optmap.native.host.detection import detect_host

    return detect_host(name=name, quick=quick, progress=progress)
