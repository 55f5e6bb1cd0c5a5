"""`solve`: workload and machine in, mapping with its certified cost out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optmap.cli.console import LIMIT_REACHED, complain, guarded, say_answer
from optmap.cli.options import JsonOption, PlotFolderOption, WorkloadArgument, output_option, settings_from, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.search.options import SolveOptions

if TYPE_CHECKING:
    from optmap.search.result import Answer

INFEASIBLE = 3

SOLVE_HELP = """Find the best integer mapping and the gap to its bound.

The answer names tile, loop order and spatial split of every level, the traffic across every
boundary, and the level that decides. It says how far the integer cost is above the relaxation, the
optimum over real tile sizes (proved where the answer says so), and how far the exact cost is above
the bound, which no schedule goes below.

\b
Examples:
  optmap solve resnet18/R9 --machine i7-9700k
  optmap solve yolo9000/Y4 --memory 64KiB --tiles divisors -o y4.json
  optmap solve 'C[i,j] += A[i,k]*B[k,j]' --extents i=2000,j=1500,k=1500 --memory 1024w
  optmap solve resnet18/R9 --machine balanced --certificate full -o r9.json
  optmap solve resnet18/R9 --machine balanced --json
  optmap solve resnet18/R9 --memory 8192w --solver ipopt
  optmap solve resnet18/R9 --machine i7-9700k --top 5 -o r9.json      # r9.json, r9-2.json ... r9-5.json
  optmap solve resnet18/R9 --machine balanced --constraint L1.k=16 --constraint L2.order=...,c

A constraint is about one level: LEVEL.DIM= or <= or >= a size, LEVEL.DIM%N=0 for multiples,
LEVEL.order= the loops over its tiles, outermost first, with ... for any that are not named, and
LEVEL.spatial.DIM the ways in which its tile is split among cores or children. On an accelerator x or y
instead of spatial stands for the ways along one axis of a mesh, LEVEL.keeps=A,B says which tensors a
level holds (A,... : A, and any others), LEVEL.bypass=C which it does not; tiles and ways must divide
there, or dims are padded until they do. The answer is the best among mappings that meet all of them;
the bound stays that of every schedule.

On a machine with a core (optmap detect writes one) --objective time takes the mapping whose code is predicted to
run fastest, caches warm: cycles of a kernel in registers and links of all caches, with the floor of every code.

\b
  optmap detect -o host.yaml
  optmap solve resnet18/R9 --machine host.yaml --objective time --semantics assign --padding implicit

On an accelerator, a machine with fanouts and prices of its accesses, the answer is the nest with the
least energy, cycles, or product of both, proved the best of all mappings that the machine allows: loop
orders, tiles, spatial split and bypass. Outputs start empty there (semantics assign).

\b
  optmap solve resnet50/conv2 --machine eyeriss --objective edp
  optmap solve resnet18/R9 --machine simba --objective energy --tiles divisors -o r9.json
  optmap solve resnet18/R9 --machine simba --plot figures
  optmap solve resnet18/R9 --machine eyeriss_like --constraint RegisterFile.k=4 --constraint GlobalBuffer.x.c=8

Methods that have mappings judged one by one (random, quickflow and others, see optmap list methods) take
a number of evaluations and settings; with a journal they go on where they ended.

\b
  optmap solve resnet18/R9 --machine simba --method random --evaluations 5000 --set victory=0 --seed 1
  optmap solve resnet18/R9 --machine simba --method quickflow --set hops=3 --journal r9.journal

--plot draws the traffic beside its bound; on an accelerator the loop nest, energy, utilisation, cycles and
the roofline.

Ctrl-C or a termination asks for the best answer so far, as at the time limit; a second one ends at once.

Exit codes: 0 solved, 2 bad input, 3 infeasible, 4 limit reached or interrupted (incumbent printed).
"""


@taking(SolveOptions)
def solve(
    *,
    workload: WorkloadArgument,
    output: Annotated[Path | None, output_option("Write the JSON document.")] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Solve a workload on a machine and print the answer."""
    from optmap import api
    from optmap.base.writing import check_target

    check_target(output)
    check_target(options["journal"])
    prepare_pictures(plot)
    options["settings"] = settings_from(options["settings"])
    with Progress("solving") as progress:
        result = api.solve(workload, **options, progress=progress)
    if output is not None:
        result.save(output)
        for number, other in enumerate(result.others, 2):
            other.save(output.with_stem(f"{output.stem}-{number}"))
    draw_pictures(result, plot)
    say_answer(result, as_json=as_json)
    return _exit_code(result)


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("solve", help=SOLVE_HELP)(guarded(solve, stoppable=True))


def _exit_code(result: Answer[Any, Any]) -> int:
    from optmap.solvers.status import Stop

    if result.stop is Stop.INFEASIBLE:
        complain("the mapping of this method does not fit the machine")
        return INFEASIBLE
    if result.stop.cut_short:
        reason = "interrupted" if result.stop is Stop.INTERRUPTED else "a limit was reached"
        complain(f"{reason}; the answer is the best one found so far")
        return LIMIT_REACHED
    return 0
