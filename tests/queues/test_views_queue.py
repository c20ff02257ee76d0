"""One queue: who runs, who waits in which order; what is not the viewer's is a count."""

import pytest

from queues.models import ObservedObject, Workload
from tenants.models import Entry, Queue
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, seen

URL = "/c/lab/queues/nlp-train/"


@pytest.fixture
def full(lab):
    """Between two jobs of the team stand two that are not the team's."""
    seen.lab(lab.cluster)
    rows = [("train-1", "nlp"), (MARK, "x"), (f"{MARK}-2", "x"), ("train-2", "nlp")]
    for place, (name, namespace) in enumerate(rows, start=1):
        seen.workload(lab.cluster, name, namespace=namespace, position=place)
    seen.running(lab.cluster, "train-0")
    seen.running(lab.cluster, f"{MARK}-3", namespace="x")
    return lab


def test_order_of_the_queue(full, client):
    client.force_login(full.bob)
    said = pages.words(client.get(URL))

    places = [
        said.index(name) for name in ("train-1", "2 jobs that are not shown to you", "train-2")
    ]
    assert places == sorted(places)
    assert "2\N{EN DASH}3" in said
    assert "1 job that is not shown to you by name, 8 GPUs" in said
    assert "24 of 16 held" in said


@pytest.mark.parametrize("who", ["alice", "bob", "frank"])
def test_names_of_others_stay_with_them(full, client, who):
    client.force_login(getattr(full, who))
    pages.nothing_of_others(client.get(URL))


def test_finance_sees_counts_only(full, client):
    client.force_login(full.frank)
    said = pages.words(client.get(URL))

    assert "4 jobs that are not shown to you by name, 32 GPUs" in said
    assert "2 jobs that are not shown to you by name, 16 GPUs" in said
    assert "train-" not in said.replace("nlp-train", "")


@pytest.mark.parametrize("who", ["dave", "carol", "erin"])
def test_platform_sees_names(full, client, who):
    client.force_login(getattr(full, who))

    assert MARK in pages.text(client.get(URL))


@pytest.mark.parametrize("who", ["grace", "heidi"])
def test_others_find_nothing(full, client, who):
    client.force_login(getattr(full, who))

    assert client.get(URL).status_code == 404


@pytest.mark.parametrize(
    "url", ["/c/lab/queues/nowhere/", "/c/other/queues/nlp-train/", "/c/lab/queues/%00/"]
)
def test_no_such_queue(full, client, url):
    client.force_login(full.dave)

    assert client.get(url).status_code == 404


def test_empty_queue_says_what_that_means(lab, client):
    client.force_login(lab.alice)
    said = pages.words(client.get(URL))

    assert "Nothing waits" in said
    assert "Nothing runs" in said
    assert "main in the namespace nlp" in said
    assert "The cluster was not read yet." in said


def test_queue_without_an_entry(lab, client):
    Entry.objects.all().delete()
    client.force_login(lab.dave)

    assert "No entry leads here" in pages.text(client.get(URL))


def test_cluster_may_hold_any_body(full, client):
    """Half of an object, or nonsense in it, must not break the page."""
    client.force_login(full.dave)
    for body in (
        {},
        {"spec": None, "status": None},
        {"spec": [], "status": "x"},
        seen.queue_body(0, 0),
    ):
        ObservedObject.objects.filter(name="nlp-train").update(body=body)
        assert client.get(URL).status_code == 200


def test_nothing_new_is_not_sent_again(full, client):
    client.force_login(full.bob)
    pages.unchanged(client, URL)
    stamp = pages.stamp(client, URL)

    Workload.objects.filter(job_name="train-2").update(position=1)
    assert pages.changed(client, URL, stamp)


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        seen.workload(lab.cluster, f"train-{each}", position=each + 1)
        seen.running(lab.cluster, f"run-{each}")
    client.force_login(lab.bob)
    with counted("queues: queue"):
        client.get(URL)
    with counted("queues: queue, poll"):
        answer = client.get(URL, headers={"HX-Request": "true"})
    stamp = pages.SEEN.search(pages.text(answer))[1]
    with counted("queues: queue, unchanged"):
        client.get(URL, {"seen": stamp}, headers={"HX-Request": "true"})


def test_asking_is_for_leads(full, client):
    assert Queue.objects.filter(name="nlp-train").exists()
    client.force_login(full.bob)
    assert "requests/new" not in pages.text(client.get(URL))
    client.force_login(full.alice)
    assert "requests/new" in pages.text(client.get(URL))
