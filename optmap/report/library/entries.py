"""What there is to work with: listings, and one workload, machine, network or sweep in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from optmap.base.page import prose
from optmap.base.shown import Shown
from optmap.base.texts import number, several
from optmap.files.machines import machine_document
from optmap.files.network import Network
from optmap.files.workloads import layer_document, workload_document
from optmap.machines.machine import Machine
from optmap.report.tables import (
    boundary_table,
    grid,
    machine_line,
    mapping_table,
    merged_block,
    pairs,
    shared_by,
    sizes,
    workload_lines,
)
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.answers.documents.solution import SavedSolution
    from optmap.report.library.methods import MethodEntry
    from optmap.search.explore.settings import Settable

Names = tuple[str, ...] | Mapping[str, str]
"""Names, or names with a line of description each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Shown):
    """Names of the library, kind by kind."""

    shown_as: ClassVar[str] = "listing"
    kinds: Mapping[str, Names]
    settings: Mapping[str, tuple[Settable, ...]] = field(default_factory=dict)
    """Per method what can be set of it, of those that have settings; if only methods are listed."""

    def __getitem__(self, kind: str) -> tuple[str, ...]:
        """The names of one kind, such as `workloads`."""
        return tuple(self.kinds[kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Shown):
    """One entry of the library, or of a file, in full."""

    shown_as: ClassVar[str] = "entry"
    kind: str
    """`workload`, `machine`, `network`, `sweep` or `method`."""
    value: Workload | Machine | Network | MethodEntry | None
    """What it is; None for a sweep, which is its text."""
    note: str
    """Where its numbers come from."""
    yaml: str
    """A file to edit that loads back equal; empty for a method."""


def listing_document(listing: Listing) -> dict[str, object]:
    """The JSON document of `list`."""
    kinds = {
        kind: [{"name": name, "description": text} | _settings(listing, kind, name) for name, text in names.items()]
        if isinstance(names, Mapping)
        else list(names)
        for kind, names in listing.kinds.items()
    }
    return {"schema": "optmap.list/1", **kinds}


def _settings(listing: Listing, kind: str, name: str) -> dict[str, object]:
    """What can be set of a method, in documents."""
    own = listing.settings.get(name, ()) if kind == "methods" else ()
    return {"settings": [asdict(each) for each in own]} if own else {}


def listing_table(listing: Listing) -> str:
    """One name a line; under a title if there are several kinds, of one kind with what can be set."""
    blocks = {
        kind: [f"{name}  {text}" for name, text in names.items()] if isinstance(names, Mapping) else list(names)
        for kind, names in listing.kinds.items()
    }
    if set(blocks) == {"methods"}:
        rows = zip(listing["methods"], blocks["methods"], strict=True)
        return "\n".join(line for name, row in rows for line in (row, *setting_lines(listing.settings.get(name, ()))))
    if len(blocks) == 1:
        return "\n".join(*blocks.values())
    return "\n".join(line for kind, block in blocks.items() for line in (f"{kind}:", *(f"  {row}" for row in block)))


def setting_lines(settings: Sequence[Settable]) -> list[str]:
    """A line per setting, default first, with what it is for."""
    texts = [f"--set {own.name}={own.default}" for own in settings]
    width = max(map(len, texts), default=0)
    return [prose(own.help, f"    {text:{width}}  ") for text, own in zip(texts, settings, strict=True)]


def entry_document(entry: Entry) -> dict[str, object]:
    """The JSON document of `show`."""
    if entry.value is None:
        return {"schema": "optmap.sweep-entry/1", "text": entry.yaml}
    document = entry.value.to_dict()
    return {**document, "note": entry.note} if entry.note or "note" not in document else document


def entry_table(entry: Entry) -> str:
    """The entry for people."""
    if entry.value is None:
        return entry.yaml.rstrip()
    text = str(entry.value)
    return f"{text}\n\n{prose(entry.note)}" if entry.note else text


def entry_yaml(entry: Entry) -> str:
    """The entry as a file."""
    return entry.yaml


def workload_entry(workload: Workload) -> dict[str, object]:
    """A workload as a document of its own."""
    return {"schema": "optmap.workload/1", **workload_document(workload), "note": ""}


def machine_entry(machine: Machine) -> dict[str, object]:
    """A machine as a document of its own."""
    return {"schema": "optmap.machine/1", **machine_document(machine), "note": ""}


def network_layers_document(network: Network) -> dict[str, object]:
    """The layers of a network as a document."""
    return {
        "schema": "optmap.network-layers/1",
        "name": network.name,
        "operations": network.operations,
        "layers": [layer_document(layer) for layer in network.layers],
        "note": network.note,
    }


def network_listing(network: Network) -> str:
    """The layers of a network as a table."""
    rows = [
        (layer.title, f"{layer.count}", f"{layer.operations * layer.count:,}", layer.expression, sizes(layer.extents))
        for layer in network.layers
    ]
    table = grid(("layer", "count", "operations", "statement", "extents"), "<>><<", rows)
    head = f"{network.name}: {several(network.occurrences, 'layer')}, {network.operations:,} multiply-accumulates"
    parts = (head, table, *merged_block(network.layers), prose(network.note))
    return "\n\n".join(part for part in parts if part)


def solution_table(solution: SavedSolution) -> str:
    """What a solution file says, for people; nothing in it is recounted."""
    rows = [*workload_lines(solution.workload), ("machine", machine_line(solution.machine))]
    for name, claim in (("cost", solution.cost), ("exact", solution.exact)):
        if claim is not None:
            rows.append((name, f"{number(claim.value)} {claim.unit} (as the file says)"))
    timed = solution.question.objective.timed
    parts = [pairs(rows), mapping_table(solution.workload, solution.machine, solution.mapping, timed=timed)]
    if solution.boundaries is not None:
        parts.append(boundary_table(solution.boundaries, shared_by(solution.machine, solution.mapping)))
    return "\n\n".join(parts)
