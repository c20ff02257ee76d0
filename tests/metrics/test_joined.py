"""From a real Prometheus to the facts of an hour: who used what, and what Kueue says against it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Max, Min
from django.utils import timezone

from costs.comparing import Place
from costs.facts import Pool
from costs.models import GaugeHour, Harvest, PoolHour, Run, TenantHour, UsedHour
from costs.selectors import control, due
from costs.services import hourly
from costs.services.hourly import count
from costs.states import Code, Kind, Tolerance
from costs.times import HOUR, Span, instant
from tests.costs.watched import HOUR as BEGIN
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db
FIRST = Span(instant(BEGIN), instant(BEGIN) + HOUR)


@pytest.fixture
def watched(lab, monkeypatch):
    """A cluster with two nodes in which nlp-train holds 4 of 16 for a whole hour."""
    found = Watched(lab.cluster, monkeypatch)
    flips = [("QuotaReserved", "True", after(-10)), ("Admitted", "True", after(-10))]
    found.begin(
        after(-20),
        ClusterQueue=[found.queue("nlp-train", 16), found.queue("cv-train", 8)],
        Cohort=[found.cohort("research", 0)], ResourceFlavor=[found.flavor()],
        Node=[found.node("n1"), found.node("n2")],
        Workload=[found.job("a", "nlp-train", 4, *flips)],
    )  # fmt: skip
    found.alive(after(185))
    return found


def used(lab, pod="train", namespace="nlp", node="n1", hours=(BEGIN,), **numbers):
    facts = {"used": 2 * HOUR * 1000, "seen": 4 * HOUR, "expected": 4 * HOUR} | numbers
    for hour in hours:
        UsedHour.objects.create(
            cluster=lab.cluster, hour=hour, namespace=namespace, pod=pod, node=node, **facts
        )


def asked(lab, hour=BEGIN, at=None):
    """Note that an hour was asked."""
    row, _ = Harvest.objects.update_or_create(
        cluster=lab.cluster, hour=hour, defaults={"at": at or timezone.now()}
    )
    return row


def fact(tenant):
    return TenantHour.objects.get(tenant__slug=tenant, hour=BEGIN)


def test_use_stands_in_the_facts_of_tenants_and_pools(lab, watched):
    used(lab, fallback=HOUR)
    used(lab, "infer", "cv", "n2", used=1000, seen=60, expected=60)
    used(lab, "", "", "n2", used=500_000, seen=HOUR, expected=HOUR)
    asked(lab)
    count(cluster=lab.cluster, span=FIRST)
    nlp, cv, pool = fact("nlp"), fact("cv"), PoolHour.objects.get()
    assert (nlp.used, nlp.seen, nlp.expected, nlp.fallback) == (
        2 * HOUR * 1000, 4 * HOUR, 4 * HOUR, HOUR,
    )  # fmt: skip
    assert (cv.used, cv.seen) == (1000, 60)
    assert (pool.used, pool.seen, pool.unattributed) == (
        2 * HOUR * 1000 + 501_000, 5 * HOUR + 60, 500_000,
    )  # fmt: skip


def test_an_hour_that_was_not_asked_is_not_known(lab, watched):
    """Also where an attempt failed, and rows of another hour stand beside it."""
    used(lab, hours=(BEGIN + timedelta(hours=1),))
    asked(lab, BEGIN + timedelta(hours=1))
    Harvest.objects.create(cluster=lab.cluster, hour=BEGIN, at=timezone.now(), code="GP-5604")
    count(cluster=lab.cluster, span=FIRST)
    assert (fact("nlp").used, fact("nlp").expected, PoolHour.objects.get().used) == (None,) * 3


def test_use_of_a_node_that_is_not_known_is_in_no_fact(lab, watched):
    used(lab, node="elsewhere")
    asked(lab)
    count(cluster=lab.cluster, span=FIRST)
    assert fact("nlp").used is None


def test_a_harvest_that_comes_later_makes_its_hour_due_again_and_no_other(lab, watched):
    watched.now = after(200)
    hourly.count_due(cluster=lab.cluster, seconds=3600, now=after(200))
    counted = datetime.now(UTC) + timedelta(minutes=10)
    # Runs are only added: the hours are counted once more, later.
    whole = Run.objects.aggregate(starts=Min("starts"), ends=Max("ends"))
    Run.objects.create(cluster=lab.cluster, result="r", at=counted, **whole)
    assert due.spans(lab.cluster.pk, after(200)) == []
    used(lab)
    asked(lab, at=counted + timedelta(minutes=5))
    assert due.spans(lab.cluster.pk, after(205)) == [FIRST]
    # A failed attempt says nothing new.
    Harvest.objects.update(code="GP-5604")
    assert due.spans(lab.cluster.pk, after(205)) == []


# --- what Kueue says ------------------------------------------------------------------------------


def gauge(lab, reserved, queue="nlp-train", seen=HOUR, hour: datetime = BEGIN):
    GaugeHour.objects.create(
        cluster=lab.cluster, hour=hour, queue=queue, flavor="a100", resource="nvidia.com/gpu",
        reserved=reserved, seen=seen,
    )  # fmt: skip


def found(lab):
    return [
        (each.code, each.facts["queue"], each.difference)
        for each in control.held_and_gauge(FIRST, {}, lab.cluster.pk)
    ]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (4 * HOUR, Code.MATCHED),
        (4 * HOUR - 60, Code.WITHIN_TOLERANCE),
        (5 * HOUR, Code.WITHIN_TOLERANCE),  # a GPU-hour a day
        (5 * HOUR + 30, Code.INTERVAL_GAP),
        (2 * HOUR, Code.INTERVAL_GAP),
    ],
)
def test_held_is_compared_with_the_gauge(lab, watched, said, code):
    gauge(lab, said)
    count(cluster=lab.cluster, span=FIRST)
    assert GaugeHour.objects.get().held == 4 * HOUR
    assert found(lab) == [(code, "nlp-train", 4 * HOUR - said)]


def test_a_pool_may_have_a_tolerance_of_its_own(lab, watched):
    gauge(lab, 5 * HOUR)
    count(cluster=lab.cluster, span=FIRST)
    place = Place(lab.cluster.slug, Pool("a100", "nvidia.com/gpu"))
    assert control.gaps(FIRST, {}) == []
    (one,) = control.gaps(FIRST, {(place, Kind.GAUGE): Tolerance()})
    assert (one.code, one.cluster, one.blocks) == (Code.INTERVAL_GAP, lab.cluster.slug, True)


def test_a_gauge_that_was_hardly_heard_says_nothing(lab, watched):
    gauge(lab, 0, seen=HOUR // 2)
    gauge(lab, 0, queue="cv-train")
    count(cluster=lab.cluster, span=FIRST)
    assert found(lab) == [(Code.MATCHED, "cv-train", 0)]


def test_what_is_not_counted_yet_is_not_compared(lab, watched):
    gauge(lab, 9 * HOUR)
    assert found(lab) == []


def test_the_other_findings(lab):
    used(lab, seen=2 * HOUR, used=0)
    used(lab, "", "", "n1", used=HOUR * 100, seen=HOUR, expected=HOUR)
    used(lab, "", "", "n2", used=HOUR * 10, seen=HOUR, expected=HOUR)
    used(lab, "one", "cv", shared=3)
    each = {(one.code, one.subject) for one in control.findings(lab.cluster.pk, FIRST)}
    assert each == {
        (Code.USED_UNKNOWN, "nlp"), (Code.UNATTRIBUTED_USE, "n1"), (Code.SHARED_DEVICE, "n1"),
    }  # fmt: skip
