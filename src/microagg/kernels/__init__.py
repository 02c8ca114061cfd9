"""Compiled loops. This room knows NumPy and Numba only."""
