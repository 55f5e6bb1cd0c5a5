"""`bench`: emitted code beside the libraries of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.console import guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, MachineOption, PlotFolderOption, output_option, taking, workloads_argument
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs import measuring

BENCH_HELP = """Compare emitted code with oneDNN, PyTorch and TVM.

Per layer the first mappings of the time model, with channels last and in blocks, are emitted,
compiled, checked and run, and so is every way in which a library may compute the layer; the best of
each are then timed in turns, and the ratio is that of the faster library over ours, above 1 ours is
faster. Libraries that are not installed are named; oneDNN and PyTorch come with: pip install '.[bench]'
in a checkout of optmap, TVM with: pip install 'apache-tvm[all]>=0.27'. TVM is tuned for every layer, once per
number of threads, which takes minutes: --trials says how long, --against onednn,torch leaves it out.

\b
Examples:
  optmap bench resnet18/R9 --machine host.yaml
  optmap bench 'resnet18/*' 'yolo9000/*' --machine host.yaml --threads 1,2 --plot figures
  optmap bench mobilenet/M1 --machine host.yaml --caches both --against onednn --json -o m1.json
  optmap bench resnet18/R9 --machine host.yaml --against tvm,onednn --trials 256

Solutions of a workload (the files that solve --top 5 -o r9.json writes) are its candidates, in their order,
and nothing is searched; one of the caches alone (solve --innermost L1) gets the register tile that is predicted
to be fastest. The machine is the one at hand, as optmap detect -o host.yaml describes it.

Exit codes: 0 compared, 2 bad input, or no compiler or no library here, 5 our code computes something else.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("bench", help=BENCH_HELP)(guarded(bench))


@taking(measuring.BenchOptions)
def bench(
    *,
    workloads: Annotated[
        list[str],
        workloads_argument(
            "Library names (resnet18/R9, 'resnet18/*'), networks (resnet18), YAML files, statements, or solutions."
        ),
    ],
    machine: MachineOption = None,
    output: Annotated[Path | None, output_option("Write the JSON here.")] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print speeds, ratios and geometric means."""
    from optmap.base.errors import InputError
    from optmap.base.writing import check_target

    if machine is None:
        raise InputError("name the machine at hand: optmap detect -o host.yaml describes it, then --machine host.yaml")
    if options["against"] is not None and "tvm" not in options["against"]:
        refuse_unused("is for the tuning of TVM, which --against leaves out", "trials")
    check_target(output)
    prepare_pictures(plot)
    with Progress("timing") as progress:
        found = measuring.bench(workloads, machine=machine, **options, progress=progress)
    if output is not None:
        found.save(output)
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
