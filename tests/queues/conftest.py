"""The cast of every test about plans and applies."""

import pytest

from tests import cast


@pytest.fixture
def lab(db):
    """Give the cast inside the test's own transaction."""
    return cast.make()


@pytest.fixture
def committed_lab(transactional_db):
    """Give the cast in committed rows, for threads and other processes."""
    return cast.make()
