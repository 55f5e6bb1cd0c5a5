"""What chains of statements are by NumPy, and code of mapping trees held to it."""

from __future__ import annotations

from functools import reduce
from math import erf
from pathlib import Path

import numpy as np
from emitted import SANITIZED, run_together, values_of

from optmap.native import Code
from optmap.workloads.domain import Condition
from optmap.workloads.expression import Apply, Constant, Expression, OperandSeries, Read
from optmap.workloads.workload import Semantics, Workload

DONE = {
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2))),
    "abs": np.abs,
    "scale": np.multiply,
    "max": lambda *several: np.maximum.reduce(np.broadcast_arrays(*several)),
    "min": lambda *several: np.minimum.reduce(np.broadcast_arrays(*several)),
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
COMPARED = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater, "==": np.equal}
FLAGS = (*SANITIZED, "-march=native")


def wanted(workload: Workload, tensors: dict[str, np.ndarray]) -> np.ndarray:
    """The output by NumPy in double, a statement at a time."""
    known = {name: np.asarray(each, np.float64) for name, each in tensors.items()}
    for statement in workload.statements:
        dims = statement.dims
        at = dict(zip(dims, np.ix_(*(range(workload.extents[d]) for d in dims)), strict=True))
        read = [
            known[access.name][tuple(sum((c * at[d] for d, c in axis.terms), axis.offset) for axis in access.axes)]
            for access in statement.inputs
        ]
        every = [workload.extents[d] for d in dims]
        met = np.broadcast_to(reduce(np.logical_and, (_meets(each, at) for each in statement.domain), np.True_), every)
        points = np.where(met, np.broadcast_to(value(statement.right, read, (dims, met)), every), 0)
        found = points.sum(axis=tuple(dims.index(d) for d in statement.reduction_dims))
        added = workload.semantics is Semantics.ACCUMULATE and statement.name in known
        known[statement.name] = found + known[statement.name] if added else found
    return known[workload.statements[-1].name]


def _meets(condition: Condition, at: dict[str, np.ndarray]) -> np.ndarray:
    left, right = (
        sum((c * at[d] for d, c in side.terms), np.asarray(side.offset)) for side in (condition.left, condition.right)
    )
    return COMPARED[condition.relation.value](left, right)


def _of_rows(function: str, x: np.ndarray, axis: int, met: np.ndarray) -> np.ndarray:
    """A function of the elements of every row that there are."""
    sums = {"axis": axis, "keepdims": True, "where": met}
    count = np.maximum(np.sum(met, axis=axis, keepdims=True), 1)
    if function == "softmax":
        top = np.max(x, axis=axis, keepdims=True, where=met, initial=-1e9)
        powers = np.exp(np.where(met, x - top, -np.inf))
        return powers / np.maximum(np.sum(powers, axis=axis, keepdims=True), 1)  # the largest is 1
    centre = np.sum(x, **sums) / count if function == "layernorm" else np.zeros(x.shape)
    return (x - centre) / np.sqrt(np.sum((x - centre) ** 2, **sums) / count + 1e-5)


def value(part: Expression, read: list[np.ndarray], rows: tuple[tuple[str, ...], np.ndarray]) -> np.ndarray:
    match part:
        case Apply(function=function, arguments=(x, *_), dim=dim) if dim:
            return _of_rows(function, np.broadcast_to(value(x, read, rows), rows[1].shape), rows[0].index(dim), rows[1])
        case Read(number=number):
            return read[number]
        case Constant(text=text):
            return np.asarray(float(text))
        case OperandSeries(first=first, rest=rest):
            found = value(first, read, rows)
            for sign, other in rest:
                found = DONE[sign](found, value(other, read, rows))
            return found
        case Apply(function=function, arguments=arguments):
            return DONE[function](*(value(each, read, rows) for each in arguments))


def check(codes: list[Code], folder: Path, contents: list[list[np.ndarray]] | None = None) -> None:
    """All codes in one program with the sanitizers; whole numbers are exact, others near."""
    given = contents or [values_of(code, seed) for seed, code in enumerate(codes)]
    for code, values, found in zip(codes, given, run_together(codes, given, FLAGS, folder), strict=True):
        tensors = {buffer.tensor: each for buffer, each in zip(code.buffers, values, strict=True)}
        if code.workload.semantics is Semantics.ASSIGN:
            del tensors[code.buffers[0].tensor]
        right = wanted(code.workload, tensors)
        allowed = 0 if contents is None else 1e-5 * (1 + np.abs(right).max())
        assert (np.abs(found - right) <= allowed).all(), f"{code.workload.extents}\n{code.source}"
