"""optmap: optimization modelling of data movement in tensor computations."""

__version__ = "0.1.0"
