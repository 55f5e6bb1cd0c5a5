"""Emitted code computes what the statement says, for any mapping, and touches nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from emitted import SANITIZED, check_together
from random_codes import random_case

from optmap.native import emit_code

BATCHES = [(batch, 25) for batch in range(4)]


@pytest.mark.parametrize(("batch", "count"), BATCHES)
def test_random_codes_are_right_and_clean(batch: int, count: int, tmp_path: Path) -> None:
    rng = random.Random(batch)
    codes = []
    for number in range(count):
        workload, machine, mapping, options = random_case(rng, f"case {number}")
        codes.append(emit_code(workload, mapping, machine, options))
    check_together(codes, SANITIZED, tmp_path)
