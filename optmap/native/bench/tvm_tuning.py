"""TVM's MetaSchedule in this process: trials are built here and timed by the clock that times everything.

Its own builder and runner start processes that load TVM anew, and give up after a time that a busy machine exceeds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from optmap.base.errors import SolverUnavailableError
from optmap.native.bench.contender import Contender
from optmap.native.run.clock import warm_seconds

INSTALL = "run: pip install 'apache-tvm[all]>=0.27'"
SEED = 1
"""Of the search."""
PER_ROUND = 16
"""Trials between two trainings of the tuner's model of cost."""
POPULATION = 128
"""Schedules that its evolution holds; its own 512 take minutes per round."""
SAMPLES = 3
"""Of a trial."""
LEAST_SECONDS = 5e-3
"""Of a sample."""


INTERFACE = ("tvm.te", "tvm.tirx", "tvm.target", "tvm_ffi", "tvm.s_tir.meta_schedule", "tvm.s_tir.tensor_intrin")
"""What the adapter uses of TVM 0.27, much of which earlier versions call otherwise."""


def imported() -> Any:
    """The module `tvm`, and with it what is tuned with.

    Raises:
        SolverUnavailableError: if it cannot be loaded, or has not what is used.
    """
    try:
        tvm = import_module("tvm")
        with _short_stacks():
            for name in INTERFACE:
                import_module(name)
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[-1]
        raise SolverUnavailableError(f"TVM is installed but cannot be used ({text}); {INSTALL}") from error
    return tvm


@contextmanager
def _short_stacks() -> Iterator[None]:
    """Stacks of frames without lines of their sources.

    TVM's parser asks for the stack at each of the hundreds of intrinsics that it defines, and Python then looks through
    the files of all modules for lines that are never used: minutes instead of seconds.
    """
    whole = inspect.stack
    inspect.stack = partial(whole, 0)
    try:
        yield
    finally:
        inspect.stack = whole


def tune(
    function: Any,
    target: Any,
    folder: Path,
    trials: int,
    *,
    way: Callable[[Any], Contender],
    told: Callable[[int], None] = lambda done: None,
) -> None:
    """Search for fast schedules, and write what was found into a folder.

    TVM's own logs, which go to standard output, are left out: its messages of information have no handler here.

    Args:
        function: of TVM, to be scheduled.
        target: of TVM.
        folder: of its records.
        trials: schedules that are measured, at most.
        way: makes a compiled function ready to be called.
        told: hears how many trials are done.
    """
    from tvm.s_tir import meta_schedule as ms

    built: dict[str, Any] = {}
    task = ms.TuneContext(
        mod=function,
        target=target,
        space_generator="post-order-apply",
        search_strategy=ms.search_strategy.EvolutionarySearch(population_size=POPULATION),
        task_name="main",
        rand_state=SEED,
    )
    ms.tune_tasks(
        tasks=[task.clone()],
        task_weights=[1.0],
        work_dir=str(folder),
        max_trials_global=trials,
        num_trials_per_iter=min(PER_ROUND, trials),
        builder=_builder(ms, built),
        runner=_runner(ms, built, way, told),
        measure_callbacks=[ms.measure_callback.AddToDatabase(), ms.measure_callback.UpdateCostModel()],  # no files
    )


def _builder(ms: Any, built: dict[str, Any]) -> Any:
    import tvm
    from tvm.ir.utils import derived_object

    @derived_object
    class Builder(ms.builder.PyBuilder):  # type: ignore[misc] # a class of a package without types
        def build(self, build_inputs: Any) -> list[Any]:
            found = []
            for each in build_inputs:
                name = str(len(built))
                try:
                    built[name] = tvm.compile(each.mod, target=each.target)["main"]
                    found.append(ms.builder.BuilderResult(name, None))
                except (RuntimeError, ValueError, TypeError) as error:  # what a schedule may make of a statement
                    found.append(ms.builder.BuilderResult(None, str(error)))
            return found

    return Builder()


def _runner(ms: Any, built: dict[str, Any], way: Callable[[Any], Contender], told: Callable[[int], None]) -> Any:
    from tvm.ir.utils import derived_object

    numbers = count(1)

    def timed(name: str) -> Any:
        told(next(numbers))
        ready = way(built.pop(name))
        warm_seconds(ready)
        try:
            if ready.result:
                ready.result()
        except SolverUnavailableError as error:  # what fails takes no time, and would be the fastest
            return ms.runner.RunnerResult(None, str(error))
        samples = [warm_seconds(ready, seconds=LEAST_SECONDS) for _ in range(SAMPLES)]
        return ms.runner.RunnerResult(samples, None)

    @derived_object
    class Runner(ms.runner.PyRunner):  # type: ignore[misc] # a class of a package without types
        def run(self, runner_inputs: Any) -> list[Any]:
            results = [timed(str(each.artifact_path)) for each in runner_inputs]
            return [ms.runner.RunnerFuture(lambda: True, lambda result=result: result) for result in results]

    return Runner()
