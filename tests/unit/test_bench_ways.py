"""Every way that takes part computes the same: emitted code, and whatever library is installed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from cases import some
from emitted import expected, values_of
from library_layers import ALL, filled, literal
from random_codes import random_case

from optmap.base.errors import InputError, SolverUnavailableError, UnknownNameError
from optmap.native import (
    PyTorch,
    Tvm,
    baselines,
    cold_seconds,
    compile_code,
    emit_code,
    own_way,
    ready_for,
    warm_seconds,
)
from optmap.workloads.workload import Semantics


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_emitted_code_is_a_way_in_its_own_layouts(seed: int) -> None:
    workload, machine, mapping, options = random_case(random.Random(seed), f"way{seed}")
    code = emit_code(workload.with_semantics(Semantics.ASSIGN), mapping, machine, options)
    values = values_of(code, seed)
    inputs = {b.tensor: v for b, v in zip(code.buffers[1:], values[1:], strict=True)}
    (ready,) = ready_for([compile_code(code)], inputs)
    way = own_way(ready, "1")
    for seconds in (warm_seconds, cold_seconds):
        assert seconds(way) > 0
        assert np.array_equal(way.result(), expected(code, values))


@pytest.mark.parametrize("name", ALL)
def test_every_library_that_is_here_is_right(name: str) -> None:
    workload = ALL[name].with_padding("implicit")
    inputs = filled(workload)
    wanted = literal(workload, inputs)
    for library in baselines(trials=2)[0]:
        assert library.version
        ways = library.prepare(workload, inputs, 1)
        assert ways
        assert len({way.title for way in ways}) == len(ways)
        for way in ways:
            assert warm_seconds(way) > 0
            assert way.result() == pytest.approx(wanted, abs=1e-5), way.title
            if way.operands is None:
                with pytest.raises(InputError, match="cannot be named"):
                    cold_seconds(way)


def test_libraries_that_are_absent_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import pytorch, tvm

    for module in (pytorch, tvm):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(SolverUnavailableError, match=r"pip install 'torch[<>=]"):
        PyTorch()
    found, absent = baselines()
    assert [each.name for each in found] == ["onednn"]
    assert set(absent) == {"torch", "tvm"}
    with pytest.raises(SolverUnavailableError, match="nothing to compare with"):
        baselines(["torch", "tvm"])
    with pytest.raises(UnknownNameError, match="onednn"):
        baselines(["onedn"])
    with pytest.raises(SolverUnavailableError, match=r"no tvm, xgboost.*pip install 'apache-tvm\[all\]>=0\.27'"):
        Tvm()
