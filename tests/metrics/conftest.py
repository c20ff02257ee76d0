"""A real Prometheus with a history of one hour, for every test of a worker."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from costs.models import MetricsSource
from costs.prometheus import Place, Prometheus
from costs.services.harvest import ask
from tests import cast
from tests.metrics.server import Running, prometheus
from tests.metrics.story import EVERY, JOB, STORY, story


@pytest.fixture
def lab(db):
    """Give the cast inside the test's own transaction."""
    return cast.make()


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Running]:
    """Return a server that knows the story, and is scraping nothing."""
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(folder, data=story().write(folder)) as found:
        yield found


@pytest.fixture
def place(server):
    return Place(server=server.server, ca_pem=server.ca_pem, allowed=lambda _: True)


@pytest.fixture
def asking(place):
    with Prometheus(place) as found:
        yield found


@pytest.fixture
def source():
    """Return a source as it is after a good test."""
    return MetricsSource(server="", job=JOB, interval=EVERY)


@pytest.fixture
def asked(asking, source):
    return ask(asking, source, STORY)


@pytest.fixture
def told():
    """Return a function that gives the use of a pod, added up over its devices."""

    def find(found, pod, **more):
        named = [
            use for who, use in found.items()
            if who.pod == pod and all(getattr(who, key) == value for key, value in more.items())
        ]  # fmt: skip
        assert len(named) == 1, [*found]
        return named[0]

    return SimpleNamespace(use=find)
