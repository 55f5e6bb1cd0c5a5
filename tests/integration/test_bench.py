"""`bench` from the shell: table, document, pictures and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_machines import usable_host

from optmap.report.library.showing import machine_yaml

PRODUCT = (
    "C[i,j] += A[i,k]*B[k,j]",
    "--extents",
    "i=16,j=16,k=8",
    "--rounds",
    "2",
    "--candidates",
    "1",
    "--against",
    "onednn",
)


@pytest.fixture
def host(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "host.yaml"
    file.write_text(machine_yaml(usable_host()))
    return "--machine", str(file)


def test_a_comparison_from_the_shell(optmap, tmp_path: Path, host: tuple[str, str]) -> None:
    kept, figures = tmp_path / "bench.json", tmp_path / "figures"
    asked = ("bench", *PRODUCT, *host, "-o", str(kept))
    run = optmap(*asked, "--plot", str(figures))
    assert "1 thread, warm caches: GFLOPS" in run.out
    assert sorted(path.name for path in figures.iterdir()) == ["bench.png", "gigaflops.png"]
    written = json.loads(kept.read_text())
    printed = optmap(*asked, "--json").document()
    assert printed.keys() == written.keys()
    assert printed["layers"][0]["workload"] == written["layers"][0]["workload"]
    assert len(printed["layers"][0]["ours"]["samples_s"]) == 2


def test_what_a_library_says_by_itself_is_not_in_the_document(
    optmap_process, host: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """oneDNN writes to the descriptor of stdout, past Python, when it is asked to tell what it does."""
    monkeypatch.setenv("ONEDNN_VERBOSE", "1")
    run = optmap_process("bench", *PRODUCT, *host, "--json")
    assert run.document()["layers"]
    assert "onednn_verbose" in run.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "optmap detect"),
        (("--machine", "balanced"), "core"),
        (("--threads", "two"), "1,2"),
        (("--against", "onedn"), "onednn"),
        (("--caches", "luke"), "cold"),
        (("--layout", "chwn"), "nhwc"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    optmap, host: tuple[str, str], arguments: tuple[str, ...], text: str
) -> None:
    where = () if not arguments or "--machine" in arguments else host
    run = optmap("bench", *PRODUCT, *where, *arguments, code=2)
    assert text in run.err
