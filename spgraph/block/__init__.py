"""One device's rows: how vectors and matrices are stored."""

from spgraph.block.matrix import MatrixBlock
from spgraph.block.vector import VectorBlock

__all__ = ["MatrixBlock", "VectorBlock"]
