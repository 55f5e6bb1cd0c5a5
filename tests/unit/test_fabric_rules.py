"""A factor rule asked about many mappings at once says what it says of each."""

from __future__ import annotations

import numpy as np
import pytest

from optmap.machines.fabric import Rule
from optmap.machines.relations import Relation

PRODUCTS = np.arange(1, 40)


@pytest.mark.parametrize("relation", [Relation.EQUAL, Relation.AT_MOST, Relation.AT_LEAST])
@pytest.mark.parametrize("value", [1, 4, 12, 13])
def test_many_are_judged_as_each_is(relation: Relation, value: int) -> None:
    rule = Rule(dims=(1,), relation=relation, value=value, text="")
    assert rule.met(PRODUCTS).tolist() == [rule.admits((7, int(product))) for product in PRODUCTS]


@pytest.mark.parametrize("relation", [Relation.EQUAL, Relation.AT_MOST, Relation.AT_LEAST])
@pytest.mark.parametrize("value", [1, 4, 12, 13])
def test_it_is_open_as_long_as_a_further_factor_may_meet_it(relation: Relation, value: int) -> None:
    rule = Rule(dims=(0,), relation=relation, value=value, text="")
    reachable = [any(rule.admits((int(product) * more,)) for more in range(1, 40)) for product in PRODUCTS]
    assert rule.open(PRODUCTS).tolist() == reachable
