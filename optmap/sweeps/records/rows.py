"""The flat rows of a sweep: one per point, the unit in every name.

A point is a workload on a machine at one capacity of one level, answered by one method. The
columns are fixed: other tools read the Parquet files directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = "optmap.rows/4"
LARGEST_INTEGER = 2**63 - 1
WIDE = ("operations", "compulsory_words", "traffic_words", "bound_words")
"""Whole numbers that pass 2^63 on large workloads: columns of 38 decimal digits, lossless."""
WIDE_DIGITS = 38
KEY = ("workload", "machine", "level", "capacity_words", "method", "input_hash")
"""Columns that identify a row; the final data set is sorted by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The answer to one point; None where the method has no such number."""

    workload: str
    """Name, or the statement of a workload without one."""
    machine: str
    """Name of the machine; `two-level` for one fast memory below a large one."""
    level: str
    """Level that the capacity and the traffic belong to: the swept one, else the outermost."""
    capacity_words: int
    """Capacity of one instance of `level`, in words of the workload."""
    capacity_bytes: float
    """The same in bytes: what rows of workloads with other element sizes are compared by."""
    word_bits: int
    """Bits of one word of the workload, the unit of its words."""
    method: str
    """`bound`, or a mapping method such as `mopt`."""
    objective: str
    """What a mapping method minimised; empty for `bound`."""
    semantics: str
    """`accumulate` or `assign`."""
    tiles: str
    """`any` or `divisors`; empty for `bound`."""
    capacity_rule: str
    """`tile` or `safe`; empty for `bound`."""
    cores: int
    """Cores in use."""
    constraints: str = ""
    """What tiles and loop orders had to be, `; ` between them; empty for `bound`, or for none."""
    count: int
    """How often the workload occurs in its network."""
    operations: int
    """Multiply-accumulates of one occurrence."""
    compulsory_words: int | None = None
    """Loads and stores that no memory can save, however large."""
    traffic_words: int | None = None
    """Exact loads and stores of the mapping across the outer boundary of `level`."""
    bound_words: int | None = None
    """Proved lower bound on `traffic_words` of any schedule."""
    traffic_gap: float | None = None
    """traffic_words / bound_words - 1: of the words across the outer boundary of `level`."""
    bound_method: str = ""
    """Method of the bound that `bound` and `bound_words` come from."""
    cost: float | None = None
    """`objective` of the mapping in per-level form, in `cost_unit`; a float64, as all that may be a fraction."""
    exact: float | None = None
    """`objective` of the concatenated nest, in `bound_unit`: the number of the solution document."""
    cost_unit: str = ""
    """`words` or `cycles`."""
    bound: float | None = None
    """Proved lower bound on `exact`, in `bound_unit`; of a bound, on the bottleneck of any schedule."""
    bound_unit: str = ""
    """`words` on a machine of one level with a bandwidth of one word per cycle, else `cycles`."""
    gap: float | None = None
    """exact / bound - 1: how far the mapping can be from the best schedule under `objective`."""
    integer_gap: float | None = None
    """cost / relaxation - 1."""
    counting: str = ""
    """On accelerators `exact` or `timeloop`; empty elsewhere."""
    energy_pj: float | None = None
    """Energy of the mapping on an accelerator, arithmetic included."""
    cycles: int | None = None
    """Cycles of the mapping on an accelerator."""
    edp: float | None = None
    """energy_pj times cycles."""
    utilisation: float | None = None
    """Operations over what all arithmetic units could do in these cycles."""
    search_bound: float | None = None
    """Proved lower bound on `objective` of every mapping of the accelerator's space."""
    evaluations: int | None = None
    """Mappings or partial ones that the search priced."""
    valid_share: float | None = None
    """Of the evaluations, of a method that has mappings judged one by one."""
    seconds_to_best: float | None = None
    """Of searching until the mapping was found, of a method that says."""
    proved: bool | None = None
    """Whether no mapping of the method's space costs less; None without a mapping."""
    within: float | None = None
    """cost over the proved bound on the costs of that space, minus one."""
    stop: str
    """Why the method stopped: `optimal` (proved), `search_ended` (not proved), `infeasible`,
    `time_limit`, `killed`, `crash`, `error`, `check`."""
    point: str
    """What is held: `none`, `feasible`, `local_optimum`, `global_optimum`; `bound` for a bound."""
    seconds: float = 0.0
    """Wall-clock time of the answer; of another run if the answer was reused."""
    seed: int
    version: str = ""
    """Version of optmap that made the answer."""
    input_hash: str
    """SHA-256 (hex) of everything that the answer depends on, names left out; names the solution file."""
    mapping: str = ""
    """Levels of the mapping as JSON, inner first: tile, loop order and split, as in the solution document."""
    certificate: str = ""
    """Name of the certificate file of the bound, without suffix; empty if there is none."""
    error: str = ""
    """Why there is no answer; empty if there is one."""

    @property
    def key(self) -> tuple[str | int, ...]:
        """Identity of the row."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def failed(self) -> bool:
        """Whether there is no answer though there might be one (a proved infeasibility is an answer)."""
        return bool(self.error) and self.stop != "infeasible"


COLUMNS = tuple(field.name for field in fields(Row))
"""Names of the columns, in order."""
FAILURES = ("killed", "crash", "interrupted")
"""Values of `stop` that say nothing about the point itself: it may be worth another try."""


def row_of(values: Mapping[str, object]) -> Row:
    """A row from its columns, as read from a file."""
    found = {name: values[name] for name in COLUMNS if name in values}
    return Row(**{name: int(value) if isinstance(value, Decimal) else value for name, value in found.items()})  # type: ignore[arg-type]


def as_dict(row: Row) -> dict[str, object]:
    """The columns of a row; a whole number that its column cannot hold becomes None."""
    return {name: _storable(name, getattr(row, name)) for name in COLUMNS}


def _storable(name: str, value: object) -> object:
    largest = 10**WIDE_DIGITS - 1 if name in WIDE else LARGEST_INTEGER
    return None if isinstance(value, int) and abs(value) > largest else value


def arrow_schema() -> pa.Schema:
    """The Parquet schema of the rows, with the version of the columns in its metadata."""
    import pyarrow as pa

    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    made = []
    for field in fields(Row):
        name = str(field.type)
        kind = pa.decimal128(WIDE_DIGITS, 0) if field.name in WIDE else kinds[name.removesuffix(" | None")]
        made.append(pa.field(field.name, kind, nullable=name.endswith("None") or field.name in WIDE))
    return pa.schema(made, metadata={"schema": SCHEMA_VERSION})
