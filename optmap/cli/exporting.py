"""`export`: the mathematical program itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.names import choose
from optmap.cli.console import guarded, refuse_unused, say, say_document
from optmap.cli.options import JsonOption, WorkloadArgument, output_option, taking
from optmap.cli.progress import Progress
from optmap.interchange.formats import writers
from optmap.questions.option import declared
from optmap.verbs import modelling

EXPORT_HELP = """Write the mathematical program of a workload.

text, latex and nl hold the program over tile sizes that `solve` proves its relaxation with: least
traffic for one fast memory, least maximum of traffic over bandwidth for several levels, under the
best loop orders and filter extents (or those of --permutation). It is convex in the logarithms of
the sizes, which nl has as variables. lp and mps hold the log-space linear program of one memory (of
a convolution the lifted one, with the digits of its windows).

timeloop writes a solution of an accelerator (what solve wrote with -o) as files of Timeloop, version 0.4:
problem.yaml, arch.yaml with the energies, and map.yaml, in the folder that -o names.

On an accelerator they hold, lp and mps too, the allocation program that `solve --method allocation`
bounds all mappings with, or CoSA's with --method cosa.

--program classes writes the best program of every class of loop orders, each used at all levels;
--program paper the one that MOpt prints, with every size free: not convex, and not solved here.

\b
Examples:
  optmap export resnet18/R9 --machine balanced --format text
  optmap export resnet18/R9 --memory 8192w --permutation k,c,r,s,n,h,w --format nl -o r9.nl
  optmap export resnet18/R9 --memory 8192w --program classes --format text
  optmap export resnet50/conv2 --machine eyeriss_like --method allocation --objective energy --format mps
  optmap export 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --memory 1024w --format lp
  optmap export SOLUTION.json --format timeloop -o folder
"""


OF_PROGRAMS = tuple(declared(modelling.ExportOptions))
"""Options that say which program is written."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("export", help=EXPORT_HELP)(guarded(export))


@taking(modelling.ExportOptions)
def export(
    *,
    workload: WorkloadArgument,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(("lp|mps|nl|text|latex", *writers())),
            help="Form of the text.",
            show_default=False,
        ),
    ],
    output: Annotated[Path | None, output_option("Write the text to a file.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print or write a program."""
    from optmap.base.writing import check_target, write_text
    from optmap.report.answers.programs import Format, programs_document

    if choose("format", form, (*Format, *writers())) in writers():
        refuse_unused(f"is not for --format {form}, which writes a solution as it is", *OF_PROGRAMS)
        _export_files(workload, form, output, as_json=as_json)
        return
    check_target(output)
    with Progress("building the program"):
        found = modelling.programs_of(workload, form, **options)
        content = "\n".join(each.content for each in found)
    if output is not None:
        write_text(output, content)
    if as_json:
        say_document(programs_document(found, Format(form)))
    elif output is None:
        say(content)


def _export_files(solution: str, form: str, folder: Path | None, *, as_json: bool) -> None:
    """Write a solution as files of another tool; printed together those of Timeloop are one such file."""
    from optmap.verbs.exchange import export_files

    found = export_files(solution, form, folder)
    if as_json:
        say_document({"schema": f"optmap.{form}-files/1", "files": found})
    else:
        say("\n".join(found.values() if folder is None else (str(folder / name) for name in found)).rstrip())
