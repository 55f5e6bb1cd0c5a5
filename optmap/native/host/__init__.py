"""The machine at hand: the system's tables of cores and caches, and what compiled probes measure of them."""
