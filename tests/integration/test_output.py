"""Where output goes wrong, and where a process has little: full disks, closed pipes, no home, no rights, odd paths."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import Run, some

import optmap as package

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=24,j=20,k=16")
SOLVE = ("solve", *PRODUCT, "--memory", "40w")
GRID = """
workloads: ["C[i,j] += A[i,k]*B[k,j]"]
extents: {i: 24, j: 20, k: 16}
capacities: {values: [40w, 90w]}
methods: [bound, mopt]
"""
COMMANDS = {
    "help": ("--help",),
    "help of a command": ("sweep", "--help"),
    "version": ("--version",),
    "table": ("list", "objectives"),
    "long table": ("list", "workloads", "--json"),
    "document": ("show", "resnet18/R9", "--json"),
    "answer": SOLVE,
    "error document": ("show", "nosuch", "--json"),
    "error document of usage": ("list", "--nosuch", "--json"),
}
NOBODY = 65534


def _run(
    *args: str | Path,
    shell: str = "",
    prefix: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    cwd: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """`python -m optmap ARGS…` as a shell would start it, with redirections."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *prefix, sys.executable, "-m", "optmap", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**(os.environ if env is None else env), "PYTHONPATH": str(ROOT)},
        check=False,
    )


@pytest.mark.parametrize(
    ("kind", "buffered"), some(5, [*((kind, "") for kind in COMMANDS), ("help", "1"), ("table", "1")])
)
def test_a_full_disk_under_stdout_is_told(kind: str, buffered: str) -> None:
    done = _run(*COMMANDS[kind], shell=">/dev/full", env={**os.environ, "PYTHONUNBUFFERED": buffered})
    assert done.returncode == 1
    assert done.stderr.endswith("error: stdout: cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert ("nosuch" in done.stderr) == ("error" in kind)


@pytest.mark.parametrize("shell", [">/dev/full", ">&-"])
def test_it_is_told_once_where_a_library_holds_on_to_stdout(shell: str) -> None:
    """Pyomo's log keeps the stdout that it was imported with, and flushes it as Python ends."""
    done = _run("export", *PRODUCT, "--memory", "40w", "--format", "text", shell=shell)
    assert done.returncode == 1
    assert done.stderr.startswith("error: stdout: cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", ["help", "table", "error document"])
def test_no_stdout_at_all_is_told(kind: str) -> None:
    done = _run(*COMMANDS[kind], shell=">&-")
    assert done.returncode == 1
    assert done.stderr.endswith("error: stdout: cannot be written: it is closed\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["help", "table", "error document"])
def test_a_reader_that_is_gone_is_told(kind: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "optmap", *COMMANDS[kind]]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, cwd=ROOT, check=False)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr.endswith("error: stdout: cannot be written: Broken pipe\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["2>/dev/full", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_without_stderr_the_exit_code_tells(shell: str) -> None:
    assert _run("show", "nosuch", shell=shell).returncode == 2
    fine = _run("list", "objectives", shell=shell)
    assert fine.returncode == (1 if ">&- " in shell or ">/dev/full 2" in shell else 0)
    assert bool(fine.stdout) == (fine.returncode == 0)


def test_no_file_takes_the_place_of_a_stream_that_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "solution.json"
    assert _run(*SOLVE, "-o", file, shell="<&- >&- 2>&-").returncode == 1
    assert package.check(file).verified


@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_a_file_that_cannot_be_written_is_bad_input(optmap: Command, option: str, tmp_path: Path) -> None:
    args = SOLVE if option == "-o" else ("compare", *PRODUCT, "--memory", "40w")
    full = tmp_path / "full.png"
    full.symlink_to("/dev/full")
    # Root may write into a folder of any mode: what every user is refused stands for it.
    for place, reason in (
        (full, "No space left on device"),
        (Path("/proc/nosuch.png"), "No such file"),
        (tmp_path / "none" / "file.png", "there is no folder"),
    ):
        said = optmap(*args, option, place, code=2).err
        assert f"error: {place}: cannot be written" in said
        assert reason in said
        assert "such as plot.png" not in said  # its name is not what is wrong


def test_the_checker_alone_tells_it_too(tmp_path: Path) -> None:
    file = tmp_path / "solution.json"
    package.solve(PRODUCT[0], extents=PRODUCT[2], memory="40w").save(file)
    for shell, reason in ((">/dev/full", "No space left on device"), (">&-", "it is closed")):
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, str(ROOT / "optmap" / "checker"), str(file)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == f"stdout: cannot be written: {reason}\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder with spaces and umlauts: `read only` cannot be written by anybody but root, `writable` by all."""
    folder = tmp_path / "mit Leerzeichen und ümläuten"
    for name, mode in (("read only", 0o555), ("writable", 0o777)):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(mode)
    (folder / "grid ü.yaml").write_text(GRID, encoding="utf-8")
    for path in (folder, *folder.parents):  # pytest closes its folders to others
        if path.owner() == getpass.getuser() and path.is_relative_to(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o055)
    yield folder
    (folder / "read only").chmod(0o755)


def _unprivileged() -> tuple[str, ...]:
    """How a command is started with the rights of nobody: tests may be run by root, who may write everywhere."""
    if os.getuid() != 0:
        return ()
    reading = "+dac_read_search"  # the interpreter itself may be where nobody else can look
    user = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    return ("setpriv", *user, f"--inh-caps={reading}", f"--ambient-caps={reading}")


@pytest.mark.longer
@pytest.mark.parametrize("home", [None, "/nonexistent"])
def test_without_rights_without_a_home_in_a_read_only_folder(place: Path, home: str | None) -> None:
    env = {"PATH": os.environ["PATH"], **({} if home is None else {"HOME": home})}
    inside = place / "writable"

    def run(*args: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = _run(*args, prefix=_unprivileged(), env=env, cwd=place / "read only")
        assert done.returncode == code, (args, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    run(*SOLVE, "-o", inside / "solution ü.json")
    assert run("check", inside / "solution ü.json").stderr == ""
    assert "cannot be written: Permission denied" in run(*SOLVE, "-o", "solution.json", code=2).stderr
    assert run("sweep", place / "grid ü.yaml", "-o", inside / "sweep ü", "--jobs", "1").stderr == ""
    assert run("check", inside / "sweep ü").stderr == ""
    assert "choose another" in run("sweep", place / "grid ü.yaml", code=2).stderr
    if Run.longer:
        assert run("plot", inside / "sweep ü", "--json").stderr == ""
        assert list((inside / "sweep ü" / "plots").glob("*.png"))
        assert "cannot be made" in run("plot", inside / "sweep ü", "-o", "plots", code=2).stderr
    assert list((place / "read only").iterdir()) == []


@pytest.mark.longer
def test_building_without_a_home(place: Path) -> None:
    for user in (NOBODY, 12345):  # one that the system knows, and one that it does not
        prefix = tuple(part.replace(str(NOBODY), str(user)) for part in _unprivileged())
        env = {"PATH": os.environ["PATH"], "TMPDIR": str(place / "writable")}
        done = _run("doctor", prefix=prefix, env=env, cwd=place / "read only")
        assert done.returncode == 0, done.stderr
        assert "builds code that runs" in " ".join(done.stdout.split())
    assert list((place / "writable").iterdir()) == []


PRETENDED = """
import os, sys
cores = int(sys.argv.pop(1))
os.cpu_count = lambda: cores
os.sched_getaffinity = lambda _: set(range(cores))
from optmap.cli import main
sys.exit(main())
"""


@pytest.mark.longer
@pytest.mark.parametrize("cores", [1, 4, 64])
def test_any_number_of_cores(cores: int, tmp_path: Path) -> None:
    spec = tmp_path / "grid.yaml"
    spec.write_text(GRID, encoding="utf-8")

    def run(*args: str | Path) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-c", PRETENDED, str(cores), *map(str, args), "--json"],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        made: dict[str, object] = json.loads(done.stdout)
        return made

    assert run("sweep", spec, "-o", "out", "--plan")["jobs"] == cores
    assert run("sweep", spec, "-o", "out")["answered"] == 4
    assert run("check", "out")["refused"] is None
    rows = package.read_sweep(tmp_path / "out").drop(columns=["seconds"])
    package.sweep(spec, tmp_path / "again", engine="inline")
    assert rows.equals(package.read_sweep(tmp_path / "again").drop(columns=["seconds"]))
