"""Reading the rows of a finished or a running sweep, and the documents behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.base.errors import CheckError, InputError
from optmap.base.values import file_path

if TYPE_CHECKING:
    import pandas as pd


def read_sweep(directory: str | Path, *, tiles: bool = False) -> pd.DataFrame:
    """The rows of a sweep as a table, sorted, every point once.

    Works while the sweep runs: it shows what has been answered so far. The columns are the fields
    of `optmap.sweeps.records.rows.Row`; `sweep_document` gives the whole answer behind a row. DuckDB reads the
    same files: `SELECT * FROM 'DIR/rows/*.parquet'`.

    Args:
        directory: what `optmap sweep -o` wrote.
        tiles: add the mapping as columns: `L1_tile_k` for the extent of dim k in the tile of level
            L1, and `L1_loops` for the loops over these tiles, outermost first.

    Returns:
        One row per point; missing numbers are NaN or `<NA>`. Whole numbers keep their type: `Int64`,
        or Python integers in a column where one of them is beyond 2^63 - 1.

    Raises:
        InputError: if there is no sweep in the directory, or pandas or pyarrow is not installed.
    """
    from optmap.sweeps.records.rows import WIDE
    from optmap.sweeps.store import read_rows
    from optmap.sweeps.stored import require

    require("pandas", "pyarrow")
    table = read_rows(file_path(directory, "directory"))
    frame: pd.DataFrame = table.to_pandas()
    whole = [field.name for field in table.schema if str(field.type) == "int64"]
    frame = frame.astype(dict.fromkeys(whole, "Int64"))
    for name in WIDE:
        frame[name] = _whole_numbers(frame[name])
    return _with_tiles(frame) if tiles else frame


def _whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Decimals as `Int64`, or as Python integers where one of them does not fit."""
    import pandas as pd

    values = [None if value is None else int(value) for value in column]
    fits = all(value is None or -(2**63) <= value < 2**63 for value in values)
    return pd.Series(values, index=column.index, name=column.name, dtype="Int64" if fits else "object")


def _with_tiles(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a column per level and dim, and one per level for the loops."""
    import pandas as pd

    found: dict[str, list[int | str | None]] = {}
    for place, text in enumerate(frame["mapping"]):
        for level in json.loads(text) if text else ():
            cells = {f"{level['level']}_tile_{dim}": size for dim, size in level["tile"].items()}
            for name, value in {**cells, f"{level['level']}_loops": ",".join(level["permutation"])}.items():
                found.setdefault(name, [None] * len(frame))[place] = value
    kinds = {name: "object" if name.endswith("_loops") else "Int64" for name in found}
    made = {name: pd.Series(values, index=frame.index, dtype=kinds[name]) for name, values in found.items()}
    return pd.concat([frame, pd.DataFrame(made)], axis=1)


def document_path(directory: str | Path, row: Mapping[Any, Any] | str) -> Path:
    """The file behind a row of a sweep: a solution, or what was proved of a bound; `optmap check` reads both.

    Args:
        directory: of the sweep.
        row: a row of `read_sweep`, such as `frame.iloc[0]`, or its `input_hash`.

    Raises:
        InputError: if the row has none (a failure, or an infeasible point).
        CheckError: if it is not what the manifest of the sweep says.
    """
    from optmap.sweeps.records.manifest import file_digest, manifest_of
    from optmap.sweeps.store import solution_path

    if not isinstance(row, str) and "input_hash" not in row:
        raise InputError(
            f"{directory}: that is no row of a sweep (it has no input_hash); give frame.iloc[0] for example"
        )
    name = row if isinstance(row, str) else str(row["input_hash"])
    folder = file_path(directory, "directory")
    path = solution_path(folder, name)
    if not path.exists():
        reason = "" if isinstance(row, str) else str(row.get("error", ""))
        raise InputError(f"{directory}: row {name[:12]} has no document{': ' if reason else ''}{reason}")
    if file_digest(path) not in manifest_of(folder).documents.get(str(solution_path(Path(), name)), ()):
        raise CheckError(
            f"{path}: not what was recorded when it was written; run the sweep again: it answers its point anew"
        )
    return path


def sweep_document(directory: str | Path, row: Mapping[Any, Any] | str) -> dict[str, object]:
    """The whole document behind a row of a sweep: for a mapping what `solve --json` prints.

    Args:
        directory: of the sweep.
        row: a row of `read_sweep`, such as `frame.iloc[0]`, or its `input_hash`.

    Raises:
        InputError: if the row has none, or it cannot be read.
        CheckError: if it is not what the manifest of the sweep says.
    """
    from optmap.files.reading import read_json

    return dict(read_json(document_path(directory, row)).values)
