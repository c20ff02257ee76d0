"""What single jobs had and used: own and borrowed, seen and unseen."""

import csv
import io
from datetime import timedelta

import pytest
import time_machine

from costs.selectors.job_use import harvested, ran, used_by
from costs.times import HOUR, Span, instant
from costs.used import Use
from tests.costs import stored
from tests.costs.losing import GPU, asked, clock, phase, pod, promise, run, used

pytestmark = pytest.mark.django_db
EVENING = Span(instant(clock("20:00")), instant(clock("23:00")))
MONTH = {"month": "2026-11"}


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(clock("23:30") + timedelta(hours=1), tick=False):
        yield


@pytest.fixture
def job(lab):
    """A job of 8 of which half was borrowed for an hour, with two pods, in three hours."""
    promise(lab.cluster, "nlp-train", 8)
    run(lab.cluster, "older", "nlp-train", 4, clock("19:00"), clock("21:00"))
    found = run(lab.cluster, "train", "nlp-train", 8, clock("20:00"), clock("23:00"))
    for name in ("p0", "p1"):
        pod(found, name, 4, clock("20:00"), clock("23:00"))
    return found


def measured(job, *active):
    """Write that both pods were active for so many seconds of their 4 devices, hour by hour."""
    for hour, each in zip(("20:00", "21:00", "22:00"), active, strict=False):
        asked(job.cluster, clock(hour))
        for name in ("p0", "p1"):
            used(job.cluster, clock(hour), name, each, 4 * HOUR)


def test_use_is_that_of_its_pods_in_the_hours_that_were_asked(job):
    measured(job, 3600, 7200)
    span = harvested(job.cluster_id, EVENING)

    assert span == Span(EVENING.starts, EVENING.starts + 2 * HOUR)
    assert used_by(job.cluster_id, [job], span) == {
        (job.pk, GPU): Use(2 * 10_800_000, 16 * HOUR, 16 * HOUR)
    }
    assert ran(job.cluster_id, [job], EVENING) == 24 * HOUR


def test_an_hour_in_between_that_nobody_asked_is_expected_and_not_seen(job):
    measured(job, 3600)
    asked(job.cluster, clock("22:00"))
    for name in ("p0", "p1"):
        used(job.cluster, clock("22:00"), name, 3600, 4 * HOUR)
    use = used_by(job.cluster_id, [job], EVENING)[job.pk, GPU]

    assert (use.seen, use.expected, use.known) == (16 * HOUR, 24 * HOUR, False)


def test_two_jobs_with_a_pod_of_the_same_name_share_what_it_used(job):
    """A pod that was deleted and made anew for another job within the same hour."""
    other = run(job.cluster, "other", "nlp-train", 4, clock("22:30"), clock("23:00"))
    first = run(job.cluster, "first", "nlp-train", 4, clock("22:00"), clock("22:30"))
    pod(first, "worker", 4, clock("22:00"), clock("22:30"))
    pod(other, "worker", 4, clock("22:30"), clock("23:00"), workload_uid="")
    asked(job.cluster, clock("22:00"))
    used(job.cluster, clock("22:00"), "worker", 1001, 4 * HOUR)
    found = used_by(job.cluster_id, [first, other], EVENING)

    assert [found[each.pk, GPU].seen for each in (first, other)] == [2 * HOUR, 2 * HOUR]
    assert sum(each.used for each in found.values()) == 1_001_000


def test_what_an_exporter_says_of_a_pod_after_its_end_is_cut(job):
    late = run(job.cluster, "late", "nlp-train", 4, clock("22:00"), clock("22:15"))
    pod(late, "late-0", 4, clock("22:00"), clock("22:15"))
    asked(job.cluster, clock("22:00"))
    used(job.cluster, clock("22:00"), "late-0", 7200, 4 * HOUR)
    use = used_by(job.cluster_id, [late], EVENING)[late.pk, GPU]

    assert use == Use(1_800_000, HOUR, HOUR)


def test_a_pod_of_another_namespace_or_workload_is_not_its_own(job):
    theirs = run(job.cluster, "train2", "cv-train", 8, clock("20:00"), None, namespace="cv")
    pod(theirs, "p0", 8, clock("20:00"), clock("21:00"))
    asked(job.cluster, clock("20:00"))
    used(job.cluster, clock("20:00"), "p0", 100, 8 * HOUR, namespace="cv")

    assert used_by(job.cluster_id, [job], EVENING)[job.pk, GPU].seen == 0


def rows(client, url="/t/nlp/costs/workloads.csv"):
    text = client.get(url, MONTH).getvalue().decode("utf-8-sig")
    return {row["job"]: row for row in csv.DictReader(io.StringIO(text))}


def test_the_file_has_own_borrowed_and_used_time_of_each_workload(job, lab, client):
    measured(job, 3600, 3600, 3600)
    client.force_login(lab.alice)
    found = rows(client)
    names = ("held_s", "own_s", "borrowed_s", "used_s", "seen_s", "expected_s")

    assert [found["train"][name] for name in names] == [
        "86400", "72000", "14400", "21600.000", "86400", "86400",
    ]  # fmt: skip
    assert [found["older"][name] for name in names] == ["28800", "28800", "0", "", "", ""]


def test_used_time_is_empty_where_too_little_was_seen(job, lab, client):
    measured(job, 3600)
    asked(lab.cluster, clock("22:00"))
    client.force_login(lab.alice)
    row = rows(client)["train"]

    assert (row["used_s"], row["seen_s"], row["expected_s"]) == ("", "28800", "86400")


def test_what_is_still_held_counts_until_now_and_not_until_the_end_of_the_month(lab, client):
    promise(lab.cluster, "nlp-train", 1)
    run(lab.cluster, "lasts", "nlp-train", 2, clock("10:00", 3), None)
    client.force_login(lab.alice)
    with time_machine.travel(clock("12:00", 3), tick=False):
        row = rows(client)["lasts"]
        ahead = client.get("/t/nlp/costs/workloads.csv", {"month": "2026-12"}).getvalue()

    assert (row["held_s"], row["own_s"], row["borrowed_s"]) == ("14400", "7200", "7200")
    assert ahead.count(b"\n") == 1


def test_a_job_of_two_flavors_of_one_resource_has_no_use_of_its_own(job, lab, client):
    measured(job, 3600, 3600, 3600)
    life = run(lab.cluster, "both", "nlp-train", 1, clock("20:00"), clock("21:00"))
    pod(life, "both-0", 1, clock("20:00"), clock("21:00"))
    phase(life, "nlp-train", 1, clock("21:00"), clock("22:00"), flavor="h100")
    used(lab.cluster, clock("20:00"), "both-0", 100, HOUR)
    client.force_login(lab.alice)

    assert rows(client)["both"]["used_s"] == ""


def test_the_page_of_a_job_says_own_borrowed_ran_and_used(job, lab, client):
    measured(job, 3600, 7200, 0)
    client.force_login(lab.bob)
    said = stored.said(client.get("/c/lab/jobs/nlp/job-train/costs/"))

    assert "Held 24.0 GPU-h: 20.0 own, 4.0 borrowed" in said
    assert "Running GPU-h that its pods had devices 24.0" in said
    assert "Used 6.0 100 % seen" in said


def test_a_job_without_pods_on_record_says_so(job, lab, client):
    client.force_login(lab.bob)
    said = stored.said(client.get("/c/lab/jobs/nlp/job-older/costs/"))

    assert "no pod of it is on record" in said
    assert "not measured" in said
