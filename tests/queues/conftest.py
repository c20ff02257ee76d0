"""The cast of every test about plans and applies."""

import pytest

from queues.services import looked
from tests import cast


@pytest.fixture
def lab(db):
    """Give the cast inside the test's own transaction."""
    return cast.make()


@pytest.fixture
def committed_lab(transactional_db):
    """Give the cast in committed rows, for threads and other processes."""
    return cast.make()


@pytest.fixture(autouse=True)
def nobody_has_looked():
    """Let a process forget which queues it has marked: each test has a Redis of its own in mind."""
    looked._marked.clear()


@pytest.fixture
def open_networks(settings):
    """Let clusters be connected at any address."""
    settings.CLUSTER_NETWORKS = []
