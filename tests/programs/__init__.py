"""Real programs in python-graphblas's language. Each takes the engine module as `gb`, so that one text runs
under ``import graphblas as gb`` and under ``import spgraph as gb``."""
