"""Shared test settings: how many cases are tried, derandomised Hypothesis profiles, and `tests` on the path."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # tests import `strategies` from any folder
# Before anything loads NumPy: where several processes test, more threads for small matrices only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cases import LEFT_OUT, Run

# The same examples in every run; no deadline, because a shared machine must not fail a test.
for name, examples in (("few", 40), ("longer", 100)):
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.register_profile("explore", deadline=None, max_examples=2000)


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is read: they ask how many cases there are."""
    Run.longer = LEFT_OUT not in config.option.markexpr
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "longer" if Run.longer else "few"))
