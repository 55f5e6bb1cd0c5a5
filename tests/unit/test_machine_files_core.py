"""What a machine's core computes with, in files, documents and the checker's eyes."""

from __future__ import annotations

from pathlib import Path

import pytest

import optmap
from optmap.base.errors import InputError
from optmap.files.inputs import machine_of
from optmap.files.machines import machine_document
from optmap.machines.core import Core
from optmap.machines.machine import Machine

TEXT = """name: host
core: {vector_bytes: 64, registers: 32, fma_ports: 2, fma_latency: 4, load_ports: 2}
cores: 2
levels:
  - {name: Reg, capacity: 2KiB, bandwidth: 128B}
  - {name: L1, capacity: 48KiB, bandwidth: 48B, kind: cache, line_bytes: 64, ways: 12}
  - {name: L2, capacity: 2MiB, bandwidth: 20B, kind: cache, shared: true, line_bytes: 64, ways: 16, core_bandwidth: 12B}
"""


@pytest.fixture
def host(tmp_path: Path) -> Machine:
    path = tmp_path / "host.yaml"
    path.write_text(TEXT)
    return machine_of(str(path), None)


def test_a_core_has_lanes_and_a_peak(host: Machine) -> None:
    assert host.core == Core(vector_bytes=64, registers=32, fma_ports=2, fma_latency=4, load_ports=2)
    assert (host.core.lanes(32), host.core.lanes(64), host.core.peak(32), host.core.lanes(2048)) == (16, 8, 32, 1)


def test_files_and_documents_lose_nothing(host: Machine, tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(optmap.show(str(tmp_path / "host.yaml")).yaml)
    assert machine_of(str(tmp_path / "again.yaml"), None) == host
    level = machine_document(host)["levels"][2]  # type: ignore[index]
    assert (level["line_bytes"], level["ways"], level["core_bandwidth"]) == (64, 16, {"amount": 12, "unit": "bytes"})


def test_the_checker_reads_such_a_machine(host: Machine, tmp_path: Path) -> None:
    result = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=16,j=16,k=16", machine=host)
    result.save(tmp_path / "solution.json")
    assert optmap.check(tmp_path / "solution.json").verified


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("registers: 32", "registers: 0", "registers"),
        (", load_ports: 2", "", "load_ports"),
        ("ways: 12", "ways: -1", "ways"),
        ("core_bandwidth: 12B", "core_bandwidth: fast", "core_bandwidth"),
        ("fma_latency: 4", "fma_latency: 4, magic: 1", "magic"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "host.yaml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(InputError, match=said):
        machine_of(str(path), None)
