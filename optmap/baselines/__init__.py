"""What schedules of the literature move: the baselines that mappings and bounds are set beside."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "algorithms": "ALGORITHMS blocked compare_algorithms fft im2col naive product_words winograd",
        "randomized": "RandomizedProduct randomized_bound randomized_tiling",
    },
)
