"""`network`: a whole network on one machine, layer by layer and added up."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from optmap.base.texts import several
from optmap.cli.completing import completed
from optmap.cli.console import LIMIT_REACHED, complain, guarded, refuse_unused, say_answer, say_document, say_text
from optmap.cli.options import JsonOption, PlotFolderOption, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs import sweeping

NETWORK_HELP = """Solve every layer of a network on one machine and add up.

Every layer counts as often as it occurs. The table shows traffic and proved bound across the
outer boundary of the outermost level, the layers that dominate, and what a larger cache could save
at most. Without a machine the network is only shown.

\b
Examples:
  optmap network
  optmap network resnet18
  optmap network resnet18 --machine balanced
  optmap network resnet18 --machine balanced --semantics assign
  optmap network model.yaml --memory 256KiB --json
  optmap network resnet50 --machine eyeriss --objective edp
  optmap network resnet18 --curve --memory 64KiB:16MiB --plot figures
  optmap network resnet18 --curve --machine balanced --level L2 --memory 16KiB:256KiB --points 5
  optmap network bert.onnx --fuse --memory 1MiB --dim batch=1
  optmap network bert.onnx --fuse --curve --memory 64KiB:16MiB --points 5 --dim batch=1 --plot figures

With --curve the network is solved at several capacities of one level: the proved floor and what the mappings
move, the regime that limits each layer (see closed-form), and the knee: the least capacity where the network
moves at most 5 % more than with unbounded memory, beside the largest for which that is proved impossible.

With --fuse the network is an ONNX file, and chains are found in its graph: a product whose result one other product
reads, with nothing between them but what is done in place (masks, scales, activations, softmax; reshapes and
transposes). Every chain is solved for the memory of --memory, or for several with --curve: what its layers move one
after another (by iooub, or mopt if there is implicit padding), what both move fused, and the floor of the chain.
Chains that share a product exclude each other; those that save most are fused. All other products are listed with the
reason.

On an accelerator every different layer is mapped once for the objective, and energy and cycles are
added up; the network's EDP is its energy times its cycles.

Exit codes: 0 solved, 2 bad input, 3 infeasible, 4 a layer reached its time limit (its best mapping counts), or
somebody interrupted (the layers that have a mapping count).
"""


OF_LAYERS = ("machine", "method", "objective", "counting", "tiles", "time_limit", "jobs", "directory")
"""Options of what is done with layers."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("network", help=NETWORK_HELP)(guarded(network, stoppable=True))


@taking(sweeping.NetworkOptions)
def network(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A library network or a workload file with counts; with --fuse an ONNX file. All if left out.",
            show_default=False,
            autocompletion=completed("networks"),
        ),
    ] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Print the layers of a network, or what they move on a machine."""
    if name is None:
        why = "needs a network, such as optmap network resnet18 --machine i7-9700k"
        refuse_unused(why, *OF_LAYERS, "plot", "memory", "fuse", "dims")
        _list(as_json)
        return 0
    if options["machine"] is None and options["memory"] is None:
        refuse_unused("is for layers that are solved; add --machine or --memory, or", *OF_LAYERS)
    if not options["fuse"]:
        refuse_unused("is for the ONNX file of --fuse; add it, or", "dims")
    if not options["curve"]:
        refuse_unused("is for --curve, which goes over capacities; add it, or", "points")
    prepare_pictures(plot)
    with Progress(f"solving {name}") as progress:
        found = sweeping.network(name, **options, progress=progress)
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
    if left_out := getattr(found, "left_out", ()):
        complain(f"interrupted; {several(len(left_out), 'layer has', 'layers have')} no mapping yet: not in the sums")
        return LIMIT_REACHED
    if getattr(found, "limited", False):
        complain("a layer reached its time limit; its best mapping so far is in the sums")
        return LIMIT_REACHED
    return 0


def _list(as_json: bool) -> None:
    from optmap.files.library import list_networks
    from optmap.files.network import network as load_network
    from optmap.report.tables import grid

    found = [load_network(name) for name in list_networks()]
    if as_json:
        say_document({"schema": "optmap.networks/1", "networks": [each.name for each in found]})
        return
    rows = [(each.name, f"{each.occurrences}", f"{len(each.layers)}", f"{each.operations:,}") for each in found]
    say_text(grid(("network", "layers", "different", "operations"), "<>>>", rows))
