"""Search: dataflow classes, programs and solvers combined into the best integer mapping.

The names below are what a method of one's own needs; each is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optmap.lazy import named

if TYPE_CHECKING:
    from optmap.search.answer import Found as Found
    from optmap.search.answer import cost_of as cost_of
    from optmap.search.methods import METHODS as METHODS
    from optmap.search.methods import Method as Method
    from optmap.search.methods import Route as Route
    from optmap.search.methods import refuse as refuse
    from optmap.search.methods import register_method as register_method
    from optmap.search.request import Request as Request
    from optmap.search.result import Relaxation as Relaxation
    from optmap.search.result import SolveResult as SolveResult

_HOMES = {
    **dict.fromkeys(("Found", "cost_of"), "answer"),
    **dict.fromkeys(("METHODS", "Method", "Route", "refuse", "register_method"), "methods"),
    "Request": "request",
    **dict.fromkeys(("Relaxation", "SolveResult"), "result"),
}
"""File of every public name."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    if name in _HOMES:
        return named(f"search.{_HOMES[name]}:{name}")
    raise AttributeError(f"module 'optmap.search' has no attribute {name!r}")
