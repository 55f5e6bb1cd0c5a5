"""What answers say of mappings of statements in turn: which are looked at, how they are proved and counted."""

from __future__ import annotations

from optmap.base.texts import several
from optmap.search.leasts import FamilyBound
from optmap.workloads.single import is_elementwise, is_in_place, is_of_rows
from optmap.workloads.workload import Workload

FAMILY = (
    "neighbouring statements block by block, what they hand on kept in one level on chip, or one after the other with "
    "it in the outermost memory; each with perfect factors of every dim"
)
PAIR = (
    f"{FAMILY}; blocks are cut by loops over dims that both statements have, in every order and every number of steps "
    "that divides, any other tensors staying in the same level over the innermost loops that do not move them"
)
APART = "statements one after the other, what they hand on in the outermost memory; each with perfect factors"
ROWS_BEHIND = "functions of rows of an output are applied to it in the outermost memory"
IN_PLACE = (
    "functions that are done in place are applied to elements as they are stored or read: no access, energy or cycle "
    "of them is counted"
)
POINTWISE = (
    "functions of several tensors element by element take an operation at each point, and move what a product would"
)
PROOF = "floors of nests, and exact searches for better ones, in {} to cut and keep: {} searched; {}"
OF_ROWS = (
    "functions of rows are applied where their rows are, which pass word by word twice and come to an end before "
    "anything of them is read: these accesses are counted, and no operation"
)
MASKED = (
    "conditions are masks: every iteration is done and counted, and those that they leave out change nothing; the "
    "floor is of points that meet them"
)
IN_TURN = (
    "statements are done in turn: cycles are the sum of theirs, and energy-delay is the product of both sums; nothing "
    "is computed again"
)


def notes_of(workload: Workload) -> tuple[str, ...]:
    """What a reader should know of how the statements of a chain are counted."""
    every = workload.statements
    said = (
        (IN_PLACE, any(is_in_place(workload, each.name) for each in every)),
        (POINTWISE, any(is_elementwise(each) for each in every)),
        (OF_ROWS, any(is_of_rows(each) for each in every)),
        (MASKED, any(each.domain for each in every)),
    )
    return (IN_TURN, *(text for text, so in said if so))


def proof_of(family: FamilyBound, trust: str) -> str:
    """How what no member of a family costs less than is proved.

    Args:
        family: what was proved.
        trust: what searches rest on.
    """
    nests = {(each.statement, each.sizes, each.homes, each.kept, each.begun) for each in family.nests}
    return PROOF.format(several(family.members, "way"), several(len(nests), "nest"), trust)
