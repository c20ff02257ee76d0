"""One queue: who runs, who waits in which order; what is not the viewer's is a count."""

import re

import pytest
from django.utils import timezone

from kube import edits
from kube.catalog import StopPolicy
from queues.models import (
    Apply,
    Eviction,
    Lifetime,
    ObjectResult,
    ObservedObject,
    PlanObject,
    QueueOrder,
    Workload,
)
from tenants.models import Entry, Queue
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, plans, seen

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


def test_a_queue_that_is_being_deleted_does_not_look_well(lab, client):
    seen.lab(lab.cluster)
    row = ObservedObject.objects.get(kind="ClusterQueue", name="nlp-train")
    ObservedObject.objects.filter(pk=row.pk).update(body=row.body | {"deleting": True})
    client.force_login(lab.bob)
    said = pages.words(client.get(URL))

    assert "The cluster takes no jobs here now." in said
    assert "Being removed" in said
    assert "In the cluster" not in said
    assert "starts at once" not in said


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


# --- how the line moves ------------------------------------------------------------------------------


def ordered(lab, **facts):
    now = timezone.now()
    values = {"queue": "nlp-train", "strategy": "BestEffortFIFO", "placed_at": now, "pending": 4}
    return QueueOrder.objects.create(cluster=lab.cluster, **(values | facts))


ORDERS = [
    ({}, "A job further back starts first when it fits"),
    ({"strategy": "StrictFIFO"}, "Strictly in order"),
    ({}, "The highest priority comes first, then the oldest."),
    ({"by_use": True}, "Entries that used little of late come first"),
    ({"source": "kueue", "checked_at": 1}, "Kueue lists the same places."),
    ({"differing": 3, "checked_at": 1}, "The places are an estimate"),
    ({}, "were not compared lately"),
]


@pytest.mark.parametrize(("facts", "words"), ORDERS)
def test_how_the_line_moves_and_how_sure_it_is(full, client, facts, words):
    if "checked_at" in facts:
        facts = facts | {"checked_at": timezone.now()}
    ordered(full, **facts)
    client.force_login(full.bob)

    assert words in pages.words(client.get(URL))


def test_places_that_became_an_estimate_are_told(full, client):
    row = ordered(full)
    client.force_login(full.bob)
    stamp = pages.stamp(client, URL)

    row.differing, row.checked_at = 2, timezone.now()
    row.save(update_fields=["differing", "checked_at"])

    assert pages.changed(client, URL, stamp)


# --- shut, and what happened -----------------------------------------------------------------------


def shut(policy):
    row = ObservedObject.objects.get(name="nlp-train")
    row.body["spec"]["stopPolicy"] = policy
    row.save(update_fields=["body"])


@pytest.mark.parametrize(
    ("policy", "said"),
    [("Hold", "This queue is closed"), ("HoldAndDrain", "This queue is closed and emptied")],
)
def test_a_queue_that_is_held_says_so_first(full, client, policy, said):
    shut(policy)
    client.force_login(full.bob)
    words = pages.words(client.get(URL))

    assert words.index(said) < words.index("24 of 16 held")
    shut("None")
    assert said not in pages.words(client.get(URL))


def lost_its_place(lab, name, namespace="nlp", **more):
    now = timezone.now()
    life = Lifetime.objects.create(
        cluster=lab.cluster, uid=f"life-{name}", namespace=namespace, name=name, job_name=name,
        created_at=now, first_seen_at=now, noted_at=now, resource_version="1",
    )  # fmt: skip
    values = {
        "number": 1, "attempt": 1, "at": now, "quality": "exact", "cause": "preempted_reclaim",
        "queue": "nlp-train", "priority": 1000, "devices": 8, "lost_seconds": 7200,
        "message": f"for {MARK}", "preemptor_path": f"/{MARK}",
    }  # fmt: skip
    return Eviction.objects.create(cluster=lab.cluster, lifetime=life, **(values | more))


def test_who_lost_a_place_and_why(full, client):
    lost_its_place(full, "train-7", checkpoint_at=timezone.now())
    lost_its_place(full, f"{MARK}-9", namespace="x", lost_seconds=0)
    lost_its_place(full, "elsewhere", queue="cv-train")
    client.force_login(full.bob)
    answer = client.get(f"{URL}?show=events")
    said = pages.words(answer)

    assert (
        "train-7 lost its place (8 GPUs) because another queue took back what it had lent" in said
    )
    assert "lost since its last checkpoint: 2 GPU h" in said
    assert "A job that is not shown to you by name lost its place" in said
    assert "elsewhere" not in said
    pages.nothing_of_others(answer)


@pytest.mark.parametrize("who", ["alice", "frank"])
def test_what_happened_names_nobody_elses_job(full, client, who):
    lost_its_place(full, f"{MARK}-9", namespace="x")
    client.force_login(getattr(full, who))

    pages.nothing_of_others(client.get(f"{URL}?show=events"))


def test_the_platform_reads_whose_job_it_was(full, client):
    lost_its_place(full, f"{MARK}-9", namespace="x", cause="something_new")
    client.force_login(full.erin)

    assert f"{MARK}-9 lost its place (8 GPUs)" in pages.words(client.get(f"{URL}?show=events"))


def written(lab, asked_by, **facts):
    plan = plans.planned(
        plans.asked(lab)
        if asked_by == "lead"
        else plans.proposed(lab, [edits.SetStopPolicy(queue="nlp-train", policy=StopPolicy.HOLD)])
    )
    changes = [
        {"path": "spec.resourceGroups[0].flavors[a100].resources[cpu].nominalQuota",
         "before": "128", "after": "160"},
        {"path": "spec.resourceGroups[0].flavors[a100].resources[nvidia.com/gpu].nominalQuota",
         "before": "16", "after": "20"},
    ]  # fmt: skip
    PlanObject.objects.filter(plan=plan, kind="ClusterQueue", name="nlp-train").update(
        changes=changes
    )
    apply = Apply.objects.create(
        plan=plan, request=plan.request, cluster=lab.cluster, revision=lab.cluster.revisions.first()
    )
    row = plan.planned.get(kind="ClusterQueue", name="nlp-train")
    values = {"state": "applied", "at": timezone.now()} | facts
    return ObjectResult.objects.create(apply=apply, object=row, **values)


def test_what_was_written_and_who_asked(full, client):
    made = written(full, "lead")
    client.force_login(full.bob)
    answer = client.get(f"{URL}?show=events")
    said = pages.words(answer)

    assert "Revision 1 was written: a100 · nvidia.com/gpu · quota 16 → 20" in said
    assert "asked for by Alice" in said
    assert "160" not in said
    assert f"/requests/{made.apply.request_id}/" in pages.text(answer)


def test_a_change_of_the_catalog_has_no_author_for_members(full, client):
    made = written(full, "administrator", state="conflict")
    client.force_login(full.bob)
    answer = client.get(f"{URL}?show=events")

    assert "Revision 1 was not written here: owned by another writer" in pages.words(answer)
    assert f"/requests/{made.apply.request_id}/" not in pages.text(answer)
    client.force_login(full.dave)
    assert f"/requests/{made.apply.request_id}/" in pages.text(client.get(f"{URL}?show=events"))


def test_nothing_happened_yet(full, client):
    client.force_login(full.bob)

    assert "Nothing yet" in pages.words(client.get(f"{URL}?show=events"))


def test_events_come_page_by_page(full, client):
    """Many of them in one second, and both kinds mixed."""
    at = timezone.now()
    for number in range(70):
        lost_its_place(full, f"job-{number:02}", at=at)
    written(full, "lead", at=at)
    client.force_login(full.bob)
    found, url = [], f"{URL}?show=events"
    while url:
        text = pages.text(client.get(url))
        found += re.findall(r"<b>(job-\d\d)</b>|(Revision) 1 was", text)
        after = re.search(r'rel="next" href="([^"]+)"', text)
        url = f"{URL}{after[1].replace('&amp;', '&')}" if after else ""

    assert len(found) == len(set(found)) == 71


@pytest.mark.parametrize("after", ["x", "%00", "WyJldmVudCIsIngiLCJ3cml0dGVuIiwxXQ", "a" * 2000])
def test_a_cursor_made_by_hand_gives_the_first_page(full, client, after):
    lost_its_place(full, "train-7")
    client.force_login(full.bob)

    assert "train-7" in pages.text(client.get(f"{URL}?show=events&after={after}"))


@pytest.mark.parametrize("number", [1, 30])
def test_queries_of_what_happened(full, client, number):
    for each in range(number):
        lost_its_place(full, f"job-{each}")
    written(full, "lead")
    client.force_login(full.bob)
    with counted("queues: queue, what happened"):
        client.get(f"{URL}?show=events")
