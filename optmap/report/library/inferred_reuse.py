"""Sunstone's view of a workload: which dims reuse which tensor, the loop orders left, the size of the space."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.base.texts import several
from optmap.files.workloads import workload_document
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Machine
from optmap.report.tables import grid
from optmap.search.sunstone.inferred import Inferred, LoopOrders, inferred_reuse, left_orders
from optmap.search.sunstone.sizes import SpaceSize, space_sizes
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredReuse(Shown):
    """What the algebra of a workload says about reuse (Sunstone, Tables I and III, Figure 4)."""

    shown_as: ClassVar[str] = "inferred-reuse"
    workload: Workload
    machine: str
    """Name; empty for none."""
    tensors: tuple[Inferred, ...]
    orders: LoopOrders
    sizes: tuple[SpaceSize, SpaceSize] | None
    """With all dims and with the reuse dims; None without a machine."""


def inferred(workload: Workload, machine: Machine | None = None) -> InferredReuse:
    """Infer the reuse of a workload.

    Raises:
        InputError: for a machine that is no accelerator, or does not suit the workload.
    """
    return InferredReuse(
        workload=workload,
        machine="" if machine is None else machine.name,
        tensors=inferred_reuse(workload),
        orders=left_orders(workload),
        sizes=None if machine is None else space_sizes(fabric_of(workload, machine)),
    )


def inferred_text(answer: InferredReuse) -> str:
    """The tables for people."""
    rows = [
        [own.tensor, *map(", ".join, (own.indexed_by, own.reused_by, own.partly_reused_by))] for own in answer.tensors
    ]
    orders = answer.orders
    lines = [
        grid(("tensor", "indexed by", "reused by", "partly reused by"), "<<<<", rows),
        "",
        f"{several(len(orders.left), 'inner loop order')} left of {several(orders.permutations, 'order')} "
        "(outermost first, x for loops "
        f"that reuse nothing): {orders.grown:,} nodes of the trie, {orders.no_further:,} without further reuse, "
        f"{orders.dominated:,} dominated",
        "",
        grid(("order", "reuses"), "<<", ([f"x {' '.join(own.inner)}", _reuses(own.reuses)] for own in orders.left)),
    ]
    if answer.sizes is not None:
        every, reuse = answer.sizes
        sizes = (
            ("dims to build a tile, at most", f"{every.tile_dims}", f"{reuse.tile_dims}"),
            ("dims to unroll, at most", f"{every.unrolled_dims}", f"{reuse.unrolled_dims}"),
            ("tiles and unrollings", f"{every.size:.3g}", f"{reuse.size:.3g}"),
        )
        title = f"space on {answer.machine}, before capacities"
        lines += ["", grid((title, "all dims", "reuse dims"), "<>>", sizes)]
    return "\n".join(lines)


def _reuses(reuses: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> str:
    found = []
    for tensor, whole, partly in reuses:
        parts = [
            *([f"by {', '.join(whole)}"] if whole else []),
            *([f"partly by {', '.join(partly)}"] if partly else []),
        ]
        found.append(f"{tensor} {' and '.join(parts)}")
    return "; ".join(found)


def inferred_document(answer: InferredReuse) -> dict[str, object]:
    """The JSON document of `derive --reuse`."""
    return {
        "schema": "optmap.inferred_reuse/1",
        "workload": workload_document(answer.workload),
        "machine": answer.machine or None,
        "tensors": [asdict(own) for own in answer.tensors],
        "orders": asdict(answer.orders),
        "space": None
        if answer.sizes is None
        else {"all_dims": asdict(answer.sizes[0]), "reuse_dims": asdict(answer.sizes[1])},
    }
