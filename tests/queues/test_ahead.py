"""What stands before a job: numbers of everybody, names of the viewer's own tenants only."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queues import position_texts as texts
from queues.models import QueueOrder, Workload
from queues.selectors.ahead import NAMED, Sure, agreement, certainties, in_line
from tenants.models import Tenant
from tests.queues.seen import workload

pytestmark = pytest.mark.django_db

MARK = "SECRET-7f3a9"
NOW = timezone.now()


@pytest.fixture
def line(lab):
    """Five jobs in one queue, every second one of another tenant; ours is the last."""
    for place in range(1, 5):
        foreign = place % 2 == 0
        workload(
            lab.cluster, f"{MARK}-{place}" if foreign else f"job-{place}", position=place,
            namespace="cv" if foreign else "nlp", devices=place, priority=9000 if foreign else 1000,
            priority_class="high" if foreign else "normal",
        )  # fmt: skip
    return lab, workload(lab.cluster, "mine", position=5, entry_position=3)


def order(lab, **more):
    values = {
        "queue": "nlp-train", "strategy": "BestEffortFIFO", "pending": 5, "placed_at": NOW,
        "source": "own",
    }  # fmt: skip
    return QueueOrder.objects.create(cluster=lab.cluster, **(values | more))


def ours(lab):
    return Tenant.objects.filter(pk=lab.nlp.pk)


def test_counts_everybody_and_names_only_the_viewers_own(line):
    lab, job = line
    order(lab)
    found = in_line(job, ours(lab))
    assert (found.position, found.entry_position, found.pending) == (5, 3, 5)
    assert (found.ahead.jobs, found.ahead.devices) == (4, 10)
    assert [(each.name, each.jobs, each.devices) for each in found.ahead.by_priority] == [
        ("high", 2, 6), ("normal", 2, 4)
    ]  # fmt: skip
    assert [each.job_name for each in found.mine] == ["job-1", "job-3"]
    assert (found.mine_jobs, found.mine_devices) == (2, 4)
    assert (found.others_jobs, found.others_devices) == (2, 6)
    assert MARK not in repr(found)
    assert MARK not in " ".join(texts.told(found))


def test_who_sees_everything_reads_every_name(line):
    _lab, job = line
    found = in_line(job, Tenant.objects.all())
    assert found.mine_jobs == 4
    assert MARK in repr([each.job_name for each in found.mine])


def test_names_a_few_of_many_own_jobs_and_counts_all(line):
    lab, job = line
    for number in range(20):
        workload(lab.cluster, f"more-{number:02}", position=4, devices=1)
    found = in_line(job, ours(lab))
    assert (len(found.mine), found.mine_jobs, found.mine_devices) == (NAMED, 22, 24)


@pytest.mark.parametrize("more", [{"position": None}, {"state": "running"}])
def test_a_job_without_a_place_stands_in_no_line(line, more):
    lab, job = line
    Workload.objects.filter(pk=job.pk).update(**more)
    job.refresh_from_db()
    assert in_line(job, ours(lab)) is None


def test_the_numbers_cost_the_same_with_many_jobs(line, django_assert_num_queries):
    lab, job = line
    order(lab)
    with django_assert_num_queries(1):
        in_line(job, ours(lab))
    Workload.objects.bulk_create(
        Workload(
            cluster=lab.cluster, uid=f"n-{number}", namespace="cv", name=f"n-{number}",
            queue="nlp-train", state="waiting", position=4, devices=1, created_at=NOW,
            observed_at=NOW, resource_version="1",
        )
        for number in range(3000)
    )  # fmt: skip
    with django_assert_num_queries(1):
        found = in_line(job, ours(lab))
    assert (found.ahead.jobs, found.ahead.devices) == (3004, 3010)


# --- what the place means -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "job_facts", "said"),
    [
        ({}, {}, "may start first"),
        ({"strategy": "StrictFIFO"}, {}, "before the first job has started"),
        ({"strategy": "StrictFIFO"}, {"position": 1}, "the next to start"),
        ({"front": "uid-nlp-mine"}, {}, "keeps this job in front"),
        ({}, {"turn": "back_off"}, "pause is over"),
    ],
)
def test_what_the_place_means(line, facts, job_facts, said):
    lab, job = line
    order(lab, **facts)
    Workload.objects.filter(pk=job.pk).update(**job_facts)
    job.refresh_from_db()
    assert said in texts.turn(in_line(job, ours(lab)))


def test_the_first_has_nobody_ahead(line):
    lab, job = line
    Workload.objects.filter(pk=job.pk).update(position=1)
    Workload.objects.exclude(pk=job.pk).update(position=2)
    job.refresh_from_db()
    assert texts.before(in_line(job, ours(lab))) == "Nobody is ahead."


# --- how sure it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "sure", "said"),
    [
        ({"checked_at": timedelta()}, Sure.KUEUE, "As Kueue's own list has it."),
        ({"checked_at": timedelta(), "source": "kueue", "differing": 2}, Sure.KUEUE, "As Kueue's own"),
        ({"checked_at": timedelta(), "by_use": True}, Sure.KUEUE, "As Kueue's own list"),
        ({}, Sure.OWN, "not yet compared"),
        ({"trouble": "silent"}, Sure.OWN, "Kueue does not answer"),
        ({"checked_at": timedelta(seconds=5)}, Sure.OWN, "not yet compared"),
        ({"checked_at": timedelta(seconds=5), "differing": 1}, Sure.ESTIMATE, "another one"),
        ({"by_use": True}, Sure.ESTIMATE, "used least lately"),
        (
            {"by_use": True, "checked_at": timedelta(hours=1), "source": "kueue"},
            Sure.ESTIMATE, "used least lately",
        ),
    ],
)  # fmt: skip
def test_how_sure_a_place_is(line, facts, sure, said):
    lab, job = line
    now = timezone.now()  # ages count from the test, not from the collection
    if "checked_at" in facts:
        facts = facts | {"checked_at": now - facts["checked_at"]}
    order(lab, **({"placed_at": now} | facts))
    found = in_line(job, ours(lab)).certainty
    assert found.sure == sure
    assert said in texts.certainty(found)
    key = (lab.cluster.pk, "nlp-train")
    assert certainties([key, (lab.cluster.pk, "other")])[key] == found


def test_administrators_see_how_often_kueue_agreed(lab):
    order(lab, checks=40, differed=3, differing=2)
    order(lab, queue="cv-train", checks=2, trouble="throttled")
    order(lab, queue="quiet")
    found = agreement(lab.cluster.pk)
    assert (found.checks, found.differed) == (42, 3)
    assert (found.differing, found.troubles) == (("nlp-train",), ("throttled",))
