"""Options of `sweep` and `race`, and of what else is spread over processes, each declared once."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypedDict

from optmap.base.values import TimeInput
from optmap.questions.option import Here, Opt, path, text, time
from optmap.search.options import (
    CountingOption,
    EvaluationsOption,
    ExtentsOption,
    ObjectiveOption,
    ProgressOption,
    SeedOption,
    names,
)
from optmap.sweeps.method_settings import SettingsInput


class EngineName(StrEnum):
    """Where points are answered."""

    LOCAL = "local"
    INLINE = "inline"
    DASK = "dask"


EngineOption = Annotated[
    EngineName | str,
    Opt(
        help="Where points are answered.",
        detail="`local`, processes on this computer, `inline`, this process, or `dask`.",
        default=EngineName.LOCAL,
        choices=EngineName,
    ),
]
JobsOption = Annotated[int | None, Opt(help="Processes; one per core if left out.", least=1)]
SchedulerOption = Annotated[
    str | None, Opt(help="Of Dask, as tcp://host:8786.", detail="Its address.", read=text, metavar="ADDRESS")
]
DirectoryOption = Annotated[
    str | Path | None,
    Opt(
        help="Keep rows, mappings and certificates here.",
        read=path,
        flag="-o --output",
        metavar="DIR",
        shell=Path,
    ),
]


class GridOptions(TypedDict, total=False):
    """Options of `sweep`: how its points are answered."""

    retry: Annotated[
        bool,
        Opt(
            help="Work again on points that failed.",
            detail="They were killed, crashed, stopped at a limit or refused.",
            default=False,
            shell=bool,
        ),
    ]
    jobs: JobsOption
    engine: EngineOption
    scheduler: SchedulerOption


class RaceOptions(TypedDict, total=False):
    """Options of `race`."""

    methods: Annotated[
        str | Sequence[str] | None,
        Opt(
            help="See: optmap list methods.",
            detail="Keys of `METHODS`; one that cannot is left out with the reason.",
            default="all",
            read=names,
            metavar="A,B",
            names="methods",
        ),
    ]
    budget: Annotated[
        TimeInput,
        Opt(
            help="Of each method for each layer: 60s, 2min.",
            detail="Seconds, or such a text.",
            default=60.0,
            read=time,
            metavar="TIME",
            shell=float,
        ),
    ]
    proof: Annotated[
        TimeInput | None,
        Opt(
            help="Of exact for each layer, to prove the optimum; the budget if left out.",
            read=time,
            metavar="TIME",
            shell=float,
        ),
    ]
    objective: Annotated[ObjectiveOption, Here(help="edp (if left out), energy, cycles or port-cycles.")]
    counting: Annotated[CountingOption, Here(detail="Of those that `exact` does not know no optimum is proved.")]
    evaluations: Annotated[
        EvaluationsOption,
        Here(help="Mappings that each search which proposes them may have judged; any number if left out."),
    ]
    settings: Annotated[
        SettingsInput | None,
        Opt(
            help="A setting of a method, such as random.victory=0.",
            detail='Or `{"random.victory": 0}`.',
            typed="Repeatable.",
            flag="--set",
            metavar="METHOD.NAME=VALUE",
            shell=list[str],
        ),
    ]
    extents: ExtentsOption
    seed: Annotated[SeedOption, Here(help="Of methods that draw random numbers.")]
    engine: Annotated[
        EngineOption,
        Here(
            help="Where searches run; inline is one at a time.",
            detail="`local`, processes on this computer, or `dask`. Methods that were registered in this process, and "
            "not by a plug-in, are searched with here, after the others.",
            default=EngineName.INLINE,
        ),
    ]
    jobs: Annotated[JobsOption, Here(help="Processes of engine local; one per core if left out.")]
    scheduler: SchedulerOption
    directory: Annotated[
        DirectoryOption,
        Here(help="Keep rows, mappings, curves and race.json here; a race goes on where it was interrupted."),
    ]
    progress: ProgressOption
