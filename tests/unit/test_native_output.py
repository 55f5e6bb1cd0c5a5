"""Descriptor 1 while compiled code runs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import scipy.optimize

import optmap
from optmap.solvers.native_output import off_stdout

ROOT = Path(__file__).resolve().parents[2]
C = ctypes.CDLL(None)


def shout(text: str) -> None:
    """Write as compiled code does: in part at once, in part when C's buffer is full."""
    os.write(1, f"{text} at once\n".encode())
    C.printf(f"{text} later\n".encode())


def test_what_is_written_inside_goes_to_stderr_and_the_rest_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    shout("before")
    with off_stdout():
        shout("inside")
    shout("after")
    C.fflush(None)
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == ["after at once", "after later", "before at once", "before later"]
    assert sorted(err.splitlines()) == ["inside at once", "inside later"]


def test_a_name_that_is_discarded_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    with off_stdout(discard=True):
        shout("a name")
    assert capfd.readouterr() == ("", "")


def test_the_linear_programs_of_proofs_are_kept_out_too(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """SciPy has a HiGHS of its own."""
    solve = scipy.optimize.linprog

    def loud(*args: object, **options: object) -> object:
        shout("a name")
        return solve(*args, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", loud)
    optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=16,j=16,k=16", memory="100w", certificate="full")
    C.fflush(None)
    out, err = capfd.readouterr()
    assert out == ""
    assert set(err.splitlines()) == {"a name at once", "a name later"}


def test_an_error_inside_turns_it_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), off_stdout():
        raise ZeroDivisionError
    shout("back")
    C.fflush(None)
    assert capfd.readouterr().out.count("back") == 2


def test_of_several_threads_the_last_to_leave_turns_it_back(capfd: pytest.CaptureFixture[str]) -> None:
    inside, leave = threading.Barrier(5), threading.Event()

    def stay() -> None:
        with off_stdout():
            inside.wait()
            leave.wait()
            shout("inside")

    threads = [threading.Thread(target=stay) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait()
    with off_stdout():
        shout("inside")
    shout("inside")
    leave.set()
    for thread in threads:
        thread.join()
    os.write(1, b"outside\n")
    out, err = capfd.readouterr()
    assert out == "outside\n"
    assert err.count("inside") == 12


def test_a_worker_forked_meanwhile_has_the_real_stdout() -> None:
    text = (
        "import os, threading\n"
        "from optmap.solvers.native_output import off_stdout\n"
        "inside, leave = threading.Event(), threading.Event()\n"
        "def stay():\n"
        "    with off_stdout():\n"
        "        inside.set(); leave.wait()\n"
        "thread = threading.Thread(target=stay); thread.start(); inside.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with off_stdout(): os.write(1, b'aside\\n')\n"
        "    os.write(1, b'document\\n'); os._exit(0)\n"
        "os.waitpid(child, 0); leave.set(); thread.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("document\n", "aside\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_process_without_stdout_or_stderr_is_no_error(closed: str) -> None:
    text = (
        "import os, sys\n"
        "from optmap.solvers.native_output import off_stdout\n"
        "with off_stdout(): pass\n"
        "with off_stdout(discard=True): pass\n"
        "sys.exit(7)\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", text], timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 7
