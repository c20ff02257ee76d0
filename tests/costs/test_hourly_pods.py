"""Pods in the stored facts of an hour: from what the observer writes to what is known late."""

import pytest
from django.db.models import F

from costs.checks import findings
from costs.models import TenantDay, TenantHour
from costs.selectors import due
from costs.services import hourly
from costs.states import Code
from costs.times import HOUR, Span, instant
from queues.models import Gap, PodInterval, PodRun, Stream
from tests import cast
from tests.costs.test_due import counted, hours_due
from tests.costs.watched import HOUR as BEGIN
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db
FIRST = Span(instant(BEGIN), instant(BEGIN) + HOUR)


@pytest.fixture
def watched(lab, monkeypatch):
    return Watched(lab.cluster, monkeypatch)


def story(watched, until=185, **more):
    """Two queues of 16 and 8. Job a has 8 from minute 10, its pod runs from 12 to 40.

    It loses its quota at minute 30; its pod was asked to end then and needs ten minutes.
    """
    watched.begin(
        after(-30),
        ClusterQueue=[watched.queue("nlp-train", 16), watched.queue("cv-train", 8)],
        ResourceFlavor=[watched.flavor()], Node=[watched.node(f"n{n}") for n in range(4)], **more,
    )  # fmt: skip
    flips = [("QuotaReserved", "True", after(10)), ("Admitted", "True", after(10))]
    gone = [("QuotaReserved", "False", after(30)), ("Admitted", "False", after(30)),
            ("Evicted", "True", after(30))]  # fmt: skip
    runs = {"of": "a"}
    for minute, kind, item, change in (
        (10, "Workload", watched.job("a", "nlp-train", 8, *flips), "ADDED"),
        (12, "Pod", watched.pod("p", 8, after(12), **runs), "ADDED"),
        (30, "Pod", watched.pod("p", 8, after(12), asked=after(30), **runs), "MODIFIED"),
        (30, "Workload", watched.job("a", "nlp-train", 8, *gone), "MODIFIED"),
        (40, "Pod", watched.pod("p", 8, after(12), asked=after(30), **runs), "DELETED"),
    ):
        if minute <= until:
            watched.tell(after(minute), kind, item, change=change)
    watched.alive(after(until))


def fact(tenant, hour=BEGIN):
    return TenantHour.objects.get(tenant__slug=tenant, hour=hour)


def count(lab, hours=1):
    return hourly.count(cluster=lab.cluster, span=Span(FIRST.starts, FIRST.starts + hours * HOUR))


def test_an_hour_tells_what_ran_and_what_ran_out(lab, watched):
    story(watched)
    count(lab)
    nlp, cv = fact("nlp"), fact("cv")
    assert (nlp.admitted, nlp.running, nlp.terminating) == (8 * 1200, 8 * 1080, 8 * 600)
    assert (nlp.unmanaged, nlp.pods) == (0, HOUR)
    # Nothing ran of cv, which is known.
    assert (cv.running, cv.pods) == (0, HOUR)
    assert TenantDay.objects.get(tenant__slug="nlp").pods == HOUR


def test_a_pod_without_a_workload_is_unmanaged_and_of_its_namespace(lab, watched):
    story(watched)
    for name, space in (("x", "nlp"), ("y", "kube-system")):
        pod = watched.pod(name, 2, after(50), namespace=space, node="n1")
        watched.tell(after(186), "Pod", pod, change="ADDED")
    count(lab)
    assert fact("nlp").unmanaged == 2 * 600
    nobody = TenantHour.objects.get(tenant=None)
    assert (nobody.unmanaged, nobody.flavor) == (2 * 600, "a100")


def test_a_pod_that_still_runs_counts_to_the_end_of_the_hour_and_stays_the_same(lab, watched):
    story(watched, until=15)
    watched.alive(after(185))
    first = count(lab)
    assert fact("nlp").running == 8 * 2880
    item = watched.pod("p", 8, after(12), of="a")
    watched.tell(after(186), "Pod", item, change="DELETED")
    assert count(lab).result == first.result


def test_hours_before_the_history_of_pods_are_unknown_and_not_nothing(lab, watched):
    story(watched)
    Stream.objects.filter(kind="Pod").update(history_since=after(90))
    count(lab, 3)
    found = TenantHour.objects.filter(tenant__slug="nlp").order_by("hour")
    assert list(found.values_list("pods", flat=True)) == [0, 1799, HOUR]
    assert set(found.values_list("coverage", "quality")) == {(HOUR, "observed")}
    Stream.objects.filter(kind="Pod").delete()
    count(lab)
    assert fact("nlp").pods == 0


def test_a_gap_of_pods_alone_is_no_gap_of_quota(lab, watched):
    story(watched)
    Gap.objects.create(cluster=lab.cluster, kind="Pod", starts=after(10), ends=after(20),
                       cause="lost", healed="listed")  # fmt: skip
    count(lab)
    assert (fact("nlp").coverage, fact("nlp").pods) == (HOUR, HOUR - 601)


def test_a_line_of_pods_that_is_lost_holds_nothing_up(lab, watched):
    story(watched)
    Stream.objects.filter(kind="Pod").update(lost_since=after(30), alive_at=after(30))
    assert due.spans(lab.cluster.pk, after(185))[0].starts == FIRST.starts - HOUR
    count(lab)
    assert (fact("nlp").coverage, fact("nlp").pods) == (HOUR, 1800)


@pytest.fixture
def all_counted(db, monkeypatch):
    """Hours 0 to 3 of a cluster that is watched since minute 5 were counted at minute 250."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: after(-60))
    lab = cast.make()
    watched = Watched(lab.cluster, monkeypatch)
    watched.begin(after(5), ClusterQueue=[watched.queue("nlp-train", 16)])
    watched.alive(after(300))
    counted(lab, 0, 1, 2, 3, at=after(250))
    assert hours_due(lab, after(300)) == []
    return lab


def had(lab, model, starts, noted_at, **more):
    return model.objects.create(
        cluster=lab.cluster, uid="u", namespace="nlp", name="p", node="n1", amount=8,
        resource="nvidia.com/gpu", kind="running", starts=starts, starts_quality="exact",
        noted_at=noted_at, **more,
    )  # fmt: skip


def test_a_pod_that_is_noted_late_makes_its_hours_due(all_counted):
    had(all_counted, PodRun, after(130), after(130, 1))
    assert hours_due(all_counted, after(300)) == []
    PodRun.objects.update(noted_at=after(260))
    assert hours_due(all_counted, after(300)) == [[2, 3]]


def test_an_end_that_is_noted_late_makes_its_hours_due(all_counted):
    end = {"ends": after(140), "ends_quality": "exact", "ended_by": "deleted"}
    had(all_counted, PodInterval, after(30), after(140, 1), **end)
    assert hours_due(all_counted, after(300)) == []
    end |= {"ends": after(260), "ends_earliest": after(190), "ends_latest": after(270)}
    had(all_counted, PodInterval, after(31), after(270), **end)
    assert hours_due(all_counted, after(300)) == [[3]]


def test_a_gap_of_pods_that_ends_late_makes_its_hours_due(all_counted):
    Gap.objects.create(cluster=all_counted.cluster, kind="Pod", starts=after(190), ends=after(260),
                       cause="lost", healed="resumed")  # fmt: skip
    assert hours_due(all_counted, after(300)) == [[3]]


def test_any_number_of_pods_takes_the_same_queries(lab, watched, django_assert_num_queries):
    story(watched)
    for number in (1, 40):
        items = [watched.pod(f"q{number}-{n}", 1, after(50), of=f"w{n}") for n in range(number)]
        watched.tell(after(186), "Pod", *items, change="ADDED")
        with django_assert_num_queries(13):
            assert len(hourly.records(lab.cluster.pk, FIRST, watched.now).pods) >= number


def test_findings_name_what_runs_beside_quota(lab, watched):
    """A pod that claims a Workload which holds less than it: what runs is more than admitted."""
    story(watched)
    more = {"of": "a", "node": "n1"}
    watched.tell(after(186), "Pod", watched.pod("more", 8, after(12), **more), change="ADDED")
    end = watched.pod("more", 8, after(12), asked=after(30), **more)
    watched.tell(after(187), "Pod", end, change="DELETED")
    (hour,) = hourly.ledger(hourly.records(lab.cluster.pk, FIRST, watched.now), FIRST)
    found = {each.code: each for each in findings(hour)}
    assert found[Code.RUN_OVER_ADMIT].difference == 8 * (2 * 1080 - 1200)
    assert Code.ADMIT_NOT_RUNNING not in found


def test_rows_of_before_say_that_nothing_is_known(lab, watched):
    """The column begins with 0 for what was counted before it was there."""
    story(watched)
    count(lab)
    TenantHour.objects.update(pods=F("coverage") * 0)
    assert not any(each.pods_known for each in stored_facts())


def stored_facts():
    from costs.selectors.hours import facts

    return facts(TenantHour.objects.all())


def test_a_pod_with_its_devices_by_a_claim_alone_is_not_counted(lab, watched):
    """Nothing in its containers says how many there are: neither running nor unmanaged."""
    story(watched)
    claimed = watched.pod("claimed", 0, after(12), of="a")
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    container = {"resources": {"claims": [{"name": "gpu"}]}}
    claimed["spec"] |= {"resourceClaims": claims, "containers": [container]}
    watched.tell(after(50), "Pod", claimed, change="ADDED")
    watched.alive(after(185))
    count(lab)

    assert (fact("nlp").running, fact("nlp").unmanaged) == (8 * 1080, 0)
    assert PodRun.objects.count() == 0
