"""The files of emitted code in a folder."""

from __future__ import annotations

from pathlib import Path

from optmap.base.errors import InputError
from optmap.base.writing import made_folder, to_json, write_folder
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.native.code import Code
from optmap.native.emit.program import header_text
from optmap.native.toolchain.build import NATIVE
from optmap.native.toolchain.compiler import COMMON

MARK = "written by optmap"
"""In the first line of every file that may be written again; `mapping.json` has the name in its schema."""


def code_files(code: Code) -> dict[str, str]:
    """Text per name: the code and its header, the mapping, and what checks and times the code, if that was written."""
    name = code.entry
    flags = " ".join([*COMMON, *NATIVE, *(["-fopenmp"] if code.threads > 1 else [])])
    mapping = {
        "schema": "optmap.solution/2",
        "workload": workload_document(code.workload),
        "machine": machine_document(code.machine),
        "mapping": mapping_document(code.mapping),
    }
    files = {
        f"{name}.c": f"/* {MARK} */\n{code.source}",
        f"{name}.h": f"/* {MARK} */\n{header_text(code)}",
    }
    checks = {
        "main.c": f"/* {MARK} */\n{code.main}",
        "Makefile": (
            f"# {MARK}: make run checks and times the code\n"
            f"CFLAGS = {flags}\n\n"
            f"main: {name}.c main.c\n\t$(CC) $(CFLAGS) -o main {name}.c main.c -lm\n\n"
            "run: main\n\t./main\n\n.PHONY: run\n"
        ),
    }
    return {**files, **(checks if code.main else {}), "mapping.json": to_json(mapping) + "\n"}


def write_code(code: Code, folder: str | Path) -> tuple[Path, ...]:
    """Write the files of some code.

    Args:
        code: what is written.
        folder: where; it is made if need be.

    Returns:
        The paths of all files.

    Raises:
        InputError: if they cannot be written, or a file of that name is there that somebody else wrote.
    """
    files = code_files(code)
    place = made_folder(folder)
    for name in files:
        if (place / name).exists() and not _ours(place / name):
            raise InputError(f"{place / name} is there and was not {MARK}; choose another folder, or remove it")
    return write_folder(place, files)


def _ours(path: Path) -> bool:
    try:
        start = path.read_text(encoding="utf-8")[:200]
    except (OSError, UnicodeDecodeError):
        return False
    return MARK in start.partition("\n")[0] or (path.suffix == ".json" and '"optmap.solution/' in start)
