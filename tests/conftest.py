"""Shared test settings: how many cases are tried, derandomised Hypothesis profiles, and `tests` on the path."""

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # tests import `strategies` from any folder
# Before anything loads NumPy: where several processes test, more threads for small matrices only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["OPTMAP_COLUMNS"] = "0"  # lines as they are; tests of pages set their own

from cases import LEFT_OUT, Run

# The same examples in every run; no deadline, because a shared machine must not fail a test.
for name, examples in (("few", 25), ("longer", 100)):
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.register_profile("explore", deadline=None, max_examples=2000)


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is read: they ask how many cases there are."""
    # Where no bytecode is kept, every process that a test starts compiles the package again, for a second and more.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    Run.longer = LEFT_OUT not in config.option.markexpr
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "longer" if Run.longer else "few"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that is read stays: a third of the time to read it went into looking for garbage among it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # a tenth of the time of searches went into looking, too
        gc.enable()


def pytest_unconfigure() -> None:
    """Libraries look for what was left behind as Python ends."""
    gc.unfreeze()


@pytest.fixture
def registry() -> Iterator[dict[str, Any]]:
    """The methods by name; they, all else that one registers, and the path of modules are left as they were found."""
    from optmap.count import policies
    from optmap.interchange import FORMATS
    from optmap.machines.traits import TRAITS
    from optmap.questions.objective import OBJECTIVES
    from optmap.search import METHODS, PLUGINS
    from optmap.search.methods import HOMES

    filled: tuple[dict[Any, Any], ...] = (METHODS, OBJECTIVES, policies.POLICIES, TRAITS, FORMATS)
    kept = [(each, dict(each)) for each in (*filled, HOMES, policies.HOMES, PLUGINS)]
    path = list(sys.path)
    yield METHODS
    sys.path[:] = path
    for each, before in kept:
        each.clear()
        each.update(before)


@pytest.fixture
def toy(tmp_path: Path, registry: dict[str, Any]) -> Path:
    """The plug-in with a toy of every kind, in a folder where Python does not look."""
    here = Path(__file__).parent
    shutil.copy(here / "toys.py", tmp_path)
    return Path(shutil.copy(here / "plugin_toys.py", tmp_path / "toy.py"))
