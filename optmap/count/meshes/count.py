"""Counting a nest on an accelerator: accesses, energy and cycles, in exact numbers.

The model is Timeloop's dense one, or with `factorflow` FactorFlow's. Memories, tiles and loops are those of
`mappings.nest`. `words` counts what a tile holds, `entering` what comes into a memory, `traffic` makes reads, fills and
updates of it (`factorflow` in place of both for that model), `prices` and `wires` energy and cycles, `rules` says what
the machine forbids, and `policy` makes one count of it all.
"""

from __future__ import annotations

from dataclasses import dataclass

from optmap.count.meshes.batch_columns import Columns
from optmap.count.meshes.batch_count import CountedColumns, count_columns, is_closed
from optmap.count.meshes.batch_flows import count_flows
from optmap.count.meshes.factorflow import factorflow_accesses, shared_dim
from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import Accesses, SpatialCost
from optmap.count.meshes.traffic import accesses_of
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.questions.policy import Footprint, Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkedPolicy(NestPolicy):
    """A policy that is all in its traits: tiles are followed through all loops, walked or extrapolated."""

    retention: Retention = Retention.SLIDING
    walked: bool = True

    def accesses(self, layout: NestLayout, place: int, *, charge_drains: bool, bias: bool) -> dict[int, Accesses]:
        """See `accesses_of`."""
        return accesses_of(layout, place, charge_drains=charge_drains, bias=bias)

    def columns(self, columns: Columns, fabric: Fabric) -> CountedColumns | None:
        """See `count_columns`."""
        return count_columns(columns, fabric, self) if is_closed(fabric) and not self.drains else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedPolicy(NestPolicy):
    """FactorFlow's model (`factorflow`), which QuickFlow extends."""

    retention: Retention = Retention.HANDED

    def missing(self, fabric: Fabric) -> str | None:
        """See `shared_dim`."""
        return shared_dim(fabric)

    def accesses(self, layout: NestLayout, place: int, *, charge_drains: bool, bias: bool) -> dict[int, Accesses]:
        """See `factorflow_accesses`."""
        return factorflow_accesses(layout, place, charge_drains=charge_drains, bias=bias)

    def columns(self, columns: Columns, fabric: Fabric) -> CountedColumns | None:
        """See `count_flows`."""
        return count_flows(columns, fabric, self) if is_closed(fabric) else None


NEST_EXACT = WalkedPolicy(
    name="exact",
    description="as a literal walk of the loops counts, footprints with their gaps left out",
    bounded=True,
)
NEST_TIMELOOP = WalkedPolicy(
    name="timeloop",
    description="as Timeloop's dense model: tiles as hulls, loops extrapolated from their first two trips",
    retention=Retention.EXTRAPOLATED,
    footprint=Footprint.HULL,
    room=Footprint.HULL,
)
NEST_FACTORFLOW = HandedPolicy(
    name="factorflow",
    description="as FactorFlow's and QuickFlow's model: tiles handed down anew whenever a loop outside moves on, halos "
    "as the union of tiles and none shared on a mesh, drains at a price, no wires, and strides taken as 1 where a tile "
    "must fit, so that a mapping may not fit in truth",
    room=Footprint.UNIT_STRIDES,
    drains=True,
    wires=False,
)


def count_nest(
    nest: Nest,
    fabric: Fabric,
    counting: NestPolicy = NEST_EXACT,
    *,
    charge_drains: bool | None = None,
    hulls: bool | None = None,
    bias: bool = False,
) -> SpatialCost:
    """Reads, fills and updates, energy, cycles and utilisation of a mapping on an accelerator.

    Args:
        nest: the mapping. One that breaks rules of the machine is counted all the same; `broken` says which.
        fabric: the machine as the workload sees it.
        counting: the policy that it is counted by.
        charge_drains: whether an output word that leaves a memory for the next one outside is read there at a
            price. None for what goes with `counting`: FactorFlow charges drains, Timeloop does not.
        hulls: whether tiles have the words between the first and the last value of a subscript, needed or not.
            None for what goes with `counting`: exactly what is needed, or hulls for `timeloop`.
        bias: whether outputs start from values that are read, as those of a bias; they start empty if not.

    Returns:
        Exact counts of all instances together, energy in pJ as fractions, whole cycles.

    Raises:
        LimitError: for subscripts of three dims or more whose values are too many to be enumerated.
        InputError: for what the policy cannot count (`NestPolicy.missing`).
    """
    return counting.count(nest, fabric, charge_drains=charge_drains, hulls=hulls, bias=bias)
