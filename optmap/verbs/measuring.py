"""The verbs that measure: emitted code beside libraries, and the time model beside the machine.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import file_path, whole_number
from optmap.files.inputs import ExtentsInput, MachineInput, machine_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.workloads.workload import Padding, Workload

if TYPE_CHECKING:
    from optmap.native.bench.results import Bench
    from optmap.native.run.tasks import TaskInput
    from optmap.native.validate.validation import Validation

BEST = "best"
"""Layout of `bench`: whichever is faster."""
COMPETING = (ActivationLayout.NHWC, ActivationLayout.BLOCKED)
"""Layouts for which there are vector kernels, in which layers can hand on what they compute."""


def bench(
    workloads: TaskInput | Sequence[TaskInput],
    *,
    machine: MachineInput,
    threads: int | str | Sequence[int] = 1,
    caches: str = "warm",
    against: str | Sequence[str] | None = None,
    candidates: int = 5,
    rounds: int = 15,
    trials: int = 64,
    layout: ActivationLayout | str = BEST,
    extents: ExtentsInput | None = None,
    padding: Padding | str | None = None,
    progress: Callable[[str, float], None] = lambda text, fraction: None,
) -> Bench:
    """Time emitted code beside libraries: the same layers, checked, in turns, in one process.

    Args:
        workloads: names, patterns such as `resnet18/*`, networks, files, statements, or workloads.
        machine: the machine at hand, as `detect` describes it.
        threads: that share a call: one number, `1,2`, or several.
        caches: `warm`, `cold` or `both`.
        against: of `onednn`, `torch` and `tvm`; all that are installed if left out.
        candidates: the model's first mappings of every layout that are run; the best is kept.
        rounds: samples of each way that is reported.
        trials: by which TVM tunes each of its forms of a layer, once; a second or two each.
        layout: of activations in our code; `best` has the channels last and in blocks compete.
        extents: of a statement.
        padding: `stored` or `implicit`; implicit where it is known if left out.
        progress: told what is done and how much of everything is.

    Returns:
        Layers with samples and ratios, and the geometric means; `.plot()` draws Figures 7 and 8 of MOpt.

    Raises:
        InputError: for a machine without a core, more threads than processors, or something that cannot be understood.
        SolverUnavailableError: without a compiler, or with none of the libraries.
        CheckError: if code of ours computes something else.
    """
    from optmap.count.timing.results import Caches
    from optmap.files.inputs import names_of
    from optmap.native.bench.session import BenchPlan, bench_layers

    layers = _layers(workloads, extents, padding)
    asked = choose("layout", layout, (*ActivationLayout, BEST))
    states = tuple(Caches) if caches == "both" else (Caches(choose("caches", caches, (*Caches, "both"))),)
    plan = BenchPlan(
        machine=machine_of(machine, None),
        layouts=COMPETING if asked == BEST else (ActivationLayout(asked),),
        threads=_numbers(threads),
        caches=states,
        rounds=rounds,
        candidates=candidates,
        against=names_of(against, "against"),
        trials=whole_number(trials, "trials"),
    )
    return bench_layers(layers, plan, progress)


def _layers(
    workloads: TaskInput | Sequence[TaskInput], extents: ExtentsInput | None, padding: Padding | str | None
) -> list[Workload]:
    """Layers as code computes them, each once; all of a network.

    Raises:
        InputError: for something that cannot be understood, a solution, or two layers of one name.
    """
    from optmap.native.run.tasks import all_tasks
    from optmap.native.statement import as_computed

    given = list(workloads) if isinstance(workloads, Sequence) and not isinstance(workloads, str) else [workloads]
    tasks = all_tasks(given, extents)
    found: dict[str, Workload] = {}
    for task in tasks:
        layer = as_computed(task.workload, padding=padding)
        if task.mapping is not None:
            raise InputError(f"a solution of {layer.title} has its own mapping; optmap run runs it, name the workload")
        if replace(found.setdefault(layer.title, layer), count=layer.count) != layer:
            raise InputError(f"two different workloads are called {layer.title!r}; give them names")
    return list(found.values())


def _numbers(threads: int | str | Sequence[int]) -> tuple[int, ...]:
    """Numbers of threads, each once.

    Raises:
        InputError: for something that is none.
    """
    parts = threads.split(",") if isinstance(threads, str) else [threads] if isinstance(threads, int) else list(threads)
    texts = [str(part).strip() for part in parts]
    if not texts or not all(text.isascii() and text.isdecimal() and len(text) < 6 and int(text) for text in texts):
        raise InputError(f"threads is {threads!r}; give whole numbers, 1 or more, such as 1 or 1,2")
    return tuple(dict.fromkeys(int(text) for text in texts))


def validate(
    workloads: TaskInput | Sequence[TaskInput],
    *,
    machine: MachineInput,
    samples: int = 100,
    seed: int = 0,
    simulate: bool = True,
    rounds: int = 5,
    layout: ActivationLayout | str = ActivationLayout.NHWC,
    prefetch: bool = True,
    extents: ExtentsInput | None = None,
    padding: Padding | str | None = None,
    folder: str | Path | None = None,
    progress: Callable[[str, float], None] = lambda text, fraction: None,
) -> Validation:
    """Hold the time model against simulated caches and the clock, on samples of all tilings that fit (MOpt section 9).

    Args:
        workloads: names, patterns such as `resnet18/*`, networks, files, statements, or workloads.
        machine: the machine at hand, as `detect` describes it.
        samples: tilings per layer.
        seed: of the tilings, and of the numbers that are computed with.
        simulate: whether the machine's caches are simulated under the loops of every sample.
        rounds: in which each sample is timed; its time is the median beside the others of the same round.
        layout: of activations.
        prefetch: whether the code asks for the next tiles before it needs them.
        extents: of a statement.
        padding: `stored` or `implicit`; implicit where it is known if left out.
        folder: where built objects are kept; `OPTMAP_BUILD_DIR` or a folder of the user's cache if left out.
        progress: told what is done and how much of everything is.

    Returns:
        Per layer the samples, rank correlations (Spearman, Kendall) and the loss of the best one, two and five
        predicted; `.plot()` draws Figures 5 and 6 of MOpt.

    Raises:
        InputError: for a machine without a core or caches, or something that cannot be understood.
        LimitError: if no tiling fits.
        SolverUnavailableError: without a compiler.
        CheckError: if the code of a sample computes something else.
    """
    from optmap.native.validate.validation import validate_layers

    return validate_layers(
        _layers(workloads, extents, padding),
        machine_of(machine, None),
        samples=samples,
        seed=seed,
        simulated=simulate,
        rounds=rounds,
        options=CodeOptions(
            layout=ActivationLayout(choose("layout", layout, list(ActivationLayout))), prefetch=prefetch
        ),
        folder=None if folder is None else file_path(folder, "folder"),
        progress=progress,
    )
