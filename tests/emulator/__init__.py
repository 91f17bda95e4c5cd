"""A GPU without a GPU: CUDA C++ compiled by g++ (`kernels`), CuPy imitated on host memory (`xp`), both as a device."""
