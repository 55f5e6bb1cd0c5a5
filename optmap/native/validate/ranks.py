"""How well one number per sample ranks another: correlation of ranks, and what trusting it loses."""

from __future__ import annotations

from collections.abc import Sequence

from optmap.errors import InputError

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
    _vary(predicted, measured)
    if not predicted or count < 1:
        raise InputError(f"the best {count} of {len(predicted)} samples are none; sample more")
    first = sorted(range(len(predicted)), key=predicted.__getitem__)[:count]
    return 1 - min(measured) / min(measured[at] for at in first)


def _vary(first: Sequence[float], second: Sequence[float]) -> bool:
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} numbers cannot be ranked together; give one of each per sample"
        )
    return len(set(first)) > 1 and len(set(second)) > 1
