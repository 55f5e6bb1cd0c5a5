"""Verbs for files of other tools: models of ONNX are read; Timeloop's read, written, and held against the optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.values import quoted
from optmap.files.inputs import text_of
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.questions.options import TileRule
from optmap.search.options import CountingOption, ProgressOption, TilesOption, TimeLimitOption

if TYPE_CHECKING:
    from optmap.answers.documents.solution import SavedSolution
    from optmap.answers.side_by_side.scoring import Score
    from optmap.interchange.timeloop import TimeloopModel
    from optmap.onnx_import import ImportedModel
    from optmap.search.result import NestAnswer

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
    from optmap.answers.documents.solution import solution_from
    from optmap.files.kinds import expected
    from optmap.files.reading import read_json
    from optmap.interchange.exporting import timeloop_files
    from optmap.search.result import Solved

    if isinstance(solution, str | Path):
        with expected(solution, "a solution of an accelerator", "solution"):
            read: Solved = solution_from(read_json(Path(solution)))
            if not read.machine.meshed:
                raise InputError(f"{solution} is a solution of a machine without fanouts, which Timeloop does not map")
    elif isinstance(solution, Solved) and solution.machine.meshed:
        read = solution
    else:
        raise InputError(f"{quoted(solution)} is no mapping on an accelerator; solve one, such as on eyeriss")
    found = timeloop_files(read.fabric, read.nest)
    if folder is not None:
        write_folder(Path(folder), found)
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


def write_folder(folder: Path, files: dict[str, str]) -> None:
    """Write texts into a folder, which is made if need be.

    Raises:
        InputError: if they cannot be written.
    """
    from optmap.base.writing import made_folder, write_text

    place = made_folder(folder)
    for name, text in files.items():
        write_text(place / name, text)


def _paths(files: PathsInput) -> list[str | Path]:
    found = [files] if isinstance(files, str | Path) else list(files)
    if not found:
        raise InputError("no file is given; name the YAML files of a problem and an architecture")
    return found
