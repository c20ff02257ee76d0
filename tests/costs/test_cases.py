"""Idle devices: found only where it is certain, asked, answered, and never taken by the portal."""

import csv
import io
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine

from costs import tasks
from costs.facts import Quality
from costs.models import Case, PoolHour, Run
from costs.selectors.idle import heard, not_running, not_used, unheld, week
from costs.services import cases
from costs.times import HOUR, instant, moment
from costs.used import Use
from portal.web.errors import Stale
from queues.models import Gap, Interval, Lifetime, QuotaChange, Stream, Workload
from tenants import access
from tenants.models import AuditEvent, Revision
from tests.cast import MARK
from tests.costs import stored
from tests.query_counts import counted
from tests.queues import pages

NOW = datetime(2026, 11, 20, 12, 5, tzinfo=UTC)
GPU = "nvidia.com/gpu"
KINDS = ("Workload", "ClusterQueue", "Cohort")


@pytest.fixture
def heard_of(lab):
    """A cluster that somebody has listened to for a month, with a quota of nobody."""
    quota(lab, days(30), 8, "nobodys")
    for kind in KINDS:
        Stream.objects.create(cluster=lab.cluster, kind=kind, alive_at=NOW, epoch=1, noted_epoch=1)
    return lab


@pytest.fixture
def watched(heard_of):
    """The same, with nlp-train's quota of 16."""
    quota(heard_of, days(30), 16)
    return heard_of


def quota(lab, since, nominal, name="nlp-train"):
    line = {"flavor": "a100", "resource": GPU, "nominal": nominal, "borrowing_limit": None,
            "lending_limit": None}  # fmt: skip
    return QuotaChange.objects.create(
        cluster=lab.cluster, kind="ClusterQueue", name=name, since=since, quality="exact",
        observed_at=since, digest=nominal, parent="research", lines=[line],
    )  # fmt: skip


def life(lab, name, phase="", devices=8, starts=None, queue="nlp-train", namespace="nlp"):
    held = [{"flavor": "a100", "resource": GPU, "amount": devices}]
    return Lifetime.objects.create(
        cluster=lab.cluster, uid=f"uid-{name}", namespace=namespace, name=name, created_at=NOW,
        first_seen_at=NOW, noted_at=NOW, resource_version="1", queue=queue, devices=devices,
        phase=phase, starts=starts, held=held if phase else [],
    )  # fmt: skip


def held(lab, name, devices, starts, ends, **more):
    one = life(lab, name, devices=devices)
    return Interval.objects.create(
        cluster=lab.cluster, lifetime=one, phase="admitted", attempt=1, starts=starts, ends=ends,
        starts_quality="exact", ends_quality="exact", ended_by="finished", queue="nlp-train",
        priority=0, devices=devices, held=[{"flavor": "a100", "resource": GPU, "amount": devices}],
        **more,
    )  # fmt: skip


def days(number):
    return NOW - timedelta(days=number)


# --- what is found ------------------------------------------------------------------------------


def test_quota_of_which_a_part_was_never_held(watched):
    """5 and 6 GPUs, of which one hour together: 16 - 11 were never held."""
    held(watched, "a", 5, days(5), days(4))
    held(watched, "b", 6, days(4) - timedelta(hours=1), days(3))
    (found,) = unheld(watched.cluster.pk, week(NOW))

    assert (found.kind, found.tenant, found.queue) == ("unheld", "nlp", "nlp-train")
    assert (found.devices, found.nominal) == (5, 16)


def test_what_is_held_right_now_and_before_the_week_counts_as_far_as_it_is_in_it(watched):
    held(watched, "old", 16, days(20), days(10))
    life(watched, "now", "admitted", 9, days(9))
    (found,) = unheld(watched.cluster.pk, week(NOW))

    assert found.devices == 7


def test_a_quota_that_was_held_whole_once_is_no_case(watched):
    held(watched, "burst", 20, days(2), days(2) + timedelta(minutes=1))

    assert list(unheld(watched.cluster.pk, week(NOW))) == []


def test_a_bound_that_is_not_exact_counts_for_the_tenant(watched):
    """It may have been held until after the week began, so nobody says that it was not."""
    held(watched, "maybe", 16, days(9), days(8), ends_earliest=days(8), ends_latest=days(5))

    assert list(unheld(watched.cluster.pk, week(NOW))) == []


def test_the_smaller_quota_of_the_week_is_what_counts(watched):
    quota(watched, days(3), 24)
    (found,) = unheld(watched.cluster.pk, week(NOW))

    assert (found.devices, found.nominal) == (16, 24)


def test_a_new_quota_is_not_judged(heard_of):
    quota(heard_of, days(3), 16)

    assert list(unheld(heard_of.cluster.pk, week(NOW))) == []


def test_nobody_is_judged_by_a_week_that_went_unheard(watched):
    Gap.objects.create(
        cluster=watched.cluster, kind="Workload", starts=days(3), ends=days(2), cause="lost",
        healed="listed",
    )  # fmt: skip

    assert not heard(watched.cluster.pk, week(NOW), NOW)
    assert cases.look(watched.cluster, NOW) == (0, 0)


def test_a_case_stays_open_while_nobody_can_say_whether_it_is_over(watched):
    used(watched, 0, 0, 0)
    assert cases.look(watched.cluster, NOW) == (2, 0)
    Gap.objects.create(
        cluster=watched.cluster, kind="Workload", starts=days(3), ends=days(2), cause="lost",
        healed="listed",
    )  # fmt: skip
    used(watched, None)
    held(watched, "all", 16, NOW - timedelta(hours=2), NOW - timedelta(hours=1))

    assert cases.look(watched.cluster, NOW) == (0, 0)
    assert Case.objects.filter(state="open").count() == 2


def test_a_case_of_a_queue_that_has_another_tenant_now_is_over(watched):
    cases.look(watched.cluster, NOW)
    body = dict(Revision.objects.get().catalog)
    mine = next(each for each in body["tenants"] if each["slug"] == "nlp")["queues"]
    body["tenants"] = [
        each | {"queues": [*each["queues"], *mine] if each["slug"] == "cv" else []}
        for each in body["tenants"]
    ]
    with time_machine.travel(days(8), tick=False):
        Revision.objects.create(
            cluster=watched.cluster, number=2, catalog=body, digest="d", summary="s"
        )
    cases.look(watched.cluster, NOW)

    assert sorted(Case.objects.values_list("tenant__slug", "state")) == [
        ("cv", "open"),
        ("nlp", "closed"),
    ]


def test_a_queue_without_a_tenant_is_nobodys_case(heard_of):
    assert heard(heard_of.cluster.pk, week(NOW), NOW)
    assert list(unheld(heard_of.cluster.pk, week(NOW))) == []


def test_a_reservation_that_waits_for_long_is_a_case(watched):
    life(watched, "checked", "reserved", 8, NOW - timedelta(hours=2))
    life(watched, "new", "reserved", 8, NOW - timedelta(minutes=30))
    (found,) = not_running(watched.cluster.pk, NOW)

    assert (found.workload, found.devices, found.tenant) == ("checked", 8, "nlp")


def test_admitted_without_running_pods_is_a_case_and_running_is_none(watched):
    for name, state in (("stuck", "starting"), ("fine", "running")):
        life(watched, name, "admitted", 8, NOW - timedelta(hours=3))
        Workload.objects.create(
            cluster=watched.cluster, uid=f"uid-{name}", namespace="nlp", name=name, state=state,
            since=NOW - timedelta(hours=2), created_at=NOW, resource_version="1", observed_at=NOW,
        )  # fmt: skip
    found = list(not_running(watched.cluster.pk, NOW))

    assert [each.workload for each in found] == ["stuck"]


def used(lab, *tenths, seen=10, quality=Quality.OBSERVED, gpus=8):
    """Hours before NOW in which tenths of a percent of 8 GPUs were used."""
    end = instant(NOW) - instant(NOW) % HOUR
    for back, each in enumerate(reversed(tenths), 1):
        use = None
        if each is not None:
            use = Use(gpus * HOUR * each, gpus * HOUR * seen // 10, gpus * HOUR)
        fact = stored.fact(
            end - back * HOUR, "nlp", committed=16, own=gpus, running=gpus, use=use, quality=quality
        )
        stored.store(lab.cluster, fact)


def test_devices_that_did_nothing_for_three_hours(watched):
    used(watched, 500, 9, 5, 0)
    (found,), blind = not_used(watched.cluster.pk, NOW)
    assert blind == set()

    assert (found.devices, found.tenant, found.since) == (
        8,
        "nlp",
        moment(instant(NOW) // HOUR * HOUR - 3 * HOUR),
    )


@pytest.mark.parametrize("tenths", [(10, 10, 10), (0, 0, 40)])
def test_what_did_something_is_no_case(watched, tenths):
    used(watched, *tenths)

    assert not_used(watched.cluster.pk, NOW) == ([], set())


@pytest.mark.parametrize("tenths", [(0, 0), (0, None, 0), (None, None, None)])
def test_of_what_was_not_measured_nothing_is_said(watched, tenths):
    used(watched, *tenths)

    assert not_used(watched.cluster.pk, NOW) == ([], {"nlp/a100"})


def test_of_what_was_seen_too_little_nothing_is_said(watched):
    used(watched, 0, 0, 0, seen=7)

    assert not_used(watched.cluster.pk, NOW) == ([], {"nlp/a100"})


# --- a look of the portal -----------------------------------------------------------------------


def test_a_look_opens_a_case_once_and_closes_it_when_it_is_over(watched):
    assert cases.look(watched.cluster, NOW) == (1, 0)
    assert cases.look(watched.cluster, NOW + timedelta(minutes=1)) == (0, 0)
    (case,) = Case.objects.all()
    assert (case.state, case.devices, case.seen_at) == ("open", 16, NOW + timedelta(minutes=1))

    held(watched, "all", 16, NOW - timedelta(hours=2), NOW - timedelta(hours=1))
    assert cases.look(watched.cluster, NOW) == (0, 1)
    case.refresh_from_db()
    assert (case.state, case.closed_by) == ("closed", None)
    events = AuditEvent.objects.filter(action="case.look", scope="tenant:nlp").order_by("seq")
    assert [sorted(event.data) for event in events] == [["opened"], ["over"]]


def test_an_answer_stays_while_the_devices_become_fewer(watched):
    cases.look(watched.cluster, NOW)
    case = Case.objects.get()
    cases.justify(actor=watched.bob, case=case, text="A deadline next week")
    held(watched, "some", 10, NOW - timedelta(hours=2), NOW - timedelta(hours=1))
    cases.look(watched.cluster, NOW)
    case.refresh_from_db()

    assert (case.state, case.devices, case.answer) == ("justified", 6, "A deadline next week")


def test_the_hourly_task_looks_and_a_cluster_that_is_gone_is_nothing(watched):
    with time_machine.travel(NOW, tick=False):
        tasks.look(watched.cluster.pk)
        tasks.look(watched.cluster.pk + 1000)

    assert Case.objects.get().seen_at == NOW


# --- what people do -----------------------------------------------------------------------------


@pytest.fixture
def case(watched):
    cases.look(watched.cluster, NOW)
    return Case.objects.get()


def url(case, step=""):
    return f"/t/nlp/costs/idle/{case.pk}/{step}"


def test_the_way_of_a_case_from_the_question_to_the_request(case, watched, client):
    client.force_login(watched.carol)
    assert client.post(url(case, "ask")).status_code == 302
    client.force_login(watched.bob)
    assert '<span class="count">1</span>' in pages.text(client.get("/t/nlp/costs/"))
    assert client.post(url(case, "justify"), {"text": " Runs on Monday. "}).status_code == 302
    said = stored.said(client.get(url(case)))
    assert "Runs on Monday." in said
    assert "Justified" in said

    client.force_login(watched.alice)
    answer = client.post(url(case, "take-back"))
    address = urlsplit(answer.url)
    assert address.path == "/t/nlp/requests/new"
    query = parse_qs(address.query)
    assert query["nlp-train/a100/nominal"] == ["0"]
    form = client.get(answer.url)
    assert 'name="nlp-train/a100/nominal" value="0"' in pages.text(form)
    assert "were not held (case" in pages.text(form)
    case.refresh_from_db()
    assert case.state == "take_back"
    actions = list(
        AuditEvent.objects.filter(action__startswith="case.").values_list("action", flat=True)
    )
    assert sorted(actions) == ["case.ask", "case.justify", "case.look", "case.take_back"]


def test_nothing_is_asked_for_before_somebody_sends_the_form(case, watched, client):
    from tenants.models import Request

    client.force_login(watched.alice)
    client.get(client.post(url(case, "take-back")).url)

    assert not Request.objects.exists()


@pytest.mark.parametrize("text", ["", "   ", "x" * 2001, "a\0b"])
def test_an_answer_needs_words(case, watched, client, text):
    client.force_login(watched.bob)
    answer = client.post(url(case, "justify"), {"text": text})

    assert answer.status_code == 422
    assert "Say why, in at most 2000 characters." in stored.said(answer)
    case.refresh_from_db()
    assert case.state == "open"


def test_the_second_of_two_is_told_that_it_is_too_late(case, watched):
    cases.close(actor=watched.carol, case=case, why="known")
    with pytest.raises(Stale):
        cases.ask(actor=watched.carol, case=case)


def test_the_reason_for_closing_is_kept_whole(case, watched):
    why = "known for long; " * 125
    cases.close(actor=watched.carol, case=case, why=why)
    case.refresh_from_db()
    assert case.closed_why == why.strip()


def test_who_may_not_is_refused_and_the_trail_says_so(case, watched):
    with pytest.raises(access.Denied):
        cases.justify(actor=watched.carol, case=case, text="For them")
    assert AuditEvent.objects.get(action="case.justify").outcome == "refused"


def test_a_case_of_another_tenant_does_not_exist(case, watched, client):
    client.force_login(watched.grace)

    assert client.get(url(case)).status_code == 404
    assert client.get(f"/t/cv/costs/idle/{case.pk}/").status_code == 404


def test_lists_and_the_file_say_the_same(case, watched, client):
    client.force_login(watched.frank)
    page = client.get("/t/nlp/costs/idle/")
    rows = list(
        csv.DictReader(io.StringIO(client.get("/t/nlp/costs/idle.csv").content.decode("utf-8-sig")))
    )

    assert "16 GPUs of quota not held" in stored.said(page)
    assert MARK not in pages.text(page)
    assert [(row["devices"], row["quota"], row["kind"]) for row in rows] == [("16", "16", "unheld")]
    # Seven days of 16 GPUs until the look.
    hours = 16 * (7 * 24 + instant(NOW) % HOUR / HOUR)
    assert float(rows[0]["idle_h"]) == pytest.approx(hours)
    client.force_login(watched.carol)
    assert "Language" in stored.said(client.get("/clusters/lab/costs/idle/"))


def counted_hours(lab, *ago):
    """Say that hours were counted: so many before the last whole one."""
    end = week(NOW).ends
    run = Run.objects.create(
        cluster=lab.cluster, starts=moment(end - HOUR), ends=moment(end), result="r"
    )
    PoolHour.objects.bulk_create(
        PoolHour(
            hour=moment(end - (n + 1) * HOUR), run=run, cluster=lab.cluster, flavor="a100",
            resource=GPU, ready=0, cordoned=0, down=0, nominal=0, borrowed=0, overdraft=0,
        )
        for n in ago
    )  # fmt: skip


@pytest.mark.parametrize("who", ["alice", "carol"])
def test_nothing_idle_is_said_of_seven_counted_days_alone(watched, client, who):
    page = "/t/nlp/costs/idle/" if who == "alice" else "/clusters/lab/costs/idle/"
    client.force_login(getattr(watched, who))
    with time_machine.travel(NOW, tick=False):
        before = stored.said(client.get(page))
        counted_hours(watched, *range(3, 6 * 24))
        still = stored.said(client.get(page))
        # The newest hours are counted a little later than they end.
        counted_hours(watched, *range(6 * 24, 7 * 24))
        after = stored.said(client.get(page))

    for said in (before, still):
        assert "Not known yet The last seven days were not all watched" in said
        assert "All quota was held" not in said
    assert "Nothing is idle All quota was held at some moment" in after


def test_of_a_week_that_went_unheard_nothing_is_said_either(watched, client):
    counted_hours(watched, *range(7 * 24))
    client.force_login(watched.alice)
    with time_machine.travel(NOW, tick=False):
        client.get("/t/nlp/costs/idle/")
        with counted("costs: tenant's idle cases, none"):
            assert "Nothing is idle" in stored.said(client.get("/t/nlp/costs/idle/"))
        Gap.objects.create(
            cluster=watched.cluster, kind="Workload", starts=days(3), ends=days(2), cause="lost",
            healed="listed",
        )  # fmt: skip
        assert "Not known yet" in stored.said(client.get("/t/nlp/costs/idle/"))


def test_queries_do_not_grow(case, watched, client):
    client.force_login(watched.alice)
    client.get("/t/nlp/costs/idle/")
    with counted("costs: tenant's idle cases"):
        client.get("/t/nlp/costs/idle/")
    with counted("costs: a case"):
        client.get(url(case))
    client.force_login(watched.carol)
    client.get("/clusters/lab/costs/idle/")
    with counted("costs: a cluster's idle cases"):
        client.get("/clusters/lab/costs/idle/")
