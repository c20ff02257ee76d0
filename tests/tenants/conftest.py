import pytest

from tenants.signals import work_ready
from tests import cast


@pytest.fixture
def people(db):
    return cast.make()


@pytest.fixture
def people_for_threads(transactional_db):
    return cast.make()


@pytest.fixture
def woken():
    """Give the clusters for whose work somebody was woken."""
    seen = []

    def note(sender, *, cluster_id, **_):
        seen.append(cluster_id)

    work_ready.connect(note, weak=False)
    yield seen
    work_ready.disconnect(note)
