"""The verbs of grids: `network`, whose layers are solved and added up, and of a sweep `plan` and `plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.files.inputs import (
    MachineInput,
    MemoryInput,
    capacities_of,
    machine_of,
    names_of,
    products_of,
    sizes_of,
    text_of,
)
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.questions.options import TileRule
from optmap.search.options import (
    CountingOption,
    MethodOption,
    ObjectiveOption,
    PointsOption,
    ProgressOption,
    SemanticsOption,
    TargetOptions,
    TilesOption,
    TimeLimitOption,
)
from optmap.sweeps.options import DirectoryOption, JobsOption
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.answers.over_capacity.fused import FusedCurve, FusedNetwork
    from optmap.answers.over_capacity.network_sums import NetworkSums
    from optmap.files.network import Network
    from optmap.sweeps.networks.network_curves import NetworkCurve
    from optmap.sweeps.pictures import Pictures
    from optmap.sweeps.plan import Plan


class NetworkOptions(TargetOptions, total=False):
    """Options of `network`."""

    method: MethodOption
    objective: Annotated[ObjectiveOption, Here(help="Of every layer; the method's own if left out.")]
    counting: CountingOption
    semantics: SemanticsOption
    tiles: TilesOption
    curve: Annotated[
        bool,
        Opt(
            help="Over the capacities of --memory FROM:TO, with the knee.",
            detail="`memory` is a range then, beside `machine`, too.",
            default=False,
            shell=bool,
        ),
    ]
    fuse: Annotated[
        bool,
        Opt(
            help="Of an ONNX file: solve chains of two products as well, and say which of them to fuse.",
            detail="`memory` is needed then.",
            default=False,
            shell=bool,
        ),
    ]
    dims: Annotated[
        Mapping[str, int] | Sequence[str] | None,
        Opt(
            help="Of --fuse: size of a dynamic dim of an input, by its name or as input[axis]; repeat as needed.",
            flag="--dim",
            metavar="NAME=SIZE",
            shell=list[str],
        ),
    ]
    level: Annotated[
        str | None, Opt(help="Of --curve: the level that gets them; the outermost if left out.", names="levels")
    ]
    points: Annotated[PointsOption, Here(help="Of --curve: capacities of the range.")]
    time_limit: Annotated[TimeLimitOption, Here(help="Of one layer.")]
    jobs: JobsOption
    directory: DirectoryOption
    progress: ProgressOption


@taking(NetworkOptions)
def network(
    name: str | Path, **options: Unpack[NetworkOptions]
) -> Network | NetworkSums[Any] | NetworkCurve | FusedNetwork | FusedCurve:
    """The layers of a network; with a machine, what they move on it, added up.

    Args:
        name: a library network, or a workload file with counts; with `fuse` an ONNX file.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if a layer does not fit.
        LimitError: if a layer has no mapping when its time is over.
    """
    from optmap.files.network import network as load_network

    asked = values_of(declared(NetworkOptions), options)
    semantics, curve, level, points = (asked.pop(each) for each in ("semantics", "curve", "level", "points"))
    machine, memory, dims = (asked.pop(each) for each in ("machine", "memory", "dims"))
    if asked.pop("fuse"):
        asked |= {"curve": curve, "points": points, "semantics": semantics, "machine": machine, "level": level}
        return _fused_network(name, memory, sizes_of(dims or ()), **asked)
    if dims is not None:
        raise InputError("--dim is for the ONNX file of --fuse: add --fuse, or leave it out")
    layers = load_network(text_of(name, "network", "a library name or a workload file"))
    if semantics is not None:
        layers = layers.with_semantics(semantics)
    if curve or machine is not None or memory is not None:
        products_of(layers.layers)
    if curve:
        if any(asked.pop(each) is not None for each in ("objective", "counting")):
            raise InputError("--objective and --counting are not for --curve, which counts words: leave them out")
        return _network_curve(layers, machine, memory, points, level=level, **asked)
    if level is not None:
        raise InputError("--level is of --curve: which level gets the capacities")
    if machine is None and memory is None:
        return layers
    target = machine_of(machine, memory)
    from optmap.search.question import check_semantics
    from optmap.sweeps.networks.solving import solve_network

    check_semantics(target, semantics)
    return solve_network(layers, target, **asked)


def _fused_network(
    name: str | Path,
    memory: MemoryInput | None,
    dims: Mapping[str, int],
    *,
    curve: bool,
    points: int,
    semantics: Semantics | str | None,
    **options: Any,
) -> FusedNetwork | FusedCurve:
    file = Path(text_of(name, "network", "an ONNX file"))
    refused = [f"--{each}" for each in ("machine", "level", "objective", "counting") if options.pop(each) is not None]
    refused += ["--tiles"] if options["tiles"] != TileRule.ANY else []
    if refused:
        raise InputError(f"--fuse counts words of one memory, with any tiles: leave out {' and '.join(refused)}")
    if semantics not in (None, Semantics.ASSIGN):
        raise InputError("outputs of an ONNX file start empty: use --semantics assign with --fuse, or leave it out")
    if memory is None:
        raise InputError("--fuse needs the memory that chains are fused in; add --memory, such as --memory 1MiB")
    if file.suffix != ".onnx":
        raise InputError(
            f"{name} is a list of layers, without the graph that says which of them reads what another makes; --fuse "
            "needs an ONNX file (MODEL.onnx)"
        )
    from optmap.onnx_import import import_chains
    from optmap.sweeps.networks.fusing import fused_curve, fused_network

    if curve:
        return fused_curve(import_chains(file, dims), capacities_of(memory, points), **options)
    return fused_network(import_chains(file, dims), machine_of(None, memory), **options)


def _network_curve(
    layers: Network, machine: MachineInput | None, memory: MemoryInput | None, count: int, **options: Any
) -> NetworkCurve:
    from optmap.sweeps.networks.network_curves import network_curve

    if memory is None:
        raise InputError("--curve needs the capacities that it goes over; add --memory, such as --memory 16KiB:16MiB")
    sizes = capacities_of(memory, count)
    return network_curve(layers, sizes, machine=None if machine is None else machine_of(machine, None), **options)


def plan(spec: Mapping[str, object] | str | Path, directory: str | Path | None = None) -> Plan:
    """What a sweep would do, with an estimate from stored times, or from a few points that are tried and not kept.

    Args:
        spec: as for `sweep`.
        directory: of an earlier run, whose points would not be solved again.

    Raises:
        InputError: if the spec cannot be accepted.

    Examples:
        >>> grid = {"workloads": ["resnet18/R12"], "capacities": {"values": ["8KiB", "32KiB"]}, "methods": ["bound"]}
        >>> optmap.plan(grid).points
        2
    """
    from optmap.sweeps.run import as_spec, plan_sweep

    return plan_sweep(as_spec(spec), None if directory is None else Path(directory))


class PictureFormat(StrEnum):
    """Forms of the pictures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    HTML = "html"


class PlotOptions(TypedDict, total=False):
    """Options of `plot`."""

    format: Annotated[
        PictureFormat | str, Opt(help="Form of the pictures.", default=PictureFormat.PNG, choices=PictureFormat)
    ]
    network: Annotated[
        str | Path | None,
        Opt(
            help="Add up the layers of this network: a library name, or a workload file with counts.",
            metavar="NAME",
            names="networks",
        ),
    ]
    targets: Annotated[
        Sequence[float] | None,
        Opt(help="Multiple of the compulsory traffic to reach; repeat as needed.", flag="--target", shell=list[float]),
    ]
    pareto: Annotated[
        str | Sequence[str],
        Opt(help="Metrics of the Pareto front.", default="capacity_bytes,traffic_bytes", metavar="X,Y"),
    ]
    progress: ProgressOption


@taking(PlotOptions)
def plot(directory: str | Path, output: str | Path | None = None, **options: Unpack[PlotOptions]) -> Pictures:
    """Draw the curves of a sweep and name the cheapest capacities.

    Args:
        directory: what `sweep` wrote.
        output: folder of the pictures; `plots` in the directory if left out.
        **options: as they are declared.

    Returns:
        The files, and the sizing table when printed.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.sweeps.pictures import draw

    asked = values_of(declared(PlotOptions), options)
    metrics = names_of(asked["pareto"], "pareto (--pareto)") or ()
    if len(metrics) != 2:
        raise InputError(f"pareto {','.join(metrics)!r}: two metrics are needed, such as capacity_bytes,traffic_bytes")
    network, place = asked["network"], Path(text_of(directory, "directory", "the folder of a sweep"))
    return draw(
        place,
        place / "plots" if output is None else Path(output),
        form=asked["format"],
        network=None if network is None else text_of(network, "network", "a library name or a workload file"),
        targets=asked["targets"],
        metrics=(metrics[0], metrics[1]),
        progress=asked["progress"],
    )
