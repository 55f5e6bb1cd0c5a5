"""The system's C compiler, and what it builds: found, called, kept by digest."""
