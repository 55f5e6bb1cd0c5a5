"""The verb `reproduce`: items of papers, computed, kept and held against what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

from optmap.base.clock import stopping
from optmap.base.errors import InputError
from optmap.base.share import Share, Tell
from optmap.base.writing import made_folder, write_text
from optmap.papers.answer import ItemRun, Reproduction
from optmap.papers.items import Paper, PaperItem
from optmap.papers.library import PAPERS
from optmap.papers.records import read_record, write_record
from optmap.papers.tasks import PointRows, rows_of, task_of, with_total
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import ProgressOption
from optmap.sweeps.engines.engine import ITEM_POINTS, Engine, PointTask
from optmap.sweeps.engines.inline import InlineEngine
from optmap.sweeps.engines.local import LocalEngine, default_jobs
from optmap.sweeps.options import DirectoryOption, JobsOption

LONGEST_S = 6 * 3600.0
"""After which a point is ended, in seconds."""


class ReproduceOptions(TypedDict, total=False):
    """Options of `reproduce`."""

    quick: Annotated[bool, Opt(help="Leave out what takes long.", default=False, shell=bool)]
    listing: Annotated[bool, Opt(help="List the items and compute nothing.", default=False, shell=bool, flag="--list")]
    fresh: Annotated[bool, Opt(help="Compute again what the folder has.", default=False, shell=bool)]
    jobs: JobsOption
    directory: Annotated[
        DirectoryOption, Here(help="Keep rows, pages and pictures here; what is there already is not computed again.")
    ]
    progress: ProgressOption


REPRODUCE = declared(ReproduceOptions)
"""The options of `reproduce`, by name."""


@taking(ReproduceOptions)
def reproduce(paper: str | None = None, item: str | None = None, **options: Unpack[ReproduceOptions]) -> Reproduction:
    """Compute what papers print, and hold it against them: an item, a paper, or all.

    Args:
        paper: one of `PAPERS`; all if left out.
        item: of the paper, such as `Table III`; all if left out.
        **options: as they are declared.

    Returns:
        Items with rows, each with its verdict; `.failures` has what nothing explains.

    Raises:
        InputError: for a name that is none, or a folder that cannot be written or read.
        EngineError: if processes do not work.
    """
    asked = values_of(REPRODUCE, options)
    if item is not None and paper is None:
        raise InputError(f"item {item}: of which paper? Name one of {', '.join(PAPERS)} before it")
    papers = [PAPERS[name] for name in PAPERS] if paper is None else [PAPERS[paper]]
    wanted = [(own, each) for own in papers for each in (own.items if item is None else (own.item(item),))]
    folder = asked["directory"]
    kept = {} if folder is None else _kept(Path(folder), wanted)
    if asked["listing"]:
        runs = [ItemRun(paper=own, item=each, points=kept.get((own.key, each.name), {})) for own, each in wanted]
        return Reproduction(runs=tuple(runs), listed=True)
    place = None if folder is None else made_folder(folder)
    work = _Points(wanted, kept, quick=asked["quick"], fresh=asked["fresh"], folder=place)
    reused = work.done
    jobs = min(asked["jobs"] or default_jobs(), max(1, work.left))
    work.go(InlineEngine(ITEM_POINTS) if jobs == 1 else LocalEngine(jobs, ITEM_POINTS), asked["progress"])
    found = Reproduction(runs=work.runs, reused=reused, interrupted=work.left > 0)
    if folder is not None:
        _write_pages(found, Path(folder))
    return found


Kept = dict[tuple[str, str], dict[str, PointRows]]


def _kept(folder: Path, wanted: list[tuple[Paper, PaperItem]]) -> Kept:
    """What a folder has, by paper, item and point."""
    return {(paper.key, item.name): read_record(folder, paper, item) for paper, item in wanted}


class _Points:
    """Points that are to be answered, and those that are; `fresh` keeps of the folder only what is not asked for."""

    def __init__(
        self,
        wanted: list[tuple[Paper, PaperItem]],
        kept: Kept,
        *,
        quick: bool,
        fresh: bool,
        folder: Path | None,
    ) -> None:
        self._folder = folder
        self._wanted = wanted
        self._found: Kept = {}
        self._open: list[tuple[int, str]] = []
        for place, (paper, item) in enumerate(wanted):
            points = item.asked(quick=quick)
            known = kept.get((paper.key, item.name), {})
            known = {point: rows for point, rows in known.items() if not (fresh and point in points)}
            self._found[paper.key, item.name] = {point: known[point] for point in item.parts if point in known}
            self._open += [(place, point) for point in points if point not in known]

    @property
    def done(self) -> int:
        """Points that have rows."""
        return sum(map(len, self._found.values()))

    @property
    def left(self) -> int:
        """Points that have none."""
        return sum(point not in self._of(place) for place, point in self._open)

    def _of(self, place: int) -> dict[str, PointRows]:
        paper, item = self._wanted[place]
        return self._found[paper.key, item.name]

    @property
    def runs(self) -> tuple[ItemRun, ...]:
        """Items with what is known of them."""
        return tuple(self._run(place) for place in range(len(self._wanted)))

    def _run(self, place: int) -> ItemRun:
        paper, item = self._wanted[place]
        return ItemRun(paper=paper, item=item, points=with_total(item, self._of(place)))

    def go(self, engine: Engine, progress: Tell | None) -> None:
        """Answer all points, and keep each as soon as it is answered; none whose work was interrupted."""
        if not self._open:
            return

        def tell(place: int, number: int) -> None:
            if progress is not None:
                paper, item = self._wanted[place]
                progress(f"{paper.key}: {item.name}", Share.counted(number, len(self._open)))

        tell(self._open[0][0], 0)
        with closing(engine.run(self._tasks(), stopping)) as outcomes:
            for number, outcome in enumerate((each for each in outcomes if each is not None), 1):
                if stopping():
                    continue  # its searches were cut short, so that its rows are not those of a whole run
                place, point = self._open[outcome.number]
                self._of(place)[point] = rows_of(outcome.text, outcome.error or outcome.stop)
                if self._folder is not None:
                    write_record(self._folder, self._run(place))
                tell(self._open[min(number, len(self._open) - 1)][0], number)

    def _tasks(self) -> Iterator[PointTask]:
        for number, (place, point) in enumerate(self._open):
            paper, item = self._wanted[place]
            yield PointTask(number=number, text=task_of(paper.key, item.name, point), seconds=LONGEST_S)


def _write_pages(found: Reproduction, folder: Path) -> None:
    """Write a page for each paper, with all that the folder has of it."""
    from optmap.papers.report import paper_page  # with matplotlib's names

    for paper in found.papers:
        known = _kept(folder, [(paper, item) for item in paper.items])
        runs = [
            ItemRun(paper=paper, item=item, points=with_total(item, known[paper.key, item.name]))
            for item in paper.items
        ]
        write_text(folder / f"{paper.key}.md", paper_page(runs))
