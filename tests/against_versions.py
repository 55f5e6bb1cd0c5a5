"""Run the tests with other versions of what optmap depends on, in a copy of this checkout and a new environment.

    python tests/against_versions.py oldest              the lower limit of every dependency
    python tests/against_versions.py newest              the newest there are, upper limits left out
    python tests/against_versions.py lock                the newest admitted; constraints.txt has them if the tests pass
    python tests/against_versions.py oldest --longer     all tests instead of those of the README's command
    python tests/against_versions.py oldest -- -k highs  what stands behind -- goes to pytest

Prints a table of what is admitted and what was installed, and what pytest said. Needs packages from an index.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = "constraints.txt"
JUDGES = {"pytest", "pytest-xdist", "pytest-benchmark", "hypothesis", "ruff", "mypy", "import-linter"}
"""Not optmap's dependencies but what judges it: the ways differ in none of them."""
UNLOCKED = {"optmap", "pip", "setuptools"}
"""What an environment has by itself."""
HEADER = f"""\
# The version of everything that the tests ran with, on Linux and Python {sys.version_info[0]}.{sys.version_info[1]}.
# Written by: python tests/against_versions.py lock
"""


def direct(pyproject: Path) -> dict[str, Requirement]:
    """What `[test]` asks for by itself, per name, where it applies to this machine."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for name in extras if name != "bench" for text in extras[name])]
    asked = [Requirement(text) for text in texts]
    return {
        canonicalize_name(r.name): r
        for r in asked
        if r.name != project["name"] and (r.marker is None or r.marker.evaluate({**default_environment(), "extra": ""}))
    }


def floor(requirement: Requirement) -> str:
    """The oldest version that a requirement admits.

    Raises:
        ValueError: if it has none.
    """
    floors = [s.version for s in requirement.specifier if s.operator in (">=", "==")]
    if not floors:
        raise ValueError(f"{requirement} has no oldest version")
    return floors[0]


def without_upper_limits(text: str) -> str:
    """The text of a pyproject.toml whose requirements end nowhere, but for what judges the code."""

    def opened(match: re.Match[str]) -> str:
        name = re.split(r"[<>=\[ ]", match[0][1:], maxsplit=1)[0]
        return match[0] if canonicalize_name(name) in JUDGES else re.sub(r",<[\d.]+", "", match[0])

    return re.sub(r'"[A-Za-z][\w.-]*(\[\w+\])?[<>=]=?[^"]*"', opened, text)


def copied(folder: Path) -> Path:
    """A copy of what git knows of this checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def installed(python: Path) -> dict[str, str]:
    """Version per name."""
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    return {canonicalize_name(row["name"]): row["version"] for row in json.loads(listed.stdout)}


def main(args: Sequence[str]) -> int:
    """The command; its exit code is pytest's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=("oldest", "newest", "lock"))
    parser.add_argument("--keep", type=Path, help="folder for checkout and environment, kept afterwards")
    parser.add_argument("--longer", action="store_true", help="all tests; see tests/longer.py")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    chosen = parser.parse_args(args)
    options = [*(["-m", ""] if chosen.longer else []), *chosen.pytest]
    with tempfile.TemporaryDirectory() as scratch:
        return tried(chosen.way, (chosen.keep or Path(scratch)).resolve(), options)


def tried(way: str, folder: Path, options: Sequence[str]) -> int:
    """Install as asked, run pytest, print the table; its exit code."""
    checkout = copied(folder / "checkout")
    pyproject, asked = checkout / "pyproject.toml", direct(ROOT / "pyproject.toml")
    limits = folder / "limits.txt"
    limits.write_text("")
    if way == "newest":
        pyproject.write_text(without_upper_limits(pyproject.read_text(encoding="utf-8")), encoding="utf-8")
    elif way == "oldest":
        limits.write_text("".join(f"{name}=={floor(r)}\n" for name, r in asked.items() if name not in JUDGES))
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-c", limits, ".[test]"], cwd=checkout, check=True)
    shutil.copy2(ROOT / "pyproject.toml", pyproject)  # tests read it, limits and all
    have = installed(python)
    done = subprocess.run([python, "-m", "pytest", "-n", "2", *options], cwd=checkout, check=False)
    rows = [("package", "admitted", "installed")]
    rows += [(name, str(r.specifier), have.get(name, "-")) for name, r in sorted(asked.items())]
    table = "".join(f"{name:24} {admitted:20} {version}\n" for name, admitted, version in rows)
    sys.stdout.write(f"\n{way}: pytest ended with {done.returncode}\n\n{table}")
    if way == "lock" and done.returncode == 0:
        lines = [f"{name}=={version}\n" for name, version in sorted(have.items()) if name not in UNLOCKED]
        (ROOT / LOCK).write_text(HEADER + "".join(lines), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
