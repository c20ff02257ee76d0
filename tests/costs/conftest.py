"""The cast, for tests about what tenants pay."""

import pytest

from tests import cast


@pytest.fixture
def lab(db):
    """Give the cast inside the test's own transaction."""
    return cast.make()


@pytest.fixture
def committed_lab(transactional_db):
    """Give the cast in committed rows, for threads."""
    return cast.make()
