"""The gate of all bounds: none leaves it whose certificate the independent checker has not proved again."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TypeVar

from optmap.base.errors import CheckError
from optmap.bounds.result import Document
from optmap.checker import RefusedError, check_document
from optmap.workloads.workload import Workload

Tried = TypeVar("Tried")
log = logging.getLogger(__name__)


def first_proved(workload: Workload, tried: Iterable[tuple[Tried, Document]]) -> tuple[Tried, Document]:
    """The first of several arguments whose certificate the checker accepts; a refusal is logged, never overruled.

    Args:
        workload: for messages.
        tried: arguments with their certificates, the last one of compulsory traffic alone.

    Raises:
        CheckError: if the checker refuses them all.
    """
    for each, document in tried:
        try:
            check_document(document)
        except RefusedError as error:
            log.warning("%s: a bound was dropped, the checker refuses its certificate: %s", workload.title, error)
        else:
            return each, document
    raise CheckError(
        f"{workload.title}: the independent checker refuses even its compulsory traffic, so that no bound is proved; "
        "please report the workload"
    )
