"""`python tests/goldens`: see `script.py`."""

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Of the checkout that this file is in, whatever is installed.
sys.path[:1] = [str(HERE.parents[1]), str(HERE.parent)]

if __name__ == "__main__":
    sys.exit(import_module("goldens.script").main())
