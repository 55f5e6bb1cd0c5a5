"""Reading the rows of a finished or a running sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read_sweep(directory: str | Path) -> pd.DataFrame:
    """The rows of a sweep as a table, sorted, every point once.

    Works while the sweep runs: it shows what has been answered so far. The columns are the fields
    of `optmap.sweeps.rows.Row`. DuckDB reads the same files: `SELECT * FROM 'DIR/rows/*.parquet'`.

    Args:
        directory: what `optmap sweep -o` wrote.

    Returns:
        One row per point; missing numbers are NaN or `<NA>` (whole numbers keep their type).

    Raises:
        InputError: if there is no sweep in the directory, or pandas or pyarrow is not installed.
    """
    from optmap.sweeps.store import read_rows, require

    require("pandas", "pyarrow")
    table = read_rows(Path(directory))
    frame: pd.DataFrame = table.to_pandas()
    whole = [field.name for field in table.schema if str(field.type) == "int64"]
    return frame.astype(dict.fromkeys(whole, "Int64"))
