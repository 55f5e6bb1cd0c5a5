"""Emitted code as one more way."""

from __future__ import annotations

from optmap.native.bench.contender import Contender
from optmap.native.run.clocking import Ready
from optmap.native.run.layouts import view_of

OURS = "optmap"


def own_way(ready: Ready, name: str) -> Contender:
    """Compiled code with its operands in its layouts; what it packs ahead is packed.

    Args:
        ready: as `ready_for` makes it.
        name: the variant.
    """
    out, target = ready.kernel.code.buffers[0], ready.memories[0]
    return Contender(
        library=OURS,
        variant=name,
        function=ready.call.function,
        context=ready.call.context,
        operands=ready.call.operands,
        result=lambda: view_of(out, target),
        kept=(ready,),
    )
