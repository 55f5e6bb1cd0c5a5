"""Attack on emitted code: thousands of random workloads, mappings and options, and all layers of Table 1 at full size.

    python tests/code_attack.py random --count 2000 --seed 1000      # under sanitizers, every sum exact
    python tests/code_attack.py layers --machine avx512              # solved, built for use, checked by its program
    CC=aarch64-linux-gnu-gcc python tests/code_attack.py random --emulator qemu-aarch64-static

Prints what is wrong and goes on; exits 1 if anything was.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from emitted import SANITIZED, SHORTER, STRICT, check_together
from host_machines import HOSTS
from random_codes import random_case

import optmap
from optmap.base.errors import CheckError, InputError
from optmap.native import build_program, emit_code

TOGETHER = 25
"""Codes of one program."""
PROCESSORS = (("-march=native",), ("-O0",), SHORTER, ("-march=native", "-O0"))
"""Flags in turns: masked and other instructions of the machine at hand, and what every processor has."""


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def attack_random(count: int, seed: int, emulator: tuple[str, ...]) -> int:
    """Random codes; returns how many were wrong."""
    wrong, kinds = 0, Counter[str]()
    for batch in range(-(-count // TOGETHER)):
        rng = random.Random(seed + batch)
        codes = []
        for number in range(TOGETHER):
            workload, machine, mapping, options = random_case(rng, f"case {number}")
            try:
                codes.append(emit_code(workload, mapping, machine, options))
            except InputError as error:
                say(f"seed {seed + batch} case {number}: refused: {error}")
                wrong += 1
        kinds.update(code.kernel.value for code in codes)
        flags = (*SANITIZED, *PROCESSORS[batch % len(PROCESSORS)])
        if emulator:
            flags = ("-static", f"-O{1 + batch % 2}", *STRICT)
        with tempfile.TemporaryDirectory() as folder:
            try:
                check_together(codes, flags, Path(folder), emulator)
            except (AssertionError, CheckError) as error:
                wrong += 1
                say(f"seed {seed + batch} {flags}: {str(error)[:4000]}")
        say(f"seed {seed + batch}: {dict(kinds)}, {wrong} wrong")
    return wrong


def attack_layers(names: list[str], machine: str, threads: int) -> int:
    """Layers as they would be used; returns how many were wrong."""
    wrong = 0
    for name in names or optmap.list()["workloads"]:
        if name.split("/")[0] not in ("resnet18", "yolo9000", "mobilenet") and not names:
            continue
        code = optmap.emit(name, machine=HOSTS[machine], threads=threads, time_limit=10)
        flags = ("-march=native", "-Werror", *(("-fopenmp",) if threads > 1 else ()))
        with tempfile.TemporaryDirectory() as folder:
            program = build_program({"code.c": code.source, "main.c": code.main}, flags=flags, folder=Path(folder))
            ran = subprocess.run([str(program), "-r", "2"], capture_output=True, text=True, check=False)
        wrong += ran.returncode != 0
        say(f"{name} {code.kernel}: {ran.stdout.strip()} {ran.stderr.strip()}")
    return wrong


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("random", "layers"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--machine", choices=sorted(HOSTS), default="avx512")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--emulator", nargs="*", default=[])
    given = parser.parse_args()
    if given.what == "random":
        return min(1, attack_random(given.count, given.seed, tuple(given.emulator)))
    return min(1, attack_layers(given.names, given.machine, given.threads))


if __name__ == "__main__":
    sys.exit(main())
