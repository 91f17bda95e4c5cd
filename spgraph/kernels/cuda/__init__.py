"""CUDA kernels: `.cuh` files, assembled with an operator into one text per use and compiled at run time."""
