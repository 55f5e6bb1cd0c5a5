"""How far commands run over their limits: `python tests/benchmarks/time_limits.py [--limits 1,2,5] [--only TEXT]`.

Hard inputs of every kind, each as a command in a process of its own. `over` is the wall time beyond the limit, less
what a process takes to start and to import; a tenth of the limit and one second are allowed. `said` is the time that
the answer owns up to. With `--processor` all clocks of a command are its processor time, which a busy machine does
not stretch (those of processes that it starts, and of HiGHS and Ipopt, stay what they are). With `--profile` commands
run in this process, under cProfile.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARE, GRACE_S = 0.1, 1.0
"""Of the limit, and beside it, that a command may take longer."""
INPUTS = {
    "row": ("O[x] += I[x+r]*K[r]", {"x": 10**6, "r": 7}),
    "image": ("O[k,h,w] += I[c,h+r,w+s]*K[k,c,r,s]", {"k": 64, "c": 64, "h": 10**6, "w": 10**6, "r": 3, "s": 3}),
    "padded row": ("O[x] += I[x+r in 3..1000002]*K[r]", {"x": 10**6, "r": 7}),
    "padded image": (
        "O[k,h,w] += I[c,h+r in 1..1000000,2*w+s in 2..2000000]*K[k,c,r,s]",
        {"k": 64, "c": 64, "h": 10**6, "w": 10**6, "r": 3, "s": 5},
    ),
    "padded gaps": ("O[x] += I[5*x+2*r in 6..4999990]*K[r]", {"x": 10**6, "r": 4}),
    "contraction": (
        "O[a,b,c,d,e,f] += A[a,b,c,g,h,i]*B[d,e,f,g,h,i]*C[j,k,l,a,b,c]",
        dict(zip("abcdefghijkl", (12, 10, 14, 9, 16, 11, 8, 13, 7, 6, 5, 15), strict=True)),
    ),
    "tensors": (
        "O[a,h] += A[a,b]*B[b,c]*C[c,d]*D[d,e]*E[e,f]*F[f,g]*G[g,h]",
        dict(zip("abcdefgh", (96, 80, 64, 112, 48, 72, 56, 88), strict=True)),
    ),
    "tangled": ("O[x,y] += I[x+r+y]*J[x+q]*K[r,q]", {"x": 4300, "y": 1000, "r": 97, "q": 99}),
    "primes": ("O[a,b] += A[a+2*b,c]*B[c+b,a]", {"a": 1000003, "b": 65537, "c": 99991}),
}
COMMAND = (
    "import sys; import optmap.api, optmap.answers.proofs.beside; "
    "from optmap.cli import main; sys.exit(main(sys.argv[1:]))"
)
PROCESSOR = "import time; time.monotonic = time.perf_counter = time.process_time; "
PADDED = ("padded row", "padded image", "padded gaps")
PLAIN = ("mopt", "iooub", "mopt-algorithm1", "mopt-artifact", "tiling-lp", "gemmini", "gemmini-greedy")
SEARCHES = ("exact", "allocation", "cosa", "random", "exhaustive", "quickflow", "sunstone", "bayesian")
SWEEP = """
workloads: ["resnet18/R9", "yolo9000/Y12"]
machines: [i7-9700k]
methods: [bound, mopt, mopt-algorithm1]
options: {{time_limit: {limit}}}
"""


def asked(name: str) -> list[str]:
    """An input as arguments."""
    statement, extents = INPUTS[name]
    return [statement, "--extents", ",".join(f"{d}={n}" for d, n in extents.items())]


def commands() -> dict[str, list[str]]:
    """Every command by its name; `{limit}` stands for the limit, `{folder}` for a place of its own."""
    made: dict[str, list[str]] = {}

    def solve(name: str, *options: str, command: str = "solve") -> None:
        words = asked(name) if name in INPUTS else [name]
        told = " ".join(option.removeprefix("--") for option in options)
        made[f"{command} {name} {told}"] = [command, *words, *options, "--time-limit", "{limit}"]

    for name in INPUTS:
        for method in PLAIN:
            solve(name, "--memory", "8192w", "--method", method)
        for machine in ("i7-9700k", "balanced"):
            solve(name, "--machine", machine)
            solve(name, "--machine", machine, "--method", "mopt-algorithm1")
        solve(name, "--machine", "balanced", "--objective", "sum")
        solve(name, "--machine", "balanced", "--tiles", "divisors")
        solve(name, "--machine", "i7-9700k", "--solver", "ipopt")
        solve(name, "--machine", "i9-10980xe", "--certificate", "full")
        solve(name, "--memory", "8192w", command="compare")
        for machine in ("eyeriss", "gemmini", "tpuv1"):
            solve(name, "--machine", machine)
        for method in SEARCHES:
            solve(name, "--machine", "simba", "--method", method)
    for layer in ("resnet50/conv2", "yolo9000/Y12"):
        for method in SEARCHES:
            solve(layer, "--machine", "simba", "--method", method)
        for machine in ("eyeriss", "simba"):
            solve(layer, "--machine", machine, command="compare")
        solve(layer, "--machine", "i9-10980xe", "--certificate", "full")
    made["network resnet18 i7"] = ["network", "resnet18", "--machine", "i7-9700k", "--time-limit", "{limit}"]
    made["race R9 simba"] = ["race", "resnet18/R9", "--machine", "simba", "--budget", "{limit}"]
    made["sweep"] = ["sweep", "{folder}/spec.yaml", "-o", "{folder}/sweep", "--jobs", "1"]
    made["export contraction"] = [
        *("export", *asked("contraction"), "--machine", "i7-9700k", "--format", "text", "--time-limit", "{limit}")
    ]
    return made


def main() -> None:
    """Print a line per command and limit, and at last the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", default="1,2,5")
    parser.add_argument("--only", default="", help="part of the name; several with |")
    parser.add_argument("--leave-out", default="\0", help="part of the name")
    parser.add_argument("--most", type=float, default=60.0, help="seconds after which a command is ended")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    # As after an installation: modules are compiled once, whatever the environment says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir(), "optmap-compiled"))
    os.environ |= {"PYTHONPATH": str(ROOT)} | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    chosen = {
        name: words
        for name, words in commands().items()
        if any(part in name for part in given.only.split("|")) and given.leave_out not in name
    }
    worst = 0.0
    for name, words in chosen.items():
        for limit in (float(text) for text in given.limits.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "spec.yaml").write_text(SWEEP.format(limit=limit), encoding="utf-8")
                full = [word.replace("{limit}", f"{limit:g}").replace("{folder}", folder) for word in words]
                if given.profile:
                    _profiled(full)
                else:
                    worst = max(worst, _timed(name, full, limit, given.most, processor=given.processor))
    sys.stdout.write(f"{len(chosen)} commands, the worst {worst:.2f} of what is allowed\n")


def _timed(name: str, words: list[str], limit: float, most: float, *, processor: bool) -> float:
    """Run one command and say how long it took; the share of the allowance that it used."""
    run = [sys.executable, "-c", (PROCESSOR if processor else "") + COMMAND]
    start = _seconds([*run, "list", "machines"], most, processor=processor)[0]
    took, code, said = _seconds([*run, *words, "--json"], limit + most, processor=processor)
    over = took - start - limit
    share = over / (SHARE * limit + GRACE_S)
    mark = "  TOO LATE" if share > 1 else ""
    sys.stdout.write(f"{name:55} {limit:5g} s  over {over:7.2f} s  said {said:6}  exit {code}{mark}\n")
    sys.stdout.flush()
    return share


def _seconds(command: list[str], most: float, *, processor: bool) -> tuple[float, int | str, str]:
    """Time, exit code, and the time that the answer says."""
    begun = _spent(processor=processor)
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=most)
    except subprocess.TimeoutExpired:
        return _spent(processor=processor) - begun, "none", ""
    took = _spent(processor=processor) - begun
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    if b"Traceback" in done.stderr:
        sys.stdout.write(done.stderr.decode(errors="replace")[-2000:])
    said = document.get("seconds", document.get("error", {}).get("kind", ""))
    return took, done.returncode, f"{said:.2f}" if isinstance(said, float) else str(said)


def _spent(*, processor: bool) -> float:
    """A clock: of the wall, or of the processor time of all commands so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime if processor else time.perf_counter()


def _profiled(words: list[str]) -> None:
    """One command in this process, and where its time went."""
    from optmap.cli import main as command

    profile = cProfile.Profile()
    begun = time.perf_counter()
    profile.runcall(command, words)
    sys.stdout.write(f"{time.perf_counter() - begun:.1f} s\n")
    pstats.Stats(profile, stream=sys.stdout).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()
