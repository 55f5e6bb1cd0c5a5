"""Points of a sweep as values, as single lines of text for workers, and their hashes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from optmap.base.errors import InputError
from optmap.files.fields import Fields
from optmap.files.machines import machine_document, machine_from
from optmap.files.reading import fingerprint
from optmap.files.workloads import read_workload, workload_document
from optmap.machines.machine import Machine
from optmap.search.methods import LIBRARY, METHODS
from optmap.search.plugins import PLUGINS, code_digest, load_plugin, own_policies
from optmap.sweeps.records.rows import Row
from optmap.sweeps.spec import BOUND, Options
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload

ANSWER_VERSIONS = dict.fromkeys((BOUND, *LIBRARY), 2)
"""Raised by one whenever a method's answers change: older ones are then solved again."""
COUNTED_VERSIONS = {("exact", "timeloop"): 3, ("allocation", "timeloop"): 3}
"""Likewise where the answers of one counting alone have changed."""
SEEDLESS = {BOUND, *(name for name in LIBRARY if METHODS[name].explorer is None)}
"""Methods whose answers do not depend on the seed; those of a user's may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPoint:
    """One workload on one machine, answered by one method."""

    workload: Workload
    machine: Machine
    level: str
    """Level that the row is about."""
    method: str
    options: Options
    seed: int
    input_hash: str
    """SHA-256 of everything that the answer depends on."""

    @property
    def capacity(self) -> Capacity:
        """Capacity of the level."""
        return next(level.room for level in self.machine.levels if level.name == self.level)

    @property
    def capacity_words(self) -> int:
        """Capacity of the level, in words of the workload."""
        return self.capacity.words(self.workload.word_bits)

    @property
    def key(self) -> tuple[str | int, ...]:
        """Identity of its row."""
        names = (self.workload.title, self.machine.name, self.level, self.capacity_words)
        return (*names, self.method, self.input_hash)


def make_point(
    workload: Workload, machine: Machine, *, level: str, method: str, options: Options, seed: int
) -> GridPoint:
    """A point with its hash; options do not matter to a bound, nor the seed to methods that draw no random numbers."""
    depends: dict[str, object] = {
        "answers": COUNTED_VERSIONS.get((method, options.counting or ""), ANSWER_VERSIONS.get(method, 1)),
        "workload": _nameless_workload(workload),
        "machine": _nameless_machine(machine),
        "level": level,
        "method": method,
        "cores": options.cores,
        "innermost": options.innermost,
    }
    if method != BOUND:
        depends |= {"options": options.document}
    if method not in ANSWER_VERSIONS:
        depends |= {"code": code_digest(method)}
    if own := own_policies(options.counting):
        depends |= {"counted by": [code_digest(key) for key in own]}
    if method not in SEEDLESS:
        depends |= {"seed": seed}
    return GridPoint(
        workload=workload,
        machine=machine,
        level=level,
        method=method,
        options=options,
        seed=seed,
        input_hash=fingerprint(depends),
    )


def certificate_name(workload: Workload, memory_words: int) -> str:
    """Name of the certificate of the bound of a workload for one fast memory."""
    return fingerprint(
        {"answers": ANSWER_VERSIONS[BOUND], "workload": _nameless_workload(workload), "memory_words": memory_words}
    )


def task_text(point: GridPoint) -> str:
    """The point as one line of JSON, complete for a worker without any files."""
    return json.dumps(
        {
            "workload": workload_document(point.workload),
            "machine": machine_document(point.machine),
            "level": point.level,
            "method": point.method,
            "options": point.options.document,
            "seed": point.seed,
            **({"plugins": list(PLUGINS)} if _own(point) else {}),
        },
        separators=(",", ":"),
    )


def _own(point: GridPoint) -> bool:
    """Whether a point asks for something that optmap has not of itself."""
    traits = any(level.traits for level in point.machine.levels)
    return traits or point.method not in ANSWER_VERSIONS or bool(own_policies(point.options.counting))


def load_plugins(text: str) -> None:
    """Import the plug-ins that the point of a line needs.

    Raises:
        InputError: if one cannot be imported in this process.
    """
    if '"plugins":' in text:
        for name in json.loads(text).get("plugins", ()):
            load_plugin(name)


def read_task(text: str) -> GridPoint:
    """The point of a line.

    Raises:
        InputError: if the line is not one that `task_text` makes.
    """
    try:
        fields = Fields.of(json.loads(text), "task")
    except ValueError as error:
        raise InputError(f"task: not a JSON document: {error}") from error
    options = fields.fields("options")
    return make_point(
        _read_workload(json.dumps(fields.get("workload"))),
        machine_from(fields.fields("machine")),
        level=fields.text("level"),
        method=fields.text("method"),
        options=Options(**options.values),  # type: ignore[arg-type]
        seed=fields.integer("seed", least=0),
    )


@lru_cache(maxsize=64)
def _read_workload(text: str) -> Workload:
    """Points of one workload come one after another; parse it once."""
    return read_workload(Fields.of(json.loads(text), "task: workload"))


@lru_cache(maxsize=64)
def _nameless_workload(workload: Workload) -> dict[str, object]:
    document = workload_document(workload)
    return {key: value for key, value in document.items() if key not in ("name", "count")}


def _nameless_machine(machine: Machine) -> dict[str, object]:
    return {key: value for key, value in machine_document(machine).items() if key != "name"}


def blank_row(point: GridPoint, *, stop: str, error: str = "", seconds: float = 0.0) -> Row:
    """The row of a point without any answer.

    Args:
        point: which one.
        stop: why there is no answer.
        error: the same in words.
        seconds: time spent on it.
    """
    mapping = point.method != BOUND
    return Row(
        workload=point.workload.title,
        machine=point.machine.name,
        level=point.level,
        capacity_words=point.capacity_words,
        capacity_bytes=float(point.capacity.bytes(point.workload.word_bits)),
        word_bits=point.workload.word_bits,
        method=point.method,
        objective=(point.options.objective or "") if mapping else "",
        semantics=point.workload.semantics.value,
        tiles=point.options.tiles.value if mapping else "",
        capacity_rule=point.options.capacity.value if mapping else "",
        cores=point.options.cores,
        constraints="; ".join(point.options.constraints.texts) if mapping else "",
        count=point.workload.count,
        operations=point.workload.operations,
        stop=stop,
        point="none",
        seconds=seconds,
        seed=point.seed,
        input_hash=point.input_hash,
        error=error,
    )
