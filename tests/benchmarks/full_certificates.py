"""Full certificates of library layers, checked and forged: python tests/benchmarks/full_certificates.py [NAME...].

Solves each layer with `certificate="full"`, re-proves the file, then changes its values one at a time, signed anew,
and counts what is refused. A changed value that is accepted although the checker claims it is printed; exit code 1
if there is one. A machine that is another one is said to be, and what is verified is proved of that one. Of long
documents, whose steps are many of a kind, `--most` values spread evenly are changed. With `--resume FILE`, the output
of a run that was interrupted, its rows are printed again and only the others are made. stderr has what is under way.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.bounds import digest
from optmap.checker import RefusedError, check_document
from optmap.files import library

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from changed_fields import changed_fields, not_claimed
from printed_rows import rows_made

PREFIXES = ("yolo9000/", "resnet18/", "mobilenet/")
ROW = "{:<16}{:<12}{:>7}{:>9}{:>9}  {:<11}{:<10}{:>8}{:>12}{:>12}\n"
HEAD = ROW.format(
    "layer", "machine", "kB", "solve s", "check s", "relaxation", "integers", "refused", "not claimed", "about else"
)


def verified(document: dict[str, Any]) -> str | None:
    """What the checker says it verified of the document, signed anew; None if it refuses it."""
    document["digest"] = digest({k: v for k, v in document.items() if k not in ("seconds", "digest")})
    try:
        return " ".join(check_document(document).verified)
    except RefusedError:
        return None


def row(name: str, machine: str, tiles: str, most: int) -> tuple[str, int]:
    """One line of the table, and how many changed values were accepted wrongly."""
    start = time.perf_counter()
    result = api.solve(name, machine=machine, tiles=tiles, certificate="full")
    solved = time.perf_counter()
    made = json.loads(json.dumps(solution_document(result)))
    before = verified(made) or ""
    checked = time.perf_counter()
    refused, free, other, wrong = 0, 0, 0, []
    for path, value, changed in changed_fields(made, most):
        after = verified(changed)
        if after is None:
            refused += 1
        elif not_claimed(path, value):
            free += 1
        elif path[:2] == ("machine", "levels") and after != before:
            other += 1  # what is verified is said of the other machine, and true of it
        else:
            wrong.append(f"  ACCEPTED {path} changed from {value}\n")
    claims = ["proved" if f"{what} " in before else "-" for what in ("relaxation", "integer bound")]
    seconds = (f"{solved - start:.2f}", f"{checked - solved:.2f}")
    size = f"{len(json.dumps(made)) / 1000:.0f}"
    return ROW.format(name, machine, size, *seconds, *claims, refused, free, other) + "".join(wrong), len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("prefixes", nargs="*", default=PREFIXES)
    parser.add_argument("--machines", default="i7-9700k,i9-10980xe,balanced")
    parser.add_argument("--tiles", default="any", choices=("any", "divisors"))
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--resume", type=Path)
    asked = parser.parse_args()
    made = rows_made(asked.resume)
    names = [name for prefix in asked.prefixes for name in library.list_workloads() if name.startswith(prefix)]
    sys.stdout.write(HEAD)
    wrong, every = 0, [(machine, name) for machine in asked.machines.split(",") for name in names]
    for number, (machine, name) in enumerate(every, 1):
        sys.stderr.write(f"{number} of {len(every)}: {name} on {machine}\n")
        text, accepted = made.get((name, machine)), 0
        if text is None:
            text, accepted = row(name, machine, asked.tiles, asked.most)
        wrong += accepted
        sys.stdout.write(text)
        sys.stdout.flush()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
