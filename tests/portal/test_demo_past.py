"""The made-up past of the demo: it keeps the rules of its cluster, and its pages say what it is."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from costs.models import (
    BillFile,
    GeneratedTime,
    Period,
    PoolMonth,
    Run,
    StatementLine,
    TenantHour,
    TenantMonth,
)
from costs.services import hourly
from costs.times import Span, instant
from portal.demo import past, past_money, past_rows
from portal.management.commands import demo_past
from queues.models import Gap, Interval, QuotaChange, Stream
from tests import cast
from tests.costs import stored

NOW = datetime(2026, 11, 4, 9, 41, tzinfo=UTC)
STORY = past.times(NOW)


@pytest.fixture
def lab(db, settings):
    """The cluster of the demo under its own name: an observer has just looked at it first."""
    settings.DEMO = True
    found = cast.make()
    type(found.cluster).objects.update(slug="demo")
    found.cluster.refresh_from_db()
    for kind in ("Workload", "ClusterQueue", "Cohort", "Pod"):
        Stream.objects.create(
            cluster=found.cluster, kind=kind, alive_at=datetime.now(UTC),
            history_since=NOW if kind == "Pod" else None,
        )  # fmt: skip
    QuotaChange.objects.create(
        cluster=found.cluster, kind="ClusterQueue", name="nlp-train", since=NOW, quality="exact",
        observed_at=NOW, digest=7,
    )  # fmt: skip
    return found


def test_the_story_is_the_same_each_time_and_keeps_the_quotas():
    one, again = past.played(STORY), past.played(STORY)
    assert [list(past.phases(job)) for job in one] == [list(past.phases(job)) for job in again]
    assert len(one) > 500

    edges = [
        (at, order, sign * job.kind.gpus)
        for job in one
        for phase in past.phases(job)
        if phase.phase in ("admitted", "draining")
        for at, order, sign in ((phase.ends, 0, -1), (phase.starts, 1, 1))
    ]
    held = most = 0
    for at, _order, gpus in sorted(edges):
        held += gpus
        most = max(most, held)
        assert held <= (24 if at >= STORY.more_quota else 20)
    assert (held, most) == (0, 24)


def test_phases_of_a_job_follow_each_other_without_a_hole():
    for job in past.played(STORY):
        found = list(past.phases(job))
        assert found[0].starts == job.arrives
        for one, following in pairwise(found):
            assert (one.ends, one.ended_by) == (following.starts, following.phase)
        assert found[-1].ends <= STORY.until


def test_it_covers_the_month_before_and_two_months_in_all():
    for day in range(1, 366):
        story = past.times(NOW + timedelta(days=day))
        first = story.until.replace(day=1, hour=0)
        assert story.starts <= past_money.months_before(first)
        assert story.until - story.starts >= timedelta(days=60)
        inside = (story.more_quota, story.price_change, *story.down, *story.cordoned)
        assert all(story.starts <= at < story.until for at in inside)
        assert all(story.starts < lo < hi <= story.until for lo, hi in story.gaps)


def test_is_refused_outside_of_a_demo(lab, settings):
    settings.DEMO = False
    with pytest.raises(CommandError, match="not a demo"):
        call_command("demo_past")


@pytest.fixture
def filled(lab, capsys):
    call_command("demo_past")
    return lab


def test_two_months_are_counted_billed_and_closed(filled, client):
    """One test for all of it: the count of two months is the dear part."""
    row = GeneratedTime.objects.get()
    october = TenantMonth.objects.get(starts="2026-10-01", tenant=filled.nlp)
    period = Period.objects.get(state="closed")
    held = Counter()
    for each in Interval.objects.filter(phase__in=("admitted", "draining"), queue="nlp-train"):
        part = Span(instant(each.starts), instant(each.ends)).cut(
            Span(instant(period.starts), instant(period.ends))
        )
        held["all"] += part.seconds * each.devices if part else 0
    blind = TenantHour.objects.filter(tenant=filled.nlp, quality="missing")
    held["blind"] = sum(blind.filter(hour__lt=period.ends).values_list("held", flat=True))

    assert (row.starts, row.until) == (STORY.starts, STORY.until)
    assert row.counted == row.hours == len(set(TenantHour.objects.values_list("hour", flat=True)))
    assert row.finished_at
    # The month by its rollup is the phases by their rows, but for the hours nobody watched.
    assert october.held == held["all"] - held["blind"]
    assert (october.unwatched, october.partial) == (2, 2)
    assert blind.filter(hour__gte=period.ends).count() == 6
    assert min(october.borrowed, october.lent) > 0
    assert PoolMonth.objects.get(starts="2026-10-01").down
    # Pods start later than their quota, and run out within it.
    assert 0 < october.admitted - october.running < october.admitted // 50
    assert october.unmanaged == 0

    file = BillFile.objects.get(state="active", finalized=True)
    assert period.bills.get().bill == file
    assert period.bill_total == file.effective
    assert BillFile.objects.filter(state="replaced").count() == 1
    buckets = dict(period.statements.filter(tenant=None).values_list("bucket", "total"))
    assert min(buckets["*unsold"], buckets["*down"]) > 0
    assert buckets["*unused"] == 96
    late = StatementLine.objects.filter(corrects=period)
    assert sum(late.values_list("amount", flat=True)) == past_money.bill.CORRECTION

    client.force_login(filled.alice)
    for url in ("/t/nlp/costs/?month=2026-10", f"/t/nlp/statements/{period.pk}/"):
        said = stored.said(client.get(url))
        assert "were generated for the demo" in said
        assert "still being counted" not in said

    before = Run.objects.count()
    call_command("demo_past")
    assert Run.objects.count() == before


def test_goes_on_where_it_was_killed(lab, monkeypatch, client):
    real, calls = hourly.count, []

    def until_the_third(**given):
        calls.append(given["span"])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(**given)

    monkeypatch.setattr(demo_past.hourly, "count", until_the_third)
    with pytest.raises(KeyboardInterrupt):
        call_command("demo_past")
    client.force_login(lab.alice)
    said = stored.said(client.get("/t/nlp/costs/"))
    assert "Their hours are still being counted: 0 % are done." in said

    monkeypatch.setattr(demo_past.hourly, "count", lambda **given: calls.append(given["span"]))
    monkeypatch.setattr(past_money, "closed", lambda **_given: None)
    call_command("demo_past")
    assert GeneratedTime.objects.get().counted == GeneratedTime.objects.get().hours
    assert len(calls) == len(set(calls)) + 1
    assert Interval.objects.filter(lifetime__uid="made-1").count() == len(
        list(past.phases(past.played(STORY)[0]))
    )


def test_pages_without_made_up_figures_have_no_mark(lab, client):
    client.force_login(lab.alice)
    assert "generated" not in stored.said(client.get("/t/nlp/costs/"))


def test_bounds_within_a_gap_are_not_exact(lab):
    found = past.played(STORY)
    past_rows.write(cluster=lab.cluster, story=STORY, found=found, observed=NOW)
    lo, hi = STORY.gaps[0]
    inside = Interval.objects.filter(starts__gt=lo, starts__lt=hi)

    assert inside.exists()
    assert set(inside.values_list("starts_quality", "starts_earliest", "starts_latest")) == {
        ("bounded", lo, hi)
    }
    assert Gap.objects.filter(starts=STORY.until, ends=NOW).count() == 5
