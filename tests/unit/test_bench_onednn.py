"""What oneDNN is asked for, turns of ways, and processors."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from library_layers import CONVOLUTIONS, filled

from optmap.base.errors import InputError, SolverUnavailableError
from optmap.count.timing.results import Caches
from optmap.native import Contender, OneDnn, interleaved, library_forms, pinned, warm_seconds
from optmap.workloads.parser import parse_workload


def test_a_layer_of_single_taps_is_a_product_as_well() -> None:
    workload = CONVOLUTIONS["pointwise"].with_padding("implicit")
    kinds = {way.variant.split(" ", maxsplit=1)[0] for way in OneDnn().prepare(workload, filled(workload), 1)}
    assert kinds == {"convolution", "matmul", "inner"}


def test_ways_hold_inputs_once_per_format() -> None:
    workload = parse_workload("Out[i,j] = A[i,k] * B[k,j]", {"i": 24, "j": 24, "k": 24})
    inputs = filled(workload)
    ways = OneDnn().prepare(workload, inputs, 1)
    outputs, *both = zip(*(way.operands[:3] for way in ways if way.operands), strict=True)
    assert len({each.ctypes.data for each in outputs}) == len({each.size for each in outputs}) < len(ways)
    for found in both:
        assert len({each.ctypes.data for each in found}) == len({each.tobytes() for each in found}) < len(ways)
    inputs_at = {each.ctypes.data for found in both for each in found}
    assert not inputs_at & {each.ctypes.data for each in outputs}
    wanted = inputs[0] @ inputs[1]
    for way in (*ways, *reversed(ways)):
        warm_seconds(way)
        assert way.result is not None
        assert way.result() == pytest.approx(wanted, abs=1e-4), way.title


def test_one_implementation_on_the_same_formats_is_there_once() -> None:
    workload = parse_workload("Out[i,j] = A[i,k] * B[k,j]", {"i": 24, "j": 32, "k": 40})
    ways = OneDnn().prepare(workload, filled(workload), 1)
    seen = [
        (way.variant.rsplit(" ", 1)[1], *(each.ctypes.data for each in way.operands[:3]))
        for way in ways
        if way.operands  # inputs in the same format are the same memory, and these products have one of outputs
    ]
    assert len(set(seen)) == len(seen) == len(ways)


def test_what_a_library_does_not_know_has_no_way() -> None:
    three = parse_workload("Out[i,j] = A[i,k,l] * B[k,j] * C[l,j]", {"i": 2, "j": 2, "k": 2, "l": 2})
    skewed = parse_workload("Out[i] = A[i+j+k] * B[j,k]", {"i": 2, "j": 2, "k": 2})
    assert library_forms(three) == library_forms(skewed) == ()
    assert OneDnn().prepare(three, filled(three), 1) == ()


ARGUMENTS = 11 * ctypes.sizeof(ctypes.c_void_p)
"""Where the arguments of the primitive are in `call` of onednn.c: behind eleven pointers."""


def test_a_call_that_fails_is_told_with_its_status() -> None:
    workload = CONVOLUTIONS["pointwise"].with_padding("implicit")
    way = OneDnn().prepare(workload, filled(workload), 1)[0]
    assert way.result is not None
    warm_seconds(way)
    way.result()
    number = ctypes.c_int.from_address(way.context + ARGUMENTS)
    kept, number.value = number.value, 0  # the output is missing now
    warm_seconds(way)
    number.value = kept
    warm_seconds(way)
    with pytest.raises(SolverUnavailableError, match="oneDNN fails at what it offered, with status 2"):
        way.result()


def test_turns_are_taken_and_calls_counted() -> None:
    log: list[str] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def way(name: str) -> Contender:
        function = kind(lambda _: log.append(name))
        return Contender(
            library=name,
            variant="",
            function=ctypes.cast(function, ctypes.c_void_p).value or 0,
            context=0,
            operands=(),
            result=lambda: np.zeros(1),
            kept=(function,),
        )

    one, two = interleaved([way("a"), way("b")], rounds=12, caches=Caches.COLD)
    assert len(one) == len(two) == 12
    turns = ["".join(log[-48:][at : at + 4]) for at in range(0, 48, 4)]
    assert set(turns) == {"aabb", "bbaa"}
    log.clear()
    assert warm_seconds(way("c"), least=3) > 0
    assert len(log) == 3
    assert warm_seconds(way("c"), least=3, seconds=1e-3) > 0
    calls = (len(log) - 3) // 3
    assert len(log) % 3 == 0
    assert calls & (calls - 1) == 0  # a power of two: as many again each time
    with pytest.raises(InputError, match="at least one"):
        interleaved([way("a")], rounds=0)


def test_a_process_is_kept_on_processors_and_let_go() -> None:
    import os

    before = os.sched_getaffinity(0)
    with pinned(1) as chosen:
        assert os.sched_getaffinity(0) == set(chosen)
        assert len(chosen) == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="ask for fewer"), pinned(len(before) + 1):
        pass


def test_without_its_packages_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from optmap.native.bench import onednn

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    onednn.library.cache_clear()
    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(SolverUnavailableError, match="pip install onednn-cpu-gomp onednn-devel-cpu-gomp"):
        OneDnn()
