"""Answers as aligned plain text, the same on a terminal and in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as MappingABC
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING

from optmap.base.page import cell_lines, columns_of, fitted, html_table, hung
from optmap.base.texts import number, percent, seconds_text, several
from optmap.machines.machine import Machine
from optmap.mappings.constraints import Constraints
from optmap.mappings.levels import Mapping
from optmap.report.merged import names_text
from optmap.workloads.padding import padding_text
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.answers.documents.solution import BoundaryClaim
    from optmap.count.results import BoundaryTraffic, KeptPart, LevelCost
    from optmap.count.timing import Prediction
    from optmap.search.floors import Number
    from optmap.search.result import TileAnswer

RIGHT = ">"
LEFT = "<"


def grid(header: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns, two spaces apart, with a rule under the header.

    Where the page is narrower (`page.WIDTH`), words are broken; what is still wider becomes several tables, one below
    the other, each with the first columns, as many as tell the rows apart.

    Args:
        header: column titles.
        align: one `<` or `>` per column.
        rows: cells as text, as many as there are columns.
    """
    cells = [tuple(header), *(tuple(row) for row in rows)]
    marked = html_table(header, align, cells[1:])
    return marked or "\n\n".join(
        _grid([[row[column] for column in some] for row in cells], "".join(align[column] for column in some))
        for some in columns_of(cells, align)
    )


def _grid(cells: Sequence[Sequence[str]], align: str) -> str:
    """One table, the header first."""
    widths = fitted(cells, align)
    blocks = [
        [
            "  ".join(
                part.ljust(width) if side == LEFT else part.rjust(width)
                for part, width, side in zip(parts, widths, align, strict=True)
            ).rstrip()
            for parts in zip_longest(*map(cell_lines, row, widths), fillvalue="")
        ]
        for row in cells
    ]
    blocks.insert(1, ["  ".join("-" * width for width in widths)])
    return "\n".join(line for block in blocks for line in block)


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """A block of labelled lines with the values in one column."""
    rows = list(rows)
    width = max(len(label) for label, _ in rows)
    return html_table((), LEFT * 2, rows) or "\n".join(hung(value, f"{label.ljust(width)}  ") for label, value in rows)


def notes_text(notes: Iterable[str]) -> str:
    """A line per note."""
    return "\n".join(f"note: {note}" for note in notes)


def sizes(values: dict[str, int]) -> str:
    """`n=1 k=128 …` in the order of the mapping."""
    return " ".join(f"{dim}={size}" for dim, size in values.items())


def workload_lines(workload: Workload) -> list[tuple[str, str]]:
    """Name, statements, extents and padding, ready for `pairs`."""
    first, *others = workload.texts
    rows = [("statements" if others else "statement", first), *(("", text) for text in others)]
    rows.append(("extents", sizes(workload.extents)))
    padding = padding_text(workload)
    if padding is not None:
        rows.append(("padding", padding))
    if workload.name:
        rows.insert(0, ("workload", workload.name))
    return rows


def machine_line(machine: Machine) -> str:
    """Name, memories inner to outer and cores of a machine, on one line."""
    names = [level.name for level in machine.levels] + [machine.memory]
    return f"{machine.name} ({' < '.join(names)}; {several(machine.units, machine.leaf)})"


def merged_block(workloads: Iterable[Workload]) -> list[str]:
    """The names behind the rows of a table, as one more part of its text; no part if every row is one layer."""
    rows = [(each.title, names_text(each.names)) for each in workloads if len(each.names) > 1]
    return ["Names of the layers that are one row\n" + pairs(rows)] if rows else []


def mapping_table(workload: Workload, machine: Machine, mapping: Mapping, *, timed: bool = False) -> str:
    """Tile and loop order per level, inner level first, with the whole problem as last row.

    Args:
        workload: what is computed.
        machine: names the unbounded memory.
        mapping: tiles, loop orders and splits.
        timed: whether the tiles are those of code whose time is predicted, which levels need not hold.
    """
    dims = workload.dims
    rows = []
    for level in mapping.levels:
        split = " ".join(f"{dim}/{ways}" for dim, ways in level.spatial.items() if ways > 1)
        tile = [f"{level.tile[dim]:,}" for dim in dims]
        rows.append((level.level, *tile, " ".join(level.permutation), split or "-"))
    rows.append((machine.memory, *(f"{workload.extents[dim]:,}" for dim in dims), "", ""))
    header = ("level", *dims, "loops over tiles (outer ... inner)", "spatial")
    align = LEFT + RIGHT * len(dims) + LEFT * 2
    what = "tiles and loops of the code" if timed else "the tile each level holds"
    return f"Mapping: {what}, inner level first\n" + grid(header, align, rows)


def shared_by(machine: Machine, mapping: Mapping) -> dict[str, int]:
    """How many memories of every level share the work of a mapping, by level."""
    splits = [level.ways for level in mapping.levels]
    return {level.name: prod(splits[place + 1 :]) for place, level in enumerate(machine.levels)}


def one_of(level: str, shares: MappingABC[str, int]) -> str:
    """`L1, one of 8`: the numbers of a level that several instances share are those of one."""
    return f", one of {shares[level]}" if shares.get(level, 1) > 1 else ""


def boundary_table(
    boundaries: Iterable[BoundaryTraffic | BoundaryClaim], shares: MappingABC[str, int], counting: str = ""
) -> str:
    """Loads and stores per boundary and tensor, in words.

    Args:
        boundaries: words, of the busiest instance of the inner memory.
        shares: how many instances of every level share the work.
        counting: name of the policy that counted them; exactly if left out.
    """
    rows = [
        (
            " - ".join(row.between) + one_of(row.between[0], shares),
            row.tensor,
            f"{row.loads_words:,}",
            f"{row.stores_words:,}",
        )
        for row in boundaries
    ]
    header = ("between", "tensor", "loads (words)", "stores (words)")
    per = ", of one memory (the busiest) where several share the work" if max(shares.values(), default=1) > 1 else ""
    title = f"Traffic, counting {counting}" if counting else "Traffic of the whole nest, exact"
    return f"{title}{per}\n" + grid(header, "<<>>", rows)


def word_text(bits: int) -> str:
    """The size of a word: `4 bytes`, or `4 bits` where it is no whole number of bytes."""
    size, unit = (bits // 8, "byte") if bits % 8 == 0 else (bits, "bit")
    return several(size, unit)


def level_table(
    levels: Iterable[LevelCost], bottleneck: str, shares: MappingABC[str, int], word_bits: int, counting: str = ""
) -> str:
    """Occupancy, traffic and time per level; the slowest one is marked. Where time is predicted: what levels keep.

    Args:
        levels: rows, inner level first.
        bottleneck: name of the slowest.
        shares: how many instances of every level share the work.
        word_bits: size of the word that everything is counted in (`Workload.word_bits`).
        counting: name of the policy that counted them; in per-level form if left out.
    """
    levels = list(levels)
    if any(level.kept is not None for level in levels):
        return _kept_table(levels, shares, word_bits)
    rows = [
        (
            *_held(level, shares),
            f"{level.bandwidth:g}",
            number(level.cycles),
            "<- bottleneck" if level.level == bottleneck else "",
        )
        for level in levels
    ]
    header = (*HELD, "words/cycle", "cycles", "")
    form = f"counting {counting}" if counting else "per-level form"
    title = f"Levels, {form}: traffic to the next outer memory, in words of {word_text(word_bits)}\n"
    return title + grid(header, "<>>>>>><", rows)


HELD = ("level", "occupancy", "capacity", "used", "traffic (words)")


def _held(level: LevelCost, shares: MappingABC[str, int]) -> tuple[str, ...]:
    """What a level holds and moves: the columns `HELD`."""
    return (
        level.level + one_of(level.level, shares),
        f"{level.occupancy_words:,}",
        f"{level.capacity_words:,}",
        percent(level.occupancy_words, level.capacity_words),
        number(level.traffic_words),
    )


def _kept_table(levels: Sequence[LevelCost], shares: MappingABC[str, int], word_bits: int) -> str:
    """What every level keeps of the loops, the words that it moves then, and the predicted cycles."""
    rows = [(*_held(level, shares), number(level.cycles), _kept_text(level.kept)) for level in levels]
    header = (*HELD, "cycles", "iterations whose elements it keeps")
    words = f"words of {word_text(word_bits)}"
    title = f"Levels: the part of the loops that fits, what crosses outwards if all begin empty ({words}), and cycles\n"
    return title + grid(header, "<>>>>><", rows)


def _kept_text(kept: KeptPart | None) -> str:
    """`k=32 w=14; In passes through`."""
    if kept is None:
        return "-"
    tile = sizes({dim: size for dim, size in kept.tile.items() if size > 1}) or "one"
    return tile if kept.passing is None else f"{tile}; {kept.passing} passes through"


def constraint_lines(constraints: Constraints) -> list[tuple[str, str]]:
    """What the mapping had to meet, as a line of a head; none without constraints."""
    return [("constraints", constraints.text)] if constraints else []


def solve_table(result: TileAnswer) -> str:
    """The whole answer of `solve` for people."""
    shares = shared_by(result.machine, result.mapping)
    head = pairs(
        [
            *workload_lines(result.workload),
            ("machine", machine_line(result.machine)),
            (
                "method",
                f"{result.method}, objective {result.objective}, tiles {result.tiles}, "
                f"capacity {result.capacity.value}",
            ),
            ("status", f"{_status(result)}; relaxed point: {_words(result.point)}"),
            ("space", result.space),
            *constraint_lines(result.constraints),
        ]
    )
    parts = [
        head,
        mapping_table(result.workload, result.machine, result.mapping, timed=result.prediction is not None),
        boundary_table(result.boundaries, shares),
        level_table(result.levels, "" if result.prediction else result.bottleneck, shares, result.workload.word_bits),
        pairs(_summary(result)),
    ]
    if result.others:
        parts.append(_next_best(result))
    if result.notes:
        parts.append(notes_text(result.notes))
    return "\n\n".join(parts)


def _next_best(result: TileAnswer) -> str:
    """Costs of the next best mappings: in all, and of every level, beside those of the best."""
    names = tuple(level.level for level in result.levels)
    rows = [
        (str(rank), number(answer.cost), *(number(level.cycles) for level in answer.levels))
        for rank, answer in enumerate((result, *result.others), 1)
    ]
    return f"The best {len(rows)} that were priced: {result.objective}, and cycles per level\n" + grid(
        ("rank", "cost", *names), RIGHT * (2 + len(names)), rows
    )


def exact_meaning(*, held: bool) -> str:
    """What the exact words of a mapping are, in words."""
    return "as held, every tile and slice" if held else "whole nest, one-trip loops skipped"


def _lasting(result: TileAnswer) -> str:
    """The time of a cost in cycles, where the machine's clock is known."""
    return seconds_text(result.cost, result.machine.clock_hz) if result.cost_unit == "cycles" else ""


def _integer_gap(result: TileAnswer) -> str:
    if result.integer_gap is None:
        return "none: " + ("nothing has to move" if result.relaxation.proved else "no relaxation is proved")
    return f"{100 * result.integer_gap:.3f} % of cost above the relaxation"


def strongest(*claims: tuple[Number | None, str, str], digits: int = 3) -> str:
    """The strongest of what is proved of an answer.

    Args:
        claims: how far something is above a proved bound, as a share of it (None without one); what; the bound's name.
            Of equal ones the first is said.
        digits: of the share in per cent, as many as where it is printed again.
    """
    known = [(share, what, bound) for share, what, bound in claims if share is not None]
    if not known:
        return "nothing is proved"
    share, what, bound = min(known, key=lambda claim: claim[0])
    if not share:
        return f"{what} meets {bound}, proved"
    return f"{what} proved within {100 * float(share):.{digits}f} % of {bound}"


def _status(result: TileAnswer) -> str:
    """What is known of the answer: proved, or how close to the nearer of its bounds, which is named."""
    if result.proved:
        return "optimal, proved"
    cost, exact = ("cost", "exact") if result.prediction is None else ("predicted", "predicted")
    near = strongest((result.gap, exact, "the bound of every schedule"), (result.within, cost, "its integer bound"))
    return f"{_words(result.stop)}, {near}"


def prediction_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """A predicted time and its parts, as lines of a summary."""
    threads = f", {prediction.threads} threads" if prediction.threads > 1 else ""
    seconds = "" if prediction.seconds is None else f", {1000 * prediction.seconds:.4g} ms"
    rows = [
        ("predicted", f"{number(prediction.cycles)} cycles{seconds} (caches {prediction.caches.value}{threads})"),
        (
            "  kernel",
            f"{number(prediction.compute_cycles)} cycles, {prediction.kernel}, "
            + several(prediction.registers, "register"),
        ),
    ]
    for row in prediction.boundaries:
        waits = f", {number(row.waited_cycles)} of them waited for" if row.waited_cycles else ""
        lines = f"{number(row.moved_bytes)} bytes in whole lines" if row.moved_bytes else "0 bytes"
        rows.append((f"  {row.name}", f"{number(row.cycles)} cycles{waits}, {lines}"))
    if prediction.packing_cycles:
        rows.append(("  packing", f"{number(prediction.packing_cycles)} cycles"))
    return [*rows, ("bound by", prediction.bound_by)]


def _timed_summary(result: TileAnswer, prediction: Prediction) -> list[tuple[str, str]]:
    rows = [*prediction_lines(prediction), *_bound_rows(result, "predicted")]
    return [*rows, ("time", f"{result.seconds:.3f} s")]


def _summary(result: TileAnswer) -> list[tuple[str, str]]:
    if result.prediction is not None:
        return _timed_summary(result, result.prediction)
    relaxation = result.relaxation
    proof = f"proved, tolerance {relaxation.tolerance:.3g}" if relaxation.proved else "local, no bound"
    rows = [
        ("cost", f"{number(result.cost)} {result.cost_unit} (per-level form)"),
        *([("  lasts", lasting)] if (lasting := _lasting(result)) else []),
        ("exact", f"{number(result.exact)} {result.cost_unit} ({exact_meaning(held=result.held is not None)})"),
        (
            "relaxation" if relaxation.proved else "program optimum",
            f"{number(relaxation.value)} {result.cost_unit} ({proof})",
        ),
        ("  program", relaxation.formulation),
        ("  solved by", relaxation.method),
        ("integer bound", f"{number(result.integer_bound)} {result.cost_unit}"),
        ("integer gap", _integer_gap(result)),
        *_bound_rows(result),
        ("bottleneck", result.bottleneck),
        ("time", f"{result.seconds:.3f} s"),
    ]
    if relaxation.cross_check is not None:
        checked = f"{number(relaxation.cross_check)} {result.cost_unit} ({relaxation.checked_by}, same loop orders)"
        rows.insert(5, ("  cross-check", checked))
    return rows


def _bound_rows(result: TileAnswer, what: str = "exact") -> list[tuple[str, str]]:
    """The bound that every schedule obeys, and how far the mapping is from it."""
    if result.bound is None or result.gap is None:
        return []
    places = ", ".join(" - ".join(proof.between) for proof in result.certificates)
    places = f"{places}; multiply-adds at the peak" if result.prediction is not None else places
    return [
        ("bound", f"{number(result.bound.value)} {result.bound.unit} ({result.bound.method}; {places})"),
        ("gap", f"{100 * float(result.gap):.3f} % of {what} above the bound"),
    ]


def _words(status: str) -> str:
    return str(status).replace("_", " ")
