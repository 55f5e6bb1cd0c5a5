"""What items ask of answers: whether the independent checker proves them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from optmap.api import check
from optmap.base.errors import CheckError
from optmap.base.shown import Shown


def verified(answer: Shown) -> bool:
    """Whether the file of an answer, a bound or a solution, is proved by the checker, which shares no code."""
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
        path = answer.save(Path(folder) / "answer.json")
        try:
            check(path)
        except CheckError:
            return False
    return True
