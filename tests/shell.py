"""The command line in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from optmap.cli import main


def run(*args: str | Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    """What a command writes to stdout and stderr; it has to end with the code."""
    capsys.readouterr()
    assert main([str(arg) for arg in args]) == code
    said = capsys.readouterr()
    return said.out, said.err
