"""Traffic that is compulsory is its own proof: the bound beside a mapping is then the one that `best` finds."""

from __future__ import annotations

import pytest

import optmap
from optmap.bounds.best import best, met


@pytest.mark.parametrize(("name", "words"), [("mobilenet/M9", 65_536), ("mobilenet/M2", 65_536)])
def test_what_every_word_once_proves_is_what_best_finds(name, words):
    result = optmap.solve(name, memory=f"{words}w")
    (proof,) = result.certificates
    assert words < proof.words == sum(row.loads_words + row.stores_words for row in result.boundaries)
    assert result.gap == 0
    assert met(result.workload, words) == best(result.workload, words)
    assert proof.certificate == best(result.workload, words).certificate


def test_where_words_come_twice_the_bound_is_sought():
    result = optmap.solve("resnet18/R5", memory="4096w")
    (proof,) = result.certificates
    assert proof.certificate == best(result.workload, 4096).certificate != met(result.workload, 4096).certificate
