"""The C compiler of the system: where it is, what it is, and how it is asked for the machine's own code."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from optmap.base.errors import SolverUnavailableError

NAMES = ("cc", "gcc", "clang")
"""Compilers that are looked for if the environment variable CC names none."""
INSTALL = "Debian and Ubuntu: apt install gcc; macOS: xcode-select --install"
"""What installs one."""
COMMON = ("-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-Wall", "-Wextra")
"""Flags of everything that is compiled; sums keep the order in which the code writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A C compiler."""

    path: Path
    version: str
    """First line of what it says of itself; part of the digest of what it builds."""

    def run(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Call it, and hand back what it printed, whether it succeeded or not."""
        return subprocess.run([str(self.path), *arguments], capture_output=True, text=True, check=False)


@cache
def _version(path: str) -> str:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0] if said else "unknown"


def find_compiler() -> Compiler:
    """The compiler that CC names, or the first of `NAMES` on the path.

    Raises:
        SolverUnavailableError: if there is none, with what to install.
    """
    wanted = os.environ.get("CC")
    for name in (wanted,) if wanted else NAMES:
        path = shutil.which(name)
        if path is not None:
            return Compiler(path=Path(path), version=_version(path))
    missing = f"CC names {wanted}, which is not on the path" if wanted else f"none of {', '.join(NAMES)} is on the path"
    raise SolverUnavailableError(f"no C compiler: {missing}; install gcc or clang ({INSTALL}), or set CC")
