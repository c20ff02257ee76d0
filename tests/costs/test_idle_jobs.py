"""Jobs that run and do nothing: by their names, also beside busy ones, for members who see jobs."""

import pytest
import time_machine

from costs.models import Case
from costs.selectors.idle_jobs import idle_jobs, last_hours
from costs.times import HOUR
from costs.used import Use
from tests.costs import stored
from tests.costs.losing import GPU, clock, pod, run, used
from tests.costs.test_job_use import EVENING, in_december, job, measured

pytestmark = pytest.mark.django_db
__all__ = ["in_december", "job"]


@pytest.fixture
def idle(job, lab):
    """One job that did nothing, another one in the same pool that was busy."""
    measured(job, 3600, 3600, 3600)
    lazy = run(lab.cluster, "lazy", "nlp-train", 2, clock("20:30"), None)
    pod(lazy, "lazy-0", 2, clock("20:30"), clock("23:00"))
    for hour, seen in (("20:00", 1), ("21:00", 2), ("22:00", 2)):
        used(lab.cluster, clock(hour), "lazy-0", 30, seen * HOUR)
    for hour in (20, 21, 22):
        stored.store(lab.cluster, stored.fact(stored.at(30, hour), "nlp", committed=8, own=8))
    with time_machine.travel(clock("23:20"), tick=False):
        yield lab


def test_jobs_that_did_nothing_are_named_also_beside_busy_ones(idle):
    span = last_hours(idle.cluster.pk, idle.nlp.pk, clock("23:20"))
    assert span == EVENING
    (found,) = idle_jobs(idle.cluster.pk, "nlp", span)

    assert (found.lifetime.job_name, found.pool.flavor, found.seconds) == ("lazy", "a100", 5 * HOUR)
    assert found.use == Use(90_000, 5 * HOUR, 5 * HOUR)
    assert idle_jobs(idle.cluster.pk, "cv", span) == []


def test_a_job_of_which_too_little_was_seen_is_not_judged(idle):
    hidden = run(idle.cluster, "hidden", "nlp-train", 2, clock("20:00"), None)
    pod(hidden, "hidden-0", 2, clock("20:00"), clock("23:00"))
    used(idle.cluster, clock("20:00"), "hidden-0", 0, 2 * HOUR)

    assert [x.lifetime.job_name for x in idle_jobs(idle.cluster.pk, "nlp", EVENING)] == ["lazy"]


def test_without_counted_hours_nothing_is_looked_at(lab):
    assert last_hours(lab.cluster.pk, lab.nlp.pk, clock("23:20")) is None


def test_pages_name_idle_jobs_to_members_who_see_jobs(idle, client):
    case = Case.objects.create(
        cluster=idle.cluster, tenant=idle.nlp, kind="not_used", subject="nlp/a100", flavor="a100",
        resource=GPU, devices=8, since=clock("20:00"), found_at=clock("23:10"), seen_at=clock("23:10"),
    )  # fmt: skip
    for who, sees in ((idle.bob, True), (idle.frank, False)):
        client.force_login(who)
        for url in ("/t/nlp/costs/idle/", f"/t/nlp/costs/idle/{case.pk}/"):
            said = stored.said(client.get(url))
            assert ("lazy nlp-train · a100 · lab 5.0 0.5 % 100 %" in said) is sees, (who, url)
