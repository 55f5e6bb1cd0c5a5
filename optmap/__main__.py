"""`python -m optmap`: the command line without the installed script."""

import sys

from optmap.cli import main

if __name__ == "__main__":
    sys.exit(main())
