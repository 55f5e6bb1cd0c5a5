"""The counting policies by name: today's six, and those that plug-ins register."""

from __future__ import annotations

import sys

from optmap.base.errors import InputError
from optmap.base.names import choose, enter
from optmap.base.values import quoted
from optmap.count.level_policy import HELD, LEVEL_EXACT, PER_LEVEL, LevelPolicy
from optmap.count.meshes.count import NEST_EXACT, NEST_FACTORFLOW, NEST_TIMELOOP
from optmap.count.meshes.policy import NestPolicy
from optmap.questions.policy import Policy

POLICIES: dict[str, Policy] = {
    each.key: each for each in (NEST_EXACT, NEST_TIMELOOP, NEST_FACTORFLOW, LEVEL_EXACT, PER_LEVEL, HELD)
}
"""By `Policy.key`: two of different targets may share a name."""
HOMES: dict[str, str | None] = {}
"""Per policy of one's own the file that registered it; None without one, as in a notebook."""


def register_policy(policy: Policy) -> None:
    """Give a counting policy a name: whatever takes a counting then takes it.

    It is known to the process that registers it; that of a plug-in, a module that `load_plugin` imports, to all.

    Args:
        policy: of a class that says how it counts: a `NestPolicy`, or a `LevelPolicy`.

    Raises:
        InputError: if the name is taken on its target, or is none; for anything else.
    """
    kind = next((kind for kind in (NestPolicy, LevelPolicy) if isinstance(policy, kind)), None)
    if kind is None:
        raise InputError(f"{quoted(policy)} is no counting; give a NestPolicy (accelerators) or a LevelPolicy (caches)")
    taken: dict[str, Policy] = {each.name: each for each in POLICIES.values() if isinstance(each, kind)}
    enter("counting", policy.name, policy, taken)
    POLICIES[policy.key] = policy
    HOMES[policy.key] = sys._getframe(1).f_globals.get("__file__")


def nest_policies() -> dict[str, NestPolicy]:
    """The policies of accelerators by the name that is typed, in the order in which they were registered."""
    return {each.name: each for each in POLICIES.values() if isinstance(each, NestPolicy)}


def level_policies() -> dict[str, LevelPolicy]:
    """The policies of caches and scratchpads, likewise."""
    return {each.name: each for each in POLICIES.values() if isinstance(each, LevelPolicy)}


def level_policy(name: str) -> LevelPolicy:
    """The policy of caches and scratchpads that a name means.

    Raises:
        UnknownNameError: for a name that is none.
    """
    known = level_policies()
    return known[choose("counting", name, known, where="--counting")]


def nest_policy(name: str | NestPolicy | None) -> NestPolicy:
    """The policy that nests are counted by: itself, that of a name, `exact` for None.

    Args:
        name: as it was typed.

    Raises:
        UnknownNameError: for a name that is none.
    """
    if isinstance(name, NestPolicy):
        return name
    known = nest_policies()
    return known[choose("counting", NEST_EXACT.name if name is None else name, known)]
