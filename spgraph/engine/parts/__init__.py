"""The engine's functions on vectors and matrices in parts: the same names, the same arguments.

Each runs the one-device function on every part, and moves between parts what that needs, through `spgraph.exchange`
alone. All processes of a program call them at the same places.
"""
