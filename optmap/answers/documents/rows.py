"""What was counted per boundary and per level, as the rows of a document."""

from __future__ import annotations

from collections.abc import Iterable

from optmap.count.results import BoundaryTraffic, LevelCost
from optmap.count.tally import Moved
from optmap.count.trees import LevelRoom
from optmap.search.floors import BoundaryCertificate


def boundary_documents(boundaries: Iterable[BoundaryTraffic | Moved]) -> list[dict[str, object]]:
    """Words per boundary and tensor."""
    return [
        {
            "between": list(row.between),
            "tensor": row.tensor,
            "loads_words": row.loads_words,
            "stores_words": row.stores_words,
        }
        for row in boundaries
    ]


def level_documents(levels: Iterable[LevelCost]) -> list[dict[str, object]]:
    """Occupancy, traffic and cycles per level; where time is predicted also what it keeps of the loops."""
    return [
        {
            "level": level.level,
            "occupancy_words": level.occupancy_words,
            "capacity_words": level.capacity_words,
            "traffic_words": level.traffic_words,
            "bandwidth_words_per_cycle": level.bandwidth,
            "cycles": level.cycles,
            **({} if level.kept is None else {"kept": {"tile": level.kept.tile, "passing": level.kept.passing}}),
        }
        for level in levels
    ]


def certificate_documents(certificates: Iterable[BoundaryCertificate]) -> list[dict[str, object]]:
    """The proofs of lower bounds per boundary, of one memory each."""
    return [
        {
            "between": list(proof.between),
            "instances": proof.instances,
            "words": proof.words,
            "certificate": proof.certificate,
        }
        for proof in certificates
    ]


def room_documents(rooms: Iterable[LevelRoom]) -> list[dict[str, object]]:
    """What every level, or part of one, holds at most."""
    return [
        {
            "level": room.level,
            **({} if room.part == room.level else {"partition": room.part}),
            "occupancy_words": room.occupancy_words,
            "capacity_words": room.capacity_words,
        }
        for room in rooms
    ]


def crossing_documents(certificates: Iterable[BoundaryCertificate]) -> list[dict[str, object]]:
    """The proofs of lower bounds on the words that cross into all memories inside a boundary together."""
    return [
        {
            "between": list(crossing.between),
            "memory_words": crossing.memory_words,
            "words": crossing.words,
            "certificate": crossing.certificate,
        }
        for crossing in certificates
    ]
