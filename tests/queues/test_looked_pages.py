"""Who opens a page about a queue leaves a mark in Redis, and nothing in the database."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.services import looked
from tests.queues import seen

HERE = (
    "/c/lab/queues/nlp-train/",
    "/c/lab/jobs/nlp/train-1/",
    "/jobs/",
    "/api/v1/queues/lab/nlp-train/positions/",
    "/api/v1/jobs/lab/nlp/train-1/why/",
)


@pytest.fixture
def full(lab):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1", position=1)
    looked._redis(looked.settings.REDIS_URL).delete(looked._key(lab.cluster.pk))
    return lab


@pytest.mark.parametrize("url", HERE)
def test_a_page_marks_the_queue_that_it_shows(full, client, url):
    client.force_login(full.bob)
    with CaptureQueriesContext(connection) as said:
        assert client.get(url).status_code == 200
    assert looked.looked_at(full.cluster.pk) == {"nlp-train"}
    statements = [each["sql"].lstrip("(") for each in said]
    assert [each for each in statements if not each.startswith("SELECT")] == []


@pytest.mark.parametrize("url", HERE[:2] + HERE[3:])
def test_who_may_not_see_a_queue_marks_nothing(full, client, url):
    client.force_login(full.grace)
    assert client.get(url).status_code == 404
    assert looked.looked_at(full.cluster.pk) == frozenset()


def test_running_jobs_need_no_place(full, client):
    seen.Workload.objects.update(state="running")
    client.force_login(full.bob)
    assert client.get("/jobs/").status_code == 200
    assert looked.looked_at(full.cluster.pk) == frozenset()


def test_a_mark_that_stands_is_not_set_again(full, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(looked.time, "monotonic", lambda: clock[0])
    place = (full.cluster.pk, "nlp-train")
    looked.look([place])
    looked._redis(looked.settings.REDIS_URL).delete(looked._key(full.cluster.pk))
    clock[0] += looked.AGAIN - 1
    looked.look([place])
    assert looked.looked_at(full.cluster.pk) == frozenset()
    clock[0] += 2
    looked.look([place, (full.cluster.pk, "other")])
    assert looked.looked_at(full.cluster.pk) == {"nlp-train", "other"}
