"""Every answer of the API says how old it is, and is sent again only when it says something else."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from queues.models import Stream, Workload
from queues.services import looked
from tenants.models import Entry, Membership, Queue, Request
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import seen
from tests.queues.api import LOOKED_AT, ask, day_of_both

QUEUE = "queues/{cluster}/{name}/"


@pytest.fixture
def full(lab):
    day_of_both(lab)
    return lab


@pytest.fixture
def bob(full, client):
    client.force_login(full.bob)
    return client


def test_every_answer_tells_how_old_it_is(bob):
    body = ask(bob, "jobs/", "jobs/")
    heard = min(Stream.objects.filter(kind="Workload").values_list("alive_at", flat=True))

    assert datetime.fromisoformat(body["observed_at"]) == heard
    assert body["observed_at"].endswith("Z")
    assert body["age_seconds"] >= 1
    assert (body["lost_since"], [each["cluster"] for each in body["clusters"]]) == (None, ["lab"])


def test_lost_line_is_told(bob):
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    Stream.objects.update(lost_since=since)

    assert ask(bob, "queues/lab/nlp-train/", QUEUE)["lost_since"] == "2026-01-02T03:04:05Z"


def test_cluster_that_was_never_heard_has_no_age(bob):
    Stream.objects.all().delete()
    body = ask(bob, "jobs/", "jobs/")

    assert (body["observed_at"], body["age_seconds"]) == (None, None)


@pytest.mark.parametrize("url", LOOKED_AT)
def test_who_has_the_answer_gets_304(bob, url):
    first = bob.get(f"/api/v1/{url}")
    Stream.objects.update(alive_at=timezone.now())
    again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Observed-At"] > first["Observed-At"]
    assert first["Cache-Control"] == "private, no-cache"
    assert {"Cookie", "Accept-Language"} <= set(first["Vary"].split(", "))


@pytest.mark.parametrize(
    "url", [url for url in LOOKED_AT if url.split("/")[0] in ("jobs", "queues")]
)
def test_answer_of_another_generation_is_sent(full, bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Workload.objects.filter(job_name="train-1").update(position=9, devices=7)
    Queue.objects.update(stop_policy="Hold")

    assert bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag}).status_code == 200


def test_etag_is_personal(full, bob):
    tag = bob.get("/api/v1/clusters/lab/")["ETag"]
    other = Client()
    other.force_login(full.alice)

    assert other.get("/api/v1/clusters/lab/", headers={"If-None-Match": tag}).status_code == 200


def test_head_is_get_without_the_body(bob):
    answer = bob.head("/api/v1/jobs/")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["ETag"] == bob.get("/api/v1/jobs/")["ETag"]


CHEAP = ["jobs/", "queues/lab/nlp-train/", "queues/lab/nlp-train/positions/", "tenants/nlp/"]


@pytest.mark.parametrize("url", CHEAP)
def test_what_has_not_moved_is_not_read(bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    with counted(f"api: {url.replace('lab/nlp-train', '...')}, unchanged"):
        again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})

    assert (again.status_code, again["ETag"]) == (304, tag)


@pytest.mark.parametrize("url", CHEAP)
def test_what_moved_and_reads_the_same_is_not_sent_again(full, bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Workload.objects.filter(job_name="train-1").update(raw="said in other words")
    again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})

    assert again.status_code == 304
    assert again["ETag"] != tag


@pytest.mark.parametrize("url", CHEAP)
def test_other_roles_see_another_generation(full, bob, url):
    """What was shown by name must not be taken for still good when the role is gone."""
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Membership.objects.filter(user=full.bob).update(role="finance")

    answer = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})
    assert answer.status_code == (304 if url == "queues/lab/nlp-train/" else 200)


@pytest.mark.parametrize(
    "tag", ['"x"', 'W/"<script>"', "nonsense", '"' + "0" * 41 + '"', 'W/"' + "0" * 20 + '"']
)
def test_tag_of_somebody_else_is_not_repeated(bob, tag):
    answer = bob.get("/api/v1/queues/lab/nlp-train/", headers={"If-None-Match": tag})

    assert answer.status_code == 200
    assert answer["ETag"] != tag


@pytest.mark.parametrize(
    "url",
    [
        "jobs/",
        "jobs/lab/nlp/train-1/",
        "jobs/lab/nlp/train-1/why/",
        "queues/lab/nlp-train/positions/",
    ],
)
def test_a_look_at_a_place_has_it_checked(full, bob, url):
    assert looked.looked_at(full.cluster.pk) == set()

    bob.get(f"/api/v1/{url}")

    assert looked.looked_at(full.cluster.pk) == {"nlp-train"}


# --- queries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("url", LOOKED_AT)
def test_queries_do_not_grow(lab, client, url, number):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1")
    for each in range(number):
        seen.workload(lab.cluster, f"more-{each}", position=each + 1)
        seen.workload(lab.cluster, f"{MARK}-{each}", namespace="cv", position=each + 50)
    client.force_login(lab.bob)
    with counted(f"api: {url.replace('lab/nlp/train-1', '...').replace('lab/nlp-train', '...')}"):
        assert client.get(f"/api/v1/{url}").status_code == 200


@pytest.mark.parametrize("number", [1, 12])
def test_queries_do_not_grow_with_queues_and_requests(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        queue = Queue.objects.create(
            cluster=lab.cluster, tenant=lab.nlp, name=f"nlp-{each}", purpose="training",
            strategy="BestEffortFIFO", stop_policy="None", spec={},
        )  # fmt: skip
        Entry.objects.create(queue=queue, cluster=lab.cluster, namespace="nlp", name=f"e-{each}")
        Request.objects.create(
            cluster=lab.cluster, tenant=lab.nlp, kind="quota", author=lab.alice, reason="x", state="applied",
            key=f"key-{each}-0123456789abcdef", edits=[],
        )  # fmt: skip
    client.force_login(lab.alice)
    for url in ("queues/", "tenants/nlp/", "requests/"):
        with counted(f"api: {url}"):
            client.get(f"/api/v1/{url}")
