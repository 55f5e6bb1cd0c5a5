"""The system's compiler: what it builds is kept, and what goes wrong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from optmap.base.errors import CheckError, InputError, SolverUnavailableError
from optmap.native import build_library, build_program, examine_compiler, find_compiler, load_library

SOURCE = "int three(void);\nint three(void) { return 3; }\n"


def test_a_library_is_built_once_and_called(tmp_path: Path) -> None:
    built = build_library(SOURCE, folder=tmp_path)
    stamp = built.stat().st_mtime_ns
    assert load_library(built).three() == 3
    assert build_library(SOURCE, folder=tmp_path) == built
    assert built.stat().st_mtime_ns == stamp
    assert build_library(SOURCE, flags=("-O1",), folder=tmp_path) != built
    assert len(list(tmp_path.iterdir())) == 2  # no scratch left


def test_an_object_that_was_damaged_is_built_again(tmp_path: Path) -> None:
    built = build_library(SOURCE, folder=tmp_path)
    whole = built.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        built.unlink()  # a new file: the old one may be loaded
        built.write_bytes(damage)
        assert build_library(SOURCE, folder=tmp_path) == built
        assert built.read_bytes() == whole
    (built.parent / "sum").unlink()
    assert load_library(build_library(SOURCE, folder=tmp_path)).three() == 3
    assert [path.name for path in tmp_path.iterdir()] == [built.parent.name]


def test_something_else_in_the_place_of_an_entry_makes_room(tmp_path: Path) -> None:
    built = build_library(SOURCE, folder=tmp_path)
    built.unlink()
    (built.parent / "sum").unlink()
    built.parent.rmdir()
    built.parent.write_text("a file")
    assert load_library(build_library(SOURCE, folder=tmp_path)).three() == 3


def test_a_library_of_several_files(tmp_path: Path) -> None:
    files = {"code.c": SOURCE, "more.c": "int three(void);\nint four(void);\nint four(void) { return three() + 1; }\n"}
    assert load_library(build_library(files, folder=tmp_path)).four() == 4


def test_many_that_build_the_same_at_once_get_it_whole(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: build_library(SOURCE, folder=tmp_path), range(4)))
    assert len(paths) == 1
    assert load_library(paths.pop()).three() == 3
    assert len(list(tmp_path.iterdir())) == 1


def test_a_program_runs(tmp_path: Path) -> None:
    import subprocess

    main = 'int three(void);\n#include <stdio.h>\nint main(void) { printf("%d\\n", three()); return 0; }\n'
    program = build_program({"code.c": SOURCE, "main.c": main}, folder=tmp_path)
    assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == "3\n"


def test_code_that_does_not_compile_says_why(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="undeclared"):
        build_library("int f(void) { return nosuch; }\n", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SolverUnavailableError, match="apt install gcc"):
        find_compiler()
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SolverUnavailableError, match="none of cc, gcc, clang"):
        find_compiler()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="OPTMAP_BUILD_DIR"):
        build_library(SOURCE, folder=tmp_path / "file")


def test_the_build_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from optmap.native import build_folder

    monkeypatch.setenv("OPTMAP_BUILD_DIR", str(tmp_path))
    assert build_folder() == tmp_path
    monkeypatch.delenv("OPTMAP_BUILD_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build_folder() == tmp_path / "optmap" / "build"


def test_a_damaged_library_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_text("no object")
    with pytest.raises(CheckError, match="cannot be loaded"):
        load_library(broken)


def test_the_doctor_tries_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = examine_compiler()
    assert (found.available, found.passed, found.message) == (True, True, "")
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\necho does nothing\n")
    silent.chmod(0o755)
    monkeypatch.setenv("CC", str(silent))
    found = examine_compiler()
    assert (found.available, found.passed, found.version) == (True, False, "does nothing")
    monkeypatch.setenv("CC", "no-such-compiler")
    found = examine_compiler()
    assert (found.available, found.passed) == (False, False)
    assert "apt install gcc" in found.message
