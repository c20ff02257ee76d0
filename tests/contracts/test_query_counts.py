"""The machinery itself, and the pages that belong to no app."""

import pytest
from django.contrib.auth import get_user_model

from tests import query_counts
from tests.query_counts import counted

pytestmark = pytest.mark.django_db


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    file = tmp_path / "counts.json"
    file.write_text('{"known": 1}')
    monkeypatch.setattr(query_counts, "FILE", file)
    return file


def run(times: int) -> None:
    for _ in range(times):
        get_user_model().objects.count()


def test_readiness_asks_twice(client):
    with counted("portal: readyz"):
        client.get("/readyz")


def test_accepts_the_agreed_number(scratch):
    with counted("known"):
        run(1)


@pytest.mark.parametrize(("name", "times"), [("known", 2), ("known", 0), ("new", 1)])
def test_refuses_another_number_and_shows_the_queries(scratch, name, times):
    with pytest.raises(AssertionError, match=f"{name}: {times} queries"), counted(name):
        run(times)


def test_rewrites_the_number_when_asked(scratch, monkeypatch):
    monkeypatch.setenv("UPDATE_QUERY_COUNTS", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    with counted("new"):
        run(3)

    assert query_counts.agreed() == {"known": 1, "new": 3}


def test_refuses_to_rewrite_from_several_processes(scratch, monkeypatch):
    monkeypatch.setenv("UPDATE_QUERY_COUNTS", "1")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")

    with pytest.raises(RuntimeError, match="one process"), counted("new"):
        run(1)
