"""Misrouted jobs: one line for each mistake; a tenant sees those of its own namespaces."""

import pytest
from django.utils import timezone

from queues.models import Workload
from tenants.models import Entry, Queue
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, seen

URL = "/misrouted/"
LOST = {"stage": "routing", "code": "entry_missing", "queue": "", "never": True}


@pytest.fixture
def full(lab):
    seen.lab(lab.cluster)
    for number in range(3):
        seen.workload(lab.cluster, f"train-{number}", entry="mian", **LOST)
    seen.workload(lab.cluster, MARK, namespace="cv", entry=f"to-{MARK}", **LOST)
    seen.workload(lab.cluster, f"{MARK}-2", namespace="nowhere", entry="main", **LOST)
    seen.workload(lab.cluster, "fine", position=1)
    return lab


def open_(client, who, url=URL):
    client.force_login(who)
    return client.get(url)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_those_of_their_namespaces(full, client, who):
    answer = open_(client, getattr(full, who))
    said = pages.words(answer)

    assert "They name the entry mian, which does not exist in this namespace." in said
    assert "Probably meant: main" in said
    assert "3 jobs, 24 GPUs" in said
    assert "fine" not in said
    pages.nothing_of_others(answer)


@pytest.mark.parametrize("who", ["frank", "heidi"])
def test_who_reads_no_jobs_sees_none(full, client, who):
    answer = open_(client, getattr(full, who))

    assert "No job has lost its way" in pages.words(answer)
    pages.nothing_of_others(answer)


@pytest.mark.parametrize("who", ["dave", "carol", "erin"])
def test_the_platform_sees_all_with_their_tenants(full, client, who):
    said = pages.words(open_(client, getattr(full, who)))

    assert "5 jobs, 40 GPUs" in said
    assert "nowhere" in said
    assert "of no tenant" in said
    assert said.index("the entry mian") < said.index(f"the entry to-{MARK}")


def test_one_tenant_of_many(full, client):
    said = pages.words(open_(client, full.dave, f"{URL}?tenant=nlp"))
    assert "3 jobs, 24 GPUs" in said
    assert f"to-{MARK}" not in said

    for tenant in ("cv", "nobody", "%00", "x" * 300):
        answer = open_(client, full.alice, f"{URL}?tenant={tenant}")
        assert "3 jobs, 24 GPUs" in pages.words(answer)
        pages.nothing_of_others(answer)


def test_names_are_escaped(lab, client):
    evil = "<img src=x onerror=alert(1)>{entry}"
    seen.workload(lab.cluster, "a", entry=evil, **LOST)
    text = pages.text(open_(client, lab.alice))

    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;{entry}" in text


CASES = [
    ({"code": "no_queue_label", "entry": ""}, "They name no entry", "Probably meant: main"),
    ({"code": "entry_missing", "entry": "zzz"}, "the entry zzz", "Probably meant: main"),
    ({"code": "queue_missing", "queue": "gone"}, "leads to the queue gone", "An administrator"),
    (
        {"code": "priority_class_missing", "priority_class": "vip"},
        "the priority vip",
        "a priority that the cluster has",
    ),
    ({"code": "compose_failed"}, "cannot make use of them", "Look at one of the jobs"),
    (
        {"code": "outside_queues", "stage": "", "state": "running"},
        "run without a queue",
        "sent again to an entry",
    ),
]


@pytest.mark.parametrize(("facts", "wrong", "mend"), CASES)
def test_each_mistake_has_its_words(lab, client, facts, wrong, mend):
    seen.workload(lab.cluster, "a", **(LOST | facts))
    said = pages.words(open_(client, lab.alice))

    assert wrong in said
    assert mend in said


def test_held_queues_lead_nobody_astray(lab, client):
    seen.workload(lab.cluster, "a", **(LOST | {"code": "queue_stopped", "queue": "nlp-train"}))

    assert "No job has lost its way" in pages.words(open_(client, lab.alice))


def test_of_several_entries_the_likest_is_named(lab, client):
    queue = Queue.objects.get(name="nlp-train")
    for name in ("training", "evaluation"):
        Entry.objects.create(queue=queue, cluster=lab.cluster, namespace="nlp", name=name)
    seen.workload(lab.cluster, "a", **(LOST | {"entry": "trainig"}))
    assert "Probably meant: training" in pages.words(open_(client, lab.alice))

    Workload.objects.update(entry="something-else")
    said = pages.words(open_(client, lab.alice))
    assert "Probably meant" not in said
    assert "Entries here: evaluation main training" in said


def test_namespace_without_an_entry(lab, client):
    seen.workload(lab.cluster, "a", namespace="empty", **LOST)

    assert "This namespace has no entry at all." in pages.words(open_(client, lab.dave))


def test_an_entry_of_the_cluster_counts_though_the_catalog_lacks_it(lab, client):
    seen.observed(lab.cluster, "LocalQueue", "by-hand", {}, namespace="wild")
    seen.workload(lab.cluster, "a", namespace="wild", entry="by-hnad", **LOST)

    assert "Probably meant: by-hand" in pages.words(open_(client, lab.dave))


def test_many_mistakes_are_cut_and_counted(lab, client):
    now = timezone.now()
    Workload.objects.bulk_create(
        Workload(
            cluster=lab.cluster, uid=f"u{n}", namespace="nlp", name=f"w{n}", job_name=f"w{n}",
            entry=f"entry-{n}", state="waiting", stage="routing", code="entry_missing", devices=1,
            created_at=now, observed_at=now, resource_version="1",
        )
        for n in range(230)
    )  # fmt: skip
    said = pages.words(open_(client, lab.alice))

    assert "230 jobs, 230 GPUs" in said
    assert "Only the 200 largest groups are shown." in said


def test_nothing_new_is_not_sent_again(full, client):
    client.force_login(full.alice)
    pages.unchanged(client, URL)
    stamp = pages.stamp(client, URL)

    Workload.objects.filter(job_name="train-2").update(entry="main", code="quota_short")
    assert pages.changed(client, URL, stamp)


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        seen.workload(lab.cluster, f"train-{each}", **(LOST | {"entry": f"e{each}"}))
    client.force_login(lab.alice)
    with counted("queues: misrouted"):
        client.get(URL)
    with counted("queues: misrouted, poll"):
        client.get(URL, headers={"HX-Request": "true"})
