"""Documents that stand for code: what `run` and `bench` wrote, for the mapping that was fastest, and mapping trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from optmap.answers.documents.saved_tree import is_tree, saved_tree_from
from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.files.codes import options_from
from optmap.files.fields import Fields
from optmap.files.machines import machine_from
from optmap.files.mappings import read_mapping
from optmap.files.reading import read_json
from optmap.files.workloads import read_workload
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.tree import MappingTree
from optmap.native.code import Code, Ran
from optmap.native.emit.emit import emit_code
from optmap.workloads.workload import Workload

SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FastestMapping:
    """The fastest mapping of one layer of a document."""

    workload: Workload
    """As the code computed it."""
    machine: Machine
    mapping: Mapping | MappingTree
    options: CodeOptions
    threads: int
    ran: Ran | None
    """None of a mapping tree, whose code was not run."""


def is_document(text: str) -> bool:
    """Whether a workload is meant as one of a document: `run.json`, or `run.json/NAME` of several."""
    return text.endswith(SUFFIX) or f"{SUFFIX}/" in text


def code_of_document(text: str, *, machine: Machine | None = None, threads: int | None = None) -> Code:
    """The code that was fastest in a document of `run` or `bench`, or that of a mapping tree.

    Args:
        text: the file; with `/NAME` behind it one workload of several.
        machine: that the code is written for; None for that of the document. Where that makes it other code than what
            ran, it has no time.
        threads: only of code with as many; None for any.

    Raises:
        InputError: for another document, several workloads without a name, no such threads, or nothing that was right.
    """
    path, name = _parted(text)
    found = [each for each in _read(path) if threads is None or each.threads == threads]
    if not found:
        raise InputError(f"{path}: no code that is right was timed in it" + _with_threads(threads))
    titles = list(dict.fromkeys(each.workload.title for each in found))
    if name is None and len(titles) > 1:
        raise InputError(f"{path} has {len(titles)} workloads: {', '.join(titles)}; name one, as in {path}/{titles[0]}")
    title = titles[0] if name is None else choose("workload", name, titles, where=str(path))
    mine = [each for each in found if each.workload.title == title]
    if any(replace(each.workload, count=1) != replace(mine[0].workload, count=1) for each in mine):
        raise InputError(f"{path}: two different workloads are called {title!r}; run the one that is meant alone")
    best = max(mine, key=lambda each: each.ran.gflops if each.ran else 0)
    code = emit_code(best.workload, best.mapping, best.machine, best.options)
    if machine is None:
        return replace(code, ran=best.ran)
    other = emit_code(best.workload, best.mapping, machine, best.options)
    if other.source == code.source:
        return replace(other, ran=best.ran)
    note = f"the code is written for {machine.name}, and is not the code that was timed in {path.name}"
    return replace(other, notes=(*other.notes, note))


def _with_threads(threads: int | None) -> str:
    return "" if threads is None else f" with {threads} {'thread' if threads == 1 else 'threads'}"


def _parted(text: str) -> tuple[Path, str | None]:
    """The file, and the name behind it."""
    if Path(text).is_file() or text.endswith(SUFFIX):
        return Path(text), None
    file, _, name = text.rpartition(f"{SUFFIX}/")
    while not Path(file + SUFFIX).is_file() and f"{SUFFIX}/" in file:
        file, _, more = file.rpartition(f"{SUFFIX}/")
        name = f"{more}{SUFFIX}/{name}"
    return Path(file + SUFFIX), name


def _read(path: Path) -> list[FastestMapping]:
    fields = read_json(path)
    if is_tree(fields):
        tree = saved_tree_from(fields).tree
        options = CodeOptions()
        return [
            FastestMapping(
                workload=tree.workload, machine=tree.machine, mapping=tree, options=options, threads=1, ran=None
            )
        ]
    schema = fields.text("schema", "")
    reader = READERS.get(schema)
    if reader is None:
        solution = "; a solution is given with --mapping" if schema.startswith("optmap.solution/") else ""
        raise InputError(
            f"{path}: schema is {schema!r}; code is emitted from mapping trees and from what optmap run and optmap "
            f"bench write{solution}"
        )
    return list(reader(fields, path.name))


def _runs(top: Fields, name: str) -> Iterable[FastestMapping]:
    """Layers of `run` of which a mapping is right."""
    options = options_from(top.fields("options"))
    for layer in top.items("layers"):
        if not layer.given("best") or not layer.given("measured"):
            continue
        holder = layer if layer.has("machine") else top
        timing = layer.fields("measured")
        tried = len(layer.items("candidates"))
        yield _found(layer, holder, options, _ran(timing, "seconds", layer, tried, f"optmap run, {name}"))


def _benches(top: Fields, name: str) -> Iterable[FastestMapping]:
    """Layers of `bench`, each with one number of threads and one state of the caches."""
    for layer in top.items("layers"):
        given = (
            layer.fields("options") if layer.has("options") else Fields.of({"layout": layer.get("layout")}, layer.where)
        )
        ours = layer.fields("ours")
        by = f"optmap bench, {layer.text('caches')} caches, {name}"
        yield _found(layer, top, options_from(given), _ran(ours, "median_s", ours, layer.integer("candidates"), by))


READERS: dict[str, Callable[[Fields, str], Iterable[FastestMapping]]] = {
    "optmap.run/1": _runs,
    "optmap.bench/1": _benches,
}


def _ran(timing: Fields, key: str, rates: Fields, tried: int, by: str) -> Ran:
    return Ran(gflops=rates.positive("gflops"), seconds=timing.positive(key), tried=tried, by=by)


def _found(layer: Fields, holder: Fields, options: CodeOptions, ran: Ran) -> FastestMapping:
    workload, machine = read_workload(layer.fields("workload")), machine_from(holder.fields("machine"))
    return FastestMapping(
        workload=workload,
        machine=machine,
        mapping=read_mapping(layer.fields("mapping"), workload, machine),
        options=options,
        threads=layer.integer("threads"),
        ran=ran,
    )
