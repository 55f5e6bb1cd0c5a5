"""`randomized`: a product with a random matrix that can be generated again."""

from __future__ import annotations

from typing import Annotated

import typer

from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, SemanticsOption

RANDOMIZED_HELP = """Bound and tile a product whose random matrix is generated.

R[d,n] = S[d,m] * A[m,n], where an element of S comes from a pseudorandom generator for a cost
instead of from memory (Dinh, chapter 5). Prints what every schedule costs, a tiling that comes
close, and the gap. Results are created in fast memory; with --semantics accumulate they are loaded.

\b
Examples:
  optmap randomized --extents d=1000,m=1000,n=500 --memory 4096w --cost 1/10
  optmap randomized --extents d=4000,m=300,n=200 --memory 64KiB --cost 0.0001 --semantics accumulate
  optmap randomized --extents d=50,m=40,n=60 --memory 100w --cost 9 --json

Exit codes: 0 an answer, 2 bad input, 3 a memory below three words.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("randomized", help=RANDOMIZED_HELP)(guarded(randomized))


def randomized(
    *,
    extents: Annotated[str, typer.Option("--extents", metavar="d=..,m=..,n=..", help="Extents of the product.")],
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Fast memory: 4096w, or 16KiB of 4-byte words.")
    ],
    cost: Annotated[
        str, typer.Option("--cost", metavar="H", help="Cost of generating an element of S, in loads: 1/10, 0.1, 2.")
    ],
    semantics: SemanticsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print bound and tiling of a randomized product."""
    from optmap.verbs import comparing

    found = comparing.randomized(extents, memory=memory, cost=cost, semantics=semantics)
    say_answer(found, as_json=as_json)
