"""Chains of a network solved beside its layers, and which of them are fused: those that save most and share nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from optmap.answers.over_capacity.fused import FusedChain, FusedCurve, FusedNetwork, LeftProducts, shares_apart
from optmap.answers.over_capacity.networks import NetworkView
from optmap.api import solve
from optmap.base.clock import stopping
from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.base.names import choose
from optmap.base.share import Share, Tell, part_of
from optmap.base.values import TimeInput
from optmap.files.network import Network
from optmap.machines.machine import Machine, two_level
from optmap.onnx_import import LayerChain, LinkedModel
from optmap.questions.objective import TRAFFIC
from optmap.search.chains.solve import family_of
from optmap.search.methods import METHODS, usual_methods
from optmap.sweeps.networks.solving import solve_network
from optmap.workloads.amounts import Capacity
from optmap.workloads.meanings import Padding

INTERRUPTED = "somebody asked to stop before it was solved"


def fused_curve(
    linked: LinkedModel,
    sizes: Sequence[Capacity],
    *,
    progress: Tell | None = None,
    **options: Any,
) -> FusedCurve:
    """What fusion saves in one memory after another.

    Args:
        linked: the model with its chains.
        sizes: capacities of the memory.
        progress: called with a text and the share that is done.
        **options: as for `fused_network`.
    """
    samples: list[FusedNetwork] = []
    for number, size in enumerate(sizes):
        if samples and stopping():
            break
        told = part_of(progress, number, len(sizes), f" at {size}")
        samples.append(fused_network(linked, two_level(size), progress=told, **options))
    return FusedCurve(samples=tuple(samples))


def fused_network(
    linked: LinkedModel,
    machine: Machine,
    *,
    time_limit: TimeInput = 60.0,
    method: str | None = None,
    progress: Tell | None = None,
    **options: Any,
) -> FusedNetwork:
    """Solve the layers of a model one by one and its chains, and choose which chains are fused.

    Args:
        linked: the model with its chains.
        machine: of one level.
        time_limit: seconds per layer or chain.
        method: of the layers; None for `iooub`, or `mopt` if layers have implicit padding. It minimises loads and
            stores, as fused mappings do, if it knows them: against layers that waste words fusion would seem to pay.
        progress: called with a text and the share that is done.
        **options: of the layers, as for `solve_network`.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if a layer does not fit.
        LimitError: if a layer has no mapping when its time is over.
    """
    layers = Network(name=linked.name, layers=linked.model.workloads)
    method = _fewest_words(layers, machine) if method is None else str(choose("method", method, METHODS))
    sums = solve_network(
        layers,
        machine,
        method=method,
        objective=TRAFFIC.name if TRAFFIC.name in METHODS[method].minimises(machine) else None,
        time_limit=time_limit,
        progress=progress,
        **options,
    )
    left: dict[str, list[int]] = {}
    for each in linked.unlinked:
        left.setdefault(each.reason, []).append(each.product)
    chains: list[FusedChain] = []
    late = sums.limited
    for number, chain in enumerate(linked.chains):
        if progress is not None:
            progress("solving chains", Share.counted(number, len(linked.chains)))
        try:
            found, was_late = _solved(chain, sums.view, machine, time_limit)
        except (InputError, InfeasibleError, LimitError) as error:
            left.setdefault(str(error), []).extend(first for first, _ in chain.pairs)
        else:
            chains.append(found)
            late = late or was_late
    taken = heaviest_matching(
        (first, second, each.saved_words) for each in chains for first, second in each.chain.pairs
    )
    return FusedNetwork(
        linked=linked,
        sums=sums,
        chains=tuple(
            replace(each, fused=tuple(pair for pair in each.chain.pairs if pair[0] in taken)) for each in chains
        ),
        left=tuple(LeftProducts(products=tuple(products), reason=reason) for reason, products in left.items()),
        limited=late,
    )


def _fewest_words(layers: Network, machine: Machine) -> str:
    """The method that finds the fewest words of all layers."""
    padded = any(layer.padding is Padding.IMPLICIT for layer in layers.layers)
    return usual_methods(machine, TRAFFIC.name, padded=padded)[0]


def _solved(chain: LayerChain, view: NetworkView, machine: Machine, time_limit: TimeInput) -> tuple[FusedChain, bool]:
    """A chain with the best mapping of both products, and whether it reached the time limit.

    Raises:
        InputError: if chains of its kind are not solved.
        InfeasibleError: if nothing fits.
        LimitError: if it is too large, or somebody asked to stop.
    """
    alone = {share.workload: share.traffic_words // share.count for share in shares_apart(view)}
    if stopping() or not alone.keys() >= set(chain.layers):
        raise LimitError(INTERRUPTED)
    family_of(chain.workload)
    answer = solve(chain.workload, machine=machine, method="fused", time_limit=time_limit)
    unit = chain.workload.word_bits // view.total.word_bits
    between = chain.workload.statements[0].output
    out_and_in = 2 * chain.workload.weight(between) * between.footprint(chain.workload.extents)
    found = FusedChain(
        chain=chain,
        apart_words=sum(alone[name] for name in chain.layers),
        fused_words=unit * int(answer.exact),
        stays=sum(each.words for each in answer.boundaries if each.tensor == between.name) < out_and_in,
        floor_words=0 if answer.bound is None else unit * int(answer.bound.value),
    )
    return found, answer.found.late


def heaviest_matching(links: Iterable[tuple[int, int, int]]) -> frozenset[int]:
    """Links of products that save most together and share no product, by the first product of each.

    No link leads back, and each product begins one at most: they are a forest, where one pass finds the matching.

    Args:
        links: (first product, second product, words saved); a product is the first of one link at most, and comes
            before the second one.
    """
    gains: dict[int, tuple[int, int]] = {}  # by second product: what taking a link saves at most, and its first product
    for first, second, saved in sorted(links):
        gain = saved - gains.get(first, (0, 0))[0]  # no link to the first product is taken then
        if gain > gains.get(second, (0, 0))[0]:
            gains[second] = gain, first
    taken: set[int] = set()
    for second in sorted(gains, reverse=True):
        if second not in taken:
            taken.add(gains[second][1])
    return frozenset(taken)
