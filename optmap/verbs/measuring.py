"""The verbs that measure: emitted code beside libraries, and the time model beside the machine.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Unpack

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.share import unheard
from optmap.files.inputs import ExtentsInput, MachineInput, machine_of
from optmap.kernels.code_options import ActivationLayout
from optmap.mappings.levels import Mapping
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import SeedOption, names
from optmap.verbs.emitting import (
    CandidatesOption,
    ComputedOptions,
    FolderOption,
    LayoutOption,
    PrefetchOption,
    code_options,
)
from optmap.workloads.workload import Padding, Workload

if TYPE_CHECKING:
    from optmap.native.bench.results import Bench
    from optmap.native.run.tasks import TaskInput
    from optmap.native.validate.validation import Validation

BEST = "best"
"""Layout of `bench`: whichever is faster."""
BOTH = "both"
"""Caches of `bench`: warm, and cold."""
COMPETING = (ActivationLayout.NHWC, ActivationLayout.BLOCKED)
"""Layouts for which there are vector kernels, in which layers can hand on what they compute."""


class BenchOptions(ComputedOptions, total=False):
    """Options of `bench`."""

    threads: Annotated[
        int | str | Sequence[int],
        Opt(help="That share a call: 1 or 1,2.", detail="One number, or several.", default="1", metavar="N,N"),
    ]
    caches: Annotated[str, Opt(help="warm, cold (flushed before each call) or both.", default="warm", metavar="STATE")]
    against: Annotated[
        str | Sequence[str] | None,
        Opt(help="Of onednn, torch, tvm; all that are here.", read=names, metavar="A,B"),
    ]
    candidates: Annotated[CandidatesOption, Here(help="Mappings of ours per layout that are run.")]
    rounds: Annotated[int, Opt(help="Samples of each way that is reported.", default=15, least=1)]
    trials: Annotated[
        int,
        Opt(help="By which TVM tunes a layer, once per form.", detail="A second or two each.", default=64, least=1),
    ]
    layout: Annotated[
        ActivationLayout | str,
        Opt(
            help=f"Of our images: {', '.join(ActivationLayout)}, or the best.",
            detail="`best` has the channels last and in blocks compete.",
            default=BEST,
            metavar="LAYOUT",
        ),
    ]


@taking(BenchOptions)
def bench(
    workloads: TaskInput | Sequence[TaskInput], *, machine: MachineInput, **options: Unpack[BenchOptions]
) -> Bench:
    """Time emitted code beside libraries: the same layers, checked, in turns, in one process.

    Args:
        workloads: names, patterns such as `resnet18/*`, networks, files, statements, workloads, or solutions: those of
            one workload are its candidates, the first one first, and nothing is searched.
        machine: the machine at hand, as `detect` describes it.
        **options: as they are declared.

    Returns:
        Layers with samples and ratios, and the geometric means; `.plot()` draws Figures 7 and 8 of MOpt.

    Raises:
        InputError: for a machine without a core, more threads than processors, or something that cannot be understood.
        SolverUnavailableError: without a compiler, or with none of the libraries.
        CheckError: if code of ours computes something else.
    """
    from optmap.count.timing.results import Caches
    from optmap.native.bench.session import BenchPlan, bench_layers

    asked = values_of(declared(BenchOptions), options)
    layers = _layers(workloads, asked["extents"], asked["padding"])
    layout = choose("layout", asked["layout"], (*ActivationLayout, BEST))
    caches = choose("caches", asked["caches"], (*Caches, BOTH))
    plan = BenchPlan(
        machine=machine_of(machine, None),
        layouts=COMPETING if layout == BEST else (ActivationLayout(layout),),
        threads=_numbers(asked["threads"]),
        caches=tuple(Caches) if caches == BOTH else (Caches(caches),),
        rounds=asked["rounds"],
        candidates=asked["candidates"],
        against=asked["against"],
        trials=asked["trials"],
        mappings=layers.mappings,
    )
    return bench_layers(layers.workloads, plan, asked["progress"] or unheard)


@dataclass(frozen=True, slots=True)
class _Layers:
    """Layers as code computes them, each once, and the mappings of those that solutions have."""

    workloads: list[Workload]
    mappings: dict[str, tuple[Mapping, ...]]
    """By title of the workload, in their order; none of one that is to be searched."""


def _layers(
    workloads: TaskInput | Sequence[TaskInput], extents: ExtentsInput | None, padding: Padding | str | None
) -> _Layers:
    """Layers as code computes them, each once; all of a network.

    Raises:
        InputError: for something that cannot be understood, two layers of one name, or a tree of loops.
    """
    from optmap.native.run.tasks import all_tasks
    from optmap.native.statement import as_computed

    given = list(workloads) if isinstance(workloads, Sequence) and not isinstance(workloads, str) else [workloads]
    tasks = all_tasks(given, extents)
    found: dict[str, Workload] = {}
    mappings: dict[str, list[Mapping]] = {}
    for task in tasks:
        layer = as_computed(task.workload, padding=padding)
        if replace(found.setdefault(layer.title, layer), count=layer.count) != layer:
            raise InputError(f"two different workloads are called {layer.title!r}; give them names")
        if task.mapping is not None:
            if not isinstance(task.mapping, Mapping):
                raise InputError(f"the solution of {layer.title} is a tree of loops; optmap run runs it")
            mappings.setdefault(layer.title, []).append(task.mapping)
    return _Layers(list(found.values()), {title: tuple(own) for title, own in mappings.items()})


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


class ValidateOptions(ComputedOptions, total=False):
    """Options of `validate`."""

    models: Annotated[
        str | Sequence[str] | None,
        Opt(
            help="Of time, bottleneck; time.",
            detail="What ranks: the predicted time, or MOpt's slowest level.",
            read=names,
            metavar="A,B",
        ),
    ]

    samples: Annotated[int, Opt(help="Tilings per layer.", default=100, least=1)]
    seed: Annotated[SeedOption, Here(help="Of the tilings, and of the numbers computed with.")]
    simulate: Annotated[
        bool,
        Opt(
            help="Simulate the machine's caches.",
            detail="Under the loops of every sample.",
            default=True,
            flag="--simulate/--no-simulate",
            shell=bool,
        ),
    ]
    rounds: Annotated[
        int,
        Opt(
            help="In which each sample is timed; two or more for crossed losses.",
            detail="Its time is the median beside the others of the same round.",
            default=5,
            least=1,
        ),
    ]
    layout: LayoutOption
    prefetch: PrefetchOption
    folder: FolderOption


@taking(ValidateOptions)
def validate(
    workloads: TaskInput | Sequence[TaskInput], *, machine: MachineInput, **options: Unpack[ValidateOptions]
) -> Validation:
    """Hold models of time against simulated caches and the clock, on samples of all tilings that fit (MOpt section 9).

    Args:
        workloads: names, patterns such as `resnet18/*`, networks, files, statements, or workloads.
        machine: the machine at hand, as `detect` describes it.
        **options: as they are declared.

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

    asked = values_of(declared(ValidateOptions), options)
    layers = _layers(workloads, asked["extents"], asked["padding"])
    for title in layers.mappings:
        raise InputError(f"a solution of {title} has its own mapping, validate draws some; name the workload")
    return validate_layers(
        layers.workloads,
        machine_of(machine, None),
        samples=asked["samples"],
        seed=asked["seed"],
        simulated=asked["simulate"],
        rounds=asked["rounds"],
        models=tuple(asked["models"] or ("time",)),
        options=code_options(asked),
        folder=asked["folder"],
        progress=asked["progress"] or unheard,
    )
