"""Versions of everything an answer depends on."""

from __future__ import annotations

from functools import lru_cache

from optmap.version import __version__

PACKAGES = ("numpy", "scipy", "sympy", "pyomo", "highspy", "cyipopt-wheels", "cyipopt")


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    from importlib.metadata import PackageNotFoundError, version

    found = [("optmap", __version__)]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def versions() -> dict[str, str]:
    """Version per installed package."""
    return dict(_installed())
