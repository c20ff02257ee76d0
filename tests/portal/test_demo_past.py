"""The made-up past of the demo: it keeps the rules of its cluster, and its pages say what it is."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from cluster import build
from costs.models import (
    BillFile,
    GeneratedTime,
    Harvest,
    MetricsSource,
    Period,
    PoolMonth,
    Run,
    StatementLine,
    TenantHour,
    TenantMonth,
)
from costs.money import shown
from costs.policy import Base, Policy
from costs.selectors import previews
from costs.services import hourly
from costs.times import Span, instant
from portal.demo import past, past_money, past_pods, past_rows, past_use, readings
from portal.demo.news import News
from portal.demo.prometheus import Store
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


def test_no_device_is_had_twice_and_none_of_a_node_that_takes_no_pods():
    line: dict[tuple[str, int], list[past_pods.Pod]] = {}
    for job in past.played(STORY):
        for pod in past_pods.pods(job):
            for device in pod.part.devices:
                line.setdefault((pod.part.node, device), []).append(pod)
        for step, parts in zip(
            [at for at, phase in job.steps if phase == "admitted"], job.places, strict=True
        ):
            nodes = {part.node for part in parts}
            assert sum(len(part.devices) for part in parts) == job.kind.gpus
            assert not (nodes & {"gpu-3"} and STORY.down[0] <= step < STORY.down[1])
            assert not (nodes & {"gpu-2"} and STORY.cordoned[0] <= step < STORY.cordoned[1])
    assert len(line) == 32
    for pods in line.values():
        pods.sort(key=lambda pod: pod.starts)
        assert all(one.ends <= other.starts for one, other in pairwise(pods))


def test_readings_are_the_same_each_time_and_each_device_has_one_a_minute():
    found = readings.Past(STORY, past.played(STORY))
    hour = instant(STORY.price_change), instant(STORY.price_change) + 3600
    text = list(found.text(*hour))
    assert text == list(readings.Past(STORY, past.played(STORY)).text(*hour))
    assert len(text) == 32 * 60 + 4 * 60 + 1
    assert all(0 <= float(line.split()[-2]) <= 1 for line in text[:-1])
    halves = [
        *found.text(hour[0], hour[0] + 1800), *found.text(hour[0] + 1800, hour[1]),
    ]  # fmt: skip
    assert sorted(halves) == sorted([*text, "# EOF\n"])
    for node, lo, hi in (*STORY.blind, ("gpu-3", *STORY.down)):
        down = list(found.text(instant(lo), instant(hi)))
        assert not [line for line in down if f'hostname="{node}"' in line]
        assert f'up{{job="dcgm",instance="{node}"}} 0' in "".join(down)


def test_it_covers_the_month_before_and_two_months_in_all():
    for day in range(1, 366):
        story = past.times(NOW + timedelta(days=day))
        first = story.until.replace(day=1, hour=0)
        assert story.starts <= past_money.months_before(first)
        assert story.until - story.starts >= timedelta(days=60)
        inside = (story.more_quota, story.price_change, *story.down, *story.cordoned, *story.idle)
        assert all(story.starts <= at < story.until for at in inside)
        spans = (*story.gaps, *story.stray, *((lo, hi) for _node, lo, hi in story.blind))
        assert all(story.starts < lo < hi <= story.until for lo, hi in spans)


def test_is_refused_outside_of_a_demo(lab, settings):
    settings.DEMO = False
    with pytest.raises(CommandError, match="not a demo"):
        call_command("demo_past")


@pytest.fixture
def filled(lab, capsys):
    call_command("demo_past")
    return lab


def test_two_months_are_counted_billed_and_closed(filled, client, monkeypatch):
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
    # The machine that somebody forgot, for five days: a bucket, a finding and a row of its own.
    forgotten = 5 * past_money.bill.A_DAY
    assert buckets["*orphan"] == forgotten
    orphan = period.discrepancies.get(code="orphan_node")
    assert (orphan.subject, orphan.money, orphan.blocks) == (
        past_money.bill.ORPHAN,
        forgotten,
        False,
    )
    assert orphan.difference == 5 * 24 * 3600
    late = StatementLine.objects.filter(corrects=period)
    assert sum(late.values_list("amount", flat=True)) == past_money.bill.CORRECTION

    # A preview begins with the statements, to the cent, also where they are reckoned anew.
    owed = period.statements.exclude(total=0).values_list("tenant__slug", "bucket", "total")
    owed = {slug or bucket: total for slug, bucket, total in owed}
    for written in (previews._written, lambda _period: {}):
        monkeypatch.setattr(previews, "_written", written)
        looked = previews.of_policy(period.book, Policy(), instant(NOW))
        assert {each.payer: each.then for each in looked.rows if each.then} == owed
    other = previews.of_policy(period.book, Policy(base=Base.ADMITTED), instant(NOW))
    assert sum(each.then for each in other.rows) == period.bill_total
    other = {each.payer: each.then for each in other.rows}
    assert (other["*orphan"], other["*unused"]) == (forgotten, 96)

    # What was billed is the same on all pages, the hours that nobody watched among it.
    billed = 24 * 8 * (4 * 31 + 5)
    committed = StatementLine.objects.get(
        statement__period=period, statement__tenant=filled.nlp, basis="committed"
    )
    assert committed.unwatched == 2 * 16
    assert committed.quantity - committed.unwatched == shown(Fraction(october.committed, 3600))
    run = period.runs.latest("at")
    assert (run.missing, run.partial) == (october.unwatched, october.partial) == (2, 2)

    client.force_login(filled.dave)
    said = stored.said(client.get("/clusters/demo/costs/?month=2026-10"))
    assert f"Billed {billed:,}.0" in said
    assert "what became of the devices is not known 64.0" in said
    for when in ("18 Oct 02:00 to 03:00", "18 Oct 03:00 to 05:00 2 hours missing", "18 Oct 05:00"):
        assert when in said
    assert "Not in the cluster machines that are billed and were no nodes 960.0" in said
    said = stored.said(client.get(f"/costs/periods/{period.pk}/"))
    assert f"{past_money.bill.ORPHAN} was billed for 120.0 hours in which it was not" in said
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


def test_without_prometheus_it_goes_on_and_says_so(lab, monkeypatch, client, tmp_path):
    def fails(**_given):
        raise build.BuildError("Go could not be installed:\nno network")

    monkeypatch.setattr(build, "build", fails)
    monkeypatch.setattr(demo_past.hourly, "count", lambda **_given: None)
    monkeypatch.setattr(past_money, "closed", lambda **_given: None)
    call_command("demo_past", metrics=tmp_path, server="http://127.0.0.1:1")

    row = GeneratedTime.objects.get()
    assert row.finished_at
    assert (row.lasting, row.unmeasured) == (False, "Go could not be installed: no network")
    assert Store(tmp_path).read() == {"failed": row.unmeasured}
    assert not MetricsSource.objects.exists()
    assert not Harvest.objects.exists()
    client.force_login(lab.dave)
    said = stored.said(client.get("/clusters/demo/metrics/"))
    assert "What GPUs did is not in them: Go could not be installed: no network" in said

    # What was counted without stays so, also where it could be built by now.
    monkeypatch.setattr(build, "build", lambda **_given: pytest.fail("it is over"))
    call_command("demo_past", metrics=tmp_path, server="http://127.0.0.1:1")
    assert Store(tmp_path).read() == {"failed": "finished without"}


def test_a_prometheus_that_is_gone_takes_nothing_from_a_past_that_is_finished(
    lab, monkeypatch, tmp_path
):
    row = GeneratedTime.objects.create(
        cluster=lab.cluster, starts=STORY.starts, until=STORY.until, hours=1, lasting=True,
        finished_at=NOW,
    )  # fmt: skip
    Store(tmp_path).data.mkdir()
    monkeypatch.setattr(past_use.prometheus, "programs", lambda _: (tmp_path / "p", tmp_path / "t"))
    monkeypatch.setattr(past_use, "PATIENCE", 0.0)
    said = []
    given = {"folder": tmp_path, "server": "http://127.0.0.1:1", "actor": lab.dave}
    assert not past_use.connect(row, say=said.append, **given)
    row.refresh_from_db()
    assert (row.lasting, row.unmeasured) == (True, "")
    assert said == ["what GPUs used stays unknown: Prometheus did not answer within 0 s"]


def test_what_the_background_says_is_told_once(tmp_path):
    log, said = tmp_path / "past.log", []
    log.write_text("of an earlier start\n")
    news = News(log, said.append)
    news.tell()
    with log.open("a") as file:
        file.write("building prometheus: 15 s\nhalf a l")
        file.flush()
        news.tell()
        news.tell()
        file.write("ine\n")
        file.flush()
        news.tell()
    assert said == ["past: building prometheus: 15 s", "past: half a line"]
    News(tmp_path / "none", said.append).tell()


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
