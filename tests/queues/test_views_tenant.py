"""A tenant's home: the cluster's numbers, the waiting jobs, the open requests."""

import pytest

from queues.models import ObservedObject, Workload
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, plans, seen

URL = "/t/nlp/"


@pytest.fixture
def full(lab):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1", position=1)
    seen.running(lab.cluster, "train-0")
    seen.workload(lab.cluster, MARK, namespace="cv", queue="cv-train")
    return lab


def test_first_the_quota(full, client):
    client.force_login(full.alice)
    said = pages.words(client.get(URL))

    assert "24 of 16 held" in said
    assert "8 borrowed" in said
    assert "revision 1" in said
    assert "In the cluster" in said
    assert "train-1" in said


@pytest.mark.parametrize(
    ("who", "asks", "jobs"),
    [
        ("alice", True, True), ("bob", False, True), ("frank", False, False),
        ("dave", True, True), ("carol", False, True), ("erin", False, True),
    ],
)  # fmt: skip
def test_what_each_role_sees(full, client, who, asks, jobs):
    client.force_login(getattr(full, who))
    answer = client.get(URL)

    assert answer.status_code == 200
    assert ("/t/nlp/requests/new" in pages.text(answer)) == asks
    assert ("train-1" in pages.text(answer)) == jobs
    if who in ("alice", "bob", "frank"):
        pages.nothing_of_others(answer)


@pytest.mark.parametrize("who", ["grace", "heidi"])
def test_others_find_nothing(full, client, who):
    client.force_login(getattr(full, who))

    assert client.get(URL).status_code == 404


def test_before_the_cluster_was_read(lab, client):
    client.force_login(lab.alice)
    said = pages.words(client.get(URL))

    assert "16 GPUs of a100 are agreed; the cluster does not show them." in said
    assert "not in the cluster yet" in said
    assert "Nothing waits" in said
    assert "No open request" in said


def test_cluster_that_differs_is_marked(full, client):
    ObservedObject.objects.filter(name="nlp-train").update(in_sync=False)
    client.force_login(full.alice)

    assert "Drifted" in pages.text(client.get(URL))


def test_queue_out_of_order_says_the_clusters_words(full, client):
    row = ObservedObject.objects.get(name="nlp-train")
    row.body["status"]["conditions"][0] |= {
        "status": "False",
        "message": "Can't admit: <no flavor>",
    }
    row.save(update_fields=["body"])
    client.force_login(full.alice)

    assert "Can&#x27;t admit: &lt;no flavor&gt;" in pages.text(client.get(URL))


def test_open_request_is_listed(full, client):
    made = plans.asked(full)
    client.force_login(full.alice)

    assert f"/requests/{made.pk}/" in pages.text(client.get(URL))


def test_tenant_without_a_queue(lab, client):
    lab.nlp.__class__.objects.create(slug="empty", display_name="Empty")
    client.force_login(lab.dave)

    assert "No quota yet" in pages.text(client.get("/t/empty/"))


@pytest.mark.parametrize("slug", ["NLP", "nowhere", "n" * 300, "%00", ".."])
def test_no_such_tenant(lab, client, slug):
    client.force_login(lab.dave)

    assert client.get(f"/t/{slug}/").status_code == 404


def test_nothing_new_is_not_sent_again(full, client):
    client.force_login(full.alice)
    pages.unchanged(client, URL)
    stamp = pages.stamp(client, URL)

    row = ObservedObject.objects.get(name="nlp-train")
    row.body = seen.queue_body(16, 8)
    row.save(update_fields=["body"])
    assert pages.changed(client, URL, stamp)


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        seen.workload(lab.cluster, f"train-{each}", position=each + 1)
    client.force_login(lab.alice)
    with counted("queues: tenant"):
        client.get(URL)
    with counted("queues: tenant, poll"):
        answer = client.get(URL, headers={"HX-Request": "true"})
    stamp = pages.SEEN.search(pages.text(answer))[1]
    with counted("queues: tenant, unchanged"):
        client.get(URL, {"seen": stamp}, headers={"HX-Request": "true"})


def test_at_most_ten_waiting_jobs(lab, client):
    for each in range(12):
        seen.workload(lab.cluster, f"train-{each}", position=each + 1)
    client.force_login(lab.alice)
    answer = client.get(URL)

    assert Workload.objects.count() == 12
    assert "train-9" in pages.text(answer)
    assert "train-10" not in pages.text(answer)
