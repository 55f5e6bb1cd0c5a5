"""QuickFlow, abstract and section V-B: what is said beside four other tools."""

from __future__ import annotations

from optmap.papers.items import Collected, Rows
from optmap.papers.rows import refuted, unreachable

CLAIMS, TOOLS = Collected(), Collected()
CODE = {
    "Timeloop": "of its sampling the text has only that it is random; ours is a random search of our own",
    "LOMA": "how it merges loops, the seven of LOMA-7 included, and what breaks ties is not in the text",
    "SALSA": "its temperatures, its moves and how many there are are not in the text",
    "FactorFlow": "its three nested heuristics are named and not described",
}
"""What the text has of the other tools."""
OTHERS, BEST = "the others", "the best of the other tools"
EDP = {
    BEST: ("1.0 to 1.6 on Eyeriss, 1.0 to 2.1 on Simba and TPUv1", OTHERS),
    "Timeloop": ("1.0 to 18,000", "Timeloop"),
    "LOMA and SALSA": ("1.0 to 27", "LOMA"),
    "FactorFlow": ("up to 2.4", "FactorFlow"),
}
TIME = {
    BEST: "1.4 to 18 on Eyeriss, 1.2 to 182 on Simba and TPUv1",
    "Timeloop": "1.2 to 2,700",
    "LOMA and SALSA": "1.4 to 182",
    "FactorFlow": "77 on average",
}
VISITED = {"Timeloop": 40.0, "LOMA and SALSA": 4.8, "FactorFlow": 5.1}
"""Means of mappings visited over QuickFlow's."""
ANOTHER = "seconds on a Ryzen 3900XT"


@CLAIMS.item("Abstract", "Better and faster than the best of four tools", where="abstract and section I")
def abstract() -> Rows:
    """The ranges that are printed; one of them beside those of section V-B."""
    ranges = [part.split() for part in EDP[BEST][0].split(", ")]
    least = min(float(low) for low, *_ in ranges)
    yield unreachable("EDP of the best of four tools over QuickFlow's", "1 to 2.1", why=_why(OTHERS))
    yield unreachable("seconds of the best of four tools over QuickFlow's", "up to 182, 24 on average", why=ANOTHER)
    yield refuted(
        "least EDP of the best of four tools over QuickFlow's, contribution (4)",
        1.2,
        least,
        counterexample="section V-B has 1.0 to 1.6 on Eyeriss and 1.0 to 2.1 on the others; 1.2 is their average",
        false=least < 1.2,
    )


@TOOLS.item("Section V-B, other tools", "Beside Timeloop, LOMA, SALSA and FactorFlow", where="section V-B")
def tools() -> Rows:
    """Each claim with what of the tool the text leaves open; a random search of our own is in Figure 6."""
    for tool, (printed, which) in EDP.items():
        yield unreachable(f"EDP of {tool} over QuickFlow's", printed, why=_why(which))
    for tool, printed in TIME.items():
        yield unreachable(f"seconds of {tool} over QuickFlow's", printed, why=ANOTHER)
    for tool, times in VISITED.items():
        yield unreachable(f"mappings that {tool} visit over QuickFlow's", times, why=_why(tool.split()[0]))
    for tool, times in (("FactorFlow", 1.6), (OTHERS, 10.0)):
        yield unreachable(
            f"batched kernels: EDP of {tool} over QuickFlow's, average",
            times,
            why=_why(tool),
        )
    yield unreachable("batched kernels: percent of seconds above the average of the others", 6, why=ANOTHER)
    yield unreachable(
        "spaces of 60 in which N = 8 and M = 1 find better mappings",
        6,
        why="more than an hour per space on the authors' machine; the proved optima are in Figure 6",
    )


def _why(tool: str) -> str:
    return CODE.get(tool, "their searches are not in the text; of each, a row says what is left open")
