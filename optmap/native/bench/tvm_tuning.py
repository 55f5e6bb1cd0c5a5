"""TVM's MetaSchedule in this process: trials are built here and timed by the clock that times everything.

Its own builder and runner start processes that load TVM anew, and give up after a time that a busy machine exceeds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from optmap.errors import SolverUnavailableError
from optmap.native.bench.contender import Contender
from optmap.native.run.clock import warm_seconds

PER_ROUND = 16
"""Trials between two trainings of the tuner's model of cost."""
POPULATION = 128
"""Schedules that its evolution holds; its own 512 take minutes per round."""
SAMPLES = 3
"""Of a trial."""
LEAST_SECONDS = 5e-3
"""Of a sample."""


def tune(function: Any, target: Any, folder: Path, trials: int, way: Callable[[Any], Contender]) -> None:
    """Search for fast schedules, and write what was found into a folder.

    Args:
        function: of TVM, to be scheduled.
        target: of TVM.
        folder: of its records.
        trials: schedules that are measured, at most.
        way: makes a compiled function ready to be called.
    """
    from tvm.s_tir import meta_schedule as ms

    built: dict[str, Any] = {}
    ms.tune_tir(
        function,
        target,
        str(folder),
        max_trials_global=trials,
        num_trials_per_iter=min(PER_ROUND, trials),
        strategy=ms.search_strategy.EvolutionarySearch(population_size=POPULATION),
        builder=_builder(ms, built),
        runner=_runner(ms, built, way),
        measure_callbacks=[ms.measure_callback.AddToDatabase(), ms.measure_callback.UpdateCostModel()],  # no files
        seed=1,
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


def _runner(ms: Any, built: dict[str, Any], way: Callable[[Any], Contender]) -> Any:
    from tvm.ir.utils import derived_object

    def timed(name: str) -> Any:
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
