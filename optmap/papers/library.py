"""The papers there are, each imported when it is asked for."""

from __future__ import annotations

from optmap.base.registry import Registry
from optmap.papers.items import Paper

PAPERS: Registry[Paper] = Registry("paper")
"""Papers by the name that the shell has for them."""


@PAPERS.add("mopt")
def _mopt() -> Paper:
    from optmap.papers.mopt import paper

    return paper.PAPER


@PAPERS.add("ioopt")
def _ioopt() -> Paper:
    from optmap.papers.ioopt import paper

    return paper.PAPER


@PAPERS.add("dinh")
def _dinh() -> Paper:
    from optmap.papers.dinh import paper

    return paper.PAPER


@PAPERS.add("sunstone")
def _sunstone() -> Paper:
    from optmap.papers.sunstone import paper

    return paper.PAPER


@PAPERS.add("quickflow")
def _quickflow() -> Paper:
    from optmap.papers.quickflow import paper

    return paper.PAPER
