"""Build the documentation site: `python docs/build.py [--update] [-o FOLDER]`.

Runs the blocks of all pages that show what these print or draw, writes the pages that are made from the code (names,
commands, formats, errors, notebooks), and calls Sphinx, which fails at the first dead link or missing reference. An
output that differs from what its page shows fails too; `--update` rewrites it in the page.

Needs the extra `docs`. The site is in `docs/_build/html` unless said otherwise; exit code 1 if anything failed.
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from making.blocks import updated
from making.generated import write_pages
from making.stage import DOCS, Page, environment, pages, stage, to_run


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; 1 if a block failed, an output is stale, or Sphinx warns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=DOCS / "_build", metavar="FOLDER")
    parser.add_argument("--update", action="store_true", help="rewrite outputs in the pages that differ")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="run the pages with this in their path, and stop there"
    )
    parser.add_argument("--notebooks", action="store_true", help="run the notebooks, for pages with their outputs")
    parser.add_argument("--no-run", action="store_true", help="run no blocks: pages without pictures")
    parser.add_argument("--jobs", type=int, default=2, help="pages and notebooks that are run at a time")
    chosen = parser.parse_args(arguments)
    output = chosen.output.resolve()
    begun = time.monotonic()
    for name in ("source", "html", "run"):
        shutil.rmtree(output / name, ignore_errors=True)
    every = pages(output / "run")
    running = [page for page in to_run(every) if chosen.only in page.name and not chosen.no_run]
    running.sort(key=lambda page: -page.text.count("```sh"))  # long ones first: none is left alone at the end
    commands = environment(output)  # before any page runs: a program that is written cannot be run
    with ThreadPoolExecutor(chosen.jobs) as pool:
        failed = sum(pool.map(lambda page: _run(page, commands, chosen.update), running))
    _say(f"{len(running)} pages were run, {failed} failed, after {time.monotonic() - begun:.0f} s")
    if not chosen.only:
        source = output / "source"
        stage(every, source)
        write_pages(source, chosen.notebooks, chosen.jobs)
        _say(f"pages are written, after {time.monotonic() - begun:.0f} s")
        failed += _sphinx(source, output / "html", chosen.jobs)
    _say(f"done after {time.monotonic() - begun:.0f} s: {'FAILED' if failed else output / 'html' / 'index.html'}")
    return int(bool(failed))


def _run(page: Page, found: dict[str, str], update: bool) -> bool:
    """Run one page and say what is wrong with it; whether anything is."""
    begun = time.monotonic()
    page.run(found)
    wrong = [each for each in page.ran if not each.ended_well]
    for each in wrong:
        _say(f"{page.name}:{each.block.line}: exit code {each.code}\n{each.said[-2000:]}{each.error[-3000:]}")
    stale = [each for each in page.ran if each.ended_well and each.stale]
    if stale and update:
        page.path.write_text(updated(page.text, page.ran), encoding="utf-8")
        _say(f"{page.name}: {len(stale)} outputs rewritten")
    for each in () if update else stale:
        assert each.shown is not None
        lines = difflib.unified_diff(
            each.shown.code.splitlines(), each.said.splitlines(), "shown", "printed", lineterm=""
        )
        _say(f"{page.name}:{each.block.line}: stale; python docs/build.py --update\n" + "\n".join(lines))
    _say(f"{page.name}: {len(page.ran)} blocks in {time.monotonic() - begun:.0f} s")
    return bool(wrong) or bool(stale and not update)


def _sphinx(source: Path, target: Path, jobs: int) -> int:
    from sphinx.cmd.build import main as sphinx

    return sphinx(["-W", "--keep-going", "-q", "-E", "-j", str(jobs), "-b", "html", str(source), str(target)])


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
