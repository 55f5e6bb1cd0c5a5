"""Emitted code beside the libraries of the field: the same layers, side by side, in rounds."""
