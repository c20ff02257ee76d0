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


#: The pages that people keep open while tens of thousands of jobs move.
OPEN_ALL_DAY = ("queue", "jobs", "job", "tenant")


@pytest.mark.parametrize("page", OPEN_ALL_DAY)
def test_a_page_that_is_open_all_day_asks_little(page):
    """Whole or polled it asks six times at most, and twice when nothing has moved."""
    numbers = {
        name: number
        for name, number in query_counts.agreed().items()
        if name.partition(",")[0] == f"queues: {page}"
    }
    still = {name for name in numbers if name.endswith(", unchanged")}

    assert still
    assert len(numbers) > 2
    assert {name: numbers[name] for name in numbers if numbers[name] > 6} == {}
    assert {name: numbers[name] for name in still if numbers[name] > 2} == {}


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
