"""How to install what optmap can do without: the packages themselves, as its own metadata asks for them.

A package of another project has the name optmap on the public index, so nothing is ever installed from there by it.
"""

from __future__ import annotations

import re
import shlex

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,-]*\])?\s*([^;]*?)\s*;(.*)extra\s*==\s*[\"']([\w-]+)[\"']")


def install(*packages: str) -> str:
    """The command that installs packages, and the one in a checkout that installs the extra which they belong to.

    Args:
        packages: as they are called on the public index.
    """
    versions, extras = dict[str, str](), dict[str, set[str]]()
    for name, accepted, extra in _optional():
        versions[_plain(name)] = accepted
        extras.setdefault(extra, set()).add(_plain(name))
    texts = (f"{name}{versions.get(_plain(name), '')}" for name in packages)
    command = f"pip install {' '.join(map(shlex.quote, texts))}"
    having = [extra for extra, names in extras.items() if names >= set(map(_plain, packages))]
    if not having:
        return command
    smallest = min(having, key=lambda extra: len(extras[extra]))
    return f"{command} (or, in a checkout of optmap: pip install '.[{smallest}]')"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _optional() -> list[tuple[str, str, str]]:
    """Name, versions and extra of every optional requirement; none if optmap was copied and not installed."""
    from importlib import metadata  # it takes as long to import as a tenth of what a command begins with

    try:
        texts = metadata.requires("optmap") or []
    except metadata.PackageNotFoundError:
        return []
    found = (_REQUIREMENT.match(text) for text in texts)
    return [(parts[1], parts[2].replace(" ", ""), parts[4]) for parts in found if parts is not None]
