"""Documents of accelerators whose digest is that of what they say now, as somebody who forges them would write it."""

from __future__ import annotations

from typing import Any

from optmap.checker.core.tools import digest
from optmap.checker.nests.explored import TIMES


def signed(document: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document with the digest that fits it; the times are in none."""
    search = {key: value for key, value in document["search"].items() if key not in TIMES}
    body = {key: value for key, value in document.items() if key != "seconds"}
    return {**document, "digest": digest({**body, "search": search})}
