"""What TVM is asked for, without TVM: operands in its orders, and the products that its sums are of."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import sys
from math import prod
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from library_layers import ALL, filled, literal

from optmap.base.errors import SolverUnavailableError
from optmap.native import Contender, LibraryConvolution, Tvm, TvmForm, library_forms, questions, warm_seconds
from optmap.native.run.clock import address
from optmap.workloads.builders import conv2d


def summed(question: TvmForm, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The statement that TVM gets, term by term."""
    wide = np.pad(image, question.zeros)
    out = np.zeros(question.shapes[0])
    for at in np.ndindex(*out.shape):
        for over in np.ndindex(*question.reduced):
            first, second = question.reads(at, over)
            out[at] += float(wide[first]) * float(weights[second])
    return out


@pytest.mark.parametrize("name", ALL)
def test_its_statement_in_its_orders_is_the_workload(name: str) -> None:
    workload = ALL[name].with_padding("implicit")
    inputs = filled(workload)
    wanted = literal(workload, inputs)
    forms = library_forms(workload)
    assert forms
    for form in forms:
        first = form.image_input if isinstance(form, LibraryConvolution) else form.left_input
        plain = [fold.apply(inputs[place]) for fold, place in zip(form.folds[1:], (first, 1 - first), strict=True)]
        for question in questions(form):
            image, weights = question.image(plain[0]), question.weights(plain[1])
            assert (image.shape, weights.shape) == question.shapes[1:]
            got = form.folds[0].invert(question.output(summed(question, image, weights)))
            assert got == pytest.approx(wanted, abs=1e-4), question.label


def test_blocks_divide_channels_and_grouped_layers_have_none() -> None:
    def asked(**sizes: int) -> list[tuple[int, int]]:
        (form,) = library_forms(conv2d(h=4, w=4, r=3, s=3, **sizes))
        return [(each.inside, each.outside) for each in questions(form)]

    assert asked(c=48, k=24) == [(1, 1), (16, 12)]
    assert asked(c=3, k=64) == [(1, 1), (3, 16)]
    assert asked(c=7, k=17) == [(1, 1)]
    (form,) = library_forms(conv2d(c=20, h=4, w=4, r=3, s=3, depthwise=True))
    assert [(each.inside, each.outside, each.depthwise) for each in questions(form)] == [
        (1, 1, True),
        (10, 10, True),
    ]
    for question in questions(form):
        assert prod(question.reduced) == 9


def test_questions_that_differ_have_different_names_of_records() -> None:
    forms = [library_forms(conv2d(c=16, k=size, h=4, w=4, r=3, s=3))[0] for size in (16, 32)]
    found = list(itertools.chain.from_iterable(map(questions, forms)))
    assert len({repr(each) for each in found}) == len(found) == 4
    assert [repr(each) for each in found] == [repr(each) for form in forms for each in questions(form)]


@pytest.mark.parametrize("status", [0, -1])
def test_calls_are_told_to_have_failed(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    from optmap.native.bench import tvm

    seen: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)

    def function(handle: int, arguments: int, count: int, result: int) -> int:
        seen.append(count)
        return status

    called = kind(function)
    monkeypatch.setattr(tvm, "_caller", lambda: address(called))
    workload = conv2d(c=16, k=16, h=4, w=4, r=3, s=3)
    (form,) = library_forms(workload)
    plain = [fold.apply(array) for fold, array in zip(form.folds[1:], filled(workload), strict=True)]
    memory = tvm._Memory(next(questions(form)), plain)
    way = memory.way(SimpleNamespace(__chandle__=lambda: 1), "")
    assert way.result is not None
    warm_seconds(way, least=2)
    assert seen == [3, 3]
    if status:
        with pytest.raises(SolverUnavailableError, match="TVM fails at what it compiled, with status -1"):
            way.result()
    else:
        assert not way.result().any()


def test_another_interface_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optmap.native.bench import tvm

    folder = tmp_path / "tvm"
    folder.mkdir()
    (folder / "__init__.py").write_text("__version__ = '0.18'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tvm, "find_spec", lambda name: name)
    heard: list[str] = []
    with pytest.raises(SolverUnavailableError, match=r"cannot be used .*tvm\.te.*pip install 'apache-tvm\[all\]>="):
        Tvm(2, heard.append)
    assert heard == ["loading TVM"]
    monkeypatch.delitem(sys.modules, "tvm")
    (folder / "__init__.py").write_text("raise OSError('libtvm.so: not found')\n")
    with pytest.raises(SolverUnavailableError, match=r"cannot be used \(libtvm.so: not found\)"):
        Tvm(2)


def test_stacks_have_no_lines_while_it_is_loaded() -> None:
    from optmap.native.bench import tvm_tuning

    whole = inspect.stack
    with tvm_tuning._short_stacks():
        assert inspect.stack()[0].code_context is None
    assert inspect.stack is whole
    assert inspect.stack()[0].code_context


def test_trials_are_timed_counted_and_failed_ones_are_not_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner that MetaSchedule gets, with the few names of TVM that it is made of."""
    from optmap.native.bench import tvm_tuning

    utils = ModuleType("tvm.ir.utils")
    utils.derived_object = lambda kind: kind  # type: ignore[attr-defined]
    for name, module in {"tvm": ModuleType("tvm"), "tvm.ir": ModuleType("tvm.ir"), "tvm.ir.utils": utils}.items():
        monkeypatch.setitem(sys.modules, name, module)
    runner = SimpleNamespace(
        PyRunner=object,
        RunnerResult=lambda seconds, error: (seconds, error),
        RunnerFuture=lambda done, result: SimpleNamespace(done=done, result=result),
    )
    calls: list[int] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda context: calls.append(1))

    def refused() -> np.ndarray:
        raise SolverUnavailableError("no")

    def way(made: str) -> Contender:
        return Contender(
            library="tvm",
            variant=made,
            function=address(function),
            context=0,
            operands=(),
            result=refused if made == "bad" else lambda: np.zeros(1),
        )

    built = {"0": "good", "1": "bad"}
    heard: list[int] = []
    made = tvm_tuning._runner(SimpleNamespace(runner=runner), built, way, heard.append)
    good, bad = made.run([SimpleNamespace(artifact_path=name) for name in ("0", "1")])
    assert good.done()
    assert bad.done()
    seconds, error = good.result()
    assert len(seconds) == tvm_tuning.SAMPLES
    assert min(seconds) > 0
    assert error is None
    assert bad.result() == (None, "no")
    assert heard == [1, 2]
    assert not built, "what was timed is let go"


def test_records_are_of_all_that_they_depend_on() -> None:
    from optmap.native.bench import tvm

    (form,) = library_forms(conv2d(c=16, k=16, h=4, w=4, r=3, s=3))
    asked = [(version, trials, question) for version in "ab" for trials in (1, 2) for question in questions(form)]
    assert len({tvm._record(each) for each in asked}) == len(asked) == 8
