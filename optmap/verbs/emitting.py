"""The verbs that make code of a mapping: `emit` writes it, `compile` has it compiled and loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.texts import several
from optmap.base.values import TimeInput, file_path
from optmap.files.inputs import ExtentsInput, MachineInput, WorkloadInput, machine_of, needed_machine, workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.tree import MappingTree
from optmap.questions.option import Here, Opt, declared, path, taking, time, values_of
from optmap.search.options import ExtentsOption, MachineOption, PaddingOption, ProgressOption, TimeLimitOption
from optmap.workloads.workload import Padding, Semantics, Workload

if TYPE_CHECKING:
    from optmap.answers.documents.saved_tree import SavedTree
    from optmap.answers.documents.solution import SavedSolution
    from optmap.native.code import Code
    from optmap.native.run.kernel import Kernel
    from optmap.native.run.tasks import MappingInput
    from optmap.search.result import Answer

CandidatesOption = Annotated[
    int, Opt(help="Mappings of the model that are run, at most.", detail="The fastest is kept.", default=5, least=1)
]
SecondsOption = Annotated[
    TimeInput,
    Opt(
        help="Of measuring, per workload.",
        detail="Seconds, or a text such as `500ms`.",
        default=1.0,
        read=time,
        metavar="TIME",
        shell=float,
    ),
]
LayoutOption = Annotated[
    ActivationLayout | str,
    Opt(
        help="Of images: channels where the statement has them, last, or in blocks.",
        default=ActivationLayout.NHWC,
        choices=ActivationLayout,
    ),
]
PrefetchOption = Annotated[
    bool | None,
    Opt(
        help="Whether the code asks for the next tiles before it needs them; it does if left out.",
        flag="--no-prefetch",
        shell=None,
    ),
]
FolderOption = Annotated[
    str | Path | None,
    Opt(
        help="Where built objects are kept; `OPTMAP_BUILD_DIR` or a folder of the user's cache if left out.",
        read=path,
        shell=None,
    ),
]


class ComputedOptions(TypedDict, total=False):
    """Of what code computes: what all verbs have that write or run it."""

    extents: ExtentsOption
    padding: PaddingOption
    progress: ProgressOption


class BuiltOptions(ComputedOptions, total=False):
    """What `emit` and `run` have beside that."""

    machine: MachineOption
    prefetch: PrefetchOption
    folder: FolderOption


class EmitOptions(BuiltOptions, total=False):
    """Options of `emit`; what is left out for None may be said by a document that takes the workload's place."""

    fastest: Annotated[
        bool,
        Opt(
            help="Run mappings here and take the fastest.",
            detail="They are the first of the model, as `run` runs them.",
            default=False,
            shell=bool,
        ),
    ]
    candidates: Annotated[CandidatesOption, Here(help="Of --fastest: mappings that are run.")]
    seconds: Annotated[SecondsOption, Here(help="Of --fastest: of measuring.")]
    semantics: Annotated[
        Semantics | str | None,
        Opt(
            help="Whether outputs are computed from nothing (if left out) or added to.",
            detail="`assign` or `accumulate`.",
            choices=Semantics,
        ),
    ]
    layout: Annotated[
        ActivationLayout | str | None,
        Opt(
            help="Of images: channels where the statement has them, last (if left out), or in blocks.",
            detail="`nchw`, `nhwc` or `blocked`.",
            choices=ActivationLayout,
        ),
    ]
    weights: Annotated[
        WeightPacking | str | None,
        Opt(
            help="Packed by a function of their own (if left out), or in every call.",
            detail="`ahead` or `call`.",
            choices=WeightPacking,
        ),
    ]
    stores: Annotated[
        StoreKind | str | None,
        Opt(
            help="Of outputs: through the caches (if left out), or past them.",
            detail="`ordinary` or `streaming`.",
            choices=StoreKind,
        ),
    ]
    threads: Annotated[
        int | None,
        Opt(
            help="Threads that the mapping is to be split among.",
            detail="None for those of `mapping`, or one.",
            least=1,
        ),
    ]
    time_limit: Annotated[TimeLimitOption, Here(help="Stop the search of a mapping after this time.")]


EMIT = declared(EmitOptions)
"""The options of `emit`, by name."""
OF_CODE = ("fastest", "extents", "semantics", "padding", "layout", "weights", "stores", "prefetch")
"""Those that a document says itself."""


@taking(EmitOptions)
def emit(
    workload: WorkloadInput,
    *,
    mapping: MappingInput | None = None,
    **options: Unpack[EmitOptions],
) -> Code:
    """C11 for a workload: the loops, orders and ragged tiles of a mapping around a microkernel.

    A chain of statements is written in a mapping tree, such as `solve` finds: its loops around plain ones.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`; or a document that `run` or
            `bench` wrote (`run.json`, `run.json/NAME` of several): the fastest code in it, with all its choices; or a
            document with a mapping tree.
        mapping: what `solve` returned, a solution file, a file with a mapping's levels or tree, or a mapping; None to
            solve.
        **options: as they are declared. The machine may be left out if `mapping` is a solution, or the workload a
            document, which name their own; with its `core`, as `detect` finds it, there is vector code.

    Returns:
        `.source` is C, `.main` a program that checks and times it, `.write("folder")` writes both, `.buffers` say what
        the functions take, `.ran` how fast it was if it was chosen so, `.notes` why no microkernel applies.

    Raises:
        InputError: for anything that cannot be accepted, as a mapping of something else, or one that splits a
            reduction.
        InfeasibleError: if there is no mapping.
        SolverUnavailableError: if mappings are to be run and there is no C compiler.
        CheckError: if code that is run computes something else.
    """
    from optmap.native import emit_code
    from optmap.native.run.fastest import fastest_code, predicted_mapping
    from optmap.native.run.saved import code_of_document, is_document

    asked = values_of(EMIT, options)
    machine, threads = asked["machine"], asked["threads"]
    if isinstance(workload, str | os.PathLike) and is_document(os.fspath(workload)):
        given = ["--mapping"] if mapping is not None else []
        given += [EMIT[name].flag for name in OF_CODE if asked[name] != EMIT[name].opt.default]
        if given:
            raise InputError(
                f"{workload} says how its code is made: leave out {', '.join(given)}, or emit the workload itself"
            )
        target = None if machine is None else machine_of(machine, None)
        return code_of_document(os.fspath(workload), machine=target, threads=threads)
    chosen = code_options(asked)
    semantics = asked["semantics"] or Semantics.ASSIGN
    problem = computed(workload, extents=asked["extents"], semantics=semantics, padding=asked["padding"])
    search = {"threads": threads or 1, "time_limit": asked["time_limit"], "progress": asked["progress"]}
    if asked["fastest"]:
        if mapping is not None:
            raise InputError("--mapping says which mapping is written, --fastest looks for one: leave one of them out")
        runs = {name: asked[name] for name in ("candidates", "seconds", "folder")}
        return fastest_code(problem, needed_machine(machine), chosen, **search, **runs)
    if mapping is None:
        target = needed_machine(machine)
        code: Code = emit_code(problem, predicted_mapping(problem, target, chosen, **search), target, chosen)
        return code
    target, found = _given(problem, machine, mapping)
    if isinstance(found, Mapping) and len(found.levels) + 1 == len(target.levels):  # of a method without registers
        found = _with_registers(problem, target, chosen, found)
    code = emit_code(problem, found, target, chosen)
    if threads is not None and threads != code.threads:
        raise InputError(
            f"the mapping is split among {several(code.threads, 'thread')}, not {threads}; "
            "leave threads out, or solve for as many"
        )
    return code


def compile_result(
    result: Answer[Any, Any] | SavedSolution | SavedTree | Code | str | Path,
    *,
    machine: MachineInput | None = None,
    options: CodeOptions | None = None,
    padding: Padding | str | None = None,
    semantics: Semantics | str = Semantics.ASSIGN,
    folder: str | Path | None = None,
) -> Kernel:
    """A function on NumPy arrays that computes a workload as a mapping says.

    Code is written, built with the system's compiler (once: what was built is kept by digest of code, compiler and
    flags) and loaded. The function takes an array per tensor that is read, axes in the order of the subscripts:

        run = optmap.compile(optmap.solve("resnet18/R9", machine="host.yaml", objective="time"))
        out = run(image, weights)
        ready = run.pack("Ker", weights)  # once
        run(image, ready, out=out)

    Args:
        result: what `solve` returned, a solution, a mapping tree, the file of one, or code of `emit`.
        machine: that the code is written for, with levels of the same names as in the mapping; the result's own if
            left out.
        options: layouts, packing, kind of store; all defaults if left out.
        padding: `stored`: images come with their rim; None for implicit: without, wherever it is known (a file of a
            mapping for stored padding does not know it).
        semantics: `accumulate`: outputs are added to; `assign`: they are computed from nothing.
        folder: where built objects are kept; `OPTMAP_BUILD_DIR` or a folder of the user's cache if left out.

    Returns:
        The function; see `optmap.native.Kernel` for what it takes, borrows and copies.

    Raises:
        InputError: for anything that cannot be accepted, a mapping on an accelerator included.
        SolverUnavailableError: if there is no C compiler, with what to install.
        CheckError: if it refuses the code.
    """
    from optmap.native.code import Code
    from optmap.native.emit.emit import emit_code
    from optmap.native.run.compiled import compile_code
    from optmap.native.run.tasks import coded_mapping
    from optmap.report.answers.loading import saved_mapping
    from optmap.search.result import Solved

    place = None if folder is None else file_path(folder, "folder")
    if isinstance(result, Code):
        if any(each is not None for each in (machine, options, padding)) or semantics != Semantics.ASSIGN:
            raise InputError("code is written already: machine, options, padding and semantics belong to emit")
        return compile_code(result, folder=place)
    saved = result if isinstance(result, Solved) else saved_mapping(result)
    workload = computed(saved.workload, padding=padding, semantics=semantics)
    target = saved.machine if machine is None else machine_of(machine, None)
    return compile_code(emit_code(workload, coded_mapping(saved), target, options), folder=place)


CHOICES = tuple(CodeOptions.__dataclass_fields__)
"""Options that are choices of the code."""


def code_options(asked: dict[str, Any]) -> CodeOptions:
    """The choices of the code among the values of options; None for what it is if left out."""
    return CodeOptions(**{name: asked[name] for name in CHOICES if asked.get(name) is not None})


def computed(
    workload: WorkloadInput,
    *,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str = Semantics.ASSIGN,
    padding: Padding | str | None = None,
) -> Workload:
    """A workload as code computes it: from nothing, and without a rim around images, unless the user says otherwise.

    Args:
        workload: what stands for it.
        extents: extent per dim, for an expression.
        semantics: of the code.
        padding: None for implicit wherever it is known where padding is.

    Raises:
        InputError: if it cannot be understood, or padding is to be implicit and it is not known where it is.
    """
    from optmap.native.statement import as_computed

    return as_computed(workload_of(workload, extents, semantics), padding=padding, semantics=semantics)


def _given(
    workload: Workload, machine: MachineInput | None, mapping: MappingInput
) -> tuple[Machine, Mapping | MappingTree]:
    """The machine and the mapping that a user names."""
    own, found = _read(workload, machine, mapping)
    target = own if machine is None else machine_of(machine, None)
    if target is None:
        raise InputError("a mapping alone does not say its machine; give it (--machine)")
    return target, found


def _with_registers(workload: Workload, machine: Machine, options: CodeOptions, mapping: Mapping) -> Mapping:
    """A mapping of the caches alone with the register tile that is predicted to be fastest."""
    from optmap.count.timing.floor import Running
    from optmap.count.timing.predict import TimeModel
    from optmap.search.timed.registers import with_registers

    model = TimeModel(workload=workload, machine=machine, options=options, running=Running(threads=1))
    return with_registers(model, mapping).mapping


def _read(
    workload: Workload, machine: MachineInput | None, mapping: MappingInput
) -> tuple[Machine | None, Mapping | MappingTree]:
    from optmap.answers.documents.saved_tree import SavedTree, is_tree
    from optmap.files.kinds import expected
    from optmap.files.mappings import read_mapping
    from optmap.files.reading import read_json
    from optmap.files.trees import read_tree
    from optmap.native.run.tasks import coded_mapping
    from optmap.report.answers.loading import mapping_from
    from optmap.search.result import Solved

    if isinstance(mapping, Mapping | MappingTree):
        return None, mapping
    if isinstance(mapping, Solved | SavedTree):
        return mapping.machine, coded_mapping(mapping)
    target = None if machine is None else machine_of(machine, None)
    with expected(file_path(mapping, "mapping"), "a solution or a mapping", "solution", "mapping"):
        fields = read_json(file_path(mapping, "mapping"))
        if fields.has("schema") or is_tree(fields):
            saved = mapping_from(fields)
            return saved.machine, coded_mapping(saved)
        if target is None:
            raise InputError(f"{mapping}: a mapping alone does not say its machine; give it (--machine)")
        read = read_tree if fields.has("tree") else read_mapping
        return None, read(fields, workload, target)
