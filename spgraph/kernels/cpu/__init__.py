"""CPU kernels: plain Python functions, specialised per use and compiled by Numba."""
