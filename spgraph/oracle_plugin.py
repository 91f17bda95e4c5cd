"""The pytest fixture ``oracle``, offered to every test suite in an environment where spgraph is installed.

>>> def test_my_algorithm(oracle):                        # doctest: +SKIP
...     oracle.check(my_algorithm, my_matrix, source=0)
"""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """`spgraph.oracle`; a test that asks for it is skipped, saying why, where python-graphblas is missing."""
    from spgraph import _oracle_text, oracle

    if not oracle.available():
        pytest.skip(_oracle_text.MISSING)
    return oracle
