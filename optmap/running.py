"""The verbs that meet the machine at hand: code that is emitted, compiled, run, measured and compared.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations
