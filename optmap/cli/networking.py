"""`network`: a whole network on one machine, layer by layer and added up."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import Progress, complain, guarded, say
from optmap.cli.inputs import resolve_machine
from optmap.cli.options import JsonOption, MachineOption, MemoryOption
from optmap.errors import InfeasibleError, LimitError

LIMIT_REACHED = 4

NETWORK_HELP = """Solve every layer of a network on one machine and add up.

Every layer counts as often as it occurs. The table shows traffic and proved bound across the
outer boundary of the outermost level, the layers that dominate, and what a larger cache could save
at most. Without a machine the network is only shown.

\b
Examples:
  optmap network
  optmap network resnet18
  optmap network resnet18 --machine balanced
  optmap network model.yaml --memory 256KiB --json

Exit codes: 0 solved, 2 bad input, 3 infeasible, 4 a layer reached its time limit (its best mapping counts).
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("network", help=NETWORK_HELP)(guarded(network))


def network(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A library network or a workload file with counts; lists the networks if left out.",
            show_default=False,
        ),
    ] = None,
    machine: MachineOption = None,
    memory: MemoryOption = None,
    method: Annotated[str, typer.Option("--method", help="See: optmap list methods.")] = "mopt",
    time_limit: Annotated[float, typer.Option("--time-limit", metavar="SECONDS", help="Of one layer.")] = 60.0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes; one per core if left out.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Keep rows, mappings and certificates here.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Print the layers of a network, or what they move on a machine."""
    from optmap.report.jsonio import to_json

    if name is None:
        say(_listing(as_json))
        return 0
    if machine is None and memory is None:
        say(_shown(name, as_json))
        return 0
    target = resolve_machine(machine, memory)
    from optmap.problem.network import network as load_network
    from optmap.report.network import network_document, network_table, network_views
    from optmap.report.sweep_curves import panels
    from optmap.sweeps.reading import read_sweep
    from optmap.sweeps.run import sweep
    from optmap.sweeps.spec import BOUND, Options, SweepSpec

    layers = load_network(name)
    spec = SweepSpec(
        workloads=layers.layers,
        machines=(target,),
        methods=(BOUND, method),
        options=Options(time_limit=time_limit),
        name=layers.name,
    )
    with tempfile.TemporaryDirectory(prefix="optmap-") as folder, Progress(f"solving {layers.name}") as progress:
        directory = output if output is not None else Path(folder)
        sweep(spec, directory, jobs=jobs, progress=lambda tally: progress("solving", tally.done / max(1, tally.points)))
        frame = read_sweep(directory)
    # A directory that was there before may hold other machines, capacities and methods.
    level = target.levels[-1]
    held = [level.capacity.bytes(int(size)) for size in frame["word_bits"]]
    here = (frame["machine"] == target.name) & (frame["level"] == level.name) & (frame["capacity_bytes"] == held)
    mine = frame[here & frame["method"].isin([BOUND, method])]
    view = network_views(panels(mine), layers)[0]
    if not view.total.series or not view.total.series[0].samples:
        problems = dict.fromkeys(str(text) for text in mine["error"] if text)
        kind = InfeasibleError if (mine["stop"] == "infeasible").any() else LimitError
        raise kind(f"{layers.name}: no mapping of all its layers: {'; '.join(problems)[:400]}")
    series = view.total.series[0]
    size = series.samples[-1].capacity_bytes
    if as_json:
        say(to_json({"schema": "optmap.network/1", **network_document(view, series, size)}))
    else:
        say(network_table(view, series, size))
    if (mine["stop"] == "time_limit").any():
        complain("a layer reached its time limit; its best mapping so far is in the sums")
        return LIMIT_REACHED
    return 0


def _listing(as_json: bool) -> str:
    from optmap.problem.network import list_networks
    from optmap.problem.network import network as load_network
    from optmap.report.jsonio import to_json
    from optmap.report.tables import grid

    found = [load_network(name) for name in list_networks()]
    if as_json:
        return to_json({"schema": "optmap.networks/1", "networks": [each.name for each in found]})
    rows = [(each.name, f"{each.occurrences}", f"{len(each.layers)}", f"{each.operations:,}") for each in found]
    return grid(("network", "layers", "different", "operations"), "<>>>", rows)


def _shown(name: str, as_json: bool) -> str:
    import textwrap

    from optmap.problem.network import network as load_network
    from optmap.report.documents import workload_document
    from optmap.report.jsonio import to_json
    from optmap.report.tables import grid, sizes

    found = load_network(name)
    if as_json:
        layers = [workload_document(layer) for layer in found.layers]
        document = {"schema": "optmap.network-layers/1", "name": found.name, "operations": found.operations}
        return to_json({**document, "layers": layers, "note": found.note})
    rows = [
        (layer.title, f"{layer.count}", f"{layer.operations * layer.count:,}", layer.expression, sizes(layer.extents))
        for layer in found.layers
    ]
    table = grid(("layer", "count", "operations", "statement", "extents"), "<>><<", rows)
    head = f"{found.name}: {found.occurrences} layers, {found.operations:,} multiply-accumulates"
    return "\n\n".join(part for part in (head, table, textwrap.fill(found.note, 100)) if part)
