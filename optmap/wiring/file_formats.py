"""The formats of files of other tools that the library reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.shown import Shown
from optmap.interchange.formats import FileFormat, register_format

if TYPE_CHECKING:
    from optmap.search.result import Solved


def _read_onnx(files: Sequence[Path], sizes: Mapping[str, int]) -> Shown:
    from optmap.verbs import exchange

    return exchange.read_onnx(files, sizes)


def _read_timeloop(files: Sequence[Path], sizes: Mapping[str, int]) -> Shown:
    from optmap.verbs import exchange

    return exchange.read_closed(files, sizes)


def _write_timeloop(solution: Solved) -> dict[str, str]:
    from optmap.interchange import exporting

    return exporting.timeloop_files(solution.fabric, solution.nest)


register_format(FileFormat(name="onnx", suffixes=(".onnx",), read=_read_onnx))
register_format(FileFormat(name="timeloop", suffixes=(".yaml", ".yml"), read=_read_timeloop, write=_write_timeloop))
