"""The verbs that recount, compare algorithms, import, examine, and add up networks and sweeps.

`optmap` offers them under its own name; the command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from optmap import api
from optmap.base.errors import InputError
from optmap.base.values import TimeInput, file_path
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    MemoryInput,
    WorkloadInput,
    capacities_of,
    machine_of,
    products_of,
    text_of,
    workload_of,
)
from optmap.questions.option import declared, refuse_elsewhere, taking, values_of
from optmap.search.options import EvaluateOptions
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.answers.documents.recount import Evaluation
    from optmap.answers.documents.saved_tree import SavedTree, TreeEvaluation
    from optmap.answers.documents.solution import SavedSolution
    from optmap.answers.over_capacity.network_sums import NetworkSums
    from optmap.answers.side_by_side.conformance import Conformance
    from optmap.baselines.randomized import RandomizedComparison
    from optmap.checker import Report
    from optmap.files.network import Network
    from optmap.onnx_import import ImportedModel
    from optmap.report.algorithms import AlgorithmComparison
    from optmap.report.library.solvers import Doctor
    from optmap.search.result import Answer
    from optmap.sweeps.networks.network_curves import NetworkCurve
    from optmap.sweeps.pictures import Pictures
    from optmap.sweeps.plan import Plan


@taking(EvaluateOptions)
def evaluate(
    solution: Answer[Any, Any] | SavedSolution | SavedTree | str | Path, **options: Unpack[EvaluateOptions]
) -> Evaluation[Any] | TreeEvaluation:
    """Count a mapping's exact cost again, from the mapping alone.

    Args:
        solution: what `solve` returned, a solution file, or a file with a mapping tree, which is counted in closed
            form where there is one, and else walked.
        **options: as they are declared.

    Returns:
        The recount; `.disagreements` are the claims of the file that it contradicts.

    Raises:
        InputError: if the file cannot be used.
        LimitError: if the nest is too large to simulate.
    """
    from dataclasses import replace

    from optmap.answers.documents.recount import evaluate_solution, run_simulations
    from optmap.answers.documents.saved_tree import SavedTree, evaluate_tree
    from optmap.report.answers.loading import saved_mapping

    known = declared(EvaluateOptions)
    asked = values_of(known, options)
    read = saved_mapping(solution)
    if isinstance(read, SavedTree):
        if asked["counting"] is not None:
            raise InputError("a mapping tree is counted in one way only; leave out --counting")
        return evaluate_tree(read, asked["limit"], walked=asked["simulate"])
    refuse_elsewhere(known, read.machine, asked)
    found = evaluate_solution(read, asked["counting"])
    return replace(found, simulations=run_simulations(read, asked["limit"])) if asked["simulate"] else found


def conformance(records: str | Path, *, counting: str | None = None) -> Conformance:
    """Compare the counts of another model with optmap's.

    Args:
        records: a file of records of Timeloop's or FactorFlow's model: architecture, workload, mapping and result of
            each.
        counting: None for that of the records, `timeloop` or `factorflow`; `exact` against the numbers that Timeloop's
            records give for a literal walk. With another one numbers are expected to differ.

    Returns:
        `.mismatches` are the numbers that differ.

    Raises:
        InputError: if the file cannot be used.
    """
    from optmap.answers.side_by_side.conformance import compare_records
    from optmap.count.policies import nest_policy
    from optmap.interchange import read_records

    chosen = None if counting is None else nest_policy(counting)
    return compare_records(read_records(file_path(records, "records")), chosen)


def algorithms(
    workload: WorkloadInput,
    *,
    memory: MemoryInput | Sequence[MemoryInput],
    points: int = 9,
    extents: ExtentsInput | None = None,
) -> AlgorithmComparison:
    """Words moved by ways to compute a convolution, as multiples of the bound.

    Args:
        workload: a convolution, as for `solve`.
        memory: a capacity, a range such as `4KiB:4MiB`, or several.
        points: how many of a range.
        extents: extent per dim, for a statement.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.algorithms import algorithm_comparison

    return algorithm_comparison(workload_of(workload, extents), memory, points)


def randomized(
    extents: ExtentsInput,
    *,
    memory: MemoryInput,
    cost: Fraction | float | str,
    semantics: Semantics | str | None = None,
) -> RandomizedComparison:
    """What a product with a random matrix costs if the matrix is generated: bound, tiling, gap.

    `R[d,n] = S[d,m] * A[m,n]`, where an element of S comes into fast memory for a cost instead of a load.

    Args:
        extents: of d, m and n, as a mapping or as `d=1000,m=1000,n=500`.
        memory: capacity of the fast memory.
        cost: cost of generating an element of S, in loads: a number above 0, or `1/10`.
        semantics: `assign` (also if left out): results are created in fast memory; `accumulate`: they are loaded.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: for a memory below three words.

    Source: Dinh, chapter 5 (Theorem 22, Algorithm 10).
    """
    from optmap.baselines.randomized import EXPRESSION, compare_randomized

    return compare_randomized(workload_of(EXPRESSION, extents, semantics), memory, cost)


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


def doctor() -> Doctor:
    """Which solvers are there, each with a solved sample, and which C compiler."""
    from optmap.native.toolchain.doctor import examine_compiler
    from optmap.report.library.solvers import Doctor
    from optmap.solvers.doctor import doctor as examine

    return Doctor(reports=examine(), compiler=examine_compiler())


def network(
    name: str | Path,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | None = None,
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    semantics: Semantics | str | None = None,
    tiles: str = "any",
    time_limit: TimeInput = 60.0,
    curve: bool = False,
    level: str | None = None,
    points: int = 9,
    jobs: int | None = None,
    directory: str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Network | NetworkSums[Any] | NetworkCurve:
    """The layers of a network; with a machine, what they move on it, added up.

    Args:
        name: a library network, or a workload file with counts.
        machine: solve every layer on this machine.
        memory: instead of `machine`, a two-level one; of a curve a range such as `16KiB:16MiB`, beside `machine`, too.
        method: a mapping method; None for `exact` on accelerators, `mopt` elsewhere.
        objective: what every layer minimises; None for the method's own.
        counting: on accelerators, as for `solve`.
        semantics: `accumulate` or `assign`, of every layer; None keeps the layers' own.
        tiles: as for `solve`.
        time_limit: seconds per layer, or a text such as `2min`.
        curve: over the capacities of `memory` instead of at one, with the knee between them.
        level: of a curve, the level of the machine that gets them; None for the outermost.
        points: of a curve, capacities that the range is cut into.
        jobs: processes; None for one per core.
        directory: keep rows, mappings and certificates there.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if a layer does not fit.
        LimitError: if a layer has no mapping when its time is over.
    """
    from optmap.files.network import network as load_network

    layers = load_network(text_of(name, "network", "a library name or a workload file"))
    if semantics is not None:
        layers = layers.with_semantics(semantics)
    if curve or machine is not None or memory is not None:
        products_of(layers.layers)
    if curve:
        if objective is not None or counting is not None:
            raise InputError("--objective and --counting are not for --curve, which counts words: leave them out")
        return _network_curve(
            layers,
            machine,
            memory,
            points,
            level=level,
            method=method,
            tiles=tiles,
            time_limit=time_limit,
            jobs=jobs,
            directory=None if directory is None else Path(directory),
            progress=progress,
        )
    if level is not None:
        raise InputError("--level is of --curve: which level gets the capacities")
    if machine is None and memory is None:
        return layers
    target = machine_of(machine, memory)
    from optmap.search.question import check_semantics
    from optmap.sweeps.networks.solving import solve_network

    check_semantics(target, semantics)
    return solve_network(
        layers,
        target,
        method=method,
        objective=objective,
        counting=counting,
        tiles=tiles,
        time_limit=time_limit,
        jobs=jobs,
        directory=None if directory is None else Path(directory),
        progress=progress,
    )


def _network_curve(
    layers: Network, machine: MachineInput | None, memory: MemoryInput | None, count: int, **options: Any
) -> NetworkCurve:
    from optmap.sweeps.networks.network_curves import network_curve

    if memory is None:
        raise InputError("--curve needs the capacities that it goes over; add --memory, such as --memory 16KiB:16MiB")
    sizes = capacities_of(memory, count)
    return network_curve(layers, sizes, machine=None if machine is None else machine_of(machine, None), **options)


def check(path: str | Path, *, progress: Callable[[str, float], None] | None = None) -> Report:
    """Verify a certificate, a solution, or all that a folder of a sweep holds, with the independent checker.

    Args:
        path: a file that `bound -o` or `solve -o` wrote, or a folder that `sweep`, `race` or `network -o` wrote.
        progress: called with a text and the share of a folder that is done.

    Returns:
        What was verified and what was not, one sentence each.

    Raises:
        InputError: if that is neither, or the file is not a JSON document.
        CheckError: with the reasons why a claim does not hold.
    """
    place = file_path(path)
    if not place.is_dir():
        return api.check(path)
    from optmap.sweeps.folder_check import check_folder

    return check_folder(place, progress)


def plan(spec: Mapping[str, object] | str | Path, directory: str | Path | None = None) -> Plan:
    """What a sweep would do, with an estimate from stored times, or from a few points that are tried and not kept.

    Args:
        spec: as for `sweep`.
        directory: of an earlier run, whose points would not be solved again.

    Raises:
        InputError: if the spec cannot be accepted.
    """
    from optmap.sweeps.run import as_spec, plan_sweep

    return plan_sweep(as_spec(spec), None if directory is None else Path(directory))


def plot(
    directory: str | Path,
    output: str | Path | None = None,
    *,
    format: str = "png",
    network: str | Path | None = None,
    targets: Sequence[float] | None = None,
    pareto: Sequence[str] = ("capacity_bytes", "traffic_bytes"),
    progress: Callable[[str, float], None] | None = None,
) -> Pictures:
    """Draw the curves of a sweep and name the cheapest capacities.

    Args:
        directory: what `sweep` wrote.
        output: folder of the pictures; `plots` in the directory if left out.
        format: `png`, `svg`, `pdf` or `html`.
        network: add up the layers of this network.
        targets: multiples of the compulsory traffic to reach.
        pareto: two metrics.
        progress: called with a text and the share that is done.

    Returns:
        The files, and the sizing table when printed.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.sweeps.pictures import draw

    if len(pareto) != 2:
        raise InputError(f"pareto {','.join(pareto)!r}: two metrics are needed, such as capacity_bytes,traffic_bytes")
    place = Path(text_of(directory, "directory", "the folder of a sweep"))
    return draw(
        place,
        place / "plots" if output is None else Path(output),
        form=format,
        network=None if network is None else text_of(network, "network", "a library name or a workload file"),
        targets=targets,
        metrics=(pareto[0], pareto[1]),
        progress=progress,
    )
