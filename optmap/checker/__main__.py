"""`python -m optmap.checker FILE`, or `python optmap/checker FILE` with nothing installed."""

import importlib
import io
import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Check every file named; 0 if all that can be verified holds, 2 for an unreadable file, 5 for a refusal."""
    if not __package__:  # run as a folder: import the folder itself as a package
        sys.path[0] = str(Path(__file__).resolve().parent.parent)
    checker = importlib.import_module(__package__ or Path(__file__).resolve().parent.name)
    if not arguments:
        sys.stderr.write("usage: python -m optmap.checker FILE...\n")
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for name in arguments:
        try:
            report = checker.check_file(name)
        except checker.RefusedError as error:
            sys.stderr.write(f"{checker.plain(name)}: refused: {error}\n")
            return 5
        except (OSError, ValueError) as error:
            sys.stderr.write(f"{checker.plain(f'{name}: cannot be read: {error}')}\n")
            return 2
        sys.stdout.write(f"{report}\n{checker.plain(name)}: what is listed as verified holds\n")
    return 0


def told(arguments: list[str]) -> int:
    """The same, and 1 with a message if stdout cannot be written."""
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        code = main(arguments)
        sys.stdout.flush()
        return code
    except OSError as error:  # files are dealt with above: a full disk, or nobody who reads
        if sys.stdout is not None:  # what is left would be written once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if sys.stderr is not None:
            sys.stderr.write(f"stdout: cannot be written: {error.strerror or error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(told(sys.argv[1:]))
