"""How well one number per sample ranks another: correlation of ranks, and what trusting it loses.

The best of many measured times is partly the luckiest one: a loss against it is too large, the more so the more samples
there are and the more others disturb. Where the best is chosen by half of the rounds and times are of the other half,
luck of the choice is none of the times, and the loss is against what anybody could have chosen (`crossed_loss`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optmap.base.errors import InputError

SWEEPS = 10
"""Of a median polish; it hardly changes after a few."""
TOPS = (1, 2, 5)
"""Numbers of best predicted samples of which the best counts (MOpt section 9)."""


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's coefficient, ties with their mean rank; None where one of the two does not vary.

    Raises:
        InputError: if the two have different lengths.
    """
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic) if _vary(first, second) else None


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b; None and errors as for `spearman`."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic) if _vary(first, second) else None


def polished(rounds: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """One time per sample from times that were taken in rounds: median polish (Tukey 1977).

    A time is taken to be the sample's own, times what the machine was like in that round: whatever slows a whole round
    slows no sample, and a single burst does not count. The shortest time, on a machine that others use, is of the
    sample that happened to have a quiet moment.

    Args:
        rounds: positive times per sample and round, of all samples in the same rounds.

    Returns:
        Per sample its time in the quietest round.
    """
    times = np.log(np.array(rounds, dtype=float))
    own = np.median(times, axis=1)
    for _ in range(SWEEPS):
        common = np.median(times - own[:, None], axis=0)
        own = np.median(times - common, axis=1)
    return tuple(float(each) for each in np.exp(own + common.min()))


def crossed_loss(predicted: Sequence[float], rounds: Sequence[Sequence[float]], count: int) -> float | None:
    """`top_loss` with the best samples chosen by every other round, and times of the rounds in between.

    So both the best of all and the best of the `count` first are chosen by times that play no part in the loss, which
    may then be negative; both halves choose in turn, and the mean counts.

    Args:
        predicted: cost per sample, least is best.
        rounds: as for `polished`.
        count: of samples that are run.

    Returns:
        None if there are no two rounds.

    Raises:
        InputError: as for `top_loss`.
    """
    first = _first(predicted, rounds, count)
    if len(rounds[0]) < 2:
        return None
    halves = [polished([times[start::2] for times in rounds]) for start in (0, 1)]
    losses = []
    for choosing, times in (halves, halves[::-1]):
        best, chosen = (min(among, key=choosing.__getitem__) for among in (range(len(rounds)), first))
        losses.append(1 - times[best] / times[chosen])
    return sum(losses) / 2


def top_loss(predicted: Sequence[float], measured: Sequence[float], count: int) -> float:
    """Share of the best performance that is lost if only the best predicted samples are run.

    MOpt section 9: the best performance among the `count` samples that the model puts first, over the best of all;
    performance is one over time. Of samples with the same prediction the earlier ones count as better.

    Args:
        predicted: cost per sample, least is best.
        measured: time per sample, positive, in any unit.
        count: of samples that are run.

    Returns:
        0 if the best of all is among them, near 1 if they are far slower.

    Raises:
        InputError: if the two have different lengths, or there is no sample.
    """
    first = _first(predicted, measured, count)
    return 1 - min(measured) / min(measured[at] for at in first)


def _first(predicted: Sequence[float], measured: Sequence[object], count: int) -> list[int]:
    """Places of the best predicted samples."""
    _check(predicted, measured)
    if not predicted or count < 1:
        raise InputError(f"the best {count} of {len(predicted)} samples are none; sample more")
    return sorted(range(len(predicted)), key=predicted.__getitem__)[:count]


def _vary(first: Sequence[float], second: Sequence[float]) -> bool:
    _check(first, second)
    return len(set(first)) > 1 and len(set(second)) > 1


def _check(first: Sequence[object], second: Sequence[object]) -> None:
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} numbers cannot be ranked together; give one of each per sample"
        )
