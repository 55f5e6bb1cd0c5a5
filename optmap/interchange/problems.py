"""Problems of Timeloop: a shape with its data spaces, and an instance with the sizes."""

from __future__ import annotations

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, entries, located
from optmap.interchange.yaml_files import words_of
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Semantics, Workload, access_names


def workload_from(problem: Fields) -> Workload:
    """The workload of a `problem` part; its one output starts empty.

    Args:
        problem: with `shape`, and sizes and strides under `instance` or, as older files have them, beside it.

    Raises:
        InputError: naming file and field.
    """
    if not isinstance(problem.get("shape"), dict):
        raise InputError(f"{problem.at('shape')} is {describe(problem.get('shape'))}; write the shape out in the file")
    shape = problem.fields("shape")
    sizes = problem.fields("instance") if problem.given("instance") else problem
    dims = words_of(shape.get("dimensions"), shape.at("dimensions"))
    if not dims:
        raise InputError(f"{shape.at('dimensions')} is empty; name the dims")
    factors = _coefficients(shape, sizes)
    output: list[TensorAccess] = []
    inputs: list[TensorAccess] = []
    for space in shape.items("data_spaces"):
        axes = tuple(
            _axis(axis, dims, factors, f"{space.at('projection')}[{number}]")
            for number, axis in enumerate(entries(space.get("projection"), space.at("projection")))
        )
        (output if space.flag("read_write", False) else inputs).append(TensorAccess(name=space.text("name"), axes=axes))
    if len(output) != 1:
        raise InputError(
            f"{shape.at('data_spaces')}: {len(output)} have read_write: true; exactly one, the output, is needed"
        )
    used = {dim for tensor in (*output, *inputs) for dim in tensor.dims}
    extents = {dim: sizes.integer(dim) for dim in dims}
    unused = next((dim for dim in dims if dim not in used and extents[dim] > 1), None)
    if unused is not None:
        raise InputError(f"{shape.at('dimensions')}: {unused} is in no data space, but has size {extents[unused]}")
    try:
        return Workload.product(
            name=shape.text("name", "problem"),
            output=output[0],
            inputs=tuple(inputs),
            sizes=tuple((dim, extents[dim]) for dim in dims if dim in used),
            semantics=Semantics.ASSIGN,
        )
    except InputError as error:
        raise located(error, shape.where) from error


def _coefficients(shape: Fields, sizes: Fields) -> dict[str, int]:
    """Strides and dilations by name: what the instance says, or their default."""
    found = {}
    for item in shape.items("coefficients", least=0):
        name = item.text("name")
        found[name] = sizes.integer(name) if sizes.given(name) else item.integer("default", 1)
    return found


def _axis(value: object, dims: tuple[str, ...], factors: dict[str, int], where: str) -> Subscript:
    """`[[R, dilation], [P, stride]]`: a sum of dims with coefficients."""
    terms: dict[str, int] = {}
    for item in entries(value, where):
        parts = item if isinstance(item, list) else [item]
        if not 1 <= len(parts) <= 2 or parts[0] not in dims:
            raise InputError(f"{where}: {item!r} is no term; write [{dims[0]}] or [{dims[0]}, stride]")
        factor = parts[1] if len(parts) > 1 else 1
        number = factors.get(factor) if isinstance(factor, str) else factor
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(f"{where}: {factor!r} is no coefficient of the shape; known are {', '.join(factors)}")
        terms[str(parts[0])] = terms.get(str(parts[0]), 0) + number
    return Subscript(terms=tuple(terms.items()))


def problem_document(workload: Workload, extents: dict[str, int]) -> dict[str, object]:
    """A workload as a `problem` part.

    Offsets of subscripts are left out: no count depends on them.

    Args:
        workload: gives the tensors; one that is read twice has two names.
        extents: per dim, padded where a mapping pads them.
    """
    names = access_names(workload, mark="_")
    numbers = sorted({factor for tensor in workload.tensors for axis in tensor.axes for _, factor in axis.terms} - {1})
    coefficients = {number: _fresh(f"coefficient{number}", {*workload.dims, *names}) for number in numbers}
    spaces = []
    order = (*range(1, len(names)), 0)
    for place in order:
        tensor = workload.tensors[place]
        projection = [
            [[dim] if factor == 1 else [dim, coefficients[factor]] for dim, factor in axis.terms]
            for axis in tensor.axes
        ]
        written = {"name": names[place], "projection": projection}
        spaces.append(written if place else {**written, "read_write": True})
    shape = {
        "name": workload.name or "problem",
        "dimensions": list(workload.dims),
        "coefficients": [{"name": name, "default": number} for number, name in coefficients.items()],
        "data_spaces": spaces,
    }
    instance = {**extents, **{name: number for number, name in coefficients.items()}}
    return {"version": "0.4", "shape": shape, "instance": instance}


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
