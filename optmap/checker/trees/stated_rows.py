"""Statistics of rows: what a function of rows keeps of every row, a tensor that trees name like any other.

A statement `P[..] = .. softmax(.., l) ..` keeps two elements of every row, one that is layernorm's two, one that is
rmsnorm's one, of the size of its output's. The row of a point are the values of the output's dims that the function is
of, `l` left out. All points of the statement update it, and whoever reads the rows touches it.

A reader may come before a row is complete if what it has added up can be multiplied by a factor later: softmax and
rmsnorm multiply a row by one factor at a time (layernorm also subtracts), it is a factor of the statement, and of what
is done to its result in place; and the reader adds up products of it along one row. Else, or if the function is of
whole rows, a row has to be complete before. What is done in place is such a reader itself then, the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..chains.chain import StatedChain, dims_of
from ..core.tools import need

KEPT = {"softmax(": 2, "layernorm(": 2, "rmsnorm(": 1}
"""Elements of a row."""
FACTORS = ("softmax(", "rmsnorm(")
"""Functions that multiply the elements of a row by one factor."""


@dataclass(frozen=True)
class StatedRows:
    """The statistic of the rows of one statement."""

    name: str
    made: int
    """Number of the statement."""
    dims: list[str]
    """Of the rows, in the order of the output's subscripts."""
    weight: int
    """Words of a row."""
    readers: frozenset[int]
    """Numbers of the statements that read rows."""
    waits: bool
    """Whether a row has to be complete before."""


def stated_rows(chain: StatedChain) -> list[StatedRows]:
    """The statistics of rows of a chain.

    Raises:
        RefusedError: for a function of rows of which it is not known how its statistic is kept.
    """
    return [_rows(chain, number) for number, said in enumerate(chain.said) if said.rows]


def _rows(chain: StatedChain, number: int) -> StatedRows:
    said, (output, *inputs) = chain.said[number], chain.accesses[number]
    first, beyond = said.of
    along = {d for access in inputs[first:beyond] for d in dims_of(access)} - {said.along}
    plain = all(len(axis["terms"]) == 1 for axis in output["axes"])
    need(plain and said.along in dims_of(output), f"not counted: the rows of {said.name} have no dims of their own")
    need(said.name not in chain.outputs, f"not counted: {said.name} is an output and made by a function of rows")
    dims = [d for d in dims_of(output) if d in along]
    readers = _early(chain, number, dims)
    return StatedRows(
        name=f"{said.name}.row",
        made=number,
        dims=dims,
        weight=KEPT[said.rows] * chain.weights[said.name],
        readers=frozenset(_reading(chain, said.name) if readers is None else readers),
        waits=readers is None,
    )


def _reading(chain: StatedChain, tensor: str) -> list[int]:
    """Numbers of the statements that read a tensor."""
    return [n for n, accesses in enumerate(chain.accesses) if tensor in [a["tensor"] for a in accesses[1:]]]


def _early(chain: StatedChain, number: int, rows: list[str]) -> list[int] | None:
    """Numbers of the statements that read rows before they are complete; None if some cannot."""
    said = chain.said[number]
    if said.whole or said.rows not in FACTORS or not said.scales_rows:
        return None
    subscripts = dims_of(chain.accesses[number][0])
    place = subscripts.index(said.along)
    found, tensors = list[int](), [said.name]
    for tensor in tensors:
        if tensor in chain.outputs:
            return None
        for reader in _reading(chain, tensor):
            found.append(reader)
            output, *inputs = chain.accesses[reader]
            mine = [access for access in inputs if access["tensor"] == tensor]
            if chain.keeps_places(reader) and chain.said[reader].lets_through:
                tensors.append(chain.names[reader])
                continue
            along = [d for d, _ in mine[0]["axes"][place]["terms"]]
            if not chain.said[reader].multiplies or len(mine) > 1 or len(along) != 1 or along[0] in dims_of(output):
                return None
            if any({d for d, _ in mine[0]["axes"][subscripts.index(r)]["terms"]} - {*dims_of(output)} for r in rows):
                return None
    return found
