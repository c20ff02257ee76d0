import pytest

from tests import cast


@pytest.fixture
def people(db):
    return cast.make()


@pytest.fixture
def people_for_threads(transactional_db):
    return cast.make()
