"""The commands of ``spgraph``, one module each."""
