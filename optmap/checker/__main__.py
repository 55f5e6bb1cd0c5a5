"""`python -m optmap.checker FILE`, or `python optmap/checker FILE` with nothing installed."""

import importlib
import io
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
