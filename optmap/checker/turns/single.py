"""One statement of a chain on a machine with meshes, and what is given to it from outside."""

from __future__ import annotations

from typing import Any

from ..chains.chain import Access, StatedChain, dims_of
from ..core.fabric import StatedFabric
from ..core.tools import need


def is_in_place(chain: StatedChain, number: int) -> bool:
    """Whether a statement makes its elements in place of those of the one tensor that it reads."""
    output, *inputs = chain.accesses[number]
    said = chain.said[number]
    alone = len(inputs) == 1 and not said.rows
    return alone and chain.held[inputs[0]["tensor"]] == chain.held[output["tensor"]]


def is_of_rows(chain: StatedChain, number: int) -> bool:
    """Whether a statement makes each element from a whole row, at every point of it: done where the row is."""
    said = chain.said[number]
    output, *inputs = (set(dims_of(access)) for access in chain.accesses[number])
    plain = said.sign in ("=", "+=") and bool(said.rows)
    return plain and all(dims <= output for dims in inputs)


def has_nest(chain: StatedChain, number: int) -> bool:
    """Whether a statement is a nest of loops: it is not done where its elements are."""
    return not is_in_place(chain, number) and not is_of_rows(chain, number)


def single_fabric(chain: StatedChain, number: int, machine: Any, left: dict[str, int]) -> StatedFabric:
    """A product of a chain on a machine, on what is left of its dims.

    A function of several tensors element by element moves what their product would, and takes an operation at each
    point as well. Under a condition all points are done.

    Raises:
        RefusedError: for a statement that is no product.
    """
    said = chain.said[number]
    output, *inputs = (set(dims_of(access)) for access in chain.accesses[number])
    pointwise = said.sign in ("=", "+=") and not said.rows and len(inputs) > 1 and all(d <= output for d in inputs)
    need(said.multiplies or pointwise, f"not counted: {said.name}, which is no sum of products")
    return touched_fabric(chain, number, machine, left)


def touched_fabric(chain: StatedChain, number: int, machine: Any, left: dict[str, int]) -> StatedFabric:
    """A statement as the product of what it reads, on a machine."""
    texts = [_text(access) for access in chain.accesses[number]]
    used = {access["tensor"] for access in chain.accesses[number]}
    document = {
        "expression": f"{texts[0]} = {' * '.join(texts[1:])}",
        "extents": {d: left[d] for d in chain.extents if d in chain.dims[number]},
        "semantics": "assign",
        "bytes": {tensor: size for tensor, size in chain.bytes.items() if tensor in used},
    }
    fabric = StatedFabric(document, machine)
    need(not fabric.work.padded, "on an accelerator padding is stored")
    return fabric


def _text(access: Access) -> str:
    """An access as statements have it."""
    axes = []
    for axis in access["axes"]:
        need("real" not in axis, "on an accelerator padding is stored")
        parts = [dim if factor == 1 else f"{factor}*{dim}" for dim, factor in axis["terms"]]
        parts += [str(axis["offset"])] if axis["offset"] or not parts else []
        axes.append("+".join(parts))
    return f"{access['tensor']}[{','.join(axes)}]"


def places_of(chain: StatedChain, number: int, tensor: str) -> list[int]:
    """Numbers of the accesses of a statement to a tensor, by the name under which it is stored."""
    return [i for i, access in enumerate(chain.accesses[number]) if chain.held[access["tensor"]] == tensor]


def alone_there(fabric: StatedFabric, number: int) -> bool:
    """Whether there is one instance of a memory, bounded and without parts."""
    whole = number < len(fabric.memories) - 1 and len(fabric.memories[number].rooms) == 1
    named = whole and fabric.memories[number].rooms[0][0] == fabric.memories[number].name
    return named and fabric.instances(number) == 1


def give(fabric: StatedFabric, places: list[int], number: int) -> None:
    """Make a memory the outermost one of some accesses: it must keep them, those outside must not.

    Raises:
        RefusedError: for a memory that must not keep them, or of which there are several.
    """
    memory = fabric.memories[number]
    need(alone_there(fabric, number), f"not counted: what stays in {memory.name}, which has instances or parts")
    for i in places:
        need(memory.keeps[i] != "refused", f"{memory.name} must not keep {fabric.operands[i][0]}")
        memory.keeps[i] = "kept"
        for outer in fabric.memories[number + 1 :]:
            outer.keeps[i] = "refused"
