"""Verbs for files of other tools: models of ONNX are read; Timeloop's read, written, and held against the optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.shown import Shown
from optmap.base.values import quoted
from optmap.files.fields import located
from optmap.files.inputs import text_of
from optmap.files.kinds import expected
from optmap.interchange.formats import format_of, readers, writers
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.questions.options import TileRule
from optmap.search.options import CountingOption, ProgressOption, TilesOption, TimeLimitOption

if TYPE_CHECKING:
    from optmap.answers.documents.solution import SavedSolution
    from optmap.answers.side_by_side.scoring import Score
    from optmap.interchange.timeloop import TimeloopModel
    from optmap.onnx_import import ImportedModel
    from optmap.search.result import NestAnswer, Solved

PathsInput = str | Path | Sequence[str | Path]


def import_onnx(path: str | Path, dims: Mapping[str, int] | None = None) -> ImportedModel:
    """The workloads of an ONNX model with their counts; `.save(path)` writes them as a workload file.

    Args:
        path: the model.
        dims: sizes of dynamic dims of its inputs, by name or as `input[axis]`.

    Raises:
        InputError: if the file cannot be used, or a size is missing.
    """
    from optmap.onnx_import import import_model

    return import_model(Path(text_of(path, "model", "an ONNX file")), dims)


def read_onnx(files: Sequence[Path], sizes: Mapping[str, int]) -> ImportedModel:
    """What `import_onnx` reads, of one file that has something to import.

    Raises:
        InputError: for several files, or one without workloads, and as `import_onnx` does.
    """
    if len(files) > 1:
        raise InputError(f"one ONNX file at a time: {', '.join(str(path) for path in files)} are {len(files)}")
    (model,) = files
    with expected(model, "an ONNX model, or YAML files of Timeloop,", "onnx"):
        found = import_onnx(model, sizes)
    if not found.workloads:
        others = ", ".join(dict.fromkeys(each.operator for each in found.skipped)) or "no operator"
        raise InputError(
            f"{model}: no Conv, ConvTranspose, MatMul, Gemm or Einsum in it, but {others}; nothing is imported"
        )
    return found


def import_timeloop(files: PathsInput) -> TimeloopModel:
    """Read a problem, an architecture and a mapping from files of Timeloop (versions 0.2 to 0.4).

    Args:
        files: one path or several; each file may hold several of `problem`, `architecture`, `ERT`, constraints and
            `mapping`. A mapping needs the problem and the architecture.

    Returns:
        `.workload`, `.machine` (an accelerator), `.nest` and `.notes` of what is left out.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    from optmap.interchange.timeloop import read_timeloop

    return read_timeloop(_paths(files))


def read_closed(files: Sequence[Path], sizes: Mapping[str, int]) -> TimeloopModel:
    """What `import_timeloop` reads; its files leave no size open.

    Raises:
        InputError: for a size, and as `import_timeloop` does.
    """
    for name, size in sizes.items():
        raise InputError(f"--dim {name}={size} is for ONNX files, which {files[0]} is not by its name; leave it out")
    return import_timeloop(files)


def import_files(files: PathsInput, form: str | None = None, sizes: Mapping[str, int] | None = None) -> Shown:
    """What files of another tool hold.

    Args:
        files: one path or several.
        form: one of `optmap.interchange.FORMATS` that is read; None goes by the files' names.
        sizes: of dims that the files leave open, by name.

    Raises:
        InputError: for a format that is not read, or files that cannot be used.
    """
    paths = [Path(path) for path in _paths(files)]
    return readers()[choose("format", form or format_of(paths), readers())](paths, sizes or {})


def export_timeloop(
    solution: NestAnswer | SavedSolution | str | Path, folder: str | Path | None = None
) -> dict[str, str]:
    """A mapping on an accelerator as files of Timeloop (version 0.4).

    Args:
        solution: what `solve` returned on an accelerator, or a solution file.
        folder: where to write them; it is made if need be. None to write nothing.

    Returns:
        The text of `problem.yaml`, `arch.yaml` (with energies) and `map.yaml`.

    Raises:
        InputError: if the solution is not one of an accelerator, or has what Timeloop cannot say.
    """
    return export_files(solution, "timeloop", folder)


def export_files(solution: Solved | str | Path, form: str, folder: str | Path | None = None) -> dict[str, str]:
    """A solution as files of another tool.

    Args:
        solution: what `solve` returned, or a solution file.
        form: one of `optmap.interchange.FORMATS` that is written.
        folder: where to write them; it is made if need be. None to write nothing.

    Returns:
        The texts of the files by name.

    Raises:
        InputError: for a format that is not written, or what it cannot say.
    """
    from optmap.answers.documents.solution import solution_from
    from optmap.base.writing import write_folder
    from optmap.files.reading import read_json
    from optmap.search.result import Solved

    write, solved = writers()[choose("format", form, writers())], solution
    if isinstance(solved, str | Path):
        with expected(solved, "a solution", "solution"):
            solved = solution_from(read_json(Path(solved)))
    if not isinstance(solved, Solved):
        raise InputError(f"{quoted(solution)} is no solution; give what solve returned, or a solution file")
    try:
        found = write(solved)
    except InputError as error:
        raise error if solved is solution else located(error, str(solution)) from error
    if folder is not None:
        write_folder(folder, found)
    return found


class ScoreOptions(TypedDict, total=False):
    """Options of `score`."""

    objective: Annotated[str, Opt(help="By what they are compared: edp, energy, cycles or port-cycles.", default="edp")]
    counting: CountingOption
    tiles: Annotated[
        TilesOption,
        Here(help="The optimum of which mappings: divisors as Timeloop has, or padded.", default=TileRule.DIVISORS),
    ]
    time_limit: Annotated[TimeLimitOption, Here(help="Stop the search after this time.")]
    progress: ProgressOption


@taking(ScoreOptions)
def score(files: PathsInput, **options: Unpack[ScoreOptions]) -> Score:
    """How far somebody's mapping, in files of Timeloop, is from the optimum.

    Args:
        files: problem, architecture (with energies) and mapping, as for `import_timeloop`.
        **options: as they are declared.

    Returns:
        Both counts, their ratio, and `.verdict` in words.

    Raises:
        InputError: for files that cannot be used, or without a mapping.
        InfeasibleError: if the architecture has no valid mapping at all.
    """
    from optmap.answers.side_by_side.scoring import scored
    from optmap.api import solve

    model = import_timeloop(files)
    if model.nest is None:
        raise InputError("the files have no mapping; give the file that has it, too")
    fabric = model.fabric
    asked = values_of(declared(ScoreOptions), options)
    best = solve(fabric.workload, machine=fabric.machine, **asked)
    return scored(model.nest, fabric, best, notes=model.notes)


def _paths(files: PathsInput) -> list[str | Path]:
    found = [files] if isinstance(files, str | Path) else list(files)
    if not found:
        raise InputError("no file is given; name the YAML files of a problem and an architecture")
    return found
