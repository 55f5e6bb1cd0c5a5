"""The options of `solve`, each declared once; what other verbs have as well they take from here, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.share import Tell
from optmap.base.values import TimeInput, quoted
from optmap.files.inputs import ExtentsInput, MachineInput, MemoryInput, names_of
from optmap.machines.machine import CapacityRule
from optmap.mappings.constraint_texts import ConstraintsInput, constraints_of
from optmap.mappings.constraints import NO_CONSTRAINTS
from optmap.questions.option import Here, Opt, path, text, time
from optmap.questions.options import CertificateKind, IntegerRule, TileRule
from optmap.solvers.config import FORMS, relaxation_solver
from optmap.workloads.workload import Padding, Semantics

SEARCHES = "{flag} is for searches on accelerators, which {machine} is not: leave it out"
NO_MEANING = "{flag} {value} has no meaning on the accelerator {machine}: "


def names(value: Any, name: str, _where: str) -> tuple[str, ...] | None:
    """Names, of one or several with commas between."""
    return names_of(value, f"{name} (--{name})")


def _progress(value: Any, _name: str, _where: str) -> Any:
    if not callable(value):
        raise InputError(f"progress is {quoted(value)}; give a function of a text and a share, or None")
    return value


def _solver(value: Any, name: str, where: str) -> str:
    """Of the relaxation; in a file a known one, in Python one that is there as well."""
    return str(choose(name, value, FORMS["relaxation"], where=where) if where else relaxation_solver(value))


def _constraints(value: Any, _name: str, where: str) -> Any:
    if not where:
        return constraints_of(value)
    try:
        return constraints_of(value)
    except InputError as error:
        raise InputError(f"{where}: constraints: {error}") from error


ExtentsOption = Annotated[ExtentsInput | None, Opt(help="Extents of the dims of a statement.", metavar="i=..,j=..")]
SemanticsOption = Annotated[
    Semantics | str | None,
    Opt(
        help="Whether the first touch of an output element is a load.",
        detail="`accumulate` or `assign`; None keeps the workload's own.",
        choices=Semantics,
    ),
]
PaddingOption = Annotated[
    Padding | str | None,
    Opt(
        help="Whether the rim around an image is stored or implicit: zero, never stored, never moved.",
        detail="None keeps the workload's own.",
        choices=Padding,
    ),
]
MachineOption = Annotated[
    MachineInput | None, Opt(help="A library machine or a YAML file.", metavar="M", names="machines")
]
MemoryOption = Annotated[
    MemoryInput | None,
    Opt(help="A two-level machine instead: 8192w, 512B, 32KiB or 12MiB of fast memory.", metavar="SIZE"),
]
ObjectiveOption = Annotated[
    str | None,
    Opt(
        help="bottleneck, sum, loads, traffic, or time (predicted, on machines with a core); on accelerators edp, "
        "energy, cycles or port-cycles (older name: traffic); the method's own if left out.",
        read=text,
        names="objectives",
    ),
]
CountingOption = Annotated[
    str | None,
    Opt(
        help="On accelerators: exact (if left out); timeloop, which extrapolates and takes tiles as hulls; "
        "factorflow, the model of QuickFlow.",
        detail="The name of a policy; one of a plug-in, too.",
        metavar="NAME",
        meshes=True,
        elsewhere="{flag} is for accelerators; {machine} has no fanouts and prices: leave it out",
        hashed=False,
    ),
]
TilesOption = Annotated[
    TileRule | str,
    Opt(
        help="Any tile size, or divisors only; on accelerators any is padded: divisors of larger extents, too.",
        default=TileRule.ANY,
        choices=TileRule,
    ),
]
CapacityOption = Annotated[
    CapacityRule | str,
    Opt(
        help="What must fit: one tile, or enough for an LRU cache.",
        default=CapacityRule.TILE,
        choices=CapacityRule,
        meshes=False,
        elsewhere=NO_MEANING + "one tile has to fit into each of its memories; leave out {flag}",
    ),
]
ConstraintsOption = Annotated[
    ConstraintsInput | None,
    Opt(
        help="What a tile, a loop order, a split or a keeper must be: L1.k=16, 'L2.c<=64', 'L1.k%8=0', "
        "L1.order=...,k (k innermost), L2.spatial.k=8; on accelerators also L2.x.k=8, L2.keeps=A,B, L2.bypass=C.",
        detail='Texts, or a mapping such as `{"L1.k": 16}`. Orders are outermost first; `L2.x.k` is a split along '
        "one axis of a mesh. The answer is the best among mappings that meet them, and so are its relaxation and "
        "integer bound; the lower bound stays that of every schedule.",
        default=NO_CONSTRAINTS,
        read=_constraints,
        flag="--constraint",
        metavar="TEXT",
        typed="Repeatable.",
        shell=list[str],
        hashed=False,
        write=lambda demanded: list(demanded.texts),
        schema={
            "oneOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": ["string", "integer", "array"]}},
            ]
        },
    ),
]
SolverOption = Annotated[
    str | None,
    Opt(
        help="Of the relaxation: batch (optmap's own) or ipopt (through Pyomo, slower); solvers.cfg if left out.",
        read=_solver,
        meshes=False,
        elsewhere=NO_MEANING + "no relaxation is solved; leave out {flag}",
        hashed=False,
        schema={"enum": list(FORMS["relaxation"])},
    ),
]
TimeLimitOption = Annotated[
    TimeInput,
    Opt(
        help="Stop after this time.",
        detail="Seconds, or a text such as `2min`.",
        default=60.0,
        read=time,
        metavar="TIME",
        shell=float,
        schema={"type": ["number", "string"], "exclusiveMinimum": 0},
    ),
]
EvaluationsOption = Annotated[
    int | None,
    Opt(
        help="On accelerators: mappings that random and other searches may have judged; any number if left out.",
        least=1,
        meshes=True,
        elsewhere=SEARCHES,
        hashed=False,
    ),
]
MethodOption = Annotated[
    str | None,
    Opt(
        help="See: optmap list methods. If left out: mopt, for traffic of one memory iooub, on accelerators exact.",
        names="methods",
    ),
]
SettingsOption = Annotated[
    Mapping[str, object] | None,
    Opt(
        help="A setting of a search on accelerators, such as victory=1000.",
        detail="By name, as values or texts.",
        read=lambda value, _name, _where: value if value is not None else {},
        default={},
        flag="--set",
        metavar="NAME=VALUE",
        typed="Repeatable.",
        shell=list[str],
        meshes=True,
        elsewhere=SEARCHES,
    ),
]
JournalOption = Annotated[
    str | Path | None,
    Opt(
        help="On accelerators: keep the scores of a search here; if the file is there, go on where it ended.",
        detail="The answer is the same as if it had not ended.",
        read=path,
        metavar="FILE",
        shell=Path,
        meshes=True,
        elsewhere=SEARCHES,
    ),
]
PointsOption = Annotated[
    int, Opt(help="Capacities of a range.", detail="Evenly on a logarithmic scale.", default=9, least=2)
]
SeedOption = Annotated[int, Opt(help="Seed of the search; same seed, same answer.", default=0, least=0)]
ProgressOption = Annotated[
    Tell | None,
    Opt(help="Called with what is being done and how much of all is done, 0 to 1.", read=_progress, shell=None),
]


class WorkloadOptions(TypedDict, total=False):
    """What a workload is told beside its name or its statement."""

    extents: ExtentsOption
    semantics: SemanticsOption
    padding: PaddingOption


class TargetOptions(TypedDict, total=False):
    """On what: a machine, or one memory."""

    machine: MachineOption
    memory: MemoryOption


class SharedOptions(TypedDict, total=False):
    """Options of mapping methods that mean the same in `solve` and in a sweep."""

    objective: Annotated[
        ObjectiveOption,
        Here(
            detail="A key of `OBJECTIVES` that the method minimises on the machine. Of one memory, `bottleneck`, `sum` "
            "and `traffic` are the same number: loads and stores over bandwidth. `time` is the predicted time of the "
            "code on a machine with a core, caches warm; its method is `timed`. On accelerators `port-cycles` "
            "are those of the slowest port."
        ),
    ]
    counting: CountingOption
    tiles: TilesOption
    capacity: CapacityOption
    integers: Annotated[
        IntegerRule | str,
        Opt(
            help="Exact integer search, or rounding down as MOpt does.",
            default=IntegerRule.EXACT,
            choices=IntegerRule,
            meshes=False,
            elsewhere=NO_MEANING + "tiles are searched as whole factors; leave out {flag}",
        ),
    ]
    cores: Annotated[
        int,
        Opt(
            help="Cores to split the work over.",
            detail="They share the innermost shared level.",
            default=1,
            least=1,
            meshes=False,
            elsewhere=NO_MEANING + "the machine says how many units there are; leave out {flag}",
        ),
    ]
    innermost: Annotated[
        str | None,
        Opt(
            help="Leave out the levels inside this one.",
            read=text,
            metavar="LEVEL",
            names="levels",
            meshes=False,
            elsewhere=NO_MEANING + "its counts start at the arithmetic; leave out {flag}",
        ),
    ]
    constraints: ConstraintsOption
    solver: SolverOption
    time_limit: Annotated[
        TimeLimitOption,
        Here(
            detail="Seconds, or a text such as `2min`, of the whole answer, after which it is the best so far: search, "
            "counts, bounds and checks."
        ),
    ]
    evaluations: Annotated[EvaluationsOption, Here(detail="With it, the same seed is the same answer.")]


class SolveOptions(TargetOptions, WorkloadOptions, SharedOptions, total=False):
    """Options of `solve`."""

    method: Annotated[
        MethodOption,
        Here(
            detail="A key of `METHODS`; None takes `timed` for objective `time`, and for `traffic` of one memory "
            "`iooub` (`gemmini` if it has partitions), or `mopt` for what these do not know."
        ),
    ]
    certificate: Annotated[
        CertificateKind | str,
        Opt(
            help="What optmap check FILE re-proves: bound, or full: relaxation and integer bound, too.",
            detail="They become what is proved, less than a millionth lower where no note says more. The search then "
            "has half of the time limit.",
            default=CertificateKind.BOUND,
            choices=CertificateKind,
            meshes=False,
            elsewhere=NO_MEANING + "its files have proofs of their own; leave out {flag}",
        ),
    ]
    confirm: Annotated[
        bool,
        Opt(
            help="On accelerators: a second search, without dominance, confirms the optimum.",
            default=False,
            shell=bool,
            meshes=True,
            elsewhere="{flag} is for method exact on accelerators, which {machine} is not: leave it out",
        ),
    ]
    top: Annotated[
        int,
        Opt(
            help="So many mappings, the best and the next best of those that the search priced.",
            detail="`.others` of the answer and the key `others` of its document have the next best; no two have the "
            "same cost at every level.",
            default=1,
            least=1,
            metavar="N",
        ),
    ]
    settings: SettingsOption
    journal: JournalOption
    seed: SeedOption
    progress: ProgressOption
