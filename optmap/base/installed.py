"""Plug-ins of packages that are installed: what their metadata names under the entry points `optmap.plugins`.

The files are read by name; `importlib.metadata` does the same, but takes longer to import than most commands to begin.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

GROUP = "optmap.plugins"
"""Of the entry points."""
_GROUP = GROUP.encode()


def installed_plugins() -> tuple[str, ...]:
    """Modules that installed packages name as plug-ins, each once, in the order in which Python looks."""
    return tuple(dict.fromkeys(_every()))


def _every() -> Iterator[str]:
    for folder in sys.path:
        try:
            found = sorted(entry.path for entry in os.scandir(folder or ".") if entry.name.endswith(".dist-info"))
        except OSError:  # a file, or a folder that is not there
            continue
        for metadata in found:
            try:
                with open(f"{metadata}/entry_points.txt", "rb") as file:  # noqa: PTH123 - of a hundred packages
                    held = file.read()
                if _GROUP in held:
                    yield from _named(held.decode("utf-8"))
            except (OSError, UnicodeDecodeError):
                continue


def _named(text: str) -> Iterator[str]:
    """The modules of the group in a file of entry points."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if head := re.fullmatch(r"\[(.*)\]", line):
            section = head[1].strip()
        elif section == GROUP and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].partition(":")[0].partition("[")[0].strip()
