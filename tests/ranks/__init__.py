"""Programs that `test_ranks` starts with ``mpiexec``; each ends with code 0 if all went as it should."""
