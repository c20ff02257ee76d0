"""Reads for pages: Kueue's arithmetic, what is old, what is promised, who is named."""

from datetime import timedelta

import pytest
from django.http import QueryDict
from django.utils import timezone

from queues.models import Link, ObservedObject, Stream, Workload
from queues.selectors import clusters, freshness, jobs, queues, room, tenants
from tenants.models import Pool, Queue, Tenant
from tests.cast import MARK
from tests.queues import seen

GPU = ("a100", "nvidia.com/gpu")


def tree(**rows: tuple) -> room.Tree:
    """Build a tree: name -> (nominal, held, parent, limits); a name in capitals is a department."""
    found = []
    for name, (nominal, held, parent, *limits) in rows.items():
        body = seen.queue_body(nominal, held, parent, **(limits[0] if limits else {}))
        kind = "Cohort" if name.isupper() else "ClusterQueue"
        if kind == "Cohort":
            body["spec"]["parentName"] = parent
            body["status"] = {}
        found.append(ObservedObject(kind=kind, name=name, body=body))
    return room.Tree(found)


# --- room -----------------------------------------------------------------------------------------


def test_queue_alone_has_its_own():
    now = tree(a=(16, 4, "")).room("a", GPU)

    assert (now.nominal, now.held, now.borrowed, now.lent) == (16, 4, 0, 0)
    assert (now.borrowable, now.free) == (0, 12)


def test_what_others_leave_can_be_borrowed():
    now = tree(a=(16, 16, "D"), b=(8, 2, "D"), D=(8, 0, "")).room("a", GPU)

    assert now.borrowable == 6 + 8
    assert now.free == 14


def test_borrowing_limit_counts_what_is_borrowed_already():
    now = tree(a=(16, 20, "D", {"borrowingLimit": 6}), b=(32, 0, "D"), D=(0, 0, "")).room("a", GPU)

    assert (now.borrowed, now.borrowable, now.borrowing_limit) == (4, 2, 6)


def test_lending_limit_keeps_the_rest():
    rows = tree(a=(8, 8, "D"), b=(16, 0, "D", {"lendingLimit": 4}), D=(0, 0, ""))

    assert rows.room("a", GPU).borrowable == 4
    assert rows.room("b", GPU).free == 16


def test_lent_is_what_nobody_else_had():
    rows = tree(a=(16, 4, "D"), b=(8, 18, "D"), D=(2, 0, ""))

    # b holds 10 too many: 2 come from the department, 8 from a.
    assert rows.room("a", GPU).lent == 8
    assert rows.room("b", GPU).borrowed == 10
    assert rows.room("a", GPU).free == 4


def test_room_of_a_parent_department():
    rows = tree(
        a=(4, 4, "D"), D=(0, 0, "TOP"), b=(12, 0, "OTHER"), OTHER=(0, 0, "TOP"), TOP=(2, 0, "")
    )

    assert rows.room("a", GPU).borrowable == 14


def test_parent_that_was_never_seen():
    assert tree(a=(4, 4, "D"), b=(4, 0, "D")).room("a", GPU).borrowable == 4


def test_no_line_no_numbers():
    assert tree(a=(4, 4, "")).room("a", ("h100", "nvidia.com/gpu")) is None
    assert tree(a=(4, 4, "")).room("b", GPU) is None


def test_departments_in_a_circle_end():
    now = tree(a=(4, 4, "D"), D=(4, 0, "E"), E=(4, 0, "F"), F=(0, 0, "D")).room("a", GPU)

    assert now.borrowable >= 4


def test_departments_without_end():
    rows = {f"D{n}": (1, 0, f"D{n + 1}") for n in range(3000)}

    assert tree(a=(1, 1, "D0"), **rows).room("a", GPU).borrowable > 0


def test_many_queues_are_quick():
    rows = tree(D=(0, 0, ""), **{f"q{n}": (2, n % 4, "D") for n in range(2000)})
    start = timezone.now()
    for number in range(2000):
        rows.room(f"q{number}", GPU)

    assert timezone.now() - start < timedelta(seconds=10)


@pytest.mark.parametrize("text", ["", "many", "-", "0x8"])
def test_unreadable_amount_is_nothing(text):
    assert room.amount("nvidia.com/gpu", text) == 0


def test_amounts_as_the_portal_counts():
    assert room.amount("cpu", "1500m") == 1500
    assert room.amount("memory", "1Gi") == 2**30
    assert room.amount("memory", "1e400") == 2**63 - 1


# --- freshness ------------------------------------------------------------------------------------


def test_oldest_sign_of_life_counts(lab):
    seen.streams(lab.cluster)
    old = timezone.now() - timedelta(minutes=9)
    Stream.objects.filter(kind="ClusterQueue").update(alive_at=old, error="cut")

    found = freshness.freshness([lab.cluster.pk])[lab.cluster.pk]

    assert (found.at, found.error, found.never) == (old, "cut", False)
    assert freshness.freshness([lab.cluster.pk], freshness.JOBS)[lab.cluster.pk].at > old


def test_kind_that_was_never_heard(lab):
    seen.streams(lab.cluster)
    Stream.objects.filter(kind="Workload").update(alive_at=None)

    assert freshness.freshness([lab.cluster.pk])[lab.cluster.pk].never
    assert freshness.freshness([lab.cluster.pk + 1]) == {}


def test_short_break_is_no_loss(lab):
    seen.streams(lab.cluster, lost_since=timezone.now() - timedelta(seconds=5))
    assert freshness.freshness([lab.cluster.pk])[lab.cluster.pk].lost_since is None

    since = timezone.now() - timedelta(minutes=3)
    Stream.objects.filter(kind="Workload").update(lost_since=since)
    assert freshness.freshness([lab.cluster.pk])[lab.cluster.pk].lost_since == since


# --- clusters ---------------------------------------------------------------------------------------


def test_pools(lab):
    seen.lab(lab.cluster)
    seen.node(lab.cluster, "broken", ready=False)
    found = clusters.cluster_now(lab.cluster).pools

    assert [(each.nodes, each.ready, each.observed) for each in found] == [(5, 4, 32)]
    assert [(each.committed, each.held, each.capacity) for each in found] == [(24, 32, 32)]
    assert found[0].uncommitted == 8


def test_capacity_by_nodes_where_none_is_agreed(lab):
    seen.node(lab.cluster, "gpu-0")
    Pool.objects.update(capacity=None)

    assert clusters.cluster_now(lab.cluster).pools[0].capacity == 8
    assert clusters.cluster_now(lab.cluster).pools[0].uncommitted == 8 - 24


def test_queries_of_the_list_do_not_grow(lab, django_assert_num_queries):
    with django_assert_num_queries(1):
        clusters.cluster_rows(type(lab.cluster).objects.all())
    for number in range(10):
        more = type(lab.cluster).objects.create(slug=f"c{number}", display_name=str(number))
        seen.streams(more)
        Link.objects.create(cluster=more, server="https://10.0.0.1:6443", ca_pem="x")
    with django_assert_num_queries(1):
        rows = clusters.cluster_rows(type(lab.cluster).objects.all())

    assert len(rows) == 11
    assert not rows[1].lost
    assert rows[1].alive_at


# --- tenants ----------------------------------------------------------------------------------------


def test_queue_that_the_cluster_does_not_know(lab):
    now = tenants.tenant_queues(lab.nlp)[0]

    assert not now.seen.present
    assert all(line.room is None for line in now.lines)
    assert len(now.devices) == 1
    assert len(now.others) == 2


def test_queue_as_the_cluster_says(lab):
    seen.lab(lab.cluster)
    now = tenants.tenant_queues(lab.nlp)[0]

    assert now.seen.present
    assert now.seen.in_sync
    assert now.seen.revision == 1
    assert (now.devices[0].room.held, now.devices[0].room.borrowed) == (24, 8)
    assert now.devices[0].capability == "large training"


def test_queue_that_somebody_has_deleted(lab):
    body = seen.queue_body(16, 0) | {"deleting": True}
    seen.observed(lab.cluster, "ClusterQueue", "nlp-train", body)

    assert tenants.tenant_queues(lab.nlp)[0].seen.deleting


def test_queue_that_is_out_of_order(lab):
    body = seen.queue_body(16, 0)
    body["status"]["conditions"] = [{"type": "Active", "status": "False", "message": "no flavor"}]
    seen.observed(lab.cluster, "ClusterQueue", "nlp-train", body, in_sync=False)

    assert tenants.tenant_queues(lab.nlp)[0].seen.status == "no flavor"


# --- jobs and queues --------------------------------------------------------------------------------


def mine(lab):
    return Tenant.objects.filter(pk=lab.nlp.pk)


def test_jobs_of_a_tenant(lab):
    own = seen.workload(lab.cluster, "train-1")
    seen.workload(lab.cluster, MARK, namespace="cv", queue="cv-train")

    assert list(jobs.of_tenants(mine(lab))) == [own]
    assert jobs.counts(jobs.of_tenants(mine(lab))) == {"waiting": 1}


def test_same_namespace_in_another_cluster_is_not_ours(lab):
    other = type(lab.cluster).objects.create(slug="other", display_name="Other")
    seen.workload(other, "train-1")

    assert not jobs.of_tenants(mine(lab))


def test_order_of_attention(lab):
    for name, facts in {
        "done": {"state": "finished"}, "runs": {"state": "running"}, "second": {"position": 2},
        "first": {"position": 1}, "nowhere": {"position": None}, "leaves": {"state": "stopping"},
    }.items():  # fmt: skip
        seen.workload(lab.cluster, name, **facts)
    rows = jobs.ranked(jobs.of_tenants(mine(lab))).order_by(*jobs.ORDERS["attention"], "-pk")

    assert [row.job_name for row in rows] == [
        "leaves",
        "first",
        "second",
        "nowhere",
        "runs",
        "done",
    ]
    waiting = jobs.waiting(jobs.of_tenants(mine(lab)))
    assert [row.job_name for row in waiting][:2] == ["first", "second"]


def test_names_of_others_are_found(lab):
    seen.workload(lab.cluster, MARK, namespace="cv", queue="cv-train")
    own = seen.workload(lab.cluster, "train-1")
    words = {
        MARK,
        "cv-train",
        "cv",
        "train-1",
        "nlp-train",
        "flavor",
        own.name,
        f"job-{MARK}-0a1b2",
    }

    assert jobs.foreign(words, mine(lab)) == {MARK, "cv-train", "cv", f"job-{MARK}-0a1b2"}
    assert jobs.foreign(set(), mine(lab)) == frozenset()


def test_quotas_of_the_jobs_queues(lab):
    seen.lab(lab.cluster)
    own = seen.workload(lab.cluster, "train-1")

    found = jobs.quotas([own])

    assert found[lab.cluster.pk, "nlp-train", *GPU] == (24, 16)
    assert {key[1] for key in found} == {"nlp-train"}
    assert jobs.quotas([]) == {}


def standing(lab, seen: queues.Readable, **query: str) -> queues.Standing:
    now = tenants.queues_now(Queue.objects.filter(name="nlp-train"))[0]
    asked = QueryDict(mutable=True)
    asked.update(query)
    return queues.standing(now, asked, seen)


OWN = queues.Readable(frozenset({"nlp"}))
ALL = queues.Readable(all=True)


def test_what_a_viewer_may_read_comes_with_the_queue(lab):
    rows = queues.with_readable(Queue.objects.filter(name="nlp-train"), mine(lab))

    assert queues.readable(rows.get(), sees_all=False) == OWN


def test_nobody_reads_without_a_right(lab):
    for rows in (
        queues.with_readable(Queue.objects.filter(name="nlp-train"), Tenant.objects.none()),
        Queue.objects.filter(name="nlp-train"),
    ):
        seen_ = queues.readable(rows.get(), sees_all=False)
        assert not seen_
        assert "nlp" not in seen_


def test_jobs_of_others_are_a_count_in_the_line(lab):
    for place, (name, namespace) in enumerate(
        [("a", "nlp"), (MARK, "x"), (f"{MARK}2", "x"), ("b", "nlp"), (f"{MARK}3", "y")], start=1
    ):
        seen.workload(lab.cluster, name, namespace=namespace, position=place)
    seen.running(lab.cluster, "r")
    seen.running(lab.cluster, MARK, namespace="y")
    found = standing(lab, OWN)

    shown = [row if isinstance(row, queues.Others) else row.job_name for row in found.pending]
    assert shown == ["a", queues.Others(2, 16, 2, 3), "b", queues.Others(1, 8, 5, 5)]
    assert [row.job_name for row in found.running] == ["r"]
    assert found.running_others == queues.Others(1, 8)
    assert found.totals["waiting"] == queues.Others(5, 40)
    assert MARK not in str([row.job_name for row in found.named])


def test_platform_sees_every_job(lab):
    seen.workload(lab.cluster, MARK, namespace="x", position=1, preempted=True)

    assert [row.job_name for row in standing(lab, ALL).pending] == [MARK]


def test_who_reads_no_job_sees_one_sum(lab):
    for place in range(3):
        seen.workload(lab.cluster, f"w{place}", position=place + 1)
    seen.running(lab.cluster, "r")
    found = standing(lab, queues.Readable())

    assert found.pending == [queues.Others(3, 24, 1, 3)]
    assert (found.running.rows, found.running_others) == ([], queues.Others(1, 8))


def many(lab, number: int, **facts: object) -> None:
    values = {"state": "waiting"} | facts
    Workload.objects.bulk_create(
        Workload(
            cluster=lab.cluster, uid=f"{values['state']}{n}", namespace="nlp", name=f"w{n}",
            job_name=f"w{n}", queue="nlp-train", position=n + 1 if n < 60 else None, devices=1,
            created_at=timezone.now(), observed_at=timezone.now(), resource_version="1", **values,
        )
        for n in range(number)
    )  # fmt: skip


def test_long_line_is_read_page_by_page(lab):
    many(lab, 130)
    found = standing(lab, OWN)
    names = [row.job_name for row in found.pending]
    while found.waiting.after:
        found = standing(lab, OWN, after=found.waiting.after)
        names += [row.job_name for row in found.pending]

    assert names[:60] == [f"w{n}" for n in range(60)]
    assert sorted(names) == sorted(f"w{n}" for n in range(130))
    assert found.totals["waiting"].jobs == 130


def test_both_lists_have_pages_of_their_own(lab):
    many(lab, 60)
    many(lab, 60, state="running")
    first = standing(lab, OWN)
    second = standing(lab, OWN, **{"running-after": first.running.after})

    assert second.pending == first.pending
    assert len(second.running) == 10
    assert not set(second.running) & set(first.running)
