"""Chains of two products in a model: of a tensor that one product makes and one other reads, both as one workload.

    S[b,m,l] = A[b,m,k] * B[b,l,k]        C[b,m,n] = S[b,m,l] * D[b,l,n]

The index of S is a number whose digits both products read, each cut where either has an end; digits that the same
operands have are one dim. Functions between the two are done in place and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path

from optmap.base.texts import several
from optmap.onnx_import.graph import IndexDigit, OperatorNode
from optmap.onnx_import.model import ImportedModel, model_of, read_products
from optmap.onnx_import.operators import Made
from optmap.onnx_import.origins import are_apart
from optmap.onnx_import.passages import TensorPassage, ValueFlow, passage
from optmap.onnx_import.products import IndexPart, parts_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload, bytes_of

TENSORS = "ABSDC"
"""What the first product reads, what it makes, what the second one reads beside that, and what it makes."""
NAMES = {"ABSDC": "b", "ASC": "m", "BSC": "m", "ASD": "l", "BSD": "l", "AB": "k", "DC": "n"}
"""Dims by the tensors that have them."""
OTHER_NAMES = "ghijopqrstuvwxyz"
"""Of dims that chains of two products of matrices have not."""
ORDER = "bmlkn"
"""Of the dims, behind any others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChain:
    """Products of two layers, of which the second alone reads what the first makes."""

    workload: Workload
    """Both as one, with the number of its occurrences."""
    layers: tuple[str, str]
    """Names of the two layers."""
    pairs: tuple[tuple[int, int], ...]
    """Numbers of the two products of every occurrence."""
    passed: tuple[str, ...]
    """Operators between them, done in place; of the first occurrence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlinked:
    """A product that is the first of no chain."""

    product: int
    """Its number."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedModel:
    """The products of a model, and the chains that they make."""

    name: str
    """Of the file, without its ending."""
    model: ImportedModel
    products: tuple[str, ...]
    """Names of all products, in the order of the graph; their places are their numbers."""
    chains: tuple[LayerChain, ...]
    """One per shape and pair of layers."""
    unlinked: tuple[Unlinked, ...]


def import_chains(path: str | Path, dims: Mapping[str, int] | None = None) -> LinkedModel:
    """Read the products of an ONNX model and find the chains among them.

    Args:
        path: an ONNX file; external weights need not be there.
        dims: extents of dynamic dims of the inputs, by name or as `input[axis]`.

    Raises:
        InputError: as for `import_model`.
    """
    nodes = read_products(Path(path), dims or {})
    model = model_of(Path(path), nodes)
    flow = ValueFlow([node for node, _ in nodes])
    made = {number: own for number, (_, own) in enumerate(nodes) if own is not None}
    places = {number: place for place, number in enumerate(made)}
    titles = {replace(each, name="", count=1): each.title for each in model.workloads}
    layers = {number: titles[replace(own.workload, name="")] for number, own in made.items()}
    found: dict[tuple[Workload, str, str], list[tuple[int, TensorPassage]]] = {}
    unlinked: list[Unlinked] = []
    for number in made:
        way = passage(flow, flow.nodes[number].outputs[0], made)
        chain = way if isinstance(way, str) else _chain(flow, made, number, way)
        if isinstance(way, str) or isinstance(chain, str):
            unlinked.append(Unlinked(product=places[number], reason=str(chain)))
        else:
            found.setdefault((chain, layers[number], layers[way.reader]), []).append((number, way))
    return LinkedModel(
        name=Path(path).stem,
        model=model,
        products=tuple(own.workload.name for own in made.values()),
        chains=tuple(
            LayerChain(
                workload=replace(chain, name=f"{first} > {second}", count=len(ends)),
                layers=(first, second),
                pairs=tuple((places[number], places[way.reader]) for number, way in ends),
                passed=ends[0][1].passed,
            )
            for (chain, first, second), ends in found.items()
        ),
        unlinked=tuple(unlinked),
    )


def _chain(flow: ValueFlow, made: Mapping[int, Made], number: int, way: TensorPassage) -> Workload | str:
    """Two products as one workload, or in words why they are none."""
    nodes, (first, second) = (flow.nodes[number], flow.nodes[way.reader]), (made[number], made[way.reader])
    problem = _problem(nodes, (first, second), way)
    if problem:
        return problem
    terms = [replace(t, value=way.value) if place == way.place else t for place, t in enumerate(second.terms)]
    a, b, d = (*(term.value for term in first.terms), terms[1 - way.place].value)
    if not all(are_apart(flow.makers, one, other) for one, other in combinations((a, b, d), 2)):
        return "two operands are parts of one tensor that may overlap"
    makes, reads = parts_of(nodes[0], first.terms, first.result), parts_of(nodes[1], terms, second.result)
    if way.place == 0:  # of the second product first what it reads beside the intermediate
        reads = [replace(p, reads=(p.reads[1], p.reads[0], p.reads[2]), strides=p.strides[::-1]) for p in reads]
    shared = _shared(_written(makes, first.result), _read(reads))
    if shared is None:
        return "not all of its elements are read, or not in an order that is followed"
    if way.normalised and not _is_online(shared, way.normalised):
        return "a softmax goes over other dims than the second product sums over, so that it has to be complete first"
    extents = _extents(shared, makes, reads)
    if not extents:
        return "each of both products is a single operation"
    bits = dict(zip(TENSORS, (a.bits, b.bits, way.value.bits, d.bits, nodes[1].outputs[0].bits), strict=True))
    return _workload(extents, bits)


def _problem(nodes: Sequence[OperatorNode], made: Sequence[Made], way: TensorPassage) -> str:
    """Why two nodes are not two products of two whole tensors; nothing if they are."""
    for node, own, who in zip(nodes, made, ("it", "what reads it"), strict=True):
        if not own.terms:
            return (
                f"{who} is a {node.operator} with windows, strides or groups; chains are of products of whole tensors"
            )
        if len(own.terms) != 2:
            return f"{who} is a product of {several(len(own.terms), 'tensor')}; chains are of products of two"
    if way.place > 1:
        return f"{nodes[1].operator} adds it, and does not multiply by it"
    if nodes[0].outputs[0].bits != way.value.bits:
        return "its elements have another size where they are read"
    return ""


def _extents(shared: Sequence[DigitRange], makes: Sequence[IndexPart], reads: Sequence[IndexPart]) -> dict[str, int]:
    """Extents of all dims but those of 1, by the tensors that have them."""
    found: dict[str, int] = {}
    for tensors, extent in [
        *((each.tensors, each.high // each.low) for each in reversed(shared)),
        *((_named("AB", part.reads), part.extent) for part in makes if not part.reads[2]),
        *((_named("D C", part.reads), part.extent) for part in reads if not part.reads[1]),
    ]:
        if extent > 1:
            found[tensors] = found.get(tensors, 1) * extent
    return found


@dataclass(frozen=True, slots=True)
class DigitRange:
    """Neighbouring digits of the index of the tensor between two products."""

    low: int
    """Elements between two values of them."""
    high: int
    """The same of the digits in front."""
    tensors: str
    """Which have them."""


def _named(names: str, reads: Sequence[bool]) -> str:
    return "".join(name for name, has in zip(names, reads, strict=False) if has).replace(" ", "")


def _written(parts: Sequence[IndexPart], result: Sequence[str]) -> list[DigitRange]:
    """The index of what a product makes, the fastest digits first."""
    found, low = list[DigitRange](), 1
    for part in reversed([part for index in result for part in parts if part.index == index and part.extent > 1]):
        found.append(DigitRange(low, low * part.extent, _named("AB", part.reads) + "S"))
        low *= part.extent
    return found


def _read(parts: Sequence[IndexPart]) -> list[DigitRange]:
    """The same of what a product reads, whose other operand is its first one."""
    found = [
        DigitRange(part.strides[1], part.strides[1] * part.extent, _named("D C", part.reads))
        for part in parts
        if part.reads[1] and part.extent > 1
    ]
    return sorted(found, key=lambda each: each.low)


def _shared(written: Sequence[DigitRange], read: Sequence[DigitRange]) -> list[DigitRange] | None:
    """The index with all tensors that have its digits, cut where either is; None if it is not one index."""
    for own in (written, read):
        if [each.low for each in own] != [1, *(each.high for each in own)][: len(own)]:
            return None
    cuts = sorted({1, *(each.high for each in (*written, *read))})
    if [each.high for each in written[-1:]] != [each.high for each in read[-1:]]:
        return None
    if any(high % low for low, high in pairwise(cuts)):
        return None
    return [
        DigitRange(low, high, "".join(e.tensors for own in (written, read) for e in own if e.low <= low < e.high))
        for low, high in pairwise(cuts)
    ]


def _is_online(shared: Sequence[DigitRange], normalised: Sequence[IndexDigit]) -> bool:
    """Whether the sums of the second product go over what a softmax goes over: all of it and nothing else."""
    rows = [(digit.stride, digit.stride * digit.extent) for digit in normalised]
    return all(
        not any(each.low < high and low < each.high for low, high in rows)
        if "C" in each.tensors
        else any(low <= each.low and each.high <= high for low, high in rows)
        for each in shared
    )


def _workload(extents: Mapping[str, int], bits: Mapping[str, int]) -> Workload:
    """Both statements, from the extents by tensors that have a dim."""
    names, free = dict[str, str](), iter(OTHER_NAMES)
    for tensors in extents:
        wanted = NAMES.get(tensors, "")
        names[tensors] = wanted if wanted and wanted not in names.values() else next(free)
    order = sorted(extents, key=lambda tensors: (ORDER.find(names[tensors]), names[tensors]))
    at = {t: f"{t}[{','.join(names[tensors] for tensors in order if t in tensors)}]" for t in TENSORS}
    return parse_workload(
        f"{at['S']} = {at['A']} * {at['B']}; {at['C']} = {at['S']} * {at['D']}",
        {names[tensors]: extents[tensors] for tensors in order},
        bytes={tensor: bytes_of(size) for tensor, size in bits.items()},
    )
